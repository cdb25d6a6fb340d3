"""Kill a study by -9 at random moments, over and over, and compare what it comes to with an
undisturbed run.

    python -m tests.faults.kills /tmp/kills --kills 200

runs the study in `undisturbed/` of the folder (once: it is kept for the next time), and in
`killed/`, where for each job the moment, in its CPU time, and what is killed are drawn from --seed:
its program; Snakemake; or both with all other jobs. After each end of Snakemake the same command is
started again, at once. What was made before its moment came is made again, until every rule was
hit. When the study is whole, all its files are compared byte by byte, and there must be nothing
left to do. Ends with the counts by rule; status 1 where anything differs. Linux only: it reads
/proc.
"""

import argparse
import math
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.plan.checkouts import ROOT, copy_repository

VICTIMS = ["program", "program", "snakemake", "everything"]
MADE = ("results", "trained", ".snakemake")
# What tells of the time and place of a job, and who runs.
NO_RESULTS = ("logs/", "benchmarks/", ".snakemake.lock", ".jobs.lock")


@dataclass
class Study:
    """A study in a copy of the repository, and the command that runs it."""

    folder: Path
    arguments: list[str]

    def start(self, log: Path, *arguments: str) -> subprocess.Popen:
        """Start Snakemake, in a session of its own, with its output in a file."""
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        with log.open("w") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "snakemake", *self.arguments, *arguments],
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output(self, *arguments: str) -> str:
        """What Snakemake prints; exit with it where Snakemake fails."""
        log = self.folder / "snakemake.log"
        status = self.start(log, *arguments).wait()
        if status:
            sys.exit(f"{log.read_text()}error: the study fails by itself in {self.folder}")
        return log.read_text()

    def jobs(self) -> dict[str, tuple[str, float]]:
        """Of each job of a finished study, by its log, the rule and its CPU seconds."""
        shown = self.output("--forceall", "--dry-run", "--quiet", "host", "progress")
        named = re.findall(
            r"rule (\w+):\n(?:    .*\n)*?    log: (\S+)\n(?:    .*\n)*?    benchmark: (\S+)", shown
        )
        jobs = {}
        for rule, log, benchmark in named:
            header, values = (self.folder / benchmark).read_text().splitlines()[:2]
            row = dict(zip(header.split("\t"), values.split("\t"), strict=True))
            jobs[log] = (rule, float(row["cpu_time"].replace("NA", "1")))
        return jobs


@dataclass
class Kills:
    """Which rules' jobs are still to be hit, and which were."""

    study: Study
    jobs: dict[str, tuple[str, float]]
    wanted: Counter
    draw: random.Random
    done: Counter = field(default_factory=Counter)  # by rule and victim
    deck: list[str] = field(default_factory=list)  # victims to come; so each has its turn
    lives: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, *arguments: str) -> None:
        """Start the study, with arguments, and again, without, until it came to its end."""
        while not self.life(*arguments):
            arguments = ()

    def life(self, *arguments: str) -> bool:
        """Start the study and kill while it runs; whether it came to its end."""
        before, log = self.done.total(), self.study.folder / f"life.{self.lives:03}.log"
        self.lives += 1
        snakemake = self.study.start(log, *arguments)
        for job in started(log, snakemake):
            rule, seconds = self.jobs[job]
            if self.wanted[rule] > 0:
                moment = 0.9 * self.draw.random() * seconds
                arguments = (snakemake, rule, job, moment)
                threading.Thread(target=self.kill, args=arguments, daemon=True).start()
        failed = snakemake.wait()
        with self.lock:  # else the kill that ended it may not be counted yet
            by_itself = failed and self.done.total() == before
        if by_itself:
            sys.exit(f"{log.read_text()}error: this life failed by itself: {log}")
        return snakemake.returncode == 0

    def kill(self, snakemake: subprocess.Popen, rule: str, job: str, moment: float) -> None:
        """Kill the next victim when the program of a job has computed so long."""
        output = self.study.folder.resolve() / job
        while snakemake.poll() is None and not (program := writing(output, snakemake.pid)):
            time.sleep(0.02)
        try:
            while snakemake.poll() is None and sum(program.cpu_times()[:2]) < moment:
                time.sleep(0.02)
            with self.lock:
                if self.wanted[rule] <= 0 or snakemake.poll() is not None:
                    return
                self.deck = self.deck or self.draw.sample(VICTIMS, len(VICTIMS))
                victim, whole = self.deck[-1], psutil.Process(snakemake.pid)
                program.kill() if victim == "program" else whole.suspend()
                if victim == "everything":
                    for child in whole.children(recursive=True):
                        with suppress(psutil.NoSuchProcess):
                            child.kill()
                if victim != "program":
                    whole.kill()
                self.deck.pop()
                self.wanted[rule] -= 1
                self.done[rule, victim] += 1
        except psutil.NoSuchProcess:
            return  # it was quicker
        print(f"{self.done.total():4} {victim:10} {moment:6.2f} s of {job}", flush=True)


