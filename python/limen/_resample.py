# SPDX-License-Identifier: MIT
"""How far a fit moves by the draw of rows, and which of two boundaries is better on the same rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from limen import _core, _inputs
from limen._boundary import Boundary
from limen._plan import _html_table
from limen._studies import _whole


@dataclasses.dataclass(frozen=True)
class ThresholdInterval:
    """Where the threshold of a level lies. An end that is None: no row of the level is flagged."""

    low: float | None
    high: float | None
    never: float
    """The share of resamples in which no row of the level is flagged."""


@dataclasses.dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def to_pandas(self):
        """A DataFrame of the thresholds: a row for each level, and one for the best single threshold."""
        import pandas

        parts = {str(at): level for at, level in enumerate(self.score_thresholds)}
        parts["single"] = self.single_threshold
        frame = pandas.DataFrame([dataclasses.asdict(part) for part in parts.values()], index=list(parts))
        return frame.astype(float).rename_axis("level")

    def _repr_html_(self) -> str:
        end = lambda value: "never" if value is None else f"{value:.6g}"  # noqa: E731
        rows = [["level", "score threshold", "never flagged in"]]
        for name, part in [*enumerate(self.score_thresholds), ("one for all", self.single_threshold)]:
            rows.append([str(name), f"{end(part.low)} to {end(part.high)}", f"{part.never:.1%}"])
        return _html_table(rows, f"fitted again on {self.replicates} resamples of the hold-out")


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
    return Bootstrap(**found, single_threshold=single, score_thresholds=thresholds)


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


@dataclasses.dataclass(frozen=True)
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

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

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
        rows = [["", "first", "second", "difference", "interval", "p"]]
        for name in ("recall", "precision", "false_positive_rate"):
            figure = getattr(self, name)
            if figure is not None:
                low, high = figure.interval
                rows.append(
                    [
                        name.replace("_", " "),
                        f"{figure.first:.4f}",
                        f"{figure.second:.4f}",
                        f"{figure.difference:+.4f}",
                        f"{low:+.4f} to {high:+.4f}",
                        f"{figure.p_value:.2g}",
                    ]
                )
        return _html_table(rows, self.verdict)


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
    return PairedComparison(**found)
