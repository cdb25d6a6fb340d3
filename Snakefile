# One study, from raw text to figures. Under results/<study>/:
#
#   corpus/        text, splits, sub-words, annotation       rules/corpus.smk
#   runs/          trained models                            rules/training.smk
#   occurrences/   held-out text, as the models read it      rules/views.smk
#   views/         representations, a file for each run     rules/views.smk
#   measures/      tables of what was measured               rules/measures.smk
#   pruned/        models with fewer heads                   rules/heads.smk
#   figures/       PNG, PDF and the points drawn             rules/figures.smk
#   claims.html    what the papers say, judged               rules/claims.smk
#   logs/          one file a job
#   benchmarks/    time and memory of each job

import os
import sys

from snakemake.utils import min_version

from bottomup.errors import UserError
from bottomup.workflow.config import load
from bottomup.workflow.reasons import say_what_differs

min_version("9.25")
say_what_differs()


configfile: "config.yaml"


report: "docs/report.rst"


try:
    STUDY = load(config)
except UserError as error:
    sys.exit(f"error: the config is wrong in these keys:\n{error}")

# Programs in scripts/ find the library from here, wherever a job runs.
os.environ.update(PYTHONPATH=workflow.basedir, HF_HUB_DISABLE_PROGRESS_BARS="1")


pathvars:
    results=f"results/{STUDY.study}",
    logs=f"results/{STUDY.study}/logs",
    benchmarks=f"results/{STUDY.study}/benchmarks",


include: "rules/common.smk"
include: "rules/corpus.smk"
include: "rules/training.smk"
include: "rules/views.smk"
include: "rules/heads.smk"
include: "rules/measures.smk"
include: "rules/figures.smk"
include: "rules/claims.smk"


for each in workflow.rules:
    if each.shellcmd:
        # A command is compared as text, in which blank space makes no difference.
        each.shellcmd = " ".join(each.shellcmd.split())
        # What the command line says of a rule's resources stays.
        each.resources.setdefault("gpu", partial(gpus, each.params.settings))
        if not ON_CLUSTER:
            each.group = None  # else a dry run shows groups


rule all:
    input:
        "<results>/corpus/cleaning_examples.csv",
        [f"<results>/measures/{name}.csv" for name, parts in MEASURES.items() if parts],
        (
            ["<results>/measures/heads.csv"]
            if MEASURES["head_importance"] and MEASURES["head_functions"]
            else []
        ),
        expand("<results>/figures/{figure}.png", figure=FIGURES),
        ["<results>/measures/calibration.csv", "<results>/claims.html"]
        if JUDGED
        else [],
    localrule: True
