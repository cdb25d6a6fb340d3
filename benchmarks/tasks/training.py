"""Updates of a model under an objective, against transformers' nearest model in a plain loop, and
JoeyNMT's for translation."""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from ceilings import COARSE
from models import HEADS, decoder_flop, encoder_flop, model
from synthetic import draw_pairs
from task import Contender, Task, Work

from bottomup import objectives
from bottomup.core.precision import autocast
from bottomup.core.seeds import generator
from bottomup.core.settings import Training
from bottomup.corpus.batches import Text, forever
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.objectives import IGNORE, Example
from bottomup.training.checkpoint import Checkpoint, Progress
from bottomup.training.loop import Trainer

N_TOKENS = 4000
WARM_UP = 2
# The loss of the peers: plain cross-entropy.
PLAIN = {"label_smoothing": 0.0}
CPU = torch.device("cpu")
# JoeyNMT's ids of our special tokens, in their order; those of the others are ours.
JOEYNMT = torch.tensor([1, 3, 0, 2])
JOEYNMT_BOS = 2


def drawn(objective: str, updates: int, tokens: int) -> tuple[Text, list[np.ndarray]]:
    """A text, and the sentences of each update, starting with the warm-up."""
    text = draw_pairs(2000, N_TOKENS, translated=objective == "mt")
    return text, list(islice(forever(text, tokens, seed=1), WARM_UP + updates))


def work(objective: str, d: int, layers: int, updates: int, tokens: int) -> Work:
    """Three times the operations of reading, since a backward pass needs two matrix products for
    each; and the output layer, 2 d V operations, only where something is predicted."""
    text, batches = drawn(objective, updates, tokens)
    read = text.select(np.concatenate(batches[WARM_UP:]))
    n = read.source.lengths.sum()
    predicted = {"lm": n, "mlm": 0.15 * (n - len(read.source))}
    flop = encoder_flop(read.source, d, layers, causal=objective == "lm")
    if objective == "mt":
        flop += decoder_flop(read.source, read.target, d, layers)
        predicted["mt"] = read.target.lengths.sum()
    flop += 2 * d * (N_TOKENS + N_SPECIAL) * predicted[objective]
    return Work(items=n, flop=3 * flop, dtype=COARSE)


def timed(update: Callable, batches: list[np.ndarray]) -> tuple[float, float]:
    """Seconds of the updates after the warm-up, and the last loss in nats."""
    for step, sentences in enumerate(batches):
        if step == WARM_UP:
            start = time.process_time()
        loss = update(sentences, step + 1)
    loss = float(loss)
    return time.process_time() - start, loss


def ours(
    objective: str, precision: str, d: int, layers: int, updates: int, tokens: int
) -> tuple[float, float]:
    text, batches = drawn(objective, updates, tokens)
    decoder_layers = layers if objective == "mt" else 0
    loaded = objectives.load(objective, PLAIN)
    settings = Training(
        batch_tokens=tokens,
        max_tokens=10**9,
        warmup_steps=500,
        learning_rate=2e-3,
        schedule="inverse_sqrt",
        optimizer="adam",
        evaluate_every_steps=10**9,
        patience=5,
        dev_seed=1,
        precision=precision,
    )
    with tempfile.TemporaryDirectory() as scratch:
        trainer = Trainer(
            model(N_TOKENS, d, layers, decoder_layers, causal=loaded.causal),
            loaded,
            text,
            text,
            settings,
            1,
            Checkpoint(Path(scratch), {"run": "benchmark"}),
        )

        def update(sentences: np.ndarray, step: int) -> torch.Tensor:
            trainer.set_rate(Progress(step=step))
            return trainer.update(sentences, step)

        return timed(update, batches)


def transformers_model(objective: str, d: int, layers: int) -> torch.nn.Module:
    """A model of the family nearest to ours, with the same shape, dropout and vocabulary."""
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        GPT2Config,
        GPT2LMHeadModel,
        MarianConfig,
        MarianMTModel,
    )

    sizes = {"vocab_size": N_TOKENS + N_SPECIAL}
    tokens = {"pad_token_id": PAD, "eos_token_id": EOS, "bos_token_id": EOS}
    if objective == "mlm":
        sizes |= {"hidden_size": d, "num_hidden_layers": layers, "intermediate_size": 4 * d}
        dropout = {"attention_probs_dropout_prob": 0.0}
        return BertForMaskedLM(BertConfig(**sizes, num_attention_heads=HEADS, **dropout))
    if objective == "lm":
        sizes |= {"n_embd": d, "n_layer": layers, "n_head": HEADS}
        return GPT2LMHeadModel(GPT2Config(**sizes, **tokens, attn_pdrop=0.0))
    sides = {}
    for side in ("encoder", "decoder"):
        sides[f"{side}_layers"] = layers
        sides[f"{side}_attention_heads"], sides[f"{side}_ffn_dim"] = HEADS, 4 * d
    tokens["decoder_start_token_id"] = PAD
    return MarianMTModel(MarianConfig(**sizes, **tokens, **sides, d_model=d))


