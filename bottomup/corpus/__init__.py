"""Text: where it comes from, how it is cleaned, split, cut into sub-words and stored."""
