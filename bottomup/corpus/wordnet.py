"""Examples of the senses of words, from the database of WordNet (Fellbaum 1998).

A folder has the files data.CLASS, a line for each sense with the words that have it and its gloss,
in which examples stand in quotation marks; and CLASS.exc, irregular forms with their base
(https://wordnet.princeton.edu/documentation/wndb5wn).
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from bottomup.core.errors import UserError
from bottomup.corpus.sources.files import lines

# By word class, as files call it: the ends of forms, each with what replaces it in the base. These
# are WordNet's rules (https://wordnet.princeton.edu/documentation/morphy7wn).
ENDINGS = {
    "noun": ("s ", "ses s", "xes x", "zes z", "ches ch", "shes sh", "men man", "ies y"),
    "verb": ("s ", "ies y", "es e", "es ", "ed e", "ed ", "ing e", "ing "),
    "adj": ("er ", "est ", "er e", "est e"),
    "adv": (),
}
FILES = sorted(file for name in ENDINGS for file in (f"data.{name}", f"{name}.exc"))
LEAST = 4  # words of an example; shorter ones are phrases
WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
QUOTED = re.compile(r'"([^"]+)"')


def examples(folder: Path) -> pd.DataFrame:
    """All examples in which their word occurs once: columns word (its base), class, sense (the
    number of the line, as the file has it), text, and start and end of the word in it, in
    characters.

    One text may be an example of several words of one sense. Words of several parts are left out,
    and so is a text that is an example of two senses of a word.

    Raises UserError, with file and line, for what is no line of WordNet.
    """
    rows = [row for name in ENDINGS for row in _of_class(folder, name)]
    table = pd.DataFrame(rows, columns=["word", "class", "sense", "text", "start", "end"])
    return table.drop_duplicates(["word", "class", "text"], keep=False).reset_index(drop=True)


def _of_class(folder: Path, name: str) -> Iterator[tuple[str, str, str, str, int, int]]:
    path = folder / f"data.{name}"
    irregular = exceptions(folder / f"{name}.exc")
    for number, line in enumerate(lines(path), start=1):
        if line.startswith("  "):  # the license
            continue
        entry, bar, gloss = line.partition("|")
        fields = entry.split()
        try:
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        except (IndexError, ValueError):
            words = []
        if not (bar and words):
            raise UserError(f"{path}, line {number}: is no line of WordNet's database; mend it")
        # Adjectives may have a parenthesis that says where they may stand.
        bases = {word.partition("(")[0].lower() for word in words}
        for text in QUOTED.findall(gloss):
            matches = [*WORD.finditer(text)]
            if len(matches) < LEAST:
                continue
            forms = [bases & bases_of(one[0].lower(), name, irregular) for one in matches]
            for base in sorted(bases):
                places = [one for one, of in zip(matches, forms, strict=True) if base in of]
                if len(places) == 1:
                    yield base, name, fields[0], text, places[0].start(), places[0].end()


def exceptions(path: Path) -> dict[str, set[str]]:
    """The bases of irregular forms, from a file CLASS.exc; a class without any has an empty one."""
    irregular: dict[str, set[str]] = {}
    for form, *bases in filter(None, map(str.split, lines(path) if path.stat().st_size else [])):
        irregular.setdefault(form, set()).update(bases)
    return irregular


def bases_of(form: str, name: str, irregular: dict[str, set[str]]) -> set[str]:
    """The bases that a form in lower case may have in a word class; not all of them are words.

    >>> sorted(bases_of("flies", "noun", {}) | bases_of("went", "verb", {"went": {"go"}}))
    ['flie', 'flies', 'fly', 'go', 'went']
    """
    bases = {form} | irregular.get(form, set())
    for ending in ENDINGS[name]:
        end, _, base = ending.partition(" ")
        if form.endswith(end) and len(form) > len(end):
            bases.add(form.removesuffix(end) + base)
    return bases
