"""Transfer: labels that are known, that nothing tells, and that only other words tell; nothing
moved; training from scratch."""

import numpy as np
import pandas as pd
import pytest
import torch

from bottomup import subjects
from bottomup.corpus.specials import EOS
from bottomup.corpus.tokens import NO_WORD
from bottomup.measures import structural_probe
from bottomup.measures import transfer as module
from bottomup.measures.null import Permutations
from bottomup.measures.similarity import debiased_cka, similarity
from bottomup.subjects.batches import states
from bottomup.subjects.runs import Run
from bottomup.subjects.words import stands_for_word
from bottomup.training.run import save
from tests import tiny
from tests.measures.test_structural_probe import annotated, of_a_run, to_the_left
from tests.subjects import families

COUNT = 6
SENTENCES = 150
HOW = {"rates": [1e-3], "passes": 10, "seed": 1, "batch_tokens": 300}


@pytest.fixture(autouse=True)
def few_examples_and_several_updates_in_a_pass(monkeypatch):
    monkeypatch.setattr(module, "BATCH_TOKENS", 200)
    monkeypatch.setattr(module, "NEEDED", 10)


def subject_of(model):
    return Run(model, None)


def text_of(seed=1):
    return tiny.random_tokens(SENTENCES, seed, low=5, high=8)


def words_in(text, **columns):
    """The words of a text, every token but </s>: two sentences in three to train, of these a fifth
    for development."""
    sentence = np.repeat(np.arange(len(text)), text.lengths)[text.words != NO_WORD]
    part = np.repeat([0, 1, 2], [80, 20, len(text) - 100])
    words = pd.DataFrame({"sentence": sentence, "part": part[sentence], "block": sentence % COUNT})
    return words.assign(input_id=text.ids[text.words != NO_WORD], **columns)


def measured(model, labels, of_sentences=False, text=None, others=40, **how):
    """By metric, weights and layer."""
    text = text or text_of()
    task = module.task_of("label", words_in(text, label=labels), of_sentences)
    other, how = tiny.random_tokens(40, 2).select(np.arange(others)), HOW | how
    how.setdefault("permutations", Permutations(31, 1))
    blocks = np.arange(others) % COUNT
    found = module.transfer(subject_of(model), text, [task], other, blocks, COUNT, **how)
    return pd.DataFrame(found).set_index(["metric", "weights", "layer"]).sort_index()


def test_a_label_that_is_the_token_is_found_by_all_layers_and_fine_tuned():
    found = measured(tiny.initial("mlm", d_model=32).eval(), words_in(text_of())["input_id"])
    accuracies = found.loc["accuracy"]
    assert accuracies.index.tolist() == [("fine_tuned", 2), *(("frozen", n) for n in range(3))]
    assert (accuracies["value"] > 0.97).all() and (accuracies["baseline"] < 0.15).all()
    assert (accuracies["n_labels"] == 16).all()


def test_labels_that_nothing_tells_are_guessed():
    words = words_in(text_of())
    labels = np.random.default_rng(0).permutation(np.arange(len(words)) % 10 < 7)
    found = measured(tiny.initial("lm").eval(), labels).loc["accuracy"]
    assert (found["baseline"] == labels[words["part"] == 2].mean()).all()
    assert (found["ci_low"] < found["baseline"]).all() and (found["value"] < 0.75).all()


def test_what_another_word_tells_is_learned_by_what_sees_it(monkeypatch):
    """The last word of a sentence decides about all. Whoever sees no later one has to guess."""
    monkeypatch.setattr(module, "PATIENCE", 20)
    text = text_of()
    text.ids[text.ids < 7] = 7
    text.ids[text.offsets[1:] - 1] = EOS
    text.ids[text.offsets[1:] - 2] = 5 + np.arange(SENTENCES) % 2
    labels = words_in(text)["sentence"] % 2
    both, left = (
        measured(tiny.initial(name).eval(), labels, text=text, rates=[1e-2], passes=20)
        for name in ("mlm", "lm")
    )
    both, left = (found.loc["accuracy", "value"] for found in (both, left))
    assert both["fine_tuned", 2] > 0.95 and both["frozen", 0] < 0.7
    assert left.max() < 0.7


def test_a_sentence_is_told_by_the_mean_of_its_words():
    labels = words_in(text_of())["sentence"] % 2
    text = text_of()
    text.ids[text.words == 2] = 5 + np.arange(SENTENCES) % 2
    found = measured(tiny.initial("mlm").eval(), labels, True, text, passes=30).loc["accuracy"]
    assert (found["value"] > 0.75).all() and (found["n"] == 50).all()
    assert (found["baseline"] == 0.5).all()


