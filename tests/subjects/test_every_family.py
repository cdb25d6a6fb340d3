"""Each family that transformers has is read as transformers reads it, or refused at opening.

A sample by default; all of them with `pytest -m every_family` (see CONTRIBUTING.md).
"""

import json

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from torch.nn.functional import cross_entropy
from transformers import AutoModel

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.heads.checkpoints.predictor import CheckpointPredictor, objective_of
from bottomup.objectives import IGNORE, Example
from bottomup.subjects.batches import batches
from bottomup.subjects.words import encode
from bottomup.views.extraction import extract
from tests.subjects import every_family
from tests.subjects.every_family import FAMILIES

PADDING = {"named": ("pad", "mask"), "none": ()}
# The last one is longer than every selection of keys.
SENTENCES = ["w5 w6 w7 w8 w9", "w10 w3", "w11 w12 w6 w7 w3 w5 w8 w12 w10 w4 w9 w11"]
# What a researcher would open: each is compared, and never refused or left out.
KNOWN = [
    *("albert", "bart", "bert", "big_bird", "bloom", "camembert", "cohere", "data2vec-text"),
    *("deberta", "deberta-v2", "distilbert", "electra", "ernie", "esm", "eurobert", "falcon"),
    *("gemma", "gemma2", "gemma3", "gemma3_text", "glm", "glm4", "gpt2", "gpt_bigcode"),
    *("gpt_neo", "gpt_neox", "gptj", "granite", "led", "llama", "longt5", "m2m_100", "mamba"),
    *("marian", "mbart", "mistral", "mixtral", "modernbert"),
    *("modernbert-decoder", "mpnet", "mt5", "nllb-moe", "olmo", "olmo2", "olmo3", "olmoe"),
    *("opt", "pegasus", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_5_moe_text"),
    *("qwen3_moe", "rembert", "roberta", "roberta-prelayernorm", "roformer", "smollm3"),
    *("stablelm", "starcoder2", "switch_transformers", "t5", "umt5", "xglm", "xlm"),
    *("xlm-roberta", "xlm-roberta-xl"),
]
QUICK = [
    "bloom",
    "fnet",
    "gemma3",
    "git",
    "modernbert",
    "modernbert-decoder",
    "neomme",
    "olmoe",
    "qwen2",
]
EVERY = [
    pytest.param(family, marks=[] if family in QUICK else [pytest.mark.every_family])
    for family in FAMILIES
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a tiny checkpoint of a family; the test is skipped if none can be made tiny."""
    folders = {}

    def saved(family, padding):
        if (family, padding) not in folders:
            folder = tmp_path_factory.mktemp("family")
            made = every_family.save(family, folder, PADDING[padding])
            folders[family, padding] = folder if made else None
        if folders[family, padding] is None:
            assert family not in KNOWN
            pytest.skip(f"not made tiny: {family}")
        return folders[family, padding]

    return saved


def opened(family, folder):
    """The subject; the test is skipped if it is refused, in one line that names the family."""
    try:
        return subjects.load(folder)
    except UserError as error:
        assert family not in KNOWN, error
        assert "\n" not in str(error)
        assert json.loads((folder / "config.json").read_text())["model_type"] in str(error)
        pytest.skip(f"refused: {error}")


@pytest.mark.parametrize("padding", PADDING)
@pytest.mark.parametrize("family", EVERY)
def test_is_read_as_transformers_reads_it(family, padding, saved, tmp_path):
    folder = saved(family, padding)
    subject = opened(family, folder)
    usual = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    words = encode(subject.tokenizer, SENTENCES, [[]] * len(SENTENCES), subject.max_length)
    kept = {"output_hidden_states": True, "output_attentions": bool(subject.heads)}
    alone = [
        every_family.read(usual, [words.tokens.sentence(i).tolist()], **kept)
        for i in range(len(SENTENCES))
    ]
    [batch] = batches(subject, words.tokens, 1000)
    states = subject.hidden_states(batch.ids, lengths=batch.lengths)
    assert len(states) == subject.layers + 1
    attentions = subject.attentions(batch.ids, lengths=batch.lengths) if subject.heads else ()
    for row, (sentence, length) in enumerate(zip(batch.sentences, batch.lengths, strict=True)):
        for found, expected in zip(states, alone[sentence].hidden_states, strict=True):
            near(found[row, :length], expected[0])
        if attentions:
            for found, expected in zip(attentions, alone[sentence].attentions, strict=True):
                near(found[row, :, :length, :length], expected[0])
            for found, seen in zip(attentions, subject.visible(length), strict=True):
                weighed = (found[row, :, :length, :length] > 0).any(dim=0)
                selects = subject._room is not None and length > subject._room
                assert torch.equal(weighed | seen if selects else weighed, seen)
    check_causal(subject, usual)
    check_hidden(subject)
    # Hardly anything is seen at first, or nothing yet, and that is something.
    assert subjects.untrained(folder, 1).causal == subject.causal
    rows = pd.DataFrame({"text": [0, 0, 1, 2], "position": [1, 4, 0, 2]})
    extract(subject, words.tokens, rows, tmp_path / "v.npy", "float32", 4)
    for view, layer in zip(np.load(tmp_path / "v.npy"), range(subject.layers + 1), strict=True):
        expected = [alone[s].hidden_states[layer][0, p] for s, p in rows.to_numpy()]
        near(torch.from_numpy(view), torch.stack(expected))


def near(found, expected):
    """Equal to rounding, relative to the size of what is compared."""
    assert found.shape == expected.shape
    assert (found - expected).norm() <= 1e-4 * expected.norm()


def check_causal(subject, usual):
    """By what another token at the end does to the first state."""
    ends = [every_family.read(usual, [[5, 6, 7, end]]).last_hidden_state[0, 0] for end in (8, 9)]
    assert subject.causal == ((ends[0] - ends[1]).norm() <= 1e-5 * ends[0].norm())


def check_hidden(subject):
    """Whatever stands at a hidden place changes no other, if tokens can be hidden at all."""
    if not subject.hides:
        return
    ids = torch.tensor([[other, *range(5, 5 + 3 * every_family.SELECTED)] for other in range(3, 9)])
    hidden = torch.arange(ids.shape[1]).expand(ids.shape) == 0
    one, *others = subject.hidden_states(ids, hidden=hidden)[-1][:, 1:]
    for other in others:
        near(other, one)


@pytest.mark.parametrize("family", EVERY)
def test_its_own_loss_is_that_of_transformers(family, saved):
    folder = saved(family, "named")
    subject = opened(family, folder)
    objective = objective_of(subject)
    if objective is None:
        assert family not in KNOWN or subject.translates
        pytest.skip(f"no objective of ours: {family}")
    predictor = CheckpointPredictor(folder, subject)
    assert bool(predictor.gates) == bool(subject.heads)
    if not subject.heads:
        pytest.skip(f"no heads: {family}")
    usual = getattr(transformers, every_family.PREDICTING[family]).from_pretrained(folder).eval()
    source, lengths = np.array([[5, 6, 7, 8, 9], [10, 3, 0, 0, 0]]), np.array([5, 2])
    labels = np.where(np.arange(5) < lengths[:, None], source, IGNORE)
    if objective == "lm":
        labels = np.pad(labels[:, 1:], [(0, 0), (0, 1)], constant_values=IGNORE)
    target = source if objective == "mt" else None
    losses, counts = predictor.losses(Example(source, target, labels, lengths))
    for row, length in enumerate(lengths):
        ids = torch.from_numpy(source[row : row + 1, :length])
        assert losses[row].item() / counts[row] == pytest.approx(own_loss(usual, ids), rel=1e-5)


@torch.no_grad()
def own_loss(usual, ids):
    if usual.config.model_type == "git":
        # Its loss skips as many tokens as an image has, also where it reads none.
        return cross_entropy(usual(input_ids=ids).logits[0, :-1], ids[0, 1:]).item()
    return usual(input_ids=ids, labels=ids).loss.item()


def test_most_families_can_be_made():
    """Or the rule that makes them tiny has worn out."""
    assert len(FAMILIES) >= 200
    assert set(KNOWN) <= set(FAMILIES) and set(QUICK) <= set(FAMILIES)
