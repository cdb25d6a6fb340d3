import pytest

from bottomup import program
from bottomup.errors import UserError


@pytest.fixture
def run(monkeypatch):
    """Run a program with these arguments; returns what its main function was given."""

    def run(*argv, main=lambda arguments: None):
        seen = []
        monkeypatch.setattr("sys.argv", ["program", *argv])
        program.run(
            lambda arguments: (seen.append(arguments), main(arguments)), program.parser("What.")
        )
        return seen[0]

    return run


def test_settings_are_a_dict_and_the_code_is_apart(run):
    settings = {"layers": 6, "rate": 1e-3, "options": {"mask": 0.8}, "on": True, "code": "abc"}
    arguments = run("--settings", repr(settings))
    assert arguments.code == settings.pop("code")
    assert arguments.settings == settings


def test_settings_may_be_left_out(run):
    assert run().settings == {}
    assert run().code is None


@pytest.mark.parametrize("text", ["[1]", "{1, 2}", "{'a': open}", "{'a'", "", "a b", "f()"])
def test_settings_of_any_other_kind(run, text, capsys):
    with pytest.raises(SystemExit) as error:
        run("--settings", text)
    assert error.value.code == 2
    assert "error: argument --settings: " in capsys.readouterr().err


def test_settings_are_not_run(run, tmp_path):
    with pytest.raises(SystemExit):
        run("--settings", f"{{'a': open({str(tmp_path / 'made')!r}, 'w')}}")
    assert not (tmp_path / "made").exists()


def test_a_users_mistake_is_one_line_and_status_1(run):
    def main(arguments):
        raise UserError("no such file; give another")

    with pytest.raises(SystemExit) as error:
        run(main=main)
    # sys.exit of a string prints it to stderr and ends with status 1.
    assert error.value.code == "error: no such file; give another"


def test_a_mistake_of_ours_shows_where_it_is(run):
    with pytest.raises(ZeroDivisionError):
        run(main=lambda arguments: 1 / 0)


def test_help_is_the_docstring(run, capsys):
    with pytest.raises(SystemExit) as error:
        run("--help")
    assert error.value.code == 0
    shown = capsys.readouterr().out
    assert "What." in shown and "--settings DICT" in shown
