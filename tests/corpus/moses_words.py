"""The words of a text, with a space between each two."""

import functools

from tokenizers import Regex, pre_tokenizers

from bottomup.corpus.bpe import word_pattern


@functools.cache
def splitter(language):
    return pre_tokenizers.Split(Regex(word_pattern(language)), behavior="removed", invert=True)


def words(text, language):
    return " ".join(word for word, _ in splitter(language).pre_tokenize_str(text))
