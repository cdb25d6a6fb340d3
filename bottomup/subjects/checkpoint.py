"""Checkpoints as subjects: transformers opens them, offline and without running their code."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from math import inf
from pathlib import Path

import tokenizers
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import PreTrainedConfig, PreTrainedModel
from transformers import PreTrainedTokenizerBase as Tokenizer

from bottomup.core.errors import UserError
from bottomup.core.files.tokenizers import around, unknown
from bottomup.model.transformer import Encoding
from bottomup.subjects import attending, going_on, tokenizer
from bottomup.subjects.admission import first_line
from bottomup.subjects.attending import one_pass, seen_by_mask
from bottomup.subjects.slow import SlowTokenizer
from bottomup.subjects.subject import Subject
from bottomup.subjects.weights import initial, learned, outline, trained

# Keys of configs for the most tokens that a model reads, for models without a table of positions.
LIMITS = (
    *("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length"),
    *("max_seq_length", "n_ctx", "context_length"),
)
# The largest distance of states that differ only by rounding, as a share of their norm.
ROUNDING = 1e-5
LONG = 128  # the most tokens of the sentence beside which another one is read at opening
# What modules call the number of keys, or of blocks of them, that a query selects, and that of the
# tokens of a sentence that an expert takes.
ROOM = {"index_topk", "topk_blocks", "token_budget", "keep_window_size", "expert_capacity"}
# A state depends on another token if the norm of its gradient with respect to that token exceeds
# this share of the norm with respect to its own token.
SEEN = 1e-9


class Checkpoint(Subject):
    """A model of transformers.

    transformers counts and returns the layers, `layers + 1` with layer 0:

    BERT, RoBERTa, ELECTRA, DistilBERT, BART: layer 0 is the norm of token + position embedding (for
    ELECTRA with narrower embeddings, their projection to `d_model`); norms are inside layers.
    Marian: token embedding + position, without norm.
    GPT-2: token + position embedding. GPT-NeoX, Llama, T5: token embedding only, since positions
    come with attention. The top layer of these four is after the final norm, which a `Run` leaves
    out.
    OPT-350m: layer 0 is the projection of token embeddings to `d_model`, and position; the top
    layer is before its projection back to their width.

    `pretrained` is the tokenizer of transformers, which knows what special tokens are for.
    """

    model: PreTrainedModel

    def __init__(self, model: PreTrainedModel, pretrained: Tokenizer):
        fast = pretrained.is_fast
        super().__init__(model, pretrained.backend_tokenizer if fast else SlowTokenizer(pretrained))
        # For the text that a translator writes.
        self.target_tokenizer = self.tokenizer if fast else SlowTokenizer(pretrained, target=True)
        self.pretrained = pretrained
        # Some families' tokenizers pad on the left, for generation; we only read.
        pretrained.padding_side = "right"
        # The tokenizer's file sets these for other uses.
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self._around = self._of_no_text()
        # What OPT-350m predicts from has the width of its embeddings, not of its layers. A hook,
        # since the weight is part of the model that `save_model` writes.
        for module in model.modules():
            if isinstance(projection := getattr(module, "project_out", None), nn.Linear):
                projection.register_forward_hook(lambda _module, inputs, _output: inputs[0])

    @cached_property
    def shape(self) -> PreTrainedConfig:
        """The config of the part that is looked at. The whole model may have parts for images or
        sound, or a decoder of another depth."""
        whole = getattr(self.encoder, "config", self.model.config)
        # A config that nests none may still describe a decoder, too: ask for the encoder's side.
        nested = whole.get_text_config()
        return whole.get_text_config(encoder=self.translates) if nested is whole else nested

    @property
    def layers(self) -> int:
        return self.shape.num_hidden_layers

    @property
    def d_model(self) -> int:
        return self.shape.hidden_size

    @cached_property
    def vocab_size(self) -> int | None:
        return getattr(self._table, "num_embeddings", None)

    @property
    def _table(self) -> nn.Module:
        """The embeddings of the part that is looked at."""
        of_model = self.model.get_input_embeddings
        return getattr(self.encoder, "get_input_embeddings", of_model)()

    @cached_property
    def ordinary(self) -> list[int]:
        """A few ids of tokens of text; the first four differ, if the model has as many. The mask is
        none: ESM scales all of a sentence by how many it has."""
        known = range(self.vocab_size or len(self.pretrained))
        others = {*self.special, self.padding, self.mask}
        text = list(islice((i for i in known if i not in others), 4))
        return (text or [0]) * 4

    @property
    def heads(self) -> int:
        """Heads in a layer; 0 if none can be looked at, because not each layer attends once through
        transformers' interface, or layers differ in their number of heads."""
        heads = self._attending
        return heads[0] if len(heads) == self.layers and len({*heads}) == 1 else 0

    @cached_property
    def _attending(self) -> list[int]:
        """The heads of each attention that transformers hands out, from the bottom up."""
        with one_pass(keep=True) as seen, torch.inference_mode():
            self._top(self.ordinary[:1])
        return [weights.shape[1] for weights in seen.weights]

    @cached_property
    def hides(self) -> bool:
        """Tried on a sentence: replacing its hidden first token must change no other state. Where
        tokens compete for room, one that is hidden takes it all the same, if not in so short a
        sentence."""
        if not self.heads or self._room is not None:
            return False
        first, second, *others = self.ordinary[:4]
        ids = torch.tensor([[first, *others], [second, *others]], device=self.device)
        hidden = torch.zeros_like(ids, dtype=torch.bool)
        hidden[:, 0] = True
        lengths = torch.full((2,), ids.shape[1])
        with one_pass(hidden=hidden.expand(self.layers, *ids.shape)), torch.inference_mode():
            mask = self.tokens(ids, lengths).long()
            one, other = self.encoder(ids, attention_mask=mask).last_hidden_state[:, 1:]
        return _same(one, other, ROUNDING)

    @property
    def _room(self) -> int | None:
        """The most tokens of a sentence that do not compete for room; None if it never has more."""
        parts = [vars(module) for module in self.encoder.modules()]
        room = [
            part[name] * (part["block_size"] if name == "topk_blocks" else 1)
            for part in parts
            for name in ROOM & part.keys()
            if "moe_eval_capacity_token_fraction" not in part  # NLLB-MoE's take all: see `_missing`
        ]
        return min((most for most in room if most < (self.max_length or inf)), default=None)

    @property
    def causal(self) -> bool:
        return not self.sees[0]

    @cached_property
    def sees(self) -> tuple[bool, bool]:
        """Whether the first token's state depends on later tokens, and the last one's on earlier
        tokens.

        The gradient with respect to a token that is not seen is exactly 0. States tell less: they
        change by rounding alone, where experts or kernels of a GPU add in another order, and hardly
        by more in an untrained model that sees both sides. So they decide only where there are no
        gradients.
        """
        try:
            return self._sees_if_stirred(self._sees_by_gradients)
        except (RuntimeError, ValueError, TypeError, AttributeError):  # as of quantized families
            return self._sees_if_stirred(self._sees_by_states)

    @torch.inference_mode()
    def visible(self, length: int) -> list[Tensor]:
        every = super().visible(length)
        if self._room is not None and length > self._room:  # what is selected depends on the text
            return every
        usual, *_ = every
        with one_pass(keep=True) as kept:
            self._top((self.ordinary * length)[:length])
        # Layers of one kind share a mask.
        maps = {id(mask): seen_by_mask(mask, usual) for mask in kept.masks}
        return [maps[id(mask)] for mask in kept.masks]

    def _sees_if_stirred(self, sees: Callable[[], tuple[bool, bool]]) -> tuple[bool, bool]:
        """What `sees` finds, if need be with noise on the weights: some families begin with
        zeros."""
        seen = sees()
        if not any(seen):
            with _stirred(self.model):
                seen = sees()
        return seen

    def _sees_by_gradients(self) -> tuple[bool, bool]:
        ids = self.ordinary[:4]
        first, *later = self._gradient_norms(ids)
        *earlier, last = self._gradient_norms(ids, place=-1)
        return max(later) > SEEN * first, max(earlier) > SEEN * last

    def _sees_by_states(self) -> tuple[bool, bool]:
        itself, *others = self.ordinary[:4]
        with one_pass(), torch.inference_mode():
            one, other = (self._top([itself, *rest, itself]) for rest in (others, others[::-1]))
        return not _same(one[0], other[0], ROUNDING), not _same(one[-1], other[-1], ROUNDING)

    @cached_property
    @torch.inference_mode(False)
    @torch.enable_grad()
    def learns(self) -> bool:
        """Whether its states have gradients with respect to its weights; not in families that
        overwrite states, as RWKV does without a GPU."""
        state = self._top(self.ordinary[:4]).sum()
        try:
            torch.autograd.grad(state, [*self._table.parameters()], allow_unused=True)
        except RuntimeError:
            return False
        return True

    @cached_property
    def masks(self) -> bool:
        """Whether it was trained to predict masked tokens: its tokenizer has a mask, it sees both
        sides, and its trained layers predict tokens of what it reads. ELECTRA detects replaced
        tokens instead, a sentence model predicts no tokens, and a decoder writes all of a text."""
        reads = self.mask is not None and not self.causal and not self.translates
        return reads and self.predicts_tokens

    @property
    def mask(self) -> int | None:
        """The token that hides others; None without one, or if the tokenizer alone knows it."""
        mask, known = self.pretrained.mask_token_id, self.vocab_size
        return None if mask is None or (known is not None and mask >= known) else mask

    @cached_property
    def predicts_tokens(self) -> bool:
        """Whether its trained layers predict tokens, by their names in the config or, where it
        names none, by the weights of its folder."""
        return any(map(self._has_output, self.model.config.architectures or []))

    @property
    def translates(self) -> bool:
        return self.model.config.is_encoder_decoder

    @cached_property
    def max_length(self) -> int | None:
        """The most tokens that it reads at once: the positions in its smallest table of positions,
        whatever the table is called; without such a table, what its config says. No more than
        are read in one way (see `_read_in_one_way`)."""
        with one_pass(), _Positions() as positions:
            for token in self.ordinary[:2]:  # one may be padding, which has no position
                self._top([token] * 3)
        limits = (getattr(self.shape, name, None) for name in LIMITS)
        limits = (limit for limit in limits if isinstance(limit, int) and limit > 0)
        most = min(positions.limits, default=next(limits, None))
        return min(filter(None, [most, *_read_in_one_way(self.shape)]), default=None)

    @property
    def padding(self) -> int:
        pad = self.pretrained.pad_token_id
        return 0 if pad is None else pad

    @property
    def pads_alone(self) -> bool:
        named = {self.pretrained.unk_token_id, self.pretrained.mask_token_id}
        others = self._around | named
        if isinstance(self.tokenizer, tokenizers.Tokenizer):
            others |= unknown(self.tokenizer)
        # An ordinary word that serves as padding may stand in a sentence; <pad> and [PAD] may not.
        sign = re.fullmatch(r"[^\w\s].*\w.*[^\w\s]", self.pretrained.pad_token or "")
        return sign is not None and self.padding not in others

    @property
    def special(self) -> list[int]:
        return sorted(self._around | ({self.padding} if self.pads_alone else set()))

    def _of_no_text(self) -> set[int]:
        """The ids that the tokenizer adds to a text, such as language codes, and those that it has
        for starts and ends of texts."""
        names = ("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")
        named = {getattr(self.pretrained, name) for name in names} - {None}
        return named | {*around(self.tokenizer)}

    def filled(self, ids: Tensor, tokens: Tensor) -> Tensor:
        # A tokenizer may pad with a token that its model does not know.
        known = self.vocab_size is None or self.padding < self.vocab_size
        return ids.masked_fill(~tokens, self.padding if known else 0)

    @property
    def encoder(self) -> nn.Module:
        return _encoder(self.model)

    @property
    def learned_weights(self) -> list[nn.Parameter]:
        # Loading makes fixed ones, such as sinusoidal positions, look as if training changed them.
        names = learned(self.model)
        changed = {id(part) for name, part in self.model.named_parameters() if name in names}
        return [part for part in self.encoder.parameters() if id(part) in changed]

    def after(
        self,
        layer: int,
        below: Tensor,
        ids: Tensor,
        hidden: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        if self.stack is None:
            return super().after(layer, below, ids, hidden, lengths)
        return self._go_on(self.stack, layer, below, ids, hidden, lengths)

    @cached_property
    def stack(self) -> nn.ModuleList | None:
        """The layers, if each alone computes the same states as in the whole model, to rounding;
        else None.

        Tried on two sentences, of which one is padded, with hidden tokens and without. States of
        padding are replaced: a family that looks at them cannot go on from a layer.
        """
        first, second, *_ = self.ordinary
        ids = torch.tensor([[first, second, first, second], [second, first, first, first]])
        ids, lengths = ids.to(self.device), torch.tensor([4, 3])
        inside = self.tokens(ids, lengths)
        nothing, some = torch.zeros_like(inside), ids == second
        for stack in going_on.stacks(self.encoder, self.layers):
            states = self.hidden_states(ids, lengths=lengths)
            if all(
                self._agrees(stack, layer, states[layer - 1], ids, hidden, lengths, inside)
                for layer in range(1, self.layers + 1)
                for hidden in [nothing, some]
                if self.hides or not hidden.any()
            ):
                return stack
        return None

    def _agrees(
        self,
        stack: nn.ModuleList,
        layer: int,
        below: Tensor,
        ids: Tensor,
        hidden: Tensor,
        lengths: Tensor,
        inside: Tensor,
    ) -> bool:
        """Whether going on from `below` gives the same states as reading from the start."""
        some = hidden if hidden.any() else None
        expected = super().after(layer, below, ids, some, lengths)[inside]
        anything = torch.where(inside[..., None], below, below[:1, :1])
        try:
            resumed = self._go_on(stack, layer, anything, ids, some, lengths)[inside]
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, RuntimeError):
            return False  # its layers are called, or return, in a way of their own
        return bool((resumed - expected).norm() < ROUNDING * expected.norm())

    @torch.inference_mode()
    def _go_on(
        self,
        stack: nn.ModuleList,
        layer: int,
        below: Tensor,
        ids: Tensor,
        hidden: Tensor | None,
        lengths: Tensor | None,
    ) -> Tensor:
        ids, hidden = ids.to(self.device), self.in_layer(layer, hidden)
        tokens = self.tokens(ids, lengths)
        with one_pass(None, hidden) as seen, going_on.one_layer(stack, layer, below, seen) as above:
            ids, mask = self.filled(ids, tokens), tokens.long()
            output = self.encoder(ids, attention_mask=mask)
        return output.last_hidden_state if layer == self.layers else above.states

    @torch.inference_mode()
    def value_norms(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, ...] | None:
        ids = ids.to(self.device)
        tokens = self.tokens(ids, lengths)
        with one_pass(keep=True) as seen, attending.value_norms(seen) as norms:
            self.encoder(self.filled(ids, tokens), attention_mask=tokens.long())
        return tuple(norms) if len(norms) == self.layers else None

    def _why_no_heads(self) -> str:
        if self.heads and self._room is not None:
            return f": among more than {self._room} tokens a hidden one takes another's place"
        if self.heads:
            return ": its layers mix tokens by more than attention"
        if not self._attending:
            return ": transformers does not hand it out for this family, if it has any"
        return (
            f": of its {self.layers} layers, transformers hands out attention with "
            f"{', '.join(map(str, self._attending))} heads; allowed: as many heads in each layer"
        )

    def save_model(self, folder: Path) -> None:
        self.model.save_pretrained(folder, max_shard_size="1TB")

    def save_tokenizer(self, folder: Path) -> None:
        tokenizer.save(self.pretrained, folder)

    def _read(
        self,
        ids: Tensor,
        tokens: Tensor,
        gates: Tensor | None,
        hidden: Tensor | None,
        output_hidden_states: bool = False,
        output_attentions: bool = False,
    ) -> Encoding:
        with one_pass(gates, hidden, keep=output_attentions) as seen:
            output = self.encoder(
                ids, attention_mask=tokens.long(), output_hidden_states=output_hidden_states
            )
        states = output.hidden_states if output_hidden_states else ()
        if states is None:
            raise UserError(f"transformers hands out no states of the layers of {self._name}")
        return Encoding(output.last_hidden_state, states, tuple(seen.weights))

    @torch.inference_mode(False)
    @torch.enable_grad()
    def _gradient_norms(self, ids: list[int], place: int = 0) -> list[float]:
        """The norm of the top layer's gradient with respect to each token's embedding.

        place: of the state in the top layer.
        """
        embedded = []

        def keep(module: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
            embedded.append(output.detach().requires_grad_())
            return embedded[-1].clone()  # some families change it in place

        hook = self._table.register_forward_hook(keep)
        try:
            with one_pass():  # of its own: an outer pass must not count these layers
                state = self._top(ids)[place]
        finally:
            hook.remove()
        # Any direction will do, except one that norms project out.
        direction = torch.arange(len(state), device=state.device).cos()
        [gradient] = torch.autograd.grad(state @ direction, embedded[:1])
        return gradient.flatten(0, -2).norm(dim=-1).tolist()  # XLNet has the batch second

    def _top(self, ids: Sequence[int]) -> Tensor:
        """The top layer for some ids, none of which is padding, `[length, d_model]`."""
        read = torch.tensor([ids], device=self.device)
        return self.encoder(read, attention_mask=torch.ones_like(read)).last_hidden_state[0]

    def _has_output(self, architecture: str) -> bool:
        whole = outline(architecture, self.model.config)
        return whole is not None and whole.get_output_embeddings() is not None


@contextmanager
def _stirred(model: nn.Module) -> Iterator[None]:
    """A context in which weights have noise, so that none is 0; afterwards all are as before."""
    usual = [weight.detach().clone() for weight in model.parameters()]
    drawing = torch.Generator().manual_seed(0)
    try:
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.1 * torch.randn(weight.shape, generator=drawing).to(weight))
        yield
    finally:
        with torch.no_grad():
            for weight, before in zip(model.parameters(), usual, strict=True):
                weight.copy_(before)