def started(log: Path, snakemake: subprocess.Popen) -> Iterator[str]:
    """The jobs that a Snakemake starts, by their logs, as it says so, until it ends."""
    with log.open() as lines:
        while True:
            ended, line = snakemake.poll() is not None, lines.readline()
            if found := re.match(r"    log: (\S+)\n", line):
                yield found[1]
            if ended and not line:
                return
            if not line:
                time.sleep(0.02)


def writing(output: Path, snakemake: int) -> psutil.Process | None:
    """The program under this Snakemake that writes to a log."""
    try:
        for process in psutil.Process(snakemake).children(recursive=True):
            if process.name().startswith("python") and process_output(process) == output:
                return process
    except psutil.NoSuchProcess:
        return None
    return None


def process_output(process: psutil.Process) -> Path | None:
    try:
        return Path(f"/proc/{process.pid}/fd/1").resolve(strict=True)
    except OSError:
        return None


def files(folder: Path) -> dict[str, bytes]:
    """Every file of the studies in a copy of the repository, and of their finished runs."""
    found = {}
    for path in sorted(p for name in MADE[:2] for p in (folder / name).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.split("/", 2)[-1].startswith(NO_RESULTS):
            found[name] = path.read_bytes()
    return found


def differing(one: Path, other: Path) -> list[str]:
    """The files of which two copies have not the same bytes, or one has none."""
    ours, theirs = files(one), files(other)
    return [name for name in sorted(ours | theirs) if ours.get(name) != theirs.get(name)]


def kill(folder: Path, arguments: list[str], n_kills: int, seed: int) -> tuple[Counter, list[str]]:
    """Kills by rule and victim, and the files that differ in the end.

    folder: has the copies of the repository `undisturbed` and `killed`.
    """
    undisturbed, killed = (Study(folder / name, arguments) for name in ("undisturbed", "killed"))
    undisturbed.output()
    jobs = undisturbed.jobs()
    rules = {rule for rule, _ in jobs.values()}
    done, differences, draw = Counter(), [], random.Random(seed)
    while done.total() < n_kills and not differences:
        for name in MADE:
            shutil.rmtree(killed.folder / name, ignore_errors=True)
        each = math.ceil((n_kills - done.total()) / len(rules))
        kills = Kills(killed, jobs, Counter(dict.fromkeys(rules, each)), draw)
        kills.run()
        while missed := rules - {rule for rule, _ in done + kills.done}:
            kills.run("--forcerun", *sorted(missed))
        done += kills.done
        differences = differing(undisturbed.folder, killed.folder)
    if "Nothing to be done" not in killed.output("--dry-run"):
        differences.append("what a dry run would do")
    return done, differences


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=200, help="at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--study", default="studies/smoke.yaml")
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    for name in ("undisturbed", "killed"):
        if not (given.folder / name).exists():
            copy_repository(given.folder / name)
            (given.folder / name / "downloads").symlink_to(ROOT / "downloads")
    arguments = ["--configfile", given.study, "--cores", str(given.cores), "--keep-going"]
    done, differences = kill(given.folder, arguments, given.kills, given.seed)
    rules = sorted({rule for rule, _ in done})
    print(f"\n| rule | {' | '.join(dict.fromkeys(VICTIMS))} |")
    for rule in rules:
        print(f"| {rule} | {' | '.join(str(done[rule, v]) for v in dict.fromkeys(VICTIMS))} |")
    print(f"{done.total()} kills in jobs of {len(rules)} rules; files that differ: {differences}")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
