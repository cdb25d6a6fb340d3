"""Makes Snakemake record what a job really read, and compare all that its result depends on.

By itself, Snakemake (9.27)

- compares the content of an input only if its time is newer than the output's, and fails a job
  whose output is the older one, as where a clock was set back;
- compares inputs as a set, whatever their order and names, and with those that a job only waits
  for, such as the run that it would take from `trained/`; and does not see that two outputs of a
  rule have changed places;
- records the current settings for a job that failed, and deletes its output: if something older was
  made from that output, it then plans nothing;
- takes an output of which it has no record for up to date, if no input is newer: that of a study
  which was copied under another name, for one;
- does not see that an input was written while a job read it, nor that another Snakemake, on a node
  of a cluster, runs a job by a plan of its own;
- leaves in the folder of a model what an earlier job wrote there beside the outputs of the rule.

No setting or plugin changes this. So this module replaces the methods that decide it, and calls the
old ones for the rest. tests/plan/test_records.py fails if Snakemake decides it elsewhere.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import _IOFile
from snakemake.jobs import Job
from snakemake.persistence import ParamsChange, PersistenceBase
from snakemake.persistence.file import FilePersistence
from snakemake.rules import Rule

from bottomup.plan import contents, nodes
from bottomup.core.differences import INPUTS, OUTPUTS, PARAMS
from bottomup.core.names import WEIGHTS
from bottomup.plan.failures import REASONS
from bottomup.plan.reading import misleading, typed
from bottomup.plan.slices import Slice, is_ours

ALGORITHM = "sha256"
WAITED_FOR = "same"  # the name of inputs that a job waits for and does not read


def keep_exact() -> None:
    """Make Snakemake compare and record what the results of a job depend on."""
    FilePersistence.__init__ = _open
    PersistenceBase._params = _params
    PersistenceBase._input = _input
    PersistenceBase._input_changed = _input_changed
    PersistenceBase.has_metadata = _has_metadata
    PersistenceBase.started = _started
    FilePersistence._write_record = _write_record
    Job.prepare = _prepare
    Job.postprocess = _postprocess
    _IOFile.checksum = _checksum


_open_records = FilePersistence.__init__


def _open(persistence: FilePersistence, *arguments, dag=None, **options) -> None:
    """Open the records, or exit if an option would make them wrong. By now Snakemake has all its
    settings."""
    if lines := [*misleading(dag.workflow, typed(sys.argv[1:]))]:
        sys.exit("\n".join(["error: the study cannot start:", *lines]))
    _open_records(persistence, *arguments, dag=dag, **options)


_all_params = PersistenceBase._params


def _params(persistence: PersistenceBase, job: Job) -> list[str]:
    return _all_params(persistence, job) if (own := slice_of(job)) is None else [own]


def slice_of(job: Job) -> str | None:
    """The slice of a job, as text, with the order and names of its inputs and outputs, and its
    other params; None if it has none."""
    if not is_ours(job.params):
        return None
    files = {INPUTS: digests(job.input), OUTPUTS: digests(job.output)}
    return repr(Slice(job.params["settings"], **files, **{PARAMS: _other_params(job)}))


def _other_params(job: Job) -> dict[str, str]:
    """A digest for each param besides the slice, without those that follow from files, which count
    anyway, or from resources, which say how a job runs."""
    names = (name for name, value in job.rule.params.items() if not _follows(value))
    values = {name: job.params[name] for name in names if name != "settings"}
    return {name: _digest_of([_in_order(value)]) for name, value in values.items()}


def _in_order(value: object) -> object:
    """A value with sets, at any depth, in the order that a second process gives them, too."""
    if isinstance(value, set | frozenset):
        return {"set": sorted(map(repr, map(_in_order, value)))}
    if isinstance(value, dict):
        return {"dict": [*map(_in_order, value.items())]}
    return [*map(_in_order, value)] if isinstance(value, list | tuple) else value


_follows = Rule._is_deriving_function


_all_inputs = PersistenceBase._input


def _input(persistence: PersistenceBase, job: Job) -> list[str]:
    """The paths of a job's inputs, without those that it only waits for: nothing of its result
    depends on these, so one more or less makes nothing stale."""
    waited_for = {*map(str, job.input.get(WAITED_FOR, []))}
    return [path for path in _all_inputs(persistence, job) if path not in waited_for]


def write_plan(jobs: Iterable[Job]) -> None:
    """Keep the slices of jobs for the Snakemakes that will run them."""
    slices = ((job, slice_of(job)) for job in jobs)
    nodes.write_down((str(job.output[0]), planned) for job, planned in slices if planned)


def digests(files) -> dict[str, str]:
    """For each name of inputs or outputs, a digest of its paths in their order; of none for those
    that are only waited for.

    It is a digest, since hundreds of paths would be longer than all other settings.
    """
    named = dict(files.items()) or {"files": files}
    if WAITED_FOR in named:
        named[WAITED_FOR] = []
    lists = {name: [some] if isinstance(some, str) else some for name, some in named.items()}
    return {name: _digest_of(paths) for name, paths in lists.items()}


def _digest_of(values: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps([*map(str, values)]).encode()).hexdigest()[:16]


_set_of_inputs_changed = PersistenceBase._input_changed


def _input_changed(persistence: PersistenceBase, job: Job, file=None) -> bool:
    """Whether `file` was made from another set of inputs.

    Inputs whose content changed are added to a reason that Snakemake has, `Updated input files`.
    """
    recorded = persistence.metadata(file).input_checksums or {}
    read = _input(persistence, job)
    others = [path for path in read if recorded.get(str(path)) != _latest(persistence, path)]
    if _set_of_inputs_changed(persistence, job, file):
        return True
    persistence.dag.reason(job).updated_input.update(others)
    return False


_has_records = PersistenceBase.has_metadata


def _has_metadata(persistence: PersistenceBase, job: Job) -> bool:
    """Whether there are records of what made all outputs of a job. Without them it runs again if
    any is there: it may be of other settings, code or text."""
    if _has_records(persistence, job):
        return True
    if any(map(os.path.lexists, job.output)):
        unknown = ParamsChange(only_new={*_params(persistence, job)})
        persistence.dag.reason(job).params_changed = unknown
    return False


def _latest(persistence: PersistenceBase, path: _IOFile) -> str | None:
    """The checksum of an input; if it is missing, the checksum recorded when it was made."""
    if checksum := _as_recorded(path):
        return checksum
    record = persistence.metadata(path)
    return record and (record.input_checksums or {}).get(str(path))


def _as_recorded(path: str) -> str | None:
    """The checksum of a file in the form of the records; None if it cannot be read."""
    digest = contents.digest(path)
    return digest and f"{ALGORITHM}:{digest}"


_checksum_by_snakemake = _IOFile.checksum


async def _checksum(file: _IOFile, threshold=None, force=False, algorithm=None) -> str | None:
    """Snakemake's checksum of a file, but from `contents`, which computes each once."""
    if file.is_storage or algorithm not in (None, ALGORITHM):
        return await _checksum_by_snakemake(file, threshold, force, algorithm)
    return _as_recorded(file)


