# SPDX-License-Identifier: MIT
import json

import limen
import numpy as np
import pytest
from rows import Page, make_rows

ROWS = make_rows(2000, seed=1)


def planted():
    """At precision 0.9 one threshold reaches 40 of 60 positives, two levels all of them; one bin is infeasible."""
    counts = [(30, 0.9, 0, 1), (20, 0.5, 0, 1), (50, 0.1, 0, 0), (10, 0.9, 1, 1), (40, 0.5, 1, 0), (50, 0.1, 1, 0)]
    rows = np.repeat([row[1:] for row in counts], [row[0] for row in counts], axis=0)
    return rows[:, 2].astype(int), rows[:, 0], rows[:, 1]


def test_sweep_finds_what_was_planted():
    found = limen.sweep(*planted(), min_precision=0.9, levels=[2, 1], bins=["all", 1], repetitions=2)
    assert [(cell.levels, cell.bins) for cell in found] == [(1, 1), (1, "all"), (2, 1), (2, "all")]
    assert found.best is found.smallest is found.get(2, "all") is found[3]
    assert found.best.gain == pytest.approx(0.5)
    assert (found.best.flagged, found.best.true_positives, found.best.recall) == (60, 60, 1)
    assert found.single.value == pytest.approx(40 / 60)
    assert (found.get(2, 1).value, found.get(2, 1).gain, found.get(2, 1).fits_infeasible) == (None, None, 10)
    assert (found.fits, found.rows, found.positives, found.value) == (10, 200, 60, "recall")
    assert "2 levels with every score, recall 1, 50% better" in repr(found)
    with pytest.raises(KeyError):
        found.get(3, "all")


def test_sweep_has_a_frame_and_html():
    found = limen.sweep(*planted(), min_precision=0.9, levels=[1, 2], bins=[1, "all"])
    frame = found.to_pandas()
    table = frame.pivot(index="levels", columns="bins", values="gain")
    assert table.loc[2, "all"] == pytest.approx(0.5)
    assert np.isnan(table.loc[2, 1])
    assert frame["best"].tolist() == [False, False, False, True]
    page = Page(found._repr_html_())
    assert [row[0] for row in page.tables[0]] == ["levels \\ bins", "1", "2"]
    assert page.tables[0][2][1] == "infeasible" and page.tables[0][2][2].startswith("+50.0% *")
    assert page.paragraphs[0].rstrip(".").lower() == found.why.lower()


@pytest.mark.parametrize("goal", [{"min_precision": 0.6}, {"cost": (1, 3)}])
def test_sweep_gives_the_numbers_of_the_program(program, goal):
    found = limen.sweep(*ROWS, **goal, levels=[1, 3], bins=[20, "all"], seed=4, levels_from="all")
    name = program.write_table("rows.csv", *ROWS)
    flags = ["--precision", "0.6"] if "min_precision" in goal else ["--cost-fp", "1", "--cost-fn", "3"]
    told = program("sweep", name, *flags, "--levels=1,3", "--bins=20,all", "--seed=4", "--levels-from=all", "--json")
    told = json.loads(told)
    assert {key: told[key] for key in found.to_dict()} == found.to_dict()
    assert (
        limen.sweep(*ROWS, **goal, levels=[1, 3], bins=[20, "all"], seed=4, levels_from="all", num_threads=1) == found
    )
    assert limen.sweep(*ROWS, **goal, levels=[1, 3], bins=[20, "all"], seed=5, levels_from="all") != found


def test_sweep_takes_weights_and_single_numbers():
    plain = limen.sweep(*ROWS, min_precision=0.6, levels=2, bins="all", repetitions=1)
    weighted = limen.sweep(*ROWS, min_precision=0.6, levels=2, bins="all", repetitions=1, sample_weight=np.ones(2000))
    assert len(plain) == 1
    assert weighted == plain


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({}, ValueError, "no goal given"),
        ({"min_precision": 0.6, "levels": [2, 0]}, ValueError, "levels is 0, must be 1 to 1000"),
        ({"min_precision": 0.6, "levels": [2.5]}, TypeError, "levels is 2.5, must be a whole number"),
        ({"min_precision": 0.6, "bins": ["many"]}, ValueError, "many"),
        ({"min_precision": 0.6, "method": "smooth"}, ValueError, "smooth has no numbers of levels and score bins"),
        ({"min_precision": 0.6, "method": "auto"}, ValueError, "auto has no numbers of levels and score bins"),
        ({"min_precision": 0.6, "seed": -1}, ValueError, "seed is -1, which is too small"),
        ({"min_precision": 0.6, "folds": 21}, ValueError, "folds is 21, must be 2 to 20"),
    ],
)
def test_sweep_refuses_what_it_cannot_use(keywords, error, message):
    with pytest.raises(error) as refused:
        limen.sweep(*ROWS, **keywords)
    assert message in str(refused.value)


def test_sweep_needs_both_classes():
    with pytest.raises(ValueError, match="every row is positive; both classes are needed"):
        limen.sweep(np.ones(9), np.arange(9), np.arange(9), min_precision=0.9)
