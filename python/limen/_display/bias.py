# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

import limen
from limen import _words
from limen._display import _style

_MANY_CURVES = 9  # of more, the legend stands beside the axes


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
    marks_ : list of matplotlib PathCollection
        The same means, of areas by their regions.
    legends_ : list of matplotlib Legend

    Examples
    --------
    >>> import limen
    >>> display = limen.BiasDisplay.from_theory(tau=3, evidence=[2, 50])
    >>> [line.get_label() for line in display.lines_]
    ['2 training rows (n = 2)', '50 training rows (n = 50)']
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
            See :meth:`plot` and :func:`limen.bias`.

        Returns
        -------
        display : BiasDisplay
        """
        draw = _style.drawing(cls, kwargs)
        return cls(results=[limen.bias(**kwargs)]).plot(ax=ax, **draw)

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
            See :meth:`plot` and :func:`limen.bias`.

        Returns
        -------
        display : BiasDisplay
        """
        draw = _style.drawing(cls, kwargs)
        results = [
            limen.bias(tau=tau, evidence=evidence, simulate=simulate, **kwargs),
            limen.bias(tau=taus, evidence=medium, simulate=simulate, **kwargs),
        ]
        return cls(results=results).plot(ax=ax, **draw)

    def plot(self, *, ax=None, cmap=None, line_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or as many as there are results, default=None
            On a single one the first result is drawn alone. None: a new figure.
        cmap : str or matplotlib Colormap, default=None
            Of the curves, from the first to the last. None: viridis.
        line_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the curves.

        Returns
        -------
        display : BiasDisplay
        """
        count = len(self.results)
        names = [f"result {at + 1}" for at in range(count)]
        beside = any(
            len(result._distinct("tau")) * len(result._distinct("evidence")) > _MANY_CURVES for result in self.results
        )
        width = 0.4 + (7.6 if beside else 4.6) * count
        axes = _style.panels(ax, names, "BiasDisplay", figsize=(width, 5.4))
        self.lines_, self.points_, self.marks_, self.legends_ = [], [], [], []
        for at, (panel, result) in enumerate(zip(axes, self.results, strict=False)):
            self._plot_panel(panel, result, cmap, line_kw, count - 1 if at == 0 and len(axes) == 1 else 0)
        self.ax_, self.figure_ = _style.one_or_all(axes), axes[0].figure
        return self

    def _plot_panel(self, ax, result, cmap, line_kw, left_out):
        ax.plot([0, 1], [0, 1], **_style.GUIDE)
        curves = [(tau, rows) for tau in result._distinct("tau") for rows in result._distinct("evidence")]
        one_tau, one_evidence = (len(result._distinct(name)) == 1 for name in ("tau", "evidence"))
        colors = _style.level_colors(len(curves), cmap)
        lines = []
        for at, (tau, rows) in enumerate(curves):
            own = (result.tau == tau) & (result.evidence == rows)
            name = _training(rows) if one_tau else _kept(tau) if one_evidence else f"n = {rows:g}, tau = {tau:g}"
            style = _style.line_style({"color": colors[at], "linewidth": 1.8, "label": name}, line_kw)
            (line,) = ax.plot(result.score[own], result.expected_positivity[own], **style)
            lines.append(line)
            if result.simulated is not None:
                self._plot_points(ax, result.simulated, tau, rows, line.get_color(), _style.MARKERS[at % 11])
        self.lines_ += lines
        fixed = _kept(result.tau[0]) if one_tau else _training(result.evidence[0]) if one_evidence else ""
        priors = f"priors: xi = {result.xi:g} in deployment, omega = {result.omega:g} of the model"
        ax.set(xlabel="model score", ylabel="expected test positivity", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
        ax.set(aspect="equal")
        notes = ["dotted: no bias; below it the model overestimates"]
        if result.simulated is not None:
            regions = result.simulated.regions
            notes.append(
                f"points: simulated test positivity with standard errors; area: regions, {_words.count(regions.min())} to "
                f"{_words.count(regions.max())}"
            )
        if left_out:
            notes.append(f"on one axes: {_words.many(left_out, 'more panel')} not drawn")
        heading = None if one_tau or one_evidence else "training rows n, negatives kept 1 in tau"
        where = "right" if len(lines) > _MANY_CURVES else "below"
        self.legends_.append(_style.legend(ax, lines, notes, where=where, heading=heading))
        _style.title(ax, "Expected test positivity by model score", fixed, priors)
        _style.quiet(ax)

    def _plot_points(self, ax, drawn, tau, rows, color, marker):
        own = (drawn.tau == tau) & (drawn.evidence == rows)
        score, mean, error = drawn.score[own], drawn.test_positivity[own], drawn.test_positivity_se[own]
        self.points_.append(
            ax.errorbar(score, mean, yerr=error, linestyle="none", color=color, elinewidth=0.9, marker="none")
        )
        most = drawn.regions.max()
        few = drawn.regions[own] < _style.FEW_ROWS
        self.marks_.append(
            ax.scatter(
                score,
                mean,
                s=4 + 26 * drawn.regions[own] / most,
                marker=marker,
                edgecolor=[color],
                linewidth=0.8,
                zorder=2.5,
                facecolor=["white" if hollow else color for hollow in np.atleast_1d(few)] if own.any() else "none",
            )  # fmt: skip
        )


def _training(rows):
    return f"{rows:g} training row{'' if rows == 1 else 's'} (n = {rows:g})"


def _kept(tau):
    return f"all negatives kept (tau = {tau:g})" if tau == 1 else f"negatives kept 1 in {tau:g} (tau = {tau:g})"
