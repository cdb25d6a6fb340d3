"""Functions from views to numbers."""
