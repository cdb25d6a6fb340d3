"""How many tokens a model reads at once, by whatever name its config has for it."""

import pytest
import torch
from transformers import (
    AutoModel,
    BigBirdConfig,
    BigBirdForMaskedLM,
    CTRLConfig,
    CTRLLMHeadModel,
    EsmConfig,
    EsmForMaskedLM,
    LongformerConfig,
    LongformerForMaskedLM,
    MptConfig,
    MptForCausalLM,
    NllbMoeConfig,
    NllbMoeModel,
    OPTConfig,
    OPTForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    T5Config,
    T5EncoderModel,
    XLMConfig,
    XLMWithLMHeadModel,
    XLNetConfig,
    XLNetLMHeadModel,
)

from bottomup import subjects
from bottomup.core.errors import UserError
from bottomup.core.settings import Checkpoint
from bottomup.heads.checkpoints.predictor import objective_of
from bottomup.subjects.opening import open_checkpoint
from tests.subjects import families
from tests.tiny import noise

WIDE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2}
BERT = WIDE | {"intermediate_size": 16}
# The config of a family, its class, and how many tokens it reads; None for any number.
MODELS = {
    "xlnet": (XLNetConfig(d_model=8, n_layer=2, n_head=2, d_inner=16), XLNetLMHeadModel, None),
    "opt": (
        OPTConfig(**WIDE, ffn_dim=16, max_position_embeddings=12, word_embed_proj_dim=8),
        *(OPTForCausalLM, 12),
    ),
    "xlm": (
        XLMConfig(emb_dim=8, n_layers=2, n_heads=2, max_position_embeddings=12),
        *(XLMWithLMHeadModel, 12),
    ),
    "mpt": (MptConfig(d_model=8, n_layers=2, n_heads=2, max_seq_len=12), MptForCausalLM, 12),
    "ctrl": (
        CTRLConfig(n_embd=8, n_layer=2, n_head=2, dff=16, n_positions=12),
        CTRLLMHeadModel,
        12,
    ),
    # Both count from the place after padding's.
    "esm": (
        EsmConfig(**BERT, max_position_embeddings=14, pad_token_id=1, mask_token_id=3),
        *(EsmForMaskedLM, 12),
    ),
    "longformer": (
        LongformerConfig(**BERT, max_position_embeddings=18, attention_window=4, pad_token_id=1),
        *(LongformerForMaskedLM, 16),
    ),
    # Of more tokens, they read all sentences of a batch in another way: by other positions; by some
    # blocks of each sentence, of at least (5 + 2 * 1) * 2 tokens.
    "phi3": (
        Phi3Config(
            **BERT | {"max_position_embeddings": 32, "original_max_position_embeddings": 8},
            **{"pad_token_id": 1, "bos_token_id": None, "eos_token_id": None},
            rope_parameters={
                **{"rope_type": "longrope", "rope_theta": 100.0},
                **{"short_factor": [1.0, 1.0], "long_factor": [4.0, 4.0]},
                "original_max_position_embeddings": 8,
            },
        ),
        *(Phi3ForCausalLM, 8),
    ),
    "big_bird": (
        BigBirdConfig(
            **BERT | {"max_position_embeddings": 32, "pad_token_id": 1},
            **{"attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1},
        ),
        *(BigBirdForMaskedLM, 14),
    ),
    "encoder of T5": (
        T5Config(d_model=8, num_layers=2, num_heads=2, d_ff=16, d_kv=4),
        *(T5EncoderModel, None),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_as_many_tokens_as_its_table_has_places_for(name, tmp_path):
    config, kind, most = MODELS[name]
    config.vocab_size = families.VOCAB
    kind(config).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, ("start", "pad", "mask"))
    subject = subjects.load(tmp_path)
    assert subject.max_length == most
    layers = subject.hidden_states(torch.full((1, most or 40), 5))
    assert len(layers) == subject.layers + 1
    if most:
        with pytest.raises(UserError, match=f"has {most + 1} tokens; .* reads at most {most}; cut"):
            subject.hidden_states(torch.full((1, most + 1), 5))


@pytest.mark.parametrize("name", ["phi3", "big_bird"])
def test_a_sentence_beside_the_longest_is_read_as_alone(name, tmp_path):
    config, kind, most = MODELS[name]
    config.vocab_size = families.VOCAB
    noise(kind(config)).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, ("start", "pad", "mask"))
    ids = torch.arange(3, 3 + most).repeat(2, 1)
    found = subjects.load(tmp_path).hidden_states(ids, lengths=torch.tensor([most, 5]))[-1]
    usual = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = usual(ids[:1, :5]).last_hidden_state[0]
    torch.testing.assert_close(found[1, :5], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fraction", [0.0, 0.9])
def test_a_family_with_room_for_few_tokens_of_a_batch_is_refused(fraction, tmp_path):
    """Its experts leave out tokens that come late, of whatever sentence: with 0 after the 64th."""
    shape = families.BART | {"encoder_sparse_step": 1, "num_experts": 4, "expert_capacity": 64}
    config = NllbMoeConfig(**shape, moe_eval_capacity_token_fraction=fraction)
    noise(NllbMoeModel(config)).save_pretrained(tmp_path)
    families.save_tokenizer(tmp_path, ("pad",))
    with pytest.raises(UserError, match="its experts have no room for all tokens of a batch"):
        subjects.load(tmp_path)


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian"])
def test_an_untrained_twin_was_trained_for_nothing_wherever_it_is_made(family, tmp_path):
    folder = families.save(families.FAMILIES[family], tmp_path / "model")
    open_checkpoint(tmp_path / "twin", tmp_path, Checkpoint(folder=folder), 1)
    twins = subjects.untrained(folder, 1), subjects.load(tmp_path / "twin")
    assert [objective_of(twin) for twin in twins] == [None, None]
    assert objective_of(subjects.load(folder)) is not None


def test_a_folder_at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    families.save(families.FAMILIES["bert"], tmp_path / "model")
    assert Checkpoint(folder="~/model").folder == tmp_path / "model"
    assert subjects.load("~/model").layers == families.LAYERS
