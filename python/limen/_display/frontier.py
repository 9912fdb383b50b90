# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np

import limen
from limen import _words
from limen._display import _rows, _style


class FrontierDisplay:
    """Recall that each precision bound allows, with a 2-D boundary and with one threshold, and the gain between them.

    Use :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_frontier`. Both curves are fitted on the rows they are
    drawn for; with few rows the gain contains some fitting of noise. :func:`limen.compare` judges on other rows.

    Parameters
    ----------
    bounds : ndarray
        Precision bounds, increasing.
    recall, st_recall : ndarray of the same shape
        Highest recall at a precision of at least each bound; NaN where it cannot be reached.
    flagged : ndarray of the same shape, default=None
        Rows that the boundary flags at each bound.
    recall_band, st_recall_band, gain_band : pair of ndarray, default=None
        Lower and upper ends of bands.
    confidence_level : float, default=None
        Of the bands.
    levels, rows : int, default=None
        For the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    gain_ax_ : matplotlib Axes or None
    line_, st_line_, gain_line_ : matplotlib Line2D
    bands_ : dict of str to matplotlib PolyCollection
        ``"recall"``, ``"st_recall"`` and ``"gain"``, where there are bands.
    few_ : matplotlib Line2D or None
        Marks where few rows are flagged.
    legend_ : matplotlib Legend
    gain : ndarray
        Recall of the boundary over that of one threshold, less 1; NaN where the latter is below 1%.

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> display = limen.FrontierDisplay.from_predictions(*data.holdout.columns, bounds=[0.2, 0.3, 0.4])
    >>> bool((display.recall >= display.st_recall).all())
    True
    >>> print(display.ax_.get_title().splitlines()[0])
    Most recall at each precision bound
    """

    def __init__(
        self, *, bounds, recall, st_recall, flagged=None, recall_band=None, st_recall_band=None, gain_band=None,
        confidence_level=None, levels=None, rows=None,
    ):  # fmt: skip
        self.bounds = bounds
        self.recall = recall
        self.st_recall = st_recall
        self.flagged = flagged
        self.recall_band = recall_band
        self.st_recall_band = st_recall_band
        self.gain_band = gain_band
        self.confidence_level = confidence_level
        self.levels = levels
        self.rows = rows

    @property
    def gain(self):
        known = np.nan_to_num(self.st_recall) >= 0.01
        return np.divide(self.recall, self.st_recall, out=np.full(len(self.bounds), np.nan), where=known) - 1

    @classmethod
    def from_predictions(
        cls, y, score, uncertainty, *, bounds=None, levels=3, bins=None, sample_weight=None, bootstrap=0,
        confidence_level=0.95, seed=0, ax=None, **kwargs,
    ):  # fmt: skip
        """Draw labelled rows.

        Parameters
        ----------
        y, score, uncertainty : array-like of shape (n_samples,)
        bounds : array-like, default=None
            Precision bounds; None: 101 of them, from the share of positives to 1, to four digits.
        levels, bins :
            As in :func:`limen.fit_boundary`.
        sample_weight : array-like, default=None
        bootstrap, confidence_level, seed :
            As in :func:`limen.frontier`: with resamples there are bands.
        ax, **kwargs :
            See :meth:`plot`.

        Returns
        -------
        display : FrontierDisplay
        """
        y, score, uncertainty, weight = _rows.columns(y, score, uncertainty, sample_weight, "FrontierDisplay")
        if bounds is None:
            bounds = np.unique(np.linspace(np.average(y, weights=weight), 1, 101).round(4))
        found = limen.frontier(
            y,
            score,
            uncertainty,
            min_precision=np.sort(np.asarray(bounds, dtype=np.float64)).tolist(),
            levels=levels,
            bins="all" if bins is None else bins,
            sample_weight=sample_weight,
            bootstrap=bootstrap,
            confidence_level=confidence_level,
            seed=seed,
        )
        return cls.from_frontier(found, ax=ax, **kwargs)

    @classmethod
    def from_frontier(cls, found, *, ax=None, **kwargs):
        """Draw what :func:`limen.frontier` found at its precision bounds.

        Parameters
        ----------
        found : limen.Frontier
        ax, **kwargs :
            See :meth:`plot`.

        Returns
        -------
        display : FrontierDisplay
        """
        if not found.exact:
            raise ValueError(
                "FrontierDisplay: the frontier has no precision bounds: give min_precision to limen.frontier"
            )
        points = sorted(found.exact, key=lambda point: point.bound)
        bounds = np.array([point.bound for point in points])
        bands = {}
        if found.confidence_level is not None:
            for name in ("recall", "st_recall", "gain"):
                ends = [getattr(point, f"{name}_interval") or (np.nan, np.nan) for point in points]
                bands[f"{name}_band"] = tuple(np.array(ends, dtype=np.float64).T)
        display = cls(
            bounds=bounds,
            recall=np.array([point.recall if point.feasible else np.nan for point in points]),
            st_recall=found.st_recall(bounds),
            flagged=np.array([point.flagged for point in points], dtype=np.float64),
            confidence_level=found.confidence_level,
            levels=found.levels,
            rows=found.rows,
            **bands,
        )
        return display.plot(ax=ax, **kwargs)

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
        columns = _rows.holdout(estimator, X, y, sample_weight, "FrontierDisplay")
        kwargs = {"levels": estimator.levels or 3, "bins": estimator.bins, **kwargs}
        return cls.from_predictions(*columns[:3], sample_weight=columns[3], **kwargs)

    def plot(self, *, ax=None, names=None, line_kw=None, fill_kw=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Of a pair the second is for the gain; with a single one the largest gain is told in the title. None: a new figure
            with both.
        names : pair of str, default=None
            Names of the two curves in the legend.
        line_kw, fill_kw : dict, default=None
            Keywords for matplotlib's ``plot`` of the curves and ``fill_between`` of the gain and the bands.

        Returns
        -------
        display : FrontierDisplay
        """
        from matplotlib.ticker import PercentFormatter

        if names is None:
            levels = "" if self.levels is None else f", {_words.many(self.levels, 'level')}"
            names = _words.method("exact") + levels, _words.method("st")
        axes = _style.panels(
            ax, ["recall", "gain"], "FrontierDisplay", figsize=(5.8, 5.8), nrows=2, ncols=1, sharex=True,
            gridspec_kw={"height_ratios": (2, 1)},
        )  # fmt: skip
        top, below = axes[0], axes[1] if len(axes) > 1 else None
        self.figure_, self.ax_, self.gain_ax_ = top.figure, top, below
        self.bands_, self.gain_line_, self.few_ = {}, None, None
        curves = (("line_", "exact", self.recall, names[0], 2), ("st_line_", "st", self.st_recall, names[1], 1.8))
        for attribute, method, values, name, width in curves:
            label = _style.plain(name) + self._unreached(values)
            style = _style.line_style({"linewidth": width, "label": label, **_style.STYLES[method]}, line_kw)
            (line,) = top.plot(self.bounds, values, **style)
            setattr(self, attribute, line)
        gained = {"color": "#0072B2", "alpha": 0.12, "linewidth": 0}
        self._fill(top, "between", self.st_recall, self.recall, gained, fill_kw)
        self._band(top, "recall", self.recall_band, self.recall, self.line_, fill_kw)
        self._band(top, "st_recall", self.st_recall_band, self.st_recall, self.st_line_, fill_kw)
        handles = [self.line_, self.st_line_]
        if self.flagged is not None:
            few = np.isfinite(self.recall) & (self.flagged < _style.FEW_ROWS)
            if few.any():
                (self.few_,) = top.plot(
                    self.bounds[few], self.recall[few], linestyle="none", marker="o", markersize=4, markerfacecolor="white",
                    color=self.line_.get_color(), label=f"fewer than {_style.FEW_ROWS} rows flagged",
                )  # fmt: skip
                handles.append(self.few_)
        note = ""
        if self.confidence_level is not None:
            note = f"bands: {_words.percent(self.confidence_level)} of resamples"
        top.set(ylabel="recall", ylim=(0, 1.02))
        reached = self.bounds[np.isfinite(self.recall) | np.isfinite(self.st_recall)]
        shown = reached if len(reached) > 1 else self.bounds
        if len(shown) > 1:
            top.set_xlim(shown[0], shown[-1])
        self.legend_ = _style.legend(top, handles, [note])
        _style.quiet(top)
        _style.title(top, *self._title())
        if below is None:
            top.set_xlabel("precision bound")
            return self
        top.tick_params(labelbottom=False)
        style = _style.line_style({"linewidth": 1.8, **_style.STYLES["exact"]}, line_kw)
        (self.gain_line_,) = below.plot(self.bounds, self.gain, **style)
        self._fill(below, "gain_area", 0, self.gain, gained, fill_kw)
        self._band(below, "gain", self.gain_band, self.gain, self.gain_line_, fill_kw)
        if self.gain_band is not None and np.isfinite(self.gain).any():
            highest = np.nanmax(self.gain)  # where few rows are flagged a band goes beyond all measure
            below.set_ylim(top=min(below.get_ylim()[1], max(3 * highest, 0.05)))
        below.axhline(0, color="0.4", linewidth=0.8)
        below.yaxis.set_major_formatter(PercentFormatter(1, decimals=None))
        below.set(xlabel="precision bound", ylabel="gain in recall\nover one threshold", xlim=top.get_xlim())
        _style.quiet(below)
        return self

    def _fill(self, ax, name, low, high, defaults, fill_kw):
        self.bands_[name] = ax.fill_between(self.bounds, low, high, **_style.fill_style(defaults, fill_kw))

    def _band(self, ax, name, band, values, line, fill_kw):
        """A band where its curve is."""
        if band is not None:
            low, high = (np.where(np.isfinite(values), end, np.nan) for end in band)
            self._fill(ax, name, low, high, {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}, fill_kw)

    def _unreached(self, values):
        """Where a curve ends, for its entry in the legend."""
        if np.isfinite(values).all():
            return ""
        known = self.bounds[np.isfinite(values)]
        if len(known) == 0:
            return f" (infeasible from {self.bounds[0]:.4g} on)"
        return f" (infeasible above {known[-1]:.4g})"

    def _title(self):
        lines = ["Most recall at each precision bound"]
        rows = "" if not self.rows else f" ({_words.rows(self.rows)})"
        lines.append(f"{_words.IN_SAMPLE}{rows}")
        more = self.recall - self.st_recall
        if np.isfinite(more).any():
            best = int(np.nanargmax(more))
            lines.append(
                f"at precision >= {self.bounds[best]:.4g}: recall {_words.share(self.recall[best])}, "
                f"one threshold {_words.share(self.st_recall[best])}"
            )
        elif not np.isfinite(self.recall).any():
            lines.append("no bound can be reached")
        return lines