def test_at_rate_0_nothing_moves_and_the_top_layer_is_read_as_it_is():
    labels = words_in(text_of())["input_id"] % 3
    found = measured(tiny.drawn("mt"), labels, rates=[0.0])
    frozen, tuned = (found.loc["accuracy", weights, 2] for weights in ("frozen", "fine_tuned"))
    same = ["value", "ci_low", "ci_high", "baseline", "passes", "n"]
    assert tuned[same].tolist() == frozen[same].tolist()
    moved = found.loc["cka_debiased"]
    np.testing.assert_allclose(moved["value"], 1, atol=1e-9)
    assert (moved["null"].abs() < 0.1).all() and (moved["p_layers"] == 1 / 32).all()
    assert (moved["n"] == (tiny.random_tokens(40, 2).words != NO_WORD).sum()).all()


def test_fine_tuning_moves_layers_and_the_subject_is_left_as_it_was():
    model = tiny.drawn("mlm")
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = measured(model, words_in(text_of())["input_id"] % 3, rates=[1e-2])
    assert tiny.same_bytes(before, model.state_dict())
    moved = found.loc["cka_debiased", "value"].to_numpy()
    assert (moved[1:] < 0.99).all() and moved[2] < moved[0]
    assert found.loc[("accuracy", "fine_tuned", 2), "rate"] == 1e-2


def test_what_no_training_changes_is_not_fine_tuned(tmp_path, monkeypatch):
    """Sinusoidal positions, which a loaded model has among its weights."""
    subject = subjects.load(families.save(families.FAMILIES["marian"], tmp_path))
    tuned, text = [], tiny.random_tokens(9, 1)
    text.ids[:] = 5 + text.ids % 5
    monkeypatch.setattr(module, "copies", tuned.extend)
    assert not [*module.transfer(subject, text, [], text, np.zeros(9), 1, permutations=None, **HOW)]
    names = {id(part): name for name, part in subject.encoder.named_parameters()}
    assert {*names} - {*map(id, tuned)} == {id(subject.encoder.embed_positions.weight)}


def test_weights_that_cannot_learn_have_no_value_and_do_not_move(monkeypatch):
    monkeypatch.setattr(Run, "learns", False)
    found = measured(tiny.drawn("lm"), words_in(text_of())["input_id"] % 3)["value"]
    assert [*found.index.get_level_values("metric").unique()] == ["accuracy"]
    assert (
        found["accuracy", "frozen"].notna().all() and found["accuracy", "fine_tuned"].isna().all()
    )


def test_without_other_sentences_how_far_layers_move_has_no_rows():
    labels = words_in(text_of())["input_id"] % 3
    found = measured(tiny.drawn("mlm"), labels, others=0, passes=1)
    assert {*found.index.get_level_values("metric")} == {"accuracy"}
    assert found["value"].notna().all()


def test_an_untrained_run_is_what_training_from_scratch_learns(tmp_path):
    """The rows of `untrained` are those of the network that a trained run of its seed was."""
    labels = words_in(text_of())["input_id"] % 3
    save(tiny.drawn("mlm", seed=4), {}, tmp_path / "trained")
    again = subjects.runs.folders.initial(tmp_path / "trained", 4).eval()
    untrained, twin, other = (
        measured(model, labels).drop(columns="without")
        for model in (tiny.initial("untrained", 4).eval(), again, tiny.drawn("mlm", seed=4))
    )
    pd.testing.assert_frame_equal(untrained, twin)
    assert not untrained.equals(other)


def parts_of(subject, labels, text):
    task = module.task_of("label", words_in(text, label=labels), False)
    return task, module.batches(subject, text, task)


def test_batches_hold_each_example_once_with_its_words_and_label():
    text, subject = text_of(), subject_of(tiny.drawn("lm"))
    words = words_in(text, label=words_in(text)["input_id"])
    task = module.task_of("label", words, False)
    for number, part in enumerate(module.batches(subject, text, task)):
        examples = torch.cat([batch.examples for batch in part]).numpy()
        assert sorted(examples) == np.flatnonzero(words["part"] == number).tolist()
        for batch in part:
            read = batch.ids[batch.ends].numpy()  # each token is a word
            assert (read == words["label"].to_numpy()[batch.examples[batch.places]]).all()
            assert (np.unique(words["label"])[batch.labels[batch.places]] == read).all()
    x, places = torch.tensor([[1.0, 2], [3, 4], [8, 8]]), torch.tensor([1, 1, 0])
    assert module.means(x, places, 2).tolist() == [[8, 8], [2, 3]]


