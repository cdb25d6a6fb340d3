"""Part of speech, dependency relation and head of each word, from a treebank.

Our tokenizer and a treebank cut the same text differently: `don 't` and `do n't`, a word with a
hyphen as one word or three. If one of our words covers several of theirs, it takes the one that is
highest in the tree, as spaCy takes the root of a span. If one of theirs is cut into several of
ours, the first stands for it, and the others depend on the first by `goeswith`, the relation of
Universal Dependencies for parts of a word that are written apart.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from tokenizers import Tokenizer

from bottomup.core.errors import UserError
from bottomup.core.files.tables import read_table
from bottomup.corpus import treebank
from bottomup.corpus.annotation import COLUMNS, TYPES, universal
from bottomup.corpus.segmentation import unmarked
from bottomup.corpus.treebank import Sentence
from bottomup.corpus.words import spans

# Penn's tags, with those that English treebanks have added.
PENN = frozenset(
    [
        *("CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS", "NNP"),
        *("NNPS", "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "SYM", "TO", "UH", "VB"),
        *("VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB", "#", "$", ".", ",", ":"),
        *("``", "''", "-LRB-", "-RRB-", "HYPH", "NFP", "ADD", "AFX", "GW", "XX"),
    ]
)
PART = "goeswith"


def annotated(text: Path, tokenizer: Tokenizer, told_by: str) -> pd.DataFrame:
    """The words of the source side of a split, annotated by the treebank in the folder
    `told_by`."""
    split = read_table(text, columns=["element", "source"])
    sentences, _ = treebank.sentences(treebank.files_in(Path(told_by)))
    known = {one.name: one for one in sentences}
    missing = [
        name
        for name, written in zip(split["element"], split["source"], strict=True)
        if name not in known or known[name].text != unmarked(written)
    ]
    if missing:
        raise UserError(
            f"{told_by}: sentences of the text that are not in the treebank or differ there: "
            f"{len(missing)}, such as {missing[0]}; fetch the text again"
        )
    kept = [known[name] for name in split["element"]]
    return annotate(kept, split["source"].tolist(), tokenizer, has_penn(known.values()))


def has_penn(sentences: Iterable[Sentence]) -> bool:
    """Whether a treebank's own tags (XPOS) are those of the Penn treebank."""
    return all(PENN.issuperset(sentence.xpos) for sentence in sentences)


def annotate(
    sentences: Sequence[Sentence], texts: list[str], tokenizer: Tokenizer, penn: bool
) -> pd.DataFrame:
    """The words of these sentences as the tokenizer cuts them: a table as from `pipeline.annotate`.

    texts: those of the sentences, with the marks of words (see `segmentation`). penn: whether to
    take the tags of the Penn treebank, which tell more than the universal ones.
    """
    rows = []
    for number, (sentence, (text, ours)) in enumerate(
        zip(sentences, spans(texts, tokenizer), strict=True)
    ):
        tags = sentence.xpos if penn else sentence.upos
        for place, (word, relation, head) in enumerate(aligned(sentence, ours)):
            start, end = ours[place]
            rows.append((number, place, text[start:end], tags[word], relation, head))
    return pd.DataFrame(rows, columns=COLUMNS).astype(TYPES)


def aligned(sentence: Sentence, ours: list[tuple[int, int]]) -> list[tuple[int, str, int]]:
    """For each of our words, given by its place in the text: the treebank's word that it stands
    for, its relation, and the place of its head among our words (its own for a root).

    It stands for the highest of the words that it covers. So heads are always higher, and our words
    form a tree.
    """
    covered = [
        [word for word, (s, e) in enumerate(sentence.spans) if s < end and start < e]
        for start, end in ours
    ]
    taken = [min(words, key=sentence.depths.__getitem__) for words in covered]
    stands: dict[int, int] = {}
    for place, word in enumerate(taken):
        stands.setdefault(word, place)
    for place, words in enumerate(covered):
        for word in words:
            stands.setdefault(word, place)
    triples = []
    for place, word in enumerate(taken):
        if stands[word] != place:
            triples.append((word, PART, stands[word]))
        else:
            head = stands[sentence.heads[word]]
            triples.append((word, universal(sentence.relations[word]), head))
    return triples
