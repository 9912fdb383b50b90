# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from limen import _core, _html, _inputs, _words


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PositivityMap:
    """Share of positives by score bin and uncertainty level; one entry for each cell that has rows, level by level."""

    uncertainty_edges: np.ndarray
    """Where the next level begins."""
    level: np.ndarray
    bin: np.ndarray
    """From 0, score upwards; bins of different levels hold the same ranks, not the same scores."""
    score_low: np.ndarray
    score_high: np.ndarray
    mean_score: np.ndarray
    rows: np.ndarray
    """Or their weight."""
    positives: np.ndarray
    positivity: np.ndarray
    positivity_low: np.ndarray
    """Wilson's interval."""
    positivity_high: np.ndarray
    bins: int
    confidence: float
    weighted: bool
    binning: str = "equi-weight"
    """Quantiles, or with ``"equi-span"`` equal intervals."""
    balanced: bool = False
    """Quantiles of the score in which each class of a level counts for one half."""

    def __post_init__(self) -> None:
        for name in ("level", "bin"):
            object.__setattr__(self, name, getattr(self, name).astype(np.int64))

    def __len__(self) -> int:
        return len(self.level)

    @property
    def levels(self) -> int:
        return len(self.uncertainty_edges) + 1

    def __repr__(self) -> str:
        return f"<limen.PositivityMap: {self.levels} levels, {self.bins} bins, {self.rows.sum():g} rows>"

    def grid(self, name: str = "positivity") -> np.ndarray:
        """One of the columns as an array of shape (levels, bins), nan where there are no rows."""
        grid = np.full((self.levels, self.bins), np.nan)
        grid[self.level, self.bin] = getattr(self, name)
        return grid

    def to_pandas(self):
        """A DataFrame with the columns of ``limen inspect --map --csv``; bins count from 1 there."""
        import pandas

        fields = [field.name for field in dataclasses.fields(self)]
        names = fields[fields.index("level") : fields.index("bins")]
        return pandas.DataFrame({name: getattr(self, name) + (name == "bin") for name in names})

    def level_name(self, level: int) -> str:
        """The uncertainties of a level, for people."""
        return _words.level_names(self.uncertainty_edges)[level]

    @property
    def bins_are(self) -> str:
        """What the score bins are, for people."""
        if self.binning == "equi-span":
            return "equal intervals of each level"
        return "quantiles of each level" + (", each class one half" if self.balanced else "")

    def _repr_html_(self) -> str:
        rates, low, high, rows = (
            self.grid(name) for name in ("positivity", "positivity_low", "positivity_high", "rows")
        )
        lines = []
        for at in range(self.bins - 1, -1, -1):
            cells = [_html.figure(rates[level, at], (low[level, at], high[level, at])) for level in range(self.levels)]
            for level, cell in enumerate(cells):
                if cell.small:
                    cell.small += f", {_words.count(rows[level, at])}"
            lines.append([at + 1, *cells])
        total = "weight" if self.weighted else "rows"
        decision = (
            f"share of positives by score bin and uncertainty: {_words.count(self.positives.sum())} of "
            f"{_words.count(self.rows.sum())} {total} are positive"
        )
        small = (
            f"In brackets: Wilson's {_words.percent(self.confidence)} intervals; then {total}. Bins: {self.bins_are}."
        )
        return _html.block(
            decision, _html.table(["bin", *_words.level_names(self.uncertainty_edges)], lines), notes=[small]
        )


def positivity_map(
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    levels: int = 3,
    uncertainty_edges: Any = None,
    bins: int = 10,
    binning: str = "equi-weight",
    balanced: bool = False,
    confidence_level: float = 0.95,
    sample_weight: Any = None,
) -> PositivityMap:
    """Share of positives by score bin and uncertainty level, with counts and Wilson's intervals: the paper's first figure.

    Parameters
    ----------
    y, score, uncertainty : array-like of shape (n,)
    levels : int
        Uncertainty levels, 1 to 1000; equal uncertainties are never split.
    uncertainty_edges : array-like, optional
        Edges between the levels instead, such as those of a boundary.
    bins : int
        Score bins inside each level, 1 to 10,000. A score is in the bin of the middle of its rows: equal scores are never
        split.
    binning : {"equi-weight", "equi-span"}
        Quantiles of both columns, or equal intervals.
    balanced : bool
        Quantiles of the score in which each class of a level counts for one half.
    confidence_level : float
        Of the intervals.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    PositivityMap

    Examples
    --------
    >>> import limen
    >>> found = limen.positivity_map([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0], bins=2)
    >>> found.positivity
    array([0., 1.])
    """
    edges = None if uncertainty_edges is None else _inputs.double_array(uncertainty_edges, "uncertainty_edges").tolist()
    table = _inputs.table(y, score, uncertainty, sample_weight)
    bins, confidence = _inputs.whole_number(bins, "bins"), float(confidence_level)
    levels = _inputs.whole_number(levels, "levels")
    found = _core.positivity_map(
        table, levels, edges, bins, _inputs.text(binning, "binning"), bool(balanced), confidence
    )
    return PositivityMap(
        **found,
        bins=bins,
        confidence=confidence,
        weighted=sample_weight is not None,
        binning=binning,
        balanced=bool(balanced),
    )
