"""Models in folders, to open as subjects."""

import pytest

from bottomup.training.run import save
from tests.subjects import families


@pytest.fixture
def saved(tmp_path, corpus_files):
    """Save a model as a run does; returns its folder."""

    def saved(model):
        save(model, corpus_files.tokenizers("lm"), tmp_path / "model")
        return tmp_path / "model"

    return saved


@pytest.fixture
def folder(tmp_path):
    """A checkpoint of BERT's family."""
    return families.save(families.FAMILIES["bert"], tmp_path / "model")
