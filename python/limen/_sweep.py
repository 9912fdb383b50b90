# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from limen import _core, _html, _inputs
from limen._boundary import _count
from limen._fit import Number
from limen._studies import _whole


@dataclasses.dataclass(frozen=True)
class SweepCell:
    """One number of levels with one number of bins, judged on rows that it was not fitted on."""

    levels: int
    levels_used: int
    """Fewer than asked for where uncertainty has too few distinct values."""
    bins: int | str
    """Of each level; ``"all"``: every distinct score."""
    value: float | None
    """What the goal optimises (recall, precision, cost or F-beta) where its bound is just met on the rows left out. None:
    nowhere met."""
    gain: float | None
    """Over one threshold, relative; positive is better."""
    gain_se: float | None
    """Its standard error."""
    flagged: float
    """With ``true_positives``, ``precision`` and ``recall``: a boundary fitted without the rows, applied to them."""
    true_positives: float
    precision: float
    recall: float
    fits_missed: int
    """Fits that met the bound where they were fitted, but not on the rows left out."""
    fits_infeasible: int
    """Fits without any boundary that meets the bound."""

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Sweep(Sequence[SweepCell]):
    """What :func:`limen.sweep` found: its cells, level by level, in each bin by bin."""

    cells: tuple[SweepCell, ...]
    single: SweepCell
    """One threshold over every distinct score: what gains are over."""
    best: SweepCell | None
    """None: no cell meets the bound."""
    smallest: SweepCell | None
    """The first cell whose value is within one standard error of the best one."""
    why: str
    """One sentence."""
    objective: str
    value: str
    """What the value of a cell is: ``"recall"``, ``"precision"``, ``"cost"`` or ``"F-beta"``."""
    fits: int
    """Of each cell."""
    rows: float
    positives: float

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, at):
        return self.cells[at]

    def __iter__(self) -> Iterator[SweepCell]:
        return iter(self.cells)

    def __repr__(self) -> str:
        return f"<limen.Sweep: {self.objective}; {len(self)} cells; {self.why}>"

    def get(self, levels: int, bins: int | str) -> SweepCell:
        """The cell of a number of levels and of bins."""
        for cell in self.cells:
            if (cell.levels, cell.bins) == (levels, bins):
                return cell
        raise KeyError((levels, bins))

    def to_dict(self) -> dict[str, Any]:
        """The members of ``limen sweep --json`` that do not only repeat its flags."""
        return {
            "objective": self.objective,
            "value": self.value,
            "rows": self.rows,
            "positives": self.positives,
            "fits": self.fits,
            "single": self.single.to_dict(),
            "best": None if self.best is None else self.best.to_dict(),
            "smallest": None if self.smallest is None else self.smallest.to_dict(),
            "sentence": self.why,
            "cells": [cell.to_dict() for cell in self.cells],
        }

    def to_pandas(self):
        """A DataFrame with a row for each cell; ``pivot(index="levels", columns="bins", values="gain")`` is the table."""
        import pandas

        frame = pandas.DataFrame([cell.to_dict() for cell in self.cells])
        frame["best"] = [cell is self.best for cell in self.cells]
        frame["smallest"] = [cell is self.smallest for cell in self.cells]
        return frame.astype({"value": float, "gain": float, "gain_se": float})

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(cell.bins for cell in self.cells))
        lines = []
        for first in range(0, len(self), len(columns)):
            row = self.cells[first : first + len(columns)]
            lines.append([row[0].levels, *map(self._html_of, row)])
        caption = (
            f"{self.objective}: {self.value} on rows left out, relative to one threshold, by levels and score bins"
        )
        return _html.block(
            self.why,
            _html.table(["levels \\ bins", *columns], lines, caption),
            notes=[
                f"* best, ~ smallest within one standard error of it; {self.fits} fits on {self.rows:,g} rows each."
            ],
        )

    def _html_of(self, cell: SweepCell) -> _html.Cell:
        if cell.value is None:
            return _html.Cell("infeasible")
        text = f"{cell.value:.4g}" if cell.gain is None else f"{cell.gain:+.1%}"
        error = "" if cell.gain is None or cell.gain_se is None or cell.gain == 0 else f"se {cell.gain_se:.1%}"
        if cell is self.best:
            return _html.Cell(f"{text} *", error, bold=True)
        return _html.Cell(f"{text} ~" if cell is self.smallest else text, error)


