"""Attention heads: their confidence, relevance and functions, and models with fewer of them."""
