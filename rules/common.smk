# What the rules share: names, and the one param that says what a result depends on.

import json

from bottomup.workflow.digest import digest

SIDES = ["source", "target"]
SPLITS = ["train", "dev", "test"]
ARRAYS = ["ids", "offsets", "words"]  # of a token file
SOURCE_OPTIONS = STUDY.source_options()
LANGUAGES = dict(zip(SIDES, SOURCE_OPTIONS.languages))
PAPER_ORDER = ["lm", "mt", "mlm"]  # in which the evolution paper names what it compares
OBJECTIVES = sorted(
    STUDY.objective_names(), key=lambda name: [*PAPER_ORDER, name].index(name)
)
TRAINED = [name for name in OBJECTIVES if STUDY.objective_options(name).predicts]
LAYERS = range(STUDY.model.layers + 1)  # 0 is token embedding + position
READINGS = ["plain", "as_trained"]


def settings(script, values, *modules):
    """The slice of the config that the result of scripts/<script>.py depends on, and its code.

    Plain values with sorted keys, because Snakemake compares what repr() gives. `modules` are
    those that the program chooses by name.
    """
    code = digest(f"scripts/{script}.py", *modules)
    return json.loads(json.dumps({**values, "code": code}, sort_keys=True))


def memory(base_mb, per_input_mb):
    """Memory in MB of a job that holds its input, more at each new attempt."""

    def mem_mb(wildcards, input, attempt):
        return int(attempt * (base_mb + per_input_mb * input.size_mb))

    return mem_mb


def bpe_settings(wildcards):
    language = LANGUAGES[wildcards.side]
    return settings(
        "learn_bpe", {**STUDY.corpus.bpe.model_dump(), "language": language}
    )
