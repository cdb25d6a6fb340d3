"""Heads of runs, by the objective that we trained them for, on token files."""
