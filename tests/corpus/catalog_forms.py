"""Small catalogs of messages, put together from gettext's manual."""

import struct

HEADER = "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"


def mo(messages, header=HEADER, order="<", encoding="utf-8"):
    """A catalog of the messages and translations, message -> translation; no header if empty."""
    strings = {**({"": header} if header else {}), **messages}
    texts = [text.encode(encoding) for pair in sorted(strings.items()) for text in pair]
    n = len(strings)
    tables, data, place = {0: b"", 1: b""}, b"", 28 + 16 * n
    for number, text in enumerate(texts):
        tables[number % 2] += struct.pack(f"{order}2I", len(text), place + len(data))
        data += text + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 28 + 16 * n)
    return head + tables[0] + tables[1] + data
