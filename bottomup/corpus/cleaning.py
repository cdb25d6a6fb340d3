"""Which pairs of a raw corpus are kept: every step is explicit, counted and shown by examples."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bottomup.corpus.losses import SHOWN, UNIT, Loss, carried, carry, tell
from bottomup.corpus.segmentation import marked, unmarked, words
from bottomup.corpus.specials import SPECIALS

SIDES = ["source", "target"]
RAW_ROW = "raw_row"  # of clean pairs: where each was in the text of all sources, from 0
OF_PAIRS = ["untranslated", "length_ratio"]  # steps that compare the sides
# The key of the config that decides how much a step drops, if there is one.
KEYS = {
    "too_short": "corpus.cleaning.min_words",
    "too_long": "corpus.cleaning.max_words",
    "length_ratio": "corpus.cleaning.max_length_ratio",
}
N_EXAMPLES = 3
# Characters, as in Moses. Longer words are data, and the time to learn sub-words grows with the
# square of length.
MAX_WORD = 1000
_PIECE = re.compile(rf"\S{{1,{MAX_WORD}}}")
_SPECIAL = re.compile(f"<({'|'.join(name[1:-1] for name in SPECIALS)})>")
# Control and format characters except white space and the joiners of some scripts.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e"
    r"\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]"
)


def joined(pairs: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The pairs of several sources, by name, one after the other.

    A first column, `origin`, names the source. Names of documents also begin with it:
    `origin/document`.
    """
    parts = [
        table.assign(origin=origin, document=f"{origin}/" + table["document"])
        for origin, table in pairs.items()
    ]
    together = pd.concat(parts, ignore_index=True)
    together.insert(0, "origin", together.pop("origin"))
    return carry(together, [loss for table in pairs.values() for loss in carried(table)])


def clean(
    pairs: pd.DataFrame,
    languages: Sequence[str],
    min_words: int,
    max_words: int,
    max_length_ratio: float,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Normalize the pairs, or sentences without a target, and drop those of no use for training.

    pairs: as from `joined`. languages: those of the sides. Words of languages without spaces are
    marked (see `segmentation`). Limits are inclusive. The source side needs `min_words`. Neither
    side may have more than `max_words`, nor more than `max_length_ratio` times the words of the
    other, nor a word of more than `MAX_WORD` characters. Everything is in memory: 2.5 million
    pairs, as in the papers, take about 4 GB and a minute.

    The first of several duplicates is kept, whatever its origin. A warning names each step that
    drops more than half of what a source has left.

    Returns three tables:

    - the kept pairs, each with its row in the raw text (`RAW_ROW`); they carry the losses of all
      steps (see `losses`);
    - counts by origin and step: origin, step, changed, dropped, remaining, share_dropped (of the
      raw pairs of the origin);
    - up to 3 examples by origin and step: origin, step, source, target, as they were before
      `normalize`, or as they were dropped.
    """
    sides = [side for side in SIDES if side in pairs]
    normal = pairs.assign(**{side: pairs[side].map(normalize).astype(str) for side in sides})
    changed = (pairs[sides] != normal[sides]).any(axis=1)
    for side, language in zip(sides, languages, strict=True):
        normal[side] = [marked(text, language) for text in normal[side]]
    steps = _steps(normal, min_words, max_words, max_length_ratio)
    # The number of the first step that drops each pair, or the number of steps if it stays.
    fates = np.argmax([*steps.values(), np.ones(len(pairs), dtype=bool)], axis=0)
    counts, examples, losses = [], [], []
    for origin, raw in pairs.groupby("origin", sort=False):
        shown = {"normalize": raw[changed[raw.index]]}
        counts.append((origin, "normalize", len(shown["normalize"]), 0, len(raw)))
        for number, step in enumerate(steps):
            shown[step] = normal.loc[raw.index[fates[raw.index] == number]]
            before, dropped = counts[-1][-1], shown[step]
            counts.append((origin, step, 0, len(dropped), before - len(dropped)))
            lines = [
                " | ".join(map(unmarked, texts)) for texts in dropped[sides].head(SHOWN).values
            ]
            key = KEYS.get(step, f"corpus.sources.{origin}")
            name = f"cleaning {origin}, step {step}"
            losses.append(Loss(name, key, len(dropped), before, UNIT[len(sides)], lines))
        examples += [
            (origin, step, *texts)
            for step, rows in shown.items()
            for texts in rows[sides].head(N_EXAMPLES).map(unmarked).itertuples(index=False)
        ]
    table = pd.DataFrame(counts, columns=["origin", "step", "changed", "dropped", "remaining"])
    raw_pairs = table["origin"].map(pairs["origin"].value_counts())
    kept = normal[fates == len(steps)].rename_axis(RAW_ROW).reset_index()
    return (
        carry(kept, [*carried(pairs), *tell(losses)]),
        table.assign(share_dropped=table["dropped"] / raw_pairs),
        pd.DataFrame(examples, columns=["origin", "step", *sides]),
    )


def normalize(text: str) -> str:
    """The text in Unicode NFC, without unseen characters, with single blanks and none at the ends.

    The name of a special token is spaced, as < mask >, or a tokenizer would take it for the token.
    Any text in such brackets is cut into these words anyway.
    """
    # In pieces, since the time of NFC grows with the square of the number of consecutive marks.
    seen = _UNSEEN.sub("", text)
    composed = _PIECE.sub(lambda piece: unicodedata.normalize("NFC", piece[0]), seen)
    return " ".join(_SPECIAL.sub(r"< \1 >", composed).split())


def cleaned(text: str, language: str) -> str:
    """A text beside the corpus in the form that `clean` gives, the only one that models know."""
    return marked(normalize(text), language)


def folded(text: str) -> str:
    """The text without case, to compare it with others.

    All of I, i, İ and ı are one: in Turkish I is the capital of ı and İ of i, and casefolding knows
    no language.
    """
    return text.replace("İ", "i").replace("ı", "i").casefold()


def _steps(
    pairs: pd.DataFrame, min_words: int, max_words: int, max_length_ratio: float
) -> dict[str, np.ndarray]:
    """The steps that drop pairs, in order: name -> which pairs to drop `[n_pairs]`."""
    sides = [side for side in SIDES if side in pairs]
    same = pd.DataFrame({side: pairs[side].map(unmarked).map(folded) for side in sides})
    lengths = [[[len(word) for word in words(text)] for text in pairs[side]] for side in sides]
    counts = np.array([[len(of_text) for of_text in side] for side in lengths])
    longest = np.array([[max(of_text, default=0) for of_text in side] for side in lengths])
    fewer, more = counts.min(axis=0), counts.max(axis=0)
    steps = {
        "empty": fewer == 0,
        "untranslated": (same["source"] == same[sides[-1]]).to_numpy(),
        "too_short": counts[0] < min_words,
        "too_long": (more > max_words) | (longest.max(axis=0) > MAX_WORD),
        "length_ratio": more > max_length_ratio * fewer,
        # All repeats of a pair pass or fail the steps above, so the first is always kept.
        "duplicate": same.duplicated().to_numpy(),
    }
    return {name: of for name, of in steps.items() if len(sides) == 2 or name not in OF_PAIRS}
