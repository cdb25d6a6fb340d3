"""Objectives mixed in one model, such as LM and MLM (GPT-BERT, arXiv 2410.24159; Dual LMs,
2512.14549).

Each batch is of one objective, drawn by the run's seed. The mask changes with it, so one model
learns to read in several ways; `looked_at` says in which it is looked at.
"""

from pydantic import Field

from bottomup.objectives import schedule
from bottomup.objectives.schedule import Part


class Objective(schedule.Objective):
    """Predict as one of several objectives, drawn for each batch by their shares."""

    parts: list[Part] = Field(
        [
            {"objective": "lm", "share": 0.5},
            {"objective": "mlm", "share": 0.5},
        ],
        validate_default=True,
        min_length=1,
        max_length=100,
        description="modules of bottomup/objectives, each with its share of the batches, together "
        "1, and options",
    )

    def at(self, spent):
        return [
            (part.share * share, each)
            for part, objective in zip(self.parts, self.made_of, strict=True)
            for share, each in objective.at(spent)
        ]

    @property
    def turns(self):
        return sorted({turn for objective in self.made_of for turn in objective.turns})
