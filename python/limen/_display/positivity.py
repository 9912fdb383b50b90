# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

import limen
from limen import _words
from limen._display import _rows, _style


def _level_curves(found, x):
    """The cells of each level of a PositivityMap, from the lowest score up."""
    names = {
        "x": x,
        "score": "mean_score",
        "positivity": "positivity",
        "low": "positivity_low",
        "high": "positivity_high",
    }
    columns = {to: getattr(found, name) for to, name in names.items()} | {"rows": found.rows}
    return [{name: values[found.level == level] for name, values in columns.items()} for level in range(found.levels)]


class CalibrationLevelsDisplay:
    """Share of positives by score, one curve for each level of uncertainty.

    If the curves lie on each other, the uncertainty says nothing that the score does not say.

    Parameters
    ----------
    curves : list of dict
        For each level ``score`` (mean of each bin), ``positivity``, ``low`` and ``high`` (Wilson's 95% interval) and ``rows``.
    uncertainty_edges : ndarray
        Edges between the levels.
    weighted : bool, default=False
        Whether ``rows`` are sums of weights.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
    bands_ : list of matplotlib PolyCollection
        Of each level; of more than six levels only of the first and the last.
    marks_ : list of matplotlib PathCollection
        The bins of each level, of areas by their rows.
    colorbar_ : matplotlib Colorbar or None
        Of more than six levels, in place of the entries of the legend.
    legend_ : matplotlib Legend

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> display = limen.CalibrationLevelsDisplay.from_predictions(*data.holdout.columns, levels=2, n_bins=5)
    >>> len(display.lines_), len(display.bands_)
    (2, 2)
    """

    def __init__(self, *, curves, uncertainty_edges, weighted=False):
        self.curves = curves
        self.uncertainty_edges = uncertainty_edges
        self.weighted = weighted

    @classmethod
    def from_predictions(
        cls,
        y,
        score,
        uncertainty,
        *,
        levels=3,
        n_bins=10,
        uncertainty_edges=None,
        sample_weight=None,
        ax=None,
        **kwargs,
    ):
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
        sample_weight : array-like, default=None
        ax, **kwargs :
            See :meth:`plot`.

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        y, score, uncertainty, _ = _rows.columns(y, score, uncertainty, sample_weight, "CalibrationLevelsDisplay")
        if uncertainty_edges is None:
            rows = np.column_stack([score, uncertainty])
            fitted = limen.LevelIsotonic(levels=levels).fit(rows, y, sample_weight=sample_weight)
            uncertainty_edges = fitted.uncertainty_edges_
        uncertainty_edges = np.asarray(uncertainty_edges, dtype=np.float64)
        found = limen.positivity_map(
            y, score, uncertainty, uncertainty_edges=uncertainty_edges, bins=n_bins, balanced=True,
            sample_weight=sample_weight,
        )  # fmt: skip
        curves = _level_curves(found, "mean_score")
        display = cls(curves=curves, uncertainty_edges=uncertainty_edges, weighted=found.weighted)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, sample_weight=None, **kwargs):
        """Draw for a fitted BoundaryClassifier on rows X, y, with its own levels; without X on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        **kwargs : dict
            See :meth:`from_predictions`.

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        columns = _rows.holdout(estimator, X, y, sample_weight, "CalibrationLevelsDisplay")
        if "levels" not in kwargs and estimator.boundary_ is not None:
            kwargs = {"uncertainty_edges": estimator.boundary_.uncertainty_edges, **kwargs}
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], **kwargs)

    def plot(self, *, ax=None, colorbar=True, cmap=None, line_kw=None, fill_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        colorbar : bool, default=True
            Of more than six levels.
        cmap : str or matplotlib Colormap, default=None
            Of the levels. None: viridis.
        line_kw, fill_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the curves and ``fill_between`` of their bands.

        Returns
        -------
        display : CalibrationLevelsDisplay
        """
        (ax,) = _style.panels(ax, ["curves"], "CalibrationLevelsDisplay", figsize=(5.8, 5.0))
        self.figure_, self.ax_ = ax.figure, ax
        scores = np.concatenate([curve["score"] for curve in self.curves])
        if len(scores) and scores.min() >= 0 and scores.max() <= 1:
            ax.plot([0, 1], [0, 1], **_style.GUIDE)
            ax.set(xlim=(0, min(1.01, scores.max() * 1.05)))
        curves = [{"x": curve["score"], **curve} for curve in self.curves]
        self.colorbar_ = _plot_levels(
            self, ax, curves, self.uncertainty_edges, self.weighted, 0.95, colorbar, cmap, line_kw, fill_kw
        )
        highest = max((curve["high"].max() for curve in self.curves if len(curve["high"])), default=1)
        ax.set(xlabel="mean score of a bin (bins: quantiles of each level)", ylabel="share of positives")
        ax.set(ylim=(-0.02 * highest, min(1.02, 1.05 * highest)))
        _style.title(ax, *_levels_title(self.curves, self.weighted))
        return self


def _levels_title(curves, weighted):
    rows = sum(curve["rows"].sum() for curve in curves)
    positives = sum(curve["rows"] @ curve["positivity"] for curve in curves)
    unit = "weight" if weighted else "rows"
    counted = f"{_words.count(round(rows, 6))} {unit}, {_words.count(round(positives, 6))} positive"
    return "Share of positives by score, for each uncertainty level", counted


