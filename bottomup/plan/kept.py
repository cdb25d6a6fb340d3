"""What a process found out and a later one need not, in a file beside Snakemake's records."""

import atexit
import json
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from bottomup.core.files import json_or_none


class Kept:
    """Plain values by name, in a file that can be deleted at any time. A damaged file counts as
    empty. If the file cannot be written, nothing is kept."""

    def __init__(self, file: Path):
        self.file, self._is_new = file, False

    @cached_property
    def _known(self) -> dict:
        content = json_or_none(self.file)
        return content if isinstance(content, dict) else {}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str):
        return self._known[name]

    def get(self, name: str):
        return self._known.get(name)

    def __setitem__(self, name: str, value) -> None:
        if not self._is_new:
            atexit.register(self._write)
        self._is_new = True
        self._known[name] = value

    def _write(self) -> None:
        if not self.file.parent.is_dir():
            return
        temporary = self.file.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            temporary.write_text(json.dumps(self._known))
            os.replace(temporary, self.file)
