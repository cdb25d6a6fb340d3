"""Draw the occurrences of a study: held-out text as the models read it, and positions in it.

Settings: n, seed; for the reading as_trained also masked: draws, n_tokens (more replacements are
          drawn from as many of the most frequent tokens), module and options (of the masked
          objective).
Inputs:   the token file of the test split, source side, and the blocks of its sentences;
          frequencies.csv.
Outputs:  a token file and a table, see bottomup.views.occurrences.Reading.
"""

import argparse
from typing import Any, cast

from bottomup.plan import program
from bottomup import objectives
from bottomup.core.files.arrays import load_array
from bottomup.core.files.joins import require_equal_lengths
from bottomup.core.files.tables import read_table
from bottomup.core.settings import Section
from bottomup.corpus.frequencies import ranks
from bottomup.corpus.specials import N_SPECIAL, SPECIALS
from bottomup.corpus.tokens import TokenFile
from bottomup.views import occurrences


class Masked(Section):
    module: str
    options: dict[str, Any]
    draws: int
    n_tokens: int


class Settings(Section):
    n: int
    seed: int
    masked: Masked | None


def main(arguments: argparse.Namespace) -> None:
    settings = arguments.settings
    tokens = TokenFile.load(arguments.tokens)
    frequencies = read_table(arguments.frequencies, na_filter=False)
    by_token = ranks(frequencies)
    sentences = occurrences.sample_sentences(tokens, settings.n, settings.seed)
    masked = settings.masked
    if masked is None:
        reading = occurrences.plain(tokens, sentences, by_token)
    else:
        objective = objectives.load(masked.module, masked.options)
        in_order = frequencies.sort_values("token_id")["token"]
        objective.learn_types([*SPECIALS, *in_order])
        # Of the source alone, as models are looked at.
        vocab_size, _ = objective.vocabularies({"source": len(by_token), "target": N_SPECIAL})
        reading = occurrences.as_trained(
            tokens,
            sentences,
            by_token,
            cast(objectives.Masking, objective),
            vocab_size,
            masked.draws,
            label_ids=frequencies["token_id"].to_numpy()[: masked.n_tokens],
            seed=settings.seed,
        )
    blocks = load_array(arguments.blocks)
    require_equal_lengths(sentences=tokens, blocks=blocks)
    block = blocks[reading.table["sentence"]]
    reading.table.assign(block=block).to_parquet(arguments.table)
    reading.text.save(arguments.text)


if __name__ == "__main__":
    parser = program.parser(__doc__, "tokens", "blocks", "frequencies", "table", "text")
    program.run(main, parser, Settings)
