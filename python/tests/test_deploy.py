# SPDX-License-Identifier: MIT
"""Every engine decides as the C++ library does: the same rows, the same decisions and levels."""

import re
import shutil
import subprocess

import limen
import numpy as np
import pytest
from boundaries import expected_of, make_boundary, make_segments, numbers_of, random_boundary, rows_beside
from engines import postgres, spark  # noqa: F401, fixtures

MILLION = 1_000_000
DIALECTS = ["ansi", "spark", "duckdb", "postgres", "bigquery", "snowflake", "trino"]
# Values and names that would end a literal, begin a comment or be replaced, were they not quoted.
HOSTILE = [
    "it's", 'quo"te', "back\\slash", "\\", "\\' OR 1=1 --", "'; DROP TABLE rows; --", "/* comment */", "*/", "new\nline", "tab\t",
    "`tick`", "${env:HOME}", "ünïcode \U0001f600", "%s %(x)s", "{{ x }}", ":name", "?", "$$", "$1", "E'x'", " blanks ", "??/",
]  # fmt: skip


def parts_with_gaps(random, numbers, rows):
    """Score and uncertainty, double and single, with NaN, infinite and (as a mask) missing values."""
    columns = {}
    for name, dtype in {"s": np.float64, "u": np.float64, "s4": np.float32, "u4": np.float32}.items():
        column = rows_beside(random, numbers, rows, dtype)
        special = random.random(rows)
        column[special < 0.004] = np.nan
        column[(special > 0.004) & (special < 0.006)] = np.inf
        column[(special > 0.006) & (special < 0.008)] = -np.inf
        columns[name] = column, np.isnan(column) & (random.random(rows) < 0.5)
    return columns


class Rows:
    """A table on and beside the numbers of many boundaries; NaN in an array stands for NULL too."""

    def __init__(self, rows, seed):
        random = np.random.default_rng(seed)
        self.numbers = numbers_of(random, 150)
        parts = parts_with_gaps(random, self.numbers, rows)
        self.column = {name: values for name, (values, _) in parts.items()}
        self.is_null = {name: null for name, (_, null) in parts.items()}
        texts = np.array(["DE", "FR", "PL", "never seen", "", None, *HOSTILE], dtype=object)
        self.column["market"] = random.choice(texts, rows)
        self.random = random

    def boundaries(self, levels):
        return [random_boundary(self.random, self.numbers, count) for count in levels]

    def arrow(self):
        import pyarrow

        return pyarrow.table(
            {name: pyarrow.array(values, mask=self.is_null.get(name)) for name, values in self.column.items()}
        )

    def expected(self, boundary, score="s", uncertainty="u"):
        return expected_of(boundary, self.column[score], self.column[uncertainty])

    def expected_in_segments(self, boundary):
        score, uncertainty = self.column["s"], self.column["u"]
        if not boundary._fitted.uses_uncertainty:
            uncertainty = np.zeros(len(score))
        return expected_of(boundary, score, uncertainty, self.column["market"])


@pytest.fixture(scope="module")
def many():
    return Rows(MILLION, seed=1)


@pytest.fixture(scope="module")
def few():
    return Rows(20_000, seed=2)


def rules(numbers, random):
    """Segments with hostile values, with and without levels, a pool, and both ways to decide what was never seen."""

    def rule(levels):
        edges = sorted(map(float, random.choice(numbers, levels - 1, replace=False)))
        return edges, [None if random.random() < 0.2 else float(random.choice(numbers)) for _ in range(levels)]

    own = {value: rule(1 + at % 4) for at, value in enumerate(["DE", "FR", *HOSTILE[::2]])}
    flat = {value: rule(1) for value in own}
    pool = (["PL", *HOSTILE[1::2]], *rule(12))
    return [
        make_segments(own),
        make_segments(own, pool),
        make_segments(own, pool, unseen="as pooled"),
        make_segments(flat, (pool[0], *rule(1))),
        make_segments({}, pool, unseen="as pooled"),
        make_segments({}, (pool[0], *rule(1)), unseen="as pooled"),
        make_segments({}, pool),
    ]


