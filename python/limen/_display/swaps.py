# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

import limen
from limen import _words
from limen._display import _style


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
    ax_ : matplotlib Axes, or pair of them with a column
        The map and, with a column, the distributions.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        The ``"first"`` and the ``"second"`` boundary.
    cells_ : list of matplotlib Rectangle
        One for each cell of ``swaps.cells``.
    texts_ : list of matplotlib Text
        Share of positives and rows of cells that have room.
    bars_ : dict of str to matplotlib BarContainer
        The distributions by name.
    legend_ : matplotlib Legend
        Of the map.

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=50_000, test_rows=50_000, regions=5_000, seed=1)
    >>> one = limen.fit_boundary(*data.holdout.columns, min_precision=0.4, method="st")
    >>> two = limen.fit_boundary(*data.holdout.columns, min_precision=0.4, levels=3)
    >>> display = limen.SwapDisplay.from_predictions(one, two, *data.test.columns)
    >>> [line.get_label() for line in display.lines_.values()]
    ['first: one threshold', 'second: one threshold per level (exact)']
    """

    _SETS = {"taken_in": ("taken in", _style.TAKEN_IN), "left_out": ("left out", _style.LEFT_OUT)}
    _BARS = {
        "population": ("all rows", "#BBBBBB"),
        "flagged_by_second": ("flagged by second", "#666666"),
        "taken_in": ("taken in", _style.TAKEN_IN),
        "taken_in_equal_score": ("all levels, scores as taken in", "#9CC6E3"),
        "left_out": ("left out", _style.LEFT_OUT),
        "left_out_equal_score": ("all levels, scores as left out", "#F5D699"),
    }

    def __init__(self, *, swaps, column=None):
        self.swaps = swaps
        self.column = column
        if column is not None:
            swaps.column(column)

    @classmethod
    def from_swaps(cls, swaps, *, column=None, ax=None, **kwargs):
        """Draw what :func:`limen.swaps` found.

        Parameters
        ----------
        swaps : limen.Swaps
        column : str, optional
            None: the first of its columns, the one that differs most; without columns the map alone.
        ax, **kwargs :
            See :meth:`plot`.

        Returns
        -------
        display : SwapDisplay
        """
        if column is None and swaps.columns:
            column = swaps.columns[0].name
        return cls(swaps=swaps, column=column).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(cls, first, second, y, score, uncertainty, *, columns=None, column=None, ax=None, **kwargs):
        """Draw what :func:`limen.swaps` finds on these rows; keywords are its own and those of :meth:`plot`."""
        draw = _style.drawing(cls, kwargs)
        found = limen.swaps(first, second, y, score, uncertainty, columns=columns, **kwargs)
        return cls.from_swaps(found, column=column, ax=ax, **draw)

    def plot(self, *, ax=None, line_kw=None, text_kw=None, bar_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Of a pair the second is for the distributions of the column; on a single one the map is drawn alone. None: a new
            figure.
        line_kw, text_kw, bar_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the boundaries, ``text`` in the cells and ``barh``.

        Returns
        -------
        display : SwapDisplay
        """
        names = ["map"] if self.column is None else ["map", "distributions"]
        values = 0 if self.column is None else len(self.swaps.column(self.column).values)
        height = max(5.0, 2.0 + 0.55 * values, 3.0 + 0.28 * min(len(self.swaps.levels), 16))
        axes = _style.panels(ax, names, "SwapDisplay", figsize=(0.4 + 5.6 * len(names), height))
        self.ax_, self.figure_ = _style.one_or_all(axes), axes[0].figure
        self._plot_map(axes[0], line_kw, text_kw)
        self.bars_ = {}
        if len(axes) == 2:
            self._plot_bars(axes[1], bar_kw)
        return self

    def _plot_map(self, ax, line_kw, text_kw):
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Patch, Rectangle
        from matplotlib.text import Text

        swaps = self.swaps
        edges = [swaps.score_low, *swaps.score_edges.tolist()]
        # A last bin without an end is drawn as wide as the one before it.
        edges.append(swaps.score_high if swaps.score_high is not None else edges[-1] + max(edges[-1] - edges[0], 0.1))
        thresholds = [getattr(level, f"{name}_threshold") for level in swaps.levels for name in ("first", "second")]
        thresholds = [value for value in thresholds if value is not None]
        # All bins are equally wide, and what lies beyond them as wide as one.
        edges_shown = np.unique(edges if swaps.cells else thresholds or edges)
        low, high = min([*edges_shown, *thresholds]), max([*edges_shown, *thresholds])
        margin = 0.05 * (high - low) or 0.05
        scale = np.unique([low - margin, *edges_shown, high + margin])
        _style.equal_cells(ax.xaxis, ax.set_xscale, scale, 6, edges_shown)
        wide, tall = _style.inches(ax)
        room = 0.8 * wide / (len(scale) - 1) > 0.24 and 0.7 * tall / len(swaps.levels) > 0.24
        self.cells_, self.texts_ = [], []
        few = False
        for cell in swaps.cells:
            name = "taken_in" if cell.taken_in.rows > 0 else "left_out"
            part = getattr(cell, name)
            low, high = edges[cell.bin], edges[cell.bin + 1]
            sparse = part.rows < _style.FEW_ROWS
            few |= sparse
            alpha = 0.25 + 0.65 * part.rows / max(cell.all.rows, 1)
            box = Rectangle(
                (low, cell.level - 0.4), high - low, 0.8, facecolor=to_rgba(self._SETS[name][1], alpha), linewidth=0.8,
                edgecolor="0.3" if sparse else "white", linestyle=(0, (2, 1.5)) if sparse else "-",
            )  # fmt: skip
            ax.add_patch(box)
            self.cells_.append(box)
            if room:
                share = "" if part.positivity is None else f"{part.positivity:.2f}\n"
                place = np.interp(
                    (scale.searchsorted(low) + scale.searchsorted(high)) / 2, np.arange(len(scale)), scale
                )
                style = {"horizontalalignment": "center", "verticalalignment": "center", "fontsize": 6.5, "zorder": 4}
                style["color"] = "white" if name == "taken_in" and alpha > 0.6 else "black"
                style = _style.merged(style, text_kw, Text)
                self.texts_.append(ax.text(place, cell.level, f"{share}{_style.short(part.rows)}", **style))
        silent = self._plot_lines(ax, scale[-1], line_kw)
        ax.set(xlim=(scale[0], scale[-1]), ylim=(-0.5, len(swaps.levels) - 0.5))
        ax.set(xlabel="score" + (" (quantile scale of swapped rows)" if swaps.cells else ""), ylabel="uncertainty")
        level_names = _words.level_names([level.lower_edge for level in swaps.levels[1:]])
        shown = np.unique(np.linspace(0, len(level_names) - 1, min(len(level_names), 16)).round().astype(int))
        ax.set_yticks(shown, [level_names[at] for at in shown], fontsize=8)
        handles = list(self.lines_.values())
        for name, (label, color) in self._SETS.items():
            part = getattr(swaps, name)
            share = "" if part.positivity is None else f", {_words.share(part.positivity)} of them positive"
            handles.append(Patch(color=color, label=f"{label}: {_words.rows(part.rows)}{share}"))
        written = "share of positives, rows" if swaps.first.positives is not None else "rows"
        notes = ["the darker, the more of the cell's rows are swapped" if self.cells_ else ""]
        notes.append(f"in a cell: {written}" if self.texts_ else "")
        notes.append(f"dashed edge: fewer than {_style.FEW_ROWS} rows" if few else "")
        notes.append("a level that flags nothing is drawn at the right edge" if silent else "")
        self.legend_ = _style.legend(ax, handles, ["; ".join(note for note in notes if note)], where="below")
        _style.quiet(ax)
        _style.title(ax, *self._title())

    def _plot_lines(self, ax, outside, line_kw):
        from matplotlib import patheffects

        swaps, self.lines_, silent = self.swaps, {}, False
        methods = ["st", "exact"] if swaps.boundaries is None else [boundary.method for boundary in swaps.boundaries]
        for name, method, look in zip(("first", "second"), methods, _style.styles_of(methods), strict=True):
            at_level = [getattr(level, f"{name}_threshold") for level in swaps.levels]
            silent |= None in at_level
            x = [outside if value is None else value for value in at_level]
            y = np.arange(len(x))
            label = f"{name} boundary" if swaps.boundaries is None else f"{name}: {_words.method(method)}"
            style = _style.line_style({"linewidth": 1.8, **look, "label": label}, line_kw)
            (line,) = ax.plot(np.repeat(x, 2), np.column_stack([y - 0.5, y + 0.5]).ravel(), **style)
            line.set_path_effects([patheffects.withStroke(linewidth=line.get_linewidth() + 2, foreground="white")])
            self.lines_[name] = line
        return silent

    def _title(self):
        goals = [] if self.swaps.boundaries is None else list(dict.fromkeys(b.objective for b in self.swaps.boundaries))
        goal = "; then ".join(goals)
        return [goal[:1].upper() + goal[1:], self.swaps._decision()]

    def _plot_bars(self, ax, bar_kw):
        from matplotlib.patches import Rectangle

        column = self.swaps.column(self.column)
        height = 0.8 / len(self._BARS)
        place = np.arange(len(column.values))
        shares = column.shares()
        for at, (name, (label, color)) in enumerate(self._BARS.items()):
            if not name.endswith("equal_score"):
                label += f" ({_words.rows(int(getattr(column, name).sum()))})"
            style = _style.merged({"color": color, "label": label}, bar_kw, Rectangle)
            self.bars_[name] = ax.barh(
                place + (at - (len(self._BARS) - 1) / 2) * height, np.nan_to_num(shares[name]), height, **style
            )
        ax.set_yticks(place, [_style.plain(value, 28) for value in column.values], fontsize=8)
        ax.invert_yaxis()
        ax.set(xlabel="share of rows")
        tests = []
        for name, (label, _) in self._SETS.items():
            p_value = getattr(column, f"{name}_test").adjusted_p
            tests.append(f"{label} " + ("not testable" if p_value is None else f"p = {p_value:.2g}"))
        corrected = f"corrected for {2 * len(self.swaps.columns)} tests"
        self.bars_legend_ = _style.legend(ax, self.bars_.values(), where="below")
        _style.title(
            ax,
            f"Swapped rows by {_style.plain(column.name, 40)}",
            f"against rows of equal score: {', '.join(tests)}, {corrected}",
        )
        _style.quiet(ax)
