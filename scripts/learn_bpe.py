"""Learn the tokenizer of one side from the training split.

Settings: merges, lowercase, language (of this side, ISO 639-1; it decides how words are cut and
    lower-cased), spaces (whether the sub-words keep them).
Inputs: train.parquet.
Outputs: tokenizer.{side}.json in the format of Hugging Face tokenizers.
"""

from bottomup.plan import program
from bottomup.core.settings import Bpe
from bottomup.corpus.bpe import learn
from bottomup.corpus.tables import Column


class Settings(Bpe):
    language: str
    spaces: bool


def main(arguments):
    text = Column(arguments.text, arguments.side)
    learn(text, **dict(arguments.settings)).save(str(arguments.tokenizer))


if __name__ == "__main__":
    parser = program.parser(__doc__, "text", "tokenizer")
    parser.add_argument("--side", required=True, choices=["source", "target"])
    program.run(main, parser, Settings)
