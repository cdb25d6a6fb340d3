"""Words as tokens, to compare subjects with different tokenizers.

The words are those that the sub-words of the source side make up (see `bpe`), each as one token. In
this form they are counted, drawn and annotated like sub-words.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

from tokenizers import Tokenizer, models, trainers

from bottomup.corpus.segmentation import MARK, cuts, unmarked
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

    The tokenizer starts with NFC, too, so its words are the same. Its offsets in text that is not
    in NFC would leave out combining marks.
    """
    texts = [unicodedata.normalize("NFC", text) for text in texts]
    shown, read = located(texts, tokenizer)
    for (text, places), encoding in zip(shown, tokenizer.encode_batch(read), strict=True):
        # Not encoding.word_to_chars, which searches all tokens for each word.
        word_spans: dict[int, tuple[int, int]] = {}
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            if word is not None:
                word_spans[word] = word_spans.get(word, (places[start], 0))[0], places[end]
        yield text, list(word_spans.values())


def located(
    texts: Sequence[str], tokenizer: object
) -> tuple[list[tuple[str, Sequence[int]]], list[str]]:
    """Texts without marks, and texts as the tokenizer reads them.

    With each text without marks comes the place in it of each character that the tokenizer reads,
    and of the end. Only our tokenizers of languages without spaces read marks; they end words
    there.
    """
    shown = [unmarked(text) for text in texts]
    if not (isinstance(tokenizer, Tokenizer) and cuts(tokenizer)):
        return [(text, range(len(text) + 1)) for text in shown], shown
    places = [[*accumulate((c != MARK for c in text), initial=0)] for text in texts]
    return [*zip(shown, places, strict=True)], [*texts]
