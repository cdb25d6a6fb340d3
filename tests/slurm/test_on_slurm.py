"""A study on a cluster: the tables of a local run, in few jobs."""

from tests.slurm.studies import Study


def test_tables_are_those_of_a_local_run(undisturbed, cluster, tmp_path):
    study = Study.new(tmp_path / "study", cluster)
    study.run()
    assert study.tables() == undisturbed.tables()
    assert sorted(cluster.jobs().values()) == [
        "group_corpus",
        "group_look_at_lm-1",
        "rule_train_lm",
    ]
