"""The weights of a checkpoint: transformers reads them, or draws them as before training."""

import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping
from copy import deepcopy
from pathlib import Path

import torch
import transformers
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
)

from bottomup.core.errors import UserError
from bottomup.core.seeds import derive
from bottomup.subjects.admission import (
    BUFFERS,
    OFFLINE,
    header,
    on_paper,
    require_numbers,
    require_size,
    seen,
)
from bottomup.subjects.folder import AGAIN

log = logging.getLogger(__name__)

# As the checkpoint was trained: its config may name another attention, even one to fetch.
FAMILY_OWN = {"attn_implementation": "eager", "dtype": torch.float32}
# By our name for what is predicted, the classes that predict it, by the config of their family.
PREDICTING = {
    "mlm": MODEL_FOR_MASKED_LM_MAPPING,
    "lm": MODEL_FOR_CAUSAL_LM_MAPPING,
    "mt": MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
}


def trained(folder: Path, kind: type[AutoModel | PreTrainedModel] = AutoModel) -> PreTrainedModel:
    """The model with the weights of its folder; UserError if any weight that we use is missing.

    kind: one of transformers' auto classes, such as the one with a layer to predict masked tokens.
    """
    with seen(folder, weights=True) as shown:
        config = AutoConfig.from_pretrained(shown, **OFFLINE)
        kind = _encoder_alone(config) or kind
        require_size(folder, _size(kind, config))
        model, info = kind.from_pretrained(
            shown,
            config=config,
            output_loading_info=True,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            **FAMILY_OWN,
            **OFFLINE,
        )
        left = [name for name in info["unexpected_keys"] if not BUFFERS.search(name)]
        shapes = {name: part.shape for name, part in header(folder).items()}
        model.config.architectures = _architectures(config, model, left, shapes)
    buffers = [name for name, part in model.named_buffers() if not part.is_floating_point()]
    require_numbers(folder, learned(model), {name.rpartition(".")[2] for name in buffers})
    # transformers draws these at random, and only its log says so.
    drawn = info["missing_keys"] | {name for name, *_ in info["mismatched_keys"]}
    # We do not use the pooler, which reads the top layer; checkpoints of masked models have none.
    lacking = {name for name in learned(model) & drawn if "pooler" not in name}
    if lacking:
        _require_part_of(config, model, shapes, folder)
    require_right(folder, model, lacking, _inside_layers(model, left))
    return _attended(model, folder)


def require_right(
    folder: Path, model: PreTrainedModel, lacking: Collection[str], left: Collection[str]
) -> None:
    """Raise UserError for weights that a folder lacks, that are left over, or that are not
    finite."""
    wrong = {
        "missing or of another shape than config.json says": lacking,
        "more than config.json says": left,
        "not finite numbers": _not_finite(model),
    }
    for what, names in wrong.items():
        if names:
            raise UserError(
                f"weights of the {model.config.model_type} in {folder} that are {what}: "
                f"{len(names)}, {min(names)} among them; {AGAIN}"
            )


def _require_part_of(
    config: PreTrainedConfig,
    model: PreTrainedModel,
    shapes: Mapping[str, tuple[int, ...]],
    folder: Path,
) -> None:
    """Raise UserError if a folder has all weights of the class that its config names, and a model
    that lacks some is therefore another one, such as that of images beside the text."""
    for kind in config.architectures or []:
        if (whole := outline(kind, config)) is None:
            continue
        tied = whole.all_tied_weights_keys
        own = {name: part.shape for name, part in whole.state_dict().items() if name not in tied}
        if own.items() <= {*shapes.items()}:
            raise UserError(
                f"the {config.model_type} in {folder} is a whole {kind}, and what transformers "
                f"opens of its family, {type(model).__name__}, has weights that are no part of it; "
                "allowed: a family of which AutoModel opens the part that reads text"
            )


def _inside_layers(model: PreTrainedModel, left: Collection[str]) -> list[str]:
    """The leftover weights of one more layer, or of a part that the config builds in no layer.

    Others belong to layers that predict, which we do not use.
    """
    names = [name for name, _ in model.named_modules() if name.rpartition(".")[2].isdigit()]
    layers = tuple(f"{_numberless(name)}." for name in names)
    prefix = f"{model.base_model_prefix}."
    return [name for name in left if _numberless(name.removeprefix(prefix)).startswith(layers)]


