"""The drawing of the data path: python -m bottomup.workflow.data_path > docs/images/data_path.svg

Boxes are stages, each with the rules of one file in rules/; tables that are collected from parts
are their own stage. Arrows are those between the rules of the smoke study, from Snakemake, without
those that a longer way implies.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from html import escape
from itertools import product

from bottomup.workflow.digest import ROOT

WIDTH, ROW, GAP, MARGIN = 360, 66, 30, 12
TABLES = "tables"  # the stage of rules called collect_...


@dataclass(frozen=True)
class Box:
    """The place and the text of a stage: its name, its files, what they are.

    row: from the top. columns: its first and its last column, of two.
    """

    row: float
    columns: tuple[int, int]
    name: str
    files: str
    what: str

    @property
    def left(self) -> float:
        return MARGIN + self.columns[0] * (WIDTH - MARGIN) / 2

    @property
    def right(self) -> float:
        return (self.columns[1] + 1) * (WIDTH - MARGIN) / 2

    @property
    def top(self) -> int:
        return round(MARGIN + self.row * (ROW + GAP))


BOXES = {
    "corpus": Box(0, (0, 1), "Text", "corpus/", "cleaned, split, cut into sub-words"),
    "training": Box(1, (0, 1), "Runs", "runs/", "a model for each objective and seed"),
    "views": Box(2, (0, 0), "Views", "occurrences/, views/", "tokens, layer by layer"),
    "measures": Box(3, (0, 0), "Measures", "measures/<table>/", "of a run, or of two"),
    "heads": Box(3, (1, 1), "Heads", "pruned/, measures/", "functions, pruning"),
    "figures": Box(4.3, (0, 0), "Figures", "figures/", "PNG, PDF, their points"),
    TABLES: Box(4.3, (1, 1), "Tables", "measures/<table>.csv", "of all runs together"),
    "claims": Box(5.3, (0, 1), "Claims", "claims.html", "each sentence of the papers, judged"),
}
STYLE = """
  .box { fill: #f8fafc; stroke: #64748b; stroke-width: 1.5 }
  .arrow { fill: none; stroke: #64748b; stroke-width: 1.5; marker-end: url(#head) }
  text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1e293b; text-anchor: middle }
  .name { font-size: 16px; font-weight: 600 }
  .files { font-family: ui-monospace, monospace; font-size: 12px; fill: #0f766e }
"""


def drawing() -> str:
    """docs/images/data_path.svg."""
    lines = [arrow(*(BOXES[name] for name in pair)) for pair in sorted(arrows(rule_graph()))]
    boxes = [box(each) for each in BOXES.values()]
    height = max(each.top for each in BOXES.values()) + ROW + MARGIN
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    shape = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
    head = f'<marker id="head" {shape}><path d="M0,0 L8,4 L0,8 z" fill="#64748b"/></marker>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        "<title>The data path, from text to claims</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{head}</defs>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        *lines,
        *boxes,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def rule_graph() -> set[tuple[str, str]]:
    """Pairs of rules of the smoke study; the second reads what the first makes."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", "--forceall"]
    command += ["--configfile", "studies/smoke.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = dict(re.findall(r'(\d+)\[label = "(\w+)"', done.stdout))
    edges = re.findall(r"(\d+) -> (\d+)", done.stdout)
    return {(names[a], names[b]) for a, b in edges if names[b] != "all"}


def arrows(rules: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs of stages that exchange files, without those that a longer way implies."""
    direct = {(stage(a), stage(b)) for a, b in rules}
    direct = {(a, b) for a, b in direct if a != b}
    longer = {(a, c) for (a, b), (again, c) in product(ways(direct), direct) if b == again}
    return direct - longer


def ways(direct: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs that are connected by a way of any length."""
    found = direct
    while new := {(a, d) for (a, b), (c, d) in product(found, direct) if b == c} - found:
        found = found | new
    return found


def stage(rule: str) -> str:
    """The file in rules/ of a rule; TABLES for rules that collect."""
    if rule.startswith("collect_"):
        return TABLES
    texts = {path.stem: path.read_text() for path in sorted((ROOT / "rules").glob("*.smk"))}
    for name, text in texts.items():
        if re.search(rf"^(use rule \w+ as|rule) {rule}\b", text, re.MULTILINE):
            return name
    for name, text in texts.items():  # rules that are made in a loop
        patterns = re.findall(r'name:\s+f"(.+)"', text)
        if any(re.fullmatch(re.sub(r"{\w+}", r"\\w+", pattern), rule) for pattern in patterns):
            return name
    raise ValueError(f"no file in rules/ has a rule {rule}")


def box(it: Box) -> str:
    """A rounded rectangle with three lines of text."""
    middle = (it.left + it.right) / 2
    lines = [("name", 23, it.name), ("files", 41, it.files), ("what", 57, it.what)]
    shape = f'x="{it.left:g}" y="{it.top}" width="{it.right - it.left:g}" height="{ROW}" rx="8"'
    return "\n".join(
        [
            f'<rect class="box" {shape}/>',
            *(
                f'<text class="{name}" x="{middle:g}" y="{it.top + y}">{escape(text)}</text>'
                for name, y, text in lines
            ),
        ]
    )


def arrow(a: Box, b: Box) -> str:
    """An arrow from the lower edge of one box to the upper edge of another, at the middle of the
    narrower box if the other is as wide as both columns."""
    x_a, x_b = ((it.left + it.right) / 2 for it in (a, b))
    if a.columns == (0, 1):
        x_a = x_b
    elif b.columns == (0, 1):
        x_b = x_a
    y_a, y_b = a.top + ROW, b.top
    bend = f"C{x_a:g},{y_a + GAP} {x_b:g},{y_b - GAP} {x_b:g},{y_b}"
    return f'<path class="arrow" d="M{x_a:g},{y_a} {bend}"/>'


if __name__ == "__main__":
    print(drawing(), end="")
