# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from limen import _core, _html, _inputs, _words
from limen._boundary import Boundary, _write_whole


@dataclasses.dataclass(frozen=True)
class Moment:
    """A place among the rows that were counted: the number of the row, and its time as it was given."""

    row: int
    time: str | None


@dataclasses.dataclass(frozen=True)
class Break:
    """Since when a promise is broken (the most likely first row), when it was noticed, and the figure since then."""

    since: Moment
    noticed: Moment
    tested: int
    figure: float
    figure_before: float | None


@dataclasses.dataclass(frozen=True)
class Drift:
    """Whether shares of rows are those of a reference. ``drift`` is None, or which kind grew, since which row, to what."""

    has_reference: bool
    reference_rows: int
    reference_shares: list[float]
    rows: int
    shares: list[float]
    e_value: float
    drift: dict[str, Any] | None


@dataclasses.dataclass(frozen=True, repr=False)
class MonitorReport:
    """What a :class:`Monitor` can say so far.

    ``tested`` are the rows that bear on the constraint: flagged rows with a label for precision, positives for recall,
    negatives for the false-positive rate, all rows for the flag rate. ``figure`` is the constrained figure of these,
    ``figure_low`` and ``figure_high`` hold at all times at once with probability 1 - alpha. ``p_value`` is valid at all
    times. ``more_needed``: tested rows until the promise holds, if they just keep the bound.
    """

    verdict: str
    constraint: str
    bound: float
    alpha: float
    tolerance: float
    rows: int
    flagged: int
    labelled: int
    labelled_flagged: int
    uneven_labels: bool
    repeated: int
    tested: int
    figure: float | None
    figure_low: float
    figure_high: float
    e_value: float
    p_value: float
    more_needed: int | None
    broken: Break | None
    flag_rate: Drift
    levels: Drift

    def to_dict(self) -> dict[str, Any]:
        """The members of ``limen monitor --json``."""
        return dataclasses.asdict(self)

    def to_pandas(self):
        """A Series of the figures that are single numbers or texts."""
        import pandas

        found = self.to_dict()
        broken = found.pop("broken")
        found["broken_since_row"] = None if broken is None else broken["since"]["row"]
        found["broken_since_time"] = None if broken is None else broken["since"]["time"]
        for name in ("flag_rate", "levels"):
            found[f"{name}_drift"] = found.pop(name)["drift"] is not None
        return pandas.Series(found)

    @property
    def _figure(self) -> str:
        return f"{self.constraint.replace('_', ' ')} {'-' if self.figure is None else f'{self.figure:.4g}'}"

    def __repr__(self) -> str:
        return f"<limen.MonitorReport: {self.verdict}; {self._figure} in {self.tested} tested of {self.rows} rows>"

    def _repr_html_(self) -> str:
        relation = ">=" if self.constraint in ("precision", "recall") else "<="
        header = ("", "bound", "so far", f"at all times ({_words.percent(1 - self.alpha)})", "p", "tested", "rows")
        line = (
            self.constraint.replace("_", " "),
            f"{relation} {self.bound:g}",
            "-" if self.figure is None else f"{self.figure:.4f}",
            _words.interval((self.figure_low, self.figure_high)),
            f"{self.p_value:.3g}",
            _words.count(self.tested),
            _words.count(self.rows),
        )
        notes = [
            f"{_words.count(self.flagged)} flagged, {_words.count(self.labelled)} labelled, "
            f"{_words.count(self.labelled_flagged)} of them flagged."
        ]
        if self.uneven_labels:
            notes.append("Labels are not spread evenly over flagged and other rows.")
        if self.more_needed:
            notes.append(f"About {_words.count(self.more_needed)} tested rows more are needed.")
        for name, part in (("flag rate", self.flag_rate), ("shares of levels", self.levels)):
            if part.drift is not None:
                notes.append(f"Drift of the {name} since row {_words.count(part.drift['since']['row'])}.")
        decision = f"{self.verdict}: {line[0]} {line[1]}"
        if self.broken is not None:
            decision += f", broken since {self.broken.since.time or 'row ' + _words.count(self.broken.since.row)}"
        return _html.block(decision, _html.table(header, [line]), notes=notes)


def _report(text: str) -> MonitorReport:
    found = json.loads(text)
    if found["broken"] is not None:
        moments = {name: Moment(**found["broken"][name]) for name in ("since", "noticed")}
        found["broken"] = Break(**{**found["broken"], **moments})
    return MonitorReport(**{**found, "flag_rate": Drift(**found["flag_rate"]), "levels": Drift(**found["levels"])})


