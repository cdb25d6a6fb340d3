"""Blocks of documents, which every interval on held-out text leaves out one at a time.

Sentences of one document are not independent of each other, documents nearly are. A block is what
a statistic can do without at a cost that does not grow with the number of documents.
"""

import heapq

import numpy as np
import pandas as pd

from bottomup.seeds import generator

N_BLOCKS = 20


def deal(documents: pd.Series, seed: int) -> np.ndarray:
    """The block of each sentence, int8 `[n_sentences]`, 0 to `N_BLOCKS` - 1 at most.

    documents: the document of each sentence. Whole documents are dealt, in random order but the
    longest first, each to the block that has fewest sentences. Where every sentence is its own
    document, documents are not known, and a block is a run of the text. With fewer documents than
    blocks, each is one.
    """
    codes, names = pd.factorize(documents)
    if len(names) == len(documents):
        return (np.arange(len(documents)) * N_BLOCKS // max(len(documents), 1)).astype(np.int8)
    lengths = np.bincount(codes)
    order = generator(seed, "blocks").permutation(len(names))
    order = order[np.argsort(-lengths[order], kind="stable")]
    sizes = [(0, block) for block in range(min(N_BLOCKS, len(names)))]
    block_of = np.empty(len(names), dtype=np.int8)
    for document in order:
        size, block = heapq.heappop(sizes)
        block_of[document] = block
        heapq.heappush(sizes, (size + lengths[document], block))
    return block_of[codes]
