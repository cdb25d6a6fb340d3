import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer

from bottomup.core.errors import UserError
from bottomup.figures import projection, style
from bottomup.pages import TEMPLATES, explorer, template_files
from bottomup.plan.study import tables
from tests.pages import made_up_claims, made_up_study
from tests.pages.made_up_study import write_explored
from tests.tiny import ROOT

TABLES = made_up_study.curves()


def curve(measure, runs, **chosen):
    """The values and both ends of the interval of one curve."""
    places = [measure["choices"][name].index(value) for name, value in chosen.items()]
    (found,) = (each for each in measure["curves"] if each[:2] == [runs, places])
    return found[2:]


def test_curves_are_those_of_the_table():
    measure = explorer.curves("mutual_information", TABLES["mutual_information"])
    assert (measure["value"], measure["x"]) == ("mi_nats", ["0", "1", "2"])
    estimators = ["clusters, 50", "classifier"]
    labels, numbers = ["input", "output"], ["100", "60"]
    assert measure["choices"] == {"label": labels, "n_tokens": numbers, "estimator": estimators}
    rows = TABLES["mutual_information"].query(
        "objective == 'lm' and seed == 2 and label == 'input' and estimator == 'classifier'"
    )
    found = curve(measure, ["lm-2"], label="input", n_tokens="100", estimator="classifier")
    for numbers, column in zip(found, ("mi_nats", "ci_low", "ci_high"), strict=True):
        assert numbers == pytest.approx(rows[column].tolist(), rel=1e-3)
    assert len(measure["curves"]) == 2 * 4 + 2 * 3, "MT predicts no next token"


def test_numbers_are_short():
    measure = explorer.curves("mutual_information", TABLES["mutual_information"])
    values, *_ = curve(measure, ["mt-1"], label="input", n_tokens="100", estimator="clusters, 50")
    assert values == [4.777, 4.477, 4.177]
    values, *_ = curve(measure, ["mt-1"], label="input", n_tokens="60", estimator="clusters, 50")
    assert values == [4.527, 4.227, 3.927]


def test_curves_of_two_runs_and_over_steps():
    measure = explorer.curves("pwcca_between_runs", TABLES["pwcca_between_runs"])
    assert measure["choices"] == {} and len(measure["curves"]) == 6
    assert curve(measure, ["lm-1", "mt-2"])[0] == [0.23, 0.33, 0.43]
    measure = explorer.curves("change", TABLES["change"])
    assert measure["x"] == ["0-1", "1-2"] and list(measure["choices"]) == ["group"]


def test_a_value_that_rests_on_too_few_cases_is_null():
    table = TABLES["change"].assign(n=[9, *[10] * (len(TABLES["change"]) - 1)], n_needed=10)
    measure = explorer.curves("change", table)
    shown = [x for _, _, values, *_ in measure["curves"] for x in values]
    assert measure["curves"][0][2][0] is None and shown.count(None) == 1


def test_what_is_missing_is_null_and_what_is_about_no_layer_is_left_out():
    table = TABLES["mutual_information"].query("not (objective == 'lm' and layer == 1)")
    whole = table.head(1).assign(layer=float("nan"))
    measure = explorer.curves("mutual_information", pd.concat([table, whole]))
    values, low, high = curve(
        measure, ["lm-1"], label="input", n_tokens="100", estimator="classifier"
    )
    assert measure["x"] == ["0", "1", "2"], "in their order, whatever the first model lacks"
    assert values[1] is low[1] is high[1] is None and None not in (values[0], values[2])


def test_layers_and_steps_have_their_order():
    rows = pd.DataFrame({"objective": ["a", "a", "b", "b"], "seed": 1, "value": 0.5})
    rows = rows.assign(ci_low=0.4, ci_high=0.6)
    layers = rows.assign(layer=[0, 10, 2, 10])[["objective", "seed", "layer", *rows.columns[2:]]]
    assert explorer.curves("norm", layers)["x"] == ["0", "2", "10"]
    steps = layers.rename(columns={"layer": "layer_a"})
    steps.insert(3, "layer_b", [11, 11, 3, 11])
    assert explorer.curves("norm", steps)["x"] == ["2-3", "10-11", "0-11"]


