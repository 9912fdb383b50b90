# SPDX-License-Identifier: MIT
"""Fits, judges and uses boundaries where the rows are: on Apache Spark. Needs ``limen[spark]``.

Executors count, the driver solves: every pass is one aggregation by group and bucket, of which only counts are shuffled.
No row is collected and no Python runs on an executor.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.feature import Bucketizer
from pyspark.sql import functions as F
from pyspark.sql import types as T

from limen import _core, _counted
from limen._boundary import Boundary, Evaluation, _evaluation
from limen._errors import InfeasibleError
from limen._fit import Number

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Consistency", "compare", "decision_column", "evaluate", "fit_boundary", "level_column", "monitor"]

_MOST = float(np.finfo(np.float64).max)


# ---- Decisions ----


def _quoted(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _column(given: str | Column) -> Column:
    return (_quoted(given) if isinstance(given, str) else given).cast("double")


def level_column(boundary: Boundary, uncertainty: str | Column | None = None) -> Column:
    """The level of each row: the number of edges at or below its uncertainty. NULL where that is missing.

    Parameters
    ----------
    boundary : Boundary
    uncertainty : str or Column, optional
        None: the column that the boundary names.
    """
    boundary = _counted.plain_rule(boundary, "level_column")
    value = _column(boundary.uncertainty_column if uncertainty is None else uncertainty)
    edges = boundary.uncertainty_edges.tolist()

    def search(first: int, last: int) -> Column:
        if first == last:
            return F.lit(first)
        half = (first + last) // 2
        return F.when(value < F.lit(edges[half]), search(first, half)).otherwise(search(half + 1, last))

    return F.when(_is_finite(value), search(0, len(edges)))


def decision_column(
    boundary: Boundary, score: str | Column | None = None, uncertainty: str | Column | None = None
) -> Column:
    """Whether each row is positive, as :meth:`limen.Boundary.decide` says; NULL where score or uncertainty is missing or
    not finite. A native expression: no Python on the executors.

    Parameters
    ----------
    boundary : Boundary
    score, uncertainty : str or Column, optional
        None: the columns that the boundary names.

    Examples
    --------
    ``df.withColumn("decision", limen.spark.decision_column(boundary))``
    """
    boundary = _counted.plain_rule(boundary, "decision_column")
    value = _column(boundary.score_column if score is None else score)
    other = _column(boundary.uncertainty_column if uncertainty is None else uncertainty)
    edges, thresholds = boundary.uncertainty_edges.tolist(), boundary.score_thresholds.tolist()

    def of_level(level: int) -> Column:
        return F.lit(False) if np.isnan(thresholds[level]) else value >= F.lit(thresholds[level])

    def search(first: int, last: int) -> Column:
        if first == last:
            return of_level(first)
        half = (first + last) // 2
        return F.when(other < F.lit(edges[half]), search(first, half)).otherwise(search(half + 1, last))

    return F.when(_is_finite(value) & _is_finite(other), search(0, len(edges)))


def _is_finite(value: Column) -> Column:
    return value.between(F.lit(-_MOST), F.lit(_MOST))


# ---- Counts ----


def _check_columns(df: DataFrame, score: str, uncertainty: str, label: str) -> None:
    """Refuses a missing column, or one of a wrong type, before anything is counted."""
    types = {field.name: field.dataType for field in df.schema.fields}
    for name in (score, uncertainty, label):
        if name not in types:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(repr, df.columns))}")
    for name in (score, uncertainty):
        if not isinstance(types[name], T.NumericType):
            raise ValueError(f"column {name!r} is of type {types[name].simpleString()}, must be a number")
    if not isinstance(types[label], (T.NumericType, T.BooleanType, T.StringType)):
        raise ValueError(
            f"column {label!r} is of type {types[label].simpleString()}, must be a number, boolean or text"
        )


def _label_value(df: DataFrame, label: str, positive: str | None) -> Column:
    """1, 0, or NULL for anything else."""
    column = _quoted(label)
    if positive is not None:
        text = column.cast("string")
        return F.when(text == F.lit(positive), F.lit(1)).when(column.isNotNull(), F.lit(0))
    kind = df.schema[label].dataType
    if isinstance(kind, T.BooleanType):
        return F.when(column, F.lit(1)).when(~column, F.lit(0))
    if isinstance(kind, T.StringType):
        text = F.lower(column)
        return F.when(text.isin("1", "true", "yes"), F.lit(1)).when(text.isin("0", "false", "no"), F.lit(0))
    return F.when(column == 1, F.lit(1)).when(column == 0, F.lit(0))


def _plain(df: DataFrame, score: str, uncertainty: str, label: str, positive: str | None) -> DataFrame:
    """Columns s, u, y (1, 0 or NULL) and whether there was a label that is neither. Adding 0 makes 0 of -0."""
    value = _label_value(df, label, positive)
    return df.select(
        (_column(score) + F.lit(0.0)).alias("s"),
        (_column(uncertainty) + F.lit(0.0)).alias("u"),
        value.cast("int").alias("y"),
        (_quoted(label).isNotNull() & value.isNull()).alias("wrong"),
    )


def _complete() -> Column:
    return F.col("y").isNotNull() & _is_finite(F.col("s")) & _is_finite(F.col("u"))


def _overview(plain: DataFrame) -> _counted.Overview:
    complete = _complete()

    def of(name: str) -> Column:
        return F.when(complete, F.col(name))

    row = plain.agg(
        F.count(F.lit(1)),
        F.count(F.when(F.col("wrong"), 1)),
        F.count(F.when(complete, 1)),
        F.sum(of("y")),
        F.min(of("s")),
        F.max(of("s")),
        F.min(of("u")),
        F.max(of("u")),
    ).first()
    return _counted.Overview.of(row)


def _with_bucket(rows: DataFrame, column: str, cuts: list[float], name: str) -> DataFrame:
    """The number of cuts at or below a column, by a binary search that runs in the engine."""
    if not cuts:
        return rows.withColumn(name, F.lit(0))
    if len(cuts) <= 8:
        found = F.lit(0)
        for cut in cuts:
            found = found + (F.col(column) >= F.lit(cut)).cast("int")
        return rows.withColumn(name, found)
    splits = [-float("inf"), *cuts, float("inf")]
    bucketed = Bucketizer(splits=splits, inputCol=column, outputCol=name, handleInvalid="error").transform(rows)
    return bucketed.withColumn(name, F.col(name).cast("int"))


def _count(rows: DataFrame, query: _core.CountQuery) -> list[tuple]:
    value, other = ("s", "u") if query.value == "score" else ("u", "s")
    grouped = _with_bucket(rows, other, query.group_cuts, "g")
    counts = [F.count(F.lit(1)), F.sum("y")]
    if query.spans:
        wanted = F.lit(False)
        for group, low, high in query.spans:
            wanted = wanted | ((F.col("g") == group) & F.col(value).between(F.lit(low), F.lit(high)))
        cells = grouped.where(wanted).groupBy("g", value).agg(*counts).collect()
        return [(g, 0, n, p, x, x) for g, x, n, p in cells]
    bucketed = _with_bucket(grouped, value, query.value_cuts, "b")
    if not query.extremes:
        cells = bucketed.groupBy("g", "b").agg(*counts).collect()
        return [(g, b, n, p, 0.0, 0.0) for g, b, n, p in cells]
    cells = bucketed.groupBy("g", "b").agg(*counts, F.min(value), F.max(value)).collect()
    return [tuple(cell) for cell in cells]


def _in_few_tasks(rows: DataFrame) -> DataFrame:
    """Every task sends the counts of all its cells: a few tasks for each core send fewer than one for each partition.
    Rows stay where they are."""
    cores = getattr(getattr(rows.sparkSession, "_sc", None), "defaultParallelism", None)
    return rows if cores is None else rows.coalesce(max(1, 4 * cores))


def _counted_rows(
    df: DataFrame, score: str, uncertainty: str, label: str, positive: str | None, drop_missing: bool
) -> tuple[DataFrame, tuple]:
    _check_columns(df, score, uncertainty, label)
    plain = _plain(df, score, uncertainty, label, positive)
    overview = _overview(plain).checked(drop_missing)
    rows = plain.where(_complete()) if drop_missing else plain
    return _in_few_tasks(rows.select("s", "u", "y")), overview


def fit_boundary(
    df: DataFrame,
    *,
    score: str = "score",
    uncertainty: str = "uncertainty",
    label: str = "label",
    positive: str | None = None,
    min_precision: Number | None = None,
    min_recall: Number | None = None,
    max_false_positive_rate: Number | None = None,
    max_flag_rate: Number | None = None,
    cost: tuple[Number, Number] | None = None,
    f_beta: Number | None = None,
    method: str = "auto",
    levels: int | None = None,
    levels_from: str = "top",
    confidence_level: float | None = None,
    random_state: int = 0,
    drop_missing: bool = False,
) -> Boundary:
    """Find the best boundary on the labelled rows of a DataFrame.

    Every pass goes through the rows once: about five for ``st``, twenty for ``auto``. Cache a DataFrame that is expensive
    to make, or write it to a table first; one that comes out differently each time is refused.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    score, uncertainty, label : str
        Names of columns; labels are numbers 0 and 1, truth values, or the texts 0, 1, true, false, yes, no.
    positive : str, optional
        The label that is positive, as text; any other is not.
    min_precision, min_recall, max_false_positive_rate, max_flag_rate, cost, f_beta
        Exactly one goal, as for :func:`limen.fit_boundary`.
    method : {"auto", "st", "exact"}, with ``confidence_level`` also "smooth" and "joint"
    levels, levels_from, confidence_level, random_state
        As for :func:`limen.fit_boundary`.
    drop_missing : bool
        Leave out rows with a missing or infinite number, or without a label; else they are refused, with their number.

    Returns
    -------
    Boundary
        As :func:`limen.fit_boundary` gives on the same rows, bit for bit, however they are partitioned.
    """
    rows, overview = _counted_rows(df, score, uncertainty, label, positive, drop_missing)
    return _counted.fit(
        overview,
        lambda query: _count(rows, query),
        goal=_counted.goals(
            min_precision=min_precision,
            min_recall=min_recall,
            max_false_positive_rate=max_false_positive_rate,
            max_flag_rate=max_flag_rate,
            cost=cost,
            f_beta=f_beta,
        ),
        method=method,
        levels=levels,
        levels_from=levels_from,
        confidence_level=confidence_level,
        random_state=random_state,
    )


# ---- Judgement ----


def evaluate(
    df: DataFrame,
    boundary: Boundary,
    *,
    score: str | None = None,
    uncertainty: str | None = None,
    label: str = "label",
    positive: str | None = None,
    confidence_level: float = 0.95,
    drop_missing: bool = False,
) -> Evaluation:
    """Precision and recall on the labelled rows of a DataFrame, with exact intervals, in all and for each level: what
    :meth:`limen.Boundary.evaluate` gives. One pass."""
    boundary = _counted.plain_rule(boundary, "evaluate")
    score = boundary.score_column if score is None else score
    uncertainty = boundary.uncertainty_column if uncertainty is None else uncertainty
    _check_columns(df, score, uncertainty, label)
    plain = _plain(df, score, uncertainty, label, positive)
    level = level_column(boundary, F.col("u"))
    flagged = decision_column(boundary, F.col("s"), F.col("u"))
    complete = _complete()
    cells = (
        plain.select(F.when(complete, level).alias("level"), flagged.alias("flagged"), "y", "wrong")
        .groupBy("level")
        .agg(
            F.count(F.lit(1)),
            F.count(F.when(F.col("wrong"), 1)),
            F.sum("y"),
            F.sum(F.col("flagged").cast("int")),
            F.sum(F.col("flagged").cast("int") * F.col("y")),
        )
        .collect()
    )
    counts = np.zeros((boundary.levels, 4))
    all_rows = wrong = 0
    for at, rows, wrong_labels, positives, flags, true_positives in cells:
        all_rows += rows
        wrong += wrong_labels
        if at is not None:
            counts[at] = (rows, positives, flags, true_positives)
    kept = int(counts[:, 0].sum())
    _counted.Overview(all_rows, wrong, kept, 0, 0, 0, 0, 0).checked(drop_missing)
    confidence = float(confidence_level)
    found = _core.confusion(*counts.sum(axis=0).tolist(), confidence)
    found["levels"] = [_core.confusion(*level.tolist(), confidence) for level in counts]
    return _evaluation(found, confidence)


@dataclasses.dataclass(frozen=True)
class Consistency:
    """What :func:`limen.spark.monitor` finds: one look at a fixed set of rows."""

    evaluation: Evaluation
    constraint: str
    """``"precision"``, ``"recall"``, ``"false-positive rate"`` or ``"flag rate"``."""
    bound: float
    figure: float
    """The constraint's figure on these rows; nan where there is nothing to divide by."""
    p_value: float
    """Probability of rows as bad as these, or worse, if the bound is just kept."""
    flag_rate: float
    holdout_flag_rate: float
    """What the hold-out had."""

    @property
    def consistent(self) -> bool:
        """Whether the p-value is 5% or more."""
        return self.p_value >= 0.05


