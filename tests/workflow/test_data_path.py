"""The drawing of the data path is that of the rules."""

import pytest

from bottomup.workflow.data_path import BOXES, TABLES, arrows, drawing, stage
from tests.tiny import ROOT


def test_the_drawing_is_made_from_the_rules():
    assert (ROOT / "docs/images/data_path.svg").read_text() == drawing()


def test_what_a_longer_way_implies_is_left_out():
    rules = {("encode_text", "train_lm"), ("train_lm", "extract_views")}
    rules |= {("learn_bpe", "encode_text"), ("encode_text", "extract_views")}
    assert arrows(rules) == {("corpus", "training"), ("training", "views")}


def test_the_stage_of_a_rule():
    rules = {"split_corpus": "corpus", "train_mlm": "training", "measure_quality": "training"}
    rules |= {"measure_probes": "measures", "measure_head_functions": "heads", "plot_x": "figures"}
    rules |= {"measure_pruned_functions": "heads", "collect_tables": TABLES}
    assert {name: stage(name) for name in rules} == rules
    with pytest.raises(ValueError, match="no file in rules/ has a rule draw_conclusions"):
        stage("draw_conclusions")


def test_boxes_do_not_overlap():
    places = [(box.row, column) for box in BOXES.values() for column in range(*span(box.columns))]
    assert len(places) == len(set(places))


def span(columns):
    return columns[0], columns[1] + 1
