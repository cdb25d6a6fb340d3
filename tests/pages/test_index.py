import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from bottomup.core.errors import UserError
from bottomup.corpus import reference
from bottomup.pages import index
from bottomup.pages.index import Drawn, Figure
from tests.pages import made_up_claims
from tests.pages.made_up_study import FIGURES, SETTINGS, points, write_study
from tests.tiny import ROOT

CLAIMS = made_up_claims.claims()
BY_NAME = {figure["name"]: Figure(**figure) for figure in FIGURES}


@pytest.mark.parametrize(("size", "shown"), [((2560, 1000), (1024, 400)), ((900, 600), (900, 600))])
def test_a_light_image_is_no_wider_than_it_is_shown(tmp_path, size, shown):
    Image.new("RGBA", size, "white").save(tmp_path / "a.png")
    image, *found = index.light(tmp_path / "a.png")
    opened = Image.open(io.BytesIO(image))
    assert (opened.format, opened.size, tuple(found)) == ("WEBP", shown, shown)


def test_a_damaged_image_is_one_line(tmp_path):
    Image.effect_noise((90, 60), 50).save(png := tmp_path / "a.png")
    whole = png.read_bytes()
    for kept in (0, 20, len(whole) // 2):
        png.write_bytes(whole[:kept])
        with pytest.raises(UserError, match=r"a.png is damaged: .*; delete it and run"):
            index.light(png)


@pytest.fixture
def shown(tmp_path):
    """What a page shows of a caption: what to see, and the rest."""

    def of(text, config={}):  # noqa: B006
        (tmp_path / "mine.rst").write_text(text)
        return index.caption(tmp_path / "mine.rst", config)

    return of


def test_a_caption_says_first_what_to_see(shown):
    text = "What ``x`` does.\n\nOf {{ snakemake.config['k'] }} neighbors.\nMore.\n\nThe paper.\n"
    see, others = shown(text, {"k": 7})
    assert see.strip().startswith("<p>What <") and see.count("<p>") == 1
    assert "Of 7 neighbors." in others and others.count("<p>") == 2


def test_a_caption_is_the_same_whatever_a_user_has_set_for_docutils(shown, tmp_path, monkeypatch):
    (tmp_path / "docutils.conf").write_text("[general]\nsmart_quotes: yes\n")
    monkeypatch.setenv("DOCUTILSCONFIG", str(tmp_path / "docutils.conf"))
    see, _ = shown('One is "lost".')
    assert see.unescape().strip() == '<p>One is "lost".</p>'


def test_a_caption_reads_no_file(shown):
    see, _ = shown("Fine.")
    assert "Fine." in see
    for markup in (".. include:: /etc/hostname", ".. raw:: html\n\n   <script></script>"):
        with pytest.raises(UserError, match="disabled"):
            shown(markup)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Of *what a layer knows.", "Inline emphasis start-string without end-string"),
        ("Of {{ snakemake.config['n'] }} words.", "has no attribute 'n'"),
        ("Of {{ n.", "expected name or number"),
        ("Of {% words.", "unknown tag 'words'"),
    ],
)
def test_a_caption_that_cannot_be_shown_is_one_line_that_names_it(shown, text, reason):
    with pytest.raises(UserError) as said:
        shown(text)
    line = str(said.value)
    assert "/mine.rst cannot be shown: " in line and reason in line and "\n" not in line


def test_a_caption_in_another_encoding_is_one_line(tmp_path):
    (tmp_path / "mine.rst").write_bytes("Für alle.".encode("latin-1"))
    with pytest.raises(UserError, match=r"/mine.rst cannot be shown: 'utf-8' codec can't decode"):
        index.caption(tmp_path / "mine.rst", {})


def test_curves_stand_beside_the_published_ones():
    curves = index.beside_published(points())
    assert [(curve["panel"], curve["series"]) for curve in curves] == [("change", "lm")]
    assert curves[0]["ours"] == "0 at 0 → −0.3 at 2"
    assert curves[0]["published"] == "0 at 0 → −1.23 at 2"
    read = points().astype({"x": float})  # as from a file, where some points have no place
    assert index.beside_published(read) == curves
    assert curves[0]["rank_correlation"] == "1"
    alone = points().query("source == 'ours'")
    assert index.beside_published(alone) == []


