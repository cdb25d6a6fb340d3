"""Names in paths: of runs, readings, pairs of runs, and pruned models.

For each kind of name there is a pattern with Snakemake's wildcards, a function that makes the name,
and one that reads it. The name of a run is an objective or a checkpoint, and a seed. `lm_half1` is
an objective on half of the text, `lm_step128` an objective after 128 updates.
"""

import re

RUN = "{objective}-{seed}"
READING = f"{RUN}.{{reading}}"
PAIR = "{objective_a}-{seed_a}.{objective_b}-{seed_b}"
PRUNED = f"{RUN}.{{attention}}.{{method}}_{{penalty}}"
# The files that tokenizers of transformers read.
OF_TOKENIZERS = (
    *("tokenizer.json", "special_tokens_map.json", "added_tokens.json", "tekken.json"),
    *("vocab*.json", "*_vocab.json", "word_*.json"),
    *("byte_maps.json", "emoji.json", "normalizer.json"),
    *("*.txt", "*.spm", "*.model", "*.codes", "*.bpe", "*.tiktoken", "*.tokenizer"),
)
# The files of a checkpoint that are fetched, and that results depend on.
OF_CHECKPOINTS = ("*.json", "model*.safetensors", *OF_TOKENIZERS)
# A model's weights, and the table of their files where they have several.
WEIGHTS = "model.safetensors"
INDEX = f"{WEIGHTS}.index.json"
# Names that a config may give. REPEATED excludes names in which a text repeats 20 times: Snakemake
# takes them for a rule that calls itself.
REPEATED = r"(?!.*?(.+)\1{19})"
RESERVED = r"half[12]|step\d+|to_step|as_trained|untrained"  # ends of names
OBJECTIVE = rf"{REPEATED}(?!.*_({RESERVED})$|(input|estimators)$)[a-z][a-z0-9_]{{0,59}}"
CHECKPOINT = rf"{REPEATED}(?!.*_(half[12]|untrained)$)[a-z][a-z0-9_]{{0,59}}"
HALF = re.compile(r"_half([12])$")
STEP = re.compile(r"_step(\d+)$")
TWIN = "_untrained"  # the end of the name of a checkpoint's untrained twin
AS_TRAINED = "as_trained"


def run(objective: str, seed: int) -> str:
    """`lm-1` for ("lm", 1)."""
    return f"{objective}-{seed}"


def objective_and_seed(run: str) -> tuple[str, int]:
    """("lm", 1) for `lm-1`."""
    objective, _, seed = run.rpartition("-")
    return objective, int(seed)


def pair(a: str, b: str) -> str:
    """The name of a pair of runs."""
    return f"{a}.{b}"


def runs_of(name: str) -> list[str]:
    """The runs in the name of a part of a table: both runs of a pair, or the run of a reading or of
    a pruned model, whose penalty may be 1e-05."""
    return [part for part in name.split(".")[:2] if "-" in part]


def pruned(run: str, attention: str, method: str, penalty: float) -> str:
    """`mt-1.all.gates_0.1` for run `mt-1` with heads of `all` attention pruned by `gates`; with the
    method `none`, the run before pruning."""
    return f"{run}.{attention}.{method}_{plain(penalty)}"


def plain(number: float) -> str:
    """The shortest text that reads as this number again: "1" for 1.0."""
    return repr(float(number)).removesuffix(".0")


def run_attention_and_method(pruned: str) -> tuple[str, str, str]:
    """("mt-1", "all", "gates") for `mt-1.all.gates_0.1`."""
    run, attention, method = pruned.split(".", 2)
    return run, attention, method.rpartition("_")[0]


def half(objective: str, number: int) -> str:
    """The name of an objective on one half of the text, 1 or 2."""
    return f"{objective}_half{number}"


def objective_and_half(name: str) -> tuple[str, int | None]:
    """("lm", 1) for `lm_half1`; the half is None for the whole text."""
    match = HALF.search(name)
    return (name[: match.start()], int(match[1])) if match else (name, None)


def at_step(objective: str, step: int) -> str:
    """The name of an objective after that many updates."""
    return f"{objective}_step{step}"


def objective_and_step(name: str) -> tuple[str, int | None]:
    """("lm", 128) for `lm_step128`; the step is None for the end of training."""
    match = STEP.search(name)
    return (name[: match.start()], int(match[1])) if match else (name, None)


def whole(name: str) -> str:
    """The objective alone, without a half of the text or a step."""
    name, _ = objective_and_half(name)
    return objective_and_step(name)[0]


def masked_for(drawn: str) -> str | None:
    """The objective whose masks the drawn occurrences have: `mlm` for `as_trained_mlm`; None for
    `plain` (sub-words) and `words`, which all models read unchanged."""
    return drawn.removeprefix(f"{AS_TRAINED}_") if drawn.startswith(AS_TRAINED) else None