def test_heads_say_their_functions_once():
    found = explorer.heads(made_up_study.heads())
    assert len(found) == 4 * 2 * 3
    (head,) = (h for h in found if (h["run"], h["layer"], h["head"]) == ("lm-1", 2, 3))
    assert head["functions"] == "positional 0.90, dobj to head 0.90 (baseline 0.40)"
    assert head["labels"] == "p o-v" and head["confidence"] == 0.23
    assert found[0]["functions"] == found[0]["labels"] == ""
    mt = [head for head in found if head["run"] == "mt-1"]
    assert {head["attention"] for head in mt} == {"encoder", "cross"}
    assert not any("relevance" in head for head in mt), "what is not known is not there"


def test_attention_is_a_byte_a_weight():
    found = explorer.attention(made_up_study.attention("mt"))
    assert (found["run"], found["layers"], found["heads"]) == ("mt-1", 2, 3)
    assert list(found["kinds"]) == ["encoder", "cross"]
    second = found["kinds"]["cross"][1]
    tokens = made_up_study.SENTENCES[1]
    assert (second["queries"], second["keys"]) == (tokens[::-1], tokens)
    weights = np.frombuffer(base64.b64decode(second["weights"]), np.uint8).reshape(2, 3, 6, 6) / 255
    expected = made_up_study.weights(2, 3, 6, 6, seed=6)
    np.testing.assert_allclose(weights, expected, atol=0.5 / 255)


def test_beliefs_by_layer_and_place():
    found = explorer.beliefs(made_up_study.beliefs("lm"))
    assert found["run"] == "lm-1" and len(found["sentences"]) == 2
    first = found["sentences"][0]
    assert (first["read"], first["right"]) == (["a", "big", "cat"], ["big", "cat", "</s>"])
    assert first["believed"] == [["a"] * 3, first["right"], first["right"]]
    assert first["probability"] == [[0.25] * 3, [0.5] * 3, [0.75] * 3]
    assert first["right_probability"] == [[0] * 3, [0.25] * 3, [0.5] * 3]


@pytest.fixture
def projected(corpus_files):
    """A function: the pictures of a made-up projection."""

    def pictures(n, change=lambda table: table):
        tokenizer = Tokenizer.from_file(str(corpus_files.tokenizer("source")))
        text = pd.read_parquet(corpus_files.text("test"))["source"]
        table = change(made_up_study.projection(text, tokenizer, n))
        return explorer.pictures(table, text, tokenizer), table, text

    return pictures


def test_a_study_without_a_picture_has_no_part_for_them(projected):
    found, _, _ = projected(1, lambda table: table[:0])
    assert found is None


def test_pictures_have_the_word_of_each_point_in_its_sentence(projected):
    found, table, text = projected(5)
    assert [each["picture"] for each in found["pictures"]] == ["token", "position"]
    picture = found["pictures"][0]
    first = table.query("picture == 'token' and layer == 0")
    assert picture["shown"] == picture["of"] == len(first)
    for n, row in enumerate(first.to_dict("records")):
        sentence, (start, end) = found["sentences"][picture["sentences"][n]], picture["words"][n]
        assert sentence == text[row["sentence"]] and sentence[start:end] == row["token"]
        assert (picture["colors"][n], picture["kinds"][n]) == (row["token"], row["kind"])
        assert [layer[n] for layer in picture["x"]] == [
            round(100 * (row["x"] + layer / 10)) for layer in range(3)
        ]
    assert found["pictures"][1]["kinds"] is None


