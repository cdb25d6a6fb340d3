"""The package itself is optional and needs a network: a stand-in has the calls that are made."""

import sys
import zlib
from types import ModuleType, SimpleNamespace

import pytest
from pydantic import ValidationError

from bottomup.core.errors import UserError
from bottomup.corpus.losses import carried
from bottomup.corpus.sources.mtdata import Options, fetch

EUROPARL = "Statmt-europarl-10-deu-eng"
NEWS = "Statmt-news_commentary-14-deu-eng"


@pytest.fixture
def mtdata(monkeypatch):
    """Two data sets, German first, of 100 records; a record may have metadata, or lack a side."""
    records = [(f"deutsch {i}", f"english {i}", {"id": i}) for i in range(99)] + [("allein",)]
    langs = ("deu", "eng")
    index = {
        name: SimpleNamespace(did=SimpleNamespace(langs=langs), in_ext=None)
        for name in (EUROPARL, NEWS)
    }
    codes = {"de": "deu", "en": "eng", "es": "spa"}

    def check_compat_swap(wanted, found):
        return set(wanted) == set(found), wanted != found

    modules = {
        "cache": {"Cache": lambda folder: SimpleNamespace(get_entry=lambda entry: [folder])},
        "entry": {
            "BCP47Tag": SimpleNamespace(check_compat_swap=check_compat_swap),
            "DatasetId": SimpleNamespace(parse=str),
            "bcp47": codes.get,
        },
        "index": {"INDEX": index},
        "parser": {
            "Parser": lambda paths, ext, ent: SimpleNamespace(read_segs=lambda: iter(records))
        },
    }
    monkeypatch.setitem(sys.modules, "mtdata", ModuleType("mtdata"))
    for name, content in modules.items():
        module = ModuleType(f"mtdata.{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, f"mtdata.{name}", module)
    return modules


def test_pairs_are_turned_to_the_asked_direction(mtdata, tmp_path):
    english = fetch(Options(languages=("en", "de"), datasets=[EUROPARL]), tmp_path)
    german = fetch(Options(languages=("de", "en"), datasets=[EUROPARL]), tmp_path)
    assert english.loc[0, ["source", "target"]].tolist() == ["english 0", "deutsch 0"]
    assert german.loc[0, ["source", "target"]].tolist() == ["deutsch 0", "english 0"]
    assert english.loc[99, ["source", "target"]].tolist() == ["", "allein"]


def test_a_data_set_in_other_languages(mtdata, tmp_path):
    with pytest.raises(ValueError, match="has de and en, the corpus en and es; allowed: the same"):
        Options(languages=("en", "es"), datasets=[EUROPARL])
    # As regions and scripts, which mtdata alone compares.
    options = Options(datasets=[EUROPARL]).model_copy(update={"languages": ("en", "es")})
    with pytest.raises(UserError, match="has deu and eng, the corpus eng and spa") as error:
        fetch(options, tmp_path)
    assert "\n" not in str(error.value)


def test_every_pair_is_a_document(mtdata, tmp_path):
    table = fetch(Options(datasets=[EUROPARL, NEWS]), tmp_path)
    assert len(table) == 200 == table["document"].nunique()
    assert table["document"].iloc[[0, -1]].tolist() == [f"{EUROPARL}:1", f"{NEWS}:100"]


def test_a_sample_is_in_order_and_of_the_seed(mtdata, tmp_path):
    def sample(seed):
        options = Options(datasets=[EUROPARL, NEWS], max_pairs=60, seed=seed)
        return fetch(options, tmp_path)["document"].tolist()

    everything = fetch(Options(datasets=[EUROPARL, NEWS]), tmp_path)["document"].tolist()
    assert carried(fetch(Options(datasets=[EUROPARL, NEWS]), tmp_path)) == []
    [lost] = carried(fetch(Options(datasets=[EUROPARL, NEWS], max_pairs=60), tmp_path))
    assert (lost.dropped, lost.of, lost.key) == (140, 200, "corpus.sources.mtdata.max_pairs")
    first = sample(1)
    assert len(set(first)) == 60
    assert first == sample(1) != sample(2)
    assert first == sorted(first, key=everything.index)


def test_every_record_is_equally_likely_to_be_drawn(mtdata, tmp_path):
    n_draws, n_kept, n_records = 400, 20, 100
    counts = dict.fromkeys(map(str, range(1, n_records + 1)), 0)
    for seed in range(n_draws):
        options = Options(datasets=[EUROPARL], max_pairs=n_kept, seed=seed)
        for element in fetch(options, tmp_path)["element"]:
            counts[element] += 1
    # Binomial: mean 80, standard deviation 8; five of them hold 100 counts with p > 0.9999.
    assert all(abs(count - n_draws * n_kept / n_records) < 40 for count in counts.values())


def test_an_unknown_data_set_is_an_error(mtdata, tmp_path):
    with pytest.raises(UserError, match="knows no data set Statmt-none-1-deu-eng"):
        fetch(Options(datasets=["Statmt-none-1-deu-eng"]), tmp_path)


@pytest.mark.parametrize("error", [ConnectionError, EOFError, zlib.error, ValueError])
def test_a_download_that_fails_or_is_damaged_is_an_error(mtdata, tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error("no route")

    monkeypatch.setattr(sys.modules["mtdata.cache"], "Cache", fail)
    with pytest.raises(UserError, match=f"cannot get {EUROPARL} .no route"):
        fetch(Options(datasets=[EUROPARL]), tmp_path)


def test_a_missing_package_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mtdata", None)
    with pytest.raises(UserError, match="pip install mtdata"):
        fetch(Options(datasets=[EUROPARL]), tmp_path)


@pytest.mark.parametrize(
    ("languages", "dataset"),
    [(("en", "fr"), EUROPARL), (("en", "de"), "europarl"), (("en", "de"), "a-b-1-deu-eng-fra")],
)
def test_data_sets_have_an_id_with_the_languages(languages, dataset):
    with pytest.raises(ValidationError, match=r"data ?set"):
        Options(languages=languages, datasets=[dataset])


def test_regions_and_scripts_are_passed_over():
    Options(languages=("en", "fr"), datasets=["Group-name-1-eng_US-fra_CA"])
