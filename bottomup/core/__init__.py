"""Errors, names, seeds, settings, files, devices and locks: no science."""
