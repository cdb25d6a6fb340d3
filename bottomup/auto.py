"""Runs in transformers: after `import bottomup.auto` its Auto classes open them.

>>> import bottomup.auto  # doctest: +SKIP
>>> from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
>>> model = AutoModelForSeq2SeqLM.from_pretrained("results/default/runs/mt-1/model")

AutoModel opens the encoder of any run that is a Transformer, AutoModelForCausalLM a run with a
causal mask, AutoModelForMaskedLM a run without a decoder, AutoModelForSeq2SeqLM a run with one.
Sentences end with </s>, which the tokenizers add, and are padded on the right. There is no start
token: a language model predicts the second token from the first. The folder `target` of a
translation model has the tokenizer of the language that it writes.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    Cache,
    GenerationMixin,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import (
    BaseModelOutput,
    CausalLMOutput,
    MaskedLMOutput,
    Seq2SeqLMOutput,
)
from transformers.utils.generic import can_return_tuple

from bottomup.corpus.specials import EOS, MASK, PAD, UNK
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Decoder, Encoder, draw

SHAPE = asdict(TransformerConfig())
# Options of generation, which a run's config.json lacks: those of our own beam search.
GENERATING = {"eos_token_id": EOS, "pad_token_id": PAD, "suppress_tokens": [PAD, UNK, MASK]}

# Inputs of other models that say nothing new, by what they hold then.
NOTHING_NEW: dict[str, Callable[[Tensor], Tensor]] = {
    "position_ids": lambda ids: ids == torch.arange(ids.shape[-1], device=ids.device),
    "token_type_ids": lambda ids: ids == 0,
    "decoder_attention_mask": lambda mask: (mask != 0).cummin(-1).values == (mask != 0),
}


@strict
class Config(PreTrainedConfig):
    """A run's config.json; see `bottomup.model.configuration`."""

    model_type = TransformerConfig.model_type
    attribute_map: ClassVar[dict[str, str]] = {
        "hidden_size": "d_model",
        "num_hidden_layers": "encoder_layers",
        "num_attention_heads": "heads",
    }

    pad_token_id: int | None = PAD
    eos_token_id: int | list[int] | None = EOS
    tie_word_embeddings: bool = False
    use_cache: bool = False
    is_encoder_decoder: bool = False

    def __post_init__(self, **kwargs: Any):
        shape = SHAPE | kwargs
        self.is_encoder_decoder = shape["decoder_layers"] > 0
        super().__post_init__(**shape)

    @property
    def shape(self) -> TransformerConfig:
        return TransformerConfig(**{name: getattr(self, name) for name in SHAPE})


def refuse(others: dict[str, Any]) -> None:
    """Raise ValueError for an input beside the text that would change what is read."""
    for name, value in others.items():
        known = NOTHING_NEW.get(name, lambda _: torch.tensor(False))
        if isinstance(value, Tensor | Cache) and not known(value).all():
            raise ValueError(f"{name}: runs read input_ids and attention_mask alone; leave it out")


class Reader(Encoder):
    """The encoder, called as transformers does."""

    main_input_name = "input_ids"

    def __init__(self, config: Config):
        super().__init__(config.shape)
        self.defaults = config

    def forward(  # type: ignore[override]
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool | None = None,
        output_attentions: bool | None = None,
        **others: Any,
    ) -> BaseModelOutput:
        refuse(others)
        tokens = input_ids != PAD
        if attention_mask is not None:
            tokens = tokens & (attention_mask != 0)
        if (tokens[:, 1:] & ~tokens[:, :-1]).any():
            raise ValueError(
                "a token after padding; allowed: padding on the right, as the tokenizer pads; to "
                "continue several texts, take texts of equal length"
            )
        if output_hidden_states is None:
            output_hidden_states = self.defaults.output_hidden_states
        if output_attentions is None:
            output_attentions = self.defaults.output_attentions
        ids = input_ids.masked_fill(~tokens, PAD)
        read = super().forward(ids, bool(output_hidden_states), bool(output_attentions))
        return BaseModelOutput(read.states, read.hidden_states or None, read.attentions or None)


class Base(PreTrainedModel):
    """The encoder of a run; `last_hidden_state` is after its final norm, `hidden_states` before."""

    config_class = Config
    accepts_loss_kwargs = False  # losses are means of a batch; a trainer divides by its steps
    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = [r"^decoder\.", r"^head\."]

    def __init__(self, config: Config):
        super().__init__(config)
        self.encoder = Reader(config)
        self.build(config)
        self.post_init()

    def build(self, config: Config) -> None:
        """What a model has beside the encoder."""

    def _init_weights(self, module: nn.Module) -> None:
        """Draw what no file gave, which `from_pretrained` leaves as memory was."""
        missing = {
            id(parameter)
            for parameter in module.parameters(recurse=False)
            if not getattr(parameter, "_is_hf_initialized", False)
        }
        for name, parameter in self.named_parameters():
            if id(parameter) in missing:
                draw(name, parameter, seed=0)
        for gates in module.buffers(recurse=False):
            if not getattr(gates, "_is_hf_initialized", False):
                gates.fill_(1.0)

    def get_input_embeddings(self) -> nn.Module:
        return self.encoder.embedding.tokens

    @can_return_tuple
    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any
    ) -> Any:
        return self.encoder(input_ids, attention_mask, **options)


