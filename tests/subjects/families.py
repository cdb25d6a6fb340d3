"""A tiny checkpoint of each family, made from its config, and what is known of the family."""

from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BloomConfig,
    BloomForCausalLM,
    DistilBertConfig,
    DistilBertForMaskedLM,
    ElectraConfig,
    ElectraForPreTraining,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MarianConfig,
    MarianMTModel,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.tiny import noise

VOCAB, LAYERS, HEADS, WIDTH, POSITIONS = 20, 2, 2, 8, 12
BERT = {
    "vocab_size": VOCAB,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 16,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
}
BART = {
    "vocab_size": VOCAB,
    "d_model": WIDTH,
    **dict.fromkeys(["encoder_layers", "decoder_layers"], LAYERS),
    **dict.fromkeys(["encoder_attention_heads", "decoder_attention_heads"], HEADS),
    **dict.fromkeys(["encoder_ffn_dim", "decoder_ffn_dim"], 16),
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}


@dataclass(frozen=True)
class Family:
    """A family of models: its config, the class that is trained, and what a subject says of it.

    projection: the heads' output projection of a layer; tokens: the special ones of its tokenizer;
    positions, normed: whether layer 0 tells positions, and whether it went through a norm; top:
    whether the top layer went through a norm that the others did not.
    """

    config: PreTrainedConfig
    trained: type[PreTrainedModel]
    projection: str
    tokens: tuple[str, ...] = ("pad", "mask")
    causal: bool = False
    masks: bool = False
    translates: bool = False
    max_length: int | None = POSITIONS
    positions: bool = True
    normed: bool = True
    top: bool = False


FAMILIES = {
    "bert": Family(
        BertConfig(**BERT),
        BertForMaskedLM,
        "encoder.layer.{}.attention.output.dense",
        masks=True,
    ),
    "roberta": Family(
        # Its positions are counted from the one after the padding's.
        RobertaConfig(**BERT | {"max_position_embeddings": POSITIONS + 2, "pad_token_id": 1}),
        RobertaForMaskedLM,
        "encoder.layer.{}.attention.output.dense",
        tokens=("start", "pad", "mask"),
        masks=True,
    ),
    "distilbert": Family(
        DistilBertConfig(
            vocab_size=VOCAB,
            dim=WIDTH,
            n_layers=LAYERS,
            n_heads=HEADS,
            hidden_dim=16,
            max_position_embeddings=POSITIONS,
        ),
        DistilBertForMaskedLM,
        "transformer.layer.{}.attention.out_lin",
        masks=True,
    ),
    "electra": Family(
        ElectraConfig(**BERT, embedding_size=4),
        ElectraForPreTraining,
        "encoder.layer.{}.attention.output.dense",
        normed=False,  # after the norm, embeddings are projected
    ),
    "gpt2": Family(
        GPT2Config(
            vocab_size=VOCAB, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_positions=POSITIONS
        ),
        GPT2LMHeadModel,
        "h.{}.attn.c_proj",
        tokens=(),
        causal=True,
        normed=False,
        top=True,
    ),
    "gpt_neox": Family(
        GPTNeoXConfig(**BERT),
        GPTNeoXForCausalLM,
        "layers.{}.attention.dense",
        tokens=(),
        causal=True,
        positions=False,
        normed=False,
        top=True,
    ),
    "llama": Family(
        LlamaConfig(**BERT, num_key_value_heads=1),
        LlamaForCausalLM,
        "layers.{}.self_attn.o_proj",
        tokens=(),
        causal=True,
        positions=False,
        normed=False,
        top=True,
    ),
    "marian": Family(
        MarianConfig(**BART, scale_embedding=True),
        MarianMTModel,
        "encoder.layers.{}.self_attn.out_proj",
        tokens=("pad",),
        translates=True,
        normed=False,
    ),
    "t5": Family(
        T5Config(
            vocab_size=VOCAB,
            d_model=WIDTH,
            d_kv=4,
            d_ff=16,
            num_layers=LAYERS,
            num_heads=HEADS,
            pad_token_id=0,
        ),
        T5ForConditionalGeneration,
        "encoder.block.{}.layer.0.SelfAttention.o",
        tokens=("pad",),
        translates=True,
        max_length=None,
        positions=False,
        normed=False,
        top=True,
    ),
    "bart": Family(
        BartConfig(**BART),
        BartForConditionalGeneration,
        "encoder.layers.{}.self_attn.out_proj",
        translates=True,
    ),
}


# transformers does not hand out its attention: no head of it can be looked at or changed.
HIDDEN = Family(
    BloomConfig(vocab_size=VOCAB, hidden_size=WIDTH, n_layer=LAYERS, n_head=HEADS, pad_token_id=0),
    BloomForCausalLM,
    projection="",
    causal=True,
    max_length=None,
    positions=False,
    top=True,
)


def save(family: Family, folder: Path, scale: float = 0.3, seed: int = 1) -> Path:
    """A checkpoint of the family as one is published: with the head that it was trained with.

    scale: noise on all weights, without which norms and biases would be as if they were not there.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = family.trained(family.config)
    noise(model, seed, scale).save_pretrained(folder)
    save_tokenizer(folder, family.tokens)
    return folder


def save_tokenizer(folder: Path, tokens: tuple[str, ...] = ("pad", "mask")) -> None:
    """A tokenizer of whole words, `w3` being the one of id 3, for those not among `tokens`."""
    words = [f"<{name}>" for name in tokens]
    words += [f"w{number}" for number in range(len(words), VOCAB)]
    tokenizer = Tokenizer(
        models.WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[-1])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    named = {f"{name}_token": f"<{name}>" for name in tokens if name != "start"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)
