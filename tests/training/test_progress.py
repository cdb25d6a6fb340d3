import pytest

from bottomup.training.progress import Meter

LINE = {"tokens": 1200, "train_loss_nats": 3.21987, "dev_loss_nats": 4.5}


@pytest.fixture
def meter():
    meter = Meter(done=200, total=5000)
    yield meter
    meter.close()


def test_a_log_gets_a_line_an_evaluation(meter, caplog):
    with caplog.at_level("INFO"):
        meter.show(700)
        meter.evaluated(LINE)
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("1,200 of 5,000 tokens, ")
    assert message.endswith(" tokens/s, train loss 3.220, dev loss 4.500 nats")


def test_speed_is_that_of_this_process(meter, caplog, monkeypatch):
    """Tokens read before it was stopped do not count."""
    meter.started = 10.0
    monkeypatch.setattr("bottomup.training.progress.time.monotonic", lambda: 14.0)
    with caplog.at_level("INFO"):
        meter.evaluated(LINE)
    assert ", 250 tokens/s, " in caplog.text


def test_a_terminal_gets_a_bar(monkeypatch, capsys, caplog):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    meter = Meter(done=200, total=5000)
    with caplog.at_level("INFO"):
        meter.show(700)
        meter.evaluated(LINE)
        meter.show(1200)
    meter.bar.refresh()
    meter.close()
    shown = capsys.readouterr().err
    assert "1.20k/5.00k" in shown and "train=3.220, dev=4.500" in shown
    assert not caplog.records
