import pytest

from bottomup.corpus.sentences import aligned, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        (
            "Read foo.conf. It is 2.5 times 3. 4 follow.",
            ["Read foo.conf.", "It is 2.5 times 3. 4 follow."],
        ),
        (
            "Das ist z. B. Text, vgl. Kapitel 2. Ende",
            ["Das ist z. B. Text, vgl. Kapitel 2.", "Ende"],
        ),
        ("Er sagt: »Nein.« »Doch!« Ende", ["Er sagt: »Nein.«", "»Doch!«", "Ende"]),
        ("(See below.) Это так. Да", ["(See below.)", "Это так.", "Да"]),
        ("See e.g. the manual. and more", ["See e.g. the manual. and more"]),
        ("Ouvrez. « Fichier ». «\xa0Non\xa0»", ["Ouvrez.", "« Fichier ».", "«\xa0Non\xa0»"]),
        ("Ábralo. ¿Guardar? «¡Sí!» Ya", ["Ábralo.", "¿Guardar?", "«¡Sí!»", "Ya"]),
        ("", [""]),
        ("他说：“好。”请打开。真的吗？！是", ["他说：“好。”", "请打开。", "真的吗？！", "是"]),
        ("開きます。「はい。」本当？", ["開きます。", "「はい。」", "本当？"]),
        ("यह है। वह है॥ और", ["यह है।", "वह है॥", "और"]),
        ("هذا نص. وذلك؟ نعم", ["هذا نص.", "وذلك؟", "نعم"]),
        ("ეს არის. ის არის 3. 4", ["ეს არის.", "ის არის 3. 4"]),
        ("Սա է։ Ոչ", ["Սա է։", "Ոչ"]),
        ("Πού είναι; Εδώ.", ["Πού είναι;", "Εδώ."]),
        ("It is here; Anna knows", ["It is here; Anna knows"]),
        ("他走了。[见图1。]然后。", ["他走了。", "[见图1。]", "然后。"]),
        ("看(见下文。)再来。", ["看(见下文。)", "再来。"]),
        ("ទិញសៀវភៅ ប៊ិច ។ល។ នៅផ្សារ។ ទៅ", ["ទិញសៀវភៅ ប៊ិច ។ល។ នៅផ្សារ។", "ទៅ"]),
    ],
)
def test_sentences_of_a_text(text, expected):
    assert split(text) == expected


def test_paragraphs_stay_whole_where_their_sentences_are_not_as_many():
    assert aligned("One. Two.", "Eins. Zwei.") == [("One.", "Eins."), ("Two.", "Zwei.")]
    assert aligned("One. Two.", "Eins und zwei.") == [("One. Two.", "Eins und zwei.")]
