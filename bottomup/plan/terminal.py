"""What ./study prints: a line for each model and figure that is finished, and for each error.

It is a plugin of Snakemake's (snakemake-interface-logger-plugins), which start.py registers.
Everything else that Snakemake says of its jobs goes to its log file.
"""

import csv
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from bottomup.plan import start
from bottomup.core import running
from bottomup.core.plurals import plural
from bottomup.plan.failures import full_disk, stopped, why_they_failed
from bottomup.plan.progress import SHOWN, Watch, seconds_in

# An output of a job, and what its line calls it.
OUTPUTS = (
    (re.compile(r"results/[^/]+/(?:runs|pruned)/(.+)/model/model\.safetensors"), "model"),
    (re.compile(r"results/[^/]+/figures/(.+)\.png"), "figure"),
)
# Two messages of Snakemake that are not printed, since a failed job has a line of its own; and that
# with which it begins another attempt.
PROGRAM_FAILED, JOBS_FAILED = "CalledProcessError", "At least one job did not complete successfully"
AGAIN = "Trying to restart job "


class LogHandler(LogHandlerBase, logging.StreamHandler):
    """Prints to the terminal, or wherever errors go; `close` says where everything is."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        logging.StreamHandler.__init__(self, sys.stderr)
        self.began = time.time()
        self.watch = Watch()
        self.jobs: dict[int, logging.LogRecord] = {}
        self.has_begun = self.is_up_to_date = self.has_failed = self.has_ended = False

    @property
    def is_tty(self) -> bool:
        """Whether errors go to a terminal, where the progress line can stay below all others."""
        return self.stream.isatty()

    def emit(self, record: logging.LogRecord) -> None:
        """Print the lines of a record, if it has any."""
        try:
            self.watch.emit(record)
            self._print(self._lines(record))
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Print how the study ended. Snakemake calls this after all records."""
        if not self.has_ended:
            self.has_ended = True
            self._print(self._end())
        super().close()

    def _print(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.stream.write(f"{line}\n")
        self.flush()

    def _lines(self, record: logging.LogRecord) -> Iterator[str]:
        fields, text = vars(record), record.getMessage()  # Snakemake adds fields
        event = fields.get("event")
        if event == LogEvent.RUN_INFO:
            n = fields["stats"]["total"]
            yield f"{n} {plural('job', n)}; all that Snakemake says of them is in {_logs()}"
        elif event == LogEvent.JOB_INFO:
            self.has_begun = True  # not before, since a study may end as it starts
            self.jobs[fields["jobid"]] = record
        elif event == LogEvent.JOB_FINISHED:
            yield from self._finished(self.jobs.pop(fields["job_id"], None), record.created)
        elif event == LogEvent.JOB_ERROR and not fields["indent"]:  # of no group
            yield from _failed(fields["log"], fields["rule_name"])
        elif event == LogEvent.GROUP_ERROR:
            logs = [log for job in fields["job_error_info"] for log in job["log"]]
            yield from _failed(logs, fields["groupid"])
        elif event == LogEvent.ERROR and PROGRAM_FAILED not in text:
            self.has_failed = True
            yield from [text] * (JOBS_FAILED not in text)
        elif event is None and text.startswith(AGAIN):
            self.has_failed = False  # Snakemake says at its end whether a job has failed for good
            yield "what failed is tried again"
        elif event is None and (record.levelno == logging.WARNING or hasattr(record, SHOWN)):
            yield text
        elif text.startswith(NOTHING_TO_BE_DONE_MSG):
            self.is_up_to_date = True

    def _finished(self, job: logging.LogRecord | None, now: float) -> Iterator[str]:
        if job is None:
            return
        fields = vars(job)
        for pattern, kind in OUTPUTS:
            for path in fields["output"]:
                if match := pattern.fullmatch(path):
                    # A user's own rule may have no benchmark.
                    seconds = seconds_in(Path(fields["benchmark"] or "")) or now - job.created
                    yield f"{kind} {match[1].replace('/', ' ')}: {duration(seconds)}"

    def _end(self) -> Iterator[str]:
        if running.stopped.is_set():
            yield stopped(len(self.watch.done))
        elif self.has_failed and self.has_begun:
            yield from full_disk()
            yield f"failed; what is done is kept. When this is mended, go on: {start.command()}"
        elif not self.has_failed and (self.has_begun or self.is_up_to_date):
            spent = duration(time.time() - self.began)
            asked = "what was asked for" if start.is_part() else "all"
            nothing = f"Nothing to do, {asked} is up to date"
            done = f"Done in {spent}" if self.has_begun else nothing
            yield ". ".join([done, *where(start.folder())])


def _failed(logs: list[str], name: str) -> Iterator[str]:
    """The lines for a job of the rule `name`, or for a group of jobs, with these logs. A user's own
    rule may have none."""
    without = f"{name}, which has no log; its command is in {_logs()}"
    yield from (f"failed: {line}" for line in why_they_failed([logs]) or [without])


def where(folder: Path) -> Iterator[str]:
    """For each kind of result that a study has, a sentence that says where it is. What an earlier
    config has left there is no result of the study."""
    if (site := folder / "index.html").exists():
        yield f"All of it{', as last made' * start.is_part()}: {site}"
    for kind, files in {"Figures": "figures/*.png", "LaTeX": "latex/*.tex"}.items():
        found = [*folder.glob(files)]
        if n := sum(map(start.makes, found)):
            left = len(found) - n
            more = f", and {left} of an earlier config" * bool(left)
            yield f"{kind}: {(folder / files).parent} ({n}{more})"
    table, page = folder / "measures/claims.csv", folder / "claims.html"
    if table.exists() and page.exists() and start.makes(page):
        with table.open(encoding="utf-8", newline="") as file:
            once = (row for row in csv.DictReader(file) if not row.get("same_number_as"))
            verdicts = Counter(row.get("verdict") or "unknown" for row in once)
        counted = ", ".join(f"{n} {verdict}" for verdict, n in verdicts.most_common())
        yield f"Verdicts: {page} ({counted})"


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(34.4), duration(270), duration(6700)
    ('34 s', '4 min 30 s', '1 h 52 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _logs() -> str:
    """The log files of this Snakemake, from the folder in which it runs."""
    handlers = logging.getLogger("snakemake.logging").handlers
    paths = [Path(each.baseFilename) for each in handlers if isinstance(each, logging.FileHandler)]
    here = Path.cwd()
    return ", ".join(str(path.relative_to(here)) for path in paths)
