"""Which parts of a checkpoint's folder transformers gets to see.

A config can make transformers fetch, install or run something: kernels, adapters, other files of
weights, code. So transformers never opens the folder itself. It opens a temporary one with

- config.json and tokenizer_config.json without the keys that say how a model is run (`MACHINERY`);
- the files of the tokenizer; special_tokens_map.json has only the keys that name tokens, since
  transformers takes others for arguments, such as another file of the vocabulary;
- model.safetensors, or the files that its index names, all of them bare names in the folder.

Before anything is built, the size that the config describes must fit the headers of the weights.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from math import prod
from pathlib import Path

import torch
from huggingface_hub import constants
from safetensors import safe_open
from torch.nn.modules.module import register_module_module_registration_hook

from bottomup.core.errors import UserError
from bottomup.core.names import INDEX, OF_TOKENIZERS, WEIGHTS
from bottomup.subjects.folder import AGAIN, model_type, read_json, require_file, require_weights

OFFLINE = {"local_files_only": True, "trust_remote_code": False}
CONFIGS = ("config.json", "tokenizer_config.json")
SPECIALS, NAMES_TOKENS = "special_tokens_map.json", ("_token", "_tokens")
# Keys that say how a model is run: attention, kernels, adapters, devices, formats of numbers and
# outputs, files, how much at once, and whether text is cut at random. They are left out, since
# `checkpoint` decides all that. They match as a whole: a key that only contains one may be part of
# a family's shape.
MACHINERY = re.compile(
    r"\w*implementation(_\w+)?|use_kernels|kernel_(config|mapping)|trust_remote_code|"
    r"(fusion|distributed|peft)_config|device_map|transformers_weights|\w*name_or_path|"
    r"_?commit_hash|adapter_kwargs|(torch_)?dtype|chat_template|\w*_files?|(use_)?return_dict|"
    r"enable_sampling|chunk_size_feed_forward"
)
# Keys without which a model would be another one: they name code, or say what weights mean.
CODE, QUANTIZED = "auto_map", re.compile(r"^(quantization|compression)_config$|^quant_method$")
# Keys by which a tokenizer gives another program files of any place: Sudachi's name libraries that
# it runs, MeCab's dictionaries and files of options.
OF_PROGRAMS = re.compile(r"sudachi_\w*(path|dir)|mecab_option")
# Keys that match COUNTS, but not SIZES, say how many parts are built; `MOST` is the most allowed.
COUNTS = re.compile(r"layer|block|expert|depth|group|stack")
SIZES = re.compile(r"size|vocab|len|dim|width|window|eps|_ids?$|freq|std|scale|every")
MOST = 2**15
# Other numbers that say how much is built: of labels, each of which gets a name, and in lists.
LABELS, MOST_LISTED = ("num_labels", "num_classes"), 2**20
MOST_PARTS = 2**18  # modules of a model; each takes some kB even without weights
# Buffers that older versions saved, which are no weights and may hold whole numbers.
BUFFERS = re.compile(
    r"(position_ids|token_type_ids|masked_bias|attn\.bias|attention\.bias|num_batches_tracked|"
    r"attn\.(causal_)?mask|relative_position_index|inv_freq)$"
)
NUMBERS = ("F64", "F32", "F16", "BF16")  # the types that weights may have
# By how many numbers a model may exceed twice its weights: it computes some itself, as positions.
SLACK = 2**26
LARGEST = 2**36  # numbers of a model without weights


@dataclass(frozen=True)
class Tensor:
    """What a header says of a tensor."""

    dtype: str
    shape: tuple[int, ...]


@contextmanager
def admitted(folder: Path, weights: bool = False) -> Iterator[Path]:
    """A context with a temporary folder: what transformers may see of the checkpoint in `folder`.

    Nothing is fetched while the context lasts. weights: whether the weights are there, too.

    Raises UserError for a checkpoint that is never opened, such as one that asks for code.
    """
    with tempfile.TemporaryDirectory(prefix="checkpoint") as temporary, _offline():
        seen = Path(temporary)
        for name in CONFIGS:
            if (folder / name).exists():
                (seen / name).write_text(json.dumps(_admissible(folder / name)))
        paths = {path for pattern in OF_TOKENIZERS for path in folder.glob(pattern)}
        paths = {path for path in paths if path.is_file()}
        if weights:
            require_weights(folder)
            paths |= {*weight_files(folder)}
            if not (folder / WEIGHTS).exists():
                index = read_json(folder / INDEX)
                (seen / INDEX).write_text(json.dumps({"metadata": {}, **_map_of(index, folder)}))
        for path in paths:
            if path.name == SPECIALS:
                named = {k: v for k, v in read_json(path).items() if k.endswith(NAMES_TOKENS)}
                (seen / SPECIALS).write_text(json.dumps(named))
            else:
                (seen / path.name).symlink_to(path.resolve())
        yield seen


def weight_files(folder: Path) -> list[Path]:
    """The files with the weights of a folder; UserError if its index names anything but safetensors
    files beside it."""
    if (folder / WEIGHTS).exists():
        require_file(folder / WEIGHTS)
        return [folder / WEIGHTS]
    names = sorted({*_map_of(read_json(folder / INDEX), folder)["weight_map"].values()})
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder / INDEX} names {name}, which is not there; {AGAIN}")
    return [folder / name for name in names]


def _map_of(index: dict, folder: Path) -> dict:
    weight_map = index.get("weight_map")
    names = [*weight_map.values()] if isinstance(weight_map, dict) else [None]
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[\w-][\w.-]*\.safetensors", name):
            raise UserError(
                f"{folder / INDEX} names {name!r} as a file of weights; allowed: names that end in "
                f".safetensors, of files in the same folder; {AGAIN}"
            )
    return {"weight_map": weight_map}


def header(folder: Path) -> dict[str, Tensor]:
    """The type and shape of each weight of a folder, by name, from the headers of its files; empty
    if it has none.

    Raises SafetensorError if a file is damaged.
    """
    tensors: dict[str, Tensor] = {}
    if not (folder / WEIGHTS).exists() and not (folder / INDEX).exists():
        return tensors
    for path in weight_files(folder):
        with safe_open(path, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118, it is no dictionary
                part = opened.get_slice(name)
                tensors[name] = Tensor(part.get_dtype(), tuple(part.get_shape()))
    return tensors


def require_size(folder: Path, size: int) -> None:
    """Raise UserError if a model of `size` numbers is far larger than the weights of a folder or,
    if it has none, larger than `LARGEST`."""
    tensors = header(folder)
    held = sum(prod(tensor.shape) for tensor in tensors.values())
    if size > (2 * held + SLACK if tensors else LARGEST):
        reason = f"its weights hold {held}" if tensors else f"at most {LARGEST} are built"
        raise UserError(
            f"{folder / 'config.json'} describes a model of {size} numbers, and {reason}; {AGAIN}"
        )


def require_numbers(folder: Path, learned: set[str], whole: set[str]) -> None:
    """Raise UserError if a weight is stored as anything but floating-point numbers.

    learned: the names of the weights, to tell them from buffers that older versions saved.
    whole: the last parts of the names of the model's own buffers of whole numbers, such as the
        expert of each token; a published checkpoint may have other parts before them.
    """
    wrong = {
        name: tensor.dtype
        for name, tensor in header(folder).items()
        if tensor.dtype not in NUMBERS
        and name.rpartition(".")[2] not in whole
        and (not BUFFERS.search(name) or any(name.endswith(weight) for weight in learned))
    }
    if wrong:
        name = min(wrong)
        raise UserError(
            f"weights in {folder} that are not stored as numbers that a model computes with: "
            f"{len(wrong)}, of which {name} is {wrong[name]}; allowed: {', '.join(NUMBERS)}. If "
            "they are quantized, load them where they were made, dequantize() the model, and "
            "save_pretrained it"
        )


def _admissible(path: Path) -> dict:
    """A config without machinery, at any depth."""

    def clean(value: object) -> object:
        if isinstance(value, list):
            return [clean(one) for one in value]
        return without(value) if isinstance(value, dict) else value

    def without(section: dict) -> dict:
        for key, inner in section.items():
            _refuse(path, str(key), inner)
        return {
            key: clean(inner)
            for key, inner in section.items()
            if not MACHINERY.fullmatch(key) and not QUANTIZED.search(key)
        }

    return without(read_json(path))


def _refuse(path: Path, key: str, value: object) -> None:
    """Raise UserError for a key of a config that no model may have."""
    if key == CODE:
        raise UserError(
            f"{path} asks for code of its own ({CODE}), which is never run; allowed: a checkpoint "
            "of a kind that transformers itself knows. If transformers computes the same without "
            f"that code, as of families that it came to know later, delete {CODE} in a copy"
        )
    if OF_PROGRAMS.fullmatch(key) and value:
        raise UserError(
            f"{path} has {key}: {str(value)[:100]}, by which a program that cuts words would open "
            "files of its own, and Sudachi run them, which is never done; allowed: null, with a "
            "dictionary that is installed; if words are cut alike with that, take the key away in "
            "a copy"
        )
    if QUANTIZED.search(key) and value:
        method = value.get("quant_method") if isinstance(value, dict) else value
        said = f"{key}: {method}" if method else key  # older files name no method
        raise UserError(
            f"{path} says that its weights are quantized ({said}), and such weights are not read; "
            f"allowed: {', '.join(NUMBERS)}. Load it where it was made, dequantize() the model, "
            "and save_pretrained it"
        )
    counts = COUNTS.search(key) and not SIZES.search(key)
    if counts or key in LABELS or isinstance(value, list):
        most, largest = MOST if counts else MOST_LISTED, max(_whole(value), default=0)
        if largest > most:
            raise UserError(f"{path} has {key}: {largest}; allowed: at most {most}; {AGAIN}")


def _whole(value: object) -> Iterator[int]:
    """The whole numbers in a value and its lists; those of a section have keys of their own."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, list):
            yield from _whole(one)
        elif isinstance(one, int):
            yield one


