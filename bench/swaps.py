# SPDX-License-Identifier: MIT
"""Swap sets of ten million rows in a Parquet file: limen swaps beside a bare read of the file and pandas doing the same.

    .venv/bin/python bench/swaps.py [--rows 10000000] [--program build/release/bin/limen]

pandas reads the same columns, decides both boundaries, and counts three columns by set and score bin; it makes no test.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
from files import run

COLUMNS = ["device", "shop", "age"]


def make_table(path, rows):
    random = np.random.default_rng(1)
    writer = None
    for begin in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - begin)
        score = random.random(size) ** 2
        uncertainty = random.random(size)
        columns = {
            "score": score,
            "uncertainty": uncertainty,
            "label": (random.random(size) < score ** (1 + uncertainty)).astype(np.int8),
            "device": pyarrow.array(np.array(["phone", "tablet", "desk", "tv"])[random.integers(0, 4, size)]),
            # Two hundred thousand values: more than any table of counts should hold.
            "shop": pyarrow.array(np.char.add("s", (200_000 * random.random(size) ** 3).astype(int).astype(str))),
            "age": np.where(random.random(size) < 0.05, np.nan, 90 * random.random(size)),
        }
        batch = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
    writer.close()


def measured(command):
    """(wall seconds, processor seconds, output) of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def by_pandas(path, first, second):
    rows = pandas.read_parquet(path)

    def decide(rule):
        level = np.searchsorted(rule["uncertainty_edges"], rows["uncertainty"], side="right")
        limits = np.array([np.inf if t is None else t for t in rule["score_thresholds"]])
        return rows["score"].to_numpy() >= limits[level]

    old, new = decide(first), decide(second)
    kind = 2 * old.astype(np.int8) + new
    swapped = rows["score"][old != new]
    edges = np.quantile(swapped, np.arange(1, 10) / 10)
    group = 4 * np.searchsorted(edges, rows["score"], side="right") + kind
    counts = {}
    for name in COLUMNS:
        values = rows[name]
        if name == "age":
            values = pandas.cut(values, np.quantile(values.dropna(), np.linspace(0, 1, 9)))
        elif name == "shop":
            values = values.where(values.isin(values.value_counts().index[:8]), "other")
        counts[name] = pandas.crosstab(values, group)
    print(json.dumps([int((new & ~old).sum()), int((old & ~new).sum())]))
    return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--program", default="build/release/bin/limen")
    parser.add_argument("--pandas", nargs=3, help="a table and two boundaries: what pandas is timed with")
    flags = parser.parse_args()
    if flags.pandas:
        table, *files = flags.pandas
        by_pandas(table, *(json.loads(pathlib.Path(file).read_text())["rule"] for file in files))
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table, small = folder / "rows.parquet", folder / "small.parquet"
        make_table(table, flags.rows)
        make_table(small, 200_000)
        files = [folder / "first.json", folder / "second.json"]
        for file, how in zip(files, (["--method", "st"], ["--method", "exact", "--levels", "3"]), strict=True):
            measured([flags.program, "fit", small, "--precision", "0.6", *how, "-o", file])
        read = f"import pyarrow.parquet as p; p.read_table({str(table)!r}, columns={['score', 'uncertainty', 'label', *COLUMNS]})"
        swaps = [flags.program, "swaps", *files, table, "--json"]
        runs = {
            "pyarrow: bare read of the six columns": [sys.executable, "-c", read],
            "limen swaps, the sets alone": swaps,
            "limen swaps, three columns": [*swaps, "--columns", ",".join(COLUMNS)],
            "pandas: the same counts, no tests": [sys.executable, __file__, "--pandas", table, *files],
        }
        _, memory, _ = run([str(word) for word in runs["limen swaps, three columns"]])
        found = {name: measured(command) for name, command in runs.items()}
        counts = [json.loads(found[name][2]) for name in list(runs)[1:]]
        for ours in counts[:2]:
            assert [ours["taken_in"]["rows"], ours["left_out"]["rows"]] == counts[2]
        print(
            f"{flags.rows:,} rows, {table.stat().st_size / 1e6:.0f} MB of Parquet; limen swaps held {memory:.0f} MB at most\n"
        )
        print("| | wall seconds | processor seconds |\n|---|---:|---:|")
        for name, (wall, processor, _) in found.items():
            print(f"| {name} | {wall:.1f} | {processor:.1f} |")


if __name__ == "__main__":
    main()