def columns_of(boundary, score, uncertainty, dialect, segment=None):
    """Decision and level as one list of expressions, with numbers in the place of NULL."""
    names = {"score": score, "uncertainty": uncertainty, "dialect": dialect, "segment": segment}
    decision, level = (boundary.to_sql(**names, what=what) for what in ("decision", "level"))
    return [f"COALESCE({decision}, -1)", f"COALESCE({level}, -2)"]


def check_engine(run, rows, many_rows, dialect, levels=(*range(1, 20), 30, 64, 65, 99, 100)):
    """run(rows or many_rows, expressions) gives an array for each expression."""
    # One big table: one, a few and a hundred levels, in double and in single precision.
    big = many_rows.boundaries([1, 7, 100])
    for score, uncertainty in (("s", "u"), ("s4", "u4")):
        wanted = [part for boundary in big for part in many_rows.expected(boundary, score, uncertainty)]
        asked = [part for boundary in big for part in columns_of(boundary, score, uncertainty, dialect)]
        for number, (found, right) in enumerate(zip(run(many_rows, asked), wanted, strict=True)):
            assert (found == right).all(), (dialect, score, number, np.flatnonzero(found != right)[:5])
        assert all(len(np.unique(part)) >= 3 for part in wanted[::2])  # refused, negative and positive rows
    # Many boundaries on a small one.
    boundaries = rows.boundaries(levels)
    asked = [part for boundary in boundaries for part in columns_of(boundary, "s", "u4", dialect)]
    wanted = [part for boundary in boundaries for part in rows.expected(boundary, "s", "u4")]
    for number, (found, right) in enumerate(zip(run(rows, asked), wanted, strict=True)):
        assert (found == right).all(), (dialect, number, np.flatnonzero(found != right)[:5])
    check_segments(run, rows, dialect)


def check_segments(run, rows, dialect):
    boundaries = rules(rows.numbers, rows.random)
    asked = [part for boundary in boundaries for part in columns_of(boundary, "s", "u", dialect, "market")]
    wanted = [part for boundary in boundaries for part in rows.expected_in_segments(boundary)]
    for number, (found, right) in enumerate(zip(run(rows, asked), wanted, strict=True)):
        assert (found == right).all(), (dialect, number, np.flatnonzero(found != right)[:5])


def check_reasons(reasons, rows, boundary):
    """A reason says the row's level, and how its score stands to the threshold there."""
    decision, level = rows.expected(boundary)
    seen = set()
    for at, (reason, positive, found) in enumerate(zip(reasons, decision, level, strict=True)):
        if positive < 0:
            assert reason is None, at
            continue
        match = re.fullmatch(r"level (\d+): (never flagged|score (>=|<) (\S+))", reason)
        assert int(match[1]) == found
        threshold = boundary.score_thresholds[found]
        if match[2] == "never flagged":
            assert np.isnan(threshold)
        else:
            assert float(match[4]) == threshold
            assert (match[3] == ">=") == (positive == 1)
        seen.add(match[3])
    assert seen == {None, ">=", "<"}


# DuckDB, and by way of it the dialects whose engines cannot run here.


@pytest.mark.engines
@pytest.mark.parametrize("dialect", ["duckdb", "ansi"])
def test_duckdb_decides_as_the_library(dialect, many, few):
    duckdb = pytest.importorskip("duckdb")
    tables = {id(rows): rows.arrow() for rows in (many, few)}
    with duckdb.connect() as connection:

        def run(rows, expressions):
            names = ", ".join(f"{part} AS c{at}" for at, part in enumerate(expressions))
            connection.register("rows", tables[id(rows)])
            return list(connection.sql(f"SELECT {names} FROM rows").fetchnumpy().values())

        check_engine(run, few, many, dialect)
        (boundary,) = few.boundaries([25])
        query = boundary.to_sql("s", "u", dialect=dialect, what="query", table="rows")
        found = connection.sql(query)
        assert connection.execute("SELECT count(*) FROM rows").fetchall() == [(len(few.column["s"]),)]
        assert found.columns == [*few.column, "decision", "level", "reason"]
        check_reasons([row[0] for row in found.select("reason").fetchall()], few, boundary)


