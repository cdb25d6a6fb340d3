"""What ./study runs, in the environment: python -m bottomup.workflow smoke --dry-run"""

import sys

from bottomup.workflow.start import main

main(sys.argv[1:])
