# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

from limen import _core, _html, _inputs
from limen._boundary import Boundary
from limen._errors import InfeasibleError, NotCertifiableError

Number = float | Decimal | Fraction | str


@dataclasses.dataclass(frozen=True)
class Information:
    """What :func:`limen.informs` finds."""

    informs: bool
    """Whether the second column tells anything about the label beyond the score near the decision, at 1%."""
    p_value: float
    """Of that test; 1 where there are too few rows for one."""
    gain: float
    """What a smooth use of both columns brought over one threshold on rows left out, relative: of recall, where recall is
    the goal."""
    gain_interval: tuple[float, float]
    """About 95% around the gain."""
    why: str
    """One sentence."""

    def to_pandas(self):
        """A Series."""
        import pandas

        found = dataclasses.asdict(self)
        found["gain_low"], found["gain_high"] = found.pop("gain_interval")
        return pandas.Series(found)

    def _repr_html_(self) -> str:
        line = (
            "yes" if self.informs else "no",
            f"{self.p_value:.3g}",
            _html.figure(self.gain, self.gain_interval, "+.1%"),
        )
        header = ("informs beyond the score", "p", "gain on rows left out")
        return _html.block(self.why, _html.table(header, [line]), notes=["In brackets: about 95%."])


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def fit_boundary(
    y: Any,
    score: Any,
    uncertainty: Any = None,
    *,
    min_precision: Number | None = None,
    min_recall: Number | None = None,
    max_false_positive_rate: Number | None = None,
    max_flag_rate: Number | None = None,
    cost: tuple[Number, Number] | None = None,
    f_beta: Number | None = None,
    levels: int | str | None = None,
    bins: int | str | None = None,
    binning: str = "equi-weight",
    levels_from: str = "top",
    method: str = "auto",
    monotone: str | None = None,
    confidence_level: float | None = None,
    groups: Any = None,
    random_state: int = 0,
    segment: Any = None,
    each: bool = False,
    segment_min_rows: int | None = None,
    review_rate: Number | None = None,
    review_recall: Number | None = None,
    review_cost: Number | None = None,
    sample_weight: Any = None,
    num_threads: int | None = None,
) -> Boundary:
    """Find the best boundary on a labelled hold-out: one score threshold, or one for each uncertainty level.

    Exactly one goal must be given. Its numbers are exact: ``0.9`` means 9/10, whatever its binary neighbour; a
    ``Fraction``, a ``Decimal`` or a text such as ``"0.9"`` is taken as it is.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels, 0 and 1 or bool.
    score : array-like of shape (n,)
        Higher means more likely positive. Need not be a probability.
    uncertainty : array-like of shape (n,)
        Higher means less certain. May be left out with ``segment``.
    min_precision : number, optional
        Goal: most recall with at least this precision.
    min_recall : number, optional
        Goal: most precision with at least this recall.
    max_false_positive_rate : number, optional
        Goal: most recall with at most this false-positive rate.
    max_flag_rate : number, optional
        Goal: most recall with at most this fraction of rows flagged.
    cost : (number, number), optional
        Goal: least cost, of a false positive and of a false negative.
    f_beta : number, optional
        Goal: highest F-beta for this beta.
    levels : int, "auto" or None
        Uncertainty levels, 1 to 1000. Fewer are used, with a warning, where uncertainty has too many equal values.
        ``"auto"``: as many as cross-validation finds (see :func:`limen.sweep`). None: 32 for the method ``smooth``, 4 for
        ``joint``, 3 for the others that have levels.
    bins : int, "all", "auto" or None
        Score bins of each level; ``"all"``: every distinct score; ``"auto"``: by cross-validation. None: 500 for the
        paper's methods ``hr``, ``gmt``, ``mist``, ``ew-dpmt`` and ``vw-dpmt``, all for the others.
    binning : {"equi-weight", "equi-span"}
        Quantiles, or equal intervals.
    levels_from : {"top", "all"}
        Levels are quantiles of the uncertainty of the rows near the decision, or of all rows, as in the paper.
    method : {"auto", "st", "smooth", "exact", "joint", "hr", "gmt", "mist", "ew-dpmt", "vw-dpmt"}
        ``"auto"`` finds out whether uncertainty tells anything beyond the score near the decision, and then takes one
        threshold (``st``), a smooth model of both (``smooth``) or some levels (``exact``), whichever does best on rows
        left out; see ``Boundary.chosen_by``. Where ``levels``, ``bins`` or ``monotone`` are given, nothing is left to
        choose: ``"auto"`` is ``"exact"`` then. ``"joint"`` finds the edges between levels together with the thresholds.
    monotone : {"up", "down"} or None
        Thresholds never fall (up), or never rise (down), with uncertainty: the best of these boundaries, proved so. For
        the methods ``exact`` and ``joint``.
    confidence_level : float, optional
        With it the boundary is certified: its precision (or recall, false-positive rate, flag rate) keeps the bound in
        deployment with at least this probability, for rows drawn like these and scored by the same model. Some of the
        rows learn the boundaries, the others test them; see ``Boundary.guarantee``. For the methods ``auto``, ``st``,
        ``smooth``, ``exact`` and ``joint`` over every distinct score.
    groups : array-like of shape (n,), optional
        With ``confidence_level``: rows of one group (a customer, a day) learn together or are tested together, and the
        test is on groups.
    random_state : int
        With ``confidence_level``: seed of the split into rows that learn and rows that are tested.
    segment : array-like of shape (n,), optional
        A category such as the market: every value gets a rule of its own, on ``levels`` uncertainty levels in each (None:
        one), so that the goal is met by all rows together. ``"auto"`` looks first whether segments tell anything near the
        decision; else the method is ``"exact"``. Not with reviews. See ``Boundary.segments``.
    each : bool
        With ``segment``: each segment meets the goal's bound by itself, by any method; with ``confidence_level`` each is
        certified by itself, which is not a promise for all of them at once. A segment that cannot flags nothing.
    segment_min_rows : int, optional
        With ``segment``: values of fewer rows are put together. Default 500.
    review_rate : number, optional
        Send at most this fraction of all rows to a person: of the rows that are not flagged, those with the most
        positives. What is flagged stays the same. See ``Boundary.review`` and ``Boundary.reviewed``.
    review_recall : number, optional
        Send as few rows as possible to a person so that at least this fraction of positives is flagged or reviewed. With
        ``review_rate``: what that must reach.
    review_cost : number, optional
        With ``cost``: the cost of looking at one row. The least cost of flagging, reviewing and passing together; for the
        methods ``auto``, ``st``, ``exact`` and ``joint``.
    sample_weight : array-like of shape (n,), optional
        Weights from 0 on.
    num_threads : int, optional
        None or 0: all cores. The result does not depend on it.

    Returns
    -------
    Boundary

    Raises
    ------
    InfeasibleError
        No boundary meets the goal; ``best_attainable`` says what can be met. Or ``review_rate`` is too small for
        ``review_recall``: then it is the recall of flagged or reviewed rows at that rate.
    NotCertifiableError
        An InfeasibleError: no boundary could be certified; ``rows_needed`` says how many rows would be needed.
    ValueError
        Bad input: the message names the argument, the row and the value.

    Examples
    --------
    >>> import limen
    >>> y = [1, 1, 1, 0, 1, 0, 0, 0]
    >>> score = [0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.6]
    >>> uncertainty = [0.1, 0.8, 0.1, 0.9, 0.2, 0.7, 0.2, 0.8]
    >>> boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.9, levels=2)
    >>> boundary.precision, boundary.recall, boundary.optimal
    (1.0, 1.0, True)
    >>> limen.fit_boundary(y, score, uncertainty, min_precision=0.9, method="st").recall
    0.5
    """
    goal, goal_numbers = _inputs.goal(
        min_precision=min_precision,
        min_recall=min_recall,
        max_false_positive_rate=max_false_positive_rate,
        max_flag_rate=max_flag_rate,
        cost=cost,
        f_beta=f_beta,
    )
    method = _inputs.text(method, "method")
    if method == "auto" and not (levels is None and bins is None and monotone is None):
        method = "exact"
    sweep_levels, sweep_bins = (isinstance(given, str) and given == "auto" for given in (levels, bins))
    levels = None if levels is None or sweep_levels else _inputs.whole_number(levels, "levels")
    review = [
        None if review_rate is None else _inputs.bound(review_rate, "review_rate"),
        None if review_recall is None else _inputs.bound(review_recall, "review_recall"),
        None if review_cost is None else _inputs.fraction(review_cost, "review_cost"),
    ]
    if segment is None:
        for name, given in {"each": each or None, "segment_min_rows": segment_min_rows}.items():
            if given is not None:
                raise ValueError(f"{name} is for segments: give segment too")
        if uncertainty is None:
            raise ValueError("uncertainty is None, must be one number a row; only with segment it may be left out")
    else:
        if review != [None] * 3:
            raise ValueError("segment does not go with a review: leave out review_rate, review_recall, review_cost")
        if sweep_levels or sweep_bins:
            raise ValueError("segment takes a number of levels and bins, not 'auto'")
        return _fit_segments(
            _inputs.segment_table(y, score, uncertainty, sample_weight),
            segment,
            each,
            segment_min_rows,
            goal,
            goal_numbers,
            method,
            levels,
            bins,
            _inputs.text(binning, "binning"),
            _inputs.text(levels_from, "levels_from"),
            None if monotone is None else _inputs.text(monotone, "monotone"),
            confidence_level,
            groups,
            random_state,
            num_threads,
        )
    rows = _inputs.table(y, score, uncertainty, sample_weight)
    if confidence_level is None and groups is not None:
        raise ValueError("groups are for certified boundaries: give confidence_level too")
    if confidence_level is not None:
        if sweep_levels or bins is not None or monotone is not None or binning != "equi-weight":
            raise ValueError(
                "confidence_level needs every distinct score: leave out bins, binning, monotone, levels='auto'"
            )
        found = _certified(
            rows,
            goal,
            goal_numbers,
            method,
            levels,
            _inputs.text(levels_from, "levels_from"),
            confidence_level,
            groups,
            random_state,
            num_threads,
        )
        return Boundary._of(found if review == [None] * 3 else _with_review(found, rows, review, num_threads))
    found, best_attainable, levels_used, bins_used = _core.fit_boundary(
        rows,
        goal,
        goal_numbers,
        method,
        levels,
        None if sweep_bins else _inputs.bins_of(bins),
        sweep_levels,
        sweep_bins,
        _inputs.text(binning, "binning"),
        _inputs.text(levels_from, "levels_from"),
        None if monotone is None else _inputs.text(monotone, "monotone"),
        _inputs.threads(num_threads),
    )
    if found is None:
        best = best_attainable or 0.0
        binned = "every distinct score" if bins_used is None else _plural(bins_used, "score bin")
        hint = ""
        if bins_used is not None or method != "exact":
            hint = ' (method="exact", bins="all" may reach more)'
        raise InfeasibleError(
            f"infeasible: {_core.describe_objective(goal, goal_numbers)} cannot be met by {method} on "
            f"{_plural(levels_used, 'level')} and {binned}; the best attainable precision is {best:.6g}{hint}",
            best,
        )
    if levels is not None and levels_used < levels and method != "st":
        warnings.warn(
            f"uncertainty has too many equal values for {levels} levels; {levels_used} used", UserWarning, stacklevel=2
        )
    if review != [None, None, None]:
        found = _with_review(found, rows, review, num_threads)
    return Boundary._of(found)


