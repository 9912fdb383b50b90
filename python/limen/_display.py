# SPDX-License-Identifier: MIT
"""Pictures of boundaries, frontiers and calibration. matplotlib is imported when something is drawn, not before."""

from __future__ import annotations

import numpy as np

import limen
from limen._positivity import level_name

# Colours of Okabe and Ito, which the colour-blind can tell apart, from dark to light; line styles tell them apart in grey.
_LINES = (
    {"color": "#000000", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": (0, (5, 1.5))},
    {"color": "#009E73", "linestyle": (0, (1, 1))},
    {"color": "#CC79A7", "linestyle": (0, (5, 1.5, 1, 1.5))},
    {"color": "#E69F00", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "linestyle": (0, (8, 2))},
)
_MARKERS = "os^Dv<>pP*X"


def _pyplot():
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("limen's displays need matplotlib: pip install matplotlib") from error
    return pyplot


def _columns(y, score, uncertainty, sample_weight, who):
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise ValueError(f"{who}: y must be a column of 0 and 1")
    columns = [y.astype(bool), np.asarray(score, dtype=np.float64), np.asarray(uncertainty, dtype=np.float64)]
    columns.append(np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
    for name, column in zip(("score", "uncertainty", "sample_weight"), columns[1:], strict=True):
        if column.shape != y.shape:
            raise ValueError(f"{who}: {name} has shape {column.shape}, y has {y.shape}")
        if not np.isfinite(column).all():
            raise ValueError(f"{who}: {name} has values that are not finite")
    if y.all() or not y.any():
        raise ValueError(f"{who}: y has only one class; both are needed")
    return columns


def _holdout(estimator, X, y, sample_weight, who):
    """Label, score, uncertainty and weight of rows as a fitted BoundaryClassifier sees them; without X its own hold-out."""
    if not hasattr(estimator, "predict_uncertainty"):
        raise ValueError(
            f"{who}: {type(estimator).__name__} is no BoundaryClassifier; from_predictions takes arrays of any model"
        )
    if not hasattr(estimator, "holdout_"):
        raise ValueError(f"{who}: the BoundaryClassifier is not fitted")
    if X is None:
        rows = estimator.holdout_
        return rows.y, rows.score, rows.uncertainty, rows.sample_weight
    positive = np.asarray(y) == estimator.classes_[estimator._positive_index]
    return positive, estimator.predict_score(X), estimator.predict_uncertainty(X), sample_weight


def _edges(values, y, weight, cells):
    """Edges of cells with equal shares of the rows, each class counting for one half, ties never split."""
    share = np.where(y, weight / weight[y].sum(), weight / weight[~y].sum())
    order = np.argsort(values, kind="stable")
    position = np.cumsum(share[order]) / share.sum()
    inner = values[order][np.searchsorted(position, np.arange(1, cells) / cells).clip(max=len(values) - 1)]
    low, high = values.min(), values.max()
    inner = np.unique(inner)
    inner = inner[inner > low]
    # The last edge lies above every value, so that a row is in the cell of the last edge at or below it.
    top = high + (high - low) * 1e-3 if high > low else low + 1
    return np.concatenate([[low], inner, [top]])


class BoundaryDisplay:
    """Share of positives over score and uncertainty, with boundaries drawn on it.

    Use :meth:`from_predictions` or :meth:`from_estimator`.

    Parameters
    ----------
    positivity : ndarray of shape (uncertainty cells, score cells)
        Share of positives in each cell; NaN where there is no row.
    score_edges, uncertainty_edges : ndarray
        Edges of the cells, one more than cells.
    boundaries : dict of str to limen.Boundary

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mesh_ : matplotlib QuadMesh
    lines_ : dict of str to matplotlib Line2D
        The boundaries: thresholds by level as x, edges of the levels as y. A level that flags nothing is drawn at the right edge.
    """

    def __init__(self, *, positivity, score_edges, uncertainty_edges, boundaries):
        self.positivity = positivity
        self.score_edges = score_edges
        self.uncertainty_edges = uncertainty_edges
        self.boundaries = boundaries

    @classmethod
    def from_predictions(
        cls, y, score, uncertainty, *, boundaries=None, methods=("exact", "st"), levels=3, bins=None, sample_weight=None,
        score_cells=24, uncertainty_cells=12, ax=None, scale="quantile", colorbar=True, **goal,
    ):  # fmt: skip
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        boundaries : limen.Boundary or dict of str to Boundary, default=None
            What to draw. None: the boundaries of `methods`, fitted on these rows.
        methods, levels, bins, **goal :
            As in :func:`limen.fit_boundary`; without a goal ``min_precision=0.9``. Methods that find no boundary are left out.
        score_cells, uncertainty_cells : int, default=24, 12
            Cells in each direction, with equal shares of the rows (each class counts for one half).
        ax, scale, colorbar :
            See :meth:`plot`.

        Returns
        -------
        display : BoundaryDisplay
        """
        y, score, uncertainty, weight = _columns(y, score, uncertainty, sample_weight, "BoundaryDisplay")
        if boundaries is None:
            boundaries = {}
            for method in methods:
                try:
                    boundaries[method] = limen.fit_boundary(
                        y, score, uncertainty, levels=levels, bins=bins, method=method, sample_weight=sample_weight,
                        **(goal or {"min_precision": 0.9}),
                    )  # fmt: skip
                except limen.InfeasibleError:
                    continue
        elif goal:
            raise ValueError(f"BoundaryDisplay: boundaries are given, so {' and '.join(goal)} has no meaning")
        elif not isinstance(boundaries, dict):
            boundaries = {boundaries.method: boundaries}
        score_edges = _edges(score, y, weight, score_cells)
        uncertainty_edges = _edges(uncertainty, y, weight, uncertainty_cells)
        grid = [uncertainty_edges, score_edges]
        total, _, _ = np.histogram2d(uncertainty, score, bins=grid, weights=weight)
        positive, _, _ = np.histogram2d(uncertainty[y], score[y], bins=grid, weights=weight[y])
        positivity = np.divide(positive, total, out=np.full_like(total, np.nan), where=total > 0)
        display = cls(
            positivity=positivity, score_edges=score_edges, uncertainty_edges=uncertainty_edges, boundaries=boundaries
        )
        return display.plot(ax=ax, scale=scale, colorbar=colorbar)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, sample_weight=None, methods=("st",), **kwargs):
        """Draw the boundary of a fitted BoundaryClassifier on rows X, y; without them on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        methods : sequence of str, default=("st",)
            Methods drawn beside the estimator's own, fitted on its out-of-fold rows with its goal.
        **kwargs : dict
            See :meth:`from_predictions`.

        Returns
        -------
        display : BoundaryDisplay
        """
        columns = _holdout(estimator, X, y, sample_weight, "BoundaryDisplay")
        boundaries = {} if estimator.boundary_ is None else {estimator.boundary_.method: estimator.boundary_}
        rows = estimator.holdout_
        for method in methods:
            if method not in boundaries:
                try:
                    boundaries[method] = limen.fit_boundary(
                        rows.y, rows.score, rows.uncertainty, levels=estimator.levels, bins=estimator.bins,
                        binning=estimator.binning, method=method, sample_weight=rows.sample_weight, **estimator._goal(),
                    )  # fmt: skip
                except limen.InfeasibleError:
                    continue
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], boundaries=boundaries, **kwargs)

    def plot(self, *, ax=None, scale="quantile", colorbar=True):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        scale : {"quantile", "value"}, default="quantile"
            ``"quantile"`` gives all cells one size; the ticks tell the values. ``"value"``: plain axes.
        colorbar : bool, default=True

        Returns
        -------
        display : BoundaryDisplay
        """
        if scale not in ("quantile", "value"):
            raise ValueError(f'BoundaryDisplay: scale is {scale!r}, must be "quantile" or "value"')
        plt = _pyplot()
        from matplotlib import patheffects

        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
        x, y = self.score_edges, self.uncertainty_edges
        if scale == "quantile":
            _equal_cells(ax.xaxis, ax.set_xscale, x, 7)
            _equal_cells(ax.yaxis, ax.set_yscale, y, 6)
        ax.set_facecolor("white")
        ax.patch.set(hatch="////", edgecolor="0.8")
        self.mesh_ = ax.pcolormesh(
            x,
            y,
            np.ma.masked_invalid(self.positivity),
            cmap=_cool_map(),
            vmin=0,
            vmax=1,
            edgecolors="none",
            rasterized=True,
        )
        self.lines_ = {}
        for at, (name, boundary) in enumerate(self.boundaries.items()):
            thresholds = np.asarray(boundary.score_thresholds, dtype=np.float64)
            edges = np.asarray(boundary.uncertainty_edges, dtype=np.float64)
            steps_x = np.repeat(np.where(np.isnan(thresholds), x[-1], thresholds), 2)
            steps_y = np.concatenate([[y[0]], np.repeat(edges, 2), [y[-1]]])
            (self.lines_[name],) = ax.plot(steps_x, steps_y, label=name, linewidth=2, **_LINES[at % len(_LINES)])
            self.lines_[name].set_path_effects([patheffects.withStroke(linewidth=4, foreground="white")])
        ax.set(xlabel="score", ylabel="uncertainty", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        self.figure_, self.ax_ = ax.figure, ax
        if self.lines_:
            _legend_above(ax, len(self.lines_))
        if colorbar:
            bar = self.figure_.colorbar(self.mesh_, ax=ax, pad=0.02)
            bar.set_label("share of positives")
            bar.outline.set_linewidth(0.5)
        return self


class FrontierDisplay:
    """Recall that each precision bound allows, with a 2-D boundary and with one threshold, and the gain between them.

    Use :meth:`from_predictions` or :meth:`from_estimator`. Both curves are fitted on the rows they are drawn for; with few
    rows the gain contains some fitting of noise. :func:`limen.compare` judges on other rows.

    Parameters
    ----------
    bounds : ndarray
        Precision bounds, increasing.
    recall, st_recall : ndarray of the same shape
        Highest recall at a precision of at least each bound; NaN where it cannot be reached.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    gain_ax_ : matplotlib Axes or None
    line_, st_line_, gain_line_ : matplotlib Line2D
    gain : ndarray
        Recall of the boundary over that of one threshold, less 1; NaN where the latter is below 1%.
    """

    def __init__(self, *, bounds, recall, st_recall):
        self.bounds = bounds
        self.recall = recall
        self.st_recall = st_recall

    @property
    def gain(self):
        known = np.nan_to_num(self.st_recall) >= 0.01
        return np.divide(self.recall, self.st_recall, out=np.full(len(self.bounds), np.nan), where=known) - 1

    @classmethod
    def from_predictions(
        cls, y, score, uncertainty, *, bounds=None, levels=3, bins=None, sample_weight=None, ax=None, names=None
    ):
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        bounds : array-like, default=None
            Precision bounds; None: 101 of them, from the share of positives to 1, to four digits.
        levels, bins :
            As in :func:`limen.fit_boundary`.
        sample_weight : array-like, default=None
        ax, names :
            See :meth:`plot`.

        Returns
        -------
        display : FrontierDisplay
        """
        y, score, uncertainty, weight = _columns(y, score, uncertainty, sample_weight, "FrontierDisplay")
        if bounds is None:
            bounds = np.unique(np.linspace(np.average(y, weights=weight), 1, 101).round(4))
        bounds = np.sort(np.asarray(bounds, dtype=np.float64))
        found = limen.frontier(
            y,
            score,
            uncertainty,
            min_precision=bounds.tolist(),
            levels=levels,
            bins="all" if bins is None else bins,
            sample_weight=sample_weight,
        )
        recall = np.array([point.recall if point.feasible else np.nan for point in found.exact])
        st_recall = _recall_at(found.st, bounds)
        return cls(bounds=bounds, recall=recall, st_recall=st_recall).plot(
            ax=ax, names=names or (f"{levels} levels", "one threshold")
        )

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, sample_weight=None, **kwargs):
        """Draw for a fitted BoundaryClassifier on rows X, y; without them on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        **kwargs : dict
            See :meth:`from_predictions`.

        Returns
        -------
        display : FrontierDisplay
        """
        columns = _holdout(estimator, X, y, sample_weight, "FrontierDisplay")
        kwargs = {"levels": estimator.levels or 3, "bins": estimator.bins, **kwargs}
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], **kwargs)

    def plot(self, *, ax=None, names=("boundary", "one threshold")):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Of a pair the second is for the gain; with a single one the gain is not drawn. None: a new figure with both.
        names : pair of str
            Names of the two curves in the legend.

        Returns
        -------
        display : FrontierDisplay
        """
        plt = _pyplot()
        from matplotlib.ticker import PercentFormatter

        if ax is None:
            _, ax = plt.subplots(
                2, 1, figsize=(5.6, 5.2), sharex=True, layout="constrained", gridspec_kw={"height_ratios": (2, 1)}
            )
        both = np.ravel(np.asarray(ax, dtype=object))
        top, below = both[0], both[1] if len(both) > 1 else None
        self.figure_, self.ax_, self.gain_ax_ = top.figure, top, below
        if below is not None:
            top.tick_params(labelbottom=False)
        (self.line_,) = top.plot(self.bounds, self.recall, label=names[0], linewidth=2, color="#0072B2")
        (self.st_line_,) = top.plot(self.bounds, self.st_recall, label=names[1], linewidth=1.8, **_LINES[1])
        top.fill_between(self.bounds, self.st_recall, self.recall, color="#0072B2", alpha=0.12, linewidth=0)
        top.set(ylabel="recall", ylim=(0, 1.02))
        reached = self.bounds[np.isfinite(self.recall)]
        if len(reached) > 1:
            top.set_xlim(reached[0], reached[-1])
        top.legend(loc="upper right", frameon=False)
        _quiet(top)
        self.gain_line_ = None
        if below is not None:
            (self.gain_line_,) = below.plot(self.bounds, self.gain, linewidth=1.8, color="#0072B2")
            below.fill_between(self.bounds, 0, self.gain, color="#0072B2", alpha=0.12, linewidth=0)
            below.axhline(0, color="0.4", linewidth=0.8)
            below.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
            below.set(xlabel="precision bound", ylabel="gain in recall", xlim=top.get_xlim())
            _quiet(below)
        else:
            top.set_xlabel("precision bound")
        return self


class CalibrationLevelsDisplay:
    """Share of positives by score, one curve for each level of uncertainty.

    If the curves lie on each other, the uncertainty says nothing that the score does not say.

    Parameters
    ----------
    curves : list of dict
        For each level ``score`` (mean of each bin), ``positivity``, ``low`` and ``high`` (Wilson's 95% interval) and ``rows``.
    uncertainty_edges : ndarray
        Edges between the levels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
    """

    def __init__(self, *, curves, uncertainty_edges):
        self.curves = curves
        self.uncertainty_edges = uncertainty_edges

    @classmethod
    def from_predictions(cls, y, score, uncertainty, *, levels=3, n_bins=10, uncertainty_edges=None, ax=None):
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        levels : int, default=3
            Levels of equal size, equal uncertainties never split.
        n_bins : int, default=10
            Bins of each level, by quantiles of the score, each class counting for one half.
        uncertainty_edges : array-like, default=None
            Edges between the levels, such as those of a boundary; `levels` is not used then.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        y, score, uncertainty, _ = _columns(y, score, uncertainty, None, "CalibrationLevelsDisplay")
        if uncertainty_edges is None:
            rows = np.column_stack([score, uncertainty])
            uncertainty_edges = limen.LevelIsotonic(levels=levels).fit(rows, y).uncertainty_edges_
        uncertainty_edges = np.asarray(uncertainty_edges, dtype=np.float64)
        found = limen.positivity_map(
            y, score, uncertainty, uncertainty_edges=uncertainty_edges, bins=n_bins, balanced=True
        )
        curves = [_level_curve(found, level) for level in range(found.levels)]
        return cls(curves=curves, uncertainty_edges=uncertainty_edges).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, **kwargs):
        """Draw for a fitted BoundaryClassifier on rows X, y, with its own levels; without X on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        **kwargs : dict
            See :meth:`from_predictions`.

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        columns = _holdout(estimator, X, y, None, "CalibrationLevelsDisplay")
        if "levels" not in kwargs and estimator.boundary_ is not None:
            kwargs = {"uncertainty_edges": estimator.boundary_.uncertainty_edges, **kwargs}
        return cls.from_predictions(*columns[:3], **kwargs)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        plt = _pyplot()
        if ax is None:
            _, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
        self.figure_, self.ax_ = ax.figure, ax
        scores = np.concatenate([curve["score"] for curve in self.curves])
        if scores.min() >= 0 and scores.max() <= 1:
            ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=0)
            ax.set(xlim=(-0.01, 1.01), aspect="equal")
        colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, max(len(self.curves), 2)))
        self.lines_ = []
        for at, curve in enumerate(self.curves):
            spread = np.abs(np.stack([curve["low"], curve["high"]]) - curve["positivity"])
            bars = ax.errorbar(
                curve["score"], curve["positivity"], yerr=spread, color=colors[at], marker=_MARKERS[at % len(_MARKERS)],
                markersize=5, linewidth=1.6, elinewidth=0.9, capsize=0, label=level_name(self.uncertainty_edges, at),
            )  # fmt: skip
            self.lines_.append(bars[0])
        ax.set(xlabel="mean score", ylabel="share of positives", ylim=(-0.01, 1.01))
        outside = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(self.curves) > 5 else {"loc": "best"}
        ax.legend(title="uncertainty", frameon=False, alignment="left", **outside)
        _quiet(ax)
        return self


class PositivityDisplay:
    """Share of positives by score bin and uncertainty level: a heat map, and beside it a curve for each level.

    Use :meth:`from_predictions` or :meth:`from_estimator`. The paper's first figure: where curves of different levels lie
    apart, the uncertainty tells what the score does not.

    Parameters
    ----------
    map : limen.PositivityMap

    Attributes
    ----------
    ax_ : pair of matplotlib Axes
        Heat map and curves.
    figure_ : matplotlib Figure
    mesh_ : matplotlib QuadMesh
    lines_ : list of matplotlib Line2D
        A curve for each level, by score bin.
    """

    def __init__(self, *, map):
        self.map = map

    @classmethod
    def from_predictions(cls, y, score, uncertainty, *, ax=None, **kwargs):
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        ax : pair of matplotlib Axes, default=None
        **kwargs : dict
            See :func:`limen.positivity_map`.

        Returns
        -------
        display : PositivityDisplay
        """
        return cls(map=limen.positivity_map(y, score, uncertainty, **kwargs)).plot(ax=ax)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, sample_weight=None, **kwargs):
        """Draw for a fitted BoundaryClassifier on rows X, y; without them on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        **kwargs : dict
            See :func:`limen.positivity_map`.

        Returns
        -------
        display : PositivityDisplay
        """
        columns = _holdout(estimator, X, y, sample_weight, "PositivityDisplay")
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], **kwargs)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : pair of matplotlib Axes, default=None
            None: a new figure.

        Returns
        -------
        display : PositivityDisplay
        """
        plt = _pyplot()
        from matplotlib.ticker import MaxNLocator

        if ax is None:
            _, ax = plt.subplots(1, 2, figsize=(10.4, 4.2), layout="constrained")
        panels = np.ravel(np.asarray(ax, dtype=object))
        if len(panels) != 2:
            raise ValueError(f"PositivityDisplay: {len(panels)} axes, must be two: heat map and curves")
        found, (heat, lines) = self.map, panels
        rates = found.grid()
        heat.patch.set(hatch="////", edgecolor="0.8", facecolor="white")
        highest = np.nanmax(found.positivity_high) if len(found) else 1
        self.mesh_ = heat.pcolormesh(
            np.arange(found.bins + 1) + 0.5, np.arange(found.levels + 1) - 0.5, np.ma.masked_invalid(rates),
            cmap=_cool_map(), vmin=0, vmax=highest, edgecolors="none", rasterized=True,
        )  # fmt: skip
        if found.levels * found.bins <= 60:
            for level, at in zip(found.level, found.bin, strict=True):
                dark = rates[level, at] > 0.62 * highest
                heat.text(
                    at + 1, level, f"{rates[level, at]:.2f}", ha="center", va="center", fontsize=7,
                    color="white" if dark else "black",
                )  # fmt: skip
        heat.set(xlabel="score bin", ylabel="uncertainty")
        heat.xaxis.set_major_locator(MaxNLocator(integer=True))
        heat.set_yticks(range(found.levels), [found.level_name(level) for level in range(found.levels)])
        bar = heat.figure.colorbar(self.mesh_, ax=heat, pad=0.02)
        bar.set_label("share of positives")
        bar.outline.set_linewidth(0.5)
        colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, max(found.levels, 2)))
        self.lines_ = []
        for level in range(found.levels):
            own = found.level == level
            x = found.bin[own] + 1
            (line,) = lines.plot(
                x, found.positivity[own], color=colors[level], marker=_MARKERS[level % len(_MARKERS)], markersize=4,
                linewidth=1.6, label=found.level_name(level),
            )  # fmt: skip
            lines.fill_between(
                x, found.positivity_low[own], found.positivity_high[own], color=colors[level], alpha=0.18, linewidth=0
            )
            self.lines_.append(line)
        lines.set(xlabel="score bin", ylabel="share of positives", ylim=(0, None))
        lines.xaxis.set_major_locator(MaxNLocator(integer=True))
        lines.legend(title="uncertainty", frameon=False, alignment="left", loc="upper left")
        _quiet(lines)
        self.ax_, self.figure_ = panels, heat.figure
        return self


class CalibrationDisplay:
    """Cumulative ECE@j of a score and its calibrators with bands, and beside it their reliability curves.

    Use :meth:`from_predictions`, or give a :func:`limen.calibration_report`.

    Parameters
    ----------
    report : limen.CalibrationReport

    Attributes
    ----------
    ax_ : pair of matplotlib Axes
        Cumulative ECE@j, and reliability.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        Of the cumulative errors, by column.
    reliability_lines_ : dict of str to matplotlib Line2D
    """

    def __init__(self, *, report):
        self.report = report

    @classmethod
    def from_predictions(cls, y, score, uncertainty, *, ax=None, columns=None, **kwargs):
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
            The hold-out.
        ax, columns :
            See :meth:`plot`.
        **kwargs : dict
            See :func:`limen.calibration_report`, such as ``test``.

        Returns
        -------
        display : CalibrationDisplay
        """
        return cls(report=limen.calibration_report(y, score, uncertainty, **kwargs)).plot(ax=ax, columns=columns)

    def plot(self, *, ax=None, columns=None):
        """Draw.

        Parameters
        ----------
        ax : pair of matplotlib Axes, default=None
            None: a new figure.
        columns : sequence of str, default=None
            Which to draw; None: all that are probabilities, of which the raw score's and those of corrections are left out
            of the left panel when they are more than three times as high as ``ist``.

        Returns
        -------
        display : CalibrationDisplay
        """
        report = self.report
        names = [name for name in (columns or report) if report[name].is_probability]
        plt = _pyplot()
        if ax is None:
            _, ax = plt.subplots(1, 2, figsize=(10.0, 4.4), layout="constrained")
        panels = np.ravel(np.asarray(ax, dtype=object))
        if len(panels) != 2:
            raise ValueError(f"CalibrationDisplay: {len(panels)} axes, must be two: errors and reliability")
        errors, reliability = panels
        styles = {name: _LINES[at % len(_LINES)] for at, name in enumerate(report)}
        limit = np.inf if columns else 3 * np.nanmax(report["ist"].cumulative_ece.value)
        self.lines_, self.reliability_lines_ = {}, {}
        for name in names:
            curve = report[name].cumulative_ece
            if np.nanmax(curve.value) <= limit:
                j = np.arange(len(curve.value))
                (self.lines_[name],) = errors.plot(j, curve.value, label=name, linewidth=1.8, **styles[name])
                if not np.isnan(curve.low).all():
                    errors.fill_between(j, curve.low, curve.high, color=styles[name]["color"], alpha=0.15, linewidth=0)
            (self.reliability_lines_[name],) = reliability.plot(
                report[name].mean_probability, report.reliability.positivity, label=name, linewidth=1.6,
                marker=_MARKERS[names.index(name) % len(_MARKERS)], markersize=4, **styles[name],
            )  # fmt: skip
        errors.plot(
            np.arange(len(report.cumulative_by_chance)), report.cumulative_by_chance, color="0.6", linewidth=1,
            linestyle=(0, (1, 2)), label="by chance",
        )  # fmt: skip
        errors.set(xlabel="j: score bins above the j-th", ylabel="cumulative ECE@j", ylim=(0, None))
        errors.legend(frameon=False, handlelength=2.8)
        _quiet(errors)
        found = report.reliability
        ends = np.r_[0, max(1e-9, *found.positivity_high, *(report[name].mean_probability.max() for name in names))]
        reliability.plot(ends, ends, color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=0)
        spread = np.abs(np.stack([found.positivity_low, found.positivity_high]) - found.positivity)
        if names:
            reliability.errorbar(
                report[names[-1]].mean_probability, found.positivity, yerr=spread, linestyle="none", color="0.5",
                elinewidth=0.9,
            )  # fmt: skip
        reliability.set(xlabel="mean probability", ylabel="share of positives")
        reliability.legend(frameon=False, handlelength=2.8)
        _quiet(reliability)
        self.ax_, self.figure_ = panels, errors.figure
        return self


