"""The table of benchmarks: its shared part on a toy task, and the formulas of work."""

import math
from functools import partial

import numpy as np
import pytest
import side_by_side
import table
import torch
from models import decoder_flop, encoder_flop, model
from synthetic import draw_text
from task import Contender, Task, Work, exponent
from torch.utils.flop_counter import FlopCounterMode

from bottomup.model import short_attention

LIMITS = {"float32": 100.0, "copy": 10.0}


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Turns are taken in this process."""
    monkeypatch.setattr(side_by_side, "apart", lambda f, *args, **named: f(*args, **named))


def toy(**options) -> Task:
    """Takes n^2 seconds, its peer thrice as long; each costs 20 n operations, or 4 n bytes."""
    contenders = {
        "bottomup": Contender(lambda n: (n**2, 7.0)),
        "peer": Contender(lambda n: (3 * n**2, 8.0), most=40),
        "absent": Contender(lambda n: (1, 1), package="no_such_package"),
    }
    options = {"contenders": contenders} | options
    return Task(
        "", "", "", lambda n: Work(n, flop=20 * n, bytes=4 * n), sizes=[], small=[], **options
    )


def test_a_row_says_what_the_turns_say():
    ours, peer = table.measure("toy", toy(), [{"n": 2}], repeats=3, limits=LIMITS)
    assert (ours["seconds"], ours["times"], ours["value"]) == (4, 1, 7)
    assert (peer["seconds"], peer["times"], peer["value"]) == (12, 3, 8)
    assert peer["seconds_per_item"] == 6
    # 40 operations take 0.4 s at least, and 8 bytes 0.8 s.
    assert ours["share_of_ceiling"] == pytest.approx(0.8 / 4)
    assert (ours["repeats"], ours["seconds_least"], ours["seconds_most"]) == (3, 4, 4)
    assert ours["peak_mib"] > 10
    assert "20.0%" in table.printed([ours, peer])


def test_the_peak_of_a_turn_is_its_own(monkeypatch):
    monkeypatch.undo()
    assert np.ones(50_000_000).nbytes / 2**20 > 300
    assert side_by_side.apart(side_by_side.turn, partial(divmod, 7, 2)).mib < 300


def test_a_peer_is_left_out_where_it_is_too_much_and_where_it_is_not_installed(caplog):
    caplog.set_level("INFO")
    rows = table.measure("toy", toy(), [{"n": n} for n in (1, 2, 4)], 1, LIMITS)
    assert [row["contender"] for row in rows] == [
        "bottomup",
        "peer",
        "bottomup",
        "peer",
        "bottomup",
    ]
    assert [row["exponent"] for row in rows if row["contender"] == "bottomup"] == [
        pytest.approx(2)
    ] * 3
    assert all(math.isnan(row["exponent"]) for row in rows if row["contender"] == "peer")
    assert "absent is left out: no_such_package is not installed" in caplog.text


def test_peers_are_told_what_the_first_found_in_the_same_turn():
    contenders = {
        "bottomup": Contender(lambda n: (1.0, 5.0)),
        "peer": Contender(lambda n, goal: (1.0, goal)),
    }
    _, peer = table.measure("toy", toy(contenders=contenders, told=True), [{"n": 1}], 1, LIMITS)
    assert peer["value"] == 5


def test_the_exponent_of_a_power_is_found_from_three_sizes():
    assert exponent([1, 10, 100], [2, 2 * 10**1.5, 2 * 10**3]) == pytest.approx(1.5)
    assert math.isnan(exponent([1, 10], [1, 10]))


def test_every_task_has_sizes_of_its_own():
    for name, task in table.all_tasks().items():
        assert task.target and task.sizes and task.small, name
        assert all(size.keys() == task.sizes[0].keys() for size in (*task.small, *task.largest))


def test_operations_of_reading_are_those_that_torch_counts(monkeypatch):
    monkeypatch.setattr(short_attention, "MOST_WEIGHTS", 0)  # short sentences are filled up
    d, rng = 16, np.random.default_rng(1)
    source, target = (draw_text(np.array([n]), 20, rng) for n in (6, 4))
    translator = model(20, d, layers=2, decoder_layers=3)
    ids = [torch.from_numpy(side.ids[None].astype(np.int64)) for side in (source, target)]
    with FlopCounterMode(display=False) as encoding, torch.no_grad():
        states = translator.encoder(ids[0]).states
    with FlopCounterMode(display=False) as decoding, torch.no_grad():
        translator.decoder(ids[1][:, :-1], states, None)
    # It does not count fused attention on a CPU: two products of 2 d operations for each pair of
    # 7 tokens, of 5, of which causal attention needs half, and of these with those.
    assert encoder_flop(source, d, 2) == encoding.get_total_flops() + 2 * 4 * d * 7**2
    in_attention = 2 * d * 5**2 + 4 * d * 5 * 7
    assert decoder_flop(source, target, d, 3) == decoding.get_total_flops() + 3 * in_attention
