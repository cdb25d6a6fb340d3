"""Beam search in batches, with cached keys and values."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from bottomup.corpus.specials import EOS, N_SPECIAL
from bottomup.model.transformer import Cache, Transformer, padding_mask


@torch.inference_mode()
def translate(
    model: Transformer, source: Tensor, beam_size: int, length_penalty: float, max_length: int
) -> list[list[int]]:
    """The best hypothesis found for each source sentence, as target ids without </s>.

    source: padded ids `[batch, length]`. A hypothesis of n tokens, including </s>, scores
    log p / ((5 + n) / 6)^length_penalty (Wu et al. 2016, equation 14); n is at most `max_length`.
    A hypothesis ends where </s> is among the `beam_size` best continuations of its sentence, or at
    `max_length`. If every prefix could end, the best hypothesis would often be empty (Stahlberg and
    Byrne 2019, "On NMT Search Errors and Model Errors"). A sentence is done when no open hypothesis
    can score higher than its best finished one. So a beam of one, which takes the likeliest token
    each time, may go on after </s> was that, with the likeliest other one.
    """
    states = model.encoder(source).states
    # Attention reads keys and values of a head up to twice as fast where they follow each other.
    memory = map_cache(model.decoder.project_memory(states), Tensor.contiguous)
    mask = padding_mask(source)
    batch = len(source)
    best_score = [float("-inf")] * batch
    best: list[list[int]] = [[] for _ in range(batch)]
    alive = torch.arange(batch)  # the sentence of each row of `scores`
    scores = states.new_zeros(batch, 1)  # log p of each open hypothesis, [alive, beams]
    tokens = source.new_empty(batch, 1, 0)  # their tokens, [alive, beams, length]
    cache: Cache | None = None
    last = None
    for length in range(1, max_length + 1):
        state, cache = model.decoder.step(last, memory, mask, cache)
        logits = model.head(state).float().unflatten(0, scores.shape)  # [alive, beams, vocab]
        before = scores - logits.logsumexp(dim=-1)
        ended, beam = (before + logits[..., EOS]).max(dim=1)
        words = logits[..., N_SPECIAL:]
        top, word = words.topk(min(beam_size, words.shape[-1]), dim=-1)
        totals = (before[..., None] + top).flatten(1)
        width = min(beam_size, totals.shape[1])
        scores, flat = totals.topk(width, dim=1)
        ends = (ended >= scores[:, -1]) | (width < beam_size or length == max_length)
        ended = torch.where(ends, ended / penalty(length, length_penalty), float("-inf"))
        for row, sentence in enumerate(alive.tolist()):
            if ended[row] > best_score[sentence]:
                best_score[sentence] = float(ended[row])
                best[sentence] = tokens[row, beam[row]].tolist()

        parents, newest = flat // top.shape[-1], N_SPECIAL + word.flatten(1).gather(1, flat)
        # Log probabilities only fall, so the longest length gives the best score still possible.
        reachable = scores[:, 0] / penalty(max_length, length_penalty)
        going = reachable.cpu() > torch.tensor([best_score[s] for s in alive.tolist()])
        if not going.any():
            break
        rows = torch.arange(len(alive))[going].to(source.device)
        flat_rows = (rows[:, None] * tokens.shape[1] + parents[rows]).flatten()
        tokens = torch.cat(
            [tokens.flatten(0, 1)[flat_rows].unflatten(0, (-1, width)), newest[rows, :, None]],
            dim=2,
        )
        scores, alive, last = scores[rows], alive[going], newest[rows].flatten()
        # On whole rows, `index_select` is twice as fast as indexing.
        cache = map_cache(cache, partial(Tensor.index_select, dim=0, index=flat_rows))
        if not going.all():
            memory = map_cache(memory, partial(Tensor.index_select, dim=0, index=rows))
            mask = None if mask is None else mask[rows]
    return best


def map_cache(cache: Cache, change: Callable[[Tensor], Tensor]) -> Cache:
    """The cache with each of its tensors changed."""
    return [(change(keys), change(values)) for keys, values in cache]


def penalty(length: int, length_penalty: float) -> float:
    """The divisor of the log probability of `length` tokens."""
    return ((5 + length) / 6) ** length_penalty
