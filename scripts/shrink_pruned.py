"""Write the smaller model that computes the same as a run with closed heads.

Settings: none.
Inputs:   the model's folder.
Outputs:  the smaller model's folder, with the same tokenizers.
"""

import argparse
import shutil

from bottomup.plan import program
from bottomup import subjects
from bottomup.heads.removal import without_closed_heads
from bottomup.model.folder import save
from bottomup.subjects.runs import Run


def main(arguments: argparse.Namespace) -> None:
    subject = subjects.load(arguments.model)
    assert isinstance(subject, Run)
    model = without_closed_heads(subject.model)
    shutil.copytree(arguments.model, arguments.smaller, dirs_exist_ok=True)  # tokenizers, too
    save(model, arguments.smaller)


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "model", "smaller"))
