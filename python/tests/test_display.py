# SPDX-License-Identifier: MIT
import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
matplotlib.use("Agg")
import limen  # noqa: E402
from limen import (  # noqa: E402
    BoundaryClassifier,
    BoundaryDisplay,
    CalibrationLevelsDisplay,
    FrontierDisplay,
    _words,  # noqa: E402
)
from limen._display import _style  # noqa: E402
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


NAMES = {"exact": "one threshold per level (exact)", "st": "one threshold", "gmt": "GMT: each level by itself"}


def shown(legend):
    """The entries of a legend, each in one line."""
    return [" ".join(text.get_text().split()) for text in legend.get_texts()]


def title_of(ax):
    return " ".join(ax.get_title().split())


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
        assert line.get_label() == (
            f"{NAMES[method]}: precision {expected.precision:.4f}, recall {expected.recall:.4f}"
        )
    kind = " (quantile scale)" if scale == "quantile" else ""
    assert display.ax_.get_xlabel() == f"score{kind}"
    assert display.ax_.get_ylabel() == f"uncertainty{kind}"


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


def infeasible_rows():
    score, y = SCORE.round(1), Y.copy()
    y[score >= 0.8] = False
    return y, score, UNCERTAINTY


def test_methods_that_find_no_boundary_are_named():
    rows = infeasible_rows()
    with pytest.raises(limen.InfeasibleError) as error:
        limen.fit_boundary(*rows, min_precision=0.999, method="st")
    display = BoundaryDisplay.from_predictions(*rows, min_precision=0.999, methods=["st"])
    assert display.lines_ == {}
    assert display.infeasible == {"st": error.value.best_attainable}
    assert shown(display.legend_)[0] == f"one threshold: infeasible, at best {error.value.best_attainable:.4g}"
    assert title_of(display.ax_) == "Most recall with precision >= 0.999 no boundary meets it"
    some = BoundaryDisplay.from_predictions(*rows, min_precision=0.6, methods=["exact", "hr", "st"], levels=2)
    assert set(some.lines_) | set(some.infeasible) == {"exact", "hr", "st"} and some.infeasible
    for name in some.infeasible:
        assert any("infeasible" in entry and NAMES.get(name, "HR") in entry for entry in shown(some.legend_))


def test_boundary_title_has_goal_and_figures_and_says_of_which_rows():
    boundary = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, levels=3)
    fitted = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8)
    reached = f"precision {boundary.precision:.4f}, recall {boundary.recall:.4f}"
    assert title_of(fitted.ax_) == f"Most recall with precision >= 0.8 {reached} on the hold-out, in-sample"
    # The same rows given with a boundary that was fitted on them are in-sample too; other rows are not.
    same = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries=boundary)
    assert title_of(same.ax_) == title_of(fitted.ax_)
    others = make_rows(4000, seed=1)
    found = boundary.evaluate(*others)
    other = BoundaryDisplay.from_predictions(*others, boundaries=boundary)
    reached = f"precision {found.precision:.4f}, recall {found.recall:.4f}"
    assert title_of(other.ax_) == f"Most recall with precision >= 0.8 {reached} on the rows drawn"
    named = BoundaryDisplay.from_predictions(*others, boundaries=boundary, on="on the test rows")
    assert title_of(named.ax_).endswith("on the test rows")
    assert "in-sample" not in title_of(named.ax_)


def test_boundary_title_tells_expected_from_certified():
    auto = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8)
    low, high = auto.expected["precision"]
    title = title_of(BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries=auto).ax_)
    assert f"expected: precision {low:.3f} to {high:.3f}" in title
    assert "certified" not in title
    sure = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, confidence_level=0.9)
    title = title_of(BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries=sure).ax_)
    assert "certified: precision >= 0.8 with confidence 90%" in title


def test_rows_behind_cells_are_written_where_there_is_room():
    display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, score_cells=6, uncertainty_cells=4)
    grid = np.histogram2d(UNCERTAINTY, SCORE, bins=[display.uncertainty_edges, display.score_edges])[0]
    np.testing.assert_array_equal(display.rows, grid)
    assert [text.get_text() for text in display.texts_] == [
        f"{share:.2f}\n{count:.0f}" for share, count in zip(display.positivity.ravel(), grid.ravel(), strict=True)
    ]
    assert display.few_ is None
    assert f"4,000 rows; {grid.min():.0f} to {grid.max():.0f} in a cell" in shown(display.legend_)


