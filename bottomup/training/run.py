"""One run, from settings and token files to a Hugging Face folder."""

import json
import logging
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from bottomup import objectives
from bottomup.core.device import float32_device as device
from bottomup.core.errors import UserError
from bottomup.core.files import digest, opening
from bottomup.core.files.tables import read_table
from bottomup.core.files.tokenizers import load_tokenizer
from bottomup.core.seeds import generator
from bottomup.core.settings import Half, HeadsFrom, Model, Trained, Training, Trunk
from bottomup.corpus.batches import Text
from bottomup.model.configuration import TransformerConfig
from bottomup.model.folder import load as load_model
from bottomup.model.folder import save as save_model
from bottomup.model.folder import save_tokenizer
from bottomup.model.transformer import Transformer
from bottomup.model.trunks import TrunkConfig, TrunkModel
from bottomup.objectives import Objective
from bottomup.training.budget import Equal, source_tokens
from bottomup.training.checkpoint import Checkpoint, Finished, Progress, digest_of, writing
from bottomup.training.loop import Trainer, not_reached
from bottomup.training.transplant import Place, WithFrozenHeads, chosen, transplant

log = logging.getLogger(__name__)


def require_known(text: Text, vocab_sizes: dict[str, int], tokens: Path, split: str) -> None:
    """Raise UserError if a split has no sentences, or has ids that its tokenizer lacks."""
    for side, size in vocab_sizes.items():
        ids = getattr(text, side).ids
        highest = int(ids.max()) if len(ids) else None
        if highest is None or highest >= size:
            content = "no sentences" if highest is None else f"the id {highest}"
            raise UserError(
                f"{tokens / f'{split}.{side}'} has {content}; expected: ids below {size}, as its "
                "tokenizer has them: delete the folder and run again"
            )


def half(n_sentences: int, number: int, seed: int) -> np.ndarray:
    """The sentences of one random half of a text (`number` 1 or 2), in text order.

    Raises UserError if the text has one sentence.
    """
    if n_sentences < 2:
        raise UserError("the training text has one sentence, and no halves; add text")
    order = generator(seed, "halves").permutation(n_sentences)
    return np.sort(np.array_split(order, 2)[number - 1])


class Settings(Trained):
    """What a run depends on besides its text; with `step`, the run as it is at that step.

    equal: see `budget`. heads_from: see `transplant`.
    """

    module: str
    model: Model | Trunk
    training: Training | None = None
    half: Half | None = None
    step: int | None = None
    equal: Equal = "tokens"
    heads_from: HeadsFrom | None = None


def initial_model(
    shape: Model | Trunk, objective: Objective, seed: int, vocab_sizes: dict[str, int]
) -> Transformer | TrunkModel:
    """The model before training, in the shape that the objective needs."""
    vocab_size, target_vocab_size = objective.vocabularies(vocab_sizes)
    if isinstance(shape, Trunk):
        trunk = TrunkConfig(
            trunk=shape.trunk,
            vocab_size=vocab_size,
            target_vocab_size=target_vocab_size,
            layers=shape.layers,
            d_model=shape.d_model,
            dropout=shape.dropout,
            causal=objective.causal,
            both_ways=objective.both_ways,
        )
        return TrunkModel(trunk, seed=seed)
    config = TransformerConfig(
        vocab_size=vocab_size,
        target_vocab_size=target_vocab_size,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers if objective.decodes() else 0,
        heads=shape.heads,
        d_model=shape.d_model,
        d_ff=shape.d_ff,
        dropout=shape.dropout,
        attention_dropout=shape.attention_dropout,
        causal=objective.causal,
        backward=objective.backward,
        pairs=objective.predicts == "both",
    )
    return Transformer(config, seed=seed)


