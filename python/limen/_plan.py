# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from limen import _core, _html, _inputs, _words
from limen._errors import InfeasibleError
from limen._fit import Number
from limen._studies import _whole
from limen._sweep import _list_of

_FIGURE = {"min_precision": "precision", "min_recall": "recall", "max_false_positive_rate": "false-positive rate"}
_TRIALS = {"min_precision": "flagged rows", "min_recall": "positives", "max_false_positive_rate": "negatives"}


@dataclasses.dataclass(frozen=True)
class PlannedTest:
    """An exact binomial test that is large enough to certify a promise."""

    trials: int
    """Rows it counts: flagged rows for precision, positives for recall, negatives for the false-positive rate."""
    successes: int
    """Fewest of them that must be right: true positives, or true negatives."""
    power: float
    """The chance of being certified, at exactly so many trials."""
    rows: int
    """Labelled rows in all."""
    interval: tuple[float, float]
    """Two-sided exact interval of the figure that such a test will give where it comes out as expected."""
    promise: str = ""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def to_pandas(self):
        """A Series."""
        import pandas

        return pandas.Series(self.to_dict())

    def _repr_html_(self) -> str:
        header = ("labelled rows", "rows tested", "right ones needed", "power", "interval")
        line = (
            _words.count(self.rows),
            _words.count(self.trials),
            _words.count(self.successes),
            f"{self.power:.1%}",
            _words.interval(self.interval),
        )
        decision = f"{self.promise}: label {_words.rows(self.rows)}"
        return _html.block(decision, _html.table(header, [line], text_columns=0))


