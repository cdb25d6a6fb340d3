"""Count the sub-words of the training split, and rank them by frequency.

Inputs: the ids of a token file; tokenizer.{side}.json.
Outputs: frequencies.csv with token_id, token, count, rank.
"""

import numpy as np
from tokenizers import Tokenizer

from bottomup import program
from bottomup.corpus.frequencies import frequencies


def main(arguments):
    vocabulary = Tokenizer.from_file(arguments.tokenizer).get_vocab()
    ids = np.load(arguments.tokens_ids, mmap_mode="r", allow_pickle=False)
    frequencies(ids, vocabulary).to_csv(arguments.frequencies, index=False)


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("tokens-ids", "tokenizer", "frequencies"):
        parser.add_argument(f"--{name}", required=True)
    program.run(main, parser)
