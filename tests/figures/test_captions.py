"""Captions, and the page that the report opens with, render as Snakemake renders them."""

import html
import re
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml
from docutils.core import publish_parts

from bottomup.plan.config import load
from bottomup.plan.slices import Slices
from bottomup.training.loss import smoothing_entropy
from tests.tutorials import files_in

ROOT = Path(__file__).parents[2]
CAPTIONS = {path.stem: path.read_text() for path in sorted(ROOT.glob("docs/captions/*.rst"))}
# That which a tutorial has its reader write.
CAPTIONS["norm"] = files_in("add_measure")["docs/captions/norm.rst"]


DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())
CONFIG = DEFAULT | {"n_seeds": "3"}  # of Snakemake's report
OF_PAGE = Slices(load(DEFAULT)).show_index([])["config"]  # which has less


def rendered(text, config=CONFIG, **values):
    """The body of the page, from a template; faulty markup raises instead of showing in it."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(text)
    text = template.render(snakemake=SimpleNamespace(config=config), **values)
    # Level 2 is a warning.
    return publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["html_body"]


@pytest.mark.parametrize("name", CAPTIONS)
def test_caption(name):
    assert "paper" in rendered(CAPTIONS[name])
    assert rendered(CAPTIONS[name], OF_PAGE) == rendered(CAPTIONS[name])


def test_one_seed_is_no_plural():
    assert not any(
        "1 seeds" in rendered(text, CONFIG | {"n_seeds": "1"}) for text in CAPTIONS.values()
    )


def test_the_caption_of_claims_leaves_the_verdict_to_more_than_the_interval():
    """It may be one of nine, and a claim to the right of the band undecided."""
    assert not re.search("reproduces the claim|contradicts it", CAPTIONS["claims"])


# Settings of how much text to take. A text may have less, and the table then has all of it.
FEWER = "n|n_tokens|pairs|points|rsa_rows|sentences|tokens|within_tokens"


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_names_no_number_that_its_table_denies(name):
    counts = rf'\["(?:measures"\]\["\w+|heads)"\]\["(?:{FEWER})"\]'
    numbers = re.compile(rf"(.{{,12}})\{{\{{ snakemake\.config{counts} \}}\}}(.{{,40}})")
    for before, after in numbers.findall(CAPTIONS[name]):
        at_most = before.casefold().endswith(("at most ", "up to "))
        assert at_most or "or as many as there are" in after, f"{before}...{after}"


@pytest.mark.parametrize("word", ["*", "x_", "|", "a|b", "<b>", "\\", "$x$", ":class:", "[1]_"])
@pytest.mark.parametrize("name", ["projection_token", "projection_position", "projection_ccg"])
def test_a_word_of_the_config_is_no_markup(name, word, monkeypatch):
    own = {"words": [word, "are"], "position_word": word, "ccg_word": word}
    monkeypatch.setitem(CONFIG["measures"], "projection", CONFIG["measures"]["projection"] | own)
    assert f">{html.escape(word)}<" in re.sub("</?span[^>]*>", "", rendered(CAPTIONS[name]))


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_names_no_word_that_the_figure_may_have_replaced(name):
    """A word that is too rare gives its place to a frequent one: only the figure knows."""
    words = re.compile(r'\["projection"\]\["(?:words|\w+_word)"\][^}]*\}\}``([^.]*)\.')
    for after in words.findall(CAPTIONS[name]):
        assert "too rarely" in after and "the legend names" in after


@pytest.mark.parametrize("name", ["change_pos", "change_frequency_rank", "matching"])
def test_a_caption_counts_the_occurrences_that_a_wide_model_needs(name):
    """PWCCA of 384 neurons needs more than the few of a study of narrow ones."""
    found = rendered(CAPTIONS[name])
    assert re.search(r"\b1500\b[^.]* or four for each neuron if that is more", found)


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_figure_says_first_in_a_line_what_to_see(name):
    if name != "claims":
        first, _, others = CAPTIONS[name].partition("\n\n")
        assert len(first) < 220 and first.endswith((".", "?")) and "{" not in first and others
        # Which begins with the question that stands above the figure.
        assert len(re.split("[:.]", first)[0]) < 120


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_with_intervals_of_means_says_what_one_run_leaves_out(name):
    text = CAPTIONS[name]
    if "95 % intervals" in text and "are means over" in text:
        left_out = r"of a single run they are over (documents|words), and leave out how far another"
        assert re.search(left_out, text)
    assert "intervals of all" not in text


def test_the_caption_of_losses_says_what_smoothing_does_to_that_of_training():
    """To a model that finds all tokens equally likely, smoothing changes nothing but the entropy
    that is subtracted."""
    assert "about a nat below the dev loss" in CAPTIONS["learning_curves"]
    assert all(0.9 < smoothing_entropy(0.1, n) < 1.4 for n in (500, 4000, 30_000))


def result(folder, name, label, caption="<p>First.</p>\n<p>Second.</p>\n"):
    """What Snakemake knows of a file that the report holds."""
    mime = "text/html" if name.endswith("html") else "image/png"
    labels = {"figure": label}
    return SimpleNamespace(
        path=folder / name, target=name, mime=mime, labels=labels, caption=caption
    )


def test_the_report_says_where_the_claims_are_then_has_the_figures_in_order(tmp_path):
    labels = {"b.png": "02 change", "claims.html": "claims", "c.png": "10 token", "a.png": "01 MI"}
    files = [result(tmp_path, name, label) for name, label in labels.items()]
    page = rendered((ROOT / "docs" / "report.rst").read_text(), files=files)
    parts = (
        "is under <em>1 Claims</em>",
        "<h2>01 MI</h2>",
        "<h2>02 change</h2>",
        "<h2>10 token</h2>",
    )
    order = [page.index(part) for part in parts]
    assert order == sorted(order)
    for name in ("a.png", "b.png", "c.png"):
        assert f'results["{tmp_path / name}"]' in page
    assert page.count("<p>Second.</p>") == 3, "the captions of the figures, and not of the claims"


def test_a_report_without_claims(tmp_path):
    page = rendered(
        (ROOT / "docs" / "report.rst").read_text(), files=[result(tmp_path, "a.png", "01 MI")]
    )
    assert "01 MI" in page and "1 Claims" not in page
