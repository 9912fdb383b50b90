# SPDX-License-Identifier: MIT
import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
matplotlib.use("Agg")
import limen  # noqa: E402
from limen import BoundaryClassifier, BoundaryDisplay, CalibrationLevelsDisplay, FrontierDisplay  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from rows import make_rows  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402

Y, SCORE, UNCERTAINTY = make_rows(4000)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def classifier():
    X = np.random.default_rng(0).normal(size=(500, 4))
    y = np.where(X[:, 0] + 0.7 * np.random.default_rng(1).normal(size=500) > 0.6, "yes", "no")
    return (
        BoundaryClassifier(RandomForestClassifier(10, random_state=0), min_precision=0.7, levels=3, cv=2).fit(X, y),
        X,
        y,
    )


def steps(boundary, low, high, right):
    """Corners of the line by hand: down each threshold from edge to edge."""
    edges = [low, *boundary.uncertainty_edges, high]
    corners = []
    for level, threshold in enumerate(boundary.score_thresholds):
        x = right if np.isnan(threshold) else threshold
        corners += [(x, edges[level]), (x, edges[level + 1])]
    return np.array(corners)


@pytest.mark.parametrize("scale", ["quantile", "value"])
def test_boundary_lines_are_the_thresholds_and_edges(scale):
    display = BoundaryDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, min_precision=0.8, methods=("exact", "st", "gmt"), levels=4, scale=scale
    )
    assert list(display.lines_) == ["exact", "st", "gmt"]
    for method, line in display.lines_.items():
        expected = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, method=method, levels=4)
        assert display.boundaries[method] == expected
        right = display.score_edges[-1]
        corners = steps(expected, UNCERTAINTY.min(), display.uncertainty_edges[-1], right)
        np.testing.assert_array_equal(line.get_xydata(), corners)
        assert line.get_label() == method
    assert display.ax_.get_xlabel() == "score"
    assert display.ax_.get_ylabel() == "uncertainty"


def test_boundary_cells_are_shares_of_positives():
    display = BoundaryDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, score_cells=7, uncertainty_cells=5, min_precision=0.8
    )
    x, u = display.score_edges, display.uncertainty_edges
    drawn = np.asarray(display.mesh_.get_array().filled(np.nan)).reshape(len(u) - 1, len(x) - 1)
    rows = 0
    for at in range(len(u) - 1):
        for bt in range(len(x) - 1):
            inside = (UNCERTAINTY >= u[at]) & (UNCERTAINTY < u[at + 1]) & (SCORE >= x[bt]) & (SCORE < x[bt + 1])
            rows += inside.sum()
            if inside.any():
                assert drawn[at, bt] == pytest.approx(Y[inside].mean())
            else:
                assert np.isnan(drawn[at, bt])
    assert rows == len(Y)


def test_boundary_cells_split_both_classes_evenly():
    display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, score_cells=4, min_precision=0.8)
    share = [np.histogram(SCORE[part], display.score_edges)[0] / part.sum() for part in (Y, ~Y)]
    np.testing.assert_allclose(np.mean(share, axis=0), 0.25, atol=0.01)


def test_quantile_scale_gives_all_cells_one_width():
    display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8)
    for edges, transform in (
        (display.score_edges, display.ax_.xaxis.get_transform()),
        (display.uncertainty_edges, display.ax_.yaxis.get_transform()),
    ):
        np.testing.assert_allclose(np.diff(transform.transform(edges)), 1)


def test_a_level_that_flags_nothing_is_drawn_at_the_right_edge():
    y = Y & (UNCERTAINTY < 0.6)
    boundary = limen.fit_boundary(y, SCORE, UNCERTAINTY, min_precision=0.8)
    assert np.isnan(boundary.score_thresholds[-1])
    display = BoundaryDisplay.from_predictions(y, SCORE, UNCERTAINTY, boundaries={"mine": boundary})
    assert display.lines_["mine"].get_xdata()[-1] == display.score_edges[-1] == display.ax_.get_xlim()[1]


def test_methods_that_find_no_boundary_are_left_out():
    score, y = SCORE.round(1), Y.copy()
    y[score >= 0.8] = False
    with pytest.raises(limen.InfeasibleError):
        limen.fit_boundary(y, score, UNCERTAINTY, min_precision=0.999, method="st")
    display = BoundaryDisplay.from_predictions(y, score, UNCERTAINTY, min_precision=0.999, methods=["st"])
    assert display.lines_ == {}


def test_boundary_display_of_an_estimator_draws_its_boundary(classifier):
    clf, X, y = classifier
    display = BoundaryDisplay.from_estimator(clf)
    assert display.boundaries["exact"] is clf.boundary_
    rows = clf.holdout_
    assert display.boundaries["st"] == limen.fit_boundary(
        rows.y, rows.score, rows.uncertainty, min_precision=0.7, method="st"
    )
    fresh = BoundaryDisplay.from_estimator(clf, X, y)
    assert fresh.score_edges[0] == clf.predict_score(X).min()
    assert fresh.uncertainty_edges[0] == clf.predict_uncertainty(X).min()