def is_double(node):
    from sqlglot import exp

    if isinstance(node, exp.Neg):
        return is_double(node.this)
    if isinstance(node, exp.Case):
        return all(is_double(part.args["true"]) for part in node.args["ifs"]) and is_double(node.args["default"])
    if isinstance(node, exp.Literal):
        return node.is_number and "e" in node.name.lower()
    return isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DOUBLE


@pytest.mark.engines
def test_duckdb_compares_bytes_and_quotes_names():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE codes (s REAL, market VARCHAR COLLATE NOCASE)")
        connection.execute("INSERT INTO codes VALUES (1, 'DE'), (1, 'de')")
        assert connection.execute("SELECT count(*) FROM codes WHERE market = 'DE'").fetchall() == [(2,)]
        for boundary in (make_segments({"DE": ([], [0.5])}), make_segments({"x": ([], [0.5])}, (["DE"], [], [0.5]))):
            expression = boundary.to_sql("s", segment="market", dialect="duckdb")
            assert connection.execute(f"SELECT {expression} FROM codes").fetchall() == [(1,), (0,)]
        for name in HOSTILE:
            quoted = '"' + name.replace('"', '""') + '"'
            connection.execute(f"CREATE TABLE {quoted} ({quoted} REAL)")
            connection.execute(f"INSERT INTO {quoted} VALUES (0.5), (0.25), (NULL)")
            query = make_boundary([], [0.3]).to_sql(name, name, dialect="duckdb", what="query", table=[name])
            assert [row[1] for row in connection.execute(query).fetchall()] == [1, 0, None], name


@pytest.mark.engines
@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "trino", "spark", "postgres"])
def test_other_dialects_parse_and_decide_as_the_library(dialect, few):
    duckdb, sqlglot = pytest.importorskip("duckdb"), pytest.importorskip("sqlglot")
    rows = few.arrow()  # noqa: F841, the query names it
    boundaries = few.boundaries([1, 2, 8, 9, 33, 100])
    asked = [part for boundary in boundaries for part in columns_of(boundary, "s4", "u", dialect)]
    wanted = [part for boundary in boundaries for part in few.expected(boundary, "s4", "u")]
    names = ", ".join(f"{part} AS c{at}" for at, part in enumerate(asked))
    (query,) = sqlglot.transpile(f"SELECT {names} FROM rows", read=dialect, write="duckdb")
    with duckdb.connect() as connection:
        found = list(connection.sql(query).fetchnumpy().values())
    for part, right in zip(found, wanted, strict=True):
        assert (part == right).all(), dialect
    for boundary in boundaries:
        query = boundary.to_sql("s", "u", dialect=dialect, what="query", table="a.b.rows")
        (tree,) = sqlglot.parse(query, read=dialect)
        assert isinstance(tree, sqlglot.exp.Select)
        assert [part.name for part in tree.find(sqlglot.exp.Table).parts] == ["a", "b", "rows"]
        # Nothing but doubles is compared: what is cast, or has an exponent.
        for node in tree.find_all(sqlglot.exp.GTE, sqlglot.exp.LT, sqlglot.exp.Between):
            assert is_double(node.this)
            for other in (node.expression, node.args.get("low"), node.args.get("high")):
                assert other is None or is_double(other), other.sql()


