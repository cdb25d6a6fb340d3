"""Words of languages that are written without spaces, found by ICU's dictionaries.

Everywhere in the corpus a word ends at white space or at a mark: the zero width space, which
Unicode has for this. Cleaning sets the marks once, in languages of the scripts of `UNSPACED`; all
that counts, compares, cuts or annotates words then goes by them. Text that is shown, scored or read
by another model has none.
"""

import unicodedata

from icu4py.breakers import WordBreaker
from tokenizers import Tokenizer

from bottomup.core.languages import script

MARK = "\u200b"
# Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan; of the last one, syllables.
UNSPACED = frozenset(["Hans", "Hant", "Jpan", "Thai", "Laoo", "Khmr", "Mymr", "Tibt"])

# Combining marks, such as the vowels of Hindi and the points of Hebrew, and joiners. They belong to
# words, but Python's \w does not match them.
INNER = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c)[0] == "M")
INNER += "\u200c\u200d"
WORD = rf"\w[\w{INNER}]*"  # without punctuation; a mark after a sign, as in some emoji, is no word


def base(language: str) -> str:
    """A language's code without its region: zh of zh_CN."""
    return language.partition("_")[0]


def spaced(language: str) -> bool:
    """Whether words of a language have spaces between them."""
    return script(language) not in UNSPACED


def marked(text: str, language: str) -> str:
    """The text with a mark before each word that follows another one without a space.

    Punctuation stays with the word before it, or the one after it where there is none. What is
    Latin on both sides, as in `file-name`, stays together. Text in a language with spaces stays as
    it is.

    >>> marked("请单击“文件”菜单。", "zh").split(MARK)
    ['请', '单击“', '文件”', '菜单。']
    """
    if spaced(language):
        return text
    parts: list[str] = []
    in_word = False  # since the last space or mark
    for part in WordBreaker(text, base(language)):
        begins = part[0].isalnum()
        if begins and in_word:
            ends = parts[-1][-1], part[0]
            if not all(c.isascii() or "LATIN" in unicodedata.name(c, "") for c in ends):
                parts.append(MARK)
        parts.append(part)
        in_word = not part.isspace() and (in_word or begins)
    return "".join(parts)


def unmarked(text: str) -> str:
    """The text as it was written."""
    return text.replace(MARK, "")


def cuts(tokenizer: Tokenizer) -> bool:
    """Whether a tokenizer ends words at marks, as ours of these languages do."""
    before = tokenizer.pre_tokenizer
    return before is not None and not before.pre_tokenize_str(MARK)


def words(text: str) -> list[str]:
    """The words of a text: what is between white space or marks."""
    return text.replace(MARK, " ").split()
