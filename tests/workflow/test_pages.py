"""The pages of a study, which a run of it alone does not make: planned exactly as all else is."""

import pytest

from tests.workflow.checkouts import RESULTS, Checkout, Outputs
from tests.workflow.test_stale import CHANGE, from_training

TARGET = ["--", "all", "gallery"]


@pytest.fixture(scope="module")
def shown(built, tmp_path_factory) -> Checkout:
    """The copy with its pages made, too; not to be edited."""
    checkout = built.copied(tmp_path_factory.mktemp("pages") / "built")
    for output in checkout.summary(*TARGET).keys() - checkout.summary().keys():
        path = checkout.path / RESULTS / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output)
    checkout.snakemake(
        "--touch", "--forceall", "--cores", "1", "--configfile", "study.yaml", *TARGET
    )
    return checkout


@pytest.fixture(scope="module")
def pages(shown) -> Outputs:
    return Outputs({output: rule for output, (rule, _) in shown.summary(*TARGET).items()})


@pytest.fixture
def copy(shown, tmp_path) -> Checkout:
    return shown.copied(tmp_path / "edited")


def test_a_study_does_not_make_them_and_they_make_no_other_result_stale(shown, outputs, pages):
    made = set(pages.rules) - set(outputs.rules)
    attention = {output for output in made if output.startswith("measures/attention/")}
    runs = {output.split("/")[-1].removesuffix("-1.parquet") for output in attention}
    assert runs == {"lm", "mlm", "mt", "untrained"}, "of the first seed"
    assert all(output.startswith("gallery/") for output in made - attention)
    assert shown.planned() == set() == shown.planned(*TARGET)


ATTENTION = ["measure_attention", "show_explorer"]
BOTH = ["show_gallery", "show_explorer"]
# What is edited, and what that makes stale.
EDITS = {
    "a template": ("bottomup/pages/gallery.html", "<main>", "<main><p></p>", ["show_gallery"]),
    "a script": ("bottomup/pages/explorer.js", "height: 340", "height: 341", ["show_explorer"]),
    "how all look": ("bottomup/pages/pages.css", "1.7rem", "1.8rem", ["show_claims", *BOTH]),
    "how claims look": ("bottomup/pages/claims.css", "0.94rem", "0.95rem", ["show_claims"]),
    "a caption": (
        "docs/captions/mask.rst",
        "compare lines of one kind",
        "compare the lines of one kind",
        [],
    ),
    "a caption that is shown": (
        "docs/captions/probes.rst",
        "compare trained models",
        "compare the trained models",
        ["show_gallery"],
    ),
    "code": ("bottomup/pages/gallery.py", "QUALITY = 60", "QUALITY = 61", ["show_gallery"]),
    "a comment": ("bottomup/pages/gallery.py", "# of WebP, 0 to 100", "# of WebP", []),
    "a comment in a rule": ("rules/figures.smk", "# Figures: tables", "\n\n# Figures", []),
    "which sentences are short": ("bottomup/heads/attention.py", "(5, 10)", "(5, 9)", ATTENTION),
    "how many sentences": (
        "study.yaml",
        "study: planned",
        "study: planned\ngallery: {sentences: 3}",
        ATTENTION,
    ),
    "address": (
        "study.yaml",
        "study: planned",
        "study: planned\ngallery: {repository: 'https://example.org/main'}",
        ["show_gallery"],
    ),
    "what captions say": ("study.yaml", "occurrences: 300", "occurrences: 301", [*CHANGE, *BOTH]),
    "training": (
        "study.yaml",
        " lm: {}",
        " lm: {label_smoothing: 0.2}",
        [*from_training("lm"), "measure_attention:*/lm-*", *BOTH],
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "stale"), EDITS.values(), ids=EDITS)
def test_an_edit(copy, pages, file, old, new, stale):
    copy.edit(file, old, new)
    assert copy.planned(*TARGET) == pages.of(*stale)
