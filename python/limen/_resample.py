# SPDX-License-Identifier: MIT
"""How far a fit moves by the draw of rows, and which of two boundaries is better on the same rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words
from limen._boundary import Boundary
from limen._studies import _whole


@dataclasses.dataclass(frozen=True)
class ThresholdInterval:
    """Where the threshold of a level lies. An end that is None: no row of the level is flagged."""

    low: float | None
    high: float | None
    never: float
    """The share of resamples in which no row of the level is flagged."""


@dataclasses.dataclass(frozen=True, repr=False)
class Bootstrap:
    """What :func:`limen.bootstrap` found: intervals over the resamples that a boundary can be fitted on."""

    replicates: int
    infeasible: int
    """Resamples on which no boundary meets the goal."""
    precision: tuple[float, float] | None
    recall: tuple[float, float] | None
    flag_rate: tuple[float, float] | None
    gain: tuple[float, float] | None
    """Over one threshold, relative, where both were fitted; never below 0 for ``exact``."""
    gain_left_out: tuple[float, float] | None
    """The same on the rows left out of each resample, at equal precision (or what else the goal bounds)."""
    single_threshold: ThresholdInterval
    """Of the best single threshold."""
    score_thresholds: tuple[ThresholdInterval, ...]
    """One for each level; empty where no resample can be fitted."""
    confidence_level: float = 0.95
    """Of the intervals."""

    def to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        found.pop("confidence_level")
        return found

    def to_pandas(self):
        """A DataFrame of the thresholds: a row for each level, and one for the best single threshold."""
        import pandas

        parts = {str(at): level for at, level in enumerate(self.score_thresholds)}
        parts["single"] = self.single_threshold
        frame = pandas.DataFrame([dataclasses.asdict(part) for part in parts.values()], index=list(parts))
        return frame.astype(float).rename_axis("level")

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {_words.interval(getattr(self, name))}" for name in ("precision", "recall"))
        failed = f", {self.infeasible} infeasible" if self.infeasible else ""
        return f"<limen.Bootstrap: {self.replicates} resamples{failed}; {_words.percent(self.confidence_level)}: {figures}>"

    def _repr_html_(self) -> str:
        end = lambda value: "never" if value is None else f"{value:.6g}"  # noqa: E731
        lines = [
            (name, f"{end(part.low)} to {end(part.high)}", f"{part.never:.1%}")
            for name, part in [*enumerate(self.score_thresholds), ("one for all", self.single_threshold)]
        ]
        figures = []
        for name in ("precision", "recall", "flag_rate", "gain", "gain_left_out"):
            digits = "+.1%" if "gain" in name else ".4f"
            figures.append((name.replace("_", " "), _words.interval(getattr(self, name), digits)))
        decision = f"fitted again on {self.replicates} resamples of the hold-out"
        if self.recall is not None:
            decision += f", recall is {_words.interval(self.recall)}"
        notes = [f"Intervals hold {_words.percent(self.confidence_level)} of the resamples."]
        if self.infeasible:
            notes.append(f"{self.infeasible} of them had no boundary that meets the goal.")
        return _html.block(
            decision,
            _html.table(("level", "score threshold", "never flagged in"), lines),
            _html.table(("", "interval"), figures),
            notes=notes,
        )


def bootstrap(
    boundary: Boundary,
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    replicates: int = 200,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> Bootstrap:
    """The boundary's method and levels fitted again on resamples of its hold-out.

    Rows are drawn with replacement, as many of each class as there are; on counts, so that a million rows cost little
    more than a thousand. Levels stay as they are.

    Parameters
    ----------
    boundary : Boundary
    y, score, uncertainty : array-like of shape (n,)
        The hold-out that the boundary was fitted on.
    replicates : int
    confidence_level : float
        Of the percentile intervals.
    seed : int
    num_threads : int, optional

    Returns
    -------
    Bootstrap

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=20_000, test_rows=0, regions=2_000)
    >>> boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.6, levels=2)
    >>> found = limen.bootstrap(boundary, *data.holdout.columns, replicates=50)
    >>> len(found.score_thresholds)
    2
    >>> found.recall[0] < boundary.recall < found.recall[1]
    True
    """
    if not isinstance(boundary, Boundary):
        raise TypeError(f"boundary is a {type(boundary).__name__}, must be a limen.Boundary")
    found = _core.bootstrap(
        boundary._fitted,
        _inputs.table(y, score, uncertainty),
        _inputs.whole_number(replicates, "replicates"),
        float(confidence_level),
        _whole(seed, "seed", 0, 2**64),
        _inputs.threads(num_threads),
    )
    thresholds = tuple(ThresholdInterval(**level) for level in found.pop("score_thresholds"))
    single = ThresholdInterval(**found.pop("single_threshold"))
    return Bootstrap(
        **found, single_threshold=single, score_thresholds=thresholds, confidence_level=float(confidence_level)
    )


@dataclasses.dataclass(frozen=True)
class PairedDifference:
    """A figure of the first boundary, of the second, and whether they differ."""

    first: float
    second: float
    difference: float
    """first - second"""
    interval: tuple[float, float]
    p_value: float
    """Two-sided, of "they are the same in deployment"."""


@dataclasses.dataclass(frozen=True, repr=False)
class PairedComparison:
    """What :func:`limen.compare_boundaries` found. Rows of each kind come as (rows, positives)."""

    both: tuple[int, int]
    first_only: tuple[int, int]
    second_only: tuple[int, int]
    neither: tuple[int, int]
    recall: PairedDifference | None
    """None without positives."""
    precision: PairedDifference | None
    """None where either flags nothing."""
    false_positive_rate: PairedDifference | None
    """None without negatives."""
    verdict: str
    """One sentence: which is better in what, or that they cannot be told apart on these rows."""
    confidence_level: float = 0.95
    """Of the intervals."""

    def __repr__(self) -> str:
        rows = sum(part[0] for part in (self.both, self.first_only, self.second_only, self.neither))
        return f"<limen.PairedComparison: {self.verdict}; {_words.rows(rows)}>"

    def to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        found.pop("confidence_level")
        return found

    def to_pandas(self):
        """A DataFrame with a row for each figure."""
        import pandas

        records = {}
        for name in ("recall", "precision", "false_positive_rate"):
            figure = getattr(self, name)
            if figure is not None:
                record = dataclasses.asdict(figure)
                record["low"], record["high"] = record.pop("interval")
                records[name] = record
        return pandas.DataFrame.from_dict(records, orient="index")

    def _repr_html_(self) -> str:
        lines = []
        for name in ("recall", "precision", "false_positive_rate"):
            figure = getattr(self, name)
            if figure is not None:
                lines.append(
                    (
                        name.replace("_", " "),
                        _words.share(figure.first),
                        _words.share(figure.second),
                        f"{figure.difference:+.4f}",
                        _words.interval(figure.interval, "+.4f"),
                        f"{figure.p_value:.2g}",
                    )
                )
        header = ("", "first", "second", "difference", f"{_words.percent(self.confidence_level)} interval", "p")
        kinds = (("both", "flagged by both"), ("first_only", "first alone"), ("second_only", "second alone"))
        counts = [
            (text, *map(_words.count, getattr(self, name)))
            for name, text in (*kinds, ("neither", "flagged by neither"))
        ]
        return _html.block(self.verdict, _html.table(header, lines), _html.table(("", "rows", "positives"), counts))


def compare_boundaries(
    first: Boundary, second: Boundary, y: Any, score: Any, uncertainty: Any, *, confidence_level: float = 0.95
) -> PairedComparison:
    """Two boundaries on the same labelled rows: which is better, and is it more than chance?

    Recall and false-positive rate: McNemar's exact test. Precision: the score test of paired rows (Kosinski 2013).

    Parameters
    ----------
    first, second : Boundary
    y, score, uncertainty : array-like of shape (n,)
        Rows that neither was fitted on.
    confidence_level : float
        Of the intervals, and 1 - the level of the verdict.

    Returns
    -------
    PairedComparison

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> one = limen.fit_boundary(*data.holdout.columns, min_precision=0.6, method="st")
    >>> limen.compare_boundaries(one, one, *data.test.columns).verdict
    'first and second flag the same rows'
    """
    decisions = []
    for name, boundary in (("first", first), ("second", second)):
        if not isinstance(boundary, Boundary):
            raise TypeError(f"{name} is a {type(boundary).__name__}, must be a limen.Boundary")
        decisions.append(boundary.decide(score, uncertainty).view(np.uint8))
    label = _inputs.label_array(y)
    if len(label) != len(decisions[0]):
        raise ValueError(f"score has {len(decisions[0])} rows, y has {len(label)}")
    found = _core.compare_decisions(*decisions, label, float(confidence_level), "first", "second")
    for name in ("recall", "precision", "false_positive_rate"):
        if found[name] is not None:
            found[name] = PairedDifference(**found[name])
    return PairedComparison(**found, confidence_level=float(confidence_level))
