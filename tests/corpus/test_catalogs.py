import gettext
import io
import struct

import pytest
from catalog_forms import HEADER, mo

from bottomup.corpus.catalogs import messages, pairs, placeholders, unmarked, without_keys

GERMAN = {
    "Open": "Öffnen",
    "menu\4Open": "Auf",
    "%d file\0%d files": "%d Datei\0%d Dateien",
    "Save the page": "Die Seite speichern",
}
EXPECTED = [
    ("%d file", "%d Datei"),
    ("%d files", "%d Dateien"),
    ("Open", "Öffnen"),
    ("Save the page", "Die Seite speichern"),
    ("Open", "Auf"),
]


@pytest.mark.parametrize("order", ["<", ">"])
def test_messages_without_header_and_contexts_and_with_plurals(order):
    assert list(messages(mo(GERMAN, order=order))) == EXPECTED


def test_python_reads_the_same_catalog():
    """Its public calls answer for each message that ours gives."""
    catalog = mo(GERMAN)
    known = gettext.GNUTranslations(io.BytesIO(catalog))
    found = list(messages(catalog))
    assert known.gettext("Save the page") == dict(found)["Save the page"]
    assert (known.gettext("Open"), known.pgettext("menu", "Open")) == (found[2][1], found[4][1])
    assert [known.ngettext("%d file", "%d files", n) for n in (1, 2)] == [
        translation for _, translation in found[:2]
    ]


RULES = {
    "ru": "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2",
    "sl": "n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0",
    "ar": "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
    "zh": "0",
}


@pytest.mark.parametrize(
    ("language", "one", "many"),
    [("ru", "день", "дней"), ("sl", "dan", "dni"), ("ar", "one", "hundred"), ("zh", "天", None)],
)
def test_the_forms_are_those_for_one_and_for_a_hundred_by_the_catalog_s_rule(language, one, many):
    forms = {
        "ru": "день\0дня\0дней",
        "sl": "dni\0dan\0dneva\0dnevi",
        "ar": "none\0one\0two\0few\0more\0hundred",
        "zh": "天",
    }[language]
    header = HEADER.replace("(n != 1)", f"({RULES[language]})")
    catalog = mo({"day\0days": forms}, header)
    assert list(messages(catalog)) == [("day", one)] + ([("days", many)] if many else [])
    known = gettext.GNUTranslations(io.BytesIO(catalog))
    assert known.ngettext("day", "days", 1) == one
    assert known.ngettext("day", "days", 100) == (many or one)


def test_without_a_rule_forms_are_as_in_german():
    header = HEADER.partition("Plural-Forms")[0]
    assert list(messages(mo(GERMAN, header))) == EXPECTED


def test_the_encoding_is_the_one_that_the_header_names():
    header = HEADER.replace("UTF-8", "ISO-8859-1")
    assert list(messages(mo({"Open": "Öffnen"}, header, encoding="latin-1"))) == [
        ("Open", "Öffnen")
    ]
    assert list(messages(mo({"Open": "Offen"}, header=""))) == [("Open", "Offen")]


GOOD = mo(GERMAN)


@pytest.mark.parametrize(
    ("catalog", "why"),
    [
        (b"", "does not begin"),
        (b"msgid 'Open'\n" * 9, "does not begin"),
        (GOOD[:10], "requires a buffer"),
        (GOOD[:20], "a table is cut off"),
        (GOOD[:60], "cut off"),
        (GOOD[:-3], "a message is cut off"),
        (GOOD[:8] + struct.pack("<I", 2**31) + GOOD[12:], "requires a buffer"),
        (mo(GERMAN, header=""), "ascii"),
        (mo(GERMAN, HEADER.replace("UTF-8", "UTF-9")), "UTF-9"),
        (mo({"Open": "Öffnen"}, encoding="latin-1"), "utf-8"),
    ],
)
def test_a_catalog_that_is_damaged_is_an_error(catalog, why):
    with pytest.raises(ValueError, match=why):
        list(messages(catalog))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("One file.\nIt is here. It is new.", "Eine Datei.\nSie ist hier. Sie ist neu.", 3),
        ("First part.\n\nSecond part.", "Teil eins.\n \nTeil zwei.", 2),
        ("First part.\n\nSecond part.", "Teil eins. Teil zwei.", 0),
        ("<p>One.</p><p>Two.</p>", "<p>Eins.</p><p>Zwei.</p>", 2),
        ("%s of %d is %(x)s", "%(x)s ist %2$d von %1$s", 1),
        ("%s of %d", "%s von %s", 0),
        ("Copy %1 to {name}", "%1 nach {Name} kopieren", 0),
        ("  Options", "  Optionen", 1),
        ("-a  all files\n    even hidden", "-a  alle Dateien, auch verborgene", 0),
    ],
)
def test_sentences_of_a_message_are_paired_where_the_sides_agree(source, target, expected):
    assert len(pairs(source, target)) == expected


def test_pairs_are_plain_text():
    assert pairs(
        "_Show <b>all</b>\nhidden &amp; new files:", "_Alle <b>neuen</b> zeigen: &lt;"
    ) == [("Show all hidden & new files:", "Alle neuen zeigen: <")]


def test_placeholders_of_all_kinds_in_any_order():
    text = "%s %-5.2lf %3$s %(name)s %1 %L2 {n} {} ${HOME} $x %%"
    found = ["$x", "${HOME}", "%(name)s", "%-5.2lf", "%1", "%L2", "%s", "%s", "{n}", "{}"]
    assert placeholders(text) == sorted(found)
    assert placeholders("100 % sicher, 50%ige Lösung, 5 %") == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("_Open", "Ö_ffnen", ("Open", "Öffnen")),
        ("Save &as", "Speichern &unter", ("Save as", "Speichern unter")),
        ("~Edit the page", "Seite be~arbeiten", ("Edit the page", "Seite bearbeiten")),
        ("_File menu", "文件菜单(_F)", ("File menu", "文件菜单")),
        ("AT&T mode", "Modus AT&T", None),
        ("of file_name", "von file_name", None),
        ("the FILE_NAME of a_b", "der DATEI_NAME", None),
        ("_Open", "&Öffnen", None),
        ("_Open", "Öffnen", None),
    ],
)
def test_marks_of_keys_go_where_both_sides_have_one(source, target, expected):
    assert without_keys(source, target) == (expected or (source, target))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <b>bold</b> word", "a bold word"),
        ('see <a href="x">this</a>', "see this"),
        ("open <file>", "open <file>"),
        ("run <b>now <file></b>", "run now <file>"),
        ("one<br>two<nl/>three", "one\n\ntwo\n\nthree"),
        ("<P>one</P>", "\n\none\n\n"),
        ("a &lt; b &#38; c", "a < b & c"),
        ("AT&T, Q&A; a & b", "AT&T, Q&A; a & b"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
    ],
)
def test_markup_goes_and_what_looks_like_it_stays(text, expected):
    assert unmarked(text) == expected
