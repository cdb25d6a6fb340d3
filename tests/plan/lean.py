"""Snakemake with the code of the folder that it runs in, without what no test reads: the tenth of a
second that it waits for each job of `--touch`, columns of `--summary`, and the search for garbage
in a process of two seconds."""

import gc
import json
import os
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace

from snakemake.cli import main
from snakemake.dag import DAG
from snakemake.executors import touch


async def summary(dag: DAG, detailed: bool) -> AsyncIterator[str]:
    """Of the details, the code in a job's record and what it reads."""
    yield "output_file\trule\tplan\tcode\tinputs"
    for job in dag.jobs:
        plan = "update pending" if dag.reason(job) else "no update"
        details = []
        if detailed and job.output:
            details = [json.dumps(job.params.settings["code"]), " ".join(job.input)]
        for output in job.output:
            yield "\t".join([output, job.rule.name, plan, *details])


gc.disable()
sys.path[0] = os.getcwd()
touch.time = SimpleNamespace(sleep=lambda seconds: None)
DAG.summary = summary
main(sys.argv[1:])
