"""Which model each objective starts from: the untrained one that has its attention mask."""

INITIAL = {
    "lm": "untrained_causal",
    "lm_bidirectional": "untrained",
    "mlm_causal": "untrained_causal",
    "mlm": "untrained",
    "mt": "untrained",
    "lm_noise": "untrained_causal",
    "mt_noise": "untrained",
}