@dataclasses.dataclass(frozen=True)
class PlannedThreshold:
    """A threshold on the score, with the figures it has on the rows of the plan."""

    threshold: float
    flag_rate: float
    precision: float
    recall: float
    false_positive_rate: float
    value: float
    """What the goal makes as large as possible: recall, or precision for a recall bound."""
    test: PlannedTest | None
    """What certifies it; None for the uncertified one."""


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """What :func:`limen.plan` found on labelled predictions."""

    promise: str
    value: str
    """What is made as large as possible: ``"recall"`` or ``"precision"``."""
    rows: int
    positives: int
    uncertified: PlannedThreshold
    """The threshold that just meets the bound on these rows, which is kept in deployment about half of the time."""
    cheapest: PlannedThreshold
    """The threshold that needs the fewest rows, however little it is worth."""
    reach: dict[int, PlannedThreshold | None]
    """By number of labelled rows: the threshold of the largest value that they certify, None where there is none."""
    within: dict[float, PlannedThreshold | None]
    """By the part of the uncertified value that is given up: the threshold that needs the fewest rows."""

    def __repr__(self) -> str:
        now = self.reach[self.rows]
        certified = "nothing" if now is None else f"{self.value} {now.value:.4g}"
        return (
            f"<limen.Plan: {self.promise}; {self.rows} rows certify {certified}, "
            f"uncertified {self.value} {self.uncertified.value:.4g}>"
        )

    def rows_within(self, loss: float) -> int | None:
        """The labelled rows needed to give up no more than this part; None: no number of rows will do."""
        found = self.within[loss]
        return None if found is None else found.test.rows

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, with the members of ``limen plan --json`` that do not only repeat its flags."""
        entry = lambda found: None if found is None else dataclasses.asdict(found)  # noqa: E731
        return {
            "promise": self.promise,
            "rows": self.rows,
            "positives": self.positives,
            "uncertified": entry(self.uncertified),
            "cheapest": entry(self.cheapest),
            "reach": [{"rows": rows, "certified": entry(found)} for rows, found in self.reach.items()],
            "within": [{"loss": loss, "certified": entry(found)} for loss, found in self.within.items()],
        }

    def to_pandas(self):
        """A DataFrame with a row for each number of labelled rows."""
        import pandas

        nan = float("nan")
        records = []
        for rows, found in self.reach.items():
            records.append(
                {
                    "rows": rows,
                    "threshold": nan if found is None else found.threshold,
                    "precision": nan if found is None else found.precision,
                    "recall": nan if found is None else found.recall,
                    "given_up": nan if found is None else 1 - found.value / self.uncertified.value,
                    "trials": nan if found is None else found.test.trials,
                    "interval_low": nan if found is None else found.test.interval[0],
                    "interval_high": nan if found is None else found.test.interval[1],
                }
            )
        return pandas.DataFrame(records)

    def _repr_html_(self) -> str:
        lines = []
        for count, found in self.reach.items():
            if found is None:
                lines.append((_words.count(count), "none", "", "", ""))
                continue
            lines.append(
                (
                    _words.count(count),
                    f"{found.value:.4f}",
                    f"{1 - found.value / self.uncertified.value:.1%}",
                    f"{found.threshold:.6g}",
                    _words.count(found.test.trials),
                )
            )
        one = self.uncertified
        lines.append(("(uncertified)", f"{one.value:.4f}", "", f"{one.threshold:.6g}", ""))
        header = ("labelled rows", f"certified {self.value}", "given up", "score at least", "rows tested")
        now = self.reach[self.rows]
        reached = "nothing" if now is None else f"{self.value} {now.value:.4f}"
        decision = f"{self.promise}: {_words.rows(self.rows)} certify {reached}; uncertified it is {self.value} {one.value:.4f}"
        notes = [
            _words.sentence(
                f"to give up at most {loss:.4g} of it: "
                + ("no number of rows will do" if found is None else _words.rows(found.test.rows))
            )
            for loss, found in self.within.items()
        ]
        return _html.block(decision, _html.table(header, lines), notes=notes)


def _threshold(found: dict[str, Any] | None) -> PlannedThreshold | None:
    if found is None:
        return None
    test = None if found["test"] is None else PlannedTest(**found["test"])
    return PlannedThreshold(**{**found, "test": test})


def _assumed(
    goal: str,
    expect_precision: float | None,
    expect_recall: float | None,
    expect_false_positive_rate: float | None,
    flag_rate: float | None,
    positive_rate: float | None,
) -> tuple[float, float]:
    """The expected figure, and how many of all rows the test counts."""

    def needed(value: float | None, name: str) -> float:
        if value is None:
            raise ValueError(f"plan: {goal} without y and score needs {name}")
        if not 0 <= float(value) <= 1:
            raise ValueError(f"plan: {name} is {value}, must be between 0 and 1")
        return float(value)

    if goal == "min_recall":
        return needed(expect_recall, "expect_recall"), needed(positive_rate, "positive_rate")
    if goal == "max_false_positive_rate":
        return needed(expect_false_positive_rate, "expect_false_positive_rate"), 1 - needed(
            positive_rate, "positive_rate"
        )
    expected = needed(expect_precision, "expect_precision")
    if flag_rate is not None:
        return expected, needed(flag_rate, "flag_rate")
    if expect_recall is None or positive_rate is None:
        raise ValueError(f"plan: {goal} without y and score needs flag_rate, or expect_recall with positive_rate")
    positives = needed(expect_recall, "expect_recall") * needed(positive_rate, "positive_rate")
    if positives > expected:
        raise ValueError("plan: this recall and precision would flag more rows than there are")
    return expected, positives / expected if expected > 0 else 0.0


def plan(
    y: Any = None,
    score: Any = None,
    *,
    min_precision: Number | None = None,
    min_recall: Number | None = None,
    max_false_positive_rate: Number | None = None,
    confidence_level: float = 0.95,
    power: float = 0.8,
    learning_share: float = 0.0,
    more_rows: int | Sequence[int] = 10_000,
    within: float | Sequence[float] = (0.05, 0.02, 0.01),
    expect_precision: float | None = None,
    expect_recall: float | None = None,
    expect_false_positive_rate: float | None = None,
    flag_rate: float | None = None,
    positive_rate: float | None = None,
    num_threads: int | None = None,
) -> Plan | PlannedTest:
    """How many labelled rows a promise needs, from predictions or from assumed figures.

    Parameters
    ----------
    y, score : array-like of shape (n,), optional
        Labelled predictions. Without them the figures below are assumed.
    min_precision, min_recall, max_false_positive_rate
        Exactly one promise.
    confidence_level : float
        Of the promise.
    power : float
        The chance of a certificate that is asked for.
    learning_share : float
        Of the labelled rows, those that learn the boundary and do not test. One threshold needs none.
    more_rows : int or list of int
        With predictions: labelled rows in addition to these.
    within : float or list of float
        With predictions: parts of the recall to give up, for which rows are counted.
    expect_precision, expect_recall, expect_false_positive_rate : float
        What the boundary will have: the figure that is promised; for precision also recall, in place of ``flag_rate``.
    flag_rate, positive_rate : float
        The fraction of rows that it will flag, and that are positive.
    num_threads : int, optional

    Returns
    -------
    Plan or PlannedTest
        From predictions, or from assumed figures.

    Raises
    ------
    InfeasibleError
        No number of rows will do: the figure is not better than the bound.

    Examples
    --------
    >>> import limen
    >>> test = limen.plan(min_precision=0.9, expect_precision=0.93, flag_rate=0.05)
    >>> test.trials, test.rows
    (593, 11860)
    """
    goal, goal_numbers = _inputs.goal(
        min_precision=min_precision, min_recall=min_recall, max_false_positive_rate=max_false_positive_rate
    )
    figure, trials = _FIGURE[goal], _TRIALS[goal]
    numerator, denominator = goal_numbers[0]
    bound = numerator / denominator
    relation = "<=" if goal == "max_false_positive_rate" else ">="
    promise = f"{figure} {relation} {bound:g} with confidence {confidence_level:g}"
    options = float(confidence_level), float(power), float(learning_share)
    if (y is None) != (score is None):
        raise ValueError("plan: y and score go together: give both, or neither")
    if y is None:
        expected, rate = _assumed(
            goal, expect_precision, expect_recall, expect_false_positive_rate, flag_rate, positive_rate
        )
        test = _core.plan_assumed(goal, goal_numbers, expected, rate, *options)
        if test is None:
            better = "below" if relation == "<=" else "above"
            raise InfeasibleError(
                f"the expected {figure} {expected:g} is not {better} the bound {bound:g}, or so near it that more than "
                f"10^12 {trials} are needed; no number of rows will do",
                expected,
            )
        return PlannedTest(**test, promise=promise)
    assumed = (expect_precision, expect_recall, expect_false_positive_rate, flag_rate, positive_rate)
    if any(value is not None for value in assumed):
        raise ValueError("plan: expected figures and rates are for plans without y and score")
    scores = _inputs.real_array(score, "score")
    found = _core.plan_table(
        (_inputs.label_array(y), scores, scores, None),
        goal,
        goal_numbers,
        [_whole(rows, "more_rows") for rows in _list_of(more_rows)],
        [float(loss) for loss in _list_of(within)],
        *options,
        _inputs.threads(num_threads),
    )
    if found["uncertified"] is None:
        raise InfeasibleError(
            f"no threshold has a {figure} {relation} {bound:g}; the best {figure} is {found['best_attainable']:.6g}",
            found["best_attainable"],
        )
    if found["cheapest"] is None:
        raise InfeasibleError(
            f"no threshold is better than the bound {bound:g} on these rows; no number of rows like them will do",
            found["best_attainable"],
        )
    return Plan(
        promise=promise,
        value="precision" if goal == "min_recall" else "recall",
        rows=found["rows"],
        positives=found["positives"],
        uncertified=_threshold(found["uncertified"]),
        cheapest=_threshold(found["cheapest"]),
        reach={rows: _threshold(entry) for rows, entry in found["reach"]},
        within={loss: _threshold(entry) for loss, entry in found["within"]},
    )
