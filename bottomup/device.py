"""Where tensors are computed."""

import torch


def device() -> torch.device:
    """The first GPU that is visible, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