def test_a_curve_with_one_point_or_with_none_in_common_has_no_correlation():
    (curve,) = index.beside_published(points().query("x == 0"))
    assert (curve["ours"], curve["published"], curve["rank_correlation"]) == (
        "0 at 0",
        "0 at 0",
        "",
    )
    apart = points().assign(x=lambda rows: rows["x"] + 10 * (rows["source"] == "published"))
    (curve,) = index.beside_published(apart)
    assert (curve["ours"], curve["rank_correlation"]) == ("0 at 0 → −0.3 at 2", "")


def test_what_stands_in_place_of_an_image_says_what_is_drawn():
    drawn = Drawn(BY_NAME["mutual_information_input"], "", "", points(), (1, 1))
    assert drawn.instead() == (
        "mutual information input; panel: change, clusters; series: lm, mt; with published values"
    )
    many = pd.DataFrame({"panel": None, "series": range(20), "source": "ours"})
    drawn = Drawn(BY_NAME["mutual_information_input"], "", "", many, (1, 1))
    assert drawn.instead().endswith("series: 0, 1, 2, 3, 4, 5, 6, 7 and 12 more")


@pytest.mark.parametrize(
    ("section", "measure", "figures"),
    [
        ("Information; figure ib_mi_tasks", "mutual_information", ["mutual_information_input"]),
        ("The mask", "mutual_information", ["mutual_information_input", "mask"]),
        ("Somewhere; figure of_none", "neighbors", ["mask"]),
        ("Pruning", "pruning", []),
    ],
)
def test_a_claim_is_seen_in_its_published_figure_or_in_all_of_its_table(section, measure, figures):
    claim = {"section": section, "measure": measure}
    assert index.figures_of(claim, list(BY_NAME.values())) == figures


def test_claims_seen_in_a_figure_are_by_verdict():
    names = [["mask"] * (measure == "neighbors") for measure in CLAIMS["measure"]]
    seen = index.seen_in(BY_NAME["mask"], CLAIMS.assign(figures=names, verdict="undecided"))
    assert [claim["measure"] for claim in seen] == ["neighbors"] * 2
    ranks = [claim["rank"] for claim in index.seen_in(BY_NAME["mask"], all_seen())]
    assert ranks == sorted(ranks) and len(ranks) == len(CLAIMS)
    assert index.seen_in(BY_NAME["mask"], None) == []


def all_seen():
    return CLAIMS.assign(figures=[["mask"]] * len(CLAIMS))


@pytest.fixture
def page_of(tmp_path, monkeypatch, run_script):
    """A function: the page that the program makes of a made-up study, and its folder."""
    monkeypatch.chdir(ROOT)
    folder, settings, arguments = write_study(tmp_path)

    def make(**changes):
        run_script("show_index", settings | changes, *arguments)
        return (folder / "index.html").read_text(encoding="utf-8"), folder

    return make


def test_the_program(page_of):
    page, folder = page_of()
    made = {path.name for path in (folder / "site").iterdir()}
    assert made == {f"{name}.webp" for name in BY_NAME}
    order = [page.index(f'id="figure-{name}"') for name in BY_NAME]
    assert order == sorted(order) and page.index('id="verdicts"') < order[0]
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_page_begins_with_the_question_and_the_size(page_of):
    page, _ = page_of()
    text = " ".join(page.split())
    question = text.index("What does a training objective do to a Transformer?")
    models = text.index("Transformers of 2 layers, width 64, 3 heads")
    objectives = text.index("lm, mt (2 seeds, 100,000 tokens); untrained (1 seed) <")
    words = text.index("en and de; 5,500 words of en to train on, 79 held out to measure on")
    assert question < models < objectives < words < text.index('class="headlines"')


def test_it_does_not_say_that_models_are_alike_whose_budgets_or_shapes_differ(page_of):
    """As in the default study, whose MLM reads three times as much."""
    more = {"seeds": [1], "tokens": "9,000,000", "shape": {"layers": 12}}
    page, _ = page_of(objectives=SETTINGS["objectives"] | {"mlm": more})
    text = " ".join(page.split())
    assert "mlm (1 seed, 9,000,000 tokens, layers 12)" in text
    assert "only the objective differs" not in text and "same model" not in text


