"""Put a checkpoint, or its untrained twin, where the study has its runs.

Settings: source, a section of the config's checkpoints; twin_seed (of the twin's initial weights;
          null for the checkpoint itself).
Outputs:  the model's folder: config.json, model.safetensors, tokenizer.json.
"""

import argparse

from bottomup.plan import program
from bottomup.core.settings import Checkpoint, Section
from bottomup.subjects.opening import open_checkpoint


class Settings(Section):
    source: Checkpoint
    twin_seed: int | None


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    open_checkpoint(arguments.model, arguments.downloads, settings.source, settings.twin_seed)


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "model", "downloads"), Settings)
