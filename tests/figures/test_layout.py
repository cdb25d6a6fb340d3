"""Panels by name and quantity, of a few models and of many."""

import pytest

from bottomup.figures import layout

LABELS = {"loss": "loss, nats", "share": "share"}


def drawn(n, **settings):
    titles = {f"model_{place}": f"Model {place}" for place in range(n)}
    return titles, *layout.grid(titles, LABELS, 2.5, [2, 1], (0.5, 1), **settings)


@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (6, 1), (7, 2), (14, 3)])
def test_each_model_has_a_panel_of_each_quantity_and_none_is_empty(n, blocks):
    titles, figure, rows = drawn(n)
    assert [quantity for quantity, _ in rows] == [*LABELS] * blocks
    for quantity in LABELS:
        assert [name for of, panels in rows if of == quantity for name in panels] == [*titles]
    assert len(figure.axes) == 2 * n
    assert figure.get_size_inches().tolist() == [2.5 * min(n, 6) + 0.5, 3 * blocks + 1]


def test_titles_and_labels_stand_once():
    titles, _, rows = drawn(8)
    for quantity, panels in rows:
        first, *others = panels.values()
        assert first.get_ylabel() == LABELS[quantity]
        assert [axes.get_ylabel() for axes in others] == [""] * len(others)
        written = [axes.get_title(loc="center") for axes in panels.values()]
        assert written == [titles[n] if quantity == "loss" else "" for n in panels]


def test_a_quantity_has_one_scale_and_a_model_one_axis():
    _, _, rows = drawn(8)
    (_, above), (_, below), (_, more), _ = rows
    above["model_0"].set(ylim=(3, 7), xlim=(1, 2))
    assert more["model_7"].get_ylim() == (3, 7)
    assert below["model_0"].get_xlim() == (1, 2)
    assert below["model_0"].get_ylim() != (3, 7)
    assert above["model_1"].get_xlim() != (1, 2)
    above["model_0"].set_xlabel("layer")
    below["model_0"].set_xlabel("layer")
    assert not above["model_0"].xaxis.label.get_visible()
    assert below["model_0"].xaxis.label.get_visible()


def test_maps_of_models_of_other_shapes_have_axes_of_their_own():
    _, _, [(_, panels), *_] = drawn(2, shared=False)
    panels["model_0"].set(xlim=(0, 8), ylim=(0, 12))
    assert panels["model_1"].get_xlim() != (0, 8)
    assert panels["model_1"].get_ylim() != (0, 12)
