"""Words as tokens: what subjects with several tokenizers are compared by.

Words are those that the source side's sub-words are made of (see `bpe`), each a token of its own.
In this form they are counted, drawn and annotated as sub-words are.
"""

import unicodedata
from collections.abc import Iterable

from tokenizers import Tokenizer, models, trainers

from bottomup.corpus.specials import SPECIALS, UNK


def learn(batches: Iterable[list[str]], tokenizer: Tokenizer) -> Tokenizer:
    """A tokenizer that has each word of a text as one token.

    batches: the text, lists of sentences; tokenizer: that of the side, whose normalization, words
    and </s> it shares. Words that the text does not have are unknown to it.
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
    """Each text, and where its words stand in it: start and end, in characters.

    The tokenizer starts with NFC, so its words are the same; but its offsets in other text leave
    combining marks out.
    """
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    for text, encoding in zip(texts, tokenizer.encode_batch(texts), strict=True):
        # Not by encoding.word_to_chars, which looks through all tokens for each word.
        found: dict[int, tuple[int, int]] = {}
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            if word is not None:
                found[word] = found.get(word, (start, end))[0], end
        yield text, list(found.values())