def test_the_page_of_checkpoints_alone_asks_nothing_of_training(page_of):
    """A study has one objective at least, beside checkpoints alone an untrained one."""
    untrained = {"untrained": {"seeds": [1]}}
    alone, _ = page_of(objectives=untrained, trained=False, checkpoints=["bert", "gpt2"])
    assert "<dd>bert, gpt2</dd>" in alone and "untrained (1 seed)" in " ".join(alone.split())
    assert "training objective" not in alone
    assert "5,500 words of en, 79 held out to measure on" in alone
    of_none, _ = page_of(objectives={}, trained=False, checkpoints=["bert", "gpt2"])
    assert "Transformers of" not in of_none


def test_a_headline_figure_stands_first_with_what_is_seen(page_of):
    page, _ = page_of()
    seen = page.index("From the bottom to the top, nats: mt 4.9 → 4.12.")
    assert seen < page.index('id="verdicts"')
    head = page[page.index('class="headlines"') : page.index('id="verdicts"')]
    assert re.findall('src="([^"]*)"', head) == ["site/mutual_information_input.webp"]


def test_a_figure_says_that_it_draws_no_published_values(page_of):
    """As its caption may say how they are drawn, of models that this study lacks."""
    said = "No published values are drawn here."
    page, folder = page_of()
    assert said not in page
    points().query("source == 'ours'").to_csv(folder / "figures/mask.csv", index=False)
    page, _ = page_of()
    assert page.count(said) == 1 and page.index('id="figure-mask"') < page.index(said)


def test_verdicts_are_counted_as_the_claims_page_counts_them(page_of):
    page, _ = page_of()
    evolution = CLAIMS[CLAIMS["paper"] == "evolution"]
    assert f"<b>Evolution</b>: {len(evolution)} claims, 1 provisional<" in page
    contradicted = (evolution["verdict"] == "contradicted").sum()
    assert contradicted == 3 and f"</svg>{contradicted} contradicted</td>" in page
    assert "1 model has not learned enough" in page and "<li>mt: bleu 2, below 10</li>" in page


def test_models_that_are_not_ready_are_told_once():
    texts = ["lm: a, b; mt: c", "", "mt: c"]
    assert index.not_ready(pd.DataFrame({"not_ready": texts})) == ["lm: a, b", "mt: c"]


@pytest.mark.parametrize(
    ("digest", "sentence"),
    [("b2", "The text is that of docs/findings"), ("b3", "The text is not that of docs/")],
)
def test_whether_the_text_is_that_of_the_findings(page_of, monkeypatch, digest, sentence):
    monkeypatch.setattr(reference, "KNOWN", {"1" * 12: {"train of packages": digest}})
    assert f"measure on. {sentence}" in page_of(text="1" * 12)[0]
    assert "measure on</dd>" in page_of(text="2" * 12)[0]


def test_where_the_rule_stands_is_said(page_of):
    page, _ = page_of()
    line = int(page.split("<code>rules/figures.smk:")[1].split("<")[0])
    assert 'f"plot_{name}"' in (ROOT / "rules/figures.smk").read_text().splitlines()[line - 1]


def test_code_is_linked_where_the_repository_has_an_address(page_of):
    page, _ = page_of(repository="https://example.org/us/blob/main")
    assert '<a href="https://example.org/us/blob/main/bottomup/figures/mask.py">' in page
    assert '<a href="https://example.org/us/blob/main/rules/figures.smk#L' in page


def test_what_is_shown_is_escaped(page_of):
    page, _ = page_of(study="<b>")
    assert "<h1>Study &lt;b&gt;</h1>" in page


def test_a_study_without_claims(tmp_path, monkeypatch, run_script):
    monkeypatch.chdir(ROOT)
    folder, settings, arguments = write_study(tmp_path)
    without = [*arguments[: arguments.index("--claims")], *arguments[-2:]]
    run_script("show_index", settings, *without)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "claims seen in it" not in page and "claims.html" not in page
    assert "figure-mask" in page and "verdicts" not in page


def test_of_claims_that_are_not_measured_nothing_is_said(tmp_path, monkeypatch, run_script):
    """As in a study of a checkpoint alone."""
    monkeypatch.chdir(ROOT)
    folder, settings, arguments = write_study(tmp_path)
    file = Path(arguments[arguments.index("--claims") + 1])
    pd.read_csv(file).assign(verdict="not measured").to_csv(file, index=False)
    run_script("show_index", settings, *arguments)
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "figure-mask" in page and "not measured" not in page and "claims.html" not in page


def test_settings_name_each_figure_once():
    assert json.dumps(FIGURES).count('"name": "mask"') == 1