class _Positions(TorchDispatchMode):
    """A context for reading a sentence that repeats one token. A table whose consecutive rows are
    looked up is one of positions; `limits` has the number of positions of each."""

    def __init__(self):
        super().__init__()
        self.limits: list[int] = []

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        looked_up = None
        if function is torch.ops.aten.embedding.default:
            looked_up = arguments[:2]
        elif function is torch.ops.aten.index_select.default and arguments[1] == 0:
            looked_up = arguments[::2]
        if looked_up:
            table, rows = looked_up[0], looked_up[1].flatten()[:3]
            places = torch.arange(len(rows), device=rows.device)
            if table.ndim == 2 and len(rows) == 3 and torch.equal(rows - rows[0], places):
                self.limits.append(len(table) - int(rows[0]))
        return function(*arguments, **(keywords or {}))


def _read_in_one_way(config: PreTrainedConfig) -> Iterator[int]:
    """The most tokens that a family reads before it reads all of a batch in another way. States
    would depend on the longest sentence so far."""
    rope = getattr(config, "rope_parameters", None) or {}
    for part in (rope, *rope.values()):  # those of each kind of layer, in some families
        if isinstance(part, dict) and part.get("rope_type") == "longrope":
            yield part["original_max_position_embeddings"]
    if getattr(config, "attention_type", None) == "block_sparse":  # BigBird
        yield (5 + 2 * config.num_random_blocks) * config.block_size