def test_cells_of_few_rows_have_a_dot():
    display = BoundaryDisplay.from_predictions(Y[:900], SCORE[:900], UNCERTAINTY[:900], min_precision=0.7)
    few = (display.rows > 0) & (display.rows < 10)
    assert display.texts_ == [] and 0 < few.sum() < few.size
    dots = display.few_.get_offsets()
    assert len(dots) == few.sum()
    cells = np.histogram2d(dots[:, 1], dots[:, 0], bins=[display.uncertainty_edges, display.score_edges])[0]
    np.testing.assert_array_equal(cells, few)
    assert "cell of fewer than 10 rows" in shown(display.legend_)


def test_a_method_has_one_colour_in_all_displays():
    boundary = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8, methods=["st", "exact"])
    frontier = FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=[0.6, 0.8])
    one, two = boundary.boundaries["st"], boundary.boundaries["exact"]
    swaps = limen.SwapDisplay.from_predictions(one, two, Y, SCORE, UNCERTAINTY)
    renamed = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries={"new": two, "old": one})
    exact = [boundary.lines_["exact"], frontier.line_, swaps.lines_["second"], renamed.lines_["new"]]
    single = [boundary.lines_["st"], frontier.st_line_, swaps.lines_["first"], renamed.lines_["old"]]
    assert len({line.get_color() for line in exact}) == len({line.get_color() for line in single}) == 1
    assert exact[0].get_color() != single[0].get_color()
    both = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries={"new": two, "old": two})
    assert both.lines_["new"].get_color() != both.lines_["old"].get_color()


def test_every_method_and_calibrator_has_words_and_a_look():
    rows = (Y[:500], SCORE[:500], UNCERTAINTY[:500])
    methods = {summary.method for summary in limen.compare(rows, rows, min_precision=0.5)}
    assert methods == set(_words.METHODS)
    columns = set(limen.calibration_report(*rows, tau=2, n_resamples=0))
    assert columns | {"evidence"} == set(_words.CALIBRATORS)
    assert set(_style.STYLES) == methods | set(_words.CALIBRATORS)
    # Nothing but the look of a line tells methods apart in a figure.
    looks = [tuple(_style.STYLES[name].values()) for name in methods]
    assert len(set(looks)) == len(looks)


def test_hostile_names_are_text():
    boundary = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, levels=2)
    names = {"_hidden": boundary, r"$\frac{$ x $": boundary, "a\nb" + "c" * 99: boundary}
    display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries=names)
    display.figure_.draw_without_rendering()
    first, second, third = shown(display.legend_)[:3]
    assert first.startswith("_hidden: precision")
    assert second.replace("\\$", "$").startswith(r"$\frac{$ x $: precision")
    assert third.startswith("a bccc") and "..." in third and len(third) < 100
    column = {"$x^": np.where(SCORE > 0.5, "$_{", "_b")}
    swaps = limen.SwapDisplay.from_predictions(
        limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, method="st"), boundary, Y, SCORE, UNCERTAINTY,
        columns=column,
    )  # fmt: skip
    swaps.figure_.draw_without_rendering()


def test_boundary_display_of_an_estimator_draws_its_boundary(classifier):
    clf, X, y = classifier
    display = BoundaryDisplay.from_estimator(clf)
    assert display.boundaries["exact"] is clf.boundary_
    assert title_of(display.ax_).endswith("on the hold-out, in-sample")
    rows = clf.holdout_
    assert display.boundaries["st"] == limen.fit_boundary(
        rows.y, rows.score, rows.uncertainty, min_precision=0.7, method="st"
    )
    fresh = BoundaryDisplay.from_estimator(clf, X, y)
    assert fresh.score_edges[0] == clf.predict_score(X).min()
    assert fresh.uncertainty_edges[0] == clf.predict_uncertainty(X).min()
    assert title_of(fresh.ax_).endswith("on the rows drawn")


