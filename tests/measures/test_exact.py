"""What is exact beside models that know the language, and representations that are beliefs."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from torch import nn

from bottomup import objectives
from bottomup.core.errors import UserError
from bottomup.corpus import bpe, drawn, encoding, sources
from bottomup.corpus.batches import Text
from bottomup.corpus.sources.hidden_markov import Options
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.measures import exact, hidden_markov
from bottomup.measures.hidden_markov import Channel
from bottomup.objectives import IGNORE
from bottomup.plan.config import load
from bottomup.plan.slices import Slices
from bottomup.tables.exact import of_known_text
from bottomup.training.run import save
from tests import tiny

OPTIONS = Options(
    states=3, words=6, recoded=2, concentration=0.3, shortest=3, longest=7, sentences=1000
)
TOKENS = np.array([9, 4, 8, 5, 7, 10])  # of each word; 6 and 11 are none
VOCAB = 12
BLOCKS = np.arange(1000) // 20 % 10
FORMS = drawn.forms(6).tolist()


def encode(word):
    return [TOKENS[FORMS.index(word)], EOS]


def text_of(options=OPTIONS):
    _, words, lengths = drawn.draw(options)
    recoding = options.language.recoding
    sides = [TOKENS[words], recoding[words] + N_SPECIAL]
    return Text(
        *(
            tiny.tokens_of([row[:n].tolist() for row, n in zip(side, lengths, strict=True)])
            for side in sides
        )
    )


@pytest.fixture(scope="module")
def held_out():
    return exact.sentences(OPTIONS, np.arange(1000), text_of(), BLOCKS, encode, VOCAB)


class Knowing(nn.Module):
    """A model that predicts what is most probable for who knows the language."""

    def __init__(self, of):
        super().__init__()
        self.of, self.config = of, SimpleNamespace(vocab_size=VOCAB)
        self.head = nn.Linear(VOCAB, VOCAB, bias=False)
        nn.init.eye_(self.head.weight)

    def probable(self, words, ends):
        """Words `[n, length, words]`, and the end of the sentence, as tokens."""
        found = np.full((*words.shape[:2], VOCAB), 1e-30)
        found[..., TOKENS] += words * (1 - ends[..., None])
        found[..., EOS] += ends
        return torch.tensor(found).log().float()


class KnowingLm(Knowing):
    def forward(self, ids, target):
        language, (fewest, most) = self.of.language, self.of.language.lengths
        read = self.of.numbers[ids.numpy()]
        left = hidden_markov.beliefs(language, np.pad(read, ((0, 0), (0, 1))), Channel()).left
        longer = most + 1 - np.maximum(np.arange(1, ids.shape[1] + 1), fewest)
        ends = np.where(np.arange(1, ids.shape[1] + 1) < fewest, 0, 1 / np.maximum(longer, 1))
        ends = np.broadcast_to(ends, read.shape)
        return self.probable(left[:, 1:] @ language.emission, ends)


class KnowingMlm(Knowing):
    def __init__(self, of, objective):
        super().__init__(of)
        self.channels = exact.channels(objective, VOCAB)

    def forward(self, ids, target):
        language, read = self.of.language, self.of.numbers[ids.numpy()]
        everywhere, where_chosen = self.channels
        around = hidden_markov.beliefs(language, read, everywhere).around
        words = [
            hidden_markov.word_posterior(
                language, around, np.full_like(read, word), read, where_chosen
            )
            for word in range(6)
        ]
        return self.probable(np.stack(words, axis=-1), np.zeros(read.shape))


def losses(of, model, name, **options):
    objective = objectives.load(name, options)
    rows = [*exact.losses(of, model, objective, seed=1)]
    return {row["estimator"]: row for row in rows}


def test_a_language_model_that_knows_the_language_has_the_least_loss(held_out):
    found = losses(held_out, KnowingLm(held_out), "lm")
    assert found["excess"]["nats"] == pytest.approx(0, abs=1e-6)
    assert found["model"]["n"] == held_out.lengths.sum()  # the end, and all words but the first
    assert 0.5 < found["exact"]["nats"] < np.log(7)


@pytest.mark.parametrize(
    "fates", [{}, {"mask": 1.0, "replace": 0.0}, {"mask": 0.2, "replace": 0.6}]
)
def test_a_masked_language_model_that_knows_the_language_has_the_least_loss(held_out, fates):
    objective = objectives.load("mlm", fates | {"choose": 0.3})
    found = losses(held_out, KnowingMlm(held_out, objective), "mlm", choose=0.3, **fates)
    assert found["excess"]["nats"] == pytest.approx(0, abs=1e-6)
    assert tiny.plausible(found["model"]["n"], held_out.lengths.sum(), 0.3)


def test_words_are_read_as_channels_say_anywhere_and_where_chosen():
    objective = objectives.load("mlm", {"choose": 0.4, "mask": 0.2, "replace": 0.5})
    ids = np.full((200, 500), 4)
    example = objective.example(ids, None, VOCAB, np.random.default_rng(0))
    chosen = example.labels != IGNORE
    everywhere, where_chosen = exact.channels(objective, VOCAB)
    for where, channel in ((chosen | True, everywhere), (chosen, where_chosen)):
        read = np.bincount(example.source[where], minlength=VOCAB)
        assert tiny.plausible(read[4], where.sum(), channel.same + channel.other)
        for other in range(5, VOCAB):
            assert tiny.plausible(read[other], where.sum(), channel.other)


def test_any_other_model_is_above_the_least_loss_and_one_that_reads_on_below(held_out, caplog):
    model = tiny.drawn("lm", vocab=VOCAB)
    found = losses(held_out, model, "lm")
    assert found["excess"]["ci_low"] > 0.1 and not caplog.text
    assert found["excess"]["nats"] == pytest.approx(found["model"]["nats"] - found["exact"]["nats"])

    class Reading(Knowing):
        def forward(self, ids, target):
            return 20 * nn.functional.one_hot(ids.roll(-1, 1), VOCAB).float()

    assert losses(held_out, Reading(held_out), "lm")["excess"]["ci_high"] < -0.5
    assert "below the least that is possible" in caplog.text


def test_a_translation_can_be_sure_of_all_and_other_losses_are_not_known(held_out):
    found = losses(held_out, tiny.drawn("mt", vocab=VOCAB), "mt")
    assert found["exact"]["nats"] == 0 and found["model"]["nats"] > 0.1
    assert losses(held_out, None, "untrained") == {}


def test_memory_holds_the_beliefs_of_a_batch_and_not_of_the_text():
    """One number for each place and state of this text is 6 MB, and passes need several."""
    many = OPTIONS.model_copy(update={"states": 100})
    of = exact.sentences(many, np.arange(1000), text_of(many), BLOCKS, encode, VOCAB)
    model = tiny.drawn("lm", vocab=VOCAB)
    tracemalloc.start()
    found = losses(of, model, "lm")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15e6
    least = hidden_markov.next_word_losses(of.language, of.words, of.lengths)
    assert found["exact"]["nats"] == pytest.approx(least.sum() / of.lengths.sum())


def table(at, n_clusters=20):
    rows = pd.DataFrame(exact.information(at, 10, n_clusters, seed=1))
    rows["of"] = rows["knows"].where(rows["estimator"] == "exact", rows["estimator"])
    return rows.set_index(["about", "of", "layer"]).sort_index()


def test_layers_that_are_words_or_beliefs_say_what_is_known(held_out):
    """One-hot words say what the word alone tells, and logarithms of beliefs what the left does."""
    subject = SimpleNamespace(causal=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "representations", lambda subject, ids, asked, *_: asked)
        at = exact.places(held_out, subject, None, 1, 0)
    asked, language, words = at.views, held_out.language, held_out.words
    read = np.where(np.arange(7) < held_out.lengths[:, None], words, hidden_markov.OTHER)
    left = hidden_markov.beliefs(language, read, Channel()).left
    belief = left * hidden_markov.likelihoods(language, read, Channel())
    belief = np.log(belief / belief.sum(2, keepdims=True) + 1e-9)
    layers = [np.eye(6)[words], np.pad(belief, ((0, 0), (0, 0), (0, 3)))]
    inside = asked[:, :5]  # the last column is of the end alone
    views = np.stack([layer[:, 1:-1][inside] for layer in layers]).astype(np.float32)
    rows = table(exact.Places(at.reading, views, at.blocks, at.values, at.known))
    nats = rows["nats"]

    def known(about, knows):
        [value] = nats[about, knows]
        return value

    close = {"abs": 0.05}
    for about in ("state", "next", "previous"):
        assert nats[about, "classifier", 0] == pytest.approx(known(about, "word"), **close)
        assert nats[about, "clusters", 0] == pytest.approx(known(about, "word"), **close)
        assert known(about, "word") < known(about, "left")
    for about in ("state", "next"):
        assert nats[about, "classifier", 1] == pytest.approx(known(about, "left"), **close)
    for about in ("word", "recoded", "previous"):
        entropy = rows.loc[(about, "left")]["entropy_nats"].iloc[0]
        assert known(about, "left") == pytest.approx(entropy, **close)
        assert nats[about, "classifier", 0] <= entropy + 0.05
    assert nats["word", "classifier", 0] == pytest.approx(known("word", "word"), **close)


@pytest.mark.parametrize("others", [0.02, -0.02])
def test_what_is_hardly_known_may_be_nothing(others):
    """In each of ten blocks half of the places gain as much as the others lose, but for a little:
    the interval holds 0, on which side of it the mean may be."""
    rng = np.random.default_rng(0)
    what, blocks = np.tile([0, 1], 100), np.repeat(np.arange(10), 20)
    gained = np.tile([0.3, others - 0.3], 100) + 0.1 * rng.standard_normal(10)[blocks]
    prior = np.array([0.5, 0.5])
    at = exact.Places(
        "plain",
        rng.normal(size=(1, 200, 3)),
        blocks,
        {"word": (what, prior)},
        {"left": {"word": prior[what] * np.exp(gained)}},
    )
    row = next(iter(exact.information(at, 10, 4, 1)))
    assert row["nats"] == pytest.approx(gained.mean()) and row["ci_low"] < 0 < row["ci_high"]


@pytest.mark.parametrize("n", [0, 3])
def test_of_places_in_one_block_nothing_is_said(n, caplog):
    """A classifier is fitted to one half of the blocks and tested on the other."""
    what, prior = np.zeros(n, dtype=int), np.array([0.5, 0.5])
    values, known = {"word": (what, prior)}, {"both": {"word": np.ones(n)}}
    at = exact.Places("as_trained", np.zeros((2, n, 3)), np.zeros(n, dtype=int), values, known)
    with caplog.at_level("INFO"):
        assert [*exact.information(at, 10, 4, 1)] == []
    assert f"as_trained: places: {n}, blocks of documents: {n > 0:d};" in caplog.text


def test_masked_places_are_those_of_the_words_hidden_there(held_out):
    model = tiny.drawn("mlm", vocab=VOCAB)
    subject = SimpleNamespace(model=model, vocab_size=VOCAB, causal=False)
    asked_for = {}

    def representations(subject, ids, asked, *_):
        asked_for.update(ids=ids, asked=asked)
        return np.zeros((1, asked.sum(), 2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "representations", representations)
        at = exact.places(held_out, subject, objectives.load("mlm", {}), 1, 0)
    ids, asked = asked_for["ids"], asked_for["asked"]
    rows, columns = asked.nonzero()
    assert (ids[rows, columns + 1] == 3).all() and tiny.plausible(
        len(rows), (held_out.lengths - 2).sum(), 0.12
    )
    word, _ = at.values["word"]
    assert (word == held_out.words[rows, columns + 1]).all()
    assert at.known.keys() == {"both"} and "recoded" not in at.known["both"]
    assert (at.blocks == BLOCKS[rows]).all()


def test_sentences_that_are_not_as_drawn():
    of = (text_of(), BLOCKS, encode, VOCAB)
    some = np.arange(0, 1000, 2)
    with pytest.raises(
        UserError, match=r"500 of 1000 .* were dropped or joined,.*packed_words null"
    ):
        exact.sentences(OPTIONS, some, of[0].select(some), BLOCKS[some], *of[2:])
    other = OPTIONS.model_copy(update={"seed": 2})
    with pytest.raises(UserError, match=r"exact: \d+ of 1000 held-out sentences have one token"):
        exact.sentences(other, np.arange(1000), *of)
    rare = FORMS[2]  # of which the training text may have none, so that it is cut
    cut = lambda word: [*encode(word), EOS] if word == rare else encode(word)  # noqa: E731
    whole = exact.sentences(OPTIONS, np.arange(1000), *of[:2], cut, VOCAB)
    inside = np.arange(7) < whole.lengths[:, None]
    assert 990 <= len(whole.words) < 1000 and not (whole.words[inside] == 2).any()


@pytest.fixture
def known_files(tmp_path):
    """A corpus from its source, in sub-words, and an initial MLM."""
    pairs = sources.fetch("hidden_markov", OPTIONS.model_dump(), tmp_path)[:400]
    pairs.to_parquet(tmp_path / "pairs.parquet")
    tokenizer = bpe.learn([pairs["source"].tolist()], 50, True, "en")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    text = tmp_path / "test.source"
    text.mkdir()
    parts = (text / f"{name}.npy" for name in ("ids", "words", "offsets"))
    encoding.encode(tokenizer, [pairs["source"].tolist()], *parts)
    model = tiny.drawn("mlm", vocab=tokenizer.get_vocab_size(), layers=1)
    save(model, {"source": tmp_path / "tokenizer.json"}, tmp_path / "model")
    np.save(tmp_path / "blocks.npy", (np.arange(400) // 20 % 10).astype(np.int8))
    named = {"model": tmp_path / "model", "text": text, "blocks": tmp_path / "blocks.npy"}
    return named | {"pairs": tmp_path / "pairs.parquet"}


def mlm_options(**fates):
    return {
        "run": {
            **{"objective": "mlm", "module": "mlm", "seed": 1},
            "options": {"choose": 0.4} | fates,
        },
        **{"choose": 0.15, "scored_by": 1, "sentences": 300, "n_clusters": 10, "seed": 1},
        "source": "hidden_markov",
        "language": OPTIONS.model_dump(mode="json"),
    }


@pytest.mark.on_a_gpu("measure exact")
def test_the_program(measure, known_files, tmp_path):
    run, options = {"objective": "mlm", "seed": 1}, mlm_options()
    measure("exact", run, options, **known_files, table=tmp_path / "mlm-1.csv", batch_tokens=200)
    rows = pd.read_csv(tmp_path / "mlm-1.csv")
    assert [*rows] == [
        *("objective", "seed", "quantity", "reading", "about", "estimator", "knows", "layer"),
        *("nats", "ci_low", "ci_high", "shuffled_nats", "entropy_nats", "n"),
    ]
    loss = rows[rows["quantity"] == "loss"].set_index("estimator")
    lengths = TokenFile.load(known_files["text"]).lengths - 1
    assert tiny.plausible(loss.loc["model", "n"], lengths.sum(), 0.15)
    assert loss.loc["excess", "nats"] > 0.1
    information = rows[rows["quantity"] == "information"]
    found = information.groupby("reading")["about"].unique().map(set)
    assert found["plain"] == {"state", "word", "recoded", "next", "previous"}
    assert found["as_trained"] == found["plain"] - {"recoded"}
    words = information[(information["about"] == "word") & (information["reading"] == "plain")]
    best = words.loc[words["knows"] == "both", "nats"].item()
    by_layer = words[words["estimator"] == "classifier"].sort_values("layer")["nats"]
    assert len(by_layer) == 2 and by_layer.iloc[0] == pytest.approx(best, abs=0.1)


def test_mlm_that_masks_nothing_has_no_masked_words(measure, known_files, tmp_path):
    run, options = {"objective": "mlm", "seed": 1}, mlm_options(mask=0.0, replace=1.0)
    measure("exact", run, options, **known_files, table=tmp_path / "mlm-1.csv", batch_tokens=200)
    rows = pd.read_csv(tmp_path / "mlm-1.csv")
    assert set(rows.loc[rows["quantity"] == "information", "reading"]) == {"plain"}
    assert rows.set_index("estimator").loc["excess", "nats"] > 0


def planned(*sources, **language):
    """The slices of the default study with text of these sources."""
    config = yaml.safe_load((tiny.ROOT / "config.yaml").read_text())
    config["corpus"] |= {"source": [*sources], "sources": {"hidden_markov": language}}
    return Slices(load(config))


def test_text_of_a_known_language_alone_has_the_table_and_it_hangs_on_that_language():
    slices = planned("hidden_markov")
    runs = of_known_text(slices.subjects)
    assert runs[:4] == ["lm-1", "lm-2", "lm-3", "mt-1"] and len(runs) == 15
    for sources_ in (["man_pages"], ["man_pages", "hidden_markov"]):
        assert of_known_text(planned(*sources_).subjects) == []
    run = SimpleNamespace(objective="mlm", seed="2")
    options = slices.measure("exact", run)["options"]
    assert options["choose"] == 0.15 and options["run"]["options"]["choose"] == 0.4
    assert options["language"] == Options().model_dump(mode="json")
    other = planned("hidden_markov", concentration=0.7).measure("exact", run)["options"]
    assert other["language"] == options["language"] | {"concentration": 0.7}
