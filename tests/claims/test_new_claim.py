"""The claim that docs/tutorials/add_claim.md adds: judged by the published curves, and reversed."""

import pytest

from bottomup.claims import beyond
from bottomup.claims.claim import collect
from tests.claims.made_up import judged, moved, where
from tests.tutorials import files_in


@pytest.fixture
def added():
    """The claim of the page, which the catalog does not have."""
    claims = []
    names = vars(beyond) | {"claim": collect(claims, paper="beyond")}
    exec(files_in("add_claim")["bottomup/claims/beyond.py"], names)
    return claims


def test_it_is_judged_by_what_it_says(added, as_published):
    frame = as_published["neighbors"]
    left = {
        name: frame[where(frame, objective=name, property="left_token", seed=1)]
        .query("layer > 4")["value"]
        .mean()
        for name in ("mt", "mlm")
    }
    row = judged(as_published, added).loc["mt_keeps_left_token"]
    assert row["value"] == pytest.approx(left["mt"] - left["mlm"], abs=1e-3)
    mlm = where(frame, objective="mlm", property="left_token")
    verdicts = {}
    for by in (-0.5, 0.5):
        frames = as_published | {"neighbors": moved(frame, frame["value"] + by * mlm)}
        verdicts[by] = judged(frames, added)["verdict"].item()
    assert verdicts == {-0.5: "reproduced", 0.5: "contradicted"}
