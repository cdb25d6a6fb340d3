"""Snakemake with the code of the folder that it runs in, and without the tenth of a second that it
waits for each job of `--touch`."""

import os
import sys
from types import SimpleNamespace

from snakemake.cli import main
from snakemake.executors import touch

sys.path[0] = os.getcwd()
touch.time = SimpleNamespace(sleep=lambda seconds: None)
main(sys.argv[1:])
