"""The studies that a page shows can be started, once their text is there."""

import re

import pytest

from bottomup.core.errors import UserError
from bottomup.plan.config import load
from bottomup.plan.reading import read
from tests.tiny import ROOT

# The other tutorials' studies name what their reader has yet to write; tests follow them there.
PAGES = ["README.md", "docs/howto.md", "docs/tutorials/checkpoint.md", "docs/tutorials/rerun.md"]
SHOWN = [
    (page, block)
    for page in PAGES
    for block in re.findall(r"^```yaml\n(study: .*?)^```", (ROOT / page).read_text(), re.M | re.S)
]


@pytest.mark.parametrize(
    ("page", "block"), SHOWN, ids=[f"{page}-{block.split()[1]}" for page, block in SHOWN]
)
def test_a_study_in_the_docs_is_read(page, block, tmp_path, monkeypatch):
    study = tmp_path / "study.yaml"
    study.write_text(block)
    monkeypatch.chdir(ROOT)
    above = [ROOT / "config.yaml"]
    # As in the command below it: --configfile studies/smoke.yaml name.yaml
    command = (ROOT / page).read_text().partition(block)[2].partition("```bash\n")[2]
    if "studies/smoke.yaml" in command.partition("```")[0]:
        above.append(ROOT / "studies/smoke.yaml")
    try:
        load(*read([*above, study], {}))
    except UserError as error:
        mistakes = str(error).splitlines()
        assert all("and there is no such f" in line for line in mistakes), mistakes
