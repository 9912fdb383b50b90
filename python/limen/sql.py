# SPDX-License-Identifier: MIT
"""Fits boundaries on rows that stay in a database: it counts, and only counts leave it.

Any SQL engine with a DB-API connection serves. Every pass is one ``SELECT ... GROUP BY`` whose answer is a small table
of counts; the boundary is the one that :func:`limen.fit_boundary` gives for the same rows, bit for bit.
"""

from __future__ import annotations

from typing import Any

from limen import _core, _counted
from limen._boundary import Boundary
from limen._fit import Number

__all__ = ["fit_boundary"]

_DIALECTS = {
    "duckdb": "duckdb",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pg8000": "postgres",
    "asyncpg": "postgres",
    "snowflake": "snowflake",
    "google": "bigquery",
    "databricks": "spark",
    "pyhive": "spark",
}


def _module(connection: Any) -> str:
    return type(connection).__module__.lstrip("_").split(".")[0]


def _dialect(connection: Any, given: str | None) -> str:
    if given is not None:
        return given
    return _DIALECTS.get(_module(connection), "ansi")


def _run(connection: Any, sql: str) -> list[tuple]:
    # A cursor of DuckDB is another connection, which does not see temporary tables and registered frames.
    if _module(connection) == "duckdb" and hasattr(connection, "execute"):
        return connection.execute(sql).fetchall()
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        return cursor.fetchall()
    finally:
        cursor.close()


def _label_kind(connection: Any, rows: _core.SqlRows, label: str, dialect: str, source: str) -> str:
    """By the value of one label that is there."""
    name = _core.quote_sql_name(label, dialect)
    found = _run(connection, f"SELECT {name} FROM {source} WHERE {name} IS NOT NULL LIMIT 1")
    value = found[0][0] if found else 0
    if isinstance(value, bool):
        return "boolean"
    return "text" if isinstance(value, str) else "number"


def fit_boundary(
    connection: Any,
    query: str,
    *,
    score: str = "score",
    uncertainty: str = "uncertainty",
    label: str = "label",
    weight: str | None = None,
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
    dialect: str | None = None,
) -> Boundary:
    """Find the best boundary on labelled rows of a database.

    Parameters
    ----------
    connection : DB-API connection
        Only ``SELECT`` statements are run. Rows must not change meanwhile: counts that contradict each other are refused;
        a transaction of isolation level ``REPEATABLE READ`` keeps them as they are.
    query : str
        A query, or the name of a table (``"schema.table"``).
    score, uncertainty, label : str
        Names of columns. They are quoted.
    weight : str, optional
        Rows with weights are refused.
    positive : str, optional
        The label that is positive, as text; any other is not.
    min_precision, min_recall, max_false_positive_rate, max_flag_rate, cost, f_beta
        Exactly one goal, as for :func:`limen.fit_boundary`.
    method : {"auto", "st", "exact"}, with ``confidence_level`` also "smooth" and "joint"
    levels, levels_from, confidence_level, random_state
        As for :func:`limen.fit_boundary`.
    drop_missing : bool
        Leave out rows with a missing or infinite number, or without a label; else they are refused, with their number.
    dialect : {"ansi", "spark", "duckdb", "postgres", "bigquery", "snowflake", "trino"}, optional
        None: by the connection's type.

    Returns
    -------
    Boundary
        As :func:`limen.fit_boundary` gives on the same rows, bit for bit.
    """
    if weight is not None:
        raise ValueError("rows that are counted in a database cannot have weights: leave out weight")
    dialect = _dialect(connection, dialect)
    common = (query, score, uncertainty, label)
    rows = _core.SqlRows(*common, "number", positive, bool(drop_missing), dialect)
    # A missing column, or one that is no number, is refused here, before anything is counted.
    _run(connection, rows.probe())
    kind = "number" if positive is not None else _label_kind(connection, rows, label, dialect, rows.source())
    rows = _core.SqlRows(*common, kind, positive, bool(drop_missing), dialect)
    overview = _counted.Overview.of(_run(connection, rows.overview())[0]).checked(drop_missing)

    def count(asked: _core.CountQuery) -> _counted.Cells:
        return [
            (int(group), int(bucket), int(size), int(positives), float(least), float(greatest))
            for group, bucket, size, positives, least, greatest in _run(connection, rows.count(asked))
        ]

    return _counted.fit(
        overview,
        count,
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
