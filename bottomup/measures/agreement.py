"""Whether a model prefers the form of a verb that agrees with its subject.

The question is that of Linzen et al. (2016, arXiv 1611.01368) and Goldberg (2019, arXiv
1901.05287). Items are English sentences of the held-out text in which a present-tense verb follows
its subject, a noun. Beside each stands the same sentence with the form of the other number; the
model is right if it finds the sentence as it was written more probable, as with the pairs of BLiMP
(Warstadt et al. 2020, arXiv 1912.00582). Most subjects are singular, so a model that always prefers
one number could be right more often than not: accuracy is the mean of that on singular and on
plural subjects.
"""

from collections.abc import Iterator, Sequence, Set

import numpy as np
import pandas as pd
from tokenizers import Tokenizer

from bottomup.core.seeds import generator
from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.word_types import words_of
from bottomup.measures import jackknife
from bottomup.measures.log_probability import Mode, Questions, of_word
from bottomup.measures.readers import Reader, by_sentence, of_sentences, preferred
from bottomup.subjects.words import Span, Words, encode

# Penn's tags of nouns and present-tense verbs, singular and plural.
NOUNS, VERBS = ["NN", "NNS"], ["VBZ", "VBP"]
SUBJECT = ["nsubj", "nsubjpass", "nsubj:pass"]
# The present-tense verb of a clause may stand under the word that has the subject.
AUXILIARY = ["aux", "auxpass", "aux:pass", "cop"]
CONJUNCT = "conj"
IRREGULAR = {"are": "is", "have": "has", "do": "does"}
NUMBERS = {"singular": [False], "plural": [True], "both": [False, True]}
SCORES = VERB, SENTENCE = "verb", "sentence"
NEEDED = ["sentence", "word", "text", "tag", "relation", "head"]  # of the annotation
Text = tuple[str, list[Span]]  # a sentence, and the places of its words


def items(annotation: pd.DataFrame, known: Set[str]) -> pd.DataFrame:
    """All items of a text.

    annotation: its words, all of each sentence, in order. known: the words that both forms must be
    among.

    Returns columns sentence and word, the place of the verb; right and wrong, its two forms; verb,
    the plural form, which names the pair; plural, whether the subject is plural; and attractors,
    how many nouns of the other number stand between subject and verb.

    Left out are coordinated subjects, whose number is another one, and clauses in which the tags of
    subject and verb do not agree: mostly mistakes of the annotation.
    """
    table = pairs(annotation)
    table["right"] = annotation["text"].to_numpy()[table["row"]]
    forms = zip(table["right"], table["plural"], strict=True)
    table["wrong"] = [other_form(*form, known) for form in forms]
    table = table[table["wrong"] != ""].drop(columns="row").reset_index(drop=True)
    return table.assign(verb=np.where(table["plural"], table["right"], table["wrong"]))


def pairs(annotation: pd.DataFrame) -> pd.DataFrame:
    """The verbs of `items`, whatever their forms, by their `row` in the annotation."""
    word, head, tag, relation = (
        annotation[name].to_numpy() for name in ("word", "head", "tag", "relation")
    )
    rows = np.arange(len(annotation))
    heads = rows - word + head
    subjects = np.isin(relation, SUBJECT)
    count = np.bincount(heads[subjects], minlength=len(rows))
    subject_of = np.zeros_like(rows)
    subject_of[heads[subjects]] = rows[subjects]
    coordinated = np.zeros(len(rows), dtype=bool)
    coordinated[heads[relation == CONJUNCT]] = True

    verbs = rows[np.isin(tag, VERBS)]
    predicate = np.where(np.isin(relation[verbs], AUXILIARY), heads[verbs], verbs)
    subject = subject_of[predicate]
    plural = tag[verbs] == VERBS[1]
    agrees = tag[subject] == np.where(plural, NOUNS[1], NOUNS[0])
    kept = (count[predicate] == 1) & agrees & ~coordinated[subject] & (subject < verbs)
    verbs, subject, plural = verbs[kept], subject[kept], plural[kept]
    # How many nouns of each number stand before a row.
    before = np.array([np.cumsum(np.r_[0, tag == noun]) for noun in NOUNS])
    other = np.where(plural, 0, 1)
    return pd.DataFrame(
        {
            "sentence": annotation["sentence"].to_numpy()[verbs],
            "word": word[verbs],
            "row": verbs,
            "plural": plural,
            "attractors": before[other, verbs] - before[other, subject],
        }
    )


def other_form(form: str, plural: bool, known: Set[str]) -> str:
    """The form of a verb for the other number than this one; "" unless both are known words in
    lower case.

    >>> other_form("tries", False, {"try", "tries"}), other_form("are", True, {"is", "are"})
    ('try', 'is')
    """
    if not (form.isalpha() and form.islower()):
        return ""
    if plural:
        others = [singular(form)]
    else:
        shorter = [*IRREGULAR, form[:-1], form[:-2], f"{form[:-3]}y"]
        others = [word for word in shorter if word and singular(word) == form]
    return next((word for word in others if {word, form} <= known), "")