@pytest.mark.engines
@pytest.mark.parametrize("dialect", ["bigquery", "snowflake", "trino", "duckdb", "postgres", "ansi"])
def test_texts_and_names_stay_literals_and_names(dialect):
    sqlglot = pytest.importorskip("sqlglot")
    own = {value: ([], [0.5]) for value in HOSTILE}
    # sqlglot does not know the escapes of these in names and texts.
    unknown = {"bigquery": ("`", "\t", "\n"), "snowflake": ("\t", "\n")}.get(dialect, ())
    for name in HOSTILE:
        if any(mark in name for mark in unknown) or (dialect == "bigquery" and "\\" in name):
            continue
        query = make_segments(own).to_sql(name, "u", segment=name, dialect=dialect, what="query", table=[name])
        (tree,) = sqlglot.parse(query, read=None if dialect == "ansi" else dialect)
        assert isinstance(tree, sqlglot.exp.Select)
        assert {column.name for column in tree.find_all(sqlglot.exp.Column)} == {"*", name}
        assert tree.find(sqlglot.exp.Table).name == name
        texts = {node.expression.name for node in tree.find_all(sqlglot.exp.EQ)}
        assert {text for text in HOSTILE if not any(mark in text for mark in unknown)} <= texts


# PostgreSQL.


def _postgres_table(connection, name, rows):
    import pyarrow.csv

    types = {"s": "double precision", "u": "double precision", "s4": "real", "u4": "real", "market": "text"}
    table = rows.arrow()
    fields = ", ".join(f"{column} {kind}" for column, kind in types.items())
    connection.execute(f"CREATE UNLOGGED TABLE {name} (number bigint, {fields})")
    numbered = table.add_column(0, "number", [np.arange(len(table))])
    text = pyarrow.BufferOutputStream()
    pyarrow.csv.write_csv(numbered, text, pyarrow.csv.WriteOptions(include_header=False))
    with connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)") as copy:
        copy.write(text.getvalue().to_pybytes())


@pytest.mark.engines
def test_postgres_decides_as_the_library(postgres, many, few):  # noqa: F811
    tables = {id(many): "many", id(few): "few"}
    for rows in (many, few):
        _postgres_table(postgres, tables[id(rows)], rows)

    def run(rows, expressions):
        # Three characters for each expression, and the rows in their order.
        text = " || ".join(f"to_char({part}, 'SG99')" for part in expressions)
        query = f"COPY (SELECT {text} FROM {tables[id(rows)]} ORDER BY number) TO STDOUT"
        with postgres.cursor().copy(query) as copy:
            found = b"".join(bytes(block) for block in copy)
        values = np.frombuffer(found, dtype=np.uint8).reshape(-1, 3 * len(expressions) + 1)
        columns = []
        for at in range(len(expressions)):
            sign, tens, ones = values[:, 3 * at], values[:, 3 * at + 1], values[:, 3 * at + 2]
            size = 10 * np.where(tens == ord(" "), 0, tens - ord("0")).astype(int) + (ones - ord("0"))
            columns.append(np.where(sign == ord("-"), -size, size))
        return columns

    check_engine(run, few, many, "postgres")
    (boundary,) = few.boundaries([25])
    query = boundary.to_sql("s", "u", dialect="postgres", what="query", table="public.few")
    cursor = postgres.execute(f"SELECT * FROM ({query}) AS decided ORDER BY number")
    assert [column.name for column in cursor.description][-3:] == ["decision", "level", "reason"]
    check_reasons([row[-1] for row in cursor], few, boundary)
    # Names that must be quoted, texts whatever the meaning of a backslash, a column of fixed width, and one whose collation
    # takes upper and lower case for the same.
    ignoring_case = "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    postgres.execute(f"CREATE COLLATION ignoring_case {ignoring_case}")
    for name in HOSTILE:
        quoted = '"' + name.replace('"', '""') + '"'
        postgres.execute(f"CREATE TABLE {quoted} ({quoted} real)".encode())
        postgres.execute(f"INSERT INTO {quoted} VALUES (0.5), (0.25), (NULL)".encode())
        query = make_boundary([], [0.3]).to_sql(name, name, dialect="postgres", what="query", table=[name])
        assert [row[1] for row in postgres.execute(query.encode())] == [1, 0, None], name
        boundary = make_segments({name: ([], [-1e308])})
        expression = boundary.to_sql("s", segment="market", dialect="postgres")
        for setting in ("on", "off"):
            postgres.execute(f"SET standard_conforming_strings = {setting}")
            postgres.execute("SET escape_string_warning = off")
            found = postgres.execute(f"SELECT market, {expression} FROM few".encode()).fetchall()
            assert {market for market, decision in found if decision == 1} == {name}
    postgres.execute("SET standard_conforming_strings = on")
    postgres.execute("CREATE TABLE codes (s real, market char(4), m2 varchar(9), m3 text COLLATE ignoring_case)")
    postgres.execute("INSERT INTO codes VALUES (1, 'DE', 'DE', 'DE'), (1, 'de', 'de', 'de')")
    assert postgres.execute("SELECT count(*) FROM codes WHERE m3 = 'DE'").fetchone() == (2,)
    for column in ("market", "m2", "m3"):
        expression = make_segments({"DE": ([], [0.5])}).to_sql("s", segment=column, dialect="postgres")
        assert [row[0] for row in postgres.execute(f"SELECT {expression} FROM codes")] == [1, 0]


