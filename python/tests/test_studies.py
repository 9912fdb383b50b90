# SPDX-License-Identifier: MIT
import limen
import numpy as np
import pytest
from rows import make_rows

HOLDOUT, TEST = make_rows(2000, seed=1), make_rows(2000, seed=2)


def test_compare_agrees_with_fits_and_evaluations():
    found = limen.compare(HOLDOUT, TEST, min_precision=0.6, methods=["exact", "st", "exact"], levels_from="all")
    assert [summary.method for summary in found] == ["exact", "st"]
    boundary = limen.fit_boundary(*HOLDOUT, min_precision=0.6, method="exact", levels_from="all")
    judged = boundary.evaluate(*TEST)
    exact = found.get("exact")
    (trial,) = exact.trials
    assert (trial.status, trial.gap) == ("optimal", 0)
    assert (trial.holdout_flagged, trial.holdout_recall) == (boundary.holdout.flagged, boundary.recall)
    assert (trial.test_flagged, trial.test_precision) == (judged.flagged, judged.precision)
    assert (exact.p_value_recall, exact.test_recall_sd) == (None, 0)
    assert found.get("st", 0.6) is found[1]
    with pytest.raises(KeyError):
        found.get("gmt")
    frame = found.to_pandas()
    assert frame.set_index("method")["feasible"].to_dict() == {"exact": True, "st": True}


def test_compare_takes_several_pairs_and_weights():
    weight = np.ones(2000)
    plain = limen.compare([HOLDOUT, TEST], [TEST, HOLDOUT], min_precision=["0.6"], methods=["st", "mist"])
    weighted = limen.compare(
        [(*HOLDOUT, weight), list(TEST)], ((*TEST, weight), HOLDOUT), min_precision=[0.6], methods=["st", "mist"]
    )
    for summary, expected in zip(weighted.to_dict()["summaries"], plain.to_dict()["summaries"], strict=True):
        for trial, other in zip(summary["trials"], expected["trials"], strict=True):
            assert other["gap"] <= trial.pop("gap") < other.pop("gap") + 1  # without weights in whole rows
        assert summary == expected
    assert 0 < plain[1].p_value_recall < 1


@pytest.mark.parametrize(
    ("holdout", "test", "keywords", "message"),
    [
        (HOLDOUT, [TEST, TEST], {}, "1 hold-outs and 2 test tables: they go in pairs"),
        (HOLDOUT[:2], TEST, {}, "holdout[0] has 2 parts, must be (y, score, uncertainty[, sample_weight])"),
        (HOLDOUT, [3], {}, "test[0] has 0 parts, must be (y, score, uncertainty[, sample_weight])"),
        (
            [HOLDOUT, (HOLDOUT[0], ["a"] * 2000, HOLDOUT[2])],
            [TEST] * 2,
            {},
            "holdout[1]: score[0] is 'a', must be a number",
        ),
        (HOLDOUT, (TEST[0][:9], *TEST[1:]), {}, "score has 2000 rows, y has 9"),
        (HOLDOUT, (np.zeros(2000), *TEST[1:]), {}, "compare_methods: the test of pair 1 has no rows in one"),
        ([], [], {}, "compare_methods: there are no hold-out/test pairs"),
        (HOLDOUT, TEST, {"min_precision": []}, "compare_methods: there are no precision bounds"),
        (HOLDOUT, TEST, {"min_precision": [0.5, 2]}, "min_precision is 2, must be between 0 and 1"),
        (HOLDOUT, TEST, {"methods": ["best"]}, 'method "best" is not one of '),
        (HOLDOUT, TEST, {"methods": []}, "compare_methods: there are no methods"),
        ((*HOLDOUT, np.ones(2000)), TEST, {"methods": ["vw-dpmt"]}, "vw-dpmt: counts whole rows and takes no weights"),
    ],
)
def test_compare_refuses_bad_tables(holdout, test, keywords, message):
    with pytest.raises(ValueError) as caught:
        limen.compare(holdout, test, **{"min_precision": 0.6, **keywords})
    assert str(caught.value).startswith(message)