def load(folder: Path) -> Checkpoint:
    """The checkpoint in a folder; UserError if it cannot be opened, or no job could read it."""
    return _readable(trained(folder), folder)


def untrained(folder: Path, seed: int) -> Checkpoint:
    """The untrained twin of the checkpoint in a folder."""
    return _readable(initial(folder, seed), folder)


def _readable(model: PreTrainedModel, folder: Path) -> Checkpoint:
    """The model as a subject, once it has read a short sentence; UserError if it cannot."""
    if reads := _not_text(model):  # first, since a model of pictures has no tokenizer
        raise _refusal(model, folder, reads)
    subject = Checkpoint(model, tokenizer.load(folder))
    try:
        missing = _missing(subject)
    except Exception as error:  # a family for something else can raise anything
        missing = f"reading a sentence ends in {first_line(error)}"
    if missing:
        raise _refusal(model, folder, missing)
    return subject


def _refusal(model: PreTrainedModel, folder: Path, missing: str) -> UserError:
    return UserError(
        f"{model.config.model_type} in {folder} cannot be looked at: {missing}; allowed: a "
        "family that reads the ids of its tokenizer alone and hands out its states after each "
        "layer"
    )


def _not_text(model: PreTrainedModel) -> str | None:
    """What a model reads in place of text; None if it reads text."""
    reads = getattr(_encoder(model), "main_input_name", "input_ids")
    return None if reads == "input_ids" else f"it reads {reads}, not text"


