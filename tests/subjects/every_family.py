"""Every family of transformers that predicts tokens, as a tiny random model.

The families are those that the installed transformers lists, so a new version brings new ones. Each
is made tiny by one rule: whatever its config calls a number of layers, heads, experts or tokens, or
a width, becomes small. Where that does not do, `ODD` says what else a family wants.
"""

import contextlib
import importlib
import pkgutil
import string
from pathlib import Path

import torch
import transformers
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.models.auto import configuration_auto, modeling_auto, tokenization_auto

from tests.subjects import families
from tests.tiny import noise

# The class with the layers that predict, by family; what translates comes first.
PREDICTING = {
    **modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    **modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    **modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
}
FAMILIES = sorted(set(PREDICTING) & set(modeling_auto.MODEL_MAPPING_NAMES))
# The classes that transformers opens for a family whatever tokenizer_config.json names.
OF_BYTES = ("Qwen2Tokenizer", "Qwen3_5Tokenizer")
# More weights than this, and it was not made tiny.
MOST = 4_000_000
LAYERS, HEADS, WIDTH, INNER, VOCAB, POSITIONS = 2, 2, 32, 24, 64, 64
SELECTED = 4  # the most keys that a query selects, and tokens of a sentence that an expert takes
SMALL = {
    name: number
    for names, number in [
        ("vocab_size", VOCAB),
        ("num_hidden_layers encoder_layers decoder_layers num_layers n_layer n_layers", LAYERS),
        ("num_decoder_layers num_encoder_layers depth", LAYERS),
        ("num_attention_heads encoder_attention_heads decoder_attention_heads n_head", HEADS),
        ("n_heads num_heads num_experts_per_tok moe_topk", HEADS),
        ("hidden_size d_model n_embd dim emb_dim embed_dim", WIDTH),
        ("intermediate_size d_ff encoder_ffn_dim decoder_ffn_dim ffn_dim n_inner", INNER),
        ("hidden_dim moe_intermediate_size expert_ffn_hidden_size ffn_hidden_size", INNER),
        ("head_dim d_kv q_lora_rank kv_lora_rank qk_rope_head_dim", WIDTH // HEADS),
        ("qk_nope_head_dim qk_head_dim v_head_dim", WIDTH // HEADS),
        ("n_positions max_position_embeddings", POSITIONS),
        ("num_experts n_routed_experts num_local_experts", 4),
        ("index_topk keep_window_size expert_capacity", SELECTED),
        ("num_key_value_heads bos_token_id", 1),
        ("pad_token_id decoder_start_token_id", 0),
        ("eos_token_id", 2),
        ("image_size", 28),
        ("patch_size", 14),
    ]
    for name in names.split()
}
# What is tried in turn, until transformers itself can read with it.
TRIED: list[dict] = [
    {},
    {"num_key_value_heads": HEADS},
    {"num_hidden_layers": 4},
    {"num_hidden_layers": 4, "num_key_value_heads": HEADS},
    {"head_dim": None},
    {"num_hidden_layers": 8, "num_key_value_heads": HEADS},
]
ODD = {
    "codegen": {"num_attention_heads": 4, "hidden_size": 64, "rotary_dim": 8},
    "deepseek_v2": {"num_experts_per_tok": HEADS, "num_key_value_heads": HEADS},
    "esm": {"vocab_size": VOCAB, "position_embedding_type": "rotary"},
    "funnel": {"block_sizes": [1, 1]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "gptj": {"rotary_dim": 8},
    "minimax_m3_vl_text": {
        "layer_types": ["minimax_m3_sparse"] * LAYERS,
        "index_topk_blocks": SELECTED // 2,
        "index_block_size": 2,
        "index_n_heads": 1,
        "index_head_dim": WIDTH // HEADS,
    },
    "mobilebert": {"embedding_size": WIDTH, "intra_bottleneck_size": WIDTH},
    "reformer": {"axial_pos_embds_dim": [16, 16], "axial_pos_shape": [8, 8]},
    "squeezebert": {"embedding_size": WIDTH},
    "switch_transformers": {"num_sparse_encoder_layers": LAYERS},
}


def classes(kind: type, prefix: str) -> set[type]:
    """The subclasses of `kind` in those modules of transformers' families whose names start with
    `prefix`, as far as the packages that they need are there."""
    found: set[type] = set()
    for module in pkgutil.walk_packages(transformers.models.__path__, "transformers.models."):
        if module.name.rpartition(".")[2].startswith(prefix):
            with contextlib.suppress(ImportError, NameError):
                of_module = vars(importlib.import_module(module.name)).values()
                found |= {one for one in of_module if isinstance(one, type)}
    return {one for one in found if issubclass(one, kind)}


def tiny(family: str, **changed) -> PreTrainedConfig:
    """The config of a family with everything small, in parts for other than text as well."""
    return _small(configuration_auto.CONFIG_MAPPING[family], ODD.get(family, {}) | changed)


def _small(kind: type[PreTrainedConfig], changed: dict) -> PreTrainedConfig:
    usual = kind()
    names = {*usual.to_dict(), *usual.attribute_map}
    values = {name: value for name, value in (SMALL | changed).items() if name in names}
    values = {
        name: value
        for name, value in values.items()
        if name in changed or name.endswith("token_id") or type(_get(usual, name)) is int
    }
    for name in kind.sub_configs:
        own = getattr(usual, name, None)
        if isinstance(own, PreTrainedConfig):
            values[name] = _small(type(own), changed).to_dict()
    return kind(**values)


def _get(config: PreTrainedConfig, name: str):
    with contextlib.suppress(AttributeError, ValueError):
        return getattr(config, name, None)


def made(family: str) -> PreTrainedModel | None:
    """A model of the family with the layers that predict and noise on all weights; if any way of
    making it small does, one that transformers itself can read text with."""
    found = None
    for changed in TRIED:
        with contextlib.suppress(Exception):  # whatever a family finds wrong with a small config
            config = tiny(family, **changed)
            kind = getattr(transformers, PREDICTING[family])
            with torch.device("meta"):
                if sum(weight.numel() for weight in kind(config).parameters()) > MOST:
                    continue
            with torch.random.fork_rng():
                torch.manual_seed(1)
                model = noise(kind(config).eval(), 1, 0.1)
            found = found or model
            read(AutoModel.from_config(config, attn_implementation="eager").eval())
            return model
    return found


def read(model: PreTrainedModel, ids: list[list[int]] = ((5, 6, 7, 8, 9),), **asked):
    """What transformers makes of ids, in the encoder of a model that has one."""
    encoder = model.get_encoder() if model.config.is_encoder_decoder else model
    ids = torch.tensor(ids)
    with torch.no_grad():
        return encoder(ids, attention_mask=torch.ones_like(ids), **asked)


def save(family: str, folder: Path, tokens: tuple[str, ...]) -> bool:
    """Write a checkpoint with a tokenizer of whole words, `tokens` its special ones; False if none
    can be made."""
    model = made(family)
    if model is None:
        return False
    model.save_pretrained(folder)
    name = tokenization_auto.TOKENIZER_MAPPING_NAMES.get(family)
    if name in OF_BYTES:
        _save_tokenizer_of_bytes(getattr(transformers, name), folder, tokens)
    else:
        families.save_tokenizer(folder, tokens)
    return True


def _save_tokenizer_of_bytes(
    kind: type[PreTrainedTokenizerBase], folder: Path, tokens: tuple[str, ...]
) -> None:
    """A tokenizer of letters and digits, as the family's own class has it; without a token named
    for padding, the class pads with the one that ends a text."""
    signs = ["<|endoftext|>", "<pad>", "Ġ", *string.digits, *string.ascii_lowercase, "Ġw"]
    vocab = {sign: number for number, sign in enumerate(signs)}
    named = {"pad_token": "<pad>"} if "pad" in tokens else {}
    kind(vocab=vocab, merges=[("Ġ", "w")], **named).save_pretrained(folder)
