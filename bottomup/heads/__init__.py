"""Attention heads: how sure they are, and how much a prediction owes to each."""
