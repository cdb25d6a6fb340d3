"""What each layer would predict: models of which the answer is known, and values by hand."""

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import objectives, subjects
from bottomup.core.errors import UserError
from bottomup.corpus.batches import Text
from bottomup.corpus.bpe import learn
from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.corpus.tokens import TokenFile
from bottomup.heads.attention import START
from bottomup.measures.lens import (
    COPIES,
    NO_TOKEN,
    Map,
    Predicted,
    beliefs,
    fitted,
    known_of_tokens,
    least_squares,
    lens,
    predicted,
    some_examples,
    states,
    tuned,
    turned,
)
from bottomup.measures.quality import predictions
from bottomup.objectives import IGNORE
from bottomup.tables import too_few
from bottomup.tables.beliefs import written
from bottomup.tables.lens import COLUMNS
from bottomup.views.moments import Moments
from tests.tiny import VOCAB, drawn, random_text

OBJECTIVES = ["lm", "mlm", "mt"]
# By row, places in the text, which is five sentences of two tokens and </s>.
BLOCKS = np.array([0, 0, 1, 1, 1])


def moments_of(x, y):
    moments = Moments(x.shape[1], y.shape[1])
    moments.update(x, y)
    return moments


def test_the_map_of_least_squares_finds_an_affine_map():
    generator = np.random.default_rng(0)
    x = 3 + generator.normal(size=(50, 4))
    weight, bias = generator.normal(size=(4, 4)), np.array([1.0, -2.0, 0.5, 9.0])
    found = least_squares(moments_of(x, x @ weight + bias))
    np.testing.assert_allclose(found.weight, weight, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.bias, bias, rtol=1e-5)


def test_the_map_leaves_alone_a_direction_along_which_nothing_varies():
    """As the sum of the neurons after a norm: the map is as good, and of least norm between neurons
    of unit variance."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(50, 4))
    x -= x.mean(axis=1, keepdims=True)
    y = x @ generator.normal(size=(4, 4))
    found = least_squares(moments_of(x, y))
    np.testing.assert_allclose(x @ found.weight.numpy() + found.bias.numpy(), y, atol=1e-5)
    np.testing.assert_allclose(x.var(axis=0) @ found.weight.numpy(), 0, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e4])
def test_the_unit_of_a_neuron_does_not_matter_to_a_map(unit):
    """Neither where a neuron of 3,000 times the others' deviation stands beside it."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(500, 6)) * [1, 1, 1, 1, 1, 3000]
    x[:, 4] = x[:, 0] - x[:, 1]
    y = x[:, :4] @ generator.normal(size=(4, 2)) + generator.normal(size=(500, 2))
    expected = x @ np.linalg.lstsq(np.c_[x[:, :5], x[:, 5:], np.ones(500)], y)[0][:6]
    units = np.array([1, unit, 1, 1, 1, 1])
    found = least_squares(moments_of(x * units, y))
    predicted = (x * units) @ found.weight.double().numpy()
    np.testing.assert_allclose(predicted, expected, atol=1e-4)
    same = least_squares(moments_of(x, y)).weight.numpy()
    np.testing.assert_allclose(found.weight.numpy() * units[:, None], same, rtol=1e-4, atol=1e-9)


def test_the_map_is_the_mean_where_a_layer_tells_nothing():
    x, y = np.ones((6, 2)), np.array([[1.0, 5.0], [3.0, 7.0]] * 3)
    found = least_squares(moments_of(x, y))
    assert found.weight.tolist() == [[0, 0], [0, 0]] and found.bias.tolist() == [2, 6]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_top_is_what_the_output_layer_reads(name):
    model, text = drawn(name), random_text(6, translated=name == "mt")
    example = objectives.load(name, {}).example(
        *text.batch(np.arange(6)), VOCAB, np.random.default_rng(0)
    )
    found = states(model, example)
    target = None if example.target is None else torch.from_numpy(example.target)
    with torch.no_grad():
        expected = model(torch.from_numpy(example.source), target)[example.labels != IGNORE]
    assert found.shape == (3, example.predicted, 16)
    torch.testing.assert_close(found[-1], expected)


@pytest.mark.parametrize("most", [None, 1000, 120, 60])
def test_of_many_predictions_some_are_drawn(most):
    model, objective, text = drawn("lm"), objectives.load("lm", {}), random_text(20, low=6, high=6)
    every, some, other = (
        np.concatenate([example.labels.ravel() for _, example in some_examples(*given)])
        for given in (
            (model, objective, text, 1),
            (model, objective, text, 1, most),
            (model, objective, text, 2, most),
        )
    )
    there, kept = every != IGNORE, some != IGNORE
    assert there.sum() == 120 and kept.sum() == min(most or 120, 120)
    assert (some[kept] == every[kept]).all()
    if most == 60:
        assert ((other != IGNORE) != kept).any(), "the seed draws them"
        # Of 20 sentences of six predictions each; all places and sentences have their share.
        assert (kept.reshape(20, -1).sum(axis=0)[:6] > 3).all()


