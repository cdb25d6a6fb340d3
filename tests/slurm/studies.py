"""A small study in a copy of the repository, run as a user runs it: by Snakemake, by profile."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.plan.checkouts import Checkout, copy_repository

# One short training, and what is measured of it.
OVERLAY = """\
study: slurm
corpus:
  source: files
  sources: {files: {source: text/en.txt, target: text/de.txt}}
  splits: {test_words: 3000, dev_words: 1000, near_duplicates: keep}
  bpe: {merges: 300}
model: {layers: 2, heads: 2, d_model: 32, d_ff: 64}
training: {max_tokens: 100000, warmup_steps: 20, evaluate_every_steps: 50, patience: 1000}
objectives: {lm: {}}
seeds: [1]
occurrences: {n: 1000, as_trained_draws: 1}
measures:
  mutual_information: {n_tokens: 20, other_n_tokens: [], n_clusters: 20, other_n_clusters: []}
quality: {sentences: 10}
"""
# Where there is accounting, too, faults strike, which takes its time.
A_MINUTE = ("max_tokens: 100000,", "max_tokens: 1000000,")
RESULTS = Path("results/slurm")
CLUSTER = Path(__file__).parent / "cluster"
WARM = Path(__file__).parents[1] / "warm.py"
TABLES = [
    "measures/quality/lm-1.csv",
    "measures/mutual_information/lm-1.plain.csv",
    "measures/pwcca_between_layers/lm-1.csv",
]
CHECKPOINT = RESULTS / "runs/lm-1/checkpoint/state.json"


def wait_for(what: str, found: Callable, seconds: int = 300):
    """The first answer of `found` that is true; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.2)
    return answer


@dataclass(frozen=True)
class Cluster:
    """The commands of a cluster whose configuration is in a folder."""

    folder: Path
    accounting: bool

    def __call__(self, *command: str) -> str:
        """What a command of SLURM prints."""
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def jobs(self, state: str = "all") -> dict[str, str]:
        """The rule or group of each job in a state, by id."""
        lines = self("squeue", "--noheader", f"--states={state}", "--format=%i %k").splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def job(self, name: str, state: str = "all") -> str | None:
        """The newest job of a rule or group."""
        found = [int(number) for number, comment in self.jobs(state).items() if name in comment]
        return str(max(found)) if found else None

    def megabytes(self, job: str) -> int:
        """That a job asked for."""
        return int(re.search(r"mem=(\d+)M", self("scontrol", "show", "job", job))[1])

    def start(self) -> subprocess.CompletedProcess:
        """Start what does not run."""
        command = [CLUSTER, "start", self.folder, *["accounting"] * self.accounting]
        return subprocess.run(command, capture_output=True, text=True)

    def away(self, *daemons: str, number: int = signal.SIGKILL, seconds: float = 30) -> None:
        """Have daemons end by a signal, and come back after a while."""
        for daemon in daemons:
            os.kill(int((self.folder / f"{daemon}.pid").read_text()), number)
        time.sleep(seconds)
        started = self.start()
        assert started.returncode == 0, started.stderr

    def field(self, job: str, name: str) -> str:
        """As `scontrol show job` has it: JobState, Restarts, TimeLimit, MinMemoryNode."""
        return re.search(rf"\b{name}=(\S+)", self("scontrol", "show", "job", job))[1]


@dataclass
class Study:
    """A copy of the repository with a study in it."""

    path: Path
    cluster: Cluster
    command: tuple[str, ...] = ("--configfile=study.yaml", *(f"{RESULTS}/{t}" for t in TABLES))
    process: subprocess.Popen | None = None

    @classmethod
    def new(cls, path: Path, cluster: Cluster) -> "Study":
        checkout: Checkout = copy_repository(path)
        overlay = OVERLAY.replace(*A_MINUTE) if cluster.accounting else OVERLAY
        (checkout.path / "study.yaml").write_text(overlay)
        draw = np.random.default_rng(1)
        for language, prefix in [("en", "w"), ("de", "v")]:
            lines = [
                " ".join(f"{prefix}{word % 997}" for word in draw.zipf(1.3, draw.integers(5, 15)))
                for _ in range(6000)
            ]
            (path / f"text/{language}.txt").write_text("\n".join(lines) + "\n")
        return cls(path, cluster)

    def copy(self, path: Path) -> "Study":
        return Study(Path(shutil.copytree(self.path, path, symlinks=True)), self.cluster)

    def snakemake(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", *self.command, "--cores", "1", *arguments]

    def start(self, *arguments: str, profile: bool = True) -> None:
        """Start Snakemake, on the cluster or locally, with as many threads on both. Programs start
        warm, unless faults are to strike them on the cluster."""
        how = [
            *("--profile", "profiles/slurm", "--latency-wait", "5"),
            *("--slurm-init-seconds-before-status-checks", "2"),
            *("--max-status-checks-per-second", "1"),
        ]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = self.snakemake(*(how if profile else []), *arguments)
        if not (profile and self.cluster.accounting):
            command = [sys.executable, str(WARM), *command]
        with (self.path / "log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.path,
                env=environment | {"OMP_NUM_THREADS": "1"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def finish(self) -> int:
        """The exit status, once it has ended."""
        return self.process.wait(1800)

    def run(self, *arguments: str, profile: bool = True) -> None:
        self.start(*arguments, profile=profile)
        assert self.finish() == 0, self.log()

    def plan(self, *arguments: str) -> str:
        """What a dry run says."""
        return subprocess.run(
            self.snakemake("--dry-run", *arguments),
            cwd=self.path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def forget(self, *parts: str | Path) -> None:
        for part in parts:
            shutil.rmtree(self.path / part, ignore_errors=True)

    def dated(self, folder: Path, hours: int) -> None:
        """Give all files in a folder the time of a clock that goes wrong."""
        then = time.time() + 3600 * hours
        for path in (self.path / folder).rglob("*"):
            os.utime(path, (then, then))

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cancel(self) -> None:
        """The jobs of the last Snakemake, by the name that it gave them."""
        self.cluster("scancel", "--name=" + self.log().split("SLURM run ID: ")[-1].split()[0])
        wait_for("end of the jobs", lambda: not self.cluster.jobs("running,completing,pending"))

    def log(self) -> str:
        return (self.path / "log").read_text()

    def training(self) -> str:
        """The job that trains, once it has written a checkpoint."""
        wait_for("checkpoint", (self.path / CHECKPOINT).exists)
        return self.cluster.job("rule_train_lm", "running")

    def tables(self) -> dict[str, bytes]:
        return {table: (self.path / RESULTS / table).read_bytes() for table in TABLES}
