# Shared by the rules: what the study has, under the names that rules use.

import os
from contextlib import suppress
from functools import partial

from bottomup.core import names
from bottomup.core.names import PAIR, READING, RUN
from bottomup.corpus.reference import notice
from bottomup.pages import template_files
from bottomup.plan import progress
from bottomup.plan.study import tables
from bottomup.plan.slices import Slices, code_alone, is_ours
from bottomup.plan.subjects import READINGS, SIDES, exactly

SLICES = Slices(STUDY)
SUBJECTS = SLICES.subjects
SPLITS = ["train", "dev", "test"]
ARRAYS = ["ids", "offsets", "words"]  # of a token file
# The unit of an occurrence, and the frequencies of these units.
ROWS = "words" if STUDY.occurrences.unit == "word" else "plain"
FREQUENCIES = {
    "words": "<results>/corpus/word_frequencies.csv",
    "plain": "<results>/corpus/frequencies.csv",
}
# What is measured: a table for each module of bottomup/tables; and, for each table, the parts from
# which it is collected. The parts of `gates` are written by pruning.
TABLES = {name: module.TABLE for name, module in tables().items()}
MEASURES = {name: [*table.parts(SUBJECTS)] for name, table in TABLES.items()}
MEASURES["gates"] = SUBJECTS.pruned_runs() + SUBJECTS.pruned_checkpoints()
WHOLE = f"<results>/runs/{RUN}"
PRUNED = f"<results>/pruned/{RUN}/{{attention}}/{{method}}_{{penalty}}"
# Tables that the config asks for (`only`), but for which the study has nothing to measure.
IN_VAIN = [name for name in STUDY.only if not MEASURES[name]]
# Those that it would have if more were known of words.
UNANNOTATED = [name for name in STUDY.unannotated() if MEASURES[name]]
MEASURES |= dict.fromkeys(STUDY.left_out(), [])
# Tables whose parts are joined to one CSV file.
COLLECTED = [
    name
    for name, parts in MEASURES.items()
    if parts and (name == "gates" or "csv" in TABLES[name].writes)
]
# What is known of the words of the test split.
KNOWN = STUDY.known_of_words()
ANNOTATION = ["<results>/corpus/annotation.parquet"] if KNOWN else []
# The size of the views under one reading, of the largest model, in float16 or more.
VIEWS_MB = (
    STUDY.occurrences.n
    * max(
        (shape.layers + 1) * shape.d_model
        for shape in [STUDY.model, *map(STUDY.objective_shape, STUDY.objectives)]
    )
    * int(STUDY.views.dtype.removeprefix("float"))
    / 8e6
)
WIDE = 256  # dimensions; a narrower model does not keep a GPU busy
# GPUs of a job in `default-resources`: 0, there are none; 1, narrow models get one, too; None, it
# does not say.
try:
    GPUS = getattr(
        (workflow.resource_settings.default_resources or {}).get("gpu"), "value", None
    )
except ValueError:  # an expression
    with in_one_line():
        raise UserError("--default-resources gpu: allowed: a whole number")
OF_RUNS = SUBJECTS.wildcards()
CHECKPOINTS = exactly(SUBJECTS.checkpoints)
OURS = exactly(SUBJECTS.objectives)
# What leads to the first headline figure goes first, whatever else is ready: the trainings of the
# first seed, then the text and what is measured of it for that figure.
FIRST = 1000
FIRST_RUNS = SUBJECTS.first_runs(SUBJECTS.compared)


if workflow.remote_exec:
    ON_CLUSTER, CORES = True, 1
else:
    ON_CLUSTER, CORES = start.where_jobs_run(sys.argv[1:])
# On a cluster, small jobs are grouped: all that prepare the text; all that look at one run; and as
# many of those that compare two runs as the profile says.
OF_ONE_RUN = f"look_at_{RUN}"


wildcard_constraints:
    **OF_RUNS,
    objective_a=OF_RUNS["objective"],
    objective_b=OF_RUNS["objective"],
    seed_a=OF_RUNS["seed"],
    seed_b=OF_RUNS["seed"],
    reading=exactly(READINGS),
    drawn=exactly(
        ["plain", "words", *(f"as_trained_{name}" for name in SUBJECTS.masked())]
    ),
    side=exactly([*SIDES, "words"]),
    split=exactly(SPLITS),


def model_in(folder):
    """The files of a model; the first tells where they are."""
    return {
        "model": f"{folder}/model/model.safetensors",
        "config": f"{folder}/model/config.json",
        "tokenizer": f"{folder}/model/tokenizer.json",
        "tokenizer_config": f"{folder}/model/tokenizer_config.json",
    }


# The files of a run, and of a run with fewer heads.
MODEL, PRUNED_MODEL = model_in(WHOLE), model_in(PRUNED)


def notice_of_text():
    """A line on whether the text is that of the findings, once the text is there."""
    splits = RESULTS / "corpus/splits.csv"
    with suppress(UserError):  # jobs that read the file report damage
        return splits.exists() and notice(STUDY.of_text(), splits)


def notice_of_only():
    """A line on tables that the config asks for in vain."""
    return IN_VAIN and (
        f"only: found {', '.join(IN_VAIN)}, of which this study has nothing to measure: left out; "
        "docs/tables.md says what each is about"
    )


def notice_of_beside():
    """A line on other studies that the config names in vain."""
    return (
        not CLAIMS
        and STUDY.site.beside
        and (
            f"site.beside: found {', '.join(STUDY.site.beside)}, but no claim is judged here, since "
            "none rests on the tables that this study makes: studies.html is left out; see `only` "
            "and `leave_out`"
        )
    )
