"""Treebanks in CoNLL-U, the format of Universal Dependencies: sentences and annotated words.

A token of the text may stand for several words of the tree (German zum for zu dem). Empty nodes and
enhanced dependencies are skipped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import conllu
from conllu.exceptions import ParseException
from conllu.models import Token, TokenList

from bottomup.core.errors import UserError
from bottomup.corpus.cleaning import normalize
from bottomup.corpus.folders import below, once
from bottomup.corpus.losses import Loss, of_texts
from bottomup.corpus.sources.files import lines

FIELDS = 10  # of a line
# Of a word, a token of several words, an empty node; and of a head.
ID, HEAD = re.compile(r"[0-9]{1,6}([-.][0-9]{1,6})?"), re.compile("[0-9]{1,6}|_")
NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a treebank; lists have an entry for each word.

    document, name: from newdoc and sent_id.
    spans: start and end of a word in the text, in characters; those of its token if the token is
        not its words one after the other, as zum for zu dem.
    upos, xpos: tags; xpos may be None.
    heads: index of a word, its own for the root.
    depths: the number of words above it.
    """

    document: str
    name: str
    text: str
    spans: Sequence[tuple[int, int]]
    upos: Sequence[str]
    xpos: Sequence[str | None]
    relations: Sequence[str]
    heads: Sequence[int]
    depths: Sequence[int]


def files_in(folder: Path) -> list[Path]:
    """The files of a treebank, in the order of their names."""
    return once(below(folder, "*.conllu"))


def sentences(files: Iterable[Path]) -> tuple[list[Sentence], Loss]:
    """The sentences of a treebank's files without those whose text cleaning would change, and the
    loss of these.

    A document has the name of its newdoc id or, without an id, of its first sentence; before the
    first newdoc, it has that of the file.

    Raises UserError, with file and line, for text that is not CoNLL-U, and for a sent_id that is
    missing or occurs twice.
    """
    seen: dict[str, str] = {}
    kept: list[Sentence] = []
    changed: list[str] = []
    for path in files:
        document = path.name
        for number, block in _blocks(lines(path)):
            where = f"{path}, line {number}"
            tree = _tree(block, where)
            name = tree.metadata.get("sent_id")
            if not name or name in seen:
                wrong = f"sent_id {name} stands in {seen[name]}, too" if name else "has no sent_id"
                raise UserError(f"{where}: {wrong}; each sentence of a treebank needs its own")
            seen[name] = where
            if {"newdoc", "newdoc id"} & tree.metadata.keys():
                document = tree.metadata.get("newdoc id") or name
            sentence = _sentence(document, name, tree, where)
            if sentence.text == normalize(sentence.text) and all(s < e for s, e in sentence.spans):
                kept.append(sentence)
            else:
                changed.append(sentence.text)
    step, key = "leaving out what cleaning would change", "corpus.sources.conllu"
    return kept, of_texts(step, key, changed, len(kept) + len(changed), "sentences")