# Spark.


@pytest.mark.engines
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_spark_decides_as_the_library(spark, many, few, tmp_path):  # noqa: F811
    import pyarrow.parquet
    from pyspark.sql import functions as F

    frames = {}
    for name, rows in (("many", many), ("few", few)):
        table = rows.arrow()
        numbered = table.add_column(0, "number", [np.arange(len(table))])
        pyarrow.parquet.write_table(numbered, tmp_path / f"{name}.parquet")
        frames[id(rows)] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))

    def run(rows, expressions):
        parts = [F.expr(part).cast("int").alias(f"c{at}") for at, part in enumerate(expressions)]
        out = tmp_path / "out.parquet"
        frames[id(rows)].select("number", *parts).write.mode("overwrite").parquet(str(out))
        found = pyarrow.parquet.read_table(out).to_pandas().sort_values("number")
        return [found[f"c{at}"].to_numpy() for at in range(len(expressions))]

    check_engine(run, few, many, "spark", levels=(1, 2, 8, 9, 10, 17, 33, 99))  # it compiles each of them
    (boundary,) = few.boundaries([25])
    frames[id(few)].createOrReplaceTempView("few")
    found = spark.sql(boundary.to_sql("s", "u", dialect="spark", what="query", table="few"))
    assert found.columns[-3:] == ["decision", "level", "reason"]
    check_reasons([row[0] for row in found.orderBy("number").select("reason").collect()], few, boundary)
    names = [name for name in HOSTILE if "${" not in name]
    frame = spark.range(1).select(*(F.lit(at).cast("float").alias(name) for at, name in enumerate(names)))
    asked = [make_boundary([], [5.0]).to_sql(name, name, dialect="spark") for name in names]
    (found,) = frame.select(*map(F.expr, asked)).collect()
    assert list(found) == [int(at >= 5) for at in range(len(names))]
    codes = spark.range(1).selectExpr("1.0D AS s", "explode(array('DE', 'de')) AS text")
    codes = codes.selectExpr("s", "text COLLATE UTF8_LCASE AS market")
    assert codes.where("market = 'DE'").count() == 2
    expression = make_segments({"DE": ([], [0.5])}).to_sql("s", segment="market", dialect="spark")
    assert [row[0] for row in codes.select(F.expr(expression)).collect()] == [1, 0]
    # Neither what a backslash means nor whether overflow is an error changes anything.
    for setting, value in (("spark.sql.parser.escapedStringLiterals", "true"), ("spark.sql.ansi.enabled", "false")):
        before = spark.conf.get(setting)
        spark.conf.set(setting, value)
        check_segments(run, few, "spark")
        spark.conf.set(setting, before)


# C.

