# SPDX-License-Identifier: MIT
"""Small random tables against brute force in numpy, and what must not change a result."""

import itertools
import warnings
from fractions import Fraction

import limen
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st


@st.composite
def tables(draw, max_rows=14):
    """Few distinct values, exact in single precision, both classes."""
    rows = draw(st.integers(2, max_rows))
    small = st.integers(-4, 8).map(lambda value: value / 8)
    y = draw(st.lists(st.booleans(), min_size=rows, max_size=rows).filter(lambda y: 0 < sum(y) < len(y)))
    columns = [draw(st.lists(small, min_size=rows, max_size=rows)) for _ in range(2)]
    return np.array(y), *map(np.array, columns)


PERCENT = st.integers(0, 100).map(lambda percent: Fraction(percent, 100))
GOALS = st.one_of(
    *(
        PERCENT.map(lambda bound, name=name: {name: bound})
        for name in ("min_precision", "min_recall", "max_false_positive_rate", "max_flag_rate")
    ),
    st.tuples(st.integers(0, 5), st.integers(1, 5)).map(lambda cost: {"cost": cost}),
    st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]).map(lambda beta: {"f_beta": beta}),
)


def fit(*table, **keywords):
    """The boundary, or None when infeasible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return limen.fit_boundary(*table, **keywords)
        except limen.InfeasibleError:
            return None


def brute_force(y, score, uncertainty, goal, edges):
    """The best value over all boundaries on these levels, as a fraction; None when no boundary is feasible."""
    level = np.searchsorted(edges, uncertainty, side="right")
    choices = [[np.inf, *np.unique(score[level == at])] for at in range(len(edges) + 1)]
    ((name, bound),) = goal.items()
    positives, negatives = int(y.sum()), int((~y).sum())
    best = None
    for thresholds in itertools.product(*choices):
        flagged = score >= np.array(thresholds)[level]
        tp, fp = int((flagged & y).sum()), int((flagged & ~y).sum())
        if name == "min_precision":
            feasible, value = tp >= bound * (tp + fp) and (tp + fp > 0 or bound == 0), Fraction(tp)
        elif name == "min_recall":
            feasible, value = tp > 0 and tp >= bound * positives, Fraction(tp, max(1, tp + fp))
        elif name == "max_false_positive_rate":
            feasible, value = fp <= bound * negatives, Fraction(tp)
        elif name == "max_flag_rate":
            feasible, value = tp + fp <= bound * len(y), Fraction(tp)
        elif name == "cost":
            feasible, value = True, -Fraction(bound[0] * fp + bound[1] * (positives - tp))
        else:
            square = bound * bound
            feasible, value = True, (1 + square) * tp / ((1 + square) * tp + square * (positives - tp) + fp)
        if feasible and (best is None or value > best):
            best = value
    return best


@settings(max_examples=300)
@given(tables(), GOALS, st.integers(1, 3))
def test_the_exact_fit_is_the_best_of_all_boundaries(table, goal, levels):
    y, score, uncertainty = table
    boundary = fit(*table, **goal, levels=levels)
    # The levels are those of any goal; flagging nothing meets this one.
    edges = fit(*table, max_flag_rate=1, levels=levels).uncertainty_edges
    best = brute_force(*table, goal, edges)
    if boundary is None:
        assert best is None
        return
    assert boundary.uncertainty_edges.tolist() == edges.tolist()
    assert best is not None
    assert boundary.optimal
    sign = -1 if "cost" in goal else 1
    assert abs(boundary.holdout.objective_value - sign * float(best)) <= 1e-12 * abs(float(best))
    flagged = boundary.decide(score, uncertainty)
    assert (boundary.holdout.flagged, boundary.holdout.true_positives) == (flagged.sum(), (flagged & y).sum())


@given(tables(40), GOALS, st.sampled_from(["exact", "st", "gmt", "mist", "hr"]), st.integers(1, 4))
def test_forms_of_the_same_rows_give_the_same_boundary(table, goal, method, levels):
    options = {**goal, "method": method, "levels": levels}
    y, score, uncertainty = table
    expected = fit(*table, **options)
    single = score.astype(np.float32), uncertainty.astype(np.float32)
    assert fit(y, *single, **options) == expected
    assert fit(y, single[0], uncertainty, **options) == expected
    assert fit(y.tolist(), score.tolist(), uncertainty.tolist(), **options) == expected
    order = np.random.default_rng(len(y)).permutation(len(y))
    assert fit(y[order], score[order], uncertainty[order], **options) == expected


@given(tables(40), GOALS, st.integers(1, 4))
def test_weights_of_one_change_nothing_and_whole_weights_repeat_rows(table, goal, levels):
    y, score, uncertainty = table
    plain = fit(*table, **goal, levels=levels)
    ones = fit(*table, **goal, levels=levels, sample_weight=np.ones(len(y)))
    assert (plain is None) == (ones is None)
    if plain is not None:
        assert ones.score_thresholds.tobytes() == plain.score_thresholds.tobytes()
        assert ones.uncertainty_edges.tobytes() == plain.uncertainty_edges.tobytes()
        assert (ones.holdout.flagged, ones.holdout.true_positives) == (
            plain.holdout.flagged,
            plain.holdout.true_positives,
        )
    # Quantiles of uncertainty count rows, so that only one level is comparable with repeated rows.
    times = 1 + np.arange(len(y)) % 3
    weighted = fit(*table, **goal, levels=1, sample_weight=times)
    repeated = fit(*(np.repeat(column, times) for column in table), **goal, levels=1)
    assert (weighted is None) == (repeated is None)
    if weighted is not None:
        assert weighted.score_thresholds.tobytes() == repeated.score_thresholds.tobytes()


@given(tables(30), st.integers(1, 4))
def test_json_reads_back_exactly(table, levels):
    boundary = fit(*table, f_beta=1, levels=levels)
    assert limen.Boundary.from_json(boundary.to_json()) == boundary


@given(tables(30), st.integers(1, 4), st.sampled_from(["equi-weight", "equi-span"]))
def test_calibration_is_the_best_monotone_fit_of_each_level(table, levels, binning):
    from sklearn.isotonic import IsotonicRegression

    y, score, uncertainty = table
    X = np.column_stack([score, uncertainty])
    calibrator = limen.LevelIsotonic(levels=levels, binning=binning).fit(X, y)
    probability = calibrator.calibrate(score, uncertainty)
    level = np.searchsorted(calibrator.uncertainty_edges_, uncertainty, side="right")
    for at in set(level):
        rows = level == at
        peer = IsotonicRegression().fit_transform(score[rows], y[rows].astype(float))
        np.testing.assert_allclose(probability[rows], peer, atol=1e-12)