class BiasDisplay:
    """Expected test positivity by model score, one curve for each evidence or undersampling: the paper's bias figure.

    Use :meth:`from_theory` or :meth:`from_paper`. Below the diagonal the model overestimates.

    Parameters
    ----------
    results : list of limen.Bias
        One panel for each.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them for several panels
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        All curves, panel by panel, in the order of the results.
    points_ : list of matplotlib ErrorbarContainer
        Simulated means with their standard errors, where there are any, in the same order.
    """

    def __init__(self, *, results):
        self.results = results

    @classmethod
    def from_theory(cls, *, ax=None, **kwargs):
        """Draw the curves of one :func:`limen.bias`.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        **kwargs : dict
            See :func:`limen.bias`.

        Returns
        -------
        display : BiasDisplay
        """
        return cls(results=[limen.bias(**kwargs)]).plot(ax=ax)

    @classmethod
    def from_paper(cls, *, tau=3, evidence=(2, 10, 50), taus=(1, 3, 10), medium=10, simulate=None, ax=None, **kwargs):
        """Draw the paper's figure: (a) several evidences at one tau, (b) several tau at medium evidence.

        Its caption says ``tau=3`` and its text ``tau=10`` for (a); priors are those of the text, xi 0.25 and omega 0.5. The
        evidences and strengths are ours, as the paper does not tell them.

        Parameters
        ----------
        tau, evidence : float, sequence of float
            Of (a).
        taus, medium : sequence of float, float
            Of (b), with its evidence.
        simulate : int, default=None
            Regions to draw by the generation process, shown as points with their standard errors.
        ax : pair of matplotlib Axes, default=None
        **kwargs : dict
            See :func:`limen.bias`.

        Returns
        -------
        display : BiasDisplay
        """
        results = [
            limen.bias(tau=tau, evidence=evidence, simulate=simulate, **kwargs),
            limen.bias(tau=taus, evidence=medium, simulate=simulate, **kwargs),
        ]
        return cls(results=results).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or as many as there are results, default=None
            None: a new figure.

        Returns
        -------
        display : BiasDisplay
        """
        plt = _pyplot()
        if ax is None:
            panels = len(self.results)
            _, ax = plt.subplots(
                1, panels, figsize=(0.4 + 4.2 * panels, 4.2), layout="constrained", squeeze=panels == 1
            )
        panels = np.ravel(np.asarray(ax, dtype=object))
        if len(panels) != len(self.results):
            raise ValueError(f"BiasDisplay: {len(panels)} axes for {len(self.results)} panels")
        self.lines_, self.points_ = [], []
        for panel, result in zip(panels, self.results, strict=True):
            self._plot_panel(panel, result)
        self.ax_ = panels[0] if len(panels) == 1 else panels
        self.figure_ = panels[0].figure
        return self

    def _plot_panel(self, ax, result):
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=(0, (1, 2)), zorder=0)
        curves = [(tau, rows) for tau in result._distinct("tau") for rows in result._distinct("evidence")]
        one_tau, one_evidence = (len(result._distinct(name)) == 1 for name in ("tau", "evidence"))
        for at, (tau, rows) in enumerate(curves):
            own = (result.tau == tau) & (result.evidence == rows)
            names = [f"n = {rows:g}"] if not one_evidence or one_tau else []
            names += [f"tau = {tau:g}"] if not one_tau else []
            style = _LINES[at % len(_LINES)]
            (line,) = ax.plot(
                result.score[own], result.expected_positivity[own], label=", ".join(names), linewidth=1.8, **style
            )
            self.lines_.append(line)
            if result.simulated is not None:
                own = (result.simulated.tau == tau) & (result.simulated.evidence == rows)
                self.points_.append(
                    ax.errorbar(
                        result.simulated.score[own],
                        result.simulated.test_positivity[own],
                        yerr=result.simulated.test_positivity_se[own],
                        linestyle="none",
                        color=style["color"],
                        marker=_MARKERS[at % len(_MARKERS)],
                        markersize=4,
                        elinewidth=0.9,
                    )  # fmt: skip
                )
        fixed = [f"tau = {result.tau[0]:g}"] if one_tau else [f"n = {result.evidence[0]:g}"] if one_evidence else []
        ax.set(xlabel="model score", ylabel="expected test positivity", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.set(aspect="equal", title=", ".join([*fixed, f"xi = {result.xi:g}", f"omega = {result.omega:g}"]))
        ax.legend(loc="upper left", frameon=False, handlelength=2.8)
        _quiet(ax)


class SwapDisplay:
    """Where the swapped bins lie on the map of score and uncertainty level, and how rows differ in one column.

    Use :meth:`from_swaps` or :meth:`from_predictions`.

    Parameters
    ----------
    swaps : limen.Swaps
    column : str or None
        The column whose distributions are drawn; None: the map alone.

    Attributes
    ----------
    ax_ : list of matplotlib Axes
        The map and, with a column, the distributions.
    figure_ : matplotlib Figure
    cells_ : list of matplotlib Rectangle
        One for each cell of ``swaps.cells``.
    bars_ : dict of str to matplotlib BarContainer
        The distributions by name.
    """

    _SETS = {"taken_in": "#009E73", "left_out": "#D55E00"}
    _BARS = {
        "population": ("all rows", "#BBBBBB"),
        "flagged_by_second": ("flagged by second", "#666666"),
        "taken_in": ("taken in", "#009E73"),
        "taken_in_equal_score": ("rows of equal score", "#9FD9C6"),
        "left_out": ("left out", "#D55E00"),
        "left_out_equal_score": ("rows of equal score", "#F2BF99"),
    }

    def __init__(self, *, swaps, column=None):
        self.swaps = swaps
        self.column = column
        if column is not None:
            swaps.column(column)

    @classmethod
    def from_swaps(cls, swaps, *, column=None, ax=None):
        """Draw what :func:`limen.swaps` found.

        Parameters
        ----------
        swaps : limen.Swaps
        column : str, optional
            None: the first of its columns, the one that differs most; without columns the map alone.
        ax : see :meth:`plot`.

        Returns
        -------
        display : SwapDisplay
        """
        if column is None and swaps.columns:
            column = swaps.columns[0].name
        return cls(swaps=swaps, column=column).plot(ax=ax)

    @classmethod
    def from_predictions(cls, first, second, y, score, uncertainty, *, columns=None, column=None, ax=None, **kwargs):
        """Draw what :func:`limen.swaps` finds on these rows; keywords are its own."""
        found = limen.swaps(first, second, y, score, uncertainty, columns=columns, **kwargs)
        return cls.from_swaps(found, column=column, ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them with a column, default=None
            None: a new figure.

        Returns
        -------
        display : SwapDisplay
        """
        plt = _pyplot()
        panels = 1 if self.column is None else 2
        if ax is None:
            _, ax = plt.subplots(1, panels, figsize=(0.4 + 5.2 * panels, 4.2), layout="constrained", squeeze=False)
        ax = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(ax) != panels:
            raise ValueError(f"SwapDisplay: {len(ax)} axes for {panels} panels")
        self.ax_, self.figure_ = ax, ax[0].figure
        self._plot_map(ax[0])
        self.bars_ = {}
        if panels == 2:
            self._plot_bars(ax[1])
        return self

    def _plot_map(self, ax):
        from matplotlib.patches import Patch, Rectangle

        swaps = self.swaps
        edges = [swaps.score_low, *swaps.score_edges.tolist()]
        # A last bin without an end is drawn as wide as the one before it.
        edges.append(swaps.score_high if swaps.score_high is not None else edges[-1] + max(edges[-1] - edges[0], 0.1))
        self.cells_ = []
        for cell in swaps.cells:
            name = "taken_in" if cell.taken_in.rows > 0 else "left_out"
            part = getattr(cell, name)
            low, high = edges[cell.bin], edges[cell.bin + 1]
            box = Rectangle(
                (low, cell.level - 0.4), high - low, 0.8, facecolor=self._SETS[name], edgecolor="white", linewidth=0.8,
                alpha=0.25 + 0.75 * part.rows / max(cell.all.rows, 1),
            )  # fmt: skip
            ax.add_patch(box)
            self.cells_.append(box)
            if part.positivity is not None and len(swaps.cells) <= 60:
                ax.text((low + high) / 2, cell.level, f"{part.positivity:.2f}", ha="center", va="center", fontsize=7)
        top = len(swaps.levels) - 0.5
        width = max(edges[-1] - edges[0], 1e-12)
        for at, name in enumerate(("first", "second")):
            at_level = [getattr(level, f"{name}_threshold") for level in swaps.levels]
            x = [edges[-1] + width if value is None else value for value in at_level]
            y = np.arange(len(x))
            ax.plot(
                np.repeat(x, 2), np.column_stack([y - 0.5, y + 0.5]).ravel(), label=f"{name} boundary", linewidth=1.6,
                **_LINES[at],
            )  # fmt: skip
        ax.set(xlim=(edges[0] - 0.05 * width, edges[-1] + 0.05 * width), ylim=(-0.5, top))
        ax.set(xlabel="score", ylabel="uncertainty level")
        ax.yaxis.get_major_locator().set_params(integer=True)
        handles, labels = ax.get_legend_handles_labels()
        for name, color in self._SETS.items():
            handles.append(Patch(color=color))
            labels.append(name.replace("_", " "))
        ax.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, borderaxespad=0.2)
        _quiet(ax)

    def _plot_bars(self, ax):
        column = self.swaps.column(self.column)
        height = 0.8 / len(self._BARS)
        place = np.arange(len(column.values))
        for at, (name, shares) in enumerate((name, column.shares()[name]) for name in self._BARS):
            label, color = self._BARS[name]
            self.bars_[name] = ax.barh(
                place + (at - (len(self._BARS) - 1) / 2) * height,
                np.nan_to_num(shares),
                height,
                color=color,
                label=label,
            )
        ax.set_yticks(place, [value if len(value) <= 24 else value[:21] + "..." for value in column.values])
        ax.invert_yaxis()
        tests = [getattr(column, f"{name}_test").adjusted_p for name in self._SETS]
        known = [p for p in tests if p is not None]
        shown = f", p {min(known):.1g} after {2 * len(self.swaps.columns)} tests" if known else ""
        ax.set(xlabel="share of rows", ylabel=column.name + shown)
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, borderaxespad=0.2, fontsize=8,
            handlelength=1.2,
        )  # fmt: skip
        _quiet(ax)


