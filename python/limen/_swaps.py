# SPDX-License-Identifier: MIT
"""What a new boundary takes in and leaves out against an old one, and how those rows differ from rows of equal score."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words
from limen._boundary import Boundary


@dataclasses.dataclass(frozen=True)
class SwapSet:
    """Rows and, where labels are known, the positives among them."""

    rows: int
    positives: int | None
    positivity: float | None
    """None without rows or labels."""
    interval: tuple[float, float] | None
    """Exact (Clopper-Pearson) interval of the positivity."""


@dataclasses.dataclass(frozen=True)
class SwapLevel:
    """A level between neighbouring edges of both boundaries. A threshold that is None: nothing is flagged there."""

    lower_edge: float | None
    first_threshold: float | None
    second_threshold: float | None
    all: SwapSet
    taken_in: SwapSet
    left_out: SwapSet


@dataclasses.dataclass(frozen=True)
class SwapCell:
    """A score bin of a level in which rows are swapped: taken in or left out, never both."""

    level: int
    bin: int
    all: SwapSet
    taken_in: SwapSet
    left_out: SwapSet


@dataclasses.dataclass(frozen=True)
class SwapTest:
    """A swap set against the rows of the same score bins at all levels, in one column."""

    divergence: float
    """Total variation: the share of rows that would need another value to look like rows of equal score."""
    statistic: float | None
    """Generalised Cochran-Mantel-Haenszel statistic; None where nothing can be tested."""
    degrees_of_freedom: int
    p_value: float | None
    adjusted_p: float | None
    """Holm's, over both sets of all columns that were looked at."""


