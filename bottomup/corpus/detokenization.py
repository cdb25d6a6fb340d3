"""From words back to text, with a guess at the spaces that `bpe.word_pattern` lost.

The rules are those of the Moses detokenizer, and what the LibreOffice help does most often with the
signs of file names and formulas.
"""

from bottomup.corpus.bpe import ELIDING_LANGUAGES

# No space after; none before; neither. Quotation marks that look the same at both ends alternate.
_OPENING = "([{<$#£¿¡"
_CLOSING = ".,:;!?)]}>%…"
_JOINING = "/\\_@^~|*+"
_TURNING = "\"'`"
_APOSTROPHES = "'’"
# Quotation marks that open and close, and signs that do not attach to what precedes them.
_QUOTES = {"de": ("„‚»›", "“‘”’«‹"), "fr": ("“‘", "”’")}
_OTHER_QUOTES = ("“‘„‚«‹", "”’»›")
_SPACED = {"de": "%", "fr": ":;!?%"}


def detokenize(text: str, language: str) -> str:
    """Text from words separated by spaces, as from `tokenizer.decode`.

    Cutting the result into words again gives the same words.
    """
    opening, closing = _QUOTES.get(language, _OTHER_QUOTES)
    joins_next = set(_OPENING + _JOINING + opening)
    joins_last = set(_CLOSING + _JOINING + closing) - set(_SPACED.get(language, ""))
    elides = language in ELIDING_LANGUAGES
    parts, inside, joined = [], set(), True
    for word in text.split():
        left, right = joins_last.issuperset(word), word in joins_next
        if word in _TURNING:
            left = word in inside
            right = not left
            inside ^= {word}
        elif len(word) > 1 and word[-elides] in _APOSTROPHES:
            left, right = not elides, elides
        two_periods = word[0] == "." and parts and parts[-1][-1] == "."
        if not (joined or left) or two_periods:
            parts.append(" ")
        parts.append(word)
        joined = right
    return "".join(parts)