def test_of_many_points_the_same_are_shown_in_all_layers(projected, monkeypatch):
    monkeypatch.setattr(explorer, "MOST_POINTS", 3)
    found, _, _ = projected(9)
    picture = found["pictures"][0]
    assert picture["shown"] == 9 == 3 * 3 < picture["of"]
    steps = np.diff(picture["x"], axis=0)
    assert (steps == 10).all(), "each point moves by a tenth from layer to layer"


@pytest.mark.parametrize("picture", ["ccg", "token"])
def test_no_two_categories_or_words_share_a_color_but_those_of_all_others(projected, picture):
    def named(table):
        drawn = table.query("picture == 'token'")
        names = {f"{n}": name for n, name in enumerate(["other", "others", *"abcdefg"])}
        of = (drawn["x"] // 1).astype(int).astype(str).map(names)
        return drawn.assign(picture=picture, **{picture: of})

    found, _, _ = projected(9, named)
    colors = found["pictures"][0]["colors"]
    assert len(set(colors)) == len(projection.COLORS) + 1
    assert projection.ALL_OTHERS in colors and {"other", "others"} < set(colors)


def test_the_program(corpus_files, run_script, tmp_path):
    page, settings, arguments = write_explored(tmp_path, corpus_files)
    run_script("show_explorer", settings, *arguments)
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert [measure["name"] for measure in data["measures"]] == list(TABLES)
    assert list(data["looks"]) == ["mt", "lm"] and len(data["claims"]) == 21
    assert data["importances"] == list(made_up_study.IMPORTANCES)
    assert all(f'id="{part}"' in text for part in ("heads", "beliefs", "pictures"))
    assert [each["run"] for each in data["beliefs"]] == ["lm-1", "mt-1"]
    assert "http" not in text.replace("http://www.w3.org", "")
    assert (page.parent / "site/vega.js").stat().st_size < 2e6


def test_models_have_the_colors_that_they_have_in_figures(corpus_files, run_script, tmp_path):
    page, settings, arguments = write_explored(tmp_path, corpus_files)
    for path in tmp_path.glob("*.csv"):
        path.write_text(re.sub(r"\blm\b", "mine", re.sub(r"\bmt\b", "yours", path.read_text())))
    found = []
    for places in ({"mine": 0, "yours": 1}, {"mine": 1, "yours": 0}):
        run_script("show_explorer", settings | {"places": places}, *arguments)
        data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"))[1])
        found.append([data["looks"][name]["color"] for name in ("mine", "yours")])
    assert found[0] == style.SPARE_COLORS[:2] == found[1][::-1]


def test_a_token_called_null_is_shown(corpus_files, run_script, tmp_path):
    page, settings, arguments = write_explored(tmp_path, corpus_files)
    shown = []
    for name in ("dogs", "null"):
        table = pd.read_csv(tmp_path / "projection.csv", keep_default_na=False)
        table["token"] = table["token"].replace("dogs", name)
        table.to_csv(tmp_path / "projection.csv", index=False)
        run_script("show_explorer", settings, *arguments)
        data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"))[1])
        shown.append([picture["shown"] for picture in data["projected"]["pictures"]])
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("names", "opened"),
    [
        (["untrained", "mlm_causal", "mlm", "lm", "mt", "untrained_causal"], ["mt", "lm", "mlm"]),
        (["lm", "lm_bidirectional", "lm_step20", "lm_half1"], ["lm"]),
        (["bert", "bert_untrained", "gpt2", "opt", "bloom"], ["bert", "bloom", "gpt2"]),
    ],
)
def test_the_page_opens_with_the_models_that_the_paper_compares_or_a_few(names, opened):
    looks = explorer.looks(names)
    assert [name for name, look in looks.items() if look["opened"]] == opened
    rows = pd.DataFrame({"objective": names, "seed": 1, "layer": 0, "value": 0.5})
    table = rows.assign(ci_low=0.4, ci_high=0.6)
    page = explorer.page("made_up", {"norm": table}, None, [], [], None, None)
    checked = re.findall(r'name="objective" value="(\w+)" checked', page)
    assert checked == opened
    assert len(re.findall(r'name="objective" value="\w+"', page)) == len(names)


