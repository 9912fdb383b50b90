# SPDX-License-Identifier: MIT
"""Swap sets of ten million rows in a Parquet file: limen swaps beside a bare read of the file and pandas doing the same.

    .venv/bin/python bench/swaps.py [--rows 10000000] [--program build/release/bin/limen]

pandas reads the same columns, decides both boundaries, and counts three columns by set and score bin; it makes no test.
"""

import argparse
import json
import pathlib
import subprocess
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


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def run_program(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


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
    return int((new & ~old).sum()), int((old & ~new).sum()), counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--program", default="build/release/bin/limen")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        table = folder / "rows.parquet"
        make_table(table, flags.rows)
        small = folder / "small.parquet"
        make_table(small, 200_000)
        rules = {}
        for name, how in {"first": ["--method", "st"], "second": ["--method", "exact", "--levels", "3"]}.items():
            made = run_program(flags.program, "fit", str(small), "--precision", "0.6", *how, "--json")
            (folder / f"{name}.json").write_text(json.dumps(made))
            rules[name] = made["rule"]
        columns = ["score", "uncertainty", "label", *COLUMNS]
        read, _ = timed(lambda: pyarrow.parquet.read_table(table, columns=columns))
        words = [str(folder / "first.json"), str(folder / "second.json"), str(table), "--json"]
        bare, found = timed(lambda: run_program(flags.program, "swaps", *words))
        ours, with_columns = timed(lambda: run_program(flags.program, "swaps", *words, "--columns", ",".join(COLUMNS)))
        _, memory, _ = run([flags.program, "swaps", *words[:-1], "--columns", ",".join(COLUMNS)])
        theirs, (taken_in, left_out, _) = timed(lambda: by_pandas(table, rules["first"], rules["second"]))
        assert found["taken_in"]["rows"] == with_columns["taken_in"]["rows"] == taken_in
        assert found["left_out"]["rows"] == with_columns["left_out"]["rows"] == left_out
        print(f"{flags.rows:,} rows, {table.stat().st_size / 1e6:.0f} MB of Parquet, 3 columns of values")
        print(f"  pyarrow, bare read of the six columns   {read:7.2f} s")
        print(f"  limen swaps, sets alone                 {bare:7.2f} s")
        print(
            f"  limen swaps, three columns              {ours:7.2f} s   {ours / read:.1f} bare reads, {memory:.0f} MB at most"
        )
        print(f"  pandas, the same counts, no tests       {theirs:7.2f} s   {theirs / ours:.1f} times as long")


if __name__ == "__main__":
    main()
