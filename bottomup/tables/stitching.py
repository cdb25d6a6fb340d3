"""What it costs a run to go on from the states of others, through one affine map."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bottomup.core import names
from bottomup.core.layers import depths
from bottomup.core.settings import Run, Section, Seed, key
from bottomup.tables import Table, lens

if TYPE_CHECKING:
    from bottomup.plan.slices import Slices
    from bottomup.plan.subjects import Subjects
    from bottomup.subjects.seen import Seen


def predicting(subjects: "Subjects") -> list[str]:
    """The runs of the lens, without those that read from the end: they would need states that have
    seen no earlier token, which `stitching` does not make. And without those that read tokens of
    their own, which other models do not know."""
    asked = {run: names.objective_and_seed(run)[0] for run in lens.predicting(subjects)}
    left_out = {*filter(subjects.from_end, asked.values())}
    left_out |= {*filter(subjects.reads_its_own, asked.values())}
    return [run for run, name in asked.items() if name not in left_out]


def options(slices: "Slices", of: Any) -> dict:
    others = map(names.objective_and_seed, slices.subjects.stitched_into(of.objective))
    return {
        **lens.options(slices, of),
        **dict(slices.study.measures.stitching),
        "others": [{"objective": objective, "seed": seed} for objective, seed in others],
    }


TABLE = Table(
    "run",
    reads=("model", "stitched", "train", "test"),
    sees="subjects",
    parts=predicting,
    options=options,
    modules=lambda slices, of: slices.of_objective(of),
    memory=(2000, 40, 4),
    minutes=(60, 1),
    seconds=120,
    judged=True,
    enlarge="measures.stitching.sentences",
)


class Keys(Section):
    """What it costs a model to go on from another one's states."""

    layers: int = key(
        "depths at which, equally far apart, the top among them", "layers", ge=1, le=1000
    )
    sentences: int = key(
        "sentences of at most 50 tokens that fit a map, of the training text, and as many of the "
        "test split that it is measured on; fewer where there are not so many",
        "sentences",
        ge=20,
        le=10**6,
    )
    seed: Seed = key("seed of their draw, of masks and of the order of updates")


class Settings(Keys, lens.Settings):
    """Beside this section: the run's objective as for the lens, and the other runs, in the order of
    their files."""

    others: tuple[Run, ...]


def rows(seen: "Seen", settings: Settings) -> Iterator[dict]:
    from bottomup import subjects
    from bottomup.core.device import device
    from bottomup.measures.stitching import stitching
    from bottomup.model.transformer import Transformer
    from bottomup.subjects.runs import Run as OurRun

    model, objective, train, test = lens.opened(seen, settings, "train")
    folders = [path.parent for path in seen.paths("stitched") if path.suffix == ".safetensors"]

    def others() -> Iterator[tuple[dict, Transformer]]:
        for run, folder in zip(settings.others, folders, strict=True):
            name = {"from_objective": run.objective, "from_seed": run.seed}
            subject = subjects.load(folder)
            assert isinstance(subject, OurRun)
            yield name, subject.model.to(device())

    blocks = seen.blocks
    layers = depths(model.config.encoder_layers, settings.layers)
    yield from stitching(
        *(model, objective, others(), train, test, blocks),
        layers=layers,
        sentences=settings.sentences,
        seed=settings.seed,
    )
