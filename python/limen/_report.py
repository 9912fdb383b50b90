# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import functools
import html
import json
import os
from collections.abc import Sequence
from typing import Any

from limen import _core, _inputs
from limen._boundary import _write_whole
from limen._fit import Number
from limen._studies import _tables, _whole


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """What :func:`limen.report` made: one HTML page, and the study that it shows."""

    html: str
    """The page; it needs nothing beside itself."""
    json: str
    """The study as JSON text (docs/study.md)."""

    @functools.cached_property
    def study(self) -> dict[str, Any]:
        """The study as a dict."""
        return json.loads(self.json)

    @property
    def decision(self) -> str:
        """What the study says at the bound that was asked for."""
        return self.study["decision"][self.study["start"]]["sentence"]

    def save(self, path: str | os.PathLike) -> None:
        """Writes the page, whole or not at all."""
        _write_whole(path, self.html)

    def __repr__(self) -> str:
        return f"Report({self.decision})"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html, quote=True)}" sandbox="allow-scripts allow-downloads" '
            'style="width: 100%; height: 800px; border: 0"></iframe>'
        )


def report(
    y: Any,
    score: Any,
    uncertainty: Any,
    *,
    min_precision: Number | None = None,
    min_recall: Number | None = None,
    max_false_positive_rate: Number | None = None,
    max_flag_rate: Number | None = None,
    test: Any = None,
    bounds: Number | Sequence[Number] | None = None,
    methods: Sequence[str] | None = None,
    levels: int | None = None,
    bins: int | str | None = None,
    binning: str = "equi-weight",
    levels_from: str = "top",
    confidence_level: float | None = None,
    random_state: int = 0,
    interval: float = 0.95,
    title: str = "Study",
    path: str | os.PathLike | None = None,
    timings: bool = False,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> Report:
    """One page on a hold-out: the decision, what it gains and what is promised, at the bound asked for and around it.

    Parameters
    ----------
    y, score, uncertainty : array-like of shape (n,)
        The hold-out.
    min_precision, min_recall, max_false_positive_rate, max_flag_rate
        Exactly one bound, as for :func:`limen.fit_boundary`.
    test : tuple (y, score, uncertainty[, sample_weight]), optional
        Rows to judge on.
    bounds : list of numbers, optional
        Other bounds to look at. None: about 60 round numbers.
    methods : list of str, optional
        The first one decides; ``"st"`` is always shown. None: auto, st, exact and smooth.
    levels, bins, binning, levels_from, sample_weight, num_threads
        As for :func:`limen.fit_boundary`; not for the methods that find them themselves.
    confidence_level : float, optional
        Certify every bound for deployment with this probability.
    random_state : int
        Of the certification's split.
    interval : float
        Confidence of intervals and bands.
    title : str
        Of the page.
    path : str or path, optional
        Also write the page here.
    timings : bool
        Also how long each fit took; without it equal rows give equal bytes.

    Returns
    -------
    Report

    Examples
    --------
    >>> import limen
    >>> data = limen.simulate(prior=(1.5, 8.5), tau=5, holdout_rows=5_000, test_rows=5_000, regions=500)
    >>> found = limen.report(*data.holdout.columns, min_precision=0.4, bounds=[0.3], test=data.test.columns)
    >>> found.study["bounds"], found.study["start"]
    ([0.3, 0.4], 1)
    >>> found.html.startswith("<!doctype html>")
    True
    """
    goal, goal_numbers = _inputs.goal(
        min_precision=min_precision,
        min_recall=min_recall,
        max_false_positive_rate=max_false_positive_rate,
        max_flag_rate=max_flag_rate,
    )
    tables = [] if test is None else _tables(test, "test")
    if len(tables) > 1:
        raise ValueError(f"test has {len(tables)} tables, must be one")
    if isinstance(methods, str):
        methods = [methods]
    study, page = _core.report(
        _inputs.table(y, score, uncertainty, sample_weight),
        tables[0] if tables else None,
        goal,
        goal_numbers,
        [] if bounds is None else _inputs.bounds(bounds, "bounds"),
        None if methods is None else [_inputs.text(name, "methods") for name in methods],
        None if levels is None else _inputs.whole_number(levels, "levels"),
        _inputs.bins_of(bins),
        _inputs.text(binning, "binning"),
        _inputs.text(levels_from, "levels_from"),
        None if confidence_level is None else float(confidence_level),
        _whole(random_state, "random_state", 0, 2**64),
        float(interval),
        _inputs.text(title, "title"),
        bool(timings),
        _inputs.threads(num_threads),
    )
    made = Report(html=page, json=study)
    if path is not None:
        made.save(path)
    return made
