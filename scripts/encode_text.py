"""Cut the text of one side of a split into sub-words.

Inputs: {split}.parquet; tokenizer.{side}.json.
Outputs: a token file: ids, offsets and words as .npy (see bottomup/corpus/tokens.py).
"""

from bottomup.plan import program
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.encoding import encode
from bottomup.corpus.tables import Column

OF_WORDS = {"words": "source"}  # the side of words as tokens


def main(arguments):
    encode(
        load_tokenizer(arguments.tokenizer),
        Column(arguments.text, OF_WORDS.get(arguments.side, arguments.side)),
        ids=arguments.ids,
        words=arguments.words,
        offsets=arguments.offsets,
    )


if __name__ == "__main__":
    parser = program.parser(__doc__, "text", "tokenizer", "ids", "offsets", "words")
    parser.add_argument("--side", required=True, choices=["source", "target", *OF_WORDS])
    program.run(main, parser)
