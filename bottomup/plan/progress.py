"""How far a study is and when it will end: a line on a terminal, a line a minute in a log.

The time of a job is estimated from the benchmarks of similar jobs of the study; before there are
any, from its time in the default study on one core, scaled by the size of this study.

The events that Snakemake logs tell which jobs run and which are done. No event tells the plan, and
which job waits for which; these come from Snakemake's graph of jobs. So this is no logger plugin: a
plugin sees events alone, and a user would have to ask for it.
"""

import logging
import re
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm
from tqdm.contrib import DummyTqdmFile

from bottomup.core.plurals import plural
from bottomup.plan.program import WARNING
from bottomup.plan.study import tables

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

log = logging.getLogger("snakemake.logging")

WARNED = re.compile(rf"[\d:]+ ({WARNING}.*)")
TERMINAL_SECONDS, LOG_SECONDS = 5, 60  # between two lines
NAMED = 3  # running jobs
SHOWN = "shown"  # marks a record that ./study prints
OVERDUE = 0.1  # share of its time so far that an overdue job is expected to take still
RIGHT = 0.1  # share of all work that counts as measured with its estimates: few jobs say little
START_UP = 2  # seconds that any job takes to start
# Seconds of a job in the default study, on its own core; each table declares its own.
SECONDS = {
    "align_words": 20,
    "annotate_words": 11,
    "calibrate_claims": 10,
    "extract_views": 8,
    "judge_claims": 60,
}
ANY_OTHER_SECONDS = 3
VIEWS_MB = 179  # of the default study; the time of jobs that do not train scales with it
OPERATIONS_A_SECOND = 8e10  # of a training on its own core: 5e10 to 11e10


class Job(NamedTuple):
    """A job. seconds: the estimate. after: the names of the jobs that it waits for; see `_name`."""

    seconds: float
    threads: int
    after: Collection[str] = ()


def guess(rule: str, operations: float, views_mb: float) -> float:
    """The seconds of a job when no similar job has been measured.

    operations: those of its training, 0 if it does not train; views_mb: the size of a view of the
    study.
    """
    if operations:
        return START_UP + operations / OPERATIONS_A_SECOND
    if table := tables().get(rule.removeprefix("measure_")):
        seconds = table.TABLE.seconds
    else:
        seconds = SECONDS.get(rule, ANY_OTHER_SECONDS)
    return START_UP + seconds * views_mb / VIEWS_MB


def measured(folder: Path) -> dict[str, float]:
    """Seconds by job, from the benchmarks in `folder`; one that is still being written is left
    out."""
    seconds = {file.stem: seconds_in(file) for file in folder.glob("*.tsv")}
    return {name: value for name, value in seconds.items() if value is not None}


def seconds_in(benchmark: Path) -> float | None:
    """The seconds of a job, from its benchmark; None if there is none that is whole."""
    try:
        return float(benchmark.read_text().splitlines()[-1].partition("\t")[0])
    except (OSError, ValueError, IndexError):
        return None


def expected(jobs: dict[str, Job], took: dict[str, float]) -> dict[str, float]:
    """The seconds that each job takes: those in `took`, or the mean over the jobs of its rule in
    `took` whose names share the longest beginning with its own. If there are none, its estimate,
    scaled by how measured jobs compare with theirs; as if RIGHT of all work had taken its estimate.
    """
    known = [(took[name], job.seconds) for name, job in jobs.items() if name in took]
    right = RIGHT * sum(job.seconds for job in jobs.values())
    seconds, guesses = (right + sum(pair[n] for pair in known) for n in (0, 1))
    pace = seconds / guesses if jobs else 1
    by_rule: dict[str, list[str]] = {}
    for name in took:
        by_rule.setdefault(name.partition(".")[0], []).append(name)
    return {
        name: _mean_of_like(name, by_rule.get(name.partition(".")[0], []), took)
        or job.seconds * pace
        for name, job in jobs.items()
    }


def _mean_of_like(name: str, others: list[str], took: dict[str, float]) -> float:
    """The mean time of the others whose names share the longest beginning with this one; 0 if there
    are none."""
    alike = {other: _same_beginning(f"{name}.", f"{other}.") for other in others}
    most = max(alike.values(), default=0)
    like = [took[other] for other, n in alike.items() if n == most]
    return sum(like) / max(1, len(like))