def monitor(df: DataFrame, boundary: Boundary, **options: Any) -> Consistency:
    """Whether labelled rows of deployment are consistent with the bound that a boundary was fitted for.

    One look at these rows: an exact binomial test of the bound, not the test of :class:`limen.Monitor`, which needs rows
    in the order of their arrival and may be looked at after every one of them. Looking again as rows come in needs that.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
    boundary : Boundary
    **options
        As for :func:`limen.spark.evaluate`.
    """
    found = evaluate(df, boundary, **options)
    objective = boundary.to_dict()["objective"]
    constraint, bound = objective.get("constraint"), objective.get("bound")
    rows, positives = int(found.rows), int(found.positives)
    flagged, hits = int(found.flagged), int(found.true_positives)
    trials, successes, low_is_bad = {
        "precision": (flagged, hits, True),
        "recall": (positives, hits, True),
        "fpr": (rows - positives, flagged - hits, False),
        "flag_rate": (rows, flagged, False),
    }.get(constraint, (None, None, None))
    if trials is None:
        raise ValueError(f"the objective ({boundary.objective}) has no bound that rows could be consistent with")
    lower, upper = _core.binomial_tails(successes, trials, float(bound)) if trials else (1.0, 1.0)
    holdout = boundary.holdout
    return Consistency(
        evaluation=found,
        constraint=constraint,
        bound=float(bound),
        figure=successes / trials if trials else float("nan"),
        p_value=lower if low_is_bad else upper,
        flag_rate=flagged / rows if rows else float("nan"),
        holdout_flag_rate=holdout.flagged / holdout.weight,
    )


