"""Measures: functions from views, or from a subject and text, to numbers."""
