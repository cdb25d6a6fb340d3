"""Text: its sources, cleaning, splits, sub-words, annotation and files."""