@dataclasses.dataclass(frozen=True, eq=False)
class SwapColumn:
    """Distributions over the values of one column; one entry of every array for each value."""

    name: str
    is_number: bool
    values: list[str]
    population: np.ndarray
    """Rows of each value, as in the arrays below that are whole numbers."""
    flagged_by_second: np.ndarray
    taken_in: np.ndarray
    taken_in_equal_score: np.ndarray
    """Shares in the same score bins at all levels, each bin counting as often as the set has rows in it."""
    left_out: np.ndarray
    left_out_equal_score: np.ndarray
    taken_in_test: SwapTest
    left_out_test: SwapTest
    rows_overlooked: int
    """Rows that a value may have near the decision and still be among ``(other)``; 0: the common values are surely told
    apart."""

    def shares(self) -> dict[str, np.ndarray]:
        """The six distributions as shares that add up to 1; nan for an empty set."""
        found = {}
        for name in ("population", "flagged_by_second", "taken_in", "taken_in_equal_score", "left_out"):
            counts = getattr(self, name).astype(float)
            found[name] = counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), np.nan)
        total = self.left_out_equal_score.sum()
        found["left_out_equal_score"] = (
            self.left_out_equal_score if total > 0 else np.full(len(self.left_out_equal_score), np.nan)
        )
        return found

    def to_pandas(self):
        """A DataFrame of shares with a row for each value."""
        import pandas

        return pandas.DataFrame(self.shares(), index=pandas.Index(self.values, name=self.name))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Swaps:
    """What :func:`limen.swaps` found: ``second = first - left_out + taken_in``, for rows and for positives."""

    first: SwapSet
    """Flagged by the first boundary."""
    second: SwapSet
    left_out: SwapSet
    taken_in: SwapSet
    both: SwapSet
    neither: SwapSet
    levels: tuple[SwapLevel, ...]
    score_low: float
    """No score below is swapped at any level."""
    score_high: float | None
    score_edges: np.ndarray
    """Edges between the score bins."""
    cells: tuple[SwapCell, ...]
    columns: tuple[SwapColumn, ...]
    """Columns in which a set differs first, each part by falling divergence."""
    boundaries: tuple[Boundary, Boundary] | None = None
    """The first and the second."""
    confidence_level: float = 0.95
    """Of the intervals."""

    def reached(self, name: str) -> tuple[float, float] | None:
        """Precision and recall of the ``"first"`` or the ``"second"`` boundary on these rows; None without labels.

        nan where nothing is flagged, or nothing is positive.
        """
        part = getattr(self, name)
        if part.positives is None:
            return None
        positives = self.both.positives + self.left_out.positives + self.taken_in.positives + self.neither.positives
        return (
            float("nan") if part.positivity is None else part.positivity,
            part.positives / positives if positives else float("nan"),
        )

    def column(self, name: str) -> SwapColumn:
        """The column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{name!r} was not looked at; columns: {', '.join(column.name for column in self.columns)}")

    def to_pandas(self, what: str = "sets"):
        """A DataFrame of the ``"sets"``, the ``"levels"``, the ``"cells"`` or the tests of the ``"columns"``."""
        import pandas

        def record(part, prefix=""):
            low, high = part.interval if part.interval is not None else (None, None)
            return {
                f"{prefix}rows": part.rows,
                f"{prefix}positives": part.positives,
                f"{prefix}positivity": part.positivity,
                f"{prefix}low": low,
                f"{prefix}high": high,
            }

        if what == "sets":
            names = ("first", "left_out", "taken_in", "second", "both", "neither")
            return pandas.DataFrame([record(getattr(self, name)) for name in names], index=list(names))
        if what in ("levels", "cells"):
            records = []
            for part in getattr(self, what):
                fields = [field.name for field in dataclasses.fields(part)]
                entry = {name: getattr(part, name) for name in fields if name not in ("all", "taken_in", "left_out")}
                entry["rows"] = part.all.rows
                set_name = "taken_in" if part.taken_in.rows > 0 else "left_out"
                entry["set"] = set_name if getattr(part, set_name).rows > 0 else None
                entry.update(record(getattr(part, set_name), "swapped_"))
                records.append(entry)
            return pandas.DataFrame(records)
        if what == "columns":
            records = [
                {"column": column.name, "set": name, **dataclasses.asdict(getattr(column, f"{name}_test"))}
                for column in self.columns
                for name in ("taken_in", "left_out")
            ]
            return pandas.DataFrame(records)
        raise ValueError(f"what is {what!r}, must be sets, levels, cells or columns")

    def __repr__(self) -> str:
        text = (
            f"<limen.Swaps: {self.first.rows} - {self.left_out.rows} + {self.taken_in.rows} = {self.second.rows} rows"
        )
        if self.first.positives is not None:
            text += f", {self.first.positives} - {self.left_out.positives} + {self.taken_in.positives}"
            text += f" = {self.second.positives} positives"
        return text + (f"; {len(self.columns)} columns>" if self.columns else ">")

    def _decision(self) -> str:
        text = f"the second boundary leaves out {_words.rows(self.left_out.rows)} and takes in {_words.rows(self.taken_in.rows)}"
        figures = [self.reached(name) for name in ("first", "second")]
        if figures[0] is None:
            return text
        (precision, recall), (new_precision, new_recall) = figures
        return (
            f"{text}: precision {_words.share(precision)} to {_words.share(new_precision)}, "
            f"recall {_words.share(recall)} to {_words.share(new_recall)} on these rows"
        )

    def _repr_html_(self) -> str:
        labelled = self.first.positives is not None
        lines = []
        names = {"first": "first", "left_out": "left out", "taken_in": "taken in", "second": "second"}
        if self.boundaries is not None:
            for name, boundary in zip(("first", "second"), self.boundaries, strict=True):
                names[name] += f": {_words.method(boundary.method)}"
        for name, text in names.items():
            part = getattr(self, name)
            of_positives = (
                (_words.count(part.positives), _html.figure(part.positivity, part.interval)) if labelled else ()
            )
            lines.append((text, _words.count(part.rows), *of_positives))
        header = ("", "rows", *(("positives", "share of positives") if labelled else ()))
        tables = [_html.table(header, lines, "second = first - left out + taken in")]
        notes = []
        if labelled:
            notes.append(f"In brackets: exact (Clopper-Pearson) {_words.percent(self.confidence_level)} intervals.")
        if self.columns:
            number = lambda value: "-" if value is None else f"{value:.2g}"  # noqa: E731
            lines = []
            for column in self.columns:
                for name in ("taken_in", "left_out"):
                    test = getattr(column, f"{name}_test")
                    figures = (f"{test.divergence:.4f}", number(test.p_value), number(test.adjusted_p))
                    lines.append((column.name, names[name], *figures))
            header = ("column", "set", "divergence", "p", "corrected")
            caption = "each set against rows of equal score at all levels"
            tables.append(_html.table(header, lines, caption, text_columns=2))
        return _html.block(self._decision(), *tables, notes=notes)


def swaps(
    first: Boundary,
    second: Boundary,
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    columns: Any = None,
    score_bins: int = 10,
    values: int = 8,
    candidates: int = 4096,
    confidence_level: float = 0.95,
) -> Swaps:
    """What the second boundary takes in and leaves out against the first, on the same rows.

    Parameters
    ----------
    first, second : Boundary
        An old boundary, such as one threshold, and a new one; normally for the same goal.
    y : array-like of shape (n,) or None
        Labels; None: rows are counted, positives are not known.
    score, uncertainty : array-like of shape (n,)
    columns : table of n rows, optional
        A DataFrame, a dict of columns, an Arrow table or an array: in which of them do the swapped rows differ from rows
        of equal score?
    score_bins : int
        Bins of about equally many swapped rows, within which scores count as equal; 1 to 100.
    values : int
        Values of a column that are told apart, the most common near the decision; numbers are cut into as many ranges.
        2 to 50.
    candidates : int
        Values of a text column that are kept while the most common ones are found; 64 to 2**20.
    confidence_level : float
        Of the exact intervals of positivity.

    Returns
    -------
    Swaps

    Notes
    -----
    The test of a column is that of Cochran, Mantel and Haenszel for independence of its value and being in the set,
    among rows of one score bin, all bins together; values of few rows are pooled. Its p-values are corrected for the
    number of columns (Holm).

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=50_000, test_rows=50_000, regions=5_000, seed=1)
    >>> one = limen.fit_boundary(*data.holdout.columns, min_precision=0.4, method="st")
    >>> two = limen.fit_boundary(*data.holdout.columns, min_precision=0.4, levels=3)
    >>> found = limen.swaps(one, two, *data.test.columns)
    >>> found.first.rows - found.left_out.rows + found.taken_in.rows == found.second.rows
    True
    >>> found.taken_in.positivity > found.left_out.positivity
    True
    """
    for name, boundary in (("first", first), ("second", second)):
        if not isinstance(boundary, Boundary):
            raise TypeError(f"{name} is a {type(boundary).__name__}, must be a limen.Boundary")
    confidence = float(confidence_level)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence_level is {confidence}, must be between 0 and 1")
    scores = _inputs.real_array(score, "score")
    names, arrays = [], []
    if columns is not None:
        columns = _inputs.as_table(columns)
        names = _inputs.table_names(columns, "columns")
        if _inputs.num_rows(columns) != len(scores):
            raise ValueError(f"columns has {_inputs.num_rows(columns)} rows, score has {len(scores)}")
        for at, name in enumerate(names):
            key = at if _inputs.is_array(columns) else name
            arrays.append(_inputs.table_column(_inputs.values_in_table(columns, key), name))
    found = _core.swaps(
        first._fitted,
        second._fitted,
        scores,
        _inputs.real_array(uncertainty, "uncertainty"),
        None if y is None else _inputs.label_array(y),
        names,
        arrays,
        _inputs.whole_number(score_bins, "score_bins"),
        _inputs.whole_number(values, "values"),
        _inputs.whole_number(candidates, "candidates"),
    )

    def part(counts):
        rows, positives = counts
        if y is None:
            return SwapSet(rows, None, None, None)
        if rows == 0:
            return SwapSet(0, 0, None, None)
        return SwapSet(rows, positives, positives / rows, _core.proportion_interval(positives, rows, confidence))

    def plus(*sets):
        return part(tuple(sum(counts) for counts in zip(*sets, strict=True)))

    both, left_out, taken_in = found["both"], found["left_out"], found["taken_in"]
    for column in found["columns"]:
        for name in ("taken_in_test", "left_out_test"):
            column[name] = SwapTest(**column[name])
    return Swaps(
        first=plus(both, left_out),
        second=plus(both, taken_in),
        left_out=part(left_out),
        taken_in=part(taken_in),
        both=part(both),
        neither=part(found["neither"]),
        levels=tuple(SwapLevel(*level[:3], *map(part, level[3:])) for level in found["levels"]),
        score_low=found["score_low"],
        score_high=found["score_high"],
        score_edges=found["score_edges"],
        cells=tuple(SwapCell(*cell[:2], *map(part, cell[2:])) for cell in found["cells"]),
        columns=tuple(SwapColumn(**column) for column in found["columns"]),
        boundaries=(first, second),
        confidence_level=confidence,
    )
