"""Masked prediction of a random class of a token (Alajrami and Aletras 2022, arXiv 2203.10415)."""

from pydantic import Field

from bottomup.core.seeds import generator
from bottomup.objectives import first_letter


class Objective(first_letter.OfTypes):
    """Predict the class of hidden tokens, drawn once for each type; no class has a meaning.

    Chance is 1 / `classes`.
    """

    classes: int = Field(5, ge=2, le=1000, description="number of classes")
    seed: int = Field(1, ge=0, lt=2**32, description="draws the class of each type")

    @property
    def n_classes(self) -> int:
        return self.classes

    def learn_types(self, types: list[str]) -> None:
        self._classes = generator(self.seed, "classes").integers(self.classes, size=len(types))
