"""Random numbers by name: every draw comes from a seed of the config and says what it is for."""

import hashlib

import numpy as np


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for one purpose, e.g. `derive(1, "dropout", step)`.

    Purposes with different names are independent, and none depends on the order of draws
    elsewhere, so that adding a draw changes no other.
    """
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for one purpose; see `derive`."""
    return np.random.default_rng(derive(seed, *names))
