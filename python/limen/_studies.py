# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from limen import _core, _inputs
from limen._boundary import _count
from limen._fit import Number


def _plain(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


@dataclasses.dataclass(frozen=True)
class Trial:
    """One method at one bound on one pair of tables."""

    method: str  # what "auto" chose, or the summary's own
    status: str  # "optimal", "feasible" or "infeasible"
    gap: float
    holdout_flagged: float
    holdout_true_positives: float
    holdout_precision: float
    holdout_recall: float
    test_flagged: float
    test_true_positives: float
    test_precision: float
    test_precision_interval: tuple[float, float]  # exact (Clopper-Pearson), 95%
    test_recall: float
    test_recall_interval: tuple[float, float]
    matched_recall: float

    def to_dict(self) -> dict[str, Any]:
        return _plain(self)


@dataclasses.dataclass(frozen=True)
class MethodSummary:
    """One method at one precision bound, as means over the pairs.

    ``matched_recall`` is the recall on test at a test precision equal to the bound, along the order that the method
    learned on the hold-out; ``missed`` counts the pairs whose test precision is below the bound. P-values are of one-sided paired t-tests against ``st``; None with fewer than two pairs, for
    ``st`` itself, or without ``st``.
    """

    method: str
    bound: float
    holdout_precision: float
    holdout_recall: float
    test_precision: float
    test_recall: float
    test_recall_sd: float
    matched_recall: float
    matched_recall_sd: float
    missed: int
    p_value_recall: float | None
    p_value_matched: float | None
    trials: tuple[Trial, ...]

    def to_dict(self) -> dict[str, Any]:
        """The members of an entry of ``limen compare --json``."""
        return {**_plain(self), "trials": [trial.to_dict() for trial in self.trials]}


@dataclasses.dataclass(frozen=True)
class Comparison(Sequence[MethodSummary]):
    """What :func:`limen.compare` found: bounds in order, and in each the methods."""

    summaries: tuple[MethodSummary, ...]

    def __len__(self) -> int:
        return len(self.summaries)

    def __getitem__(self, at):
        return self.summaries[at]

    def __iter__(self) -> Iterator[MethodSummary]:
        return iter(self.summaries)

    def get(self, method: str, bound: float | None = None) -> MethodSummary:
        """The summary of a method, at a bound if there are several."""
        for summary in self.summaries:
            if summary.method == method and (bound is None or summary.bound == float(bound)):
                return summary
        raise KeyError(method if bound is None else (method, bound))

    def to_dict(self) -> dict[str, Any]:
        """``{"summaries": [...]}``: the entries of ``limen compare --json``."""
        return {"summaries": [summary.to_dict() for summary in self.summaries]}

    def to_pandas(self):
        """A DataFrame with a row for each bound and method, without the single trials."""
        import pandas

        records = [summary.to_dict() for summary in self.summaries]
        for record, summary in zip(records, self.summaries, strict=False):
            record.pop("trials")
            record["gap"] = max(trial.gap for trial in summary.trials)
            record["feasible"] = all(trial.status != "infeasible" for trial in summary.trials)
        return pandas.DataFrame(records)


def _tables(tables: Any, name: str) -> list[_inputs.Table]:
    """One table or a list of them; a table is (y, score, uncertainty) or has a weight as the fourth."""
    if isinstance(tables, SimulatedTable):
        tables = [tables]
    if isinstance(tables, tuple) and not (tables and isinstance(tables[0], (tuple, SimulatedTable))):
        tables = [tables]
    result = []
    for at, table in enumerate(tables):
        if isinstance(table, SimulatedTable):
            table = table.columns
        try:
            parts = tuple(table)
        except TypeError:
            parts = ()
        if len(parts) not in (3, 4):
            raise ValueError(f"{name}[{at}] has {len(parts)} parts, must be (y, score, uncertainty[, sample_weight])")
        try:
            result.append(_inputs.table(*parts))
        except ValueError as error:
            raise ValueError(f"{name}[{at}]: {error}") from None
    return result


def compare(
    holdout: Any,
    test: Any,
    *,
    min_precision: Number | Sequence[Number],
    methods: Sequence[str] | None = None,
    levels: int | None = None,
    bins: int | str | None = None,
    binning: str = "equi-weight",
    levels_from: str = "top",
    num_threads: int | None = None,
) -> Comparison:
    """All methods at several precision bounds: fitted on hold-outs, judged on test tables.

    Parameters
    ----------
    holdout, test : tuple or list of tuples
        ``(y, score, uncertainty)`` or ``(y, score, uncertainty, sample_weight)``; as a list, one for each pair.
    min_precision : number or list of numbers
        The bounds.
    methods : list of str, optional
        None: all; with weights all but ``vw-dpmt``, which takes none.
    levels, bins, binning, levels_from, num_threads
        As for :func:`limen.fit_boundary`; ``st`` always uses every distinct score, and ``auto`` chooses for itself.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=20_000, test_rows=20_000, regions=2_000)
    >>> found = limen.compare(data.holdout, data.test, min_precision=[0.5, 0.6], methods=["st", "exact"])
    >>> [(summary.method, summary.bound) for summary in found]
    [('st', 0.5), ('exact', 0.5), ('st', 0.6), ('exact', 0.6)]
    >>> found.get("exact", 0.5).holdout_recall >= found.get("st", 0.5).holdout_recall
    True
    """
    holdouts, tests = _tables(holdout, "holdout"), _tables(test, "test")
    if len(holdouts) != len(tests):
        raise ValueError(f"{len(holdouts)} hold-outs and {len(tests)} test tables: they go in pairs")
    if isinstance(methods, str):
        methods = [methods]
    found = _core.compare(
        list(zip(holdouts, tests, strict=False)),
        _inputs.bounds(min_precision, "min_precision"),
        None if methods is None else [_inputs.text(name, "methods") for name in dict.fromkeys(methods)],
        None if levels is None else _inputs.whole_number(levels, "levels"),
        _inputs.bins_of(bins),
        _inputs.text(binning, "binning"),
        _inputs.text(levels_from, "levels_from"),
        _inputs.threads(num_threads),
    )
    summaries = []
    for entry in found:
        trials = tuple(Trial(**trial) for trial in entry.pop("trials"))
        summaries.append(MethodSummary(**entry, trials=trials))
    return Comparison(tuple(summaries))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FrontierCurve:
    """Points of a precision-recall frontier, from the fewest flagged rows to the most, column by column."""

    flagged: np.ndarray
    true_positives: np.ndarray
    precision: np.ndarray
    recall: np.ndarray

    def __len__(self) -> int:
        return len(self.precision)

    def __repr__(self) -> str:
        if len(self) == 0:
            return "<limen.FrontierCurve: no points>"
        points = f"{len(self)} point" + ("" if len(self) == 1 else "s")
        return (
            f"<limen.FrontierCurve: {points}, precision {self.precision.min():.4g} to {self.precision.max():.4g}, "
            f"recall {self.recall.min():.4g} to {self.recall.max():.4g}>"
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: values.tolist() for name, values in _plain(self).items()}


@dataclasses.dataclass(frozen=True)
class ExactPoint:
    """The exact optimum at a precision bound; where it is not feasible, counts and recall are 0."""

    bound: float
    feasible: bool
    flagged: float
    true_positives: float
    precision: float
    recall: float
    recall_interval: tuple[float, float] | None = None
    """With this and the next two: percentiles over resamples, where ``bootstrap`` was given."""
    st_recall_interval: tuple[float, float] | None = None
    gain_interval: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        return _plain(self)


@dataclasses.dataclass(frozen=True, eq=False)
class Frontier:
    """What :func:`limen.frontier` found.

    ``hull``: boundaries in two dimensions; ``st``: single thresholds; ``exact``: the optimum at each bound asked for.
    """

    hull: FrontierCurve
    st: FrontierCurve
    exact: tuple[ExactPoint, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "hull": self.hull.to_dict(),
            "st": self.st.to_dict(),
            "exact": [point.to_dict() for point in self.exact],
        }

    def to_pandas(self):
        """A DataFrame with the columns of ``limen frontier -o``."""
        import pandas

        frames = []
        for family, curve in (("hull", self.hull), ("st", self.st)):
            frame = pandas.DataFrame(_plain(curve))
            frame.insert(0, "family", family)
            frames.append(frame)
        exact = [point.to_dict() for point in self.exact if point.feasible]
        if exact:
            frame = pandas.DataFrame(exact)[list(frames[0].columns[1:])]
            frame.insert(0, "family", "exact")
            frames.append(frame)
        return pandas.concat(frames, ignore_index=True)


def frontier(
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    min_precision: Number | Sequence[Number] = (),
    levels: int = 3,
    bins: int | str | None = "all",
    binning: str = "equi-weight",
    sample_weight: Any = None,
    bootstrap: int = 0,
    confidence_level: float = 0.95,
    seed: int = 0,
    num_threads: int | None = None,
) -> Frontier:
    """The whole precision-recall frontier: two-dimensional boundaries beside single thresholds.

    Parameters
    ----------
    y, score, uncertainty : array-like of shape (n,)
    min_precision : number or list of numbers
        Bounds at which the exact optimum is added; the hull has no point at most bounds.
    levels, bins, binning, sample_weight, num_threads
        As for :func:`limen.fit_boundary`; bins are all distinct scores unless given.
    bootstrap : int
        Resamples of the rows, by class, for bands of recall and gain at each of ``min_precision``; 0: none.
    confidence_level, seed
        Of the bands and of the resamples.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import limen
    >>> y = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> score = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6]
    >>> uncertainty = [0.1, 0.8, 0.1, 0.9, 0.2, 0.7, 0.2, 0.8]
    >>> found = limen.frontier(y, score, uncertainty, min_precision=0.9, levels=2)
    >>> found.st.recall
    array([0.5 , 0.75, 1.  ])
    >>> found.exact[0].recall
    1.0
    """
    found = _core.frontier(
        _inputs.table(y, score, uncertainty, sample_weight),
        _inputs.bounds(min_precision, "min_precision"),
        _inputs.whole_number(levels, "levels"),
        _inputs.bins_of(bins),
        _inputs.text(binning, "binning"),
        _inputs.threads(num_threads),
    )
    bands: list[dict[str, Any]] = [{} for _ in found["exact"]]
    if _inputs.whole_number(bootstrap, "bootstrap") != 0:
        bands = _core.frontier_bands(
            _inputs.table(y, score, uncertainty, sample_weight),
            _inputs.bounds(min_precision, "min_precision"),
            _inputs.whole_number(levels, "levels"),
            _inputs.text(binning, "binning"),
            _inputs.whole_number(bootstrap, "bootstrap"),
            float(confidence_level),
            _whole(seed, "seed", 0, 2**64),
            _inputs.threads(num_threads),
        )
    return Frontier(
        FrontierCurve(**found["hull"]),
        FrontierCurve(**found["st"]),
        tuple(
            ExactPoint(
                **{**point, "flagged": _count(point["flagged"]), "true_positives": _count(point["true_positives"])},
                **band,
            )
            for point, band in zip(found["exact"], bands, strict=True)
        ),
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SimulatedTable:
    """Labelled rows of the paper's generation process, with the model's score and uncertainty."""

    y: np.ndarray
    score: np.ndarray
    uncertainty: np.ndarray
    region: np.ndarray
    true_positivity: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"<limen.SimulatedTable: {len(self)} rows, {int(self.y.sum())} positives>"

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(y, score, uncertainty)``: what :func:`limen.fit_boundary` and others take."""
        return self.y, self.score, self.uncertainty

    def to_dict(self) -> dict[str, np.ndarray]:
        return _plain(self)

    def to_pandas(self):
        """A DataFrame with the columns that ``limen simulate`` writes."""
        import pandas

        return pandas.DataFrame(
            {
                "score": self.score,
                "uncertainty": self.uncertainty,
                "label": self.y,
                "region": [f"r{region}" for region in self.region],
                "true_positivity": self.true_positivity,
            }
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Simulation:
    """A hold-out and a test table of the same regions."""

    holdout: SimulatedTable
    test: SimulatedTable


def _whole(value: Any, name: str, low: int = -(2**63), end: int = 2**63) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be a whole number") from None
    if not low <= number < end:
        raise ValueError(f"{name} is {number}, which is too {'small' if number < low else 'large'}")
    return number


def _pair(values: Any, name: str) -> tuple[float, float]:
    try:
        positive, negative = values
        return float(positive), float(negative)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {values!r}, must be two numbers") from None


def simulate(
    *,
    prior: tuple[float, float] = (1, 3),
    model_prior: tuple[float, float] = (1, 1),
    tau: float = 3,
    regions: int = 20_000,
    evidence_scale: float = 8,
    evidence_tail: float = 0.4,
    evidence_limit: int = 10_000,
    holdout_rows: int = 200_000,
    test_rows: int = 200_000,
    seed: int = 0,
) -> Simulation:
    """Make data by the paper's generation process, with an ideal Bayesian model.

    Parameters
    ----------
    prior, model_prior : (float, float)
        True prior Beta of a region's positivity, and the model's.
    tau : float
        Negatives in training are kept at rate 1 / tau.
    regions : int
        Regions of the input space.
    evidence_scale, evidence_tail, evidence_limit
        Smallest value, tail exponent and largest value of the Pareto law of a region's training rows.
    holdout_rows, test_rows : int
    seed : int
        The same seed gives the same rows, those of ``limen simulate``.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=1_000, test_rows=0, seed=1)
    >>> len(data.holdout), len(data.test)
    (1000, 0)
    """
    found = _core.simulate(
        prior=_pair(prior, "prior"),
        model_prior=_pair(model_prior, "model_prior"),
        tau=float(tau),
        regions=_whole(regions, "regions"),
        evidence_scale=float(evidence_scale),
        evidence_tail=float(evidence_tail),
        evidence_limit=_whole(evidence_limit, "evidence_limit"),
        holdout_rows=_whole(holdout_rows, "holdout_rows"),
        test_rows=_whole(test_rows, "test_rows"),
        seed=_whole(seed, "seed", 0, 2**64),
    )
    return Simulation(SimulatedTable(**found["holdout"]), SimulatedTable(**found["test"]))
