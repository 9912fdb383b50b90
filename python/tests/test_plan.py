# SPDX-License-Identifier: MIT
import json

import limen
import numpy as np
import pytest
from rows import make_rows

ROWS = make_rows(2000, seed=1)


def test_plan_for_assumed_figures():
    test = limen.plan(min_precision=0.9, expect_precision=1, flag_rate=0.1)
    # 0.9^29 is the first power below 0.05; of 332 rows 29 are flagged four times in five.
    assert (test.trials, test.successes, test.rows) == (29, 29, 332)
    assert test.power == pytest.approx(0.803, abs=0.001)
    assert test.interval == (pytest.approx(0.025 ** (1 / 29)), 1)
    by_recall = limen.plan(min_precision=0.9, expect_precision=1, expect_recall=0.5, positive_rate=0.2)
    assert by_recall == test
    assert limen.plan(min_recall=0.9, expect_recall=1, positive_rate=0.1).rows == 332
    assert limen.plan(max_false_positive_rate=0.1, expect_false_positive_rate=0, positive_rate=0.9).rows == 332
    assert test.to_pandas()["rows"] == 332
    assert "332" in test._repr_html_()


@pytest.mark.parametrize("flag", ["min_precision", "min_recall", "max_false_positive_rate"])
def test_plan_gives_the_numbers_of_the_program(program, flag):
    bound = {"min_precision": 0.6, "min_recall": 0.5, "max_false_positive_rate": 0.3}[flag]
    name = program.write_table("rows.csv", *ROWS)
    found = limen.plan(ROWS[0], ROWS[1], **{flag: bound}, more_rows=[1000, 50_000], within=[0.2, 0.1], power=0.7)
    option = {"min_precision": "--precision", "min_recall": "--recall", "max_false_positive_rate": "--fpr"}[flag]
    report = json.loads(
        program(
            "plan", name, option, str(bound), "--more", "1000,50000", "--within", "0.2,0.1", "--power", "0.7", "--json"
        )
    )
    assert found.rows == report["rows"] and found.promise == report["promise"]
    assert found.uncertified.threshold == report["uncertified"]["threshold"]
    assert found.cheapest.test.rows == report["cheapest"]["test"]["rows"]
    assert list(found.reach) == [2000, 3000, 52_000]
    for entry in report["reach"]:
        ours = found.reach[entry["rows"]]
        theirs = entry["certified"]
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            assert (ours.threshold, ours.recall) == (theirs["threshold"], theirs["recall"])
            assert ours.test.trials == theirs["test"]["trials"]
    for entry in report["within"]:
        theirs = entry["certified"]
        assert found.rows_within(entry["loss"]) == (None if theirs is None else theirs["test"]["rows"])
    frame = found.to_pandas()
    assert frame["rows"].tolist() == [2000, 3000, 52_000]
    assert f"certified {found.value}" in found._repr_html_()
    assert "limen.Plan" in repr(found)
    json.dumps(found.to_dict())


def test_plan_says_when_no_number_of_rows_will_do():
    with pytest.raises(limen.InfeasibleError, match="not above the bound 0.9.*no number of rows"):
        limen.plan(min_precision=0.9, expect_precision=0.9, flag_rate=0.1)
    with pytest.raises(limen.InfeasibleError, match="no threshold has a precision >= 0.9999") as caught:
        limen.plan([0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6], min_precision=0.9999)
    assert caught.value.best_attainable == 0.5
    with pytest.raises(limen.InfeasibleError, match="no number of rows like them will do"):
        limen.plan([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.6], min_precision=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no goal given"),
        ({"min_precision": 0.9, "min_recall": 0.5}, "min_precision and min_recall given"),
        ({"min_precision": 0.9}, "needs expect_precision"),
        ({"min_precision": 0.9, "expect_precision": 0.95}, "needs flag_rate, or expect_recall with positive_rate"),
        ({"min_precision": 0.9, "expect_precision": 0.95, "flag_rate": 2}, "flag_rate is 2"),
        (
            {"min_precision": 0.9, "expect_precision": 0.95, "flag_rate": 0.1, "confidence_level": 95},
            "confidence is 95",
        ),
        ({"min_precision": 0.9, "expect_precision": 0.95, "flag_rate": 0.1, "power": 1}, "power is 1"),
        ({"min_precision": 0.9, "y": [0, 1]}, "y and score go together"),
        ({"min_precision": 0.9, "y": [0, 1], "score": [0, 1], "flag_rate": 0.1}, "without y and score"),
        ({"min_precision": 0.9, "y": [1, 1], "score": [0, 1]}, "only one class"),
        ({"min_precision": 0.9, "y": [], "score": []}, "no rows"),
        ({"min_precision": 0.9, "y": [0, 1], "score": [0, 1], "within": 1}, "losses is 1"),
    ],
)
def test_plan_names_what_it_refuses(given, message):
    with pytest.raises(ValueError, match=message):
        limen.plan(**given)


