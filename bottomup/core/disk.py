"""What is wrong with a disk that cannot be written."""

import re

# What the system says when it cannot write. Libraries quote it; NumPy reports only counts of items,
# and Python that no folder for temporary files takes one.
FULL = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|\d+ requested and \d+ written"
    r"|No usable temporary directory found"
)
CLOSED = re.compile(r"Permission denied|Read-only file system")


def about_the_disk(error: Exception) -> str | None:
    """The message for an error of the disk; None for any other error."""
    text = " ".join(str(error).split())
    if FULL.search(text):
        return f"{text}; free some space and run again"
    if CLOSED.search(text):
        return f"{text}; change its permissions, or move the folder to a disk that can be written"
    return None
