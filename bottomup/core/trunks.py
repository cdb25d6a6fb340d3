"""Trunks that a config may name.

Plans alone read this, and tell each training what it needs of its own trunk. So a new trunk makes
no model stale.
"""

# By module of bottomup/model/trunks, the weights of a layer for each d_model^2: read from one side,
# and from both.
OF_LAYER = {"lstm": (8, 6), "convolution": (10, 10)}
# By trunk, whether its layers have attention heads. A trunk without attention has no decoder.
TRUNKS = {"transformer": True, **dict.fromkeys(OF_LAYER, False)}
