"""The mistakes: by room, in which file, what stands there, and what is put in its place.

They are in mistakes.txt: behind `# room file` one in each line, `old ⇒ new`. There ⏎ is the end of
a line, and ‹ › stand around code with blanks at an end, or without any letter.
"""

from dataclasses import dataclass
from pathlib import Path

# By room, the tests that are to notice.
TESTS = {
    "corpus": ["tests/corpus"],
    "model": ["tests/model"],
    "objectives": ["tests/objectives"],
    "training": ["tests/training"],
    "subjects": ["tests/subjects"],
    "views": ["tests/views"],
    "measures": ["tests/measures"],
    "tables": ["tests/measures", "tests/heads", "tests/views"],
    "heads": ["tests/heads"],
    "claims": ["tests/claims"],
    "figures": ["tests/figures"],
    "plan": ["tests/plan/test_config.py", "tests/plan/test_accepted_configs.py"],
    "scripts": ["tests/corpus", "tests/views", "tests/measures", "tests/heads", "tests/claims"],
    "rules": ["tests/plan/test_jobs.py"],
    "stale": [f"tests/plan/test_{name}.py" for name in ("contents", "digest", "wildcards")],
}
TESTS["scripts"] += ["tests/figures", "tests/pages", "tests/training", "tests/subjects"]
TESTS["stale"] += ["tests/plan/test_planned.py", "tests/plan/test_records.py"]


@dataclass(frozen=True)
class Mistake:
    """A mistake in one place of one file."""

    room: str
    file: str
    old: str
    new: str

    def made(self, text: str) -> str:
        """The text of the file with the mistake."""
        assert text.count(self.old) == 1, f"{self.old!r}: {text.count(self.old)} in {self.file}"
        return text.replace(self.old, self.new)


def code(text: str) -> str:
    """What a line of mistakes.txt stands for."""
    whole = text.replace("⏎", "\n")
    return whole[1:-1] if whole.startswith("‹") else whole


def listed(text: str) -> list[Mistake]:
    """The mistakes that a text like mistakes.txt lists."""
    mistakes, room, file = [], "", ""
    for line in text.splitlines():
        if line.startswith("# "):
            _, room, file = line.split()
        elif line:
            old, new = line.split(" ⇒ ")
            mistakes.append(Mistake(room, file, code(old), code(new)))
    return mistakes


MISTAKES = listed(Path(__file__).with_suffix(".txt").read_text("utf-8"))