def _plot_levels(display, ax, curves, edges, weighted, confidence, colorbar, cmap, line_kw, fill_kw):
    """The panel of curves that two displays share; gives its colour bar, if it has one."""
    names = _words.level_names(edges)
    display.lines_, display.bands_, display.marks_, bar, notes = _style.level_curves(
        ax, curves, names, weighted=weighted, confidence=confidence, cmap=cmap, line_kw=line_kw, fill_kw=fill_kw,
        colorbar=colorbar,
    )  # fmt: skip
    entries = display.lines_ if bar is None else []
    display.legend_ = _style.legend(ax, entries, notes, where="below", heading="uncertainty" if entries else None)
    _style.quiet(ax)
    return bar


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
        Heat map and curves; a single one where only the heat map is drawn.
    figure_ : matplotlib Figure
    mesh_ : matplotlib QuadMesh
    texts_ : list of matplotlib Text
        Share and rows of each cell, where cells have room.
    few_ : matplotlib PathCollection or None
        Dots in cells of few rows, where there is no room for text.
    colorbar_ : matplotlib Colorbar or None
        Of the heat map.
    lines_, bands_, marks_ : lists
        Of the curves by score bin, as in :class:`CalibrationLevelsDisplay`; empty where only the heat map is drawn.
    level_bar_ : matplotlib Colorbar or None
        Of the curves, where there are more than six.

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> display = limen.PositivityDisplay.from_predictions(*data.holdout.columns, levels=2, bins=5)
    >>> len(display.texts_), display.ax_[0].get_xlabel()
    (10, 'score bin (quantiles of each level)')
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
            See :meth:`plot` and :func:`limen.positivity_map`.

        Returns
        -------
        display : PositivityDisplay
        """
        draw = _style.drawing(cls, kwargs)
        return cls(map=limen.positivity_map(y, score, uncertainty, **kwargs)).plot(ax=ax, **draw)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, sample_weight=None, **kwargs):
        """Draw for a fitted BoundaryClassifier on rows X, y; without them on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        **kwargs : dict
            See :meth:`plot` and :func:`limen.positivity_map`.

        Returns
        -------
        display : PositivityDisplay
        """
        columns = _rows.holdout(estimator, X, y, sample_weight, "PositivityDisplay")
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], **kwargs)

    def plot(
        self,
        *,
        ax=None,
        colorbar=True,
        cmap=None,
        level_cmap=None,
        line_kw=None,
        fill_kw=None,
        mesh_kw=None,
        text_kw=None,
    ):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Of a pair the second is for the curves; on a single one the heat map is drawn alone. None: a new figure with both.
        colorbar : bool, default=True
        cmap, level_cmap : str or matplotlib Colormap, default=None
            Of the heat map and of the curves. None: white to dark blue, and viridis.
        line_kw, fill_kw, mesh_kw, text_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the curves, ``fill_between`` of their bands, ``pcolormesh`` and ``text``.

        Returns
        -------
        display : PositivityDisplay
        """
        from matplotlib.ticker import MaxNLocator

        found = self.map
        height = 4.6 + 0.12 * max(0, found.levels - 5)
        axes = _style.panels(ax, ["heat map", "curves"], "PositivityDisplay", figsize=(11, height))
        heat = axes[0]
        rows = np.nan_to_num(found.grid("rows"))
        highest = np.nanmax(found.positivity_high) if len(found) else 1
        self.mesh_, self.texts_, self.few_, notes = _style.heat_map(
            heat, np.arange(found.bins + 1) + 0.5, np.arange(found.levels + 1) - 0.5, found.grid(), rows,
            weighted=found.weighted, cmap=cmap, mesh_kw=mesh_kw, text_kw=text_kw, vmax=highest,
        )  # fmt: skip
        xlabel = f"score bin ({found.bins_are})"
        heat.set(xlabel=xlabel, ylabel="uncertainty")
        heat.xaxis.set_major_locator(MaxNLocator(integer=True))
        names = _words.level_names(found.uncertainty_edges)
        shown = np.unique(np.linspace(0, found.levels - 1, min(found.levels, 16)).round().astype(int))
        heat.set_yticks(shown, [f"{names[at]}\n({_words.count(rows[at].sum())})" for at in shown], fontsize=8)
        self.colorbar_ = _style.bar(heat, self.mesh_, "share of positives") if colorbar else None
        unit = "weight" if found.weighted else "rows"
        notes.append(f"in parentheses: {unit} of the level")
        self.map_legend_ = _style.legend(heat, [self.few_] if self.few_ is not None else [], notes, where="below")
        curves = _level_curves(found, "bin")
        counted = _levels_title(curves, found.weighted)[1]
        _style.title(heat, "Share of positives by score bin and level", counted)
        self.lines_, self.bands_, self.marks_, self.level_bar_, self.legend_ = [], [], [], None, None
        if len(axes) == 2:
            for curve in curves:
                curve.update(x=curve["x"] + 1, width=0.5)
            self.level_bar_ = _plot_levels(
                self, axes[1], curves, found.uncertainty_edges, found.weighted, found.confidence, colorbar, level_cmap,
                line_kw, fill_kw,
            )  # fmt: skip
            axes[1].set(xlabel=xlabel, ylabel="share of positives", ylim=(0, None))
            axes[1].xaxis.set_major_locator(MaxNLocator(integer=True))
            _style.title(axes[1], "Share of positives by score bin, for each level")
        self.ax_, self.figure_ = _style.one_or_all(axes), heat.figure
        return self
