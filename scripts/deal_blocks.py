"""Deal the documents of a split into blocks; intervals leave out one block at a time.

Settings: seed (of the deal); named (whether documents are known, though each may have one row).
Inputs:   the split's text (.parquet).
Outputs:  the block of each sentence (.npy), int8.
"""

import numpy as np

from bottomup.plan import program
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Section
from bottomup.corpus.blocks import deal


class Settings(Section):
    seed: int
    named: bool = False


def main(arguments):
    documents = read_table(arguments.text, columns=["document"])["document"]
    np.save(arguments.blocks, deal(documents, **dict(arguments.settings)))


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "text", "blocks"), Settings)
