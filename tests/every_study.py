"""Run studies in a tiny size, one after another: python -m tests.every_study [STUDY ...]

Without names all of studies/, about an hour on two cores; but for those whose text or models are
fetched from elsewhere. Each is laid under sizes of the smoke and the mixed study, so all that it
asks for is run, and its numbers mean nothing. It goes to results/tiny_STUDY/.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import yaml

from bottomup.plan.reading import read
from bottomup.plan.start import OVER
from tests.mixed.make import STUDY as MIXED
from tests.tiny import ROOT

FETCHED = {"checkpoints", "paper_ende", "paper_enfr", "paper_enru", "long", "short_sentences"}
SMOKE = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
# Sixteen heads fit into this width.
MODEL = {"layers": 3, "heads": 4, "d_model": 32, "d_ff": 64}
OF_OTHERS = {"wordnet", "minimal_pairs"}
TOKENS, STEPS = 40_000, [5, 20]
SIZES = {key: SMOKE[key] for key in ("quality", "occurrences")} | {
    "model": MODEL,
    "training": SMOKE["training"] | {"max_tokens": TOKENS},
    "measures": SMOKE["measures"]
    | {key: of for key, of in MIXED["measures"].items() if key not in OF_OTHERS},
    # So low that some heads have a function, and not all.
    "heads": {"sentences": 4, "thresholds": {"pairs": 10, "positional": 0.11, "rare": 0.5}},
    "pruning": {"n_seeds": 1, "training": {"max_tokens": 3000, "warmup_steps": 2}},
    "site": {"sentences": 2},
}


def chain(study: str) -> list[Path]:
    """The config files of a study."""
    path = ROOT / f"studies/{study}.yaml"
    under = [line.removeprefix(OVER) for line in path.read_text().splitlines() if OVER in line]
    return [*(ROOT / f"studies/{name}.yaml" for name in under), path]


def tiny(study: str) -> dict:
    """What makes a study tiny, laid over it."""
    config, _ = read([ROOT / "config.yaml", *chain(study)], {})
    objectives = {name: of for name, of in config["objectives"].items() if of}
    given = any("heads_from" in of for of in objectives.values())
    sizes = SIZES | {"study": f"tiny_{study}", "seeds": config["seeds"][: 2 if given else 1]}
    sizes["objectives"] = {name: small(of) for name, of in objectives.items()}
    sizes["training_steps"] = dict.fromkeys(config.get("training_steps") or {}, STEPS)
    corpus = {key: SMOKE["corpus"][key] for key in ("splits", "bpe")}
    of_debian = "libreoffice_help" in config["corpus"]["source"]
    sizes["corpus"] = corpus | ({"source": SMOKE["corpus"]["source"]} if of_debian else {})
    return sizes


def small(of: dict) -> dict:
    """What makes an objective's own shape and training tiny; it keeps its heads."""
    model = {key: min(of["model"][key], MODEL[key]) for key in of.get("model", {}) if key in MODEL}
    if "heads" in model:
        model["heads"] = of["model"]["heads"]
    training = {"max_tokens": TOKENS} if of.get("training") else {}
    return {key: own for key, own in (("model", model), ("training", training)) if own}


def known(study: str) -> str:
    """The name of a file of studies/."""
    if not (ROOT / f"studies/{study}.yaml").is_file():
        raise argparse.ArgumentTypeError(
            f"found {study}; allowed: a name that ./study --help lists"
        )
    return study


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY", type=known)
    every = sorted({path.stem for path in (ROOT / "studies").iterdir()} - FETCHED)
    named = parser.parse_args().studies or every
    folder, failed = ROOT / "build/every_study", []
    folder.mkdir(parents=True, exist_ok=True)
    for study in named:
        sizes = folder / f"{study}.yaml"
        sizes.write_text(yaml.safe_dump(tiny(study), sort_keys=False))
        files = map(str, [*chain(study), sizes])
        command = ["snakemake", "--cores", "all", "--keep-going", "--configfile", *files]
        with (folder / f"{study}.log").open("w") as said:
            warm = [sys.executable, "tests/warm.py", *command]
            done = subprocess.run(warm, cwd=ROOT, stdout=said, stderr=said, check=False)
        print(f"{study}: {'failed' if done.returncode else 'done'}", flush=True)
        failed += [study] if done.returncode else []
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