def _fit_segments(
    table,
    segment,
    each,
    min_rows,
    goal,
    goal_numbers,
    method,
    levels,
    bins,
    binning,
    levels_from,
    monotone,
    confidence_level,
    groups,
    random_state,
    num_threads,
) -> Boundary:
    rows = len(table[0])
    name = getattr(segment, "name", None)
    common = (
        table,
        _inputs.segment_texts(segment, rows),
        goal,
        goal_numbers,
        name if isinstance(name, str) and name else "segment",
        bool(each),
        _core.segment_min_rows if min_rows is None else _inputs.whole_number(min_rows, "segment_min_rows"),
        method,
        levels,
    )
    described = _core.describe_objective(goal, goal_numbers)
    where = "in any segment" if each else "by segments"
    if confidence_level is None:
        if groups is not None:
            raise ValueError("groups are for certified boundaries: give confidence_level too")
        found, best, _ = _core.fit_segments(
            *common, _inputs.bins_of(bins), binning, levels_from, monotone, _inputs.threads(num_threads)
        )
        if found is None:
            best = best or 0.0
            raise InfeasibleError(
                f"infeasible: {described} cannot be met {where}; the best attainable precision is {best:.6g}", best
            )
        return Boundary._of(found)
    if bins is not None or monotone is not None or binning != "equi-weight":
        raise ValueError("confidence_level needs every distinct score: leave out bins, binning, monotone")
    confidence = float(confidence_level)
    found, attainable, needed = _core.certify_segments(
        *common,
        levels_from,
        confidence,
        _seed(random_state),
        _inputs.group_ids(groups, rows),
        _inputs.threads(num_threads),
    )
    if found is None:
        nearest = "" if attainable is None else f"; these rows come nearest to a bound of {attainable:.4g}"
        raise NotCertifiableError(
            f"cannot be certified: {described} with confidence {confidence:g}, {where}{nearest}",
            float("nan") if attainable is None else attainable,
            needed,
        )
    return Boundary._of(found)


