"""Words as tokens, to compare subjects with different tokenizers.

The words are those that the sub-words of the source side make up (see `bpe`), each as one token. In
this form they are counted, drawn and annotated like sub-words.
"""

import unicodedata
from collections.abc import Iterable
from itertools import accumulate

from tokenizers import Encoding, Tokenizer, models, trainers

from bottomup.corpus.segmentation import MARK, cuts
from bottomup.corpus.specials import SPECIALS, UNK


def learn(batches: Iterable[list[str]], tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer that has each word of a text as one token.

    batches: the text as lists of sentences. tokenizer: that of the side; both share normalization,
    words and </s>. Words that are not in the text are unknown to it.
    """
    words = Tokenizer(models.WordLevel(unk_token=SPECIALS[UNK]))
    words.normalizer, words.post_processor = tokenizer.normalizer, tokenizer.post_processor
    words.pre_tokenizer, words.decoder = tokenizer.pre_tokenizer, tokenizer.decoder
    trainer = trainers.WordLevelTrainer(
        vocab_size=2**31 - 1, special_tokens=SPECIALS, show_progress=False
    )
    words.train_from_iterator(batches, trainer)
    return words


def spans(texts: list[str], tokenizer: Tokenizer) -> Iterable[tuple[str, list[tuple[int, int]]]]:
    """Each text in NFC without the marks of words, and the places of its words in it: start and
    end, in characters.

    The tokenizer also starts with NFC, so its words are the same; but its offsets in other text
    leave out combining marks.
    """
    for (text, places), encoding in zip(*located(texts, tokenizer), strict=True):
        # Not encoding.word_to_chars, which searches all tokens for each word.
        word_spans: dict[int, tuple[int, int]] = {}
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            if word is not None:
                word_spans[word] = word_spans.get(word, (places[start], 0))[0], places[end]
        yield text, list(word_spans.values())


def located(
    texts: list[str], tokenizer: Tokenizer
) -> tuple[list[tuple[str, list[int]]], list[Encoding]]:
    """Each text in NFC without the marks at which its words are cut, with the place in it of each
    character of the text with marks, and of its end; and the encodings, whose offsets are in the
    text with marks."""
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    mark = MARK if cuts(tokenizer) else None
    shown = [
        ("".join(c for c in text if c != mark), [*accumulate((c != mark for c in text), initial=0)])
        for text in texts
    ]
    return shown, tokenizer.encode_batch(texts)
