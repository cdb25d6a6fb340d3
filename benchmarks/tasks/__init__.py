"""The tasks: a module for each kind of work; the table finds its `TASKS`."""
