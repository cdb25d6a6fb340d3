"""From words back to text: the spaces that `bpe.word_pattern` lost, as far as they can be guessed.

The rules are those of the Moses detokenizer, and of what the LibreOffice help does most often with
the signs of file names and formulas.
"""

from bottomup.corpus.bpe import ELIDING_LANGUAGES

# No space after, none before, neither; quotation marks that look the same at both ends take turns.
_OPENING = "([{<$#£¿¡"
_CLOSING = ".,:;!?)]}>%…"
_JOINING = "/\\_@^~|*+"
_TURNING = "\"'`"
_APOSTROPHES = "'’"
# Quotation marks that open and close, and signs that do not join what stands before them.
_QUOTES = {"de": ("„‚»›", "“‘”’«‹"), "fr": ("“‘", "”’")}
_OTHER_QUOTES = ("“‘„‚«‹", "”’»›")
_SPACED = {"de": "%", "fr": ":;!?%"}


def detokenize(text: str, language: str) -> str:
    """Text from words with a space between each two, as `tokenizer.decode` gives them.

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
