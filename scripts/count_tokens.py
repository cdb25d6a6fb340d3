"""Count the sub-words of the training split, and rank them by frequency.

Inputs: the ids of a token file; tokenizer.{side}.json.
Outputs: frequencies.csv with token_id, token, count, rank.
"""

from bottomup.plan import program
from bottomup.core.files.arrays import load_array
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.frequencies import frequencies


def main(arguments):
    vocabulary = load_tokenizer(arguments.tokenizer).get_vocab()
    ids = load_array(arguments.tokens_ids, mapped=True)
    frequencies(ids, vocabulary).to_csv(arguments.frequencies, index=False)


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "tokens-ids", "tokenizer", "frequencies"))