def test_an_estimator_without_a_boundary_is_named_infeasible():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.random.default_rng(1).random(2000) < 0.3  # by chance alone
    forest = RandomForestClassifier(2, max_leaf_nodes=3, random_state=0)
    clf = BoundaryClassifier(forest, min_precision=0.999, method="exact", levels=2, cv=2, on_infeasible="none")
    with pytest.warns(UserWarning, match="flags no rows"):
        clf.fit(X, y)
    display = BoundaryDisplay.from_estimator(clf)
    assert "exact" in display.infeasible and "exact" not in display.lines_
    assert any(entry.startswith("one threshold per level (exact): infeasible") for entry in shown(display.legend_))


def test_displays_draw_on_given_axes():
    figure, axes = plt.subplots(2, 2)
    boundary = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8, ax=axes[0, 0], colorbar=False)
    frontier = FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=[0.6, 0.8], ax=axes[0, 1])
    levels = CalibrationLevelsDisplay.from_predictions(Y, SCORE, UNCERTAINTY, ax=axes[1, 0])
    assert [boundary.ax_, frontier.ax_, levels.ax_] == [axes[0, 0], axes[0, 1], axes[1, 0]]
    assert boundary.figure_ is frontier.figure_ is levels.figure_ is figure
    assert frontier.gain_ax_ is None
    assert len(figure.axes) == 4
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize(
    ("make", "panels"),
    [
        (lambda ax: FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=[0.6, 0.8], ax=ax), 2),
        (lambda ax: limen.PositivityDisplay.from_predictions(Y, SCORE, UNCERTAINTY, ax=ax, colorbar=False), 2),
        (lambda ax: limen.CalibrationDisplay.from_predictions(Y, SCORE, UNCERTAINTY, n_resamples=0, ax=ax), 2),
        (lambda ax: limen.BiasDisplay.from_paper(ax=ax), 2),
        (lambda ax: CalibrationLevelsDisplay.from_predictions(Y, SCORE, UNCERTAINTY, ax=ax), 1),
    ],
)
def test_panels_take_one_axes_or_all(make, panels):
    before = dict(matplotlib.rcParams)
    figure, axes = plt.subplots(1, 3, layout="constrained")
    kept = plt.gca()
    single = make(axes[0])
    assert single.figure_ is figure and single.ax_ is axes[0] and axes[0].get_title()
    assert not axes[1].has_data()
    if panels == 2:
        both = make(axes[1:])
        assert axes[1].has_data() and axes[2].has_data()
        assert both.figure_ is figure
    with pytest.raises(ValueError, match="3 axes, must be one"):
        make(axes)
    # Nothing is left behind: no other figure, the same current axes and settings.
    assert plt.get_fignums() == [figure.number] and len(figure.axes) == 3
    assert plt.gca() is kept
    assert dict(matplotlib.rcParams) == before


def test_keywords_reach_the_artists():
    display = BoundaryDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, score_cells=5, uncertainty_cells=4, cmap="magma", line_kw={"lw": 4, "color": "red"},
        mesh_kw={"vmax": 0.5}, text_kw={"fontsize": 3}, colorbar=False,
    )  # fmt: skip
    assert display.mesh_.get_cmap().name == "magma" and display.mesh_.get_clim() == (0, 0.5)
    assert {(line.get_linewidth(), line.get_color()) for line in display.lines_.values()} == {(4, "red")}
    assert {text.get_fontsize() for text in display.texts_} == {3} and display.colorbar_ is None
    levels = CalibrationLevelsDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, cmap="cividis", line_kw={"ls": ":"}, fill_kw={"alpha": 0.5}
    )
    assert [line.get_linestyle() for line in levels.lines_] == [":"] * 3
    assert [band.get_alpha() for band in levels.bands_] == [0.5] * 3
    colors = plt.get_cmap("cividis")(np.linspace(0, 0.88, 3))
    np.testing.assert_array_equal([line.get_color() for line in levels.lines_], colors)
    positivity = limen.PositivityDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, levels=2, bins=4, cmap="magma", level_cmap="cividis", line_kw={"linewidth": 5}
    )
    assert positivity.mesh_.get_cmap().name == "magma"
    assert [line.get_linewidth() for line in positivity.lines_] == [5, 5]
    frontier = FrontierDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, bounds=[0.6, 0.8], line_kw={"marker": "x"}, fill_kw={"color": "green"}
    )
    assert frontier.line_.get_marker() == frontier.gain_line_.get_marker() == "x"
    assert frontier.bands_["between"].get_facecolor()[0, 1] == pytest.approx(128 / 255)
    calibration = limen.CalibrationDisplay.from_predictions(
        Y, SCORE, UNCERTAINTY, n_resamples=10, columns=["ist"], line_kw={"color": "red"}, fill_kw={"alpha": 0.4}
    )
    assert calibration.lines_["ist"].get_color() == calibration.reliability_lines_["ist"].get_color() == "red"
    assert calibration.bands_["ist"].get_alpha() == 0.4
    bias = limen.BiasDisplay.from_theory(tau=3, evidence=[2, 50], line_kw={"alpha": 0.25})
    assert [line.get_alpha() for line in bias.lines_] == [0.25, 0.25]
    one, two = (limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, levels=levels) for levels in (1, 2))
    swaps = limen.SwapDisplay.from_predictions(
        one, two, Y, SCORE, UNCERTAINTY, columns={"x": SCORE}, score_bins=3, line_kw={"lw": 7}, bar_kw={"alpha": 0.5}
    )
    assert swaps.lines_["first"].get_linewidth() == 7
    assert swaps.bars_["taken_in"][0].get_alpha() == 0.5


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
    best = int(np.argmax(np.array(exact) - st))
    assert title_of(display.ax_) == (
        "Most recall at each precision bound on the hold-out, in-sample (4,000 rows) at precision >= "
        f"{bounds[best]:g}: recall {exact[best]:.4f}, one threshold {st[best]:.4f}"
    )
    assert shown(display.legend_) == ["one threshold per level (exact), 3 levels", "one threshold"]


