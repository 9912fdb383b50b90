# SPDX-License-Identifier: MIT
"""Fits a boundary where the rows are: on a Spark cluster of two executors, each a process of its own.

    python examples/spark_local_cluster.py [ROWS]

Needs limen[spark] and a Java runtime. The executors count; only counts come to the driver, which solves.
"""

import os
import sys

import limen.spark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")

# Scores promise more than they keep where uncertainty is high. Cached: it must come out the same in every pass.
df = spark.range(rows, numPartitions=20).select(
    F.rand(1).alias("score"), F.rand(2).alias("uncertainty"), F.rand(3).alias("draw")
)
rate = F.when(F.col("uncertainty") < 0.5, F.col("score")).otherwise(F.col("score") ** 3)
df = df.select("score", "uncertainty", (F.col("draw") < rate).alias("label")).cache()
holdout, test = df.randomSplit([0.5, 0.5], seed=4)

found = limen.spark.compare(holdout, test, methods=("st", "auto"), min_precision=0.8)
for method, (boundary, evaluation) in found.items():
    print(
        f"{method}: {boundary.levels} levels, precision {evaluation.precision:.3f}, recall {evaluation.recall:.3f} on test"
    )

boundary = found["auto"][0]
flagged = test.where(limen.spark.decision_column(boundary)).count()
print(f"{flagged} rows flagged by the engine, {found['auto'][1].flagged} counted")
assert flagged == found["auto"][1].flagged
spark.stop()
