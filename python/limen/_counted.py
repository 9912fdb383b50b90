# SPDX-License-Identifier: MIT
"""Fits of rows that are counted where they are: what limen.sql and limen.spark share."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from limen import _core, _inputs
from limen._boundary import Boundary
from limen._errors import InfeasibleError, NotCertifiableError
from limen._fit import _plural, _seed

Cells = Iterable[tuple[int, int, int, int, float, float]]


@dataclasses.dataclass(frozen=True)
class Overview:
    """What the first pass over the rows says. ``rows`` and all behind it: of the rows that are complete."""

    all_rows: int
    wrong_labels: int
    rows: int
    positives: int
    least_score: float
    greatest_score: float
    least_uncertainty: float
    greatest_uncertainty: float

    @classmethod
    def of(cls, values: Iterable[Any]) -> Overview:
        """From a row of an engine: counts may be None, decimal or float where there are no rows."""
        values = list(values)
        return cls(*(int(value or 0) for value in values[:4]), *(float(value or 0) for value in values[4:]))

    def checked(self, drop_missing: bool) -> tuple[int, int, float, float, float, float]:
        if self.wrong_labels > 0:
            raise ValueError(
                f"{_plural(self.wrong_labels, 'label')} of {_plural(self.all_rows, 'row')} are neither 0 nor 1 (nor true, "
                "false, yes, no): name the positive one with positive="
            )
        missing = self.all_rows - self.rows
        if missing > 0 and not drop_missing:
            raise ValueError(
                f"{_plural(missing, 'row')} of {self.all_rows:,} have a missing or infinite score or uncertainty, or no "
                "label; leave them out with drop_missing=True"
            )
        return dataclasses.astuple(self)[2:]


def fit(
    overview: tuple[int, int, float, float, float, float],
    count: Callable[[_core.CountQuery], Cells],
    *,
    goal: dict[str, Any],
    method: str,
    levels: int | None,
    levels_from: str,
    confidence_level: float | None,
    random_state: int,
) -> Boundary:
    name, numbers = _inputs.goal(**goal)
    method = _inputs.text(method, "method")
    levels = None if levels is None else _inputs.whole_number(levels, "levels")
    if method == "auto" and levels is not None:
        method = "exact"
    levels_from = _inputs.text(levels_from, "levels_from")
    described = _core.describe_objective(name, numbers)
    if confidence_level is None:
        found, best, used = _core.fit_counted(overview, count, name, numbers, method, levels, levels_from, 0)
        if found is None:
            best = best or 0.0
            raise InfeasibleError(
                f"infeasible: {described} cannot be met by {method} on {_plural(used, 'level')} and every distinct score; "
                f"a precision of {best:.6g} is attained",
                best,
            )
        if levels is not None and used < levels and method != "st":
            warnings.warn(
                f"uncertainty has too many equal values for {levels} levels; {used} used", UserWarning, stacklevel=3
            )
        return Boundary._of(found)
    confidence = float(confidence_level)
    seed = _seed(random_state)
    found, report = _core.certify_counted(
        overview, count, name, numbers, method, levels, levels_from, confidence, seed, 0
    )
    if found is None:
        attainable, needed = report["attainable"], report["rows_needed"]
        nearest = "" if attainable is None else f"; they come nearest to a bound of {attainable:.4g}"
        more = "" if needed is None else f"; about {needed:,} labelled rows would be needed, {overview[0]:,} are there"
        raise NotCertifiableError(
            f"cannot be certified: {described} with confidence {confidence:g}, by {report['method']} on "
            f"{report['tested_rows']:,} tested rows{nearest}{more}",
            float("nan") if attainable is None else attainable,
            needed,
        )
    return Boundary._of(found)


def goals(**given: Any) -> dict[str, Any]:
    """All goals by name, None where one is not given."""
    names = ("min_precision", "min_recall", "max_false_positive_rate", "max_flag_rate", "cost", "f_beta")
    unknown = set(given) - set(names)
    if unknown:
        raise TypeError(f"unexpected argument {sorted(unknown)[0]!r}; goals are {', '.join(names)}")
    return {name: given.get(name) for name in names}


def plain_rule(boundary: Any, what: str) -> Boundary:
    if not isinstance(boundary, Boundary):
        raise TypeError(f"boundary is a {type(boundary).__name__}, must be a limen.Boundary")
    if boundary.segments is not None:
        raise ValueError(f"{what} is for boundaries without segments")
    return boundary
