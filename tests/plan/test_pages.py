"""The pages of a study: planned exactly as all else is."""

import pytest


def test_the_attention_that_pages_show_is_of_the_first_seed(outputs):
    attention = outputs.of("measure_attention")
    runs = {output.split("/")[-1].removesuffix("-1.parquet") for output in attention}
    assert runs == {"lm", "mlm", "mt", "untrained"}


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("compare trained models", "compare the trained models", ["show_index"]),
        ("What a linear classifier", "What a classifier", ["plot_probes", "show_index"]),
    ],
    ids=["the caption", "the question that is its title"],
)
def test_words_of_a_figure(checkout, outputs, old, new, stale):
    checkout.edit("docs/captions/probes.rst", old, new)
    assert checkout.planned() == outputs.of(*stale)