def stopped(name, layer):
    """A model whose layers above `layer`, counted from 1, add nothing."""
    model = drawn(name)
    for block in (model.decoder if name == "mt" else model.encoder).layers[layer:]:
        outputs = [block.attention.out, block.feed_forward.outer]
        for part in outputs + ([block.cross.out] if name == "mt" else []):
            for parameter in part.parameters():
                torch.nn.init.zeros_(parameter)
    return model


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_where_the_layers_above_add_nothing_the_loss_is_that_of_the_top(name, layer):
    model, objective = stopped(name, layer), objectives.load(name, {})
    dev, test = (random_text(200, seed, name == "mt") for seed in (1, 2))
    found = predicted(model, objective, test, 1, fitted(model, objective, dev, 1))
    for losses in found.losses.values():
        same = np.isclose(losses, losses[-1], rtol=1e-3, atol=1e-3).mean(axis=1)
        assert (same[layer:] > 0.99).all() and (same[:layer] < 0.9).all()
    changes = turned(found.words["tuned"]).mean(axis=1)
    assert (changes[layer:] < 0.01).all() and (changes[:layer] > 0.05).all()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_of_the_top_is_that_of_quality(name):
    model, objective = drawn(name), objectives.load(name, {})
    text = random_text(60, 3, name == "mt")
    found = predicted(model, objective, text, 7, fitted(model, objective, text, 7))
    expected = predictions(model, objective, text, 2048, 7)
    for losses in found.losses.values():
        summed = np.bincount(found.sentence, losses[-1], minlength=60)
        np.testing.assert_allclose(summed, expected["loss_nats"], rtol=1e-4, atol=1e-5)


def test_nothing_can_be_read_of_tokens_that_are_random():
    """Next tokens are drawn uniformly, so no layer beats their entropy on text that it has not
    seen, whatever the maps learned on the other."""
    model, objective = drawn("lm"), objectives.load("lm", {})
    limits = {"low": 20, "high": 20}
    dev, test = random_text(30, 1, **limits), random_text(400, 2, **limits)
    found = predicted(model, objective, test, 1, fitted(model, objective, dev, 1))
    tokens = found.token != EOS
    for losses in found.losses.values():
        assert (losses[:, tokens].mean(axis=1) > np.log(VOCAB - N_SPECIAL)).all()


