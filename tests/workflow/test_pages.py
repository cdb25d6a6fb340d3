"""The pages of a study, which a run of it alone does not make: planned exactly as all else is."""

import shutil

import pytest

from tests.workflow.checkouts import RESULTS, Checkout, Outputs
from tests.workflow.test_stale import CHANGE, FROM_HELP

TARGET = ["--", "all", "gallery"]


@pytest.fixture(scope="module")
def shown(built, tmp_path_factory) -> Checkout:
    """The copy with its pages made, too; not to be edited."""
    checkout = Checkout(tmp_path_factory.mktemp("pages") / "built")
    shutil.copytree(built.path, checkout.path, symlinks=True)
    for output in checkout.summary(*TARGET).keys() - checkout.summary().keys():
        path = checkout.path / RESULTS / output
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output)
    checkout.snakemake("--touch", "--forceall", "--cores", "1", "--configfile", "study.yaml", *TARGET)
    return checkout


@pytest.fixture(scope="module")
def pages(shown) -> Outputs:
    return Outputs({output: rule for output, (rule, _) in shown.summary(*TARGET).items()})


@pytest.fixture
def copy(shown, tmp_path) -> Checkout:
    return Checkout(shutil.copytree(shown.path, tmp_path / "edited", symlinks=True))


def test_a_study_does_not_make_them_and_they_make_no_other_result_stale(shown, outputs, pages):
    made = set(pages.rules) - set(outputs.rules)
    assert made and all(output.startswith("gallery/") for output in made)
    assert shown.planned() == set() == shown.planned(*TARGET)


# What is edited, and what that makes stale.
EDITS = {
    "a template": ("bottomup/pages/gallery.html", "<main>", "<main><p></p>", ["show_gallery"]),
    "a caption": ("docs/captions/mask.rst", "compare left and", "compare left with", []),
    "a caption that is shown": (
        "docs/captions/probes.rst",
        "What a linear",
        "What one linear",
        ["show_gallery"],
    ),
    "code": ("bottomup/pages/gallery.py", "QUALITY = 60", "QUALITY = 61", ["show_gallery"]),
    "a comment": ("bottomup/pages/gallery.py", "# of WebP, 0 to 100", "# of WebP", []),
    "a comment in a rule": ("rules/figures.smk", "# Figures: tables", "\n\n# Figures", []),
    "address": (
        "study.yaml",
        "study: planned",
        "study: planned\ngallery: {repository: 'https://example.org/main'}",
        ["show_gallery"],
    ),
    "what captions say": (
        "study.yaml",
        "occurrences: 300",
        "occurrences: 301",
        [*CHANGE, "show_gallery"],
    ),
    "another source": (
        "study.yaml",
        "folder: text}",
        "folder: text, version: '9.9'}",
        [*FROM_HELP, "show_gallery"],
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "stale"), EDITS.values(), ids=EDITS)
def test_an_edit(copy, pages, file, old, new, stale):
    copy.edit(file, old, new)
    assert copy.planned(*TARGET) == pages.of(*stale)