def test_frontier_bands_are_named_with_their_level():
    bounds = [0.5, 0.7]
    found = limen.frontier(Y, SCORE, UNCERTAINTY, min_precision=bounds, bootstrap=20, confidence_level=0.8)
    display = FrontierDisplay.from_frontier(found)
    assert "bands: 80% of resamples" in shown(display.legend_)
    ends = display.bands_["recall"].get_paths()[0].vertices
    for point in found.exact:
        assert {*point.recall_interval} <= set(ends[ends[:, 0] == point.bound][:, 1])
    again = FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=bounds, bootstrap=20, confidence_level=0.8)
    np.testing.assert_array_equal(again.recall_band, display.recall_band)
    with pytest.raises(ValueError, match="the frontier has no precision bounds"):
        FrontierDisplay.from_frontier(limen.frontier(Y, SCORE, UNCERTAINTY))
    assert "bands" not in " ".join(
        shown(FrontierDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bounds=bounds).legend_)
    )


def test_frontier_marks_bounds_at_which_few_rows_are_flagged():
    score = np.arange(200) / 200
    y = np.where(score >= 0.97, True, np.arange(200) % 2 == 0)  # six rows on top are all positive
    display = FrontierDisplay.from_predictions(y, score, np.zeros(200), bounds=[0.5, 1.0], levels=1)
    assert display.flagged.tolist() == [
        limen.frontier(y, score, 0 * score, min_precision=0.5, levels=1).exact[0].flagged,
        6,
    ]
    np.testing.assert_array_equal(display.few_.get_xydata(), [[1.0, display.recall[1]]])
    assert "fewer than 10 rows flagged" in shown(display.legend_)


def test_frontier_has_gaps_where_nothing_is_reached():
    score = SCORE.round(1)
    y = Y & (score < 0.9)
    display = FrontierDisplay.from_predictions(y, score, UNCERTAINTY, bounds=[0.3, 0.999])
    assert np.isfinite(display.recall[0]) and np.isnan(display.recall[1])
    assert np.isnan(display.gain[1])
    assert shown(display.legend_)[1] == "one threshold (infeasible above 0.3)"
    never = FrontierDisplay.from_predictions(y, score, UNCERTAINTY, bounds=[0.998, 0.999])
    assert shown(never.legend_)[1] == "one threshold (infeasible from 0.998 on)"
    assert title_of(never.ax_).endswith("no bound can be reached")


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
        np.testing.assert_array_equal(display.marks_[at].get_offsets()[:, 0], curve["score"])
        assert np.argmax(display.marks_[at].get_sizes()) == np.argmax(rows)
    assert title_of(display.ax_) == (
        f"Share of positives by score, for each uncertainty level 4,000 rows, {Y.sum():,} positive"
    )
    assert shown(display.legend_)[3] == "bands: Wilson's 95% interval"
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


