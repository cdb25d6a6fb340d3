"""What Snakemake would run for a study, asked in this process, a third of a second each; and how it
lays one config on another."""

import contextlib
import os
from pathlib import Path
from unittest import mock

from snakemake.api import SnakemakeApi
from snakemake.jobs import Job
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    DeploymentSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
    StorageSettings,
    WorkflowSettings,
)


def planned(folder: Path, *configfiles: Path, targets: tuple[str, ...] = ()) -> list[Job]:
    """All jobs of a study, in the copy of the repository in `folder`, whether stale or not."""
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ),
        mock.patch("sys.argv", ["snakemake"]),
        mock.patch("bottomup.plan.reading.ROOT", folder),  # the same library, of the work tree
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL}, dryrun=True)) as api,
    ):
        opened = api.workflow(
            resource_settings=ResourceSettings(cores=1),
            config_settings=ConfigSettings(configfiles=[Path(file) for file in configfiles]),
            storage_settings=StorageSettings(),
            workflow_settings=WorkflowSettings(),
            deployment_settings=DeploymentSettings(),
            snakefile=folder / "Snakefile",
            workdir=folder,
        )
        opened.dag(dag_settings=DAGSettings(targets=set(targets), max_checksum_file_size=10**12))
        workflow = opened._workflow
        workflow._prepare_dag(forceall=True, ignore_incomplete=True, lock_warn_only=True)
        workflow._build_dag()
        return [job for job in workflow.dag.jobs if job.shellcmd]


def overlaid(under, over):
    """`over` laid on `under` as Snakemake lays a --configfile on the workflow's own."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return over
    return under | {key: overlaid(under.get(key), value) for key, value in over.items()}
