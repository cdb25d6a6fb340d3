from collections.abc import Sequence
from itertools import product

import pytest
import torch
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.model.beam_search import penalty, translate
from tests.tiny import drawn, ids_of

WORDS = range(N_SPECIAL, N_SPECIAL + 3)
LONGEST = 4  # with </s>: 1 + 3 + 9 + 27 hypotheses
SEEDS = range(6)
SOURCES = [[4, 5, 6, 4, 5], [6], [5, 5, 4], [], [4, 6]]


def model_of(seed: int):
    """A model whose predictions are far from uniform."""
    return drawn("mt", seed, scale=0.5, vocab=N_SPECIAL + len(WORDS))


@torch.inference_mode()
def log_p(model, source: list[int], hypothesis: Sequence[int]) -> list[float]:
    """Log probability of each token of the hypothesis, and of </s> after each prefix."""
    target = ids_of([list(hypothesis)])
    logs = model.head(model(ids_of([source]), target)[0]).log_softmax(dim=1)
    return logs[torch.arange(target.shape[1]), target[0]].tolist()


def score(total: float, hypothesis: Sequence[int], length_penalty: float) -> float:
    """Of a hypothesis whose log probabilities have this sum."""
    return total / ((5 + len(hypothesis) + 1) / 6) ** length_penalty


def best(totals: dict[tuple[int, ...], float], length_penalty: float) -> list[int]:
    """Of hypotheses with the sums of their log probabilities."""
    return list(max(totals, key=lambda h: score(totals[h], h, length_penalty)))


@pytest.mark.parametrize("seed", SEEDS)
def test_wide_beam_is_exhaustive(seed):
    """In one batch with padding, whose sentences end at different lengths."""
    model = model_of(seed)
    hypotheses = [h for n in range(LONGEST) for h in product(WORDS, repeat=n)]
    assert len(hypotheses) == 40
    totals = [{h: sum(log_p(model, source, h)) for h in hypotheses} for source in SOURCES]
    for length_penalty in (0.0, 0.6, 2.0, 5.0):
        found = translate(model, ids_of(SOURCES), 27, length_penalty, LONGEST)
        assert found == [best(of_source, length_penalty) for of_source in totals]


def test_the_cases_above_differ_in_length():
    lengths = {
        len(hypothesis)
        for seed in SEEDS
        for hypothesis in translate(model_of(seed), ids_of(SOURCES), 27, 2.0, LONGEST)
    }
    assert lengths == set(range(LONGEST))


@pytest.mark.parametrize("seed", range(8))
def test_beam_of_one_takes_the_likeliest_token(seed):
    """Until that is </s>, if nothing longer scores higher."""
    model = model_of(seed)
    for source, found in zip(SOURCES, translate(model, ids_of(SOURCES), 1, 0.6, 8), strict=True):
        greedy: tuple[int, ...] = ()
        while len(greedy) < 7:
            word = max(WORDS, key=lambda w: log_p(model, source, (*greedy, w))[-2])
            *_, of_word, _ = log_p(model, source, (*greedy, word))
            if log_p(model, source, greedy)[-1] > of_word:
                break
            greedy = (*greedy, word)
        assert found == list(greedy)


class Fixed(torch.nn.Module):
    """Predicts the same after every prefix."""

    def __init__(self, chances: dict[int, float]):
        super().__init__()
        self.logits = torch.tensor([chances.get(i, 1e-9) for i in range(max(chances) + 1)]).log()

    def forward(self, states):
        return self.logits.expand(*states.shape[:-1], -1)


@pytest.mark.parametrize(("length_penalty", "length"), [(0.0, 0), (0.6, 1)])
def test_a_beam_of_one_goes_on_where_a_longer_sentence_scores_higher(length_penalty, length):
    """log 0.4 = -0.92 for nothing; log 0.39 + log 0.99 = -0.95 for a word, over 1.1."""
    model, steps = model_of(0), iter([{EOS: 0.4, N_SPECIAL: 0.39}, *[{EOS: 0.99}] * 9])
    model.head = torch.nn.Module()
    model.head.forward = lambda states: Fixed({N_SPECIAL: 0.01} | next(steps))(states)
    assert len(translate(model, ids_of([[4, 5]]), 1, length_penalty, 8)[0]) == length