def singular(plural: str) -> str:
    """The form of a verb for a singular subject, from its form for a plural one."""
    if plural in IRREGULAR:
        return IRREGULAR[plural]
    if plural.endswith("y") and plural[-2:-1] not in set("aeiou"):
        return f"{plural[:-1]}ies"
    return plural + ("es" if plural.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def frequent_words(text: TokenFile, tokenizer: Tokenizer, least: int) -> set[str]:
    """The words that a text has at least `least` times, as its sub-words write them."""
    words = words_of(text, tokenizer)
    return set(words.forms[np.bincount(words.types, minlength=len(words.forms)) >= least])


def drawn(table: pd.DataFrame, most: int, seed: int) -> pd.DataFrame:
    """At most `most` items of each number without attractors, and as many with attractors; and the
    `weight` of each, how many items of the text it stands for.

    With one seed, a smaller draw is part of a larger one.
    """
    cells = [table["plural"], table["attractors"] > 0]
    order = generator(seed, "agreement").permutation(len(table))
    place = table.iloc[order].groupby([of.iloc[order] for of in cells]).cumcount()
    size = table.groupby(cells)["word"].transform("size")
    weight = size / np.minimum(size, most)
    return table.assign(weight=weight)[place.sort_index() < most]


def with_form(text: Text, word: int, form: str) -> Text:
    """A sentence with another form of one of its words."""
    sentence, places = text
    start, end = places[word]
    longer = len(form) - (end - start)
    moved = [(a + longer * (a > start), b + longer * (b > start)) for a, b in places]
    return sentence[:start] + form + sentence[end:], moved


def answered(some: pd.DataFrame, texts: Sequence[Text], reader: Reader, score: str) -> pd.DataFrame:
    """The items that a reader can judge by a score, with `is_right`: 1 where the right form is more
    probable, 0 where the wrong one is, half at a tie.

    texts: all sentences. Left out are

    - verbs that share a sub-word with something else, or are cut off;
    - if the whole sentence is scored, sentences that are cut off: the form with more sub-words
      would leave out more of what follows;
    - if the verb alone is scored, pairs of which one form has more sub-words: the beginning of a
      form is at least as probable as the form, and masks tell how many sub-words they hide.
    """
    verbs = some["word"].to_numpy()
    both = [read(some, texts, reader, form) for form in ("right", "wrong")]
    sides = [side.tokens for side in both]
    sizes = np.array(
        [
            [(of == verb).sum() for of, verb in zip(words, verbs, strict=True)]
            for words in (by_sentence(side, side.words) for side in sides)
        ],
        dtype=int,
    )
    kept = sizes.min(axis=0) > 0
    kept &= sizes[0] == sizes[1] if score == VERB else ~(both[0].cut | both[1].cut)
    scores = []
    for side in sides:
        tokens = side.select(np.flatnonzero(kept))
        asked = questions(tokens, verbs[kept], reader.mode, score)
        scores.append(reader.log_probabilities(tokens, asked))
    return some[kept].assign(is_right=preferred(*scores))


def read(some: pd.DataFrame, texts: Sequence[Text], reader: Reader, form: str) -> Words:
    """The sentences of items with their form in a column, as a reader has them."""
    columns = (some[name] for name in ("sentence", "word", form))
    changed = [with_form(texts[i], word, form) for i, word, form in zip(*columns, strict=True)]
    sentences, places = [text for text, _ in changed], [places for _, places in changed]
    return encode(reader.tokenizer, sentences, places, reader.max_length)


def questions(tokens: TokenFile, verbs: np.ndarray, mode: Mode, score: str) -> list[Questions]:
    """What is asked of each sentence for a score."""
    if score == SENTENCE:
        return of_sentences(tokens, mode)
    words = by_sentence(tokens, tokens.words)
    return [of_word(of, verb, mode) for of, verb in zip(words, verbs, strict=True)]


def rows(table: pd.DataFrame, blocks: np.ndarray, least: int) -> Iterator[dict]:
    """Rows by attractors and number, from items with a column `is_right`, and the block of each
    sentence.

    accuracy: 0 to 1; NaN where a number has fewer than `least` items. permuted: the mean accuracy
    of the same preferences over all ways to permute among the items which number is right; for
    both numbers it is 0.5, whatever a model prefers. n: items. n_verbs: pairs of forms.
    """
    count = jackknife.n_blocks(blocks)
    attractors = table["attractors"].to_numpy()
    groups = {"0": attractors == 0, "1+": attractors > 0, "all": attractors >= 0}
    for name, group in groups.items():
        of_group = table[group]
        for number, plurals in NUMBERS.items():
            yield {
                "attractors": name,
                "number": number,
                **accuracy(of_group, plurals, blocks[of_group["sentence"]], count, least),
            }


def accuracy(
    of: pd.DataFrame, plurals: list[bool], blocks: np.ndarray, count: int, least: int
) -> dict:
    """The columns of `rows` from `accuracy` on. plurals: the numbers of which it is the mean;
    blocks: the block of each item, below `count`."""
    plural, weight, is_right = (of[name].to_numpy() for name in ("plural", "weight", "is_right"))
    shares, sizes = [], []
    for one in plurals:
        of_one = weight * (plural == one)
        sums = jackknife.sums(np.stack([of_one * is_right, of_one], axis=1), blocks, count)
        shares.append(jackknife.ratio(*sums.T))
        sizes.append(np.count_nonzero(plural == one))
    chosen = np.isin(plural, plurals)
    n, enough = sum(sizes), min(sizes) >= least
    value, *without = np.mean(shares, axis=0) if enough else np.full(1 + count, np.nan)
    # The mean of two shares is as sure as one share of so many items of equal weight.
    equal = len(sizes) ** 2 / (n * sum(1 / size for size in sizes)) if enough else 1.0
    cases = equal * jackknife.cases_of(blocks[chosen], count)
    prefers = np.where(plural, is_right, 1 - is_right)  # 1: the plural form
    prefers = jackknife.ratio((weight * prefers).sum(), weight.sum())
    permuted = np.mean([prefers if one else 1 - prefers for one in plurals])
    return {
        **jackknife.estimate("accuracy", value, np.array(without), jackknife.UNIT, cases),
        "permuted": float(permuted),
        "n": int(n),
        "n_verbs": int(of["verb"][chosen].nunique()),
    }