class Predicting(Base):
    """An encoder with an output layer over what it reads."""

    Output = MaskedLMOutput
    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = []

    def build(self, config: Config) -> None:
        if config.is_encoder_decoder:
            raise ValueError("a model with a decoder; open it with AutoModelForSeq2SeqLM")
        self.head = nn.Linear(config.d_model, config.target_vocab_size, bias=False)

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **options: Any,
    ):
        read = self.encoder(input_ids, attention_mask, **options)
        logits = self.head(read.last_hidden_state)
        loss = None if labels is None else self.loss(logits, labels)
        return self.Output(
            loss, logits, hidden_states=read.hidden_states, attentions=read.attentions
        )

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Mean over the labels that are not -100, in nats."""
        return cross_entropy(logits.flatten(0, 1), labels.flatten())


def unless_given(usual: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Options of generation with the usual ones, where neither they nor their config say else."""
    given = options.get("generation_config")
    return {name: of for name, of in usual.items() if getattr(given, name, None) is None} | options


class ForMaskedLM(Predicting):
    """Predicts a token at each position: after training by MLM, the one that is masked there."""


class ForCausalLM(Predicting, GenerationMixin):
    """Predicts the token after a position."""

    Output = CausalLMOutput

    def build(self, config: Config) -> None:
        super().build(config)
        if not config.causal or config.backward:
            raise ValueError("its positions see what follows; open it with AutoModelForMaskedLM")
        if config.target_vocab_size != config.vocab_size:
            raise ValueError(
                f"it reads {config.vocab_size} types of tokens and predicts one of "
                f"{config.target_vocab_size} classes; open it with AutoModelForMaskedLM"
            )

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return super().loss(logits[:, :-1], labels[:, 1:])

    def generate(self, inputs: Tensor | None = None, *arguments: Any, **options: Any) -> Any:
        text = options.get("input_ids") if inputs is None else inputs
        if text is not None and (text[:, -1] == EOS).any():
            raise ValueError(
                "the text ends in </s>, after which no model has learned to go on; give the "
                "tokenizer add_special_tokens=False"
            )
        return super().generate(inputs, *arguments, **unless_given(GENERATING, options))

    def prepare_inputs_for_generation(self, input_ids: Tensor, **kwargs: Any) -> dict[str, Any]:
        return {"input_ids": input_ids, "attention_mask": kwargs.get("attention_mask")}


class ForSeq2SeqLM(Base, GenerationMixin):
    """Predicts each token of the target from the source and the tokens before it."""

    _keys_to_ignore_on_load_unexpected: ClassVar[list[str]] = []

    def build(self, config: Config) -> None:
        if not config.is_encoder_decoder:
            raise ValueError("a model without a decoder; open it with AutoModelForMaskedLM")
        self.decoder = Decoder(config.shape)
        self.head = nn.Linear(config.d_model, config.target_vocab_size, bias=False)

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: BaseModelOutput | None = None,
        labels: Tensor | None = None,
        **options: Any,
    ) -> Seq2SeqLMOutput:
        """decoder_input_ids: the target so far after one start token, which is not read."""
        refuse(options)
        if encoder_outputs is None:
            encoder_outputs = self.encoder(input_ids, attention_mask, **options)
        if attention_mask is None and input_ids is not None:
            attention_mask = input_ids != PAD
        if decoder_input_ids is None and labels is not None:
            decoder_input_ids = nn.functional.pad(labels[:, :-1].clamp(min=PAD), (1, 0), value=PAD)
        if decoder_input_ids is None:
            raise ValueError("no target; give decoder_input_ids or labels, or call generate")
        mask = None if attention_mask is None else attention_mask.bool()[:, None, None, :]
        states = encoder_outputs.last_hidden_state
        logits = self.head(self.decoder(decoder_input_ids[:, 1:], states, mask))
        loss = None if labels is None else cross_entropy(logits.flatten(0, 1), labels.flatten())
        return Seq2SeqLMOutput(
            loss,
            logits,
            encoder_last_hidden_state=states,
            encoder_hidden_states=encoder_outputs.hidden_states,
            encoder_attentions=encoder_outputs.attentions,
        )

    def generate(self, *arguments: Any, **options: Any) -> Any:
        started = GENERATING | {"decoder_start_token_id": PAD}
        return super().generate(*arguments, **unless_given(started, options))

    def prepare_inputs_for_generation(self, input_ids: Tensor, **kwargs: Any) -> dict[str, Any]:
        kept = ("attention_mask", "encoder_outputs")
        return {"decoder_input_ids": input_ids, **{name: kwargs.get(name) for name in kept}}


AutoConfig.register(Config.model_type, Config)
AutoModel.register(Config, Base)
AutoModelForCausalLM.register(Config, ForCausalLM)
AutoModelForMaskedLM.register(Config, ForMaskedLM)
AutoModelForSeq2SeqLM.register(Config, ForSeq2SeqLM)