@pytest.mark.parametrize("levels", [8, 11])
@pytest.mark.parametrize("display", [CalibrationLevelsDisplay, limen.PositivityDisplay])
def test_many_levels_have_a_colour_bar_and_thin_lines(display, levels):
    drawn = display.from_predictions(Y, SCORE, UNCERTAINTY, levels=levels)
    bar = drawn.colorbar_ if display is CalibrationLevelsDisplay else drawn.level_bar_
    edges = drawn.uncertainty_edges if display is CalibrationLevelsDisplay else drawn.map.uncertainty_edges
    assert [text.get_text() for text in bar.ax.get_yticklabels()] == _words.level_names(edges)
    thin = [line.get_linewidth() < 1 for line in drawn.lines_]
    assert sum(thin) == levels - 3 and not (thin[0] or thin[-1])
    assert len(drawn.bands_) == 2
    assert shown(drawn.legend_)[0] == "band of the first and the last level: Wilson's 95% interval"
    lightness = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in (line.get_color() for line in drawn.lines_)]
    assert (np.diff(lightness) > 0).all()  # an order that is also there in grey
    drawn.figure_.draw_without_rendering()


def test_weights_make_curves_of_weights():
    weight = np.where(Y, 2.0, 0.5)
    display = CalibrationLevelsDisplay.from_predictions(Y, SCORE, UNCERTAINTY, sample_weight=weight)
    assert sum(curve["rows"].sum() for curve in display.curves) == pytest.approx(weight.sum())
    assert "weight" in title_of(display.ax_) and "its weight" in shown(display.legend_)[-1]


def test_positivity_says_what_its_bins_are_and_what_stands_behind():
    display = limen.PositivityDisplay.from_predictions(Y, SCORE, UNCERTAINTY, levels=2, bins=5, confidence_level=0.9)
    heat, curves = display.ax_
    assert heat.get_xlabel() == curves.get_xlabel() == "score bin (quantiles of each level)"
    rows = display.map.grid("rows")
    assert [text.get_text().split("\n")[1] for text in display.texts_] == [f"{count:.0f}" for count in rows.ravel()]
    assert [text.get_text().split("\n")[1] for text in heat.get_yticklabels()] == [
        f"({rows[level].sum():,.0f})" for level in range(2)
    ]
    assert "bands: Wilson's 90% interval" in shown(display.legend_)
    span = limen.PositivityDisplay.from_predictions(Y, SCORE, UNCERTAINTY, bins=5, binning="equi-span")
    assert span.ax_[0].get_xlabel() == "score bin (equal intervals of each level)"
    tiny = limen.PositivityDisplay.from_predictions([0, 1, 1], [0.1, 0.2, 0.3], [0, 0, 1], levels=2, bins=2)
    assert {text.get_fontstyle() for text in tiny.texts_} == {"italic"}
    assert all((mark.get_facecolor() == 1).all() for mark in tiny.marks_)  # hollow: few rows
    tiny.figure_.draw_without_rendering()


def test_a_level_of_positives_alone_and_a_level_without_rows_are_drawn():
    y = Y | (UNCERTAINTY < 0.3)
    display = CalibrationLevelsDisplay.from_predictions(y, SCORE, UNCERTAINTY, uncertainty_edges=[-1, 0.3])
    assert display.lines_[0].get_label() == "below -1 (no rows)" and len(display.lines_[0].get_xdata()) == 0
    assert (display.lines_[1].get_ydata() == 1).all()
    display.figure_.draw_without_rendering()
    limen.PositivityDisplay.from_predictions(y, SCORE, UNCERTAINTY, levels=4).figure_.draw_without_rendering()