def test_displays_draw_on_given_axes():
    figure, axes = plt.subplots(2, 2)
    boundary = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8, ax=axes[0, 0], colorbar=False)
    frontier = FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=[0.6, 0.8], ax=axes[0, 1])
    levels = CalibrationLevelsDisplay.from_predictions(Y, SCORE, UNCERTAINTY, ax=axes[1, 0])
    assert [boundary.ax_, frontier.ax_, levels.ax_] == [axes[0, 0], axes[0, 1], axes[1, 0]]
    assert boundary.figure_ is frontier.figure_ is levels.figure_ is figure
    assert frontier.gain_ax_ is None
    assert len(figure.axes) == 4


def test_frontier_is_the_best_recall_at_each_bound():
    bounds = [0.5, 0.7, 0.85]
    display = FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=bounds, levels=3)
    exact, st = (
        [
            limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=b, method=method, levels_from="all").recall
            for b in bounds
        ]
        for method in ("exact", "st")
    )
    np.testing.assert_allclose(display.line_.get_ydata(), exact)
    np.testing.assert_allclose(display.st_line_.get_ydata(), st)
    np.testing.assert_allclose(display.gain_line_.get_ydata(), np.array(exact) / st - 1)
    np.testing.assert_array_equal(display.line_.get_xdata(), bounds)
    assert (np.array(exact) > st).all()


def test_frontier_has_gaps_where_nothing_is_reached():
    score = SCORE.round(1)
    y = Y & (score < 0.9)
    display = FrontierDisplay.from_predictions(y, score, UNCERTAINTY, bounds=[0.3, 0.999])
    assert np.isfinite(display.recall[0]) and np.isnan(display.recall[1])
    assert np.isnan(display.gain[1])


def test_frontier_of_an_estimator_uses_its_levels(classifier):
    clf, _, _ = classifier
    display = FrontierDisplay.from_estimator(clf, bounds=[0.7])
    rows = clf.holdout_
    best = limen.fit_boundary(
        rows.y, rows.score, rows.uncertainty, min_precision=0.7, levels=clf.levels, levels_from="all"
    )
    assert display.recall[0] == pytest.approx(best.recall)


def test_calibration_curves_are_means_of_bins():
    display = CalibrationLevelsDisplay.from_predictions(Y, SCORE, UNCERTAINTY, levels=3, n_bins=5)
    edges = limen.LevelIsotonic(levels=3).fit(np.column_stack([SCORE, UNCERTAINTY]), Y).uncertainty_edges_
    np.testing.assert_array_equal(display.uncertainty_edges, edges)
    level = np.searchsorted(edges, UNCERTAINTY, side="right")
    assert len(display.lines_) == 3
    for at, (curve, line) in enumerate(zip(display.curves, display.lines_, strict=True)):
        np.testing.assert_array_equal(line.get_xdata(), curve["score"])
        np.testing.assert_array_equal(line.get_ydata(), curve["positivity"])
        rows = curve["rows"]
        assert rows.sum() == (level == at).sum()
        assert curve["score"] @ rows == pytest.approx(SCORE[level == at].sum())
        assert curve["positivity"] @ rows == pytest.approx(Y[level == at].sum())
        assert (curve["low"] <= curve["positivity"]).all() and (curve["positivity"] <= curve["high"]).all()
    # Wilson's interval of 1 in 10: 0.0179 to 0.4042 (Newcombe 1998, score method).
    ten = limen.positivity_map(np.arange(10) == 0, np.zeros(10), np.zeros(10), bins=1)
    assert (ten.positivity_low[0], ten.positivity_high[0]) == (
        pytest.approx(0.0179, abs=1e-4),
        pytest.approx(0.4042, abs=1e-4),
    )


def test_calibration_of_an_estimator_has_the_levels_of_its_boundary(classifier):
    clf, _, _ = classifier
    display = CalibrationLevelsDisplay.from_estimator(clf)
    np.testing.assert_array_equal(display.uncertainty_edges, clf.boundary_.uncertainty_edges)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y[:5]}, r"score has shape \(4000,\), y has \(5,\)"),
        ({"y": np.zeros(4000)}, "only one class"),
        ({"y": Y * 2}, "y must be a column of 0 and 1"),
        ({"score": np.where(SCORE > 0.9, np.nan, SCORE)}, "score has values that are not finite"),
        ({"scale": "log"}, 'scale is \'log\', must be "quantile" or "value"'),
        ({"boundaries": {}, "min_precision": 0.5}, "boundaries are given, so min_precision has no meaning"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"y": Y, "score": SCORE, "uncertainty": UNCERTAINTY, **change}
    with pytest.raises(ValueError, match=message):
        BoundaryDisplay.from_predictions(**arguments)


def test_only_a_fitted_boundary_classifier_can_be_drawn():
    with pytest.raises(ValueError, match="RandomForestClassifier is no BoundaryClassifier"):
        BoundaryDisplay.from_estimator(RandomForestClassifier())
    with pytest.raises(ValueError, match="is not fitted"):
        FrontierDisplay.from_estimator(BoundaryClassifier(RandomForestClassifier()))


def test_matplotlib_is_imported_when_something_is_drawn_and_not_before():
    code = "import sys, limen; limen.BoundaryDisplay, limen.uncertainty; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
