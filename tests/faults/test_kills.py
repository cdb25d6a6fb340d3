"""A short form of the harness: the corpus and one training, killed again and again."""

import random
import shutil
import sys

import pytest

from tests.faults.kills import kill
from tests.plan.checkouts import copy_repository

pytestmark = pytest.mark.long

SHORT = """\
corpus:
  cleaning: {min_words: 3}
  splits: {near_duplicates: keep}
  bpe: {merges: 100}
model: {layers: 1, heads: 2, d_model: 8, d_ff: 8}
training: {max_tokens: 4000, batch_tokens: 200, evaluate_every_steps: 4}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the harness reads /proc")
def test_a_study_that_is_killed_comes_to_the_same_bytes(tmp_path):
    copied = copy_repository(tmp_path / "undisturbed").path
    draw = random.Random(1)
    for language in ("en", "de"):
        words = [f"{draw.choice('bdfgkl')}{vowel}{end}" for vowel in "aeiou" for end in "mnrst"]
        lines = [" ".join(draw.sample(words, 6)) for _ in range(400)]
        (copied / f"text/{language}.txt").write_text("\n".join(lines) + "\n")
    (copied / "short.yaml").write_text(SHORT)
    shutil.copytree(copied, tmp_path / "killed", symlinks=True)
    target = "results/planned/runs/lm-1/metrics.jsonl"
    arguments = [target, "--configfile", "study.yaml", "short.yaml", "--cores", "2", "--keep-going"]
    done, differences = kill(tmp_path, arguments, n_kills=4, seed=1)
    assert differences == []
    assert done.total() >= 4
    assert len({victim for _, victim in done}) > 1
