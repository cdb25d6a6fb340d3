"""Heads of checkpoints, by what they were trained for, on text in their own tokens."""
