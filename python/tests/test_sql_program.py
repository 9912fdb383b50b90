# SPDX-License-Identifier: MIT
"""limen sql counts: a fit through any engine, pass by pass, with files between them."""

from __future__ import annotations

import limen
import pytest
from engine_rows import make_rows

pytestmark = pytest.mark.engines
duckdb = pytest.importorskip("duckdb")


def fit_by_passes(program, connection, *flags):
    """Runs every query that the program prints in the engine, until a boundary comes out."""
    command = ("sql", "counts", "--dialect", "duckdb", "--state", "s.json", "-o", "b.json", *flags)
    sql = program(*command)
    for passes in range(1, 60):
        answer = program.folder / f"answer{passes}.csv"
        connection.execute(f"COPY ({sql}) TO '{answer}' (HEADER, DELIMITER ',')")
        sql = program(*command, "--answer", answer)
        if not sql.startswith("SELECT"):
            assert "written to b.json" in sql
            return limen.Boundary.load(program.folder / "b.json"), passes
    raise AssertionError("it never ends")


@pytest.mark.parametrize("options", [{}, {"confidence_level": 0.9}], ids=["fitted", "certified"])
def test_the_program_fits_pass_by_pass(program, options):
    y, s, u = make_rows("smooth", 20_000)
    with duckdb.connect() as connection:
        import pandas

        frame = pandas.DataFrame({"label": y, "score": s, "uncertainty": u})  # noqa: F841
        connection.execute("CREATE TABLE holdout AS SELECT * FROM frame")
        flags = ("--confidence", "0.9") if options else ()
        found, passes = fit_by_passes(program, connection, "--from", "holdout", "--precision", "0.8", *flags)
    assert found == limen.fit_boundary(y, s, u, min_precision=0.8, **options)
    assert 3 < passes < 30
    # A state goes on as it began, and an answer is taken once.
    wrong = program("sql", "counts", "--from", "holdout", "--precision", "0.7", "--state", "s.json", code=2)
    assert "was begun with other flags" in wrong


def test_what_is_wrong_is_said(program):
    assert "--state: is needed" in program("sql", "counts", "--from", "t", "--precision", "0.8", code=2)
    assert "must be one of ansi" in program(
        "sql", "counts", "--from", "t", "--precision", "0.8", "--dialect", "x", "--state", "s.json", code=2
    )
    (program.folder / "bad.json").write_text("{}")
    assert "is no state of limen sql counts" in program(
        "sql", "counts", "--from", "t", "--precision", "0.8", "--state", "bad.json", code=2
    )
    program("sql", "counts", "--from", "t", "--precision", "0.8", "--state", "s.json")
    (program.folder / "a.csv").write_text(
        "all_rows,wrong_labels,complete_rows,positives,least_score,greatest_score,least_uncertainty,greatest_uncertainty\n"
        "10,0,7,3,0,1,0,1\n"
    )
    command = ("sql", "counts", "--from", "t", "--precision", "0.8", "--state", "s.json", "--answer", "a.csv")
    assert "3 rows have a missing or infinite" in program(*command, code=2)