class Monitor:
    """Watches whether a deployed boundary keeps the bound it was fitted for. Anytime-valid.

    The verdict may be looked at after every row: a promise that is kept is called broken with a probability of at most
    alpha over all time.

    Parameters
    ----------
    boundary : Boundary
        With a bound on precision, recall, false-positive rate or flag rate.
    alpha : float
        Probability of a false alarm over all time.
    tolerance : float, optional
        The promise holds when the bound is surely missed by less than this. None: 0.05, or half of the bound if less.
    max_weight : float, optional
        The largest sample weight that can ever come; None: rows have no weights.
    remember : int
        Rows whose ids are remembered.

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(holdout_rows=50_000, test_rows=50_000, regions=5_000)
    >>> boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.6)
    >>> monitor = limen.Monitor(boundary)
    >>> y, score, uncertainty = data.test.columns
    >>> monitor.update(score, uncertainty, y)
    True
    >>> monitor.verdict
    'holds so far'
    >>> monitor.update(score, uncertainty, y * 0)  # every flag is wrong from here on
    True
    >>> monitor.verdict, 50_000 < monitor.report.broken.since.row < 50_200
    ('broken', True)
    """

    __slots__ = ("_boundary", "_monitor")

    def __init__(
        self,
        boundary: Boundary,
        *,
        alpha: float = 0.05,
        tolerance: float | None = None,
        max_weight: float | None = None,
        remember: int = 100_000,
    ) -> None:
        self._boundary = _checked(boundary)
        self._monitor = _core.Monitor(
            boundary._fitted,
            float(alpha),
            None if tolerance is None else float(tolerance),
            None if max_weight is None else float(max_weight),
            _inputs.whole_number(remember, "remember"),
        )

    def add_reference(self, score: Any, uncertainty: Any) -> None:
        """Rows to compare flag rate and level shares with, before the first update; the hold-out, as a rule.

        Without them the flag rate is compared with that of the boundary's hold-out and level shares with those of the
        first 10,000 rows.
        """
        self._monitor.add_reference(_inputs.real_array(score, "score"), _inputs.real_array(uncertainty, "uncertainty"))

    def update(
        self,
        score: Any,
        uncertainty: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        id: Any = None,
        time: Any = None,
        once: bool = False,
    ) -> bool:
        """Counts rows of deployment, in the order of arrival.

        Parameters
        ----------
        score, uncertainty : array-like of shape (n,)
        y : array-like of shape (n,), optional
            Labels 0 and 1; None and nan: not known, now or ever. Leave it out where none is.
        sample_weight : array-like of shape (n,), optional
            With ``max_weight`` only.
        id : array-like of shape (n,), optional
            Numbers or texts by which rows are known that come again, with their labels. A row counts once, its label once.
        time : array-like of shape (n,), optional
            Numbers or texts, for ``report.broken.since.time``.
        once : bool
            Do nothing when the very same rows were counted before by a call with ``once``.

        Returns
        -------
        bool
            Whether the rows were counted.
        """
        return self._monitor.update(
            _inputs.real_array(score, "score"),
            _inputs.real_array(uncertainty, "uncertainty"),
            None if y is None else _inputs.partial_label_array(y),
            None if sample_weight is None else _inputs.double_array(sample_weight, "sample_weight"),
            None if id is None else _inputs.id_column(id, "id"),
            None if time is None else _inputs.key_column(time, "time"),
            bool(once),
        )

    @property
    def boundary(self) -> Boundary:
        """The boundary that is watched."""
        return self._boundary

    @property
    def report(self) -> MonitorReport:
        """Everything that can be said so far."""
        return _report(self._monitor.report())

    @property
    def verdict(self) -> str:
        """``"holds so far"``, ``"broken"`` (and stays so) or ``"not enough yet"``."""
        return self.report.verdict

    def to_json(self) -> str:
        """The state, to go on later; the same as of ``limen monitor --state``. Its size does not grow with the rows."""
        return self._monitor.to_json()

    @classmethod
    def from_json(cls, text: str | bytes, boundary: Boundary) -> Monitor:
        """Reads what :meth:`to_json` writes. ValueError where it is damaged or of another boundary."""
        if isinstance(text, (bytes, bytearray)):
            text = bytes(text).decode("utf-8", "replace")
        monitor = object.__new__(cls)
        monitor._boundary = _checked(boundary)
        monitor._monitor = _core.Monitor.from_json(text, boundary._fitted)
        return monitor

    def save(self, path: str | os.PathLike) -> None:
        """Writes the state, whole or not at all."""
        _write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike, boundary: Boundary) -> Monitor:
        """Reads a state, of this package or of the program."""
        with open(path, "rb") as file:
            text = file.read()
        try:
            return cls.from_json(text, boundary)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {str(error).removeprefix('monitor state: ')}") from None

    def __reduce__(self):
        return type(self).from_json, (self.to_json(), self._boundary)

    def __repr__(self) -> str:
        return repr(self.report).replace("MonitorReport", "Monitor", 1)

    def to_pandas(self):
        """As :meth:`MonitorReport.to_pandas`."""
        return self.report.to_pandas()

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def _checked(boundary: Any) -> Boundary:
    if not isinstance(boundary, Boundary):
        raise TypeError(f"boundary is a {type(boundary).__name__}, must be a limen.Boundary")
    return boundary
