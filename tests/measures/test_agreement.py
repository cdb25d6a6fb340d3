"""Which verbs are asked about, and how often who is right, on sentences of which it is known."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, BertForMaskedLM, PreTrainedTokenizerFast

from bottomup import subjects
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.corpus import bpe, encoding
from bottomup.corpus.batches import Text
from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.words import spans
from bottomup.measures import agreement
from bottomup.measures.agreement import (
    NEEDED,
    answered,
    frequent_words,
    items,
    other_form,
    rows,
    with_form,
)
from bottomup.measures.log_probability import HIDDEN, NEXT
from bottomup.measures.readers import Reader, of_ngrams
from bottomup.objectives import load
from bottomup.tables.agreement import COLUMNS
from bottomup.training.run import save
from tests import tiny
from tests.subjects import families
from tests.tiny import drawn, initial

# Words as text/tag/relation/head, the number of a word of the same sentence.
PARSED = [
    # No attractor; one; two, of which one has the number of the subject.
    "the/DT/det/1 file/NN/nsubj/2 is/VBZ/ROOT/2 open/JJ/acomp/2",
    "the/DT/det/1 keys/NNS/nsubj/5 of/IN/prep/1 the/DT/det/4 door/NN/pobj/2 are/VBP/ROOT/5",
    "files/NNS/nsubj/5 in/IN/prep/0 folders/NNS/pobj/1 of/IN/prep/2 users/NNS/pobj/3 "
    "open/VBP/ROOT/5",
    # The verb is the auxiliary of the word that has the subject; the object is no attractor.
    "the/DT/det/1 page/NN/nsubjpass/5 with/IN/prep/1 icons/NNS/pobj/2 is/VBZ/auxpass/5 "
    "shown/VBN/ROOT/5 to/IN/prep/5 users/NNS/pobj/6",
    # Two subjects, a pronoun, a subject that follows, tags that do not agree, side by side, past.
    "it/PRP/nsubj/1 is/VBZ/ROOT/1",
    "here/RB/advmod/1 is/VBZ/ROOT/1 the/DT/det/3 file/NN/nsubj/1",
    "file/NN/nsubj/1 are/VBP/ROOT/1",
    "files/NNS/nsubj/3 and/CC/cc/0 page/NN/conj/0 are/VBP/ROOT/3",
    "the/DT/det/1 file/NN/nsubj/2 was/VBD/ROOT/2",
    # No form of the other number is known.
    "the/DT/det/1 file/NN/nsubj/2 rotates/VBZ/ROOT/2",
]
KNOWN = {"is", "are", "open", "opens", "rotates", "us", "use", "uses"}


def parsed(lines):
    words = [
        (sentence, place, *word.split("/"))
        for sentence, line in enumerate(lines)
        for place, word in enumerate(line.split())
    ]
    return pd.DataFrame(words, columns=NEEDED).astype({"head": int})


def test_items_by_hand():
    found = items(parsed(PARSED), KNOWN)
    assert found.to_dict("records") == [
        {"sentence": sentence, "word": word, "plural": plural, "attractors": attractors}
        | {"right": right, "wrong": wrong, "verb": right if plural else wrong}
        for sentence, word, plural, attractors, right, wrong in [
            (0, 2, False, 0, "is", "are"),
            (1, 5, True, 1, "are", "is"),
            (2, 5, True, 0, "open", "opens"),
            (3, 4, False, 1, "is", "are"),
        ]
    ]


def test_attractors_are_nouns_of_the_other_number_between():
    line = "lists/NNS/x/1 file/NN/nsubj/5 folders/NNS/x/1 users/NNS/x/1 page/NN/x/1 is/VBZ/ROOT/5"
    assert items(parsed([line, line]), KNOWN)["attractors"].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        *(("are", "is"), ("have", "has"), ("do", "does"), ("try", "tries"), ("say", "says")),
        *(("pass", "passes"), ("fix", "fixes"), ("use", "uses"), ("go", "goes"), ("tie", "ties")),
        *(("match", "matches"), ("push", "pushes"), ("contain", "contains")),
    ],
)
def test_forms_of_one_verb(plural, singular):
    # Words from which a wrong rule would make the same form.
    known = {plural, singular, "i", "us", "ha", "contai"}
    assert other_form(plural, True, known) == singular
    assert other_form(singular, False, known) == plural
    for word in (plural, singular):
        assert other_form(word, word == plural, known - {word}) == ""
        assert other_form(word, word == plural, {word}) == ""


@pytest.mark.parametrize("form", ["Is", "'s", "s", "x2s"])
def test_what_is_no_plain_word_has_no_other_form(form):
    assert other_form(form, False, {form, form[:-1], "are", "'", ""}) == ""


TEXTS = [
    "the file is open .",
    "the keys are here .",
    "a file contains keys .",
    "files contain keys .",
]


def learned(texts, merges=60):
    return bpe.learn([texts], merges, True, "en")


def trained_on(texts, folder):
    """The tokenizer and the training text that a table reads, made from these texts."""
    (folder / "train.source").mkdir()
    tokenizer, file = learned(texts), folder / "tokenizer.source.json"
    encoded(tokenizer, texts, folder / "train.source")
    tokenizer.save(str(file))
    return tokenizer, {"word_tokenizer": file, "train": folder / "train.source"}


def encoded(tokenizer, texts, folder):
    encoding.encode(
        tokenizer, [texts], **{name: folder / f"{name}.npy" for name in ("ids", "words", "offsets")}
    )
    return TokenFile.load(folder)


@pytest.mark.parametrize("merges", [0, 3, 60])
def test_words_are_counted_however_many_sub_words_they_have(merges, tmp_path):
    texts = [*TEXTS, "files open .", "Files are files"]
    tokenizer = learned(texts, merges)
    text = encoded(tokenizer, texts, tmp_path)
    assert frequent_words(text, tokenizer, 4) == {".", "files"}
    assert frequent_words(text, tokenizer, 3) == {".", "files", "keys"}
    assert frequent_words(text, tokenizer, 2) >= {"the", "open", "file", "are"}
    assert "is" not in frequent_words(text, tokenizer, 2)
    assert frequent_words(text, tokenizer, 99) == set()


def test_another_form_moves_what_follows():
    text = ("a file is open", [(0, 1), (2, 6), (7, 9), (10, 14)])
    assert with_form(text, 2, "are") == ("a file are open", [(0, 1), (2, 6), (7, 10), (11, 15)])
    assert with_form(text, 2, "is") == text
    assert with_form(text, 3, "x") == ("a file is x", [(0, 1), (2, 6), (7, 9), (10, 11)])


def many(n=40, attractors=(0, 0, 0, 1)):
    """Items without texts, of four one with an attractor, of five four singular."""
    numbers = np.arange(n) % 5 == 0
    return pd.DataFrame(
        {
            "sentence": np.arange(n),
            "word": 2,
            "plural": numbers,
            "attractors": np.resize(attractors, n),
            "verb": np.where(np.arange(n) % 2, "are", "open"),
        }
    )


def test_as_many_are_drawn_of_each_number_with_and_without_attractors():
    found = many(400)
    some, fewer = (agreement.drawn(found, most, 1) for most in (30, 10))
    sizes = some.groupby(["plural", some["attractors"] > 0]).size()
    # Of 400: 240, 80, 60 and 20.
    assert sizes.tolist() == [30, 30, 30, 20]
    weights = some.groupby(["plural", some["attractors"] > 0])["weight"].sum()
    assert weights.tolist() == pytest.approx([240, 80, 60, 20])
    assert set(fewer.index) < set(some.index), "of the same, fewer are some of them"
    assert set(agreement.drawn(found, 30, 2).index) != set(some.index)
    assert agreement.drawn(found, 400, 1)["weight"].eq(1).all()


def said(found, blocks=None):
    """The rows of items, by attractors and number."""
    blocks = np.arange(1 + found["sentence"].max()) % 8 if blocks is None else blocks
    return pd.DataFrame(rows(found, blocks, 10)).set_index(["attractors", "number"])


@pytest.mark.parametrize("prefers_plural", [False, True])
def test_who_always_prefers_one_number_is_right_half_of_the_time(prefers_plural):
    found = many(400).assign(weight=1.0)
    found["is_right"] = (found["plural"] == prefers_plural).astype(float)
    value = said(found)
    for attractors in ("0", "1+", "all"):
        of = value.loc[attractors]
        assert of["accuracy"].to_dict() == {
            "singular": float(not prefers_plural),
            "plural": float(prefers_plural),
            "both": 0.5,
        }
        assert of["permuted"].tolist() == of["accuracy"].tolist()
    assert value["n"].unstack().loc["all"].to_dict() == {"singular": 320, "plural": 80, "both": 400}
    assert value["n_verbs"].unstack()["both"].to_dict() == {"0": 2, "1+": 1, "all": 2}


def test_accuracies_by_hand():
    """Of 40 singular ones 30 are right, of 10 plural ones 4 and a tie."""
    found = many(50, attractors=[0]).assign(weight=1.0, is_right=1.0)
    plural = found["plural"].to_numpy()
    right = np.ones(50)
    right[np.flatnonzero(~plural)[:10]] = 0
    right[np.flatnonzero(plural)[:6]] = [0, 0, 0, 0, 0, 0.5]
    value = said(found.assign(is_right=right))
    of = value.loc["0"]
    assert of["accuracy"].tolist() == pytest.approx([0.75, 0.45, 0.6])
    # Plural forms are preferred in 10 + 4.5 of 50.
    assert of["permuted"].tolist() == pytest.approx([0.71, 0.29, 0.5])
    assert (value.loc["all"]["accuracy"] == of["accuracy"]).all()
    assert value.loc["1+"]["accuracy"].isna().all() and (value.loc["1+"]["n"] == 0).all()
    assert ((of["ci_low"] < of["accuracy"]) & (of["accuracy"] < of["ci_high"])).all()
    # A mean of 40 and 10 tells less than one share of 50 would.
    widths = of["ci_high"] - of["ci_low"]
    assert widths["singular"] < widths["both"] < widths["plural"]


def test_weights_bring_back_the_shares_of_the_text():
    """Who is right but for attractors, of which the draw has more than the text."""
    found = many(400)
    found["is_right"] = (found["attractors"] == 0).astype(float)
    every = said(found.assign(weight=1.0))["accuracy"]
    some = said(agreement.drawn(found, 15, 1), np.arange(400) % 8)["accuracy"]
    assert every["all"].tolist() == pytest.approx([0.75] * 3)
    assert some["all"].tolist() == pytest.approx([0.75] * 3)


def test_intervals_leave_out_documents():
    found = many(40, attractors=[0]).assign(weight=1.0)
    found = found.assign(is_right=(np.arange(40) < 20) * 1.0, plural=np.arange(40) % 2 == 0)
    blocks = np.arange(40) // 10
    without = said(found, blocks).loc[("0", "both"), "without"]
    np.testing.assert_allclose(without, [1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_of_too_few_nothing_is_said():
    found = many(45, attractors=[0]).assign(weight=1.0, is_right=1.0)
    value = said(found)["accuracy"].loc["0"]
    assert value["singular"] == 1 and value[["plural", "both"]].isna().all()
    none = pd.DataFrame(rows(found[:0], np.zeros(1, dtype=int), 10))
    assert none["accuracy"].isna().all() and (none["n"] == 0).all() and len(none) == 9


def test_permuted_is_the_mean_over_all_permutations():
    found = many(7, attractors=[0]).assign(weight=1.0)
    found["plural"] = np.arange(7) < 3
    prefers = np.array([1, 0, 1, 1, 0, 0.5, 0])  # the plural form
    found["is_right"] = np.where(found["plural"], prefers, 1 - prefers)
    permuted = said(found)["permuted"].loc["all"]
    of_plural, of_singular = [], []
    for plural in combinations(range(7), 3):
        there = np.isin(np.arange(7), plural)
        of_plural.append(prefers[there].mean())
        of_singular.append(1 - prefers[~there].mean())
    expected = [np.mean(of_singular), np.mean(of_plural)]
    assert permuted.tolist() == pytest.approx([*expected, np.mean(expected)])
    assert permuted["both"] == pytest.approx(0.5)


SENTENCES = [
    "The file contains keys .",
    "Files contain keys .",
    "The file is open .",
    "Keys are here .",
]
ASKED = pd.DataFrame(
    {
        "sentence": [0, 1, 2, 3],
        "word": [2, 1, 2, 1],
        "plural": [False, True, False, True],
        "right": ["contains", "contain", "is", "are"],
        "wrong": ["contain", "contains", "are", "is"],
        "attractors": 0,
        "verb": ["contain", "contain", "are", "are"],
        "weight": 1.0,
    }
)


def fake(tokenizer, score, mode=NEXT, max_length=None):
    """A reader whose score is a function of the text of a sentence; and what it was asked."""
    asked = []

    def log_probabilities(text, questions):
        asked.extend(zip(map(text.sentence, range(len(text))), questions, strict=True))
        return np.array([score(tokenizer.decode(text.sentence(i))) for i in range(len(text))])

    return Reader(tokenizer, max_length, mode, log_probabilities), asked


def is_plural(text):
    return float("contain " in f"{text} " or "are" in text.split())


@pytest.mark.parametrize("score", agreement.SCORES)
def test_a_reader_that_prefers_plural_verbs(score):
    tokenizer = learned(TEXTS)
    texts = [*spans(SENTENCES, tokenizer)]
    found = answered(ASKED, texts, fake(tokenizer, is_plural)[0], score)
    assert found["is_right"].to_dict() == {
        i: float(plural) for i, plural in ASKED["plural"].items() if i in found.index
    }
    ties = answered(ASKED, texts, fake(tokenizer, lambda text: 1.0)[0], score)
    assert (ties["is_right"] == 0.5).all()


def test_verbs_of_several_sub_words():
    """With `contain` as a token, *contains* has one more: only whole sentences compare."""
    tokenizer = learned([*["contain"] * 9, "the file is open keys are here ."], 12)
    ids = {word: tokenizer.encode(word).ids[:-1] for word in ("contain", "contains")}
    assert len(ids["contains"]) == len(ids["contain"]) + 1
    texts = [*spans(SENTENCES, tokenizer)]
    reader, asked = fake(tokenizer, is_plural)
    answered(ASKED, texts, reader, "sentence")
    assert len(asked) == 8
    reader, asked = fake(tokenizer, is_plural, HIDDEN)
    kept = answered(ASKED, texts, reader, "verb").index
    assert not {0, 1} & {*kept}


def test_all_sub_words_of_a_verb_are_asked_for():
    tokenizer = learned([*TEXTS, "a dog contains b saws"], 0)
    two = ASKED[:1].assign(right="sees", wrong="saws")
    text = [*spans(["a dog contains b"], tokenizer)]
    reader, asked = fake(tokenizer, lambda text: float("sees" in text), HIDDEN)
    found = answered(two, text, reader, "verb")
    assert found["is_right"].tolist() == [1]
    for (ids, (hidden, places)), form in zip(asked, ("sees", "saws"), strict=True):
        assert "".join(map(tokenizer.id_to_token, ids[places[0]])) == form
        assert (hidden == places).all() and places.sum() == 4


def test_a_verb_beyond_what_is_read_is_left_out():
    tokenizer = learned(TEXTS, 60)
    texts = [*spans(SENTENCES, tokenizer)]
    places = [len(tokenizer.encode(text).ids) for text in ("the file is", "keys are")]
    reader, _ = fake(tokenizer, is_plural, max_length=min(places) - 1)
    assert not set(answered(ASKED, texts, reader, "sentence").index) & {2}


@pytest.mark.parametrize("longer", ["right", "wrong"])
def test_a_sentence_of_which_an_end_is_not_read_is_not_scored(longer):
    """A reader by the number of tokens: in the same room, the form of more would push out what
    costs more."""
    tokenizer = learned([*["contain"] * 9, "the file is open keys are here ."], 12)
    texts = [*spans(SENTENCES, tokenizer)]
    some = ASKED[:1] if longer == "right" else ASKED[1:2]
    lengths = [
        len(tokenizer.encode(f"{subject} {form} keys .").ids)
        for subject in ["The file" if longer == "right" else "Files"]
        for form in ("contains", "contain")
    ]
    assert lengths[0] == lengths[1] + 1
    for most, n in ((lengths[0], 1), (lengths[1], 0)):
        reader, _ = fake(tokenizer, len, max_length=most)
        assert len(answered(some, texts, reader, "sentence")) == n


def test_ngrams_know_neighbors_alone(tmp_path):
    """They have read that *file* stands before *is*, and *files* before *are*."""
    texts = ["the file is new .", "the files are new .", "all files are old ."] * 4
    tokenizer = learned(texts)
    train = encoded(tokenizer, texts, tmp_path)
    sentences = ["the files are old .", "the file is old .", "the files of the old file are new ."]
    some = pd.DataFrame(
        {"sentence": [0, 1, 2], "word": [2, 2, 6], "right": ["are", "is", "are"]}
    ).assign(wrong=["is", "are", "is"])
    reader, texts = of_ngrams(train, tokenizer), [*spans(sentences, tokenizer)]
    for score in agreement.SCORES:
        assert answered(some, texts, reader, score)["is_right"].tolist() == [1, 1, 0], score


def sentences_of_two_words(n):
    """Subjects with their verbs, one of three with an attractor, and the annotation."""
    rng, lines = np.random.default_rng(0), []
    for i in range(n):
        plural, other = i % 2 == 0, i % 3 == 0
        noun = rng.choice(["file", "page", "key"]) + "s" * plural
        verb = rng.choice(["open", "show", "contain"]) + "s" * (not plural)
        tag, form = ("NNS", "VBP") if plural else ("NN", "VBZ")
        between = "users/NNS" if not plural else "user/NN"
        middle = f"of/IN/prep/0 {between}/pobj/1 " if other else ""
        head = 3 if other else 1
        lines.append(
            f"{noun}/{tag}/nsubj/{head} {middle}{verb}/{form}/ROOT/{head} it/PRP/dobj/{head}"
        )
    texts = [" ".join(word.split("/")[0] for word in line.split()) for line in lines]
    return texts, parsed(lines)


@pytest.fixture
def text_files(tmp_path):
    texts, annotation = sentences_of_two_words(240)
    _, files = trained_on(texts, tmp_path)
    pd.DataFrame({"source": texts}).to_parquet(tmp_path / "test.parquet")
    annotation.to_parquet(tmp_path / "annotation.parquet")
    np.save(tmp_path / "blocks.npy", (np.arange(240) // 24).astype(np.int8))
    return files | {
        "pairs": tmp_path / "test.parquet",
        "annotation": tmp_path / "annotation.parquet",
        "blocks": tmp_path / "blocks.npy",
    }


OPTIONS = {"items": 30, "whole_items": 12, "seen": 5, "seed": 1}


@pytest.mark.parametrize("name", ["lm", "mlm", "untrained", "untrained_causal"])
def test_the_program(name, measure, text_files, tmp_path):
    tokenizer = text_files["word_tokenizer"]
    vocab = load_tokenizer(tokenizer).get_vocab_size()
    save(drawn(name, vocab=vocab), {"source": tokenizer}, tmp_path / "model")
    run = {"objective": name, "seed": 1}
    options = {"run": run | {"module": name, "options": {}}, **OPTIONS}
    table = tmp_path / "agreement.csv"
    measure("agreement", run, options, model=tmp_path / "model", table=table, **text_files)
    found = pd.read_csv(table)
    assert list(found) == ["objective", "seed", *(c for c in COLUMNS if c != "without")]
    assert len(found) == 2 * 2 * 3 * 3 and found["accuracy"].notna().all()
    both = found[found["number"] == "both"].set_index(["by", "score", "attractors"]).sort_index()
    # What is learned by heart is known without attractors; a model of noise knows nothing.
    assert (both.loc[("5-grams", "sentence"), "accuracy"] > 0.8).all()
    assert both.loc[("model", "verb", "all"), "accuracy"] < 0.8
    assert (both["permuted"] == 0.5).all()
    whole = both.loc[("model", "sentence", "0"), "n"]
    assert whole == (60 if name == "lm" or "causal" in name else 24)


@pytest.mark.long
@pytest.mark.parametrize("module", ["lm", "mlm", "lm_bidirectional", "mlm_causal"])
def test_a_model_is_asked_as_it_learned(module, measure, text_files, tmp_path):
    """It may see both sides and predict a token at the place before it, as in GPT-BERT, or predict
    hidden tokens from the left; each of these agrees. They are looked at as part of a mix."""
    tokenizer = load_tokenizer(text_files["word_tokenizer"])
    text = Text(TokenFile.load(text_files["train"]))
    model, objective = initial(module, vocab=tokenizer.get_vocab_size()), load(module, {})
    batch, rng = text.batch(np.arange(240)), np.random.default_rng(0)
    examples = [objective.example(*batch, tokenizer.get_vocab_size(), rng) for _ in range(40)]
    tiny.learned(model, *examples, steps=80)
    save(model, {"source": text_files["word_tokenizer"]}, tmp_path / "model")
    run, part = {"objective": "both", "seed": 1}, {"objective": module, "share": 1.0}
    options = {"run": run | {"module": "mix", "options": {"parts": [part]}}, **OPTIONS}
    table = tmp_path / "agreement.csv"
    measure("agreement", run, options, model=tmp_path / "model", table=table, **text_files)
    asked = pd.read_csv(table).query("by == 'model' and attractors == '0' and number == 'both'")
    assert (asked["accuracy"] > 0.9).all(), asked


def test_the_scores_of_the_program_are_the_models(measure, text_files, tmp_path):
    """Brute force: each sentence as it is, and with the other form, through the model alone."""
    tokenizer = load_tokenizer(text_files["word_tokenizer"])
    save(
        drawn("lm", vocab=tokenizer.get_vocab_size()),
        {"source": text_files["word_tokenizer"]},
        tmp_path / "model",
    )
    run = {"objective": "lm", "seed": 1}
    options = {"run": run | {"module": "lm", "options": {}}, **OPTIONS, "items": 1000}
    table = tmp_path / "agreement.csv"
    measure("agreement", run, options, model=tmp_path / "model", table=table, **text_files)
    found = pd.read_csv(table).query(
        "by == 'model' and score == 'sentence' and attractors == 'all'"
    )
    model = subjects.load(tmp_path / "model").model

    def log_probability(text):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            logits = model.head(model(ids))[0, :-1].log_softmax(-1)
        return logits[torch.arange(len(logits)), ids[0, 1:]].double().sum()

    right = {True: [], False: []}
    for text in pd.read_parquet(text_files["pairs"])["source"]:
        *before, verb, last = text.split()
        plural = not verb.endswith("s")
        other = f"{verb}s" if plural else verb[:-1]
        wrong = " ".join([*before, other, last])
        right[plural].append(float(log_probability(text) > log_probability(wrong)))
    expected = [np.mean(right[False]), np.mean(right[True])]
    by_number = found.set_index("number")["accuracy"]
    assert by_number[["singular", "plural"]].tolist() == pytest.approx(expected)
    assert by_number["both"] == pytest.approx(np.mean(expected))


FORMS = ["file", "page", "key", "open", "show", "contain", "user"]
WORDS = ["<pad>", "<mask>", "<unk>", "of", "it", *FORMS, *(f"{form}s" for form in FORMS), "x"]


@pytest.fixture
def of_family(measure, text_files, tmp_path):
    """The table of a checkpoint of a family that reads these words, and its folder."""

    def measured(name, **options):
        folder = families.save(
            (families.FAMILIES | {"bloom": families.HIDDEN})[name], tmp_path / "model"
        )
        tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, "<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        named = {"pad_token": "<pad>", "mask_token": "<mask>"}
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
        run = {"objective": name, "seed": 0}
        options = {"run": run | {"module": None, "options": {}}, **OPTIONS, **options}
        table = tmp_path / "agreement.csv"
        measure("agreement", run, options, model=folder, table=table, **text_files)
        return pd.read_csv(table), folder

    return measured


def preferred(score, texts):
    """The share of right forms by number, from a score of a sentence and the place of its verb."""
    right = {True: [], False: []}
    for text in texts:
        *before, verb, last = text.split()
        plural = not verb.endswith("s")
        forms = [verb, f"{verb}s" if plural else verb[:-1]]
        ids = [[WORDS.index(word) for word in (*before, form, last)] for form in forms]
        of_right, of_wrong = (score(torch.tensor([of]), len(before)) for of in ids)
        right[plural].append(float(of_right > of_wrong))
    return {"singular": np.mean(right[False]), "plural": np.mean(right[True])}


def test_a_checkpoint_with_masks(of_family, text_files):
    found, folder = of_family("bert", items=1000)
    model = BertForMaskedLM.from_pretrained(folder).eval()

    def score(ids, place):
        masked = ids.clone()
        masked[0, place] = WORDS.index("<mask>")
        with torch.no_grad():
            return model(masked).logits[0, place].log_softmax(0)[ids[0, place]]

    wanted = preferred(score, pd.read_parquet(text_files["pairs"])["source"])
    of_verb = found.query("by == 'model' and score == 'verb' and attractors == 'all'")
    assert of_verb.set_index("number")["accuracy"][[*wanted]].to_dict() == pytest.approx(wanted)
    assert found.query("by == '5-grams' and number == 'both'")["accuracy"].notna().all()


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_a_checkpoint_from_left_to_right(name, of_family, text_files):
    """Also of a family that does not hand out its attention."""
    found, folder = of_family(name, items=1000)
    model = AutoModelForCausalLM.from_pretrained(folder).eval()

    def score(ids, place):
        with torch.no_grad():
            logits = model(ids).logits[0, :-1].log_softmax(-1)
        return logits[torch.arange(len(logits)), ids[0, 1:]].double().sum()

    wanted = preferred(score, pd.read_parquet(text_files["pairs"])["source"])
    whole = found.query("by == 'model' and score == 'sentence' and attractors == 'all'")
    assert whole.set_index("number")["accuracy"][[*wanted]].to_dict() == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["electra", "marian"])
def test_a_checkpoint_that_predicts_nothing_of_what_it_reads_has_no_rows(name, of_family):
    found, _ = of_family(name)
    assert found.empty and list(found)[:3] == ["objective", "seed", "by"]


def test_a_model_that_is_no_transformer(measure, text_files, tmp_path):
    tokenizer = text_files["word_tokenizer"]
    vocab = load_tokenizer(tokenizer).get_vocab_size()
    save(drawn("lm", vocab=vocab, trunk="lstm"), {"source": tokenizer}, tmp_path / "model")
    run, table = {"objective": "lm", "seed": 1}, tmp_path / "agreement.csv"
    options = {"run": run | {"module": "lm", "options": {}}, **OPTIONS}
    measure("agreement", run, options, model=tmp_path / "model", table=table, **text_files)
    assert pd.read_csv(table)["accuracy"].notna().all()