def test_the_tuned_lens_reads_what_is_turned_and_the_logit_lens_does_not():
    """A last layer that turns the sign of all that it reads, as a model may."""
    model, objective = stopped("lm", 1), objectives.load("lm", {})
    text = random_text(300, 1)
    usual = predicted(model, objective, text, 1, fitted(model, objective, text, 1))
    layer = model.encoder.layers[1]
    model.encoder.layers[1] = Turned(layer)
    found = predicted(model, objective, text, 1, fitted(model, objective, text, 1))
    for losses in (found.losses["tuned"][1], found.losses["tuned"][2]):
        np.testing.assert_allclose(losses, found.losses["logit"][2], rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(found.losses["logit"][1], usual.losses["logit"][1], rtol=1e-4)
    assert not np.allclose(found.losses["logit"][1], found.losses["logit"][2], atol=0.5)


class Turned(torch.nn.Module):
    """A layer that turns the sign."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, *arguments, **named):
        return -x, None


@pytest.mark.parametrize("name", ["lm", "mlm"])
def test_predicted_tokens_know_their_place_in_the_text(name):
    model, objective, text = drawn(name), objectives.load(name, {}), random_text(40, 5)
    found = predicted(model, objective, text, 1, fitted(model, objective, text, 1))
    np.testing.assert_array_equal(text.source.ids[found.place], found.token)
    starts = text.source.offsets[found.sentence]
    assert (
        (starts <= found.place) & (found.place < starts + text.source.lengths[found.sentence])
    ).all()
    assert (found.place > starts).all() == (name == "lm"), "LM predicts no first token"


def test_a_translation_stands_nowhere_in_the_source():
    model, objective = drawn("mt"), objectives.load("mt", {})
    text = random_text(40, 5, translated=True)
    maps = fitted(model, objective, text, 1)
    assert predicted(model, objective, text, 1, maps).place is None


WORDS = [[7, 7, 8, 8], [7, 9, 8, 9], [7, 9, 7, 8]]  # the most probable ones at layers 0 to 2


def found_by_hand(place=(0, 3, 6, 7)):
    """Two layers and four predictions, of sentences 0, 1, 2, 2."""
    losses = np.array([[4.0, 2.0, 6.0, 0.0], [1.0, 1.0, 2.0, 4.0], [0.0, 0.0, 1.0, 3.0]])
    return Predicted(
        np.array([0, 1, 2, 2]),
        np.array([7, 9, 7, 8]),
        None if place is None else np.array(place),
        {"tuned": losses, "logit": 2 * losses},
        {"tuned": np.array(WORDS), "logit": np.array(WORDS[:1] * 3)},
    )


def maps_of(n):
    """Of two neurons, fitted on `n` rows."""
    return [Map(torch.eye(2), torch.zeros(2), n)] * 3


def rows_by_hand(known=None, **keys):
    found = pd.DataFrame(lens(found_by_hand(**keys), maps_of(20), BLOCKS, known))
    names = ["lens", "measure", "grouping", "group", "layer"]
    found = found.set_index(names).sort_index()
    return found["value"], found["n"]


def test_rows_by_hand():
    value, n = rows_by_hand()
    of = lambda lens, measure: value[lens, measure, "all", "all"].tolist()  # noqa: E731
    assert of("tuned", "loss_nats") == [3, 2, 1] and of("logit", "loss_nats") == [6, 4, 2]
    # From layer 0 to 1 the second and the fourth turn, from 1 to 2 the third and the fourth.
    assert of("tuned", "turned") == [0.5, 0.5] and of("logit", "turned") == [0, 0]
    assert of("tuned", "turns") == [1] and of("logit", "turns") == [0]
    assert (n == 4).all() and list(value["tuned", "turned", "all", "all"].index) == [1, 2]


def test_maps_of_too_few_rows_give_no_value():
    rows = pd.DataFrame(lens(found_by_hand(), maps_of(19), BLOCKS, KNOWN))
    tuned = rows["lens"] == "tuned"
    assert rows.loc[tuned, ["value", "ci_low", "ci_high"]].isna().all(axis=None)
    assert set(rows[tuned]["n"]) == {19} and set(rows[tuned]["n_needed"]) == {20}
    assert rows.loc[~tuned, "value"].notna().all() and not too_few(rows[~tuned]).any()


def test_intervals_leave_out_blocks_of_documents():
    rows = pd.DataFrame(lens(found_by_hand(), maps_of(20), BLOCKS))
    [first] = rows.query("lens == 'tuned' and measure == 'loss_nats' and layer == 0")["without"]
    # Without the first block, sentence 2 alone; without the second, sentences 0 and 1.
    assert first.tolist() == [3, 3]
    [turns] = rows.query("lens == 'tuned' and measure == 'turns'")["without"]
    assert turns.tolist() == [1.5, 0.5]


KNOWN = pd.DataFrame(
    {
        "rank": np.repeat([1, 30, 1, 200, 5], 3),
        "tag": ["DT", "NN", None] * 5,
    }
)


def test_groups_are_those_of_the_tokens_to_predict():
    """At places 0, 3, 6 and 7 stand the ranks 1, 30, 1 and 1, and the tags DT, DT, DT and NN."""
    value, n = rows_by_hand(KNOWN)
    turns = value.xs("turns", level="measure").xs("tuned", level="lens").droplevel("layer")
    assert turns.to_dict() == {
        ("all", "all"): 1,
        ("frequency_rank", "1-10"): 1,  # none, one and two of them
        ("frequency_rank", "25-50"): 1,
        ("pos", "NN"): 2,
        ("pos", "DT"): pytest.approx(2 / 3),
    }
    assert value["tuned", "loss_nats", "pos", "DT"].tolist() == [
        4,
        pytest.approx(4 / 3),
        pytest.approx(1 / 3),
    ]
    assert n["tuned", "turned", "pos", "DT"].tolist() == [3, 3]
    assert set(value["logit"].index.get_level_values("group")) == {"all"}


def test_without_a_place_there_are_no_groups():
    value, _ = rows_by_hand(KNOWN, place=None)
    assert set(value.index.get_level_values("group")) == {"all"}


TOKENS = TokenFile(
    ids=np.array([4, 5, 6, EOS, 6, EOS], np.int32),
    words=np.array([0, 0, 1, -1, 0, -1], np.int32),
    offsets=np.array([0, 4, 6]),
)
FREQUENCIES = pd.DataFrame({"token_id": [6, 4, 5], "rank": [1, 2, 3]})


def test_what_is_known_of_a_token_is_its_rank_and_its_words_tag():
    annotation = pd.DataFrame({"sentence": [0, 0, 1], "word": [0, 1, 0], "tag": ["NN", "VB", "."]})
    known = known_of_tokens(TOKENS, FREQUENCIES, annotation)
    assert known["rank"].tolist() == [2, 3, 1, 4, 1, 4]
    assert known["tag"].fillna("").tolist() == ["NN", "NN", "VB", "", ".", ""]
    assert list(known_of_tokens(TOKENS, FREQUENCIES, None)) == ["rank"]
    with pytest.raises(UserError, match="has 3 words"):
        known_of_tokens(TOKENS, FREQUENCIES, annotation[:2])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_beliefs_about_a_sentence(name):
    """At the top they are the model's own predictions; below, the lens's."""
    model, objective = drawn(name), objectives.load(name, {})
    sentence, dev = (random_text(n, seed, name == "mt") for n, seed in ((1, 5), (50, 6)))
    maps = fitted(model, objective, dev, 1)
    found = pd.DataFrame(beliefs(model, objective, sentence, 1, maps))
    tokens = sentence.source if sentence.target is None else sentence.target
    top = found[found["layer"] == 2].set_index("place")
    assert len(found) == 3 * len(top)
    ahead = 1 if name == "lm" else 0
    assert top["right"].tolist() == tokens.ids[top.index + ahead].tolist()
    if name == "mt":
        assert top["read"].tolist() == [NO_TOKEN, *tokens.ids[:-1]]
    if name == "lm":
        assert top["read"].tolist() == tokens.ids[:-1].tolist()
    if name != "mlm":  # of which each place is read with others masked
        example = objective.example(*sentence.batch(np.arange(1)), VOCAB, None)
        read = states(model, example)
        for layer, of_layer in enumerate(tuned(read, maps)):
            probabilities = model.head(of_layer).softmax(dim=1).detach().numpy()
            rows = found[found["layer"] == layer]
            np.testing.assert_allclose(rows["probability"], probabilities.max(axis=1), rtol=1e-4)
            assert rows["believed"].tolist() == probabilities.argmax(axis=1).tolist()
            of_right = probabilities[np.arange(len(rows)), rows["right"]]
            np.testing.assert_allclose(rows["right_probability"], of_right, rtol=1e-4)


@pytest.mark.parametrize("name", ["mt", "prefix_lm", "span_corruption", "denoising"])
@pytest.mark.parametrize("seed", range(4))
def test_beliefs_of_a_decoder_are_about_one_text_that_it_writes(name, seed):
    """At each place but the first it reads what was right at the place before, up to </s>. The
    beginning of prefix LM's text is drawn anew each time that it reads a sentence."""
    model, objective = drawn(name), objectives.load(name, {})
    sentence, dev = (random_text(n, n, name == "mt", low=7, high=7) for n in (1, 50))
    found = pd.DataFrame(
        beliefs(model, objective, sentence, seed, fitted(model, objective, dev, 1))
    )
    top = found[found["layer"] == 2].sort_values("place")
    *before, last = top["right"]
    assert top["read"].tolist() == [NO_TOKEN, *before] and last == EOS and EOS not in before


def test_nearly_every_token_of_a_sentence_is_masked_once():
    model, objective = drawn("mlm"), objectives.load("mlm", {})
    maps = fitted(model, objective, random_text(50, 6), 1)
    sentence = random_text(1, 5, low=10, high=10)
    found = pd.DataFrame(beliefs(model, objective, sentence, 1, maps))
    assert found["place"].nunique() >= 8 and COPIES == 32
    top = found[found["layer"] == 2]
    assert (top["read"] != top["right"]).mean() > 0.5, "tokens are hidden where they are asked for"
    again = pd.DataFrame(beliefs(model, objective, sentence, 2, maps))
    assert not found.equals(again), "the seed masks"


@pytest.fixture
def read(corpus_files, tmp_path):
    """The files of both programs."""
    return {
        "model": tmp_path / "model",
        "dev": corpus_files.tokens / "dev.source",
        "text": corpus_files.tokens / "test.source",
    }


@pytest.fixture
def known(corpus_files):
    """What the lens reads besides."""
    return {"blocks": corpus_files.blocks("test"), "frequencies": corpus_files.frequencies}


@pytest.mark.on_a_gpu("measure lens")
@pytest.mark.parametrize("name", ["mlm", "mt"])
def test_the_program(name, measure, corpus_files, read, known, tmp_path):
    corpus_files.save(drawn, name, tmp_path / "model")
    run = {"objective": name, "seed": 1}
    choose = 0.8 if name == "mlm" else None
    settings = {"run": run | {"module": name, "options": {}}, "seed": 3, "choose": choose}
    measure("lens", run, settings, **read, **known, table=tmp_path / "lens.csv")
    table = pd.read_csv(tmp_path / "lens.csv")
    assert list(table) == ["objective", "seed", *(c for c in COLUMNS if c != "without")]
    assert set(table["grouping"]) == ({"all", "frequency_rank"} if name == "mlm" else {"all"})
    model, objective = subjects.load(tmp_path / "model").model, objectives.load(name, {})
    if choose:
        objective = objective.model_copy(update={"choose": choose})
    dev, test = (Text.load(corpus_files.tokens, s, objective.predicts) for s in ("dev", "test"))
    found = predicted(model, objective, test, 3, fitted(model, objective, dev, 3))
    loss = table.query("lens == 'tuned' and measure == 'loss_nats' and group == 'all'")
    np.testing.assert_allclose(loss["value"], found.losses["tuned"].mean(axis=1), rtol=1e-5)
    assert (loss["n"] == len(found.token)).all()
    assert (loss["value"].between(loss["ci_low"], loss["ci_high"])).all()


def test_the_programs_know_the_tokens_of_an_objectives_own(
    measure, corpus_files, read, known, tmp_path, marked
):
    """And those that are read: each prediction is of a token that its mark hides."""
    corpus_files.save(drawn, marked, tmp_path / "model")
    run = {"objective": marked, "seed": 1}
    settings = {"run": run | {"module": marked, "options": {}}, "seed": 3, "choose": 0.8}
    measure("lens", run, settings, **read, **known, table=tmp_path / "lens.csv")
    assert len(pd.read_csv(tmp_path / "lens.csv"))
    settings |= {"sentences": 2, "drawn_by": 1}
    pairs = corpus_files.text("test")
    measure("beliefs", run, settings, **read, pairs=pairs, table=tmp_path / "beliefs.parquet")
    tokens = set(pd.read_parquet(tmp_path / "beliefs.parquet")["read"])
    assert tokens == {f"<{corpus_files.vocab}>"}


def test_the_program_reads_the_text_without_token_dropout(
    measure, corpus_files, read, known, tmp_path
):
    """That of training, as a schedule may end with."""
    corpus_files.save(drawn, "lm", tmp_path / "model")
    run, found = {"objective": "lm", "seed": 1}, []
    for module, options in (("lm", {}), ("lm_noise", {"replace": 0.9})):
        settings = {"run": run | {"module": module, "options": options}, "seed": 3, "choose": None}
        measure("lens", run, settings, **read, **known, table=tmp_path / f"{module}.csv")
        found.append(pd.read_csv(tmp_path / f"{module}.csv"))
    pd.testing.assert_frame_equal(*found)


@pytest.mark.on_a_gpu("measure beliefs")
@pytest.mark.parametrize("name", ["lm", "mt"])
def test_the_program_of_beliefs(name, measure, corpus_files, read, tmp_path):
    corpus_files.save(drawn, name, tmp_path / "model")
    run = {"objective": name, "seed": 1}
    settings = {
        "run": run | {"module": name, "options": {}},
        **{"seed": 3, "choose": None, "sentences": 2, "drawn_by": 1},
    }
    files = read | {"pairs": corpus_files.text("test")}
    if name == "mt":
        files["target_tokenizer"] = corpus_files.tokenizer("target")
    measure("beliefs", run, settings, **files, table=tmp_path / "beliefs.parquet")
    table = pd.read_parquet(tmp_path / "beliefs.parquet")
    assert table["sentence"].nunique() == 2 and set(table["layer"]) == {0, 1, 2}
    text = pd.read_parquet(corpus_files.text("test"))
    side = "target" if name == "mt" else "source"
    for sentence, rows in table[table["layer"] == 0].groupby("sentence"):
        words = rows["right"].tolist()
        assert words[-1] == "</s>"
        first = rows["read"].iloc[0]
        written = "".join(words[:-1] if name == "mt" else [first, *words[:-1]])
        assert written.replace("▁", "") == text[side][sentence].lower().replace(" ", "")
        assert (first == START) == (name == "mt")


def test_tokens_that_differ_are_written_differently():
    """`l` that begins a word is no right prediction of `l` within one."""
    tokenizer = learn([["ill l l l"]], 1, True, "en")
    ids = [NO_TOKEN, *range(tokenizer.get_vocab_size() + 2)]  # two of an objective's own
    texts = [written(token, tokenizer) for token in ids]
    assert {"l", "▁l", "<start>", "</s>"} <= {*texts}
    assert len({*texts}) == len(texts)