def _numberless(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _not_finite(model: PreTrainedModel) -> list[str]:
    return [name for name, weight in model.named_parameters() if not weight.isfinite().all()]


def initial(folder: Path, seed: int) -> PreTrainedModel:
    """The model with weights as its family draws them before training, by a seed."""
    with seen(folder) as shown, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derive(seed, "untrained"))
        config = AutoConfig.from_pretrained(shown, **OFFLINE)
        kind = _encoder_alone(config) or AutoModel
        require_size(folder, _size(kind, config))
        build = getattr(kind, "from_config", None) or kind._from_config
        model = build(config, **FAMILY_OWN)
    # As saving it would write; it was trained for nothing.
    model.config.architectures = [type(model).__name__]
    return _attended(model, folder)


def _encoder_alone(config: PreTrainedConfig) -> type[PreTrainedModel] | None:
    """The class of a model that is the encoder of a family with decoders; None for any other."""
    names = [name for name in config.architectures or [] if name.endswith("EncoderModel")]
    return getattr(transformers, names[0], None) if names else None


def outline(architecture: str, config: PreTrainedConfig) -> PreTrainedModel | None:
    """A model of one of transformers' classes, without weights; None if there is no such class."""
    kind = getattr(transformers, architecture, None)
    if not isinstance(kind, type) or not issubclass(kind, PreTrainedModel):
        return None
    with on_paper():
        return kind(deepcopy(config))


def _architectures(
    config: PreTrainedConfig,
    model: PreTrainedModel,
    left: Collection[str],
    shapes: Mapping[str, tuple[int, ...]],
) -> list[str]:
    """The classes that a folder has the weights of: those that its config names or, if it names
    none, those of the family that predict tokens.

    left: the names of the folder's weights that the model leaves over. shapes: of all in its files.
    """
    if named := config.architectures:
        return [name for name in named if _has_own(name, model, left, shapes) is not False]
    known = [kinds for kinds in PREDICTING.values() if type(config) in kinds]
    family = [kinds[type(config)].__name__ for kinds in known]

    def shown(name: str) -> bool:
        own = _has_own(name, model, left, shapes)
        return _holds(name, model, left, shapes) if own is None else own

    found = [name for name in family if shown(name)]
    told = ", ".join(found) or "no class that predicts tokens"
    log.info(f"its config.json names no class (architectures); its weights are those of {told}")
    return found


def _holds(
    architecture: str,
    model: PreTrainedModel,
    left: Collection[str],
    shapes: Mapping[str, tuple[int, ...]],
) -> bool:
    """Whether a folder has a class that ties all that predicts to the embeddings: by names, which
    tell a model inside of another, and nothing that this class has not."""
    whole = outline(architecture, model.config)
    inside = any(name.startswith(f"{model.base_model_prefix}.") for name in shapes)
    return inside and whole is not None and whole.state_dict().keys() >= {*left}


def _has_own(
    architecture: str,
    model: PreTrainedModel,
    left: Collection[str],
    shapes: Mapping[str, tuple[int, ...]],
) -> bool | None:
    """Whether a folder has all weights of a class that are neither those of a model nor tied to
    others: by name or, since transformers renames some, by shape. None if there are none, or no
    such class.

    left, shapes: as in `_architectures`.
    """
    if (whole := outline(architecture, model.config)) is None:
        return None
    known = tuple(f".{name}" for name, _ in model.named_parameters())
    own = {
        name: tuple(weight.shape)
        for name, weight in whole.named_parameters()
        if name not in whole.all_tied_weights_keys
        and not f".{name}".endswith(known)
        # What tells whether two sentences belong together predicts no tokens.
        and weight.shape[:1] != (2,)
    }
    if not own:
        return None
    lacking = Counter(shape for name, shape in own.items() if name not in left)
    return lacking <= Counter(shapes[name] for name in left if name in shapes and name not in own)


def _size(kind: type[AutoModel | PreTrainedModel], config: PreTrainedConfig) -> int:
    """How many numbers a model has that a config describes, with its buffers."""
    build = getattr(kind, "from_config", None) or kind._from_config
    with on_paper():
        model = build(config, **FAMILY_OWN)
    return sum(part.numel() for part in [*model.parameters(), *model.buffers()])


def learned(model: PreTrainedModel) -> set[str]:
    """The names of the weights that training changes; sinusoidal positions, for example, are not
    among them."""
    with on_paper():
        fresh = type(model)(model.config)
    return {name for name, weight in fresh.named_parameters() if weight.requires_grad}


def _attended(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model, with no way around the attention that we look at."""
    for module in model.modules():
        # GPT-2's other order of steps, for numbers of half precision.
        if hasattr(module, "reorder_and_upcast_attn"):
            module.reorder_and_upcast_attn = False
    model.config.name_or_path = str(folder)
    return model
