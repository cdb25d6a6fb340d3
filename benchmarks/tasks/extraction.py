"""Writing the representations of all layers to a file, against a forward pass that returns them."""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from models import encoder, encoder_flop
from synthetic import draw_pairs, occurrences_of
from task import Contender, Task, Work

from bottomup.corpus.batches import in_order
from bottomup.views.extraction import extract

N_TOKENS, BATCH_TOKENS = 4000, 4096


def work(sentences: int, d: int, layers: int) -> Work:
    """The encoder's operations, see `encoder_flop`, and two bytes written for each number."""
    text = draw_pairs(sentences, N_TOKENS, translated=False).source
    n = len(text.ids)
    return Work(n, flop=encoder_flop(text, d, layers), bytes=2 * n * (layers + 1) * d)


def ours(sentences: int, d: int, layers: int) -> tuple[float, float]:
    """As the workflow writes views: float16, in a file."""
    text = draw_pairs(sentences, N_TOKENS, translated=False).source
    subject, table = encoder(N_TOKENS, d, layers), occurrences_of(text, N_TOKENS)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "views.npy"
        start = time.process_time()
        extract(subject, text, table, file, "float16", BATCH_TOKENS, torch.device("cpu"))
        seconds = time.process_time() - start
        return seconds, float(np.abs(np.load(file, mmap_mode="r"), dtype=np.float64).mean())


def forward(sentences: int, d: int, layers: int) -> tuple[float, float]:
    """`output_hidden_states` of the same model, in the same batches; states are not kept."""
    text = draw_pairs(sentences, N_TOKENS, translated=False)
    encode = encoder(N_TOKENS, d, layers).encoder
    seconds = total = 0.0
    for part in in_order(text, BATCH_TOKENS):
        ids = torch.from_numpy(text.batch(part)[0])
        start = time.process_time()
        with torch.inference_mode():
            states = encode(ids, output_hidden_states=True).hidden_states
        seconds += time.process_time() - start
        inside = torch.from_numpy(np.arange(ids.shape[1]) < text.lengths[part, None] - 1)
        total += sum(layer[inside].double().abs().sum().item() for layer in states)
    n = (text.lengths - 1).sum() * (layers + 1) * d
    return seconds, total / n


TASKS = {
    "extraction": Task(
        target="within 1.25 times",
        item="tokens",
        value="mean size",
        work=work,
        contenders={
            "bottomup": Contender(ours),
            "forward, output_hidden_states": Contender(forward),
        },
        sizes=[{"sentences": n, "d": 128, "layers": 6} for n in (1000, 2000, 4000)],
        small=[{"sentences": n, "d": 16, "layers": 2} for n in (100, 200, 400)],
    )
}