_write = FilePersistence._write_record


def _write_record(persistence: FilePersistence, key: str, record) -> None:
    """Record the checksum of an output beside those of its inputs. If the output is missing later,
    this tells whether other files were made from this version of it."""
    if checksum := _as_recorded(key):
        record.input_checksums = dict(record.input_checksums or {}) | {key: checksum}
    _write(persistence, key, record)


_start = PersistenceBase.started
# For each job and input, the input's stamp (`contents.stamp`) and, if known, its digest.
_stamps: dict[Job, dict[str, tuple[list[int] | None, str | None]]] = {}


def _started(persistence: PersistenceBase, job: Job, external_jobid: str | None = None) -> None:
    """Note the stamps of a job's inputs as it starts, except of those that its group still has to
    make."""
    dag = persistence.dag
    unmade = {
        str(path)
        for maker, paths in dag.dependencies[job].items()
        if dag.needrun(maker) and not dag.finished(maker)
        for path in paths
    }
    existing = (path for path in map(str, job.input) if path not in unmade)
    _stamps[job] = {path: (contents.stamp(path), contents.known(path)) for path in existing}
    _start(persistence, job, external_jobid)


_prepare_by_snakemake = Job.prepare


async def _prepare(job: Job) -> None:
    """Prepare a job, with new folders for its models, or fail it if it is not as it was planned."""
    now = slice_of(job)
    if now and (line := nodes.unlike_its_plan(str(job.output[0]), now)):
        for log in map(Path, job.log):  # the first Snakemake reads them to say why a job failed
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(f"error: {line}\n")
        raise WorkflowError(line, rule=job.rule)
    await _prepare_by_snakemake(job)
    for weights in (path for path in map(Path, job.output) if now and path.name == WEIGHTS):
        _empty(weights.parent, job)


def _empty(folder: Path, job: Job) -> None:
    """Make the folder of a model anew. Snakemake deletes the outputs that a rule declares, but an
    earlier job may have left others, such as files of another tokenizer, which transformers would
    read, and in the folder of a group they are of another user, whose permissions no job may set.
    """
    try:
        shutil.rmtree(folder)
        folder.mkdir()
    except OSError as error:
        line = f"{folder} cannot be made anew: {error.strerror or error}; delete it and run again"
        raise WorkflowError(line, rule=job.rule) from error


_end = Job.postprocess


async def _postprocess(job: Job, *arguments, error: bool = False, **options) -> None:
    """End a job. It fails if its inputs changed since it started or was planned. A failed job
    leaves no record."""
    stamps = _stamps.pop(job, {})
    try:
        if not error and (line := next(_changed(job, stamps), None)):
            raise WorkflowError(line, rule=job.rule)
        options["check_output_mtime"] = False  # a clock may be set back: contents count, not times
        await _end(job, *arguments, error=error, **options)
    except Exception as failure:
        REASONS.update(dict.fromkeys(map(str, job.log), " ".join(str(failure).split())))
        raise
    if error:
        job.dag.workflow.persistence.cleanup(job)


def _changed(job: Job, stamps: dict) -> Iterator[str]:
    """A line for each input that changed while the job ran, or since the study was planned."""
    for path, (before, known) in stamps.items():
        if before and not _is_same(path, before, known):
            yield f"{path} was written or replaced while a job read it; run again"
    params = slice_of(job) or ""
    for planned, listed in contents.FILES.items():
        if planned in params and contents.content_now(files := [*listed()]) != planned:
            first = files[0] if files else "a file"
            yield f"{first} or a file with it has changed since the study was planned; run again"


def _is_same(path: str, before: list[int], known: str | None) -> bool:
    """Whether a file was not written since it had this stamp and digest.

    A backup by hard links, or new permissions, change only the last number of the stamp; then the
    digest decides.
    """
    now = contents.stamp(path)
    if now is None or now[:-1] != before[:-1]:
        return False
    return now == before or (known is not None and contents.digest(path) == known)
