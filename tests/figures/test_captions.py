"""Captions render as Snakemake renders them for its report, with the default study's config."""

from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
import yaml
from docutils.core import publish_parts

ROOT = Path(__file__).parents[2]
CAPTIONS = sorted((ROOT / "docs" / "captions").glob("*.rst"))


@pytest.mark.parametrize("path", CAPTIONS, ids=lambda path: path.stem)
def test_caption(path):
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(path.read_text())
    text = template.render(snakemake=SimpleNamespace(config=config))
    # Level 2 is a warning: faulty markup raises instead of showing in the report.
    html = publish_parts(text, writer="html", settings_overrides={"halt_level": 2})["body"]
    assert "paper" in html
