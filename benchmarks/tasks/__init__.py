"""What is measured: a module for each kind of work, whose `TASKS` the table finds by itself."""
