# SPDX-License-Identifier: MIT
"""limen.spark on a cluster with executors in processes of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import limen
import numpy as np
import pandas
import pytest
from engine_rows import fitted, make_rows

pytestmark = [
    pytest.mark.engines,
    # What pyspark itself does is not ours to repair.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]
pyspark = pytest.importorskip("pyspark")
pyspark_sql = pytest.importorskip("pyspark.sql")
if shutil.which("java") is None:
    pytest.skip("Apache Spark needs Java: scripts/setup installs it", allow_module_level=True)

import limen.spark  # noqa: E402

ROWS = 200_000


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    home = tmp_path_factory.mktemp("spark")
    builder = pyspark_sql.SparkSession.builder.master("local-cluster[2,1,1024]").appName("limen tests")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(home),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session_id = session.sparkContext.applicationId
    yield session
    session.stop()
    # Executors' logs: SPARK_HOME/work, which is in .venv.
    shutil.rmtree(Path(pyspark.__file__).parent / "work" / session_id, ignore_errors=True)


@pytest.fixture(scope="module")
def rows():
    return make_rows("smooth", ROWS)


@pytest.fixture(scope="module")
def frame(spark, rows, tmp_path_factory):
    y, s, u = rows
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pandas.DataFrame({"label": y.astype(np.int32), "score": s, "uncertainty": u}).to_parquet(path)
    found = spark.read.parquet(str(path)).repartition(50).cache()
    assert found.count() == ROWS and found.rdd.getNumPartitions() == 50
    return found


@pytest.fixture(scope="module")
def boundary(rows):
    return limen.fit_boundary(*rows, min_precision=0.8, method="exact", levels=4)


@pytest.mark.parametrize(
    "options",
    [
        {"min_precision": 0.8, "method": "st"},
        {"min_precision": 0.8, "method": "exact"},
        {"min_precision": 0.8},
        {"min_precision": 0.7, "confidence_level": 0.9},
    ],
    ids=["st", "exact", "auto", "certified"],
)
def test_fifty_partitions_are_fitted_as_rows_in_memory(frame, rows, options, monkeypatch):
    most = 0
    count = limen.spark._count

    def watched(*arguments):
        nonlocal most
        cells = count(*arguments)
        most = max(most, len(cells))
        return cells

    monkeypatch.setattr(limen.spark, "_count", watched)
    assert fitted(limen.spark.fit_boundary, frame, **options) == fitted(limen.fit_boundary, *rows, **options)
    assert 0 < most < ROWS // 2


@pytest.mark.parametrize("shape", ["tied", "magnitudes", "single", "tiny"])
def test_other_shapes_are_fitted_as_rows_in_memory(spark, shape):
    y, s, u = make_rows(shape, 3000)
    kind = "float" if s.dtype == np.float32 else "double"
    data = list(zip(y.tolist(), s.tolist(), u.tolist(), strict=True))
    found = spark.createDataFrame(data, f"label int, score {kind}, uncertainty {kind}").repartition(3).cache()
    options = {"min_precision": 0.8}
    assert fitted(limen.spark.fit_boundary, found, **options) == fitted(limen.fit_boundary, y, s, u, **options)


def executors(spark) -> list[int]:
    """Processes of this application's executors: started by this test alone."""
    application = spark.sparkContext.applicationId
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            if "CoarseGrainedExecutorBackend" in command and application in command:
                found.append(int(entry.name))
    return found


def test_a_killed_executor_changes_nothing(spark, frame, rows, monkeypatch):
    killed = []
    count = limen.spark._count
    questions = 0

    def kill():
        time.sleep(0.2)  # in the middle of the job
        victim = executors(spark)[0]
        os.kill(victim, signal.SIGKILL)
        killed.append(victim)

    def counting(*arguments):
        nonlocal questions
        questions += 1
        killer = threading.Thread(target=kill) if questions == 2 else None
        if killer:
            killer.start()
        cells = count(*arguments)
        if killer:
            killer.join()
        return cells

    monkeypatch.setattr(limen.spark, "_count", counting)
    found = limen.spark.fit_boundary(frame, min_precision=0.8, method="st")
    assert killed and not Path(f"/proc/{killed[0]}/exe").exists()
    assert found == limen.fit_boundary(*rows, min_precision=0.8, method="st")


def test_decisions_and_levels_are_those_of_the_boundary(spark, boundary):
    y, s, u = make_rows("smooth", 2000, seed=9)
    data = list(zip(y.tolist(), s.tolist(), u.tolist(), strict=True))
    odd = [(0, None, 0.5), (0, 0.9, None), (1, float("nan"), 0.1), (1, float("inf"), 0.1), (1, 0.9, float("-inf"))]
    frame = spark.createDataFrame([*data, *odd], "label int, score double, uncertainty double")
    decided = frame.select(
        "score", "uncertainty", limen.spark.decision_column(boundary), limen.spark.level_column(boundary)
    ).collect()
    seen = 0
    for score, uncertainty, decision, level in decided:
        if score is None or uncertainty is None or not np.isfinite([score, uncertainty]).all():
            assert decision is None
            continue
        seen += 1
        assert decision == bool(boundary.decide([score], [uncertainty])[0])
        assert level == boundary.level([uncertainty])[0]
    assert seen == 2000


def test_evaluation_is_that_of_rows_in_memory(frame, rows, boundary):
    assert limen.spark.evaluate(frame, boundary) == boundary.evaluate(*rows)
    found = limen.spark.monitor(frame, boundary)
    assert found.consistent and found.constraint == "precision" and found.figure == boundary.precision
    assert found.flag_rate == found.holdout_flag_rate
    worse = frame.withColumn("label", pyspark_sql.functions.lit(0) * pyspark_sql.functions.col("label"))
    assert not limen.spark.monitor(worse, boundary).consistent


def test_comparison_fits_on_one_and_judges_on_the_other(spark, frame):
    y, s, u = make_rows("smooth", 2000, seed=4)
    test = spark.createDataFrame(
        list(zip(y.tolist(), s.tolist(), u.tolist(), strict=True)), "label int, score double, uncertainty double"
    )
    found = limen.spark.compare(frame, test, methods=("st",), min_precision=0.8)
    boundary, evaluation = found["st"]
    assert evaluation == boundary.evaluate(y, s, u)


def test_what_is_wrong_is_said(spark):
    frame = spark.createDataFrame(
        [(0, 0.5, "x", None), (1, None, "y", 1.0)], "label int, score double, name string, u double"
    )
    with pytest.raises(ValueError, match="there is no column 'uncertainty'"):
        limen.spark.fit_boundary(frame, min_precision=0.8)
    with pytest.raises(ValueError, match="column 'name' is of type string, must be a number"):
        limen.spark.fit_boundary(frame, uncertainty="name", min_precision=0.8)
    with pytest.raises(ValueError, match="2 rows of 2 have a missing"):
        limen.spark.fit_boundary(frame, uncertainty="u", min_precision=0.8)
    with pytest.raises(ValueError, match="2 labels of 2 rows are neither"):
        limen.spark.fit_boundary(frame, uncertainty="u", label="name", min_precision=0.8)
    with pytest.raises(ValueError, match="no rows"):
        limen.spark.fit_boundary(frame, uncertainty="u", min_precision=0.8, drop_missing=True)