def train(
    settings: Settings,
    code: dict[str, str] | None,
    tokens: Path,
    tokenizers: dict[str, Path],
    folder: Path,
    accumulate: int,
    trained: Path,
    keep: Sequence[int] = (),
    whole: Path | None = None,
    donor: tuple[Path, Path] | None = None,
) -> None:
    """Train one run and write `model/` and `metrics.jsonl` into `folder`.

    code: digests of the program. A checkpoint with other settings, code, text or types is
        set aside.
    tokens: the folder of token files.
    tokenizers: the file of each side that the objective needs.
    accumulate: the number of parts in which an update is computed.
    trained: the folder of finished runs of any study. Without `code` it is not used, since nothing
        would tell versions of the program apart.
    keep: steps at which to keep the run there, too, so that they need no training of their own.
    whole: for a run at a step, the metrics of the run to its end.
    donor: with `heads_from`, the weights of the model that has these heads, and its table
    `head_functions`.

    Raises UserError for a step that the run does not reach.
    """
    if whole and settings.step is not None and (last := last_step(whole)) < settings.step:
        raise not_reached(settings.step, last)
    loaded = {side: load_tokenizer(path) for side, path in tokenizers.items()}
    vocab_sizes = {side: tokenizer.get_vocab_size() for side, tokenizer in loaded.items()}
    objective = objectives.load(settings.module, settings.options, loaded["source"])
    model = initial_model(settings.model, objective, settings.seed, vocab_sizes)
    places = given_heads(model, settings, *donor) if donor else []
    progress = Progress()
    if objective.predicts is not None:
        text, dev = texts(settings, objective, tokens, vocab_sizes)
        assert settings.training is not None  # the config has it for all that predict
        budget = settings.training.max_tokens
        tokens_read = source_tokens(
            settings.equal,
            budget,
            objective,
            text,
            settings.model,
            vocab_sizes,
            settings.training.short_first,
        )
        training = settings.training.model_copy(update={"max_tokens": tokens_read})
        identity = identity_of(settings, training, objective, donor or ()) | {
            "code": code,
            "text": text.digest(),
            "dev_text": dev.digest(),
            "types": digest_of({side: each.get_vocab() for side, each in loaded.items()}),
        }
        frozen = settings.heads_from is not None and settings.heads_from.frozen
        trainer = (partial(WithFrozenHeads, places) if frozen else Trainer)(
            model.to(device()),
            objective,
            text,
            dev,
            training,
            settings.seed,
            Checkpoint(folder / "checkpoint", identity),
            accumulate,
            Finished(trained, identity) if code else None,
            settings.step,
            {n: Finished(trained, identity | {"step": n}) for n in keep} if code else None,
        )
        progress = trainer.train()
    lines = [json.dumps(line) + "\n" for line in progress.metrics]
    with writing("the model", folder / "checkpoint"):
        save(model, tokenizers, folder / "model")
        (folder / "metrics.jsonl").write_text("".join(lines))
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)


def texts(
    settings: Settings, objective: Objective, tokens: Path, vocab_sizes: dict[str, int]
) -> tuple[Text, Text]:
    """What a run reads of the split train, and the split dev."""
    assert objective.predicts is not None
    train, dev = (Text.load(tokens, split, objective.predicts) for split in ("train", "dev"))
    for split, loaded in (("train", train), ("dev", dev)):
        require_known(loaded, vocab_sizes, tokens, split)
    if settings.half:
        train = train.select(half(len(train.source), **dict(settings.half)))
    return train, dev


def identity_of(
    settings: Settings, training: Training, objective: Objective, donor: Sequence[Path]
) -> dict:
    """What two trainings on one text share if they are the same; options for measuring do not
    count."""
    known = settings.model_copy(update={"training": training, "equal": "tokens"})
    options = {name: of for name, of in settings.options.items() if name not in objective.looks}
    identity = known.model_dump(mode="json") | {"options": options}
    return identity | ({"donor": [digest(path) for path in donor]} if donor else {})


def given_heads(
    model: Transformer | TrunkModel, settings: Settings, donor: Path, functions: Path
) -> list[Place]:
    """Give a model the heads that it is to start with, and return their places."""
    other = load_model(donor.parent)
    # The config allows no other.
    assert isinstance(model, Transformer) and isinstance(other, Transformer)
    assert settings.heads_from
    places = chosen(read_table(functions), settings.heads_from, settings.seed)
    transplant(model, other, places)
    log.info("starts with these heads (layer, head) of %s: %s", donor.parent, places)
    return places


def last_step(metrics: Path) -> int:
    """The step at which a run ended, from its last line of metrics."""
    with opening(metrics):
        return json.loads(metrics.read_text().splitlines()[-1])["step"]


def save(model: Transformer | TrunkModel, tokenizers: dict[str, Path], folder: Path) -> None:
    """Write weights, config and tokenizers as a Hugging Face folder; the target tokenizer goes into
    a folder below."""
    save_model(model, folder)
    for side, path in tokenizers.items():
        save_tokenizer(load_tokenizer(path), folder if side == "source" else folder / side)
