# SPDX-License-Identifier: MIT
"""Fits where the data is: what Spark shuffles, and how long counting takes beside the same aggregation by hand.

    .venv/bin/python bench/spark.py --rows 1,5            millions of rows; 20 takes some minutes
    .venv/bin/python bench/spark.py --rows 5 --partitions 200 --check

For every number of rows: seconds and passes of limen.spark.fit_boundary for st, exact, auto and a certified auto, bytes
that Spark shuffled for each (from its status interface), and seconds of one counting pass beside a plain Spark SQL
statement that groups by as many cells. --check: each boundary must be the one of rows in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet

FITS = {
    "st": {"min_precision": 0.8, "method": "st"},
    "exact": {"min_precision": 0.8, "method": "exact"},
    "auto": {"min_precision": 0.8},
    "certified": {"min_precision": 0.8, "confidence_level": 0.95},
}


def make_rows(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(size)
    s, u = random.uniform(size=size), random.uniform(size=size)
    y = (random.uniform(size=size) < np.where(u < 0.5, s, s**3)).astype(np.int8)
    return y, s, u


def session(partitions: int):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,2048]").appName("limen bench")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.files.maxPartitionBytes": "1g",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.port": "0",
    }.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def shuffled(spark) -> int:
    """Bytes written to shuffles by all stages so far."""
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages?status=complete"
    with urllib.request.urlopen(url) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,5", help="millions, with commas between them")
    parser.add_argument("--partitions", type=int, default=200)
    parser.add_argument("--check", action="store_true", help="compare with limen.fit_boundary")
    parser.add_argument("--fits", default=",".join(FITS))
    options = parser.parse_args()

    import limen
    import limen.spark

    spark = session(options.partitions)
    passes: list[float] = []
    count = limen.spark._count

    def timed(*arguments):
        begin = time.perf_counter()
        cells = count(*arguments)
        passes.append(time.perf_counter() - begin)
        return cells

    limen.spark._count = timed
    with tempfile.TemporaryDirectory(prefix="limen-bench-") as folder:
        for millions in map(float, options.rows.split(",")):
            y, s, u = make_rows(int(millions * 1e6))
            path = Path(folder) / f"{millions:g}.parquet"
            pyarrow.parquet.write_table(pyarrow.table({"label": y, "score": s, "uncertainty": u}), path)
            frame = spark.read.parquet(str(path))
            frame = frame.repartition(options.partitions).cache()
            frame.count()
            print(f"{millions:g} million rows in {frame.rdd.getNumPartitions()} partitions", flush=True)
            for name in options.fits.split(","):
                passes.clear()
                before = shuffled(spark)
                begin = time.perf_counter()
                found = limen.spark.fit_boundary(frame, **FITS[name])
                seconds = time.perf_counter() - begin
                moved = shuffled(spark) - before
                same = ""
                if options.check:
                    same = (
                        ", same as in memory" if found == limen.fit_boundary(y, s, u, **FITS[name]) else ", DIFFERENT"
                    )
                print(
                    f"  {name:10} {seconds:7.1f} s, {len(passes):2} passes, {moved / 1e6:8.2f} MB shuffled, "
                    f"recall {found.recall:.4f}{same}",
                    flush=True,
                )
            # One pass of 11 levels and 2048 buckets beside the same by hand; the best of three.
            # By hand in as few tasks, so that only the statements differ.
            limen.spark._in_few_tasks(frame).createOrReplaceTempView("holdout")
            edges, cuts = [at / 11 for at in range(1, 11)], [at / 2048 for at in range(1, 2048)]

            class Query:
                value, group_cuts, value_cuts, extremes, spans = "score", edges, cuts, True, ()

            rows, _ = limen.spark._counted_rows(frame, "score", "uncertainty", "label", None, False)
            by_hand = (
                "SELECT CAST(floor(uncertainty * 11) AS INT) g, CAST(floor(score * 2048) AS INT) b, count(*), sum(label), "
                "min(score), max(score) FROM holdout GROUP BY 1, 2"
            )
            ours, theirs = [], []
            for _ in range(3):
                begin = time.perf_counter()
                count(rows, Query)
                ours.append(time.perf_counter() - begin)
                begin = time.perf_counter()
                spark.sql(by_hand).collect()
                theirs.append(time.perf_counter() - begin)
            print(
                f"  one pass of 22528 cells: {min(ours):.2f} s, by hand {min(theirs):.2f} s, {min(ours) / min(theirs):.2f} times"
            )
            frame.unpersist()
    spark.stop()


if __name__ == "__main__":
    main()
