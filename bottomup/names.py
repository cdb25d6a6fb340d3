"""Names of runs, of pairs of them, of what was read and of models with fewer heads, as they stand
in paths; of each the pattern with Snakemake's wildcards, how it is made, and what it says.

A run is an objective, or a checkpoint, and a seed. `lm_half1` is an objective on half of the text,
`lm_step128` one as it is after 128 updates.
"""

import re

RUN = "{objective}-{seed}"
READING = f"{RUN}.{{reading}}"
PAIR = "{objective_a}-{seed_a}.{objective_b}-{seed_b}"
PRUNED = f"{RUN}.{{attention}}.{{method}}_{{penalty}}"
# That a config may name.
OBJECTIVE = r"(?!.*_(half[12]|step\d+)$)[a-z][a-z0-9_]*"
CHECKPOINT = r"(?!.*_half[12]$)[a-z][a-z0-9_]*"
HALF = re.compile(r"_half([12])$")
STEP = re.compile(r"_step(\d+)$")
TWIN = "_untrained"  # ends the name of a checkpoint's untrained twin
AS_TRAINED = "as_trained"


def run(objective: str, seed: int) -> str:
    return f"{objective}-{seed}"


def objective_and_seed(run: str) -> tuple[str, int]:
    """Of `lm-1` ("lm", 1)."""
    objective, _, seed = run.rpartition("-")
    return objective, int(seed)


def pair(a: str, b: str) -> str:
    """Of two runs."""
    return f"{a}.{b}"


def runs_of(name: str) -> list[str]:
    """The runs that a part of a table is about: both of a pair, or the one, however it was read."""
    return [part for part in name.split(".") if "-" in part]


def pruned(run: str, attention: str, method: str, penalty: float) -> str:
    """Of a run whose heads of some attention were pruned by a method; `none`: of the run itself."""
    return f"{run}.{attention}.{method}_{plain(penalty)}"


def plain(number: float) -> str:
    """The shortest text that is read as this number again, of 1.0 "1"."""
    return repr(float(number)).removesuffix(".0")


def run_attention_and_method(pruned: str) -> tuple[str, str, str]:
    """Of `mt-1.all.gates_0.1` ("mt-1", "all", "gates")."""
    run, attention, method = pruned.split(".", 2)
    return run, attention, method.rpartition("_")[0]


def half(objective: str, number: int) -> str:
    """Of an objective on one half of the text, 1 or 2."""
    return f"{objective}_half{number}"


def objective_and_half(name: str) -> tuple[str, int | None]:
    """Of `lm_half1` ("lm", 1); the half is None where all of the text is meant."""
    found = HALF.search(name)
    return (name[: found.start()], int(found[1])) if found else (name, None)


def at_step(objective: str, step: int) -> str:
    """Of an objective as it is after so many updates."""
    return f"{objective}_step{step}"


def objective_and_step(name: str) -> tuple[str, int | None]:
    """Of `lm_step128` ("lm", 128); the step is None where the end of the training is meant."""
    found = STEP.search(name)
    return (name[: found.start()], int(found[1])) if found else (name, None)


def whole(name: str) -> str:
    """Of an objective on half of the text, or at a step, the objective alone."""
    name, _ = objective_and_half(name)
    return objective_and_step(name)[0]


def masked_for(drawn: str) -> str | None:
    """The objective whose masks were drawn: of `as_trained_mlm` it is `mlm`; None of `plain`, of
    sub-words, and of `words`, which all models read as they are."""
    return drawn.removeprefix(f"{AS_TRAINED}_") if drawn.startswith(AS_TRAINED) else None
