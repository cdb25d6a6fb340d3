"""How many examples Hypothesis draws: few in CI, always the same; HYPOTHESIS_PROFILE=thorough draws
many, other ones each time."""

import os

from hypothesis import settings

COMMON = {"deadline": None, "database": None}
settings.register_profile("few", max_examples=6, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=300, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))
