"""Models and texts of a few numbers, for the rooms from the model to the views."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer

from bottomup import objectives
from bottomup.core.settings import Model, Trunk
from bottomup.core.trunks import OF_LAYER
from bottomup.corpus import bpe
from bottomup.corpus.batches import Text
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.corpus.words import learn
from bottomup.model.configuration import TransformerConfig
from bottomup.model.transformer import Transformer
from bottomup.model.trunks import TrunkModel
from bottomup.objectives import Example
from bottomup.training.loss import summed_loss
from bottomup.training.run import initial_model

ROOT = Path(__file__).parents[1]
SHAPE = {
    "layers": 2,
    "heads": 2,
    "d_model": 16,
    "d_ff": 32,
    "dropout": 0.0,
    "attention_dropout": 0.0,
}
DROPOUT = {"dropout": 0.1, "attention_dropout": 0.1}
VOCAB = 20


def initial(
    objective: str, seed: int = 1, vocab: int = VOCAB, trunk: str | None = None, **shape
) -> Transformer | TrunkModel:
    """The model before training, as an objective needs it; a Transformer without `trunk`."""
    loaded, shape = objectives.load(objective, {}), shape_of(trunk, **shape)
    return initial_model(shape, loaded, seed, {"source": vocab, "target": vocab})


def shape_of(trunk: str | None = None, **shape) -> Model | Trunk:
    """The shape of a tiny model; a Transformer's without `trunk`."""
    shape = SHAPE | shape
    if trunk is None:
        return Model(**shape)
    of_trunk = {key: shape[key] for key in ("layers", "d_model", "dropout")}
    return Trunk(trunk=trunk, of_layer=OF_LAYER[trunk], **of_trunk)


def drawn(objective: str, seed: int = 1, scale: float = 0.3, **shape) -> Transformer | TrunkModel:
    """A model for evaluation in which no bias is 0 and no norm's weight is 1."""
    model = initial(objective, seed, **shape).eval()
    noise(model, seed, scale)
    return model


def noise(module: torch.nn.Module, seed: int = 0, scale: float = 0.3) -> torch.nn.Module:
    """Add normal noise to every parameter."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return module


def learned(model: torch.nn.Module, *examples: Example, steps: int = 100) -> float:
    """The mean loss of the last of some steps of Adam, each on all of an example in turn."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(steps):
        loss, count = summed_loss(model, examples[step % len(examples)], smoothing=0.0)
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
    return loss.item() / count


def model_of(**config) -> Transformer:
    """A model of any configuration."""
    shape = {"encoder_layers": 1, "heads": 2, "d_model": 16, "d_ff": 32}
    return Transformer(TransformerConfig(**shape | config))


def tokens_of(sentences: list[list[int]]) -> TokenFile:
    """Sentences, given without </s>, as a token file in memory; each token is a word."""
    return TokenFile(
        ids=np.array([i for s in sentences for i in [*s, EOS]], dtype=np.int32),
        words=np.array([i for s in sentences for i in [*range(len(s)), -1]], dtype=np.int32),
        offsets=np.cumsum([0, *(len(s) + 1 for s in sentences)], dtype=np.int64),
    )


def written(folder: Path, texts: list[str], **columns: list[str]) -> Tokenizer:
    """Write texts, with more columns, to test.parquet, and to words.json the tokenizer that has
    each of their words as one token, which it returns."""
    pd.DataFrame({"source": texts, **columns}).to_parquet(folder / "test.parquet")
    words = learn([texts], bpe.learn([texts], 5, lowercase=True, language="en"))
    words.save(str(folder / "words.json"))
    return words


def random_tokens(
    n: int, seed: int = 0, low: int = 1, high: int = 8, vocab: int = VOCAB
) -> TokenFile:
    """`n` sentences of `low` to `high` uniformly drawn sub-words."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(low, high + 1, n)
    return tokens_of([rng.integers(N_SPECIAL, vocab, length).tolist() for length in lengths])


def random_text(n: int, seed: int = 0, translated: bool = False, **limits) -> Text:
    """A split of `n` sentences, with a target side if `translated`."""
    target = random_tokens(n, seed + 1000, **limits) if translated else None
    return Text(random_tokens(n, seed, **limits), target)


def ids_of(sentences: list[list[int]]) -> torch.Tensor:
    """Sentences, given without </s>, as padded ids `[batch, length]`."""
    longest = max(len(s) for s in sentences) + 1
    return torch.tensor([[*s, EOS] + [PAD] * (longest - len(s) - 1) for s in sentences])


@contextmanager
def files_limited_to(n_bytes: int) -> Iterator[None]:
    """Writing more fails, as on a disk that is nearly full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def same_bytes(a: dict, b: dict) -> bool:
    """Whether two state dicts hold the same names and the same bits."""
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def plausible(count: int, n: int, p: float) -> bool:
    """Whether `count` of `n` is within 5 standard deviations of a binomial with `p`.

    A right program fails once in 1.7 million seeds; the seeds are fixed, so it never does.
    """
    return abs(count - n * p) <= 5 * (n * p * (1 - p)) ** 0.5
