"""Views: the representations of the occurrences at one layer of one run under one reading."""
