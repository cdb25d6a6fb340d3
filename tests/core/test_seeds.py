from bottomup.core.seeds import derive, generator


def test_a_purpose_has_one_seed():
    assert derive(1, "dropout", 7) == derive(1, "dropout", 7)
    assert generator(1, "order", 0).random() == generator(1, "order", 0).random()


def test_purposes_have_different_ones():
    seeds = {
        derive(seed, name, step)
        for seed in range(5)
        for name in ("dropout", "order")
        for step in range(50)
    }
    assert len(seeds) == 500


def test_seeds_fit_every_generator():
    """NumPy takes no negative ones and PyTorch none beyond 63 bits."""
    seeds = [derive(seed) for seed in range(200)]
    assert min(seeds) >= 0 and 2**62 < max(seeds) < 2**63
