# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

import limen
from limen import _words
from limen._display import _style


class CalibrationDisplay:
    """Cumulative ECE@j of a score and its calibrators with bands, and beside it their reliability curves.

    Use :meth:`from_predictions`, or give a :func:`limen.calibration_report`.

    Parameters
    ----------
    report : limen.CalibrationReport

    Attributes
    ----------
    ax_ : pair of matplotlib Axes
        Cumulative ECE@j, and reliability; a single one where only the errors are drawn.
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D
        Of the cumulative errors, by column.
    bands_ : dict of str to matplotlib PolyCollection
    reliability_lines_ : dict of str to matplotlib Line2D
    marks_ : dict of str to matplotlib PathCollection
        The bins of the reliability curves, of areas by their rows.
    bars_ : matplotlib ErrorbarContainer or None
        Wilson's intervals of the share of positives, at the probabilities of the last column.
    legend_ : matplotlib Legend
        Of the errors; columns that are too high to be drawn are named in it.

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> display = limen.CalibrationDisplay.from_predictions(*data.holdout.columns, test=data.test, n_resamples=20)
    >>> sorted(display.lines_), sorted(display.reliability_lines_)
    (['ist', 'mist', 'shrunken'], ['ist', 'mist', 'raw', 'shrunken'])
    """

    def __init__(self, *, report):
        self.report = report

    @classmethod
    def from_predictions(cls, y, score, uncertainty, *, ax=None, **kwargs):
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
            The hold-out.
        ax : pair of matplotlib Axes, default=None
        **kwargs : dict
            See :meth:`plot`, and :func:`limen.calibration_report`, such as ``test``.

        Returns
        -------
        display : CalibrationDisplay
        """
        draw = _style.drawing(cls, kwargs)
        return cls(report=limen.calibration_report(y, score, uncertainty, **kwargs)).plot(ax=ax, **draw)

    def plot(self, *, ax=None, columns=None, line_kw=None, fill_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Of a pair the second is for reliability; on a single one the errors are drawn alone. None: a new figure with both.
        columns : sequence of str, default=None
            Which to draw; None: all that are probabilities, of which the raw score's and those of corrections are not drawn
            in the left panel, but named in its legend, when they are more than three times as high as ``ist``.
        line_kw, fill_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the curves and ``fill_between`` of the bands.

        Returns
        -------
        display : CalibrationDisplay
        """
        report = self.report
        names = [name for name in (columns or report) if report[name].is_probability]
        axes = _style.panels(ax, ["errors", "reliability"], "CalibrationDisplay", figsize=(10.4, 5.0))
        self.lines_, self.bands_, self.reliability_lines_, self.marks_, self.bars_ = {}, {}, {}, {}, None
        limit = np.inf if columns else 3 * np.nanmax(report["ist"].cumulative_ece.value)
        self._plot_errors(axes[0], names, limit, line_kw, fill_kw)
        if len(axes) == 2:
            self._plot_reliability(axes[1], names, line_kw)
        self.ax_, self.figure_ = _style.one_or_all(axes), axes[0].figure
        return self

    def _plot_errors(self, ax, names, limit, line_kw, fill_kw):
        from matplotlib.lines import Line2D

        report, handles = self.report, []
        for name in names:
            curve, look = report[name].cumulative_ece, _style.STYLES.get(name, _style.STYLES["raw"])
            label = _words.calibrator(name) + (", chosen" if name == report.chosen else "")
            if np.nanmax(curve.value) > limit:
                label += f": up to {np.nanmax(curve.value):.3g}, not drawn"
                handles.append(Line2D([], [], **look, alpha=0.35, label=label))
                continue
            j = np.arange(len(curve.value))
            style = _style.line_style({"linewidth": 1.8, **look, "label": label}, line_kw)
            (self.lines_[name],) = ax.plot(j, curve.value, **style)
            handles.append(self.lines_[name])
            if not np.isnan(curve.low).all():
                fill = {"color": self.lines_[name].get_color(), "alpha": 0.15, "linewidth": 0}
                self.bands_[name] = ax.fill_between(j, curve.low, curve.high, **_style.fill_style(fill, fill_kw))
        chance = report.cumulative_by_chance
        handles += ax.plot(np.arange(len(chance)), chance, **_style.GUIDE, label="true probabilities, by chance")
        left_out = [name for name in report if name not in names and not report[name].is_probability]
        notes = [f"bands: 95% of {report.n_resamples} resamples" if self.bands_ else ""]
        if left_out:
            notes.append(f"no probability, not drawn: {', '.join(map(_words.calibrator, left_out))}")
        ax.set(xlabel="j: over the score bins above the j-th", ylabel="cumulative ECE@j", ylim=(0, None))
        self.legend_ = _style.legend(ax, handles, notes, where="below")
        _style.quiet(ax)
        _style.title(ax, "Calibration error by score, over bins of score and level", self._counted())

    def _plot_reliability(self, ax, names, line_kw):
        report, found = self.report, self.report.reliability
        tops = [report[name].mean_probability.max() for name in names]
        ax.plot([0, 1], [0, 1], **_style.GUIDE)
        area = 6 + 30 * found.rows / found.rows.max()
        for at, name in enumerate(names):
            look = _style.STYLES.get(name, _style.STYLES["raw"])
            style = _style.line_style({"linewidth": 1.6, **look, "label": _words.calibrator(name)}, line_kw)
            (line,) = ax.plot(report[name].mean_probability, found.positivity, **style)
            self.reliability_lines_[name] = line
            self.marks_[name] = ax.scatter(
                report[name].mean_probability, found.positivity, s=area, color=line.get_color(),
                marker=_style.MARKERS[at % len(_style.MARKERS)], zorder=2.5,
            )  # fmt: skip
        if names:
            spread = np.abs(np.stack([found.positivity_low, found.positivity_high]) - found.positivity)
            self.bars_ = ax.errorbar(
                report[names[-1]].mean_probability, found.positivity, yerr=spread, linestyle="none", color="0.5",
                elinewidth=0.9, zorder=1.5,
            )  # fmt: skip
        ax.set(xlim=(0, None if not tops else 1.04 * max(tops)), ylim=(0, 1.06 * found.positivity_high.max()))
        ax.set(xlabel=f"mean probability of a score bin ({found.bins} {_bins_are(found)})", ylabel="share of positives")
        unit = "weight" if found.weighted else "rows"
        low, high = _words.count(found.rows.min()), _words.count(found.rows.max())
        notes = [
            f"bars: Wilson's {_words.percent(found.confidence)} interval",
            f"area of a mark: {unit} of the bin, {low} to {high}",
        ]
        self.reliability_legend_ = _style.legend(ax, self.reliability_lines_.values(), notes, where="below")
        _style.quiet(ax)
        _style.title(ax, "Reliability", self._counted())

    def _counted(self):
        report = self.report
        return f"{report.judged_on}: {_words.rows(report.rows)}, {_words.count(report.positives)} positive"


def _bins_are(found):
    return "equal intervals" if found.binning == "equi-span" else "quantiles"
