"""The pages of a study: planned exactly as all else is."""

import pytest


def test_the_attention_that_pages_show_is_of_the_first_seed(outputs):
    attention = outputs.of("measure_attention")
    runs = {output.split("/")[-1].removesuffix("-1.parquet") for output in attention}
    assert runs == {"lm", "mlm", "mt", "untrained"}


ATTENTION = ["measure_beliefs", "measure_attention", "show_explorer"]
BOTH = ["show_index", "show_explorer"]
CLAIMS = ["show_claims", "show_studies"]
# What is edited, and what that makes stale.
EDITS = {
    "a template": ("bottomup/pages/index.html", "<main>", "<main><p></p>", ["show_index"]),
    "a script": ("bottomup/pages/explorer.js", "height: 340", "height: 341", ["show_explorer"]),
    "how all look": ("bottomup/pages/pages.css", "1.7rem", "1.8rem", [*CLAIMS, *BOTH]),
    "the words of the splits": (
        "results/planned/corpus/splits.csv",
        "corpus/splits.csv",
        "other",
        ["plot_corpus_overview", "show_index"],
    ),
    "what a verdict looks like": (
        "bottomup/pages/signs.py",
        "M5 10h10",
        "M5 9h9",
        [*CLAIMS, *BOTH],
    ),
    "the topic of a figure": (
        "bottomup/tables/word_order.py",
        "5 What a layer represents",
        "5 What the layers represent",
        ["show_index"],
    ),
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
        ["show_index"],
    ),
    "the question of a figure": (
        "docs/captions/probes.rst",
        "What a linear classifier",
        "What a classifier",
        ["plot_probes", "show_index"],
    ),
    "code": ("bottomup/pages/index.py", "QUALITY = 45", "QUALITY = 46", ["show_index"]),
    "a comment": ("bottomup/pages/index.py", "# of WebP, 0 to 100", "# of WebP", []),
    "a comment in a rule": ("rules/figures.smk", "# Figures: tables", "\n\n# Figures", []),
    "which sentences are short": ("bottomup/heads/attention.py", "(5, 10)", "(5, 9)", ATTENTION),
    "how many sentences": (
        "study.yaml",
        "site: {beside",
        "site: {sentences: 3, beside",
        ATTENTION,
    ),
    "address": (
        "study.yaml",
        "site: {beside",
        "site: {repository: 'https://example.org/main', beside",
        ["show_index"],
    ),
    "the claims of another study": ("text/claims.csv", "claim", "claims", ["show_studies"]),
    "what another study is called": (
        "study.yaml",
        "{French: text",
        "{Russian: text",
        ["show_studies", "show_claims", "show_index"],
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "stale"), EDITS.values(), ids=EDITS)
def test_an_edit(checkout, outputs, file, old, new, stale):
    checkout.edit(file, old, new)
    assert checkout.planned() == outputs.of(*stale)
