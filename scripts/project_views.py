"""Draw the occurrences of a few words in two dimensions, layer by layer, by t-SNE.

Settings: run (objective and seed); projection, that section of the config.
Inputs: the occurrence table of the reading plain and its annotations; frequencies.csv; the run's
    views, layer 0 first. For MLM also the table and views of the reading as_trained; then the
    picture token also shows masked occurrences of the words.
Outputs: a table with a row for each picture, layer and point. x and y have no unit: every picture
    has mean 0 and mean squared distance 1 from it. A picture of too few occurrences is left out.
"""

import logging
from typing import Literal

import numpy as np
import pandas as pd

from bottomup import program
from bottomup.files.tables import read_beside, read_table, write_table
from bottomup.measures.projection import draw, ends_word, pictures, word_ids
from bottomup.settings import Projection, Run, Section
from bottomup.tables import columns_of, seen_by_all
from bottomup.views.files import load

COLUMNS = [
    *("objective", "seed", "picture", "layer", "x", "y"),
    *("token", "kind", "position", "ccg", "ccg_source", "sentence"),
]


class Settings(Section):
    run: Run
    projection: Projection
    unit: Literal["subword", "word"] = "subword"


def main(arguments):
    settings, unit = arguments.settings.projection, arguments.settings.unit
    frequencies = read_table(arguments.frequencies, keep_default_na=False)
    plain = read_beside(arguments.occurrences, arguments.annotations)
    readings = [read(plain, arguments.views, unit)]
    if arguments.masked_occurrences:
        masked = read_table(arguments.masked_occurrences)
        readings.append(read(masked, arguments.masked_views, unit))
    plain = readings[0][0]
    named = {  # by picture: the words, and the key of the config that names them
        "token": (settings.words, "words"),
        "position": ([settings.position_word], "position_word"),
        "ccg": ([settings.ccg_word], "ccg_word"),
    }
    if "ccg" not in plain:
        del named["ccg"]
    table = []
    for picture, (words, key) in named.items():
        if not (words := word_ids(words, key, plain, frequencies)):
            continue
        shown = readings if picture == "token" else readings[:1]
        chosen = [choose(occurrences, words, frequencies, settings) for occurrences, _ in shown]
        points = pd.concat(chosen)
        logging.info(f"{picture}: {len(points)} occurrences of {', '.join(words)}")
        for layer, xy in enumerate(pictures(views(shown, chosen), settings.perplexity)):
            values = columns_of(arguments.settings.run) | {
                "picture": picture,
                "layer": layer,
                "x": xy[:, 0],
                "y": xy[:, 1],
            }
            table.append(points.assign(**values))
    rows = pd.concat(table) if table else pd.DataFrame()
    write_table(rows.reindex(columns=COLUMNS), arguments.table)


def read(occurrences, path, unit):
    """The occurrences that a run sees, and its views."""
    occurrences, [views] = seen_by_all(occurrences, [load(path, len(occurrences), unit)])
    return occurrences, views


def choose(occurrences, words, frequencies, settings):
    """Rows of the words, at most `occurrences` of each; plain or masked ones, as in the table."""
    plain = occurrences["kind"] == "plain"
    kept = ends_word(occurrences, frequencies) & (plain | (occurrences["kind"] == "masked"))
    tokens = occurrences["input_id"].where(plain, occurrences["output_id"])
    parts = []
    for word, token_id in words.items():
        rows = draw(
            np.flatnonzero(kept & (tokens == token_id)),
            settings.occurrences,
            settings.seed,
            word,
        )
        parts.append(occurrences.iloc[rows].assign(token=word))
    return pd.concat(parts)


def views(readings, chosen):
    """The chosen rows of all readings, one view for each layer."""
    for of_readings in zip(*(views for _, views in readings), strict=True):
        yield np.concatenate(
            [view[rows.index] for view, rows in zip(of_readings, chosen, strict=True)]
        )


if __name__ == "__main__":
    parser = program.parser(__doc__)
    for name in ("occurrences", "annotations", "frequencies", "table"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--views", required=True)
    # Only for MLM.
    parser.add_argument("--masked-occurrences", nargs="?")
    parser.add_argument("--masked-views", nargs="?")
    program.run(main, parser, Settings)