def _recall_at(points, bounds):
    precision, recall = points.precision, points.recall
    order = np.argsort(precision, kind="stable")
    precision, recall = precision[order], recall[order]
    best = np.maximum.accumulate(recall[::-1])[::-1]  # highest recall at this precision or a higher one
    at = np.searchsorted(precision, bounds, side="left")
    return np.where(at < len(best), best[np.minimum(at, len(best) - 1)], np.nan)


def _level_curve(found, level):
    """The cells of one level of a PositivityMap, from the lowest score up."""
    own = found.level == level
    names = {"score": "mean_score", "positivity": "positivity", "low": "positivity_low", "high": "positivity_high"}
    return {**{to: getattr(found, name)[own] for to, name in names.items()}, "rows": found.rows[own]}


def _equal_cells(axis, set_scale, edges, ticks):
    """An axis on which all cells are equally wide; data coordinates stay values."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    at = np.arange(len(edges), dtype=np.float64)
    set_scale("function", functions=(lambda v: np.interp(v, edges, at), lambda v: np.interp(v, at, edges)))
    shown = np.unique(np.linspace(0, len(edges) - 1, min(ticks, len(edges))).round().astype(int))
    digits = next((d for d in range(2, 7) if len({f"{edge:.{d}g}" for edge in edges[shown]}) == len(shown)), 7)
    axis.set_major_locator(FixedLocator(edges[shown]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.{digits}g}"))
    axis.set_minor_locator(NullLocator())


def _cool_map():
    """White to dark blue, even steps of lightness: prints in grey, and leaves warm colours to the lines."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "limen", ["#FFFFFF", "#D6E4F0", "#9DC3E0", "#5B9AC9", "#1F6CA8", "#0B3D6B"]
    )


def _legend_above(ax, columns):
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(columns, 4), frameon=False, borderaxespad=0.2,
        handlelength=2.8,
    )  # fmt: skip


def _quiet(ax):
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
