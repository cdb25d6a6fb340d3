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
#   index.html     the study on a page; it links all else    rules/pages.smk
#   explorer.html  curves, heads and t-SNE to choose from    rules/pages.smk
#   studies.html   other studies beside this one, on demand  rules/claims.smk
#   site/          images and code of these pages            rules/pages.smk
#   next_look.yaml more seeds if undecided, on demand        rules/claims.smk
#   latex/         the main tables, on demand                rules/claims.smk
#   logs/          one file a job
#   benchmarks/    time and memory of each job

import atexit
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

from bottomup.core import running
from bottomup.core.errors import UserError, in_one_line
from bottomup.plan import links, start
from bottomup.plan.config import load, require_packages
from bottomup.plan.declared import require_own_names
from bottomup.plan.digest import ROOT, count_versions_of
from bottomup.plan.failures import (
    choose_without_a_temporary_file,
    expect_a_full_disk,
    expect_a_stop,
    note_why_the_cluster_fails,
    say_how_it_ended,
)
from bottomup.plan.lock import of_conda, unlike_the_lock
from bottomup.plan.lost import make_again_what_was_lost
from bottomup.plan.progress import Progress
from bottomup.plan.reading import misleading, started, typed
from bottomup.plan.reasons import say_what_differs
from bottomup.plan.records import keep_exact, write_plan
from bottomup.plan.shared import require_readable

min_version("9.25")
keep_exact()
say_what_differs()
start.expect_an_early_stop()
start.name_the_user()
expect_a_full_disk()

# Read the config before Snakemake does, which would run the code in a template.
with in_one_line("the study cannot start:\n"):
    TYPED = typed(sys.argv[1:])
    if lines := [*misleading(workflow, TYPED)]:
        raise UserError("\n".join(lines))
    STUDY = load(*started(workflow, TYPED))
    if workflow.deployment_settings.deployment_method:
        count_versions_of(of_conda())
    else:
        require_packages(STUDY)

RESULTS = Path(f"results/{STUDY.study}")
BEFORE = running.last(RESULTS)
if workflow.is_main_process:
    with in_one_line():
        links.require_none(RESULTS)
        require_readable(
            RESULTS, *map(Path, (".snakemake/metadata", ".snakemake/incomplete"))
        )
        start.require_none_at_work(RESULTS, TYPED)
        start.require_report(RESULTS, TYPED)
        make_again_what_was_lost(RESULTS)
    start.run_in(RESULTS, workflow)


configfile: "config.yaml"


report: "docs/report.rst"


# Programs in scripts/ find the library from here, wherever a job runs. Whatever the locale, text is
# in UTF-8 for them, sets are in one order, and figures need no screen.
os.environ.update(PYTHONPATH=str(ROOT), HF_HUB_DISABLE_PROGRESS_BARS="1")
os.environ.update(PYTHONUTF8="1", PYTHONHASHSEED="0", MPLBACKEND="agg")
# The Snakemake that sent this one to a node has set it; but on a node, the cluster ends jobs.
# And no job is started by torchrun, whatever started Snakemake.
for variable in (running.FOLDER, *running.TORCHRUN):
    os.environ.pop(variable, None)


pathvars:
    results=str(RESULTS),
    logs=f"{RESULTS}/logs",
    benchmarks=f"{RESULTS}/benchmarks",


onstart:
    with in_one_line():
        running.start(RESULTS, BEFORE)
        write_plan(workflow.dag.needrun_jobs())
    if workflow.touch:
        print(
            "--touch: results will count as made with today's settings, code, packages and inputs,"
            " whatever they were made with",
            file=sys.stderr,
        )
    if not ON_CLUSTER:
        # It limits nothing here, and in the end takes a fifth of a core (profiles/README.md).
        workflow.scheduler.job_rate_limiter = None
    choose_without_a_temporary_file(workflow.scheduler)
    expect_a_stop()
    note_why_the_cluster_fails()
    PROGRESS.start()


include: "rules/common.smk"
include: "rules/inputs.smk"
include: "rules/resources.smk"
include: "rules/corpus.smk"
include: "rules/training.smk"
include: "rules/views.smk"
include: "rules/heads.smk"
include: "rules/measures.smk"
include: "rules/figures.smk"
include: "rules/claims.smk"
include: "rules/pages.smk"


# What captions state, in Snakemake's own report, too.
config["n_seeds"] = SLICES.n_seeds()


if workflow.is_main_process:
    with in_one_line("the study cannot start:\n"):
        links.require_folders(
            str(path)
            for each in workflow.rules
            for path in [*each.output, *each.log, each.benchmark or ""]
        )
        require_own_names(
            TABLES, {each.name: map(str, each.output) for each in workflow.rules}
        )
    for line in filter(
        None,
        [
            *(STUDY.without_annotation(UNKNOWN, UNANNOTATED), notice_of_only()),
            *(notice_of_beside(), unlike_the_lock(), notice_of_text()),
        ],
    ):
        print(line, file=sys.stderr)


for each in workflow.rules:
    # A user's own rule is left as it is.
    if is_ours(each.params):
        # Snakemake compares commands as text; here blank space makes no difference.
        each.shellcmd = " ".join(each.shellcmd.split())
        # Resources of a rule from the command line stay.
        if "gpu" not in workflow.resource_settings.overwrite_resources.get(
            each.name, {}
        ):
            each.resources["gpu"] = partial(gpus, each.params.settings)
        if not ON_CLUSTER:
            each.group = None  # otherwise a dry run shows groups


PROGRESS = Progress(workflow, seconds_and_threads, RESULTS / "benchmarks", CORES)
if workflow.is_main_process:
    atexit.register(PROGRESS.foretell)


rule all:
    input:
        "<results>/corpus/cleaning_examples.csv",
        [f"<results>/measures/{name}.csv" for name in COLLECTED],
        [
            f"<results>/measures/{name}/{part}.parquet"
            for name, parts in MEASURES.items()
            if name not in COLLECTED
            for part in parts
        ],
        HEADS,
        expand("<results>/figures/{figure}.png", figure=[*FIRST_LOOK, *FIGURES]),
        ["<results>/measures/calibration.csv", "<results>/claims.html"]
        if CLAIMS
        else [],
        BESIDE,
        LATEX_MADE,
        rules.show_index.output.page,
        rules.show_explorer.output.page,
    localrule: True


rule latex:
    input:
        expand("<results>/latex/{table}.tex", table=LATEX),
    localrule: True


if workflow.is_main_process:
    start.require_known_targets(workflow, start.named(TYPED))


onsuccess:
    PROGRESS.end()


onerror:
    PROGRESS.end()
    if not start.is_by_study():  # ./study prints it by its own logger
        failed, n_done = workflow.scheduler.failed, len(PROGRESS.watch.done)
        atexit.register(say_how_it_ended, failed, n_done)