@pytest.mark.parametrize("beam_size", [1, 2])
def test_an_unlikely_end_is_none_though_a_short_whole_scores_best(beam_size):
    model = model_of(0)
    # log 0.01 = -4.6 for nothing at all, 7 log 0.33 + log 0.01 = -12.4 for seven words, over 1.6.
    model.head = Fixed({EOS: 0.01} | dict.fromkeys(WORDS, 0.33))
    assert len(translate(model, ids_of([[4, 5]]), beam_size, 0.6, 8)[0]) == 7
    # Where it is the second best, a beam of two may end at once.
    model.head = Fixed({EOS: 0.3, N_SPECIAL: 0.5, N_SPECIAL + 1: 0.2})
    assert len(translate(model, ids_of([[4, 5]]), beam_size, 0.0, 8)[0]) == (7, 0)[beam_size - 1]


class Prefixes(PreTrainedModel, GenerationMixin):
    """A model with its source sentences, for the search of transformers."""

    def __init__(self, model, source):
        ids = {"eos_token_id": EOS, "pad_token_id": PAD}
        super().__init__(PreTrainedConfig(**ids, vocab_size=len(model.head.weight)))
        self.model, self.source = model, source

    def prepare_inputs_for_generation(self, input_ids, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **_):
        # A first token stands before all prefixes; </s> ends what the model reads.
        target = torch.cat([input_ids[:, 1:], torch.full_like(input_ids[:, :1], EOS)], dim=1)
        source = self.source.repeat_interleave(len(target) // len(self.source), dim=0)
        return CausalLMOutput(logits=self.model.head(self.model(source, target)))


@pytest.mark.long
@pytest.mark.parametrize("beam_size", [2, 4])
def test_it_finds_what_the_search_of_transformers_finds(beam_size):
    longest, different = 30, set()
    never = [i for i in range(N_SPECIAL) if i != EOS]
    rules = {"length_penalty": 0.0, "early_stopping": "never"}
    rules |= {"suppress_tokens": never, "do_sample": False, "use_cache": False}
    for seed in range(12):
        model, source = drawn("mt", seed, scale=0.5, vocab=N_SPECIAL + 8), ids_of(SOURCES)
        with torch.no_grad():
            model.head.weight[EOS] *= 2  # so that many sentences end
        start = torch.full((len(SOURCES), 1), N_SPECIAL)
        peer = Prefixes(model, source)
        theirs = peer.generate(start, num_beams=beam_size, max_new_tokens=longest, **rules)
        ours = translate(model, source, beam_size, 0.0, longest)
        for found, row in zip(ours, theirs[:, 1:].tolist(), strict=True):
            # A sentence without an end is cut off there, and here it ends by force.
            if EOS in row:
                assert found == row[: row.index(EOS)]
                different.add(tuple(found))
    assert len(different) > 5


@pytest.mark.parametrize("seed", range(3))
def test_wider_beams_score_no_worse_than_greedy(seed):
    model = model_of(seed)
    for source in SOURCES:
        found = [translate(model, ids_of([source]), beam, 0.6, LONGEST)[0] for beam in (1, 27)]
        scores = [score(sum(log_p(model, source, each)), each, 0.6) for each in found]
        assert scores[1] >= scores[0] - 1e-6


@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_neighbors_in_the_batch_do_not_matter(beam_size):
    for seed in range(3):
        model = model_of(seed)
        together = translate(model, ids_of(SOURCES), beam_size, 0.6, 10)
        alone = [translate(model, ids_of([s]), beam_size, 0.6, 10)[0] for s in SOURCES]
        backwards = translate(model, ids_of(SOURCES[::-1]), beam_size, 0.6, 10)
        assert together == alone == backwards[::-1]


def test_only_words_are_found():
    """Never a special token, however likely the model thinks it."""
    model = model_of(0)
    with torch.no_grad():
        model.head.weight[:N_SPECIAL] *= 10
    words = {i for h in translate(model, ids_of(SOURCES), 4, 0.6, 6) for i in h}
    assert words <= set(WORDS)


def test_length_is_at_most_the_limit():
    model = model_of(0)
    with torch.no_grad():
        model.head.weight[EOS] = 0
        model.head.weight[N_SPECIAL:] *= 10
    for longest in (1, 2, 5):
        found = translate(model, ids_of(SOURCES), 4, 5.0, longest)
        assert max(map(len, found)) == longest - 1


def test_penalty_by_hand():
    # Wu et al. 2016, equation 14: ((5 + 7) / 6)^0.6 = 2^0.6
    assert penalty(7, 0.6) == pytest.approx(2**0.6)
    assert penalty(1, 0.6) == 1.0
    assert penalty(40, 0.0) == 1.0
