"""Blocks of documents for the jackknife: intervals on held-out text leave out a block at a time.

Sentences of one document depend on each other; documents hardly do. Leaving out blocks instead of
single documents costs the same however many documents there are.
"""

import heapq

import numpy as np
import pandas as pd

from bottomup.core.seeds import generator

N_BLOCKS = 20


def deal(documents: pd.Series, seed: int, named: bool = False) -> np.ndarray:
    """The block of each sentence, int8 `[n_sentences]`, 0 to `N_BLOCKS` - 1 at most.

    documents: the document of each sentence. Whole documents are dealt, the longest first and
    otherwise in random order, each to the block with the fewest sentences. If every sentence is its
    own document, documents are not known, and a block is a contiguous part of the text; but not if
    they are `named`, as where each is one passage. With fewer documents than blocks, each document
    is a block.
    """
    codes, names = pd.factorize(documents)
    if (n := len(documents)) == len(names) and not named:
        return (np.arange(n) * min(N_BLOCKS, n) // max(n, 1)).astype(np.int8)
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
