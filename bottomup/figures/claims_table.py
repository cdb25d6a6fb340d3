"""The claims of the papers with their verdicts, as a page of HTML that needs nothing else."""

from html import escape

import pandas as pd

from bottomup.errors import UserError

NEEDED = [
    *("claim", "paper", "statement", "section", "statistic", "value", "ci_low", "ci_high"),
    *("margin", "verdict", "seeds", "contradicted_if", "rank_correlation", "undecided_until"),
]
PAPERS = {
    "evolution": "Voita, Sennrich, Titov 2019: The Bottom-up Evolution of Representations",
    "heads": "Voita, Talbot, Moiseev, Sennrich, Titov 2019: Analyzing Multi-Head Self-Attention",
    "heads, asked anew": "The same asked of LM and MLM, and of other ways to choose heads",
}
# Each verdict has a sign and a color, told apart with any color vision and in gray print.
VERDICTS = {
    "reproduced": ("✓", "#0072B2"),
    "contradicted": ("✗", "#D55E00"),
    "undecided": ("?", "#7f7f7f"),
}
COLUMNS = {
    "verdict": "verdict",
    "claim": "claim",
    "statistic": "statistic",
    "value": "value,<br>95 % interval",
    "margin": "margin",
    "seeds": "seeds",
    "rank correlation": "rank correlation<br>with the published",
}
DASH = "–"
STYLE = """
.claims { border-collapse: collapse; font: 14px/1.4 sans-serif; color: #1a1a1a; }
.claims { margin-bottom: 32px; }
.claims caption { text-align: left; font-weight: bold; padding-bottom: 8px; }
.claims th { text-align: left; vertical-align: bottom; border-bottom: 2px solid #1a1a1a; }
.claims td { vertical-align: top; border-bottom: 1px solid #dcdcdc; }
.claims th, .claims td { padding: 6px 14px 6px 0; }
.claims .verdict, .claims .value { white-space: nowrap; }
.claims .verdict { font-weight: bold; }
.claims small { display: block; color: #595959; font-size: 12px; }
"""


def page(claims: pd.DataFrame) -> str:
    """The page: a table for each paper, with a summary and a row for each of `claims`, in order.

    Columns as in `claims.csv`; empty cells are shown as a dash. Raises `UserError` where a column
    is missing or a verdict unknown.
    """
    missing = [column for column in NEEDED if column not in claims]
    if missing:
        raise UserError(
            f"claims have no column {', '.join(missing)}; the table needs {', '.join(NEEDED)}; "
            f"judge the claims again"
        )
    unknown = sorted(set(claims["verdict"]) - set(VERDICTS))
    if unknown:
        raise UserError(
            f"verdict {', '.join(unknown)} in the claims; allowed: {', '.join(VERDICTS)}; "
            f"judge the claims again"
        )
    tables = "".join(_table(*part) for part in claims.groupby("paper", sort=False))
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>Claims</title>\n'
        f"<style>{STYLE}</style>\n{tables}"
    )


def _table(paper: str, claims: pd.DataFrame) -> str:
    head = "".join(f"<th>{title}</th>" for title in COLUMNS.values())
    rows = "\n".join(_row(claim) for claim in claims.to_dict("records"))
    title = f"{escape(PAPERS.get(paper, paper))}. {_summary(claims['verdict'])}"
    return (
        f'<table class="claims">\n<caption>{title}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"
    )


def _summary(verdicts: pd.Series) -> str:
    counts = [f"{(verdicts == name).sum()} {name}" for name in VERDICTS]
    return f"Of {len(verdicts)} claims: {', '.join(counts)}"


def _row(claim: dict) -> str:
    sign, color = VERDICTS[claim["verdict"]]
    cells = {
        "verdict": f'<span style="color: {color}">{sign} {claim["verdict"]}</span>',
        "claim": _text(claim["statement"]) + _small(f"{claim['claim']}; {claim['section']}"),
        "statistic": _text(claim["statistic"])
        + _small(claim["contradicted_if"], "contradicted if ")
        + _small(claim["undecided_until"], "undecided until "),
        "value": _number(claim["value"]) + _small(_interval(claim)),
        "margin": _number(claim["margin"]),
        "seeds": _text(claim["seeds"]),
        "rank correlation": _number(claim["rank_correlation"], ".2f"),
    }
    filled = "".join(f'<td class="{name}">{cells[name]}</td>' for name in COLUMNS)
    return f"<tr>{filled}</tr>"


def _interval(claim: dict) -> str:
    low, high = claim["ci_low"], claim["ci_high"]
    return "" if pd.isna(low) else f"{_number(low)} to {_number(high)}"


def _number(value: float, digits: str = ".3g") -> str:
    return DASH if pd.isna(value) else f"{value:{digits}}".replace("-", "−")


def _text(text: object) -> str:
    return DASH if pd.isna(text) or text == "" else escape(str(text))


def _small(text: object, before: str = "") -> str:
    return "" if pd.isna(text) or text == "" else f"<small>{before}{escape(str(text))}</small>"
