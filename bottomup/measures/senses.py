"""Whether a layer tells the senses of a word apart, where a sense is its translation.

Nearest neighbors among the occurrences of one word tell its senses apart if they share the sense
(as in Wiedemann et al. 2019, arXiv 1909.10430, where senses are those of a dictionary). Here a
sense is how the word is translated in parallel text; translations that are forms of one another,
or compounds, are one sense. Words are of open classes, since the translation of an article tells
the gender of the noun after it.

Neighbors come from other blocks of documents: within a document a word mostly has one translation.
What follows a word may tell its translation, and a layer that holds what follows would find it. So
beside the translation stand the next token, as a label of the same neighbors; and the translation
among neighbors with other tokens on both sides.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from bottomup.core.seeds import generator
from bottomup.corpus.specials import SPECIALS, UNK
from bottomup.measures import jackknife
from bottomup.measures.groups import TAGS
from bottomup.measures.jackknife import AT_MOST_ONE
from bottomup.measures.neighbors import nearest
from bottomup.measures.null import PERMUTED, Permutations, Permuted
from bottomup.views.draws import places, there

OPEN = {tag: name for name in ("NN", "VB", "JJ", "RB") for tag in TAGS[name]}
CLOSED = {"MD", "AUX"}  # a class of few verbs, whose translation tells the number of the subject
# Two translations are forms of one another if they have so many letters in a row in common, or if
# one of at least so many is part of the other.
IN_COMMON, LEAST = 4, 3
TWICE = ("CJK", "HIRAGANA", "KATAKANA")
NEEDED = 5  # words; with fewer there is no value
PROPERTIES = ("translation", "right_token", "translation_apart")


@dataclass(frozen=True)
class Word:
    """Occurrences of one word, in random order, so that chance decides between equally near ones;
    all arrays are `[n]`.

    rows: of the view. senses, blocks: the sense and the block of documents of each. left, right:
    the tokens beside it.
    """

    rows: np.ndarray
    senses: np.ndarray
    blocks: np.ndarray
    left: np.ndarray
    right: np.ndarray


def words(
    occurrences: pd.DataFrame, translations: pd.DataFrame, k: int, most: int, seed: int
) -> list[Word]:
    """The words of open classes that have two senses or more.

    occurrences: columns sentence, word, stands_for_word, tag, left_id, right_id, block; also of
    those that are not seen, see `views.draws`. translations: as `corpus.alignment.translations` has
    them.

    A sense counts if, without any one block, `k` or more of the word's occurrences have it, so that
    all `k` neighbors can. At most `most` occurrences of each sense are drawn.
    """
    word, sense = ["form", "class"], ["form", "class", "sense"]
    table, seen = aligned(occurrences, translations), there(occurrences)
    table = table.iloc[generator(seed, "senses").permutation(len(table))]
    table = table[seen[table.index]]
    table = table[table.groupby(word)["block"].transform("size") >= 2 * k]
    forms = table.groupby(word)["translation"]
    table = table.assign(sense=forms.transform(lambda of_word: of_word.map(senses_of(of_word))))
    table = table[table.groupby(sense).cumcount() < most]
    of_block = table.groupby([*sense, "block"])["translation"].transform("size")
    of_senses = table.assign(of_block=of_block).groupby(sense)["of_block"]
    table = table[of_senses.transform("size") - of_senses.transform("max") >= k]
    table = table[table.groupby(word)["sense"].transform("nunique") > 1]
    return [
        Word(
            places(seen, of_word.index.to_numpy()),
            pd.factorize(of_word["sense"])[0],
            *(of_word[name].to_numpy() for name in ("block", "left_id", "right_id")),
        )
        for _, of_word in table.groupby(word)
    ]


def aligned(occurrences: pd.DataFrame, translations: pd.DataFrame) -> pd.DataFrame:
    """The occurrences that stand for aligned words of open classes, by their row, with form,
    translation and class."""
    classes = occurrences["tag"].map({t: name for t, name in OPEN.items() if t not in CLOSED})
    kept = (occurrences["stands_for_word"] & classes.notna()).to_numpy()
    some = occurrences[kept].assign(**{"class": classes[kept], "row": np.flatnonzero(kept)})
    joined = some.merge(translations, on=["sentence", "word"]).set_index("row")
    unread = [joined[name].str.contains(SPECIALS[UNK]) for name in ("form", "translation")]
    return joined[~(unread[0] | unread[1])]  # characters that the tokenizer does not know


def senses_of(translations: pd.Series) -> dict[str, str]:
    """The sense of each translation of a word: the most frequent one that it is a form of.

    >>> senses_of(pd.Series(["zeile", "zeile", "linie", "befehlszeile"]))
    {'zeile': 'zeile', 'befehlszeile': 'zeile', 'linie': 'linie'}
    """
    senses: dict[str, str] = {}
    counts = translations.value_counts()
    for form in sorted(counts.index, key=lambda form: (-counts[form], form)):
        known = dict.fromkeys(senses.values())
        senses[form] = next((sense for sense in known if related(form, sense)), form)
    return senses


def related(a: str, b: str) -> bool:
    """Whether two words have letters in a row in common as forms of one word do.

    >>> related("geöffnet", "öffnen"), related("linie", "zeile"), related("dateityp", "typ")
    (True, False, True)
    """
    a, b = letters(a), letters(b)
    n = min(IN_COMMON, len(a), len(b))
    return n >= LEAST and any(a[i : i + n] in b for i in range(len(a) - n + 1))


def letters(word: str) -> str:
    """A word by letters: Korean and Ethiopic syllables are taken apart, and each Chinese or
    Japanese character, which says as much as two letters, stands twice.

    >>> len(letters("파일")), letters("ፋይል"), letters("文件"), letters("é")
    (5, 'ፈ3የ5ለ5', '文文件件', 'é')
    """
    found = []
    for character in word:
        script = unicodedata.name(character, "").partition(" ")[0]
        if script == "HANGUL":
            found.append(unicodedata.normalize("NFD", character))
        elif script == "ETHIOPIC":  # Unicode has a row of eight vowels for each consonant
            found.append(f"{chr(ord(character) & ~7)}{ord(character) & 7}")
        else:
            found.append(character * (2 if script in TWICE else 1))
    return "".join(found)


def estimates(
    view: np.ndarray,
    some: Sequence[Word],
    count: int,
    k: int,
    permutations: Permutations | None = None,
    device: torch.device | str | None = None,
) -> Iterator[dict]:
    """What neighbors by cosine share, a row for each property, with 95 % intervals.

    view: `[n_occurrences, d_model]`. count: the number of blocks.

    property: `translation`, `right_token`, of the same neighbors, and `translation_apart`, of
    neighbors that share neither of the tokens beside them. value: the share of the `k` nearest
    neighbors in other blocks that have the same, above `chance`, as a share of what is possible: 0
    for neighbors at random, 1 if all have the same. Senses of a word count equally, as do words.
    With `permutations` of the occurrences of each word, also what `null.calibrated` needs.
    """
    sums = np.zeros((len(PROPERTIES), 3, 1 + count + (permutations.count if permutations else 0)))
    for word in some:
        n = len(word.rows)
        near = nearest(view[word.rows], n - 1, device)
        other = word.blocks[:, None] != word.blocks
        apart = other & (word.left[:, None] != word.left) & (word.right[:, None] != word.right)
        senses, right = word.senses[:, None], word.right[:, None]
        held = np.arange(-1, count) != word.blocks[:, None]  # all, and without each block
        cases = ((senses, other), (right, other), (senses, apart))
        for of_property, (labels, allowed) in zip(sums, cases, strict=True):
            of_property[:, : 1 + count] += shared(near, allowed, labels, senses, held, k)
            if permutations:
                orders = np.stack([*permutations.of(n)], axis=1)
                moved = labels[orders, 0], senses[orders, 0]
                of_property[:, 1 + count :] += shared(
                    near, allowed, *moved, np.full((n, 1), True), k
                )
    for name, (shares, chances, n_words) in zip(PROPERTIES, sums, strict=True):
        values = jackknife.ratio(shares - chances, n_words - chances)
        if n_words[0] < NEEDED:
            values[:] = np.nan
        value, without = values[0], values[1 : 1 + count]
        row = {"property": name, **jackknife.estimate("value", value, without, AT_MOST_ONE)}
        if permutations:
            row[PERMUTED] = Permuted(value, values[1 + count :], same=1.0)
        chance = float(jackknife.ratio(chances[0], n_words[0]))
        yield {**row, "chance": chance, "n": int(n_words[0]), "n_needed": NEEDED}


def shared(
    near: np.ndarray,
    allowed: np.ndarray,
    labels: np.ndarray,
    senses: np.ndarray,
    held: np.ndarray,
    k: int,
) -> np.ndarray:
    """What the occurrences of one word share with neighbors: `[3, n_columns]`.

    near: the others, the nearest first, `[n, n - 1]`. allowed: which may be neighbors, `[n, n]`.
    labels: what neighbors share or not; senses: which count equally; held: which occurrences there
    are; each `[n, n_columns]`, or `[n, 1]` if the same for all.

    Rows: the share of the `k` nearest with the same label; that of all; and 1. All three are 0
    where no occurrence has a neighbor.
    """
    valid = np.take_along_axis(allowed, near, axis=1)[:, :, None] & held[near]
    used = valid & (np.cumsum(valid, axis=1, dtype=np.int16) <= k)
    same = labels[near] == labels[:, None]
    of_occurrence = [
        (of & same).sum(axis=1) / np.maximum(of.sum(axis=1), 1) for of in (used, valid)
    ]
    has_neighbor = held & used.any(axis=1)
    has_sense = senses == np.unique(senses)[:, None, None]  # [n_senses, n, n_columns]
    sizes = (has_sense & has_neighbor).sum(axis=1, keepdims=True)
    weights = (
        (has_sense & has_neighbor) / np.maximum(sizes, 1) / np.maximum((sizes > 0).sum(axis=0), 1)
    )
    weight = weights.sum(axis=0)
    means = [(of * weight).sum(axis=0) for of in of_occurrence]
    return np.stack([*means, weight.sum(axis=0).round()])
