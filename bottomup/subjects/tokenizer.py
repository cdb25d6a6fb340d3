"""The tokenizer of a checkpoint, which cuts text as its own file says."""

import json
import logging
from pathlib import Path

import tokenizers
from tokenizers.models import BPE
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import PreTokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers import PreTrainedTokenizerBase as Tokenizer
from transformers.utils import is_protobuf_available

from bottomup.core.errors import UserError
from bottomup.core.files import digest
from bottomup.subjects.admission import OFFLINE, admitted, first_line, seen

# Text that tokenizers cut differently: case, digits, marks, accents, spaces, other scripts.
SAMPLE = "The 1234 cats don't sit; w5 w10,\u00c9lan na\u00efve  x1y2 \u732b\n"
# Where mistral-common is installed, it would open a tekken.json, as a tokenizer that is neither a
# fast one nor one like others in Python.
OPTIONS = OFFLINE | {"mistral_format": False}
# The key of a tokenizer.json that only names the files of a tokenizer in Python.
IN_PYTHON = "in_python"
# What a tokenizer's model has from text.
LEARNED = {"vocab", "merges"}


def load(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, fast or in Python; UserError if there is none."""
    if _is_of_tokenizers(folder / "tokenizer.json"):
        with seen(folder) as shown:
            try:
                opened = AutoTokenizer.from_pretrained(shown, **OPTIONS)
            except Exception:  # of the family's class, which the file need not fit
                opened = PreTrainedTokenizerFast.from_pretrained(shown, **OFFLINE)
            return _from(_as_saved(opened, shown), folder)
    lacking = (
        f"no tokenizer in {folder} that transformers opens; expected tokenizer.json, or the files "
        "of the family's own tokenizer, such as vocab.txt, or vocab.json with source.spm and "
        "target.spm, and the packages that it needs"
    )
    if (folder / "tekken.json").exists():
        lacking += "; tekken.json is not read: add the tokenizer.json that is published beside it"
    with admitted(folder) as shown:
        try:
            opened = _from(AutoTokenizer.from_pretrained(shown, **OPTIONS), folder)
        except Exception as error:  # a damaged file can raise anything
            _require_protobuf(folder)
            line = first_line(error).replace(str(shown), str(folder))
            raise UserError(f"{lacking}: {line}") from error
    # Without any file, transformers makes a tokenizer without tokens; some need no file.
    files = {name for name in type(opened).vocab_files_names.values() if isinstance(name, str)}
    if files and not any((folder / name).exists() for name in files - {"tokenizer_config.json"}):
        raise UserError(lacking)
    return opened


def save(opened: Tokenizer, folder: Path) -> None:
    """Write a tokenizer as `load` reads it.

    Each model of a study has a tokenizer.json, on which its results depend. A tokenizer in Python
    has other files, so it names them there.
    """
    written = map(Path, opened.save_pretrained(folder))
    if not opened.is_fast:
        digests = {path.name: digest(path) for path in written if path.is_file()}
        (folder / "tokenizer.json").write_text(json.dumps({IN_PYTHON: digests}))


def _require_protobuf(folder: Path) -> None:
    """Raise UserError if the tokenizer is a file of SentencePiece's, and what reads it is missing.

    transformers itself then tries it as a file of tiktoken's, and asks for that package.
    """
    files = sorted(path.name for path in folder.glob("*.model"))
    if files and not is_protobuf_available():
        raise UserError(
            f"no tokenizer.json in {folder}, and transformers reads {' and '.join(files)} with the "
            "package protobuf, which is not installed; run pip install protobuf in the "
            "environment, or add the tokenizer.json that AutoTokenizer's save_pretrained writes "
            "where it is installed"
        )


def _is_of_tokenizers(path: Path) -> bool:
    """Whether a file is one that the package tokenizers opens, or ought to."""
    if not path.is_file():
        return False
    begins = f'{{"{IN_PYTHON}"'.encode()
    with path.open("rb") as file:  # it may be large
        return file.read(len(begins)) != begins


def _as_saved(opened: Tokenizer, folder: Path) -> Tokenizer:
    """A tokenizer that cuts text as tokenizer.json says.

    For some families transformers makes it anew by the family's rule, whatever the file says, such
    as for a model of Qwen's shape with the tokenizer of another.
    """
    saved = _without_dropout(tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")))
    if opened.is_fast:
        _without_dropout(opened.backend_tokenizer)
        if hasattr(opened, "set_src_lang_special_tokens"):  # the ends name a language
            saved.post_processor = opened.backend_tokenizer.post_processor
        if _cut_alike(opened.backend_tokenizer, saved):
            return opened
    # The class may name special tokens that the file lacks.
    known, names = saved.get_vocab(), opened.special_tokens_map
    names = {name: str(token) for name, token in names.items() if str(token) in known}
    logging.info(f"text is cut by tokenizer.json, not as {type(opened).__name__} would cut it")
    return PreTrainedTokenizerFast(tokenizer_object=saved, **names)


def _without_dropout(made: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    """The tokenizer, changed to cut a text each time in the same way, whatever training wanted."""
    if isinstance(made.model, BPE):
        made.model.dropout = None
    return made


def _state(part: Normalizer | PreTokenizer | None) -> bytes | None:
    """What is written of a part into tokenizer.json."""
    return None if part is None else part.__getstate__()


def _options(made: tokenizers.Tokenizer) -> dict:
    """What tokenizer.json says of the model beside its vocabulary, as far as it says anything."""
    model = json.loads(made.to_str())["model"]
    unsaid = (None, "")
    return {name: model[name] for name in model.keys() - LEARNED if model[name] not in unsaid}


def _cut_alike(made: tokenizers.Tokenizer, saved: tokenizers.Tokenizer) -> bool:
    # No sample has all that may be normalized or split in another way, or that is unknown.
    if _options(made) != _options(saved):
        return False
    for part in ("normalizer", "pre_tokenizer"):
        if _state(getattr(made, part)) != _state(getattr(saved, part)):
            return False
    try:
        return made.encode(SAMPLE).ids == saved.encode(SAMPLE).ids
    except Exception:  # its class may ask for tokens that the vocabulary lacks, and raise anything
        return False


def _from(tokenizer: Tokenizer, folder: Path) -> Tokenizer:
    """A tokenizer that is said to be from its folder, out of which some in Python copy files when
    they are saved."""
    tokenizer.name_or_path = str(folder)
    for name in () if tokenizer.is_fast else tokenizer.vocab_files_names:
        if isinstance(path := getattr(tokenizer, name, None), str):
            setattr(tokenizer, name, str(folder / Path(path).name))
    return tokenizer