@contextmanager
def on_paper() -> Iterator[None]:
    """A context in which models are built without weights; UserError if one has too many parts."""
    parts = count(1)

    def counted(*_: object) -> None:
        if next(parts) > MOST_PARTS:
            raise UserError(
                f"config.json describes a model of more than {MOST_PARTS} parts; {AGAIN}"
            )

    watching = register_module_module_registration_hook(counted)
    try:
        with torch.device("meta"):
            yield
    finally:
        watching.remove()


@contextmanager
def _offline() -> Iterator[None]:
    """A context in which the Hugging Face hub is not asked for anything."""
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def seen(folder: Path, weights: bool = False) -> Iterator[Path]:
    """A context with what transformers may see of a folder (see `admission`); its errors become one
    line."""
    with admitted(folder, weights) as shown:
        try:
            yield shown
        except UserError:
            raise
        except Exception as error:  # a damaged file can raise anything
            line = first_line(error).replace(str(shown), str(folder))
            raise UserError(
                f"transformers does not load {_named(folder)}: {line}. Expected: a whole "
                f"checkpoint of a kind that the installed transformers knows; {AGAIN}"
            ) from error


def first_line(error: Exception) -> str:
    if isinstance(error, KeyError):  # which tells the key alone
        return f"it lacks {error}"
    lines = [line.strip() for line in str(error).strip().splitlines()] or [type(error).__name__]
    # The first line of some says only where, and those after it what.
    return " ".join(lines if lines[0].endswith(":") else lines[:1]).rstrip(".")


def _named(folder: Path) -> str:
    """A folder, with the family of its model if it has one that can be read."""
    try:
        return f"the {model_type(folder) or 'model'} in {folder}"
    except UserError:
        return str(folder)
