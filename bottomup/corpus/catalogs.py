"""Messages of programs and their translations: catalogs of GNU gettext, and the text of a message.

A catalog is a .mo file. It has a header of seven numbers; two tables of lengths and places, one for
the English messages and one for their translations; and the strings (gettext's manual, "The Format
of GNU MO Files"). Python's own reader drops English plurals and does not list the messages.
"""

import gettext
import html
import re
import struct
from collections.abc import Iterator

from bottomup.corpus import sentences

# The order of bytes in numbers, by the first four bytes.
_ORDERS = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_PLURAL = re.compile(rb"plural=([^;\n]+)")


def messages(catalog: bytes) -> Iterator[tuple[str, str]]:
    """The English messages of a catalog with their translations, in its order.

    Where a message has a plural, its singular comes with the form for 1 by the catalog's own rule,
    and its plural with that for 100, which is not among the few. Neither the header nor contexts
    are text.

    Raises ValueError if the catalog is damaged, or not in the encoding that it names (ASCII, if it
    names none).
    """
    if catalog[:4] not in _ORDERS:
        raise ValueError("it does not begin as a catalog")
    order = _ORDERS[catalog[:4]]
    try:
        _, n, originals, translations = struct.unpack_from(f"{order}4I", catalog, 4)
        both = [_strings(catalog, order, table, n) for table in (originals, translations)]
        strings = dict(zip(*both, strict=True))
        header = strings.pop(b"", b"")
        charset, (of_one, of_many) = _CHARSET.search(header), _forms(header)
        encoding = charset[1].decode() if charset else "ascii"
        for message, translation in strings.items():
            _, _, text = message.decode(encoding).rpartition("\4")
            numbers, forms = text.split("\0"), translation.decode(encoding).split("\0")
            yield numbers[0], forms[of_one] if of_one < len(forms) else forms[0]
            if len(numbers) > 1 and of_one != of_many < len(forms):
                yield numbers[1], forms[of_many]
    except (struct.error, LookupError, ArithmeticError) as error:
        raise ValueError(str(error)) from error


def _forms(header: bytes) -> tuple[int, int]:
    """Which form of a translation is for 1, and which for 100; as in German if no rule is given."""
    rule = _PLURAL.search(header)
    number = gettext.c2py(rule[1].decode()) if rule else lambda n: int(n != 1)
    return number(1), number(100)


def _strings(catalog: bytes, order: str, table: int, n: int) -> list[bytes]:
    strings = []
    for length, place in struct.iter_unpack(f"{order}2I", catalog[table : table + 8 * n]):
        strings.append(catalog[place : place + length])
        if len(strings[-1]) < length:
            raise ValueError("a message is cut off")
    if len(strings) < n:
        raise ValueError("a table is cut off")
    return strings


# What a program fills in, as in C, Python, Qt, Perl and shell: %s, %-5.2lf, %1$s, %(name)s, %1,
# {name}, ${name}, $name. "100 % of" has none.
_PLACEHOLDER = re.compile(
    r"%L\d+|%(?:\(\w+\)|\d+\$)?[-+#0]*[\d*]*(?:\.[\d*]+)?(?:hh|ll|[hlLjqtz])?[A-Za-z](?![a-z])"
    r"|%\d+|\$?\{\w*\}|\$\w+"
)
_PLACE = re.compile(r"\d+\$")
_LAYOUT = re.compile(r"\n[^\S\n]+\S")  # a line that begins with blanks
_EMPTY_LINES = re.compile(r"\n\s*\n")


def pairs(source: str, target: str) -> list[tuple[str, str]]:
    """The sentences of a message, paired with those of its translation, without markup and the
    marks of access keys.

    Empty if lines are laid out by blanks, as in tables of options; if the sides do not have the
    same placeholders, in any order; or if they do not have equally many paragraphs.
    """
    if _LAYOUT.search(source) or placeholders(source) != placeholders(target):
        return []
    plain = without_keys(unmarked(source), unmarked(target))
    sides = [_paragraphs(text) for text in plain]
    if len(sides[0]) != len(sides[1]):
        return []
    return [pair for both in zip(*sides, strict=True) for pair in sentences.aligned(*both)]


def _paragraphs(text: str) -> list[str]:
    parts = (" ".join(part.split()) for part in _EMPTY_LINES.split(text))
    return [part for part in parts if part]


def placeholders(text: str) -> list[str]:
    """The placeholders of a text, sorted, without numbers of arguments: %s for %2$s."""
    return sorted(_PLACE.sub("", placeholder) for placeholder in _PLACEHOLDER.findall(text))


# The mark of an access key, the letter that menus underline: _File, &File, ~File; in Chinese (_F).
_KEY = re.compile(r"\([_&~]\w\)|[_&~](?=\w)")


def without_keys(source: str, target: str) -> tuple[str, str]:
    """Both sides without the mark of an access key.

    They stay as they are unless each has exactly one mark, of the same kind, and no word that both
    have holds it: the marks in AT&T and file_name are not for keys.
    """
    marks = _KEY.findall(source), _KEY.findall(target)
    if [len(side) for side in marks] != [1, 1] or marks[0][0].strip("()")[0] not in marks[1][0]:
        return source, target
    shared = set(source.split()) & set(target.split())
    if any(_KEY.search(word) for word in shared):
        return source, target
    return _KEY.sub("", source), _KEY.sub("", target)


_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*)(?:\s[^<>]*?)?(?P<empty>/?)>")
_EMPTY = {"br", "hr", "img"}  # need no end in HTML
_BLOCKS = {"p", "br", "hr", "li", "ul", "ol", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "nl"}
_BLOCKS |= {"para", "title", "table", "tr", "td", "th", "div", "list", "item", "html", "body"}
_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d+|#x[\da-fA-F]+);")


def unmarked(text: str) -> str:
    """The text without tags, and with characters for entities; paragraphs and items of lists stand
    between empty lines.

    Only tags that are closed somewhere, or need no end, are markup. `open <file>` stays.
    """
    ended = {tag["name"] for tag in _TAG.finditer(text) if tag["end"] or tag["empty"]}

    def put(tag: re.Match[str]) -> str:
        if tag["name"].lower() in _BLOCKS and tag["name"] in ended | _EMPTY:
            return "\n\n"
        return "" if tag["name"] in ended | _EMPTY else tag[0]

    plain = _TAG.sub(put, text)
    return html.unescape(plain) if plain != text or _ENTITY.search(text) else text