def arguments(objective: str, example: Example) -> dict[str, torch.Tensor]:
    """The arguments for a model of transformers; GPT-2 shifts the labels itself."""
    ids = torch.from_numpy(example.source)
    if objective == "lm":
        labels = ids.masked_fill(ids == PAD, IGNORE)
    else:
        labels = torch.from_numpy(example.labels)
    return {"input_ids": ids, "attention_mask": (ids != PAD).long(), "labels": labels}


def plain_loop(
    objective: str, d: int, layers: int, updates: int, tokens: int
) -> tuple[float, float]:
    """The training loop of the documentation, with the same autocast and Adam."""
    text, batches = drawn(objective, updates, tokens)
    torch.manual_seed(1)
    peer = transformers_model(objective, d, layers).train()
    optimizer = torch.optim.Adam(peer.parameters(), lr=1e-4, fused=True)
    loaded = objectives.load(objective, PLAIN)

    def update(sentences: np.ndarray, step: int) -> float:
        example = loaded.example(
            *text.batch(sentences), N_TOKENS + N_SPECIAL, generator(1, "benchmark", step)
        )
        with autocast(CPU, "auto"):
            loss = peer(**arguments(objective, example)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return timed(update, batches)


def joeynmt_model(d: int, layers: int) -> torch.nn.Module:
    """JoeyNMT's Transformer with the same shape, dropout and vocabulary."""
    from joeynmt.model import build_model
    from joeynmt.transformer_layers import MultiHeadedAttention
    from joeynmt.vocabulary import Vocabulary

    names = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    ids = {"unk_id": 0, "pad_id": 1, "bos_id": JOEYNMT_BOS, "eos_id": 3}
    specials = SimpleNamespace(**names, **ids, sep_token=None, lang_tags=[])
    vocabulary = Vocabulary([str(number) for number in range(N_TOKENS)], specials)
    shape = {"num_layers": layers, "num_heads": HEADS, "hidden_size": d, "ff_size": 4 * d}
    side = {"type": "transformer", "dropout": 0.1, "embeddings": {"embedding_dim": d}, **shape}
    peer = build_model({"encoder": side, "decoder": side}, vocabulary, vocabulary)
    peer.loss_function = ("crossentropy", 0.0)
    for part in peer.modules():
        if isinstance(part, MultiHeadedAttention):
            part.dropout.p = 0.0
    return peer


def joeynmt_loop(d: int, layers: int, updates: int, tokens: int) -> tuple[float, float]:
    """JoeyNMT's step of training on its batches, with the same autocast and Adam."""
    from joeynmt.batch import Batch

    text, batches = drawn("mt", updates, tokens)
    torch.manual_seed(1)
    peer = joeynmt_model(d, layers).train()
    optimizer = torch.optim.Adam(peer.parameters(), lr=1e-4, fused=True)
    ids = torch.cat([JOEYNMT, torch.arange(N_SPECIAL, N_TOKENS + N_SPECIAL)])

    def update(sentences: np.ndarray, step: int) -> float:
        source, target = (ids[torch.from_numpy(side)] for side in text.batch(sentences))
        begin = torch.full((len(target), 1), JOEYNMT_BOS)
        batch = Batch(
            src=source,
            src_length=(source != JOEYNMT[PAD]).sum(1),
            src_prompt_mask=None,
            trg=torch.cat([begin, target], dim=1),
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=CPU,
            pad_index=int(JOEYNMT[PAD]),
            eos_index=int(JOEYNMT[EOS]),
        )
        batch.sort_by_src_length()
        with autocast(CPU, "auto"):
            summed, *_ = peer(return_type="loss", **vars(batch))
        loss = batch.normalize(summed, "tokens")
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return timed(update, batches)


def tasks() -> Iterator[tuple[str, Task]]:
    for objective, peer, target in (
        ("mlm", "BERT", "3 times"),
        ("lm", "GPT-2", "1.5 times"),
        ("mt", "Marian", "1.5 times"),
    ):
        size = {"layers": 6, "updates": 8, "tokens": 2048}
        small = {"layers": 2, "updates": 3, "tokens": 256}
        joeynmt = {"JoeyNMT": Contender(joeynmt_loop, package="joeynmt")}
        yield (
            f"training {objective}",
            Task(
                target=f"{target}; share of the ceiling stated",
                item="source tokens",
                value="last loss, nats",
                work=partial(work, objective),
                contenders={
                    "bottomup": Contender(partial(ours, objective, "auto")),
                    f"transformers' {peer}": Contender(partial(plain_loop, objective)),
                    **(joeynmt if objective == "mt" else {}),
                    "bottomup, float32": Contender(partial(ours, objective, "float32")),
                },
                sizes=[{"d": d} | size for d in (64, 128, 256)],
                small=[{"d": d} | small for d in (16, 32, 64)],
            ),
        )


TASKS = dict(tasks())