def test_it_opens_with_the_first_seed_and_with_checkpoints():
    rows = pd.DataFrame({"objective": ["lm", "lm", "bert"], "seed": [1, 2, 0], "value": 0.5})
    rows = rows.assign(layer=0, ci_low=0.4, ci_high=0.6)
    table = rows[["objective", "seed", "layer", "value", "ci_low", "ci_high"]]
    page = explorer.page("made_up", {"norm": table}, None, [], [], None, None)
    assert re.findall(r'name="seed" value="(\d)" checked', page) == ["0", "1"]


def test_a_table_without_rows_is_not_offered():
    [name] = [*TABLES][:1]
    some = {name: TABLES[name], "empty": TABLES[name][:0]}
    page = explorer.page("made_up", some, None, [], [], None, None)
    assert page == explorer.page("made_up", {name: TABLES[name]}, None, [], [], None, None)


def test_a_study_without_heads_pictures_and_claims(corpus_files):
    page = explorer.page("made_up", TABLES, None, [], [], None, None)
    nothing = explorer.page("made_up", {}, None, [], [], None, None)
    assert "has nothing to explore" in nothing and "has nothing to explore" not in page
    assert 'id="curves"' not in nothing and 'id="heads"' not in nothing
    assert 'id="heads"' not in page and 'id="pictures"' not in page and 'id="curves"' in page


def test_its_rule_has_all_templates_that_it_reads(monkeypatch):
    """Those that they take in, and that of signs, which a module asks for."""
    read, get_source = set(), TEMPLATES.loader.get_source

    def recorded(environment, name):
        read.add(f"bottomup/pages/{name}")
        return get_source(environment, name)

    monkeypatch.setattr(TEMPLATES, "cache", None)
    monkeypatch.setattr(TEMPLATES.loader, "get_source", recorded)
    explorer.page("made_up", TABLES, None, [], [], None, made_up_claims.claims())
    [given] = re.findall(
        r'template_files\("(explorer.*)"\)', (ROOT / "rules/pages.smk").read_text()
    )
    assert {*template_files(*given.split('", "'))} == read


def test_infinity_is_no_page_without_a_word():
    [name] = [*TABLES][:1]
    table = TABLES[name].assign(ci_high=np.inf)
    with pytest.raises(UserError, match="infinity; the explorer needs finite numbers"):
        explorer.page("made_up", {name: table}, None, [], [], None, None)


def test_no_text_ends_the_data():
    claims = made_up_claims.claims().assign(statement="</script><script>alert(1)")
    page = explorer.page("made_up", TABLES, None, [], [], None, claims)
    assert "</script><script>alert" not in page


def test_a_band_says_of_which_measures_it_is_not_over_documents():
    """As their captions say of the bars in their figures."""
    captions = {
        name: (ROOT / f"docs/captions/{name}.rst").read_text(encoding="utf-8")
        for name, module in tables().items()
        if module.TABLE.over_layers and module.TABLE.category
    }
    others = {name for name, text in captions.items() if re.search("are over (words|pairs)", text)}
    told = {"wordnet": "of wordnet over words", "bertscore": "people rated over these pairs"}
    assert others == {*told}
    note = (ROOT / "bottomup/pages/explorer.html").read_text(encoding="utf-8")
    assert all(words in note for words in told.values())


def test_what_the_page_leaves_out_it_says():
    """As docs/site.md promises."""
    table = TABLES["change"]
    given = pd.concat([table, table[table["seed"] == 1].assign(objective="bert", seed=0)])
    of_lm = [made_up_study.attention("lm")], [made_up_study.beliefs("lm")]
    page = explorer.page("made_up", {"change": given}, made_up_study.heads(), *of_lm, None, None)
    for said in ("four digits", "Attention is kept of the first", "Predictions are kept of the fi"):
        assert said in page
    assert "> 0 (models from elsewhere)</label>" in page and "> 1</label>" in page