def compare(
    holdout: DataFrame,
    test: DataFrame,
    *,
    methods: tuple[str, ...] = ("st", "auto"),
    score: str = "score",
    uncertainty: str = "uncertainty",
    label: str = "label",
    positive: str | None = None,
    drop_missing: bool = False,
    **options: Any,
) -> dict[str, tuple[Boundary | None, Evaluation | None]]:
    """Fits methods on one DataFrame and judges each on another.

    Parameters
    ----------
    holdout, test : pyspark.sql.DataFrame
    methods : tuple of {"st", "exact", "auto"}
    score, uncertainty, label, positive, drop_missing
        Of both.
    **options
        A goal, and what else :func:`limen.spark.fit_boundary` takes.

    Returns
    -------
    dict
        For each method its boundary and what it comes to on test; None and None where the goal cannot be met.
    """
    columns = {"score": score, "uncertainty": uncertainty, "label": label, "positive": positive}
    columns["drop_missing"] = drop_missing
    found: dict[str, tuple[Boundary | None, Evaluation | None]] = {}
    for method in methods:
        try:
            boundary = fit_boundary(holdout, method=method, **columns, **options)
        except InfeasibleError:
            found[method] = (None, None)
            continue
        found[method] = (boundary, evaluate(test, boundary, **columns))
    return found