def _seed(random_state: Any) -> int:
    seed = _inputs.whole_number(random_state, "random_state")
    if seed < 0:
        raise ValueError(f"random_state is {seed}, must be at least 0")
    return seed


def _certified(
    table, goal, goal_numbers, method, levels, levels_from, confidence_level, groups, random_state, num_threads
) -> _core.Boundary:
    seed = _seed(random_state)
    confidence = float(confidence_level)
    found, report = _core.certify(
        table,
        goal,
        goal_numbers,
        method,
        levels,
        levels_from,
        confidence,
        seed,
        None,
        _inputs.group_ids(groups, len(table[0])),
        _inputs.threads(num_threads),
    )
    if found is not None:
        return found
    attainable, needed = report["attainable"], report["rows_needed"]
    message = (
        f"cannot be certified: {_core.describe_objective(goal, goal_numbers)} with confidence {confidence:g}, by {report['method']} "
        f"on {report['tested_rows']:,} tested rows"
    )
    if attainable is not None:
        message += f"; they come nearest to a bound of {attainable:.4g}"
    if needed is not None:
        message += f"; about {needed:,} labelled rows would be needed, {len(table[0]):,} are there"
    raise NotCertifiableError(message, float("nan") if attainable is None else attainable, needed)


def _with_review(boundary: _core.Boundary, rows: Any, review: list, num_threads: int | None) -> _core.Boundary:
    found, best_recall, least_rate = _core.add_review(boundary, rows, *review, _inputs.threads(num_threads))
    if found is None:
        (rate, rate_den), (recall, recall_den) = review[:2]
        needs = "" if least_rate is None else f"; that takes a review rate of {least_rate:.6g}"
        raise InfeasibleError(
            f"infeasible: with {rate / rate_den:g} of the rows reviewed, recall of flagged or reviewed is at most "
            f"{best_recall:.6g}, below {recall / recall_den:g}{needs}",
            best_recall,
        )
    return found


