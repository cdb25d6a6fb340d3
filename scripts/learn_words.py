"""Make a tokenizer that has each word of the training split's source side as one token.

Inputs: train.parquet; tokenizer.source.json, which cuts the text into words.
Outputs: tokenizer.words.json in the format of Hugging Face tokenizers.
"""

from bottomup.plan import program
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus.tables import Column
from bottomup.corpus.words import learn


def main(arguments):
    of_side = load_tokenizer(arguments.tokenizer)
    learn(Column(arguments.text, "source"), of_side).save(str(arguments.words))


if __name__ == "__main__":
    program.run(main, program.parser(__doc__, "text", "tokenizer", "words"))
