"""Words, and byte-pair encoding of words into sub-words (Sennrich et al. 2016), one side at a time.

One Hugging Face `tokenizers` file holds the whole way from text to ids: normalization, words as the
Moses tokenizer cuts them, sub-words, and </s> at the end. In languages without spaces, words also
end at the marks of `segmentation`.

If spaces are kept, the mark of a word's start stands only where the text has a space (or starts),
as with SentencePiece, and the decoded ids are the text. Otherwise every word has it, as in the
papers, and which words had a space between them is lost.

Departures from Moses: there is no list of abbreviations, so a period ends its word unless single
letters and periods alternate (`e.g.`); the case of the next word does not matter; there are no
escapes such as `&apos;`; every language but French and Italian keeps an apostrophe with what
follows it; and joiners, marks and signs inside words are those of Unicode, in all languages.
Departure from subword-nmt: the mark is on the first sub-word of a word, not on all but the last.
"""

from collections.abc import Iterable

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from bottomup.core.languages import script
from bottomup.corpus.segmentation import MARK, base, spaced
from bottomup.corpus.specials import EOS, SPECIALS, UNK

# Marks the start of the first sub-word of a word.
WORD_START = "▁"
# A sigma after a letter and before none; marks and apostrophes may be between (Unicode, 3.13).
FINAL_SIGMA = r"(?<=[\p{L}\p{M}]|\p{L}['’.:·])Σ(?![\p{M}'’.:·]*\p{L})"
# Of these languages I is the capital of ı, and İ of i (Unicode, SpecialCasing).
DOTTED_I_LANGUAGES = frozenset(["az", "tr"])
# Characters inside words (Unicode, UAX #29). MARKS: combining marks, and format characters such as
# joiners, without the mark of `segmentation`. LETTERS: also signs of Armenian and Hebrew for sounds
# or stress. SIGNS stand between letters. So do DOT and QUOTES, but only in the languages or script
# that write words with them: elsewhere a dot multiplies and quotes quote.
MARKS = rf"\p{{M}}[\p{{Cf}}&&[^{MARK}]]"
LETTERS = rf"\p{{L}}՚՛՜՞׳{MARKS}"
SIGNS, DOT, DOTTED_LANGUAGES = "״՟‧", "·", frozenset(["ca", "oc"])
QUOTES, QUOTED_SCRIPT = "\"'", "Hebr"
# An apostrophe stays with the letters before it (l' homme), not with those after it (don 't).
ELIDING_LANGUAGES = frozenset(["fr", "it"])


def word_pattern(language: str) -> str:
    """The regular expression (of Oniguruma) whose matches, left to right, are a text's words."""
    letter, digit, inner = f"[{LETTERS}]", r"\p{N}", rf"[{LETTERS}\p{{N}}\-\u058a]"
    if base(language) in ELIDING_LANGUAGES:
        apostrophe = rf"{letter}+['’](?={letter})"
    else:
        apostrophe = rf"(?<=[{LETTERS}\p{{N}}])['’]{letter}+"
    signs = SIGNS + DOT * (base(language) in DOTTED_LANGUAGES)
    signs += QUOTES * (script(language) == QUOTED_SCRIPT)
    return "|".join(
        [
            r"\.{2,}",
            apostrophe,
            # e.g., though not at the end of the text, where the period ends the sentence
            rf"(?:\p{{L}}\.){{2,}}(?!{inner}|\s*$)",
            # numbers with periods and commas, names with periods, words with hyphens
            rf"\.?{inner}+(?:(?:\.|(?<={digit})[,٫٬](?={digit})|(?<={letter})[{signs}](?={letter}))"
            rf"{inner}+)*",
            rf"\S[{MARKS}]*",
        ]
    )


def learn(
    batches: Iterable[list[str]], merges: int, lowercase: bool, language: str, spaces: bool = False
) -> Tokenizer:
    """A tokenizer whose vocabulary is the specials, the text's characters, and `merges` merges.

    batches: the text as lists of sentences, read twice. spaces: whether to keep them. The same text
    gives the same bytes. A small text may have fewer merges to learn.
    """
    settings = lowercase, language, spaces
    characters = _train(batches, 0, *settings).get_vocab_size()
    return _train(batches, characters + merges, *settings)


def normalizer(lowercase: bool, language: str, spaces: bool = False) -> normalizers.Normalizer:
    """What a text becomes before it is cut into words; the arguments are those of `learn`."""
    return normalizers.Sequence(
        [
            normalizers.NFC(),
            *(_lower(language, spaces) if lowercase else []),
            normalizers.Replace(WORD_START, "_"),
            *([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()] if spaces else []),
        ]
    )


def _lower(language: str, spaces: bool) -> Iterable[normalizers.Normalizer]:
    """Lower case, before which comes what Rust's does otherwise than readers expect."""
    if spaces or script(language) == "Grek":
        yield normalizers.Replace(Regex(FINAL_SIGMA), "ς")
    if base(language) in DOTTED_I_LANGUAGES:
        yield normalizers.Replace("İ", "i")
        yield normalizers.Replace("I", "ı")
    yield normalizers.Lowercase()


def _train(
    batches: Iterable[list[str]],
    vocabulary_size: int,
    lowercase: bool,
    language: str,
    spaces: bool,
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=SPECIALS[UNK]))
    tokenizer.normalizer = normalizer(lowercase, language, spaces)
    word = f" ?(?:{word_pattern(language)})" if spaces else word_pattern(language)
    marks = [] if spaced(language) else [pre_tokenizers.Split(MARK, behavior="removed")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *marks,
            pre_tokenizers.Split(Regex(word), behavior="removed", invert=True),
            # Not the trainer's suffix for ends of words: with it, a letter that the training text
            # has only inside words would be unknown at the end of one.
            pre_tokenizers.Metaspace(
                WORD_START, prepend_scheme="first" if spaces else "always", split=False
            ),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {SPECIALS[EOS]}", special_tokens=[(SPECIALS[EOS], EOS)]
    )
    tokenizer.decoder = decoders.Metaspace(WORD_START, prepend_scheme="always")
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size, special_tokens=SPECIALS, show_progress=False
    )
    tokenizer.train_from_iterator(batches, trainer)
    return tokenizer
