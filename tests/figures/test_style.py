import itertools

import matplotlib
import pytest

from bottomup.figures import distance_between_tasks, style


def test_objectives_differ_in_color_and_marker():
    looks = [style.objective(name) for name in ("mt", "lm", "mlm", "untrained")]
    for a, b in itertools.combinations(looks, 2):
        assert a.color != b.color and a.marker != b.marker


def test_a_new_objective_has_a_look_of_its_own_in_every_figure():
    look = style.objective("mt_noise")
    assert look == style.objective("mt_noise")
    assert look.color not in {known.color for known in style.OBJECTIVES.values()}


def test_order_of_objectives():
    names = ["untrained", "zz", "mlm", "aa", "lm", "mt", "lm"]
    assert style.ordered(names) == ["mt", "lm", "mlm", "aa", "zz", "untrained"]


def files(figure, folder):
    folder.mkdir()
    style.save(figure, folder / "a.png", folder / "a.pdf")
    return [(folder / name).read_bytes() for name in ("a.png", "a.pdf")]


def test_the_users_matplotlib_settings_change_nothing(study, tmp_path):
    plain, _ = distance_between_tasks.draw(study(layers=2))
    own = {"font.size": 20, "lines.linewidth": 9, "savefig.dpi": 30, "pdf.fonttype": 3}
    with matplotlib.rc_context(own):
        again, _ = distance_between_tasks.draw(study(layers=2))
        assert files(again, tmp_path / "again") == files(plain, tmp_path / "plain")


@pytest.mark.parametrize("color", ["#000000", "#0072B2"])
def test_what_stands_behind_is_lighter(color):
    behind = style.stroke(style.Look("", color), behind=True)
    brightness = sum(matplotlib.colors.to_rgb(behind["color"]))
    assert sum(matplotlib.colors.to_rgb(color)) < brightness < 3
