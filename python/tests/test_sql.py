# SPDX-License-Identifier: MIT
"""limen.sql on DuckDB and PostgreSQL: the boundary of rows in memory, from counts alone."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import limen
import numpy as np
import pytest
from engine_rows import FITS, SHAPES, fitted, make_rows

pytestmark = pytest.mark.engines
duckdb = pytest.importorskip("duckdb")
psycopg = pytest.importorskip("psycopg")

import limen.sql  # noqa: E402


class Watched:
    """A DB-API connection that notes what was asked and how much came back."""

    def __init__(self, connection):
        self.connection, self.statements, self.most_rows = connection, [], 0
        self.__class__.__module__ = type(connection).__module__

    def cursor(self):
        watched, cursor = self, self.connection.cursor()

        class Cursor:
            def execute(self, sql):
                watched.statements.append(sql)
                cursor.execute(sql)

            def fetchall(self):
                rows = cursor.fetchall()
                watched.most_rows = max(watched.most_rows, len(rows))
                return rows

            def close(self):
                cursor.close()

        return Cursor()


@pytest.fixture(scope="module")
def duck():
    with duckdb.connect() as connection:
        yield connection


@pytest.fixture(scope="module")
def postgres():
    """A server of its own, on a free port of this machine; not as root, which it refuses to run as."""
    found = shutil.which("initdb") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    if found is None:
        pytest.skip("PostgreSQL is not there: scripts/setup installs it")
    folder = Path(found).resolve().parent
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="limen-postgres-") as home:
        if user:
            entry = pwd.getpwnam("nobody")
            os.chown(home, entry.pw_uid, entry.pw_gid)
        data = f"{home}/data"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home, **user}
        subprocess.run([folder / "initdb", "-D", data, "-U", "limen", "-A", "trust", "-N"], check=True, **quiet)
        options = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}"]
        server = subprocess.Popen([folder / "postgres", "-D", data, *options, "-c", "fsync=off"], **quiet)
        try:
            for attempt in range(200):
                try:
                    connection = psycopg.connect(f"host=127.0.0.1 port={port} user=limen dbname=postgres")
                    break
                except psycopg.OperationalError:
                    if server.poll() is not None or attempt == 199:
                        raise
                    time.sleep(0.05)
            with connection:
                yield connection
        finally:
            server.terminate()
            server.wait(timeout=30)


def to_duck(connection, name, y, s, u):
    kind = "FLOAT" if s.dtype == np.float32 else "DOUBLE"
    table = {"label": y, "score": s, "uncertainty": u}  # noqa: F841 (DuckDB finds it by name)
    connection.execute(f"CREATE OR REPLACE TABLE {name} (label TINYINT, score {kind}, uncertainty {kind})")
    import pandas

    frame = pandas.DataFrame(table)  # noqa: F841
    connection.execute(f"INSERT INTO {name} SELECT label, score, uncertainty FROM frame")


def to_postgres(connection, name, y, s, u):
    kind = "real" if s.dtype == np.float32 else "float8"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(f"CREATE TABLE {name} (label smallint, score {kind}, uncertainty {kind})")
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(y.tolist(), s.tolist(), u.tolist(), strict=True):
                copy.write_row(row)


@pytest.mark.parametrize("shape", SHAPES)
def test_duckdb_counts_to_the_same_boundary(duck, shape):
    for size in (300, 40_000 if shape in ("smooth", "tied") else 3000):
        y, s, u = make_rows(shape, size)
        to_duck(duck, "rows", y, s, u)
        for options in FITS:
            watched = Watched(duck)
            there = fitted(limen.sql.fit_boundary, watched, "rows", dialect="duckdb", **options)
            assert there == fitted(limen.fit_boundary, y, s, u, **options), (size, options)
            assert 3 < len(watched.statements) < 50
            assert all(sql.startswith("SELECT") for sql in watched.statements)


@pytest.mark.parametrize("shape", SHAPES)
def test_postgresql_counts_to_the_same_boundary(postgres, shape):
    y, s, u = make_rows(shape, 4000)
    to_postgres(postgres, "rows", y, s, u)
    for options in FITS:
        there = fitted(limen.sql.fit_boundary, postgres, "rows", **options)
        assert there == fitted(limen.fit_boundary, y, s, u, **options), options


def test_only_counts_leave_the_database(duck):
    # Of 400,000 rows with 400,000 distinct scores, no answer has more than some ten thousand entries.
    y, s, u = make_rows("smooth", 400_000)
    to_duck(duck, "many", y, s, u)
    for options in ({}, {"confidence_level": 0.95}):
        watched = Watched(duck)
        found = limen.sql.fit_boundary(watched, "many", min_precision=0.8, dialect="duckdb", **options)
        assert found == limen.fit_boundary(y, s, u, min_precision=0.8, **options)
        assert watched.most_rows < (150_000 if options else 70_000)


def test_a_query_and_kinds_of_labels(duck, postgres):
    y, s, u = make_rows("smooth", 3000)
    to_duck(duck, "rows", y, s, u)
    to_postgres(postgres, "rows", y, s, u)
    expected = limen.fit_boundary(y[s > 0.2], s[s > 0.2], u[s > 0.2], min_precision=0.8)
    for connection in (duck, postgres):
        for label in ("label = 1", "label", "CASE WHEN label = 1 THEN 'Yes' ELSE 'no' END", "label * 1.0"):
            query = f"SELECT {label} AS truth, score AS p, uncertainty AS d FROM rows WHERE score > 0.2;"
            found = limen.sql.fit_boundary(
                connection, query, label="truth", score="p", uncertainty="d", min_precision=0.8
            )
            assert found == expected
        query = "SELECT CASE WHEN label = 1 THEN 'it''s \\ fraud' ELSE 'fine' END AS label, score, uncertainty FROM rows WHERE score > 0.2"
        found = limen.sql.fit_boundary(connection, query, positive="it's \\ fraud", min_precision=0.8)
        assert found == expected


def test_duckdb_finds_what_belongs_to_the_connection(duck):
    y, s, u = make_rows("smooth", 500)
    duck.execute("CREATE OR REPLACE TEMP TABLE passing (label TINYINT, score DOUBLE, uncertainty DOUBLE)")
    duck.executemany("INSERT INTO passing VALUES (?, ?, ?)", list(zip(y.tolist(), s.tolist(), u.tolist(), strict=True)))
    found = limen.sql.fit_boundary(duck, "passing", min_precision=0.8, method="st")
    assert found == limen.fit_boundary(y, s, u, min_precision=0.8, method="st")


def test_hostile_names_are_names(duck, postgres):
    y, s, u = make_rows("smooth", 500)
    hostile = 'a"; DROP TABLE hostile; --'
    expected = limen.fit_boundary(y, s, u, min_precision=0.8, method="st")
    for connection, fill in ((duck, to_duck), (postgres, to_postgres)):
        fill(connection, "hostile", y, s, u)
        quoted = '"' + hostile.replace('"', '""') + '"'
        cursor = connection.cursor()
        cursor.execute(f"ALTER TABLE hostile RENAME COLUMN score TO {quoted}")
        found = limen.sql.fit_boundary(connection, "hostile", score=hostile, min_precision=0.8, method="st")
        assert found == expected
        cursor.execute(f"ALTER TABLE hostile RENAME TO {quoted}")
        found = limen.sql.fit_boundary(connection, hostile, score=hostile, min_precision=0.8, method="st")
        assert found == expected
        cursor.execute(f"SELECT count(*) FROM {quoted}")
        assert cursor.fetchall()[0][0] == 500
        cursor.execute(f"DROP TABLE {quoted}")


def test_what_is_wrong_is_said_before_anything_is_counted(duck):
    y, s, u = make_rows("smooth", 200)
    to_duck(duck, "rows", y, s, u)
    for names in ({"score": "nothing"}, {"label": "nothing"}):
        watched = Watched(duck)
        with pytest.raises(duckdb.Error):
            limen.sql.fit_boundary(watched, "rows", min_precision=0.8, dialect="duckdb", **names)
        assert len(watched.statements) == 1 and "WHERE 1 = 0" in watched.statements[0]
    with pytest.raises(ValueError, match="cannot have weights"):
        limen.sql.fit_boundary(duck, "rows", weight="w", min_precision=0.8)
    with pytest.raises(ValueError, match='dialect is "nonsense", must be one of ansi'):
        limen.sql.fit_boundary(duck, "rows", min_precision=0.8, dialect="nonsense")
    with pytest.raises(ValueError, match="exactly one"):
        limen.sql.fit_boundary(duck, "rows")
    with pytest.raises(ValueError, match="no rows"):
        limen.sql.fit_boundary(duck, "SELECT * FROM rows WHERE score > 9", min_precision=0.8)
    with pytest.raises(ValueError, match="100 labels of 200 rows are neither"):
        limen.sql.fit_boundary(
            duck, "SELECT score, uncertainty, row_number() OVER () % 2 * 7 AS label FROM rows", min_precision=0.8
        )
    with pytest.raises(ValueError, match="no row is positive"):
        limen.sql.fit_boundary(duck, "SELECT score, uncertainty, 0 AS label FROM rows", min_precision=0.8)


def test_missing_values_are_refused_with_their_number_or_left_out(duck, postgres):
    y, s, u = make_rows("smooth", 2000)
    kept = np.arange(2000) >= 50
    expected = limen.fit_boundary(y[kept], s[kept], u[kept], min_precision=0.8)
    for connection, fill in ((duck, to_duck), (postgres, to_postgres)):
        fill(connection, "gaps", y, s, u)
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE numbered AS SELECT row_number() OVER () AS place, * FROM gaps")
        for at, (column, value) in enumerate(
            [
                ("score", "NULL"),
                ("score", "'NaN'"),
                ("uncertainty", "'Infinity'"),
                ("label", "NULL"),
                ("score", "'-Infinity'"),
            ]
        ):
            cursor.execute(
                f"UPDATE numbered SET {column} = {value} WHERE place > {10 * at} AND place <= {10 * at + 10}"
            )
        with pytest.raises(ValueError, match="50 rows of 2,000 have a missing or infinite"):
            limen.sql.fit_boundary(connection, "numbered", min_precision=0.8)
        assert limen.sql.fit_boundary(connection, "numbered", min_precision=0.8, drop_missing=True) == expected
        cursor.execute("DROP TABLE numbered")


def test_rows_that_change_meanwhile_are_refused(duck):
    y, s, u = make_rows("smooth", 30_000)
    to_duck(duck, "moving", y, s, u)

    class Changing(Watched):
        def cursor(self):
            if len(self.statements) == 5:
                self.connection.execute("DELETE FROM moving WHERE score > 0.999")
            return super().cursor()

    with pytest.raises(ValueError, match="the counts contradict each other"):
        limen.sql.fit_boundary(Changing(duck), "moving", min_precision=0.8, dialect="duckdb")
