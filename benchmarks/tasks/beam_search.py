"""Beam search with four hypotheses, for a fixed number of steps."""

import time

import numpy as np
import torch
from models import decoder_flop, encoder_flop, model
from synthetic import draw_lengths, draw_text
from task import Contender, Task, Work

from bottomup.corpus.batches import padded
from bottomup.corpus.specials import EOS, N_SPECIAL, PAD
from bottomup.corpus.tokens import TokenFile
from bottomup.model.beam_search import translate
from tasks.training import transformers_model

N_TOKENS, BEAM = 4000, 4
# Far below all other logits.
NEVER = -1000.0


def drawn(sentences: int, steps: int) -> TokenFile:
    rng = np.random.default_rng(1)
    return draw_text(draw_lengths(sentences, rng), N_TOKENS, rng)


def work(sentences: int, steps: int, d: int, layers: int) -> Work:
    """The source and its keys and values once; each hypothesis as a target of `steps` tokens, with
    the output layer (2 d V operations) at each step."""
    source = drawn(sentences, steps)
    rng = np.random.default_rng(1)
    target = draw_text(np.full(sentences, steps - 1), N_TOKENS, rng)
    again = 4 * d**2 * layers * source.lengths.sum() * (BEAM - 1)
    flop = encoder_flop(source, d, layers) - again
    flop += BEAM * decoder_flop(source, target, d, layers)
    flop += BEAM * 2 * d * (N_TOKENS + N_SPECIAL) * sentences * steps
    return Work(items=sentences, flop=flop)


def ours(sentences: int, steps: int, d: int, layers: int) -> tuple[float, float]:
    source = torch.from_numpy(padded(drawn(sentences, steps), np.arange(sentences)))
    translator = model(N_TOKENS, d, layers, layers).eval()
    with torch.no_grad():
        # The end depends on one neuron only, and nothing else depends on that neuron.
        translator.decoder.norm.bias[0], translator.decoder.norm.weight[0] = 1.0, 0.0
        translator.head.weight[:, 0] = 0.0
        translator.head.weight[EOS] = torch.eye(d)[0] * NEVER
    start = time.process_time()
    found = translate(translator, source, BEAM, 0.6, steps)
    return time.process_time() - start, float(np.mean([len(tokens) + 1 for tokens in found]))


def generate(sentences: int, steps: int, d: int, layers: int) -> tuple[float, float]:
    source = torch.from_numpy(padded(drawn(sentences, steps), np.arange(sentences)))
    torch.manual_seed(1)
    peer = transformers_model("mt", d, layers).eval()
    forced = {"min_new_tokens": steps, "max_new_tokens": steps, "num_beams": BEAM}
    start = time.process_time()
    found = peer.generate(
        source, attention_mask=(source != PAD).long(), length_penalty=0.6, **forced
    )
    return time.process_time() - start, found.shape[1] - 1.0


TASKS = {
    "beam search": Task(
        target="2 times",
        item="sentences",
        value="steps",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "generate of transformers' Marian": Contender(generate),
        },
        sizes=[{"sentences": n, "steps": 30, "d": 128, "layers": 6} for n in (25, 50, 100)],
        small=[{"sentences": n, "steps": 10, "d": 16, "layers": 2} for n in (4, 8, 16)],
    )
}