def test_bootstrap_gives_the_numbers_of_the_program(program):
    name = program.write_table("rows.csv", *ROWS)
    report = json.loads(
        program(
            "fit",
            name,
            "--precision",
            "0.6",
            "--method",
            "exact",
            "--levels",
            "2",
            "--levels-from",
            "all",
            "--bootstrap",
            "30",
            "--bootstrap-seed",
            "5",
            "--json",
        )
    )["bootstrap"]
    boundary = limen.fit_boundary(*ROWS, min_precision=0.6, method="exact", levels=2, levels_from="all")
    found = limen.bootstrap(boundary, *ROWS, replicates=30, seed=5)
    assert list(found.recall) == report["recall"]
    assert list(found.gain) == report["gain_over_single"]
    assert list(found.gain_left_out) == report["gain_over_single_left_out"]
    assert [[level.low, level.high] for level in found.score_thresholds] == [
        level["interval"] for level in report["score_thresholds"]
    ]
    assert found == limen.bootstrap(boundary, *ROWS, replicates=30, seed=5, num_threads=1)
    assert found != limen.bootstrap(boundary, *ROWS, replicates=30, seed=6)
    frame = found.to_pandas()
    assert frame.index.tolist() == ["0", "1", "single"]
    assert "30 resamples" in found._repr_html_()
    json.dumps(found.to_dict())
    with pytest.raises(ValueError, match="replicates is 1, must be 2"):
        limen.bootstrap(boundary, *ROWS, replicates=1)
    with pytest.raises(TypeError, match="must be a limen.Boundary"):
        limen.bootstrap("boundary", *ROWS)


def test_frontier_has_bands_where_asked_for(program):
    plain = limen.frontier(*ROWS, min_precision=[0.6, 0.7])
    assert plain.exact[0].recall_interval is None
    found = limen.frontier(*ROWS, min_precision=[0.6, 0.7], bootstrap=20, seed=3)
    name = program.write_table("rows.csv", *ROWS)
    report = json.loads(
        program("frontier", name, "--exact", "0.6,0.7", "--bootstrap", "20", "--bootstrap-seed", "3", "--json")
    )
    for point, theirs in zip(found.exact, report["exact"], strict=True):
        assert list(point.recall_interval) == theirs["recall_interval"]
        assert list(point.gain_interval) == theirs["gain_interval"]
    assert found.to_pandas().equals(plain.to_pandas())
    with pytest.raises(ValueError, match="replicates is -1"):
        limen.frontier(*ROWS, min_precision=0.6, bootstrap=-1)
    with pytest.raises(ValueError, match="weights"):
        limen.frontier(*ROWS, min_precision=0.6, bootstrap=5, sample_weight=np.ones(2000))


def test_compare_boundaries_gives_the_numbers_of_the_program(program):
    test = make_rows(3000, seed=2)
    one = limen.fit_boundary(*ROWS, min_precision=0.6, method="st")
    two = limen.fit_boundary(*ROWS, min_precision=0.7, method="exact", levels=3)
    found = limen.compare_boundaries(one, two, *test)
    name = program.write_table("test.csv", *test)
    one.save(program.folder / "one.json")
    two.save(program.folder / "two.json")
    report = json.loads(program("evaluate", "one.json", "two.json", name, "--json"))[1]["against_first"]
    assert found.first_only == (report["first_only"]["rows"], report["first_only"]["positives"])
    for figure in ("recall", "precision", "false_positive_rate"):
        assert getattr(found, figure).p_value == report[figure]["p_value"]
        assert list(getattr(found, figure).interval) == report[figure]["interval"]
    assert found.verdict == report["verdict"].replace("one.json", "first").replace("two.json", "second")
    assert found.to_pandas().index.tolist() == ["recall", "precision", "false_positive_rate"]
    assert "difference" in found._repr_html_()
    json.dumps(found.to_dict())
    assert limen.compare_boundaries(one, one, *test).recall.p_value == 1
    with pytest.raises(TypeError, match="second is a str"):
        limen.compare_boundaries(one, "two.json", *test)
    with pytest.raises(ValueError, match="rows"):
        limen.compare_boundaries(one, two, test[0][:5], *test[1:])
