"""The subjects of a study, by their names in paths (bottomup/core/names.py): runs and models from
elsewhere, with their readings, their pairs and their pruned versions."""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from bottomup.core import names
from bottomup.core.files import json_or_none
from bottomup.core.kinds import WITH_A_LOOK
from bottomup.core.names import INDEX, OF_CHECKPOINTS, TWIN
from bottomup.objectives import Objective, Question, kind
from bottomup.plan.study import WITH_TARGET, Study

SIDES = ["source", "target"]
PAPER_ORDER = ["lm", "mt", "mlm"]  # in which the evolution paper names pairs
READINGS = ["plain", names.AS_TRAINED]
# In the name of a file: what Snakemake fills in, and bytes that are no UTF-8.
UNKNOWN_NAME = re.compile("[{}<>\ud800-\udfff]")


def exactly(values: Iterable) -> str:
    """A pattern for these texts and no others."""
    return "|".join(re.escape(text) for text in dict.fromkeys(map(str, values))) or "(?!)"


class Subjects:
    """The subjects of one study, and what they can do."""

    def __init__(self, study: Study):
        self.study = study
        self.objectives: list[str] = sorted(
            study.objectives, key=lambda name: ([*PAPER_ORDER, name].index(name), name)
        )
        self.trained: list[str] = [
            name for name in self.objectives if study.objective_options(name).predicts
        ]
        self.compared: list[str] = [
            name for name in self.objectives if not study.objective_options(name).variant
        ]
        # The compared objectives, with their variants for one question.
        self.by_mask: list[str] = self.compared + self.variants(Question.MASK)
        self.by_noise: list[str] = self.compared + self.variants(Question.TOKEN_DROPOUT)
        # Models from elsewhere, each followed by its untrained twin if it has one.
        self.checkpoints: list[str] = [
            name
            for checkpoint, options in study.checkpoints.items()
            for name in (checkpoint, *([] if options.initial else [checkpoint + TWIN]))
        ]
        self.looked_at: list[str] = self.compared + self.checkpoints
        self.steps: list[str] = [
            names.at_step(name, step)
            for name, steps in study.training_steps.items()
            for step in steps
        ]
        self.halves: list[str] = [
            names.half(name, n) for name in study.training_halves for n in (1, 2)
        ]

    @property
    def of_words(self) -> bool:
        """Whether occurrences are words, and not sub-words."""
        return self.study.occurrences.unit == "word"

    def predicts_tokens(self, objective: str) -> bool:
        """Whether an objective predicts tokens, not classes of them; also True if it predicts
        nothing."""
        return self.study.objective_options(objective).n_classes is None

    def reads_its_own(self, objective: str) -> bool:
        """Whether a model reads tokens that only its objective has."""
        kind = type(self.study.objective_options(objective))
        return kind.vocabularies is not Objective.vocabularies

    def of_both_sides(self, objective: str) -> bool:
        """Whether an objective predicts tokens of both sides, which have two tokenizers."""
        return self.study.objective_options(objective).predicts == "both"

    def predicts_next(self, objective: str) -> bool:
        """Whether a model reads from left to right, as one that predicts the next token does."""
        options = self.study.objective_options(objective)
        return options.causal and not options.backward

    def from_end(self, objective: str) -> bool:
        """Whether a model reads from the end, alone or as well as from the start."""
        options = self.study.objective_options(names.whole(objective))
        return options.backward or options.both_ways

    def attending(self, objectives: list[str]) -> list[str]:
        """Those whose models have heads; only from these can tokens be hidden."""
        return [name for name in objectives if self.study.attends(names.whole(name))]

    def variants(self, question: Question) -> list[str]:
        """The objectives that are variants of others for this question."""
        of = {name: self.study.objective_options(name).variant for name in self.objectives}
        return [name for name, variant in of.items() if variant and variant.question is question]

    def target(self, objective: str) -> str | None:
        """The module of the objective that this one is, or is a variant of; None if it predicts
        nothing."""
        variant = self.study.objective_options(objective).variant
        if objective not in self.trained:
            return None
        return variant.of if variant else self.study.objective_module(objective)

    def beside(self, variant: str) -> list[str]:
        """The compared objectives with the target of a variant."""
        return [name for name in self.compared if self.target(name) == self.target(variant)]

    def initial(self, model: str) -> str | None:
        """The model that a model starts from; None if the study has none.

        For a checkpoint it is its `initial` or its twin; for an objective, the first one without
        training that has the same encoder; for an untrained model, itself.
        """
        if checkpoint := self.study.checkpoints.get(model):
            return checkpoint.initial or model + TWIN
        if model in self.checkpoints:
            return model
        if model not in self.trained:
            return model
        if self.study.objective_heads_from(model):
            return None  # it starts with heads that were trained

        def encoder(name: str) -> tuple[dict, bool, bool, bool]:
            # Dropout does not change the weights that training starts from.
            dropout = {"dropout", "attention_dropout"}
            shape = self.study.objective_shape(name).model_dump(exclude=dropout)
            options = self.study.objective_options(name)
            return shape, options.causal, options.backward, options.both_ways

        untrained = (name for name in self.objectives if name not in self.trained)
        return next((name for name in untrained if encoder(name) == encoder(model)), None)

    def same_training(self, name: str) -> str | None:
        """The first objective before this one that trains the same runs: the two differ only in how
        the runs are measured. None if there is none, for halves, and for what is not trained.

        They are in the order of the config, so that one which is added to a study, mostly at its
        end, is not before those that are there: these would be made again after it.
        """
        study = self.study
        trained = [name for name in study.objectives if name in self.trained]

        def trained_by(other: str) -> tuple:
            options, heads = study.objective_options(other), study.objective_heads_from(other)
            of = options.name, options.model_dump(exclude={*options.looks}), heads
            training = study.objective_training(other).model_dump()  # what decides the result
            return *of, study.objective_shape(other), training

        if name not in trained:
            return None
        for other in trained[: trained.index(name)]:
            same_seeds = {*self.seeds(name)} <= {*self.seeds(other)}
            if same_seeds and trained_by(other) == trained_by(name):
                return other
        return None

    def places(self) -> dict[str, int]:
        """The number of each model that figures have no fixed color for, among these: objectives,
        then checkpoints, in the study's order."""
        every = [*self.study.objectives, *self.study.checkpoints]
        others = [name for name in every if name not in WITH_A_LOOK]
        return {name: place for place, name in enumerate(others)}

    @property
    def untrained(self) -> list[str]:
        """The objectives that are not trained and that figures have no fixed color for."""
        others = [name for name in self.study.objectives if name not in WITH_A_LOOK]
        return [name for name in others if name not in self.trained]

    def model(self, objective: str) -> dict:
        """What is known of an objective's models, for a figure about their differences."""
        options = self.study.objective_options(objective)
        return {
            "causal": options.causal,
            "initial": self.initial(objective),
            "target": self.target(objective),
            "variant": options.variant is not None,
        }

    def runs(self, objectives: list[str]) -> list[str]:
        """The names of runs, objective x seed."""
        return [names.run(name, seed) for name in objectives for seed in self.seeds(name)]

    def seeds(self, objective: str) -> list[int]:
        """The seeds of an objective, also of one at a step or on half of the text. Halves have only
        the seeds of the first look, since no claim rests on them."""
        if objective in self.checkpoints:
            return [0]
        seeds = self.study.objective_seeds(names.whole(objective))
        if self.study.looks and names.objective_and_half(objective)[1]:
            return seeds[: self.study.looks[0]]
        return seeds

    def masked(self) -> list[str]:
        """The objectives that are also looked at as they were trained; none if occurrences are
        words, since only some sub-words of a word would be masked. Not what is looked at as a
        variant of one that hides nothing, as `lm_bidirectional` is of LM: it predicts a hidden
        token at the place before, so what stands at the hidden one is no prediction of it."""
        if self.of_words:
            return []

        def in_place(of: Objective) -> bool:
            variant = of.seen.variant
            return of.masked and (variant is None or kind(variant.of).masked)

        return [name for name in self.compared if in_place(self.study.objective_options(name))]

    def readings(self) -> list[str]:
        """Each run with each of its readings, `run.reading`."""
        runs = {
            "plain": self.runs(self.by_mask + self.checkpoints + self.steps),
            names.AS_TRAINED: self.runs(self.masked()),
        }
        return [f"{run}.{reading}" for reading, some in runs.items() for run in some]

    def first_runs(self, objectives: list[str]) -> list[str]:
        """The run with the first seed of each objective, where no spread over seeds is needed."""
        return [names.run(name, self.seeds(name)[0]) for name in objectives]

    def first_pairs(self) -> list[str]:
        """The pairs of runs with the first seed or, for one objective, with the first two."""
        shown = set(self.study.seeds[:2])
        return [
            pair
            for pair in self.pairs_of_runs()
            for (a, seed_a), (b, seed_b) in [map(names.objective_and_seed, names.runs_of(pair))]
            if (seed_a, seed_b) == (self.seeds(a)[0], self.seeds(b)[0])
            or (a == b and {seed_a, seed_b} == shown)
        ]

    def stitched_into(self, objective: str) -> list[str]:
        """The runs whose states are stitched into an objective's first run: its own second run, and
        the first run of each other compared objective that has heads and does not read from the
        end."""
        forward = [name for name in self.attending(self.compared) if not self.from_end(name)]
        others = [name for name in forward if name != objective]
        return self.first_runs(others) + self.runs([objective])[1:2]

    def pairs_of_runs(self) -> Iterator[str]:
        """The pairs of runs, `run.run`, that a claim or a figure compares.

        These are: a checkpoint with the runs of the first seed, with what it starts from, and with
        each other checkpoint; all pairs of trained objectives; initial models with the same
        objective or the same seed; variants in mask or target with objectives that predict tokens
        of the same side, with the same seed; the two halves; and a run at a step with itself at the
        end, and with what its objective is made of.
        """
        first = self.study.seeds[0]
        for name in self.study.checkpoints:
            others = [names.run(other, first) for other in self.compared]
            if (start := self.initial(name)) and start not in self.study.checkpoints:
                others.append(names.run(start, 0))
            for run in others:
                yield names.pair(run, names.run(name, 0))
        for a, b in combinations(self.study.checkpoints, 2):
            start, end = (b, a) if self.initial(a) == b else (a, b)
            yield names.pair(names.run(start, 0), names.run(end, 0))
        runs = [(name, seed) for name in self.compared for seed in self.seeds(name)]
        for (a, seed_a), (b, seed_b) in combinations(runs, 2):
            n_trained = len({a, b} & set(self.trained))
            initial = n_trained == 0 and (a == b or seed_a == seed_b)
            if n_trained == len({a, b}) or initial:
                yield names.pair(names.run(a, seed_a), names.run(b, seed_b))
        options = {name: self.study.objective_options(name) for name in self.by_mask}
        # Causal variants first, like LM.
        variants = sorted(self.variants(Question.MASK), key=lambda name: not options[name].causal)
        for a, b in combinations(self.compared + variants, 2):
            if b in variants and options[a].predicts == options[b].predicts:
                for seed in sorted({*self.seeds(a)} & {*self.seeds(b)}):
                    yield names.pair(names.run(a, seed), names.run(b, seed))
        for name in self.study.training_halves:
            for seed in self.seeds(names.half(name, 1)):
                yield names.pair(*(names.run(names.half(name, n), seed) for n in (1, 2)))
        for pair in (*self.steps_and_ends(), *self.steps_and_natives()):
            yield names.pair(*pair)

    def steps_and_ends(self) -> Iterator[tuple[str, str]]:
        """Each run at a step, with the same run at its end."""
        for name in self.steps:
            objective, _ = names.objective_and_step(name)
            for seed in self.seeds(name):
                yield names.run(name, seed), names.run(objective, seed)

    def steps_and_natives(self) -> Iterator[tuple[str, str]]:
        """Each run at a step of an objective that is made of others, with the finished run of each
        of these alone that has the same seed and shape."""
        for name in self.steps:
            objective, _ = names.objective_and_step(name)
            for native in self.natives(objective):
                for seed in sorted({*self.seeds(objective)} & {*self.seeds(native)}):
                    yield names.run(name, seed), names.run(native, seed)

    def natives(self, objective: str) -> list[str]:
        """The compared objectives of which this one is made, if their models have its shape."""
        study = self.study
        made_of = study.objective_options(objective).all[1:]
        return [
            name
            for name in self.compared
            if study.objective_options(name) in made_of
            and study.objective_shape(name) == study.objective_shape(objective)
        ]

    def sides(self, objective: str) -> list[str]:
        """The sides of the text that a run of this objective reads or predicts."""
        predicts = self.study.objective_options(names.whole(objective)).predicts
        return SIDES if predicts in WITH_TARGET else ["source"]

    def translates(self, objective: str) -> bool:
        """Whether a run of this objective writes the target side, so that its translations are
        measured; False for checkpoints."""
        of_ours = objective not in self.checkpoints
        return of_ours and self.study.objective_options(names.whole(objective)).predicts == "target"

    def pruned_runs(self) -> list[str]:
        """Each pruned run, `run.attention.method_penalty`."""
        pruning = self.study.pruning
        return [
            names.pruned(names.run(objective, seed), attention, method, penalty)
            for objective in self.trained
            for seed in self.seeds(objective)[: pruning.n_seeds]
            for attention, penalties in pruning.penalties.get(objective, {}).items()
            for penalty in penalties
            for method, tried in [("gates", penalties), *pruning.controls.items()]
            if penalty in tried
        ]

    def pruned_by_gates(self) -> list[str]:
        """The pruned runs whose heads were chosen by gates."""
        every = {name: names.run_attention_and_method(name) for name in self.pruned_runs()}
        return [name for name, (_, _, method) in every.items() if method == "gates"]

    def pruned_checkpoints(self) -> list[str]:
        """Each pruned checkpoint, named like the runs; pruned only by gates."""
        pruning = self.study.pruning
        return [
            names.pruned(run, attention, "gates", penalty)
            for name in self.study.checkpoints
            for run in self.runs([name])[: pruning.n_seeds]
            for attention, penalties in pruning.penalties.get(name, {}).items()
            for penalty in penalties
        ]

    def whole_runs(self) -> list[str]:
        """The unpruned runs to compare with, `run.attention.none_0`."""
        every = self.pruned_runs() + self.pruned_checkpoints()
        pruned = [names.run_attention_and_method(name)[:2] for name in every]
        return [names.pruned(*run, "none", 0) for run in dict.fromkeys(pruned)]

    def checkpoint_files(self, name: str) -> list[str]:
        """The files of a checkpoint in the user's folder; none if it has no folder. Names that
        Snakemake would fill in, or cannot write down, are of no file that a model is read from."""
        if not (folder := self.study.checkpoints[name.removesuffix(TWIN)].folder):
            return []
        paths = {path for pattern in OF_CHECKPOINTS for path in folder.glob(pattern)}
        match json_or_none(folder / INDEX):  # what is wrong is reported by the job that opens it
            case {"weight_map": {**named}}:
                paths |= {folder / name for name in named.values() if isinstance(name, str)}
        known = (path for path in map(str, paths) if not UNKNOWN_NAME.search(path))
        return sorted(filter(os.path.isfile, known))

    def wildcards(self) -> dict[str, str]:
        """Patterns of the wildcards in names of runs and of pruned runs. They match exactly what
        this study has, so that no value of a config is without a rule."""
        objectives = [*self.objectives, *self.halves, *self.steps, *self.checkpoints]
        every = self.pruned_runs() + self.pruned_checkpoints() + self.whole_runs()
        parts = [name.split(".", 2)[1:] for name in every]
        methods = [method.rpartition("_") for _, method in parts]
        return {
            "objective": exactly(objectives),
            "seed": exactly(seed for name in objectives for seed in self.seeds(name)),
            "attention": exactly(attention for attention, _ in parts),
            "method": exactly(method for method, *_ in methods),
            "penalty": exactly(penalty for *_, penalty in methods),
        }

    def labels(self, objective: str, reading: str) -> list[dict]:
        """Which tokens a layer's information is about, and at which positions (evolution, 4)."""
        if reading == "as_trained":
            fates = self.study.objective_options(objective).read_as
            # A mask says nothing of the token in its place.
            replaced = [{"label": "input", "positions": "replaced"}] * ("replaced" in fates)
            return replaced + [
                {"label": "output", "positions": positions} for positions in ("changed", *fates)
            ]
        # Only a model that reads from left to right should predict the next token.
        name, _ = names.objective_and_step(objective)
        predicts_next = objective not in self.checkpoints and self.predicts_next(name)
        return [
            {"label": label, "positions": "all"}
            for label in (["input", "output"] if predicts_next else ["input"])
        ]