def _list_of(values: Any) -> list:
    return [values] if isinstance(values, str) or not hasattr(values, "__iter__") else list(values)


def _cell(found: dict[str, Any]) -> SweepCell:
    return SweepCell(
        **{**found, "flagged": _count(found["flagged"]), "true_positives": _count(found["true_positives"])}
    )


def sweep(
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    min_precision: Number | None = None,
    min_recall: Number | None = None,
    max_false_positive_rate: Number | None = None,
    max_flag_rate: Number | None = None,
    cost: tuple[Number, Number] | None = None,
    f_beta: Number | None = None,
    levels: int | Sequence[int] | None = None,
    bins: int | str | Sequence[int | str] | None = None,
    binning: str = "equi-weight",
    levels_from: str = "top",
    method: str = "exact",
    folds: int = 5,
    repetitions: int = 3,
    seed: int = 0,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> Sweep:
    """How many uncertainty levels and score bins pay, by cross-validation: too few lose, too many fit the noise.

    Parameters
    ----------
    y, score, uncertainty : array-like of shape (n,)
    min_precision, min_recall, max_false_positive_rate, max_flag_rate, cost, f_beta
        Exactly one goal, as for :func:`limen.fit_boundary`.
    levels : list of int, optional
        Numbers of levels to try. None: 1, 2, 3, 5, 8, 13 and 21.
    bins : list of int and "all", optional
        Numbers of score bins to try; ``"all"``: every distinct score. None: 20, 50, 100, 200, 500, 1000 and, for the
        methods that need no bins, ``"all"``.
    binning, levels_from, sample_weight, num_threads
        As for :func:`limen.fit_boundary`.
    method : str
        Any but ``"auto"`` and ``"smooth"``.
    folds, repetitions, seed : int
        Of the cross-validation.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=50_000, test_rows=0, regions=5_000)
    >>> found = limen.sweep(*data.holdout.columns, min_precision=0.4, levels=[1, 2, 4], bins=[100, "all"])
    >>> len(found), found.get(1, "all").gain
    (6, 0.0)
    >>> found.best.value >= found.single.value
    True
    """
    goal, goal_numbers = _inputs.goal(
        min_precision=min_precision,
        min_recall=min_recall,
        max_false_positive_rate=max_false_positive_rate,
        max_flag_rate=max_flag_rate,
        cost=cost,
        f_beta=f_beta,
    )
    found = _core.sweep(
        _inputs.table(y, score, uncertainty, sample_weight),
        goal,
        goal_numbers,
        [] if levels is None else [_inputs.whole_number(count, "levels") for count in _list_of(levels)],
        [] if bins is None else [_inputs.bins_of(count) for count in _list_of(bins)],
        _inputs.text(binning, "binning"),
        _inputs.text(levels_from, "levels_from"),
        _inputs.text(method, "method"),
        _whole(seed, "seed", 0, 2**64),
        _inputs.whole_number(folds, "folds"),
        _inputs.whole_number(repetitions, "repetitions"),
        _inputs.threads(num_threads),
    )
    cells = tuple(map(_cell, found["cells"]))
    return Sweep(
        cells=cells,
        single=_cell(found["single"]),
        best=None if found["best"] is None else cells[found["best"]],
        smallest=None if found["smallest"] is None else cells[found["smallest"]],
        why=found["sentence"],
        objective=found["objective"],
        value=found["value"],
        fits=found["fits"],
        rows=_count(found["rows"]),
        positives=_count(found["positives"]),
    )
