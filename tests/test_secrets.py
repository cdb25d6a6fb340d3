"""No secret in a web address gets into what is written or said."""

import pytest

from bottomup.core.errors import UserError
from bottomup.core.schema import problems
from bottomup.core.settings import Site
from bottomup.corpus import sources
from bottomup.corpus.sources import libreoffice_help
from bottomup.plan.config import load

ADDRESSES = [
    "https://me:hunter2@host/{language}.tar.gz",
    "https://hunter2@host/{language}.tar.gz",
    "ftp://me:hunter2@host:21/{language}.tar.gz",
    "https://host/{language}.tar.gz?key=hunter2",
    "https://host/{language}.tar.gz#hunter2",
    "https://me:a?hunter2@host/{language}.tar.gz",
    "https://me:@hunter2@host/{language}.tar.gz",
    'https://me:hun"hunter2@host/{language}.tar.gz',
    "https://me:hunter2 hunter2@host/{language}.tar.gz",
    "https://me:hun/hunter2@host/{language}.tar.gz",
    "https://me:1/hunter2@host/{language}.tar.gz",
    "//me:hunter2@host/{language}.tar.gz",
    "https:/me:hunter2@host/{language}.tar.gz",
    'https://host/{language}.tar.gz?key="hunter2"',
    'https://host/{language}.tar.gz?key="hun hunter2"',
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_secret_is_refused_without_telling_it(address, tmp_path):
    with pytest.raises(UserError, match=r"~/\.netrc") as error:
        sources.fetch("libreoffice_help", {"from": "archive", "archive_url": address}, tmp_path)
    assert "hunter2" not in str(error.value) and "archive_url" in str(error.value)


@pytest.mark.parametrize("address", ADDRESSES)
def test_so_is_that_of_the_repository(address):
    with pytest.raises(UserError) as error:
        raise UserError(problems(Site, {"repository": address, "sentences": 1, "beside": {}}))
    assert "hunter2" not in str(error.value) and "found an address with user" in str(error.value)


def test_an_address_in_another_encoding_is_not_told():
    with pytest.raises(UserError) as error:
        load({"site": {"repository": "https://me:hun hunter2\udcf6@host/a"}})
    assert "hunter2" not in str(error.value) and "site.repository" in str(error.value)


@pytest.mark.parametrize(
    "address",
    ["https://host/u/r@v1", "http://host:8080/a", "https://host/a"],
)
def test_an_address_without_a_secret_is_right(address):
    assert problems(Site, {"repository": address, "sentences": 1, "beside": {}}) == []


def test_what_is_no_address_says_what_is():
    [line] = problems(Site, {"repository": "https://[x", "sentences": 1, "beside": {}})
    assert 'found "https://[x"; allowed: text, a web address without [ ] or a last /' in line


def test_what_other_programs_say_is_told_without_secrets():
    said = "E: Failed to fetch https://me:hunter2@deb.org/a?sig=hunter2 (x@y.org, why?)"
    expected = "E: Failed to fetch https://***@deb.org/a?*** (x@y.org, why?)"
    assert str(UserError(said)) == expected


def test_the_password_comes_from_netrc_and_goes_to_that_host_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert not libreoffice_help._request("https://host/a").has_header("Authorization")
    file = tmp_path / ".netrc"
    file.write_text("machine host login me password hunter2\n")
    file.chmod(0o600)
    request = libreoffice_help._request("https://host/a")
    assert request.unredirected_hdrs == {"Authorization": "Basic bWU6aHVudGVyMg=="}
    assert not libreoffice_help._request("https://other/a").has_header("Authorization")
    file.write_text("machine host login me hunter2\n")
    with pytest.raises(UserError) as error:
        libreoffice_help._request("https://host/a")
    assert "hunter2" not in str(error.value)
