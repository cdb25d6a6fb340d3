"""Sentences of paragraphs that translate each other, paired if both have equally many."""

import re

_QUOTES = "\"'«»„“”‘’‚()[]¿¡"  # and what Spanish questions and exclamations begin with
_CLOSING = "」』）】》〉〕］｝”’»\"')]"
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"  # after a letter of these a semicolon asks
# What may stand before its first letter; in French a space follows «.
_OPENING = re.compile(rf"(?:[{re.escape(_QUOTES)}]|(?<=«)\s)*")
# The end of a sentence, with closing quotation marks. A full stop and its like need white space
# after them. Marks that end only sentences (`sure`) do not: those of Chinese and Japanese, Hindi,
# Urdu, Armenian, Amharic, Burmese, Khmer (but not in its ។ល។, which is "etc.").
_END = re.compile(
    rf"(?:(?<=[.!?…؟])|(?<=[{_GREEK}];))[{re.escape(_QUOTES)}]*\s+|(?<=[。！？｡।॥۔։።။។])(?![。！？]|ល។)(?<!។ល។)[{re.escape(_CLOSING)}]*(?P<sure>\s*)(?=.)"
)
# No end of a sentence: single letters with a full stop, as in "z. B. Der" and "J. R. R. Tolkien",
# and abbreviations that may stand before a capital.
_SHORT = re.compile(
    r"(?:^|[\s(.])(?:[^\W\d_]|approx|bzw|ca|cf|dr|etc|evtl|ggf|inkl|mr|mrs|no|nr|resp|sog|st"
    r"|usw|vgl|vs|zzgl)\.$",
    re.IGNORECASE,
)
_LONGEST_SHORT = 8  # characters, with what precedes
_LONGEST_OPENING = 4  # characters, with the capital


def split(text: str) -> list[str]:
    """The sentences of a text, found by punctuation and the capital that follows, or a letter of a
    script without capitals."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        before = text[max(start, end.start() - _LONGEST_SHORT) : end.start()]
        after = text[end.end() : end.end() + _LONGEST_OPENING]
        after = _OPENING.sub("", after, count=1)[:1]
        starts = after.isalpha() and after == after.title() and not _SHORT.search(before)
        if starts or end["sure"] is not None:
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    return [*sentences, text[start:].strip()]


def aligned(source: str, target: str) -> list[tuple[str, str]]:
    """The sentences of two paragraphs in pairs, in order; one pair of paragraphs if their numbers
    of sentences differ."""
    sides = split(source), split(target)
    if len(sides[0]) != len(sides[1]):
        return [(source, target)]
    return list(zip(*sides, strict=True))
