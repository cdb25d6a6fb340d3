"""The code that a tutorial shows."""

import re

from tests.tiny import ROOT


def files_in(tutorial: str) -> dict[str, str]:
    """By path, the text of each file that a page has a reader write; its first line names it."""
    page = (ROOT / f"docs/tutorials/{tutorial}.md").read_text()
    files = re.findall(r"```(?:python|rst)\n(?:#|\.\.) (\S+/\S+)\n(.*?)```", page, re.DOTALL)
    return dict(files)