def test_development_examples_choose_rate_and_pass():
    text, subject = text_of(), subject_of(tiny.drawn("mlm"))
    task, parts = parts_of(subject, words_in(text)["input_id"] % 2, text)
    weights = [*subject.encoder.parameters()]
    start = module.copies(weights)
    rows = states(subject, text, stands_for_word(text, False), 300)[-1]

    def top(batch):
        words = subject.differentiable_states(batch.ids, batch.lengths)[-1][batch.ends]
        return module.means(words, batch.places, len(batch.examples))

    def chosen(rates):
        module.restore(weights, start)
        return module.fitted(top, weights, rows, parts, task.n_labels, rates, 6, 1)

    alone = {rate: chosen([rate])[1] for rate in (0.0, 3e-3, 1.0)}
    assert alone[1.0].loss < 0.6932, "what learns nothing stays as it was, at log 2"
    best = min(alone.values(), key=lambda fit: fit.loss)
    assert best.rate == 3e-3
    for rates in ([0.0, 3e-3, 1.0], [1.0, 3e-3, 0.0]):
        classifier, fit = chosen(rates)
        assert (fit.rate, fit.passes, fit.loss) == (best.rate, best.passes, best.loss)
        logits = torch.cat([classifier(top(batch)) for batch in parts[1]])
        labels = torch.cat([batch.labels for batch in parts[1]])
        loss = torch.nn.functional.cross_entropy(logits, labels).item()
        assert loss == pytest.approx(fit.loss, abs=1e-6), "weights are those of that pass"


def test_few_examples_have_no_value_and_say_how_many(monkeypatch):
    monkeypatch.setattr(module, "NEEDED", 51)
    labels = words_in(text_of())["sentence"] % 2
    found = measured(tiny.drawn("lm"), labels, True)
    assert len(found) == 4 and found["value"].isna().all()
    assert (found["n"] == 50).all() and (found["n_needed"] == 51).all()


def test_debiased_cka_alone_is_that_of_all_measures():
    rng = np.random.default_rng(3)
    x, blocks = rng.normal(size=(60, 5)), np.arange(60) % 4
    y = x + rng.normal(size=(60, 5))
    row = debiased_cka(x, y, blocks, 4, Permutations(7, 1))
    expected = next(iter(similarity(x, y, blocks, permutations=Permutations(7, 1))))
    permuted, others = row.pop("permuted"), expected.pop("permuted")
    np.testing.assert_allclose(permuted.values, others.values)
    np.testing.assert_allclose(row.pop("without"), expected.pop("without"))
    assert row == pytest.approx(expected)


@pytest.fixture
def task_files(corpus_files, tmp_path, monkeypatch):
    """A run, and an annotation of the test split in which the last sub-word of a word decides about
    its tag and the source of its sentence about nothing."""
    monkeypatch.setattr(module, "NEEDED", 10)
    files, tokens, annotation = of_a_run(corpus_files, tmp_path, to_the_left)
    tags = np.where(tokens.ids[stands_for_word(tokens, False)] % 2 == 0, "VB", "NN")
    annotation.assign(text="w", tag=tags, relation="one").to_parquet(files["annotation"])
    pairs = pd.read_parquet(corpus_files.text("test"))
    pairs.assign(origin="help").to_parquet(tmp_path / "test.parquet")
    return files | {"pairs": tmp_path / "test.parquet"}


@pytest.mark.on_a_gpu("measure transfer")
def test_the_program_measures_a_run(measure, task_files, tmp_path):
    options = {"tasks": ["origin", "relation", "tag"], "sentences": 6, "rates": [1e-3]}
    measure(
        "transfer",
        {"objective": "lm", "seed": 1},
        options | {"passes": 40, "seed": 1},
        {"null": {"permutations": 15, "seed": 1}},
        **task_files,
        table=tmp_path / "lm-1.csv",
        batch_tokens=40,
    )
    table = pd.read_csv(tmp_path / "lm-1.csv")
    assert list(table) == [
        *("objective", "seed", "layer", "task", "weights", "metric", "value", "ci_low", "ci_high"),
        *("baseline", "rate", "passes", "n", "n_labels", "n_needed"),
        *("null", "calibrated", "p", "p_layers"),
    ]
    assert {*table["task"]} == {"tag"}, "of the others all have one label"
    assert table["metric"].tolist() == ["accuracy"] * 4 + ["cka_debiased"] * 3
    assert table["value"].iloc[0] > 0.8


