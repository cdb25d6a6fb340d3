from itertools import chain, islice, pairwise

import numpy as np
import pytest

from bottomup.core.errors import UserError
from bottomup.corpus import batches
from bottomup.corpus.batches import Text, epoch, forever, in_order, padded
from bottomup.corpus.specials import EOS, PAD
from tests.tiny import random_text, tokens_of

LIMIT = 60


@pytest.fixture(params=[False, True], ids=["source", "both sides"])
def text(request):
    return random_text(300, translated=request.param, high=20)


def padded_size(text, sentences):
    """Count x longest: of the wider side, where there are two."""
    return max(side.size for side in text.batch(sentences) if side is not None)


def test_padded_by_hand():
    tokens = tokens_of([[5, 6, 7], [8], [9, 10]])
    expected = [[9, 10, EOS, PAD], [5, 6, 7, EOS]]
    assert padded(tokens, np.array([2, 0])).tolist() == expected
    assert padded(tokens, np.array([1])).tolist() == [[8, EOS]]


def test_sides_stay_aligned():
    text = Text(tokens_of([[5, 6, 7], [8]]), tokens_of([[15], [18, 19]]))
    source, target = text.batch(np.array([1, 0]))
    assert source.tolist() == [[8, EOS, PAD, PAD], [5, 6, 7, EOS]]
    assert target.tolist() == [[18, 19, EOS], [15, EOS, PAD]]
    assert text.select(np.array([1])).batch(np.array([0]))[1].tolist() == [[18, 19, EOS]]
    assert text.lengths.tolist() == [4, 3]


@pytest.mark.parametrize("number", [0, 1])
def test_an_epoch_holds_every_sentence_once(text, number):
    found = np.concatenate(epoch(text, LIMIT, 1, number))
    assert sorted(found) == list(range(300))


def test_in_order_holds_every_sentence_once_by_length(text):
    found = np.concatenate(in_order(text, LIMIT))
    assert sorted(found) == list(range(300))
    assert (np.diff(text.lengths[found]) >= 0).all()


def test_batches_are_as_large_as_the_limit_allows(text):
    """Closed when one more sentence would not fit."""
    ordered = in_order(text, LIMIT)
    assert all(padded_size(text, sentences) <= LIMIT for sentences in ordered)
    for this, following in pairwise(ordered):
        longest = max(text.lengths[this].max(), text.lengths[following[0]])
        assert (len(this) + 1) * longest > LIMIT
    assert all(padded_size(text, sentences) <= LIMIT for sentences in epoch(text, LIMIT, 1, 0))


def test_by_hand():
    text = Text(tokens_of([[5] * n for n in (1, 5, 2, 1, 3)]))
    found = [sentences.tolist() for sentences in in_order(text, 8)]
    # Lengths with </s>: 2 2 3 4 6. 2 x 2 fit, 3 x 3 do not; 3 + 4 make 2 x 4; 6 stands alone.
    assert found == [[0, 3], [2, 4], [1]]


def test_a_batch_holds_like_lengths(text):
    """Less than a tenth is padding; drawn at random, a third would be."""
    found = epoch(text, LIMIT, 1, 0)
    assert text.lengths.sum() > 0.9 * sum(
        len(sentences) * text.lengths[sentences].max() for sentences in found
    )


def test_batches_come_in_random_order(text):
    longest = [text.lengths[sentences].max() for sentences in epoch(text, LIMIT, 1, 0)]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.5


def test_pools_are_sorted_apart(monkeypatch, text):
    monkeypatch.setattr(batches, "POOL", 100)
    found = epoch(text, LIMIT, 1, 0)
    assert sorted(np.concatenate(found)) == list(range(300))
    assert all(padded_size(text, sentences) <= LIMIT for sentences in found)


def equal(a, b):
    a, b = list(a), list(b)
    return len(a) == len(b) and all(map(np.array_equal, a, b))


def test_seed_and_epoch_decide(text):
    assert equal(epoch(text, LIMIT, 1, 0), epoch(text, LIMIT, 1, 0))
    assert not equal(epoch(text, LIMIT, 1, 0), epoch(text, LIMIT, 2, 0))
    assert not equal(epoch(text, LIMIT, 1, 0), epoch(text, LIMIT, 1, 1))


def test_forever_is_epoch_after_epoch(text):
    epochs = [epoch(text, LIMIT, 1, number) for number in range(2)]
    assert equal(islice(forever(text, LIMIT, 1), sum(map(len, epochs))), chain(*epochs))


def test_short_sentences_first(text):
    """Each length until its source tokens are read; then all sentences."""
    whole = int(text.source.lengths.sum())
    short_first = [(5, whole // 4), (12, whole)]
    longest = {5: 0, 12: 0, int(text.lengths.max()): 0}
    read = 0
    for sentences in islice(forever(text, LIMIT, 1, short_first), 300):
        limit = next((length for length, until in short_first if read < until), max(longest))
        longest[limit] = max(longest[limit], text.lengths[sentences].max())
        read += text.source.lengths[sentences].sum()
    assert longest == {length: length for length in longest}


def test_short_sentences_come_again_in_new_orders():
    """Batches of one sentence: 72 tokens are 12 of the 4 short ones, hence three epochs."""
    text = Text(tokens_of([[5] * 5] * 4 + [[5] * 9] * 4))
    found = [int(sentences[0]) for sentences in islice(forever(text, 10, 1, [(6, 72)]), 20)]
    epochs = [found[:4], found[4:8], found[8:12], found[12:]]
    assert [sorted(numbers) for numbers in epochs] == [[*range(4)]] * 3 + [[*range(8)]]
    assert len({*map(tuple, epochs)}) == 4


def test_no_sentence_is_short_enough(text):
    with pytest.raises(UserError) as error:
        next(forever(text, LIMIT, 1, [(int(text.lengths.min()) - 1, 100)]))
    assert "training.short_first" in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("longer", ["source", "target"])
def test_a_sentence_that_fits_into_no_batch(longer):
    sides = {"source": tokens_of([[5], [6]]), "target": tokens_of([[5], [6]])}
    sides[longer] = tokens_of([[5], [6] * 10])
    with pytest.raises(UserError) as error:
        next(forever(Text(**sides), 10, seed=1))
    assert "11 tokens" in str(error.value) and "training.batch_tokens" in str(error.value)
    assert "corpus.splits.packed_words" in str(error.value), "what a passage is as long as"
    assert "\n" not in str(error.value)
    assert next(forever(Text(**sides), 11, seed=1)).size
    assert [batch.tolist() for batch in in_order(Text(**sides), 10)] == [[0], [1]]


def test_digest_changes_with_every_token_and_boundary():
    texts = [
        Text(tokens_of([[5, 6], [7]])),
        Text(tokens_of([[5, 6], [8]])),
        Text(tokens_of([[7], [5, 6]])),
        Text(tokens_of([[5, 6, 7]])),
        Text(tokens_of([[5, 6], [7]]), tokens_of([[5], [7]])),
        Text(tokens_of([[5, 6], [7]]), tokens_of([[5], [8]])),
        Text(tokens_of([[5], [7]]), tokens_of([[5, 6], [7]])),
    ]
    assert len({text.digest() for text in texts}) == len(texts)
    assert Text(tokens_of([[5, 6], [7]])).digest() == texts[0].digest()
