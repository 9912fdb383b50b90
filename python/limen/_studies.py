# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words
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

    def to_pandas(self):
        """A DataFrame with a row for each pair of tables."""
        import pandas

        return pandas.DataFrame([trial.to_dict() for trial in self.trials])

    @property
    def infeasible(self) -> int:
        """The pairs on which the method finds no boundary."""
        return sum(trial.status == "infeasible" for trial in self.trials)

    @property
    def _name(self) -> str:
        chosen = {trial.method for trial in self.trials}
        if self.method == "auto" and len(chosen) == 1:
            return f"{_words.method(*chosen)}, chosen by auto"
        return _words.method(self.method)


@dataclasses.dataclass(frozen=True, repr=False)
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
            record["feasible"] = summary.infeasible == 0
        return pandas.DataFrame(records)

    def _by_bound(self) -> dict[float, list[MethodSummary]]:
        found: dict[float, list[MethodSummary]] = {}
        for summary in self.summaries:
            found.setdefault(summary.bound, []).append(summary)
        return found

    def __repr__(self) -> str:
        bounds = ", ".join(f"{bound:g}" for bound in self._by_bound())
        methods = ", ".join(dict.fromkeys(summary.method for summary in self.summaries))
        pairs = len(self.summaries[0].trials) if self.summaries else 0
        return (
            f"<limen.Comparison: {methods} at precision >= {bounds}; {_words.many(pairs, 'pair')} of hold-out and test>"
        )

    def _best(self, bound: float) -> str:
        """Which method has the most recall on test at a test precision equal to the bound."""
        summaries = [summary for summary in self._by_bound()[bound] if summary.infeasible < len(summary.trials)]
        if not summaries:
            return f"no method reaches precision {bound:g} on the hold-out"
        best = max(summaries, key=lambda summary: summary.matched_recall)
        text = f"at precision {bound:g} the most recall on test has {best._name}: {_words.share(best.matched_recall)}"
        single = next((summary for summary in summaries if summary.method == "st"), None)
        if single is not None and best is not single and single.matched_recall > 0:
            text += f" ({best.matched_recall / single.matched_recall - 1:+.1%} over one threshold)"
        return text

    def _repr_html_(self) -> str:
        def over_pairs(summary: MethodSummary, name: str) -> Any:
            value = getattr(summary, name)
            if len(summary.trials) == 1:
                return _html.figure(value, getattr(summary.trials[0], f"{name}_interval", None))
            spread = getattr(summary, f"{name}_sd", None)
            return _html.Cell(_words.share(value), "" if spread is None else f"sd {spread:.4f}")

        parts, notes = [], []
        pairs = len(self.summaries[0].trials) if self.summaries else 0
        header = [
            "method",
            "hold-out precision",
            "recall",
            "test precision",
            "test recall",
            "recall at equal precision",
        ]
        header += ["missed"] if pairs > 1 else []
        for bound, summaries in self._by_bound().items():
            lines: list[list[Any]] = []
            best = max(summary.matched_recall for summary in summaries)
            for summary in summaries:
                if summary.infeasible == pairs:
                    lines.append([summary._name, "infeasible", *["-"] * (len(header) - 2)])
                    continue
                matched = over_pairs(summary, "matched_recall")
                matched.bold = summary.matched_recall == best > 0
                name = summary._name + (f", infeasible on {summary.infeasible}" if summary.infeasible else "")
                lines.append(
                    [
                        name,
                        _words.share(summary.holdout_precision),
                        _words.share(summary.holdout_recall),
                        over_pairs(summary, "test_precision"),
                        over_pairs(summary, "test_recall"),
                        matched,
                        *([f"{summary.missed} of {pairs}"] if pairs > 1 else []),
                    ]
                )
            parts.append(_html.table(header, lines, f"most recall with precision >= {bound:g}"))
        if pairs == 1:
            notes.append("In brackets: exact (Clopper-Pearson) 95% intervals on test.")
        elif pairs:
            notes.append(f"Means and standard deviations over {pairs} pairs; missed: test precision below the bound.")
        notes.append("Recall at equal precision: on test, where its precision is just the bound.")
        if max(map(len, self._by_bound().values()), default=0) > 2:
            notes.append("The best of several methods on the same test rows is best partly by luck.")
        decision = "; ".join(self._best(bound) for bound in self._by_bound())
        return _html.block(decision or "nothing was compared", *parts, notes=notes)


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

    def to_pandas(self):
        """A DataFrame with a row for each point."""
        import pandas

        return pandas.DataFrame(_plain(self))


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


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """What :func:`limen.frontier` found.

    ``hull``: boundaries in two dimensions; ``st``: single thresholds; ``exact``: the optimum at each bound asked for.
    """

    hull: FrontierCurve
    st: FrontierCurve
    exact: tuple[ExactPoint, ...]
    levels: int = 3
    """As asked for."""
    rows: int = 0
    confidence_level: float | None = None
    """Of the intervals of ``exact``; None: there are none."""

    def st_recall(self, bounds: Any) -> np.ndarray:
        """The highest recall of one threshold whose precision is at least each bound; nan where it is not reached."""
        order = np.argsort(self.st.precision, kind="stable")
        precision, recall = self.st.precision[order], self.st.recall[order]
        best = np.maximum.accumulate(recall[::-1])[::-1]
        at = np.searchsorted(precision, np.asarray(bounds, dtype=np.float64), side="left")
        return np.where(at < len(best), np.append(best, np.nan)[np.minimum(at, len(best))], np.nan)

    def __repr__(self) -> str:
        bounds = ", ".join(f"{point.bound:g}" for point in self.exact[:5]) + (", ..." if len(self.exact) > 5 else "")
        exact = f"; exact at precision {bounds}" if self.exact else ""
        return (
            f"<limen.Frontier: {_words.many(self.levels, 'level')}, {_words.rows(self.rows)}; "
            f"{len(self.hull)} points of boundaries, {len(self.st)} of one threshold{exact}>"
        )

    def _repr_html_(self) -> str:
        lines: list[list[Any]] = []
        singles = self.st_recall([point.bound for point in self.exact])
        gained = None
        for point, single in zip(self.exact, singles, strict=True):
            one = _html.figure(single, point.st_recall_interval)
            if not point.feasible:
                lines.append([f">= {point.bound:g}", "infeasible", "-", "-", "-", one, "-"])
                continue
            gain = point.recall / single - 1 if single > 0 else float("nan")
            if gain == gain and (gained is None or point.recall - single > gained[0]):
                gained = point.recall - single, point, single
            lines.append(
                [
                    f">= {point.bound:g}",
                    _words.count(point.flagged),
                    _words.count(point.true_positives),
                    _words.share(point.precision),
                    _html.figure(point.recall, point.recall_interval),
                    one,
                    _html.figure(gain, point.gain_interval, "+.1%"),
                ]
            )
        decision = f"{_words.many(len(self.hull), 'point')} of boundaries, {len(self.st)} of one threshold"
        if gained is not None:
            _, point, single = gained
            decision = (
                f"at precision >= {point.bound:g}, {_words.many(self.levels, 'level')} reach recall "
                f"{_words.share(point.recall)}, one threshold {_words.share(single)}"
            )
        header = ("precision", "flagged", "true positives", "precision reached", "recall", "one threshold", "gain")
        notes = [f"On {_words.rows(self.rows)}, in-sample: fitted and counted on the same rows."]
        if self.confidence_level is not None:
            notes.append(f"In brackets: {_words.percent(self.confidence_level)} of resamples.")
        return _html.block(decision, *([_html.table(header, lines)] if lines else []), notes=notes)

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
    table = _inputs.table(y, score, uncertainty, sample_weight)
    found = _core.frontier(
        table,
        _inputs.bounds(min_precision, "min_precision"),
        _inputs.whole_number(levels, "levels"),
        _inputs.bins_of(bins),
        _inputs.text(binning, "binning"),
        _inputs.threads(num_threads),
    )
    bands: list[dict[str, Any]] = [{} for _ in found["exact"]]
    if _inputs.whole_number(bootstrap, "bootstrap") != 0:
        bands = _core.frontier_bands(
            table,
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
        levels=levels,
        rows=len(table[0]),
        confidence_level=float(confidence_level) if any(bands) else None,
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

    def to_pandas(self):
        """A DataFrame of both, told apart by its column ``part``."""
        import pandas

        frames = []
        for part in ("holdout", "test"):
            frame = getattr(self, part).to_pandas()
            frame.insert(0, "part", part)
            frames.append(frame)
        return pandas.concat(frames, ignore_index=True)


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
