"""The code that a tutorial shows."""

import re

from tests.tiny import ROOT


def files_in(tutorial: str) -> dict[str, str]:
    """By path, the text of each file that a page has a reader write. A comment in its first line
    names it, or the words before a caption, of which every line is shown."""
    page = (ROOT / f"docs/tutorials/{tutorial}.md").read_text()
    code = r"```python\n# (\S+/\S+)\n(.*?)```"
    caption = r"`(docs/captions/\S+)`[^`]*\n\n```rst\n(.*?)```"
    found = re.finditer(f"{code}|{caption}", page, re.DOTALL)
    return dict(filter(None, each.groups()) for each in found)