def test_calibration_display_says_what_it_was_judged_on_and_what_is_not_drawn():
    y, score, uncertainty = make_rows(3000, seed=3)
    rows = y, score**0.2, uncertainty  # far too high
    display = limen.CalibrationDisplay.from_predictions(Y, SCORE**0.2, UNCERTAINTY, test=rows, n_resamples=30)
    assert title_of(display.ax_[0]).endswith(f"on the test rows: 3,000 rows, {rows[0].sum():,} positive")
    entries = shown(display.legend_)
    assert "bands: 95% of 30 resamples" in entries
    highest = display.report["raw"].cumulative_ece.value.max()
    assert "raw" not in display.lines_
    assert f"score as it is (raw): up to {highest:.3g}, not drawn" in entries
    folds = limen.CalibrationDisplay.from_predictions(Y, SCORE, UNCERTAINTY, n_resamples=0)
    assert "on the hold-out, by cross-validation: 4,000 rows" in title_of(folds.ax_[0])
    assert "bands" not in " ".join(shown(folds.legend_)) and folds.bands_ == {}
    assert "10 quantiles" in folds.ax_[1].get_xlabel()
    no_probability = limen.CalibrationDisplay.from_predictions(Y, 5 * SCORE, UNCERTAINTY, n_resamples=0)
    assert "no probability, not drawn: score as it is (raw)" in shown(no_probability.legend_)


def test_swap_display_tells_goal_figures_and_rows():
    one, two = (limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, levels=levels) for levels in (1, 3))
    found = limen.swaps(one, two, Y, SCORE, UNCERTAINTY, columns={"kind": np.where(SCORE > 0.5, "a", "b")})
    display = limen.SwapDisplay.from_swaps(found)
    title = title_of(display.ax_[0])
    assert title.startswith(
        f"Most recall with precision >= 0.8 the second boundary leaves out {found.left_out.rows:,} rows and takes in "
        f"{found.taken_in.rows:,} rows: precision {one.precision:.4f} to {two.precision:.4f}, recall {one.recall:.4f} to "
        f"{two.recall:.4f}"
    )
    entries = shown(display.legend_)
    assert f"taken in: {found.taken_in.rows:,} rows, {found.taken_in.positivity:.4f} of them positive" in entries
    assert display.ax_[0].get_xlabel() == "score (quantile scale of swapped rows)"
    written = [text.get_text() for text in display.texts_]
    parts = [cell.taken_in if cell.taken_in.rows else cell.left_out for cell in found.cells]
    assert written == [f"{part.positivity:.2f}\n{part.rows}" for part in parts]
    for name, boundary in (("first", one), ("second", two)):
        x = display.lines_[name].get_xdata()
        edges = [level.lower_edge for level in found.levels]
        at = [0 if edge is None else np.searchsorted(boundary.uncertainty_edges, edge, side="right") for edge in edges]
        np.testing.assert_array_equal(x[::2], boundary.score_thresholds[at])
    assert [bar.get_label() for bar in display.bars_.values()][2] == f"taken in ({found.taken_in.rows:,} rows)"
    assert "corrected for 2 tests" in title_of(display.ax_[1])


def test_figures_of_another_evaluation_are_not_called_in_sample():
    boundary = limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.8, levels=2)
    drawn = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, boundaries=boundary)
    cells = {name: getattr(drawn, name) for name in ("positivity", "score_edges", "uncertainty_edges", "rows")}
    other = boundary.evaluate(*make_rows(4000, seed=1))
    again = BoundaryDisplay(**cells, boundaries={"exact": boundary}, reached={"exact": other}).plot()
    assert f"precision {other.precision:.4f}, recall {other.recall:.4f} on the rows drawn" in title_of(again.ax_)
    plain = BoundaryDisplay(**cells, boundaries={"exact": boundary}).plot()
    assert f"precision {boundary.precision:.4f}" in title_of(plain.ax_) and "in-sample" in title_of(plain.ax_)


def test_legends_stand_below_the_label_of_the_axis():
    with plt.rc_context({"font.size": 18}):
        display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8)
        display.figure_.draw_without_rendering()
        renderer = display.figure_.canvas.get_renderer()
        label = display.ax_.xaxis.label.get_window_extent(renderer)
        assert display.legend_.get_window_extent(renderer).y1 <= label.y0 + 1


def test_figures_are_laid_out_and_pyplot_is_not_asked_to_show(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("plt.show was called"))
    display = BoundaryDisplay.from_predictions(Y, SCORE, UNCERTAINTY, min_precision=0.8)
    assert type(display.figure_.get_layout_engine()).__name__ == "ConstrainedLayoutEngine"
    assert plt.get_fignums() == [display.figure_.number]
    display.plot()
    assert len(plt.get_fignums()) == 2


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