def _same_beginning(one: str, other: str) -> int:
    """The number of characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def share_and_seconds_left(
    jobs: dict[str, Job],
    seconds: dict[str, float],
    done: Collection[str],
    running: dict[str, float],
    cores: int,
) -> tuple[float, float]:
    """The share of work that is done, and the time of the rest on `cores`: at least its core
    seconds divided by the number of cores, and at least its longest chain of jobs.

    seconds: the time of each job. running: for how many seconds jobs have been running.
    """
    left = {name: seconds[name] for name in jobs if name not in done}
    left |= {
        name: max(seconds[name] - elapsed, OVERDUE * elapsed)
        for name, elapsed in running.items()
        if name in left
    }
    chains: dict[str, float] = {}

    def chain(name: str) -> float:
        if name not in chains:
            before = max((chain(other) for other in jobs[name].after if other in left), default=0)
            chains[name] = left[name] + before
        return chains[name]

    work = sum(left[name] * jobs[name].threads for name in left)
    finished = sum(seconds[name] * jobs[name].threads for name in jobs if name in done)
    finished += sum(running[name] * jobs[name].threads for name in left if name in running)
    longest = max(map(chain, left), default=0)
    return finished / max(finished + work, 1e-9), max(work / cores, longest)


def line(
    n_done: int, n_jobs: int, share: float, left: float, running: list[str], now: datetime
) -> str:
    """`36 of 397 jobs, about 9 % of the work; about 93 min left, until 17:42; running: ...`"""
    end = now + timedelta(seconds=left)
    until = f"{end:%H:%M}" if end.date() == now.date() else f"{end:%a %d %b, %H:%M}"
    more = [f"{len(running) - NAMED} more"] * (len(running) > NAMED)
    jobs = [f"; running: {', '.join([*running[:NAMED], *more])}"] * bool(running)
    return (
        f"{n_done} of {n_jobs} {plural('job', n_jobs)}, about {int(100 * share)} % of the work; "
        f"about {_minutes(left)} min left, until {until}{''.join(jobs)}"
    )


def _minutes(seconds: float) -> int:
    return -int(-seconds // 60)


class Watch(logging.Handler):
    """Reads in Snakemake's log which jobs run and which are done, by Snakemake's numbers of jobs.

    began: when each running job began, in seconds of the monotonic clock.
    """

    def __init__(self) -> None:
        super().__init__()
        self.began: dict[int, float] = {}
        self.done: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of a record."""
        fields = vars(record)  # Snakemake adds fields
        event = fields.get("event")
        if event == LogEvent.JOB_INFO:
            self.began[fields["jobid"]] = time.monotonic()
        elif event == LogEvent.JOB_ERROR:
            self.began.pop(fields["jobid"], None)
        elif event == LogEvent.JOB_FINISHED:
            self.began.pop(fields["job_id"], None)
            self.done.add(fields["job_id"])


class Progress:
    """Shows how far Snakemake's `workflow` is, from `start` to `end`, in its own thread, so that an
    error there stops no job.

    guess: gives the seconds and threads of one of Snakemake's jobs. cores: of all jobs together.
    """

    def __init__(
        self,
        workflow: "Workflow",
        guess: Callable[..., tuple[float, int]],
        benchmarks: Path,
        cores: int,
    ):
        self.workflow, self.guess = workflow, guess
        self.benchmarks, self.cores = benchmarks, cores
        self.watch = Watch()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._follow, name="progress", daemon=True)

    def start(self) -> None:
        """Watch, and show progress from now on, unless Snakemake is asked to be quiet about it."""
        log.addHandler(self.watch)
        if not self._is_quiet():
            self.thread.start()

    def foretell(self) -> None:
        """Say after a dry run how long its jobs would take."""
        if not self.workflow.dryrun or self.workflow.dag is None or self._is_quiet():
            return
        _, jobs = self._planned()
        if jobs:
            seconds = expected(jobs, measured(self.benchmarks))
            _, left = share_and_seconds_left(jobs, seconds, (), {}, self.cores)
            print(
                f"{len(jobs)} {plural('job', len(jobs))} would take about {_minutes(left)} min on "
                f"{self.cores} {plural('core', self.cores)}",
                file=sys.stderr,
            )

    def _is_quiet(self) -> bool:
        asked = set(self.workflow.output_settings.quiet or [])
        return bool({Quietness.ALL, Quietness.PROGRESS} & asked)

    def _planned(self) -> tuple[dict, dict[str, Job]]:
        """The names of Snakemake's jobs, and what is known of each by its name."""
        dag = self.workflow.dag
        names = {job: _name(job) for job in list(dag.needrun_jobs(exclude_finished=False))}
        jobs = {
            name: Job(*self.guess(job), [_name(other) for other in dag.dependencies[job]])
            for job, name in names.items()
        }
        return names, jobs

    def end(self) -> None:
        """Remove the line."""
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()

    def _follow(self) -> None:
        handlers = [*log.handlers, *self.workflow.logger_manager.get_log_handlers()]
        terminals = [handler for handler in handlers if getattr(handler, "is_tty", False)]
        if not terminals:
            self._say_each(LOG_SECONDS, partial(log.info, extra={SHOWN: True}))
            return
        (terminal,) = terminals
        stream = terminal.stream
        with tqdm(bar_format="{desc}", file=stream, leave=False, dynamic_ncols=True) as bar:
            # All other output goes above the line.
            terminal.setStream(DummyTqdmFile(stream))
            self._say_each(TERMINAL_SECONDS, bar.set_description_str)
            terminal.setStream(stream)

    def _say_each(self, seconds: int, say: Callable[[str], None]) -> None:
        planned, jobs = self._planned()
        by_id = {job.jobid: name for job, name in planned.items()}
        announced: set[str] = set()
        while True:
            now = time.monotonic()
            elapsed = {by_id[n]: now - start for n, start in self.watch.began.copy().items()}
            done = {by_id[n] for n in self.watch.done.copy()}
            for job, name in planned.items():
                if name in done - announced:
                    for warning in warnings_in(map(Path, job.log)):
                        log.warning(warning)
            announced |= done
            estimate = share_and_seconds_left(
                jobs, expected(jobs, measured(self.benchmarks)), done, elapsed, self.cores
            )
            say(line(len(done), len(jobs), *estimate, sorted(elapsed), datetime.now()))
            if self.ended.wait(seconds):
                return


def warnings_in(logs: Iterable[Path]) -> list[str]:
    """What jobs warned of, from their logs."""
    texts = (file.read_text(errors="replace") for file in logs if file.exists())
    lines = [line for text in texts for line in text.splitlines()]
    return [match[1] for line in lines if (match := WARNED.match(line))]


def _name(job) -> str:
    """The name of one of Snakemake's jobs, which no other job has: that of its benchmark or, of a
    user's own rule that has none, its rule and wildcards."""
    if job.benchmark:
        return Path(job.benchmark).stem
    return ".".join([job.rule.name, *map(str, job.wildcards)])