def _blocks(texts: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The lines of each sentence, and the number of the first one in the file."""
    blank = [number for number, text in enumerate(texts) if not text.strip()]
    for before, after in pairwise([-1, *blank, len(texts)]):
        block = texts[before + 1 : after]
        if any(not line.startswith("#") or NEW_DOCUMENT.match(line) for line in block):
            yield before + 2, block


def _tree(block: list[str], where: str) -> TokenList:
    if all(line.startswith("#") for line in block):
        raise UserError(
            f"{where}: a document begins without a sentence; in CoNLL-U comments stand right above "
            "the words of their sentence; take out the blank line, or the comments"
        )
    for line in block:
        if not line.startswith("#"):
            _require_fields(line.split("\t"), where)
    try:
        # The library would end a field at two blanks, too; in text, cleaning joins them.
        [tree] = conllu.parse("\n".join(re.sub(" {2,}", " ", line) for line in block))
    except (ParseException, ValueError) as error:  # such as a number of 5,000 digits
        raise UserError(f"{where}: is not CoNLL-U ({error}); mend it") from error
    return tree


def _require_fields(fields: list[str], where: str) -> None:
    """Raise UserError for what the library takes as something else, or not at all."""
    n_empty = sum(not field.strip() for field in fields)
    if n_empty or len(fields) != FIELDS:
        raise UserError(
            f"{where}: a word of this sentence has {len(fields)} fields, {n_empty} of them empty; "
            f"CoNLL-U has {FIELDS}, separated by tabs, none of them empty; mend it"
        )
    number, _, _, tag, _, _, head, relation, *_ = fields
    if not (ID.fullmatch(number) and HEAD.fullmatch(head)):
        raise UserError(
            f"{where}: a word of this sentence has the number {number[:20]} and the head "
            f"{head[:20]}; allowed: numbers such as 1, 1-2, 1.1; heads such as 0, 1; mend it"
        )
    if number.isdecimal() and "_" in (tag, relation):
        raise UserError(
            f"{where}: word {number} of this sentence has no tag (UPOS) or no relation (DEPREL), "
            "which Universal Dependencies asks of each; mend it"
        )


def _sentence(document: str, name: str, tree: TokenList, where: str) -> Sentence:
    words = tree.filter(id=lambda number: isinstance(number, int))
    if [word["id"] for word in words] != [*range(1, len(words) + 1)]:
        raise UserError(f"{where}: words of this sentence are not numbered from 1; mend it")
    heads = [_head(word, len(words), where) for word in words]
    if (n_roots := [word["head"] for word in words].count(0)) != 1:
        raise UserError(f"{where}: {n_roots} words of this sentence have the head 0; allowed: one")
    text, spans = _written(_of_several(tree, len(words), where), words)
    return Sentence(
        *(document, name, text, spans),
        upos=[word["upos"] for word in words],
        xpos=[word["xpos"] for word in words],
        relations=[word["deprel"] for word in words],
        heads=heads,
        depths=_depths(heads, where),
    )


def _head(word: dict, n: int, where: str) -> int:
    if word["head"] in (None, word["id"]) or word["head"] > n:
        raise UserError(
            f"{where}: word {word['id']} of this sentence has the head {word['head']}; allowed: "
            f"0 to {n}, but for its own number"
        )
    return (word["head"] or word["id"]) - 1


def _depths(heads: list[int], where: str) -> list[int]:
    depths = []
    for word in range(len(heads)):
        depth = 0
        while heads[word] != word:
            word, depth = heads[word], depth + 1
            if depth > len(heads):
                raise UserError(f"{where}: heads of this sentence do not form a tree; mend them")
        depths.append(depth)
    return depths


def _of_several(tree: TokenList, n: int, where: str) -> dict[int, Token]:
    """The tokens that stand for several of `n` words, by the number of their first word."""
    tokens = [token for token in tree if "-" in _kind(token)]
    ends = [0, *(token["id"][2] for token in tokens)]
    starts = [*(token["id"][0] for token in tokens), n + 1]
    if any(end >= start for end, start in zip(ends, starts, strict=True)):
        raise UserError(
            f"{where}: tokens of several words of this sentence, such as 1-2, overlap, stand in "
            f"another order or go beyond its {n} words; mend them"
        )
    return {token["id"][0]: token for token in tokens}


def _written(several: dict[int, Token], words: TokenList) -> tuple[str, list[tuple[int, int]]]:
    """The text of a sentence, and the places of its words in it; several: from `_of_several`."""
    text = ""
    spans: list[tuple[int, int]] = []
    while len(spans) < len(words):
        first = len(spans) + 1
        token = several.get(first, words[first - 1])
        last = token["id"][2] if first in several else first
        form, start = normalize(token["form"]), len(text)
        parts = [normalize(word["form"]) for word in words[first - 1 : last]]
        ends = [start + length for length in accumulate(map(len, parts), initial=0)]
        spelled = "".join(parts) == form
        spans += pairwise(ends) if spelled else [(start, start + len(form))] * len(parts)
        text += form
        if (token["misc"] or {}).get("SpaceAfter") != "No":
            text += " "
    return text.rstrip(), spans


def _kind(token: dict) -> str:
    """`-` for a token that stands for several words, `.` for an empty node, else nothing."""
    return token["id"][1] if isinstance(token["id"], tuple) else ""
