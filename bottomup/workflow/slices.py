"""Slices of the config: for each rule, exactly what its result depends on.

A slice is a dict of plain values with sorted keys, because Snakemake compares what `repr` gives of
it. With it goes `code`, the digest of the rule's program and of the modules chosen by name.
"""

import json
from collections.abc import Iterator
from itertools import combinations

from bottomup.workflow.config import Study
from bottomup.workflow.digest import digest

SIDES = ["source", "target"]
PAPER_ORDER = ["lm", "mt", "mlm"]  # in which the evolution paper names what it compares
READINGS = ["plain", "as_trained"]


def settings(script: str, values: dict, *modules: str) -> dict:
    """The slice `values` of the program scripts/`script`.py that chooses `modules` by name."""
    code = digest(f"scripts/{script}.py", *modules)
    return json.loads(json.dumps({**values, "code": code}, sort_keys=True))


class Slices:
    """The slices of one study, a method for each rule that has one.

    The methods of rules with wildcards take Snakemake's wildcards.
    """

    def __init__(self, study: Study):
        self.study = study
        names = study.objective_names()
        self.objectives = sorted(names, key=lambda name: [*PAPER_ORDER, name].index(name))
        self.trained = [name for name in self.objectives if study.objective_options(name).predicts]
        self.source_options = study.source_options()
        self.languages = dict(zip(SIDES, self.source_options.languages, strict=True))

    # What there is.

    def runs(self, objectives: list[str]) -> list[str]:
        """Names of runs, objective x seed."""
        return [f"{name}-{seed}" for name in objectives for seed in self.study.seeds]

    def readings(self) -> list[str]:
        """Each run with each reading under which it is looked at, `run.reading`."""
        masked = [run for run in self.runs(self.trained) if run.startswith("mlm-")]
        plain = [f"{run}.plain" for run in self.runs(self.objectives)]
        return plain + [f"{run}.as_trained" for run in masked]

    def pairs_of_runs(self) -> Iterator[str]:
        """All pairs of runs, `run.run`."""
        for a, b in combinations(self.runs(self.objectives), 2):
            yield f"{a}.{b}"

    def sides(self, objective: str) -> list[str]:
        """The sides of the text that a run under this objective reads or predicts."""
        translates = self.study.objective_options(objective).predicts == "target"
        return SIDES if translates else ["source"]

    # What each rule depends on.

    def fetch_corpus(self) -> dict:
        source = self.study.corpus.source
        options = self.source_options.model_dump(mode="json", by_alias=True)
        values = {"source": source, "options": options}
        return settings("fetch_corpus", values, f"bottomup.corpus.sources.{source}")

    def clean_corpus(self) -> dict:
        return settings("clean_corpus", self.study.corpus.cleaning.model_dump())

    def split_corpus(self) -> dict:
        return settings("split_corpus", self.study.corpus.splits.model_dump())

    def learn_bpe(self, wildcards) -> dict:
        language = {"language": self.languages[wildcards.side]}
        return settings("learn_bpe", self.study.corpus.bpe.model_dump() | language)

    def encode_text(self) -> dict:
        return settings("encode_text", {})

    def count_tokens(self) -> dict:
        return settings("count_tokens", {})

    def train(self, objective: str, wildcards) -> dict:
        values = self._run(objective, wildcards.seed) | {"model": self.study.model.model_dump()}
        if objective in self.trained:
            values["training"] = self.study.objective_training(objective).model_dump()
        return settings("train", values, f"bottomup.objectives.{objective}")

    def measure_quality(self, wildcards) -> dict:
        objective = wildcards.objective
        quality = self.study.quality.model_dump()
        values = self._run(objective, wildcards.seed) | {"sampling_seed": quality.pop("seed")}
        if "target" in self.sides(objective):
            values |= quality | {"language": self.languages["target"]}
        return settings("measure_quality", values, f"bottomup.objectives.{objective}")

    def draw_occurrences(self, wildcards) -> dict:
        study, reading = self.study, wildcards.reading
        values = {"reading": reading, "n": study.occurrences.n, "seed": study.occurrences.seed}
        if reading == "plain":
            return settings("draw_occurrences", values)
        values |= {
            "draws": study.occurrences.as_trained_draws,
            "n_tokens": study.measures.mutual_information.n_tokens,
            "options": study.objective_options("mlm").model_dump(),
        }
        return settings("draw_occurrences", values, "bottomup.objectives.mlm")

    def extract_views(self) -> dict:
        return settings("extract_views", self.study.views.model_dump())

    def measure_mutual_information(self, wildcards) -> dict:
        objective, reading = wildcards.objective, wildcards.reading
        values = self.study.measures.mutual_information.model_dump()
        run = {"objective": objective, "seed": int(wildcards.seed), "reading": reading}
        chosen = {
            "labels": self.labels(objective, reading),
            "sampling_seed": values.pop("seed"),
        }
        return settings("measure_mutual_information", values | run | chosen)

    def labels(self, objective: str, reading: str) -> list[dict]:
        """Which tokens a layer's information is about, and at which positions (evolution, 4)."""
        if reading == "as_trained":
            return [{"label": "input", "positions": "replaced"}] + [
                {"label": "output", "positions": positions}
                for positions in ("changed", "masked", "replaced")
            ]
        # Only a model that reads from left to right is to predict the next token.
        predicts_next = self.study.objective_options(objective).causal
        return [
            {"label": label, "positions": "all"}
            for label in (["input", "output"] if predicts_next else ["input"])
        ]

    def measure_pwcca_between_layers(self, wildcards) -> dict:
        run = {"objective": wildcards.objective, "seed": int(wildcards.seed)}
        values = self.study.measures.pwcca.model_dump() | run
        return settings("measure_pwcca_between_layers", values)

    def measure_pwcca_between_runs(self, wildcards) -> dict:
        runs = {
            "objective_a": wildcards.objective_a,
            "seed_a": int(wildcards.seed_a),
            "objective_b": wildcards.objective_b,
            "seed_b": int(wildcards.seed_b),
        }
        values = self.study.measures.pwcca.model_dump() | runs
        return settings("measure_pwcca_between_runs", values)

    def collect_tables(self) -> dict:
        return settings("collect_tables", {})

    def plot(self, figure: str, options: dict, tables: list[str]) -> dict:
        """`figure` is a module of bottomup/figures, `tables` a name for each of its tables."""
        values = {"figure": figure, "options": options, "tables": tables}
        return settings("plot_figure", values, f"bottomup.figures.{figure}")

    def _run(self, objective: str, seed: str) -> dict:
        options = self.study.objective_options(objective).model_dump()
        return {"objective": objective, "options": options, "seed": int(seed)}
