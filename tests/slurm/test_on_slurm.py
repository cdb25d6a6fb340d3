"""A study on a cluster: the tables of a local run, in few jobs."""

import pytest

from tests.slurm.studies import Study

pytestmark = pytest.mark.long


def test_tables_are_those_of_a_local_run(undisturbed, cluster, tmp_path):
    study = Study.new(tmp_path / "study", cluster)
    study.run()
    assert study.tables() == undisturbed.tables()
    # The text, the training, and what looks at the run.
    assert study.log().count("submitted with SLURM jobid") == 3
