"""Every fault of a cluster in the middle of one run of the smoke study, and a comparison of what
it comes to with an undisturbed run.

    python -m tests.slurm.storm /tmp/storm

runs the study in `undisturbed/` of the folder (once: it is kept for the next time) without a
cluster, and in `struck/` with profiles/slurm on a SLURM of this machine's own, on which each fault
strikes another training as soon as that has a checkpoint. Where Snakemake ends by a fault the same
command is started again. All files must be the same in the end, byte by byte, and nothing left to
do. As root, on Debian; tests/slurm/cluster says what it installs.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.faults.kills import differing
from tests.plan.checkouts import ROOT, copy_repository
from tests.slurm.studies import CLUSTER, Cluster, Study, wait_for

COMMAND = ("--configfile=studies/smoke.yaml",)
RESULTS = Path("results/smoke")
# One training at a time, which are all that ask for `accumulate`, so that none is missed.
ONE_TRAINING = ("--resources", "runtime=1440", "gpu=1", "accumulate=1")
PREEMPTED_PARTITION = ("--default-resources", "slurm_partition=scavenger")


@dataclass
class Hit:
    """A training that is struck; it stands still meanwhile, unless `goes_on`."""

    study: Study
    job: str
    program: psutil.Process

    @property
    def cluster(self) -> Cluster:
        return self.study.cluster

    def goes_on(self) -> None:
        with suppress(psutil.NoSuchProcess):
            self.program.resume()

    def runs_again(self) -> None:
        """The same job, which takes no retry; what SLURM holds back is released, as docs say."""

        def again() -> bool:
            for line in self.cluster("squeue", "--noheader", "--format=%i %r").splitlines():
                if "held" in line:
                    self.cluster("scontrol", "release", line.split()[0])
            return self.cluster.field(self.job, "Restarts") != "0"

        wait_for(f"second run of job {self.job}", again)

    def ends_snakemake(self, because: str) -> None:
        """Snakemake tells the user why it fails."""
        self.goes_on()
        assert self.study.finish() == 1
        assert because in self.study.log()


def cancelled(hit: Hit) -> None:
    hit.cluster("scancel", hit.job)


def queued_again(hit: Hit) -> None:
    hit.cluster("scontrol", "requeue", hit.job)
    hit.runs_again()


def preempted(hit: Hit) -> None:
    whole_node = ("--partition=main", "--cpus-per-task=8", "--output=/dev/null")
    hit.cluster("sbatch", *whole_node, "--wrap=sleep 5")
    hit.runs_again()


def out_of_time(hit: Hit) -> None:
    left = ("squeue", "--noheader", f"--jobs={hit.job}", "--format=%L")
    wait_for("last seconds", lambda: hit.cluster(*left).strip() < "0:12")
    hit.goes_on()
    hit.runs_again()


def node_down(hit: Hit) -> None:
    node = hit.cluster.field(hit.job, "NodeList")
    hit.cluster("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=storm")
    hit.runs_again()


def out_of_memory(hit: Hit) -> None:
    hit.program.kill()


def disk_full(hit: Hit) -> None:
    results = hit.study.path / "results"
    disk = os.statvfs(results)
    resized(results, (disk.f_blocks - disk.f_bfree) * disk.f_frsize)
    hit.ends_snakemake(because="the disk of results is full")
    resized(results, 2**31)


def snakemake_killed(hit: Hit) -> None:
    hit.study.kill()
    assert (hit.study.path / RESULTS / ".snakemake.lock").exists()
    hit.study.cancel()


def controller_restarted(hit: Hit) -> None:
    hit.goes_on()
    hit.cluster.away("slurmctld", number=signal.SIGTERM)


def controller_and_accounting_killed(hit: Hit) -> None:
    hit.goes_on()
    hit.cluster.away("slurmctld", "slurmdbd")
    for job in hit.cluster.jobs("running"):
        if job != hit.job:  # a group may stand still now, as docs say
            hit.cluster("scontrol", "requeue", job)


def accounting_away(hit: Hit) -> None:
    hit.goes_on()
    hit.cluster.away("slurmdbd", seconds=60)


def clock_fast(hit: Hit) -> None:
    hit.study.dated(RESULTS, hours=1)
    hit.goes_on()


FAULTS: dict[str, Callable[[Hit], None]] = {
    "runs/lm-1": cancelled,
    "runs/mlm-1": queued_again,
    "runs/mt-1": preempted,
    "runs/mt_noise-1": out_of_time,
    "runs/mlm_causal-1": node_down,
    "runs/lm_bidirectional-1": out_of_memory,
    "runs/lm_half1-1": disk_full,
    "runs/lm_half2-1": snakemake_killed,
    "pruned/mt-1/all/gates_0": controller_restarted,
    "pruned/mt-1/all/gates_1": controller_and_accounting_killed,
    "pruned/mt-1/encoder/gates_1": accounting_away,
    "pruned/lm-1/encoder/gates_1": clock_fast,
}


def resized(results: Path, n_bytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={n_bytes}", str(results)], check=True)


def storm(study: Study) -> None:
    """Run a study while all faults strike it."""
    waiting, start = dict(FAULTS), [*ONE_TRAINING, *PREEMPTED_PARTITION]
    start += ["--jobs", "8", "--set-resources", "train_mt_noise:runtime=1"]
    for _ in range(len(FAULTS)):
        study.start(*start)
        while study.process.poll() is None:
            for run, program in trainings(study, waiting):
                program.suspend()
                hit = Hit(study, program.environ()["SLURM_JOB_ID"], program)
                print(f"{time.strftime('%H:%M:%S')} {run}: {waiting[run].__name__}", flush=True)
                waiting.pop(run)(hit)
                hit.goes_on()
            time.sleep(0.1)
        print(f"{time.strftime('%H:%M:%S')} Snakemake ended by {study.process.returncode}")
        if study.process.returncode == 0:
            break
    assert study.process.returncode == 0, study.log()
    assert not waiting, f"never hit: {list(waiting)}"


def trainings(study: Study, runs: dict[str, Callable]) -> list[tuple[str, psutil.Process]]:
    """Programs that train one of the runs, once it has a checkpoint."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            ours = process.name().startswith("python") and process.cwd() == str(study.path)
            words = process.cmdline() if ours else []
            for run in runs:
                folder = RESULTS / run
                state = study.path / folder / "checkpoint/state.json"
                if str(folder) in words and state.exists():
                    found.append((run, process))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    cluster = Cluster(folder / "cluster", accounting=True)
    undisturbed, struck = (
        Study(folder / name, cluster, COMMAND) for name in ("undisturbed", "struck")
    )
    shutil.rmtree(struck.path, ignore_errors=True)
    for study in (undisturbed, struck):
        if not study.path.exists():
            copy_repository(study.path)
            (study.path / "downloads").symlink_to(ROOT / "downloads")
    undisturbed.run("--cores", "2", profile=False)
    cluster.folder.mkdir(exist_ok=True)
    if (started := cluster.start()).returncode:
        sys.exit(started.stdout + started.stderr)
    results = struck.path / "results"
    results.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2g", "tmpfs", results], check=True)
    try:
        storm(struck)
        differences = differing(undisturbed.path, struck.path)
        if "Nothing to be done" not in struck.plan():
            differences.append("what a dry run would do")
        print(f"{len(FAULTS)} faults; files that differ: {differences}")
    finally:
        struck.process.kill()
        subprocess.run([CLUSTER, "stop", cluster.folder], check=True)
        subprocess.run(["umount", "--lazy", results], check=True)
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
