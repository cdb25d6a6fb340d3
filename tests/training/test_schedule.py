import pytest

from bottomup.training.schedule import learning_rate


def test_the_papers_peak():
    # 4 x 512^-0.5 x 16,000^-0.5 = 4 / sqrt(8,192,000) = 1.3975e-3
    assert learning_rate(16_000, 4, 512, 16_000) == pytest.approx(1.3975e-3, rel=1e-4)


def test_peak_stands_at_the_end_of_the_warm_up():
    rates = [learning_rate(step, 0.5, 128, 500) for step in range(1, 2000)]
    assert rates.index(max(rates)) + 1 == 500
    assert max(rates) == pytest.approx(0.5 / (128 * 500) ** 0.5)


def test_by_hand():
    # scale 2, d_model 4, warm-up 4: 2 x 1/2 x min(t^-0.5, t / 8)
    rates = [learning_rate(step, 2, 4, 4) for step in (1, 2, 4, 16, 100)]
    assert rates == pytest.approx([1 / 8, 1 / 4, 1 / 2, 1 / 4, 1 / 10])