def test_the_frontier_contains_the_best_threshold_and_bounds_the_exact_points():
    found = limen.frontier(*HOLDOUT, min_precision=[0.5, 0.6, 0.7], levels=4)
    for point in found.exact:
        st = limen.fit_boundary(*HOLDOUT, min_precision=point.bound, method="st")
        best = limen.fit_boundary(*HOLDOUT, min_precision=point.bound, levels=4, levels_from="all")
        assert point.feasible
        assert (point.flagged, point.recall, point.precision) == (best.holdout.flagged, best.recall, best.precision)
        assert found.st.recall[found.st.precision >= point.bound].max() == st.recall <= point.recall
        assert found.hull.recall[found.hull.precision >= point.bound].max() <= point.recall
    for curve in (found.hull, found.st):
        assert (np.diff(curve.recall) > 0).all()
        assert (np.diff(curve.precision) < 0).all()
        assert len(curve) == len(curve.to_dict()["recall"]) > 10
    frame = found.to_pandas()
    assert (frame["family"] == "exact").sum() == 3
    assert list(frame.columns) == ["family", "flagged", "true_positives", "precision", "recall"]


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((np.zeros(2000), *HOLDOUT[1:]), {}, "frontier: only one class; both are needed"),
        (([], [], []), {}, "frontier: there are no rows"),
        ((HOLDOUT[0], HOLDOUT[1][1:], HOLDOUT[2]), {}, "score has 1999 rows, y has 2000"),
        ((HOLDOUT[0], HOLDOUT[1] * np.nan, HOLDOUT[2]), {}, "score[0] is NaN, must be finite"),
        (HOLDOUT, {"min_precision": -1}, "min_precision is -1, must be a number >= 0"),
    ],
)
def test_frontier_refuses_bad_rows(arguments, keywords, message):
    with pytest.raises(ValueError) as caught:
        limen.frontier(*arguments, **keywords)
    assert str(caught.value).startswith(message)


def test_simulated_tables_go_into_fits_and_comparisons():
    data = limen.simulate(regions=300, holdout_rows=4000, test_rows=3000, seed=3)
    again = limen.simulate(regions=300, holdout_rows=4000, test_rows=10, seed=3)
    for name, values in data.holdout.to_dict().items():
        assert (values == again.holdout.to_dict()[name]).all()
    other = limen.simulate(regions=300, holdout_rows=4000, test_rows=0, seed=4)
    assert (other.holdout.y != data.holdout.y).any()
    boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.5, levels=3)
    (trial,) = limen.compare(data.holdout, [data.test], min_precision=0.5, methods="exact")[0].trials
    assert trial.holdout_recall == boundary.recall
    assert trial.test_recall == boundary.evaluate(*data.test.columns).recall


@pytest.mark.parametrize(
    ("keywords", "kind", "message"),
    [
        ({"tau": 0}, ValueError, "simulate: tau is 0"),
        ({"regions": 0}, ValueError, "simulate: regions is 0"),
        ({"holdout_rows": -1}, ValueError, "simulate: holdout_rows is -1"),
        ({"prior": (1, -1)}, ValueError, "simulate: prior_negative is -1"),
        ({"prior": 1}, ValueError, "prior is 1, must be two numbers"),
        ({"model_prior": (1, 2, 3)}, ValueError, "model_prior is (1, 2, 3), must be two numbers"),
        ({"seed": -1}, ValueError, "seed is -1, which is too small"),
        ({"seed": 2**64}, ValueError, "seed is 18446744073709551616, which is too large"),
        ({"regions": 1.5}, TypeError, "regions is 1.5, must be a whole number"),
    ],
)
def test_simulate_refuses_bad_options(keywords, kind, message):
    with pytest.raises(kind) as caught:
        limen.simulate(**keywords)
    assert str(caught.value).startswith(message)


def test_curves_and_tables_are_shown_in_a_line():
    curve = limen.FrontierCurve(*(np.array([0.25, 0.5]) for _ in range(4)))
    assert repr(curve) == "<limen.FrontierCurve: 2 points, precision 0.25 to 0.5, recall 0.25 to 0.5>"
    assert repr(limen.FrontierCurve(*(np.empty(0) for _ in range(4)))) == "<limen.FrontierCurve: no points>"
    table = limen.simulate(regions=50, holdout_rows=2000, test_rows=1000, seed=1).holdout
    assert repr(table) == f"<limen.SimulatedTable: 2000 rows, {table.y.sum()} positives>"