def informs(y: Any, score: Any, uncertainty: Any, *, sample_weight: Any = None, **goal: Any) -> Information:
    """Whether uncertainty, or any second column, tells something about the label beyond the score near the decision.

    Parameters
    ----------
    y, score, uncertainty, sample_weight : array-like of shape (n,)
        As for :func:`limen.fit_boundary`.
    **goal
        One goal, such as ``min_precision=0.9``: it says where the decision is.

    Returns
    -------
    Information

    Examples
    --------
    >>> import limen, numpy
    >>> random = numpy.random.default_rng(1)
    >>> score, noise = random.normal(size=5000), random.normal(size=5000)
    >>> y = random.normal(size=5000) < score
    >>> found = limen.informs(y, score, noise, min_precision=0.9)
    >>> found.informs, found.why.endswith("one threshold")
    (False, True)
    """
    chosen_by = fit_boundary(y, score, uncertainty, sample_weight=sample_weight, method="auto", **goal).chosen_by
    two_columns = next((entry for entry in chosen_by["candidates"] if entry["method"] == "smooth"), None)
    gain, error = (two_columns["gain"], two_columns["gain_se"]) if two_columns else (0.0, 0.0)
    return Information(
        informs=chosen_by["information_p"] < 0.01,
        p_value=chosen_by["information_p"],
        gain=gain,
        gain_interval=(gain - 1.96 * error, gain + 1.96 * error),
        why=chosen_by["why"],
    )
