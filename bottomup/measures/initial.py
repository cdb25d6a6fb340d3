"""Which model each is compared with: the untrained one that has its attention mask."""

INITIAL = {
    "lm": "untrained_causal",
    "lm_bidirectional": "untrained",
    "mlm_causal": "untrained_causal",
    "mlm": "untrained",
    "mt": "untrained",
    "lm_noise": "untrained_causal",
    "mt_noise": "untrained",
}
TWIN = "_untrained"  # ends the name of a checkpoint's


def initial(name: str) -> str:
    """The untrained model that an objective starts from, or the untrained twin of a checkpoint."""
    return INITIAL.get(name, f"{name}{TWIN}")


def is_initial(name: str) -> bool:
    """Whether a model is such an untrained one."""
    return name in INITIAL.values() or name.endswith(TWIN)