def _encoder(model: PreTrainedModel) -> nn.Module:
    """The part that reads."""
    return model.get_encoder() if model.config.is_encoder_decoder else model


def _missing(subject: Checkpoint) -> str | None:
    """What a model lacks that every job needs; None for nothing."""
    if getattr(subject.shape, "moe_eval_capacity_token_fraction", 1.0) < 1.0:  # of NLLB-MoE
        return "its experts have no room for all tokens of a batch, so states depend on the batch"
    ids_of_text = {*subject.pretrained.get_vocab().values()} - {*subject.special, subject.padding}
    spelled = subject.tokenizer.decode(nsmallest(4, ids_of_text), skip_special_tokens=False)
    made, known = subject.tokenizer.encode(spelled).ids, subject.vocab_size
    if not made:
        return f"its tokenizer makes no token of {spelled!r}, which it spells itself"
    if known is not None and max(made) >= known:
        return f"its tokenizer makes id {max(made)} of a text, but the model knows 0 to {known - 1}"
    length = min(subject.max_length or LONG, LONG)
    ids = torch.tensor([subject.ordinary[:4], subject.ordinary[3::-1]])[:, torch.arange(length) % 4]
    states = subject.hidden_states(ids, lengths=torch.tensor([length, 2]))
    if len(states) != subject.layers + 1:
        return (
            f"transformers hands out {len(states)} states, but config.json says {subject.layers} "
            "layers, and there is one state more than layers"
        )
    shapes = {tuple(layer.shape) for layer in states} - {(*ids.shape, subject.d_model)}
    if shapes:
        return (
            f"a state of two sentences of {length} tokens is of shape {min(shapes)}, but "
            f"config.json says width {subject.d_model}"
        )
    if not all(layer[0].isfinite().all() for layer in states):
        return "its states are not finite numbers"
    alone = subject.hidden_states(ids[1:, :2], lengths=torch.tensor([2]))
    for beside, layer in zip(states, alone, strict=True):
        if not _same(beside[1, :2], layer[0], 10 * ROUNDING):
            return "its states of a sentence change with what is read beside it"
    if not any(subject.sees):
        return "none of its tokens sees another, as where a family attends on a GPU alone"
    # Computed here, once, and cached.
    subject.hides, subject.predicts_tokens  # noqa: B018
    return None


def _same(one: Tensor, other: Tensor, tolerance: float) -> bool:
    """Whether states are the same up to a share of their size."""
    return bool((one - other).norm() <= tolerance * one.norm())