def test_sentences_for_cka_are_others_of_the_documents_that_test(
    measure, task_files, tmp_path, monkeypatch
):
    seen = {}

    def looks(subject, text, tasks, other, blocks, count, **how):
        seen.update(text=text, other=other, blocks=blocks, task=tasks[0])
        return [{"value": 1.0, "without": [1.0]}]

    monkeypatch.setattr(module, "transfer", looks)
    options = {"tasks": ["tag"], "sentences": 6, "rates": [1e-3], "passes": 1, "seed": 1}
    run = {"objective": "lm", "seed": 1}
    measure("transfer", run, options, **task_files, table=tmp_path / "lm-1.csv")
    text, other = (
        {bytes(of.sentence(number)) for number in range(len(of))}
        for of in (seen["text"], seen["other"])
    )
    assert len(other) == 6 and not text & other
    task = seen["task"]
    assert {*seen["blocks"]} <= {*range(6)} - {*task.blocks[task.parts < 2]}


def test_a_model_that_does_not_read_a_sentence_shares_the_draws_of_all(
    measure, task_files, tmp_path, monkeypatch
):
    """Which sentences are for development, and which ones tell how far layers move."""
    tasks, others = [], []

    def looks(subject, text, of, other, blocks, count, **how):
        tasks.append(of[0])
        others.append(other.ids.tolist())
        return [{"value": 1.0, "without": [1.0]}]

    monkeypatch.setattr(module, "transfer", looks)
    every = structural_probe.read_whole
    options = {"tasks": ["tag"], "sentences": 8, "rates": [1e-3], "passes": 1, "seed": 1}
    for lacking in ([], [0, 1, 2, -1]):

        def whole(*of, lacking=lacking):
            read = every(*of)
            read[lacking] = False
            return read

        monkeypatch.setattr(structural_probe, "read_whole", whole)
        run, table = {"objective": "lm", "seed": 1}, tmp_path / f"{len(lacking)}.csv"
        measure("transfer", run, options, **task_files, table=table)
    assert others[0] and others[0] == others[1]
    of_all, of_less = (np.bincount(task.parts) for task in tasks)
    assert of_less[0] < of_all[0] and of_less[2] < of_all[2]
    assert of_less[1] == of_all[1], "words of the sentences for development"


@pytest.mark.parametrize(("sentences", "others"), [(5, True), (12, False)])
def test_a_checkpoint_is_fine_tuned_on_its_own_tokens(sentences, others, measure, tmp_path):
    """Also where the task takes all sentences, and none is left that is not the task's."""
    texts = ["w3 w4 w5 w6 w7", "w6 w7 w8 w9 w3 w4", "w8 w9 w3 w4 w5 w6"] * 4
    tiny.written(tmp_path, texts, origin=["help", "man"] * 6)
    words = [text.split() for text in texts]
    annotation = annotated([np.maximum(np.arange(len(of)) - 1, 0) for of in words])
    tags = np.concatenate(words)
    annotation.assign(text=tags, tag=tags).to_parquet(tmp_path / "annotation.parquet")
    np.save(tmp_path / "blocks.npy", (np.arange(12) % 4).astype(np.int8))
    measure(
        "transfer",
        {"objective": "bert", "seed": 0},
        {"tasks": ["tag"], "sentences": sentences, "rates": [1e-3], "passes": 3, "seed": 1},
        model=families.save(families.FAMILIES["bert"], tmp_path / "model"),
        text=tmp_path / "test.parquet",
        annotation=tmp_path / "annotation.parquet",
        blocks=tmp_path / "blocks.npy",
        pairs=tmp_path / "test.parquet",
        written=[tmp_path / "test.parquet", tmp_path / "words.json"],
        table=tmp_path / "table.csv",
    )
    table = pd.read_csv(tmp_path / "table.csv")
    assert table.query("weights == 'frozen'")["layer"].tolist() == [*range(families.LAYERS + 1)]
    moved = table[table["metric"] == "cka_debiased"]
    assert (moved["value"] < 1).any() == others and moved["value"].notna().all()