C_PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
{includes}
int main(void) {{
  double row[2];
  while (fread(row, sizeof(double), 2, stdin) == 2) {{
    {calls}
  }}
  return 0;
}}
"""

SEGMENT_PROGRAM = """
#include <stdio.h>
{includes}
int main(void) {{
  double row[2];
  int size;
  char text[600];
  while (fread(row, sizeof(double), 2, stdin) == 2 && fread(&size, sizeof(int), 1, stdin) == 1) {{
    const char* segment = size < 0 ? 0 : text;
    if (size > 0 && fread(text, 1, (size_t)size, stdin) != (size_t)size) return 1;
    text[size < 0 ? 0 : size] = 0;
    {calls}
  }}
  return 0;
}}
"""

COMPILERS = {
    "c99": ["cc", "-std=c99", "-x", "c"],
    "c++11": ["c++", "-std=c++11", "-x", "c++"],
    "c++20": ["c++", "-std=c++20", "-x", "c++"],
}


def compile_c(folder, kind, program, headers):
    if shutil.which(COMPILERS[kind][0]) is None:
        pytest.skip("there is no C compiler")
    for name, text in headers.items():
        (folder / name).write_bytes(text.encode())
    (folder / "main.source").write_text(program)
    # Included twice: the guard holds. Trigraphs are on: none must come of any text.
    done = subprocess.run(
        [*COMPILERS[kind], "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow", "-Wconversion", "-trigraphs", "-o", "rule", "main.source"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    return folder / "rule"


def run_c(program, bytes_in, values):
    done = subprocess.run([program], input=bytes_in, capture_output=True)
    assert done.returncode == 0, done.stderr
    return np.frombuffer(done.stdout, dtype=np.int32).reshape(-1, values).T


@pytest.mark.engines
@pytest.mark.parametrize("kind", COMPILERS)
def test_c_decides_as_the_library(kind, many, few, tmp_path):
    for rows, levels in ((many, [1, 7, 100]), (few, [*range(1, 20), 64, 65, 99])):
        boundaries = rows.boundaries(levels)
        headers = {f"rule{at}.h": boundary.to_c(name=f"rule{at}") for at, boundary in enumerate(boundaries)}
        calls = [f"{{ const int found[2] = {{rule{at}(row[0], row[1]), rule{at}_level(row[1])}}; fwrite(found, sizeof(int), 2, stdout); }}"
                 for at in range(len(boundaries))]  # fmt: skip
        includes = "\n".join(f'#include "{name}"' for name in [*headers, *headers])
        program = compile_c(tmp_path, kind, C_PROGRAM.format(includes=includes, calls="\n    ".join(calls)), headers)
        for score, uncertainty in (("s", "u"), ("s4", "u4")):
            data = np.column_stack([rows.column[score], rows.column[uncertainty]]).astype(np.float64).tobytes()
            found = run_c(program, data, 2 * len(boundaries))
            for at, boundary in enumerate(boundaries):
                decision, level = rows.expected(boundary, score, uncertainty)
                assert (found[2 * at] == decision).all()
                assert (found[2 * at + 1] == np.maximum(level, -1)).all()


@pytest.mark.engines
@pytest.mark.parametrize("kind", COMPILERS)
def test_c_decides_segments_as_the_library(kind, few, tmp_path):
    boundaries = rules(few.numbers, few.random)
    headers = {f"rule{at}.h": boundary.to_c(name=f"rule{at}") for at, boundary in enumerate(boundaries)}
    calls = []
    for at, boundary in enumerate(boundaries):
        uncertainty = "row[1], " if boundary._fitted.uses_uncertainty else ""
        calls.append(
            f"{{ const int found[2] = {{rule{at}(row[0], {uncertainty}segment), rule{at}_level({uncertainty}segment)}}; "
            "fwrite(found, sizeof(int), 2, stdout); }"
        )
    includes = "\n".join(f'#include "{name}"' for name in headers)
    program = compile_c(tmp_path, kind, SEGMENT_PROGRAM.format(includes=includes, calls="\n    ".join(calls)), headers)
    data = bytearray()
    for s, u, market in zip(few.column["s"], few.column["u"], few.column["market"], strict=True):
        text = b"" if market is None else market.encode()
        data += np.array([s, u]).tobytes() + np.int32(-1 if market is None else len(text)).tobytes() + text
    found = run_c(program, bytes(data), 2 * len(boundaries))
    for at, boundary in enumerate(boundaries):
        decision, level = few.expected_in_segments(boundary)
        assert (found[2 * at] == decision).all(), at
        assert (found[2 * at + 1] == np.maximum(level, -1)).all(), at


def test_a_review_is_exported_too(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    boundary = make_boundary([0.5], [0.8, None], review=[0.6, 0.9])
    score = np.array([0.9, 0.7, 0.5, 0.95, 0.85, 0.8, 0.6, np.nan])
    uncertainty = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.1, 0.1, 0.1])
    right = boundary.review(score[:-1], uncertainty[:-1]).astype(int).tolist()
    assert sorted(set(right)) == [0, 1]
    rows = {"score": score, "uncertainty": uncertainty}  # noqa: F841, the query names it
    with duckdb.connect() as connection:
        query = boundary.to_sql(dialect="duckdb", what="query", table="rows")
        assert [row[-1] for row in connection.sql(query).fetchall()] == [*right, None]
    program = C_PROGRAM.format(
        includes='#include "r.h"',
        calls="{ const int found = r_review(row[0], row[1]); fwrite(&found, sizeof(int), 1, stdout); }",
    )
    program = compile_c(tmp_path, "c99", program, {"r.h": boundary.to_c(name="r")})
    assert run_c(program, np.column_stack([score, uncertainty]).tobytes(), 1)[0].tolist() == [*right, -1]
    with pytest.raises(ValueError, match="the boundary has no review"):
        make_boundary([], [0.5]).to_sql(what="review")


# ONNX.


@pytest.mark.engines
def test_onnx_decides_as_the_library(many, few):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")

    def check(rows, boundary, dtype, as_column=False, **options):
        model = boundary.to_onnx(dtype=dtype, as_column=as_column, **options)
        assert model == boundary.to_onnx(dtype=dtype, as_column=as_column, **options)
        onnx.checker.check_model(onnx.load_model_from_string(model), full_check=True)
        session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        suffix = "4" if dtype == np.float32 else ""
        shape = (-1, 1) if as_column else (-1,)
        columns = {"score": rows.column["s" + suffix], "uncertainty": rows.column["u" + suffix]}
        decision, level = session.run(None, {name: values.reshape(shape) for name, values in columns.items()})
        assert decision.dtype == level.dtype == np.int64
        right_decision, right_level = rows.expected(boundary, "s" + suffix, "u" + suffix)
        assert (decision == right_decision.reshape(shape)).all()
        assert (level == np.maximum(right_level, -1).reshape(shape)).all()

    for boundary in many.boundaries([1, 7, 100]):
        check(many, boundary, np.float64)
        check(many, boundary, np.float32)
    for boundary in few.boundaries([*range(1, 20), 32, 33, 64, 65, 99]):
        check(few, boundary, np.float64)
        check(few, boundary, np.float32, as_column=True)
    (boundary,) = few.boundaries([9])
    for opset in range(13, 26):
        newest = opset > onnx.defs.onnx_opset_version()
        if not newest:
            check(few, boundary, np.float64, opset=opset)
            version = onnx.helper.find_min_ir_version_for([onnx.helper.make_opsetid("", opset)])
            assert onnx.load_model_from_string(boundary.to_onnx(opset=opset)).ir_version == version


@pytest.mark.engines
def test_onnx_decides_segments_as_the_library(few):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    market = few.column["market"]
    there = np.array([value is not None for value in market])
    for boundary in rules(few.numbers, few.random):
        model = boundary.to_onnx()
        onnx.checker.check_model(onnx.load_model_from_string(model), full_check=True)
        session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        used = boundary._fitted.uses_uncertainty
        uncertainty = few.column["u"] if used else np.zeros(len(market))
        columns = {"score": few.column["s"][there], "segment": market[there]}
        if used:
            columns["uncertainty"] = few.column["u"][there]
        assert {part.name for part in session.get_inputs()} <= set(columns)
        columns = {part.name: columns[part.name] for part in session.get_inputs()}
        decision, level = session.run(None, columns)
        right_decision, right_level = expected_of(boundary, few.column["s"][there], uncertainty[there], market[there])
        assert (decision == right_decision).all()
        assert (level == np.maximum(right_level, -1)).all()


# What needs no engine.


def test_errors_name_what_is_wrong():
    boundary = make_boundary([0.5], [0.8, 0.9])
    with pytest.raises(ValueError, match='the dialect is "mysql", must be one of ansi, spark, duckdb'):
        boundary.to_sql(dialect="mysql")
    with pytest.raises(ValueError, match='what is asked for is "table", must be one of decision, level'):
        boundary.to_sql(what="table")
    with pytest.raises(ValueError, match="a query needs the name of a table"):
        boundary.to_sql(what="query")
    with pytest.raises(ValueError, match="the boundary has no segments"):
        boundary.to_sql(segment="market")
    with pytest.raises(ValueError, match="has a NUL"):
        boundary.to_sql("a\0b")
    with pytest.raises(ValueError, match="the score column is empty"):
        boundary.to_sql("")
    with pytest.raises(ValueError, match=r"has \$\{, which Spark replaces"):
        boundary.to_sql("${env:HOME}", dialect="spark")
    with pytest.raises(ValueError, match="must be letters, digits"):
        boundary.to_c(name="a b")
    with pytest.raises(ValueError, match="dtype is int64, must be float32 or float64"):
        boundary.to_onnx(dtype=np.int64)
    with pytest.raises(ValueError, match="opset is 12, must be 13 to 25"):
        boundary.to_onnx(opset=12)


def test_the_program_writes_what_the_package_gives(program):
    boundary = make_segments({"DE": ([0.1], [0.5, None]), "it's": ([], [0.25])}, (["a", "b"], [], [0.75]))
    boundary.save(program.folder / "b.json")
    for dialect in DIALECTS:
        for what in ("decision", "level", "reason"):
            text = program("export", "b.json", "--to", "sql", "--dialect", dialect, "--what", what, "--score", "p")
            assert text == boundary.to_sql("p", dialect=dialect, what=what) + "\n"
        text = program("export", "b.json", "--to", "sql", "--dialect", dialect, "--what", "query", "--table", "x.y")
        assert text == boundary.to_sql(dialect=dialect, what="query", table="x.y") + ";\n"
    assert program("export", "b.json", "--to", "spark") == boundary.to_sql(dialect="spark") + "\n"
    assert program("export", "b.json", "--to", "c", "--name", "f") == boundary.to_c(name="f")
    program("export", "b.json", "--to", "onnx", "--single", "-o", "b.onnx")
    assert (program.folder / "b.onnx").read_bytes() == boundary.to_onnx(dtype=np.float32)


def test_few_levels_are_a_plain_case_and_many_a_shallow_tree():
    data = limen.simulate(regions=50, holdout_rows=2000, test_rows=10, seed=1)
    boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.4, method="exact", levels=3)
    text = boundary.to_sql(dialect="duckdb", what="level")
    assert text.count("WHEN") == 3 and text.count("CASE") == 2
    deep = make_boundary(np.arange(999) / 10, [0.5] * 1000).to_sql(dialect="duckdb", what="level")
    depth = deepest = 0
    for word in re.findall(r"\bCASE\b|\bEND\b", deep):
        depth += 1 if word == "CASE" else -1
        deepest = max(deepest, depth)
    assert depth == 0 and deepest <= 9
