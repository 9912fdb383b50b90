# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses

import numpy as np

import limen
from limen import _core, _inputs, _words
from limen._display import _rows, _style


@dataclasses.dataclass(frozen=True)
class _Reached:
    """Figures of a boundary on the rows drawn."""

    precision: float
    recall: float
    in_sample: bool


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
        By method, or by any other name.
    rows : ndarray of the shape of positivity, default=None
        Rows of each cell. None: not known, and not shown.
    infeasible : dict of str to float, default=None
        Methods that find no boundary, with the best that they can attain: named in the legend.
    reached : dict of str to limen.Evaluation, default=None
        Of each boundary on the rows drawn; None: what it reached on its hold-out.
    goal : str, default=None
        For the title. None: the goal of the boundaries.
    on : str, default=None
        For the title: what rows the figures are of, such as ``"on the test rows"``. None: told by `reached`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    mesh_ : matplotlib QuadMesh
    lines_ : dict of str to matplotlib Line2D
        The boundaries: thresholds by level as x, edges of the levels as y. A level that flags nothing is drawn at the right edge.
    texts_ : list of matplotlib Text
        Share and rows of each cell, where cells have room.
    few_ : matplotlib PathCollection or None
        Dots in cells of few rows.
    colorbar_ : matplotlib Colorbar or None
    legend_ : matplotlib Legend or None

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> display = limen.BoundaryDisplay.from_predictions(*data.holdout.columns, min_precision=0.4)
    >>> print(display.ax_.get_title().splitlines()[0])
    Most recall with precision >= 0.4
    >>> [line.get_label()[:13] for line in display.lines_.values()]
    ['one threshold', 'one threshold']
    """

    def __init__(
        self, *, positivity, score_edges, uncertainty_edges, boundaries, rows=None, infeasible=None, reached=None, goal=None, on=None
    ):  # fmt: skip
        self.positivity = positivity
        self.score_edges = score_edges
        self.uncertainty_edges = uncertainty_edges
        self.boundaries = boundaries
        self.rows = rows
        self.infeasible = infeasible or {}
        self.reached = reached
        self.goal = goal
        self.on = on

    @classmethod
    def from_predictions(
        cls, y, score, uncertainty, *, boundaries=None, methods=("exact", "st"), levels=3, bins=None, sample_weight=None,
        score_cells=24, uncertainty_cells=12, on=None, ax=None, **goal,
    ):  # fmt: skip
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        boundaries : limen.Boundary or dict of str to Boundary, default=None
            What to draw. None: the boundaries of `methods`, fitted on these rows.
        methods, levels, bins, **goal :
            As in :func:`limen.fit_boundary`; without a goal ``min_precision=0.9``. Methods that find no boundary are named in
            the legend, with the best that they attain.
        score_cells, uncertainty_cells : int, default=24, 12
            Cells in each direction, with equal shares of the rows (each class counts for one half).
        on : str, default=None
            What rows these are, for the title, such as ``"on the test rows"``. None: on the hold-out, in-sample, where the
            boundaries were fitted on them.
        ax : matplotlib Axes, default=None
        **goal : dict
            Also the keywords of :meth:`plot`.

        Returns
        -------
        display : BoundaryDisplay
        """
        draw = _style.drawing(cls, goal)
        rows = _rows.columns(y, score, uncertainty, sample_weight, "BoundaryDisplay")
        infeasible, described = {}, None
        if boundaries is None:
            if not any(name in goal for name in _GOALS):
                goal["min_precision"] = 0.9
            settings = {"levels": levels, "bins": bins, "sample_weight": sample_weight}
            boundaries, infeasible = _fitted(methods, *rows[:3], **settings, **goal)
            described = _described(goal)
        elif goal:
            raise ValueError(f"BoundaryDisplay: boundaries are given, so {' and '.join(goal)} has no meaning")
        elif not isinstance(boundaries, dict):
            boundaries = {boundaries.method: boundaries}
        return cls._of_rows(rows, boundaries, infeasible, described, score_cells, uncertainty_cells, on).plot(
            ax=ax, **draw
        )

    @classmethod
    def _of_rows(cls, rows, boundaries, infeasible, goal, score_cells, uncertainty_cells, on):
        y, score, uncertainty, weight = rows
        score_edges = _rows.edges(score, y, weight, score_cells)
        uncertainty_edges = _rows.edges(uncertainty, y, weight, uncertainty_cells)
        grid = [uncertainty_edges, score_edges]
        total, _, _ = np.histogram2d(uncertainty, score, bins=grid, weights=weight)
        positive, _, _ = np.histogram2d(uncertainty[y], score[y], bins=grid, weights=weight[y])
        reached = {}
        for name, boundary in boundaries.items():
            found = boundary.evaluate(y, score, uncertainty, sample_weight=None if (weight == 1).all() else weight)
            seen, fields = boundary.holdout, ("positives", "flagged", "true_positives")
            same = seen.rows == len(y) and all(
                np.isclose(getattr(seen, field), getattr(found, field), rtol=1e-9) for field in fields
            )
            reached[name] = _Reached(found.precision, found.recall, same)
        return cls(
            positivity=np.divide(positive, total, out=np.full_like(total, np.nan), where=total > 0),
            score_edges=score_edges,
            uncertainty_edges=uncertainty_edges,
            boundaries=boundaries,
            rows=np.histogram2d(uncertainty, score, bins=grid)[0],
            infeasible=infeasible,
            reached=reached,
            goal=goal,
            on=on,
        )

    @classmethod
    def from_estimator(
        cls, estimator, X=None, y=None, *, sample_weight=None, methods=("st",), score_cells=24, uncertainty_cells=12, on=None,
        ax=None, **kwargs,
    ):  # fmt: skip
        """Draw the boundary of a fitted BoundaryClassifier on rows X, y; without them on its out-of-fold rows.

        Parameters
        ----------
        estimator : BoundaryClassifier, fitted
        X, y : rows and labels, default=None
        sample_weight : array-like, default=None
        methods : sequence of str, default=("st",)
            Methods drawn beside the estimator's own, fitted on its out-of-fold rows with its goal.
        score_cells, uncertainty_cells, on, ax :
            See :meth:`from_predictions`.
        **kwargs : dict
            See :meth:`plot`.

        Returns
        -------
        display : BoundaryDisplay
        """
        columns = _rows.holdout(estimator, X, y, sample_weight, "BoundaryDisplay")
        own, goal, rows = estimator.boundary_, estimator._goal(), estimator.holdout_
        settings = {"levels": estimator.levels, "bins": estimator.bins, "binning": estimator.binning}
        settings["sample_weight"] = rows.sample_weight
        boundaries = {} if own is None else {own.method: own}
        asked = [method for method in methods if method not in boundaries]
        if own is None and estimator.method not in asked:
            asked = [estimator.method, *asked]
        others, infeasible = _fitted(asked, rows.y, rows.score, rows.uncertainty, **settings, **goal)
        if own is None:
            others.pop(estimator.method, None)
            infeasible.setdefault(estimator.method, float("nan"))
        checked = _rows.columns(*columns, "BoundaryDisplay")
        boundaries |= others
        display = cls._of_rows(checked, boundaries, infeasible, _described(goal), score_cells, uncertainty_cells, on)
        return display.plot(ax=ax, **kwargs)

    def plot(self, *, ax=None, scale="quantile", colorbar=True, cmap=None, line_kw=None, mesh_kw=None, text_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None: a new figure.
        scale : {"quantile", "value"}, default="quantile"
            ``"quantile"`` gives all cells one size; the ticks tell the values. ``"value"``: plain axes.
        colorbar : bool, default=True
        cmap : str or matplotlib Colormap, default=None
            Of the map, from 0 to the largest share of a cell that has not few rows. None: white to dark blue.
        line_kw, mesh_kw, text_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the boundaries, ``pcolormesh`` and ``text``.

        Returns
        -------
        display : BoundaryDisplay
        """
        if scale not in ("quantile", "value"):
            raise ValueError(f'BoundaryDisplay: scale is {scale!r}, must be "quantile" or "value"')
        height = 4.6 + 0.17 * (len(self.boundaries) + len(self.infeasible))
        (ax,) = _style.panels(ax, ["map"], "BoundaryDisplay", figsize=(6.4, height))
        x, y = self.score_edges, self.uncertainty_edges
        kind = " (quantile scale)" if scale == "quantile" else ""
        if scale == "quantile":
            _style.equal_cells(ax.xaxis, ax.set_xscale, x, 7)
            _style.equal_cells(ax.yaxis, ax.set_yscale, y, 6)
        rows = np.zeros(self.positivity.shape) if self.rows is None else self.rows
        known = self.positivity[np.isfinite(self.positivity) & (rows >= _style.FEW_ROWS)]
        self.mesh_, self.texts_, self.few_, notes = _style.heat_map(
            ax, x, y, self.positivity, rows, equal=scale == "quantile" and self.rows is not None, cmap=cmap, mesh_kw=mesh_kw,
            text_kw=text_kw, vmax=max(known.max(initial=0), 0.01) if len(known) else 1,
        )  # fmt: skip
        self._plot_lines(ax, line_kw)
        ax.set(xlabel=f"score{kind}", ylabel=f"uncertainty{kind}", xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        self.figure_, self.ax_ = ax.figure, ax
        self.colorbar_ = _style.bar(ax, self.mesh_, "share of positives") if colorbar else None
        silent = any(np.isnan(boundary.score_thresholds).any() for boundary in self.boundaries.values())
        notes.append("a level that flags nothing is drawn at the right edge" if silent else "")
        marks = [*self.lines_.values(), *self._missing(), *([self.few_] if self.few_ is not None else [])]
        self.legend_ = _style.legend(ax, marks, notes, where="below")
        _style.title(ax, *self._title())
        return self

    def _plot_lines(self, ax, line_kw):
        from matplotlib import patheffects

        x, y = self.score_edges, self.uncertainty_edges
        goals = {boundary.objective for boundary in self.boundaries.values()}
        named = [name if name in _style.STYLES else boundary.method for name, boundary in self.boundaries.items()]
        self.lines_ = {}
        for (name, boundary), look in zip(self.boundaries.items(), _style.styles_of(named), strict=True):
            thresholds = np.asarray(boundary.score_thresholds, dtype=np.float64)
            edges = np.asarray(boundary.uncertainty_edges, dtype=np.float64)
            steps_x = np.repeat(np.where(np.isnan(thresholds), x[-1], thresholds), 2)
            steps_y = np.concatenate([[y[0]], np.repeat(edges, 2), [y[-1]]])
            figures = self._figures(name)
            label = f"{_style.plain(_words.method(name))}: {_words.reached(figures.precision, figures.recall)}"
            if len(goals) > 1:
                label += f" ({boundary.objective})"
            style = _style.line_style({"linewidth": 2, **look, "label": label}, line_kw)
            (self.lines_[name],) = ax.plot(steps_x, steps_y, **style)
            width = self.lines_[name].get_linewidth()
            self.lines_[name].set_path_effects([patheffects.withStroke(linewidth=width + 2, foreground="white")])

    def _missing(self):
        """Entries of the legend for methods without a boundary."""
        from matplotlib.lines import Line2D

        found = []
        for name, best in self.infeasible.items():
            attains = "" if best is None or np.isnan(best) else f", at best {best:.4g}"
            label = f"{_style.plain(_words.method(name))}: infeasible{attains}"
            look = _style.styles_of([name])[0]
            found.append(Line2D([], [], **look, alpha=0.35, label=label))
        return found

    def _figures(self, name):
        if self.reached is not None:
            return self.reached[name]
        boundary = self.boundaries[name]
        return _Reached(boundary.precision, boundary.recall, True)

    def _title(self):
        goals = list(dict.fromkeys(boundary.objective for boundary in self.boundaries.values()))
        goal = self.goal or (goals[0] if len(goals) == 1 else "boundaries of several goals" if goals else "")
        goal = goal[:1].upper() + goal[1:]
        if not self.boundaries:
            return [goal, "no boundary meets it" if self.infeasible else ""]
        figures = [self._figures(name) for name in self.boundaries]
        on = self.on or (
            _words.IN_SAMPLE if all(getattr(found, "in_sample", False) for found in figures) else _words.DRAWN
        )
        first = next(iter(self.boundaries.values()))
        return [goal, f"{_words.reached(figures[0].precision, figures[0].recall)} {on}", *_words.promised(first)]


_GOALS = ("min_precision", "min_recall", "max_false_positive_rate", "max_flag_rate", "cost", "f_beta")


def _described(goal):
    """A goal in words, also where no boundary meets it."""
    return _core.describe_objective(*_inputs.goal(**{name: goal.get(name) for name in _GOALS}))


def _fitted(methods, y, score, uncertainty, **settings):
    """Boundaries by method, and the methods that find none with what they attain."""
    boundaries, infeasible = {}, {}
    for method in methods:
        try:
            boundaries[method] = limen.fit_boundary(y, score, uncertainty, method=method, **settings)
        except limen.InfeasibleError as error:
            infeasible[method] = error.best_attainable
    return boundaries, infeasible
