"""What ./study runs, in the environment: python -m bottomup.plan smoke --dry-run"""

import sys

from snakemake.cli import args_to_api
from snakemake.exceptions import print_exception
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from bottomup.plan import start, terminal
from bottomup.core import running
from bottomup.core.errors import in_one_line


def main(given: list[str]) -> None:
    """Run Snakemake as ./study was asked to, and exit with its status."""
    start.by_study(given)
    LoggerPluginRegistry().register_plugin(start.MODULE, terminal)
    with in_one_line():
        start.require_home()
        arguments = start.snakemake_arguments(given)
        known, parser = start.parsed(arguments)
    sys.argv = ["snakemake", *arguments]  # for those who look at the command line
    try:
        succeeded = args_to_api(known, parser)
    except KeyboardInterrupt:
        sys.exit(1 if running.stopped.is_set() else start.stopped_early())
    except Exception as error:
        print_exception(error)
        succeeded = False
    sys.exit(not succeeded)


main(sys.argv[1:])
