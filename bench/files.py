# SPDX-License-Identifier: MIT
"""`limen fit` on Parquet files beside a bare read of the same columns with pyarrow, in one run. Prints Markdown."""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = ["score", "uncertainty", "label"]
MILLIONS = [1, 2, 4, 8, 16, 32, 40]
LARGE_MILLIONS = 90
READ = "import sys, pyarrow.parquet as p; p.read_table(sys.argv[1], columns=['score', 'uncertainty', 'label'])"
# The read alone, the first one of a process; before it one of a single row loads all that reading needs.
BARE = ("import sys, time, pyarrow.parquet as p; c = ['score', 'uncertainty', 'label']; p.read_table(sys.argv[2], columns=c); "
        "start = time.perf_counter(); p.read_table(sys.argv[1], columns=c); print(time.perf_counter() - start)")


def write_file(path, rows):
    """Rows like those of large_samples.h, a million a row group."""
    random = np.random.default_rng(1)
    schema = pa.schema([("id", pa.int64()), ("score", pa.float32()), ("uncertainty", pa.float32()), ("label", pa.bool_())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - begin)
            uncertainty = random.random(size, dtype=np.float32)
            score = random.random(size, dtype=np.float32) ** 4
            label = random.random(size) < score ** (1 + uncertainty)
            writer.write_table(pa.table([np.arange(begin, begin + size), score, uncertainty, label], schema=schema))


def measure(command):
    """(shortest wall seconds of seven runs, peak resident megabytes) of a command, after one run that warms the cache."""
    best, peak = float("inf"), 0
    for run in range(8):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"{command} failed")
        if run > 0:
            best = min(best, time.perf_counter() - start)
        peak = max(peak, usage.ru_maxrss / 1024)
    return best, peak


def bare_read(path, tiny):
    """Shortest wall seconds of seven first reads, each in a process of its own."""
    command = [sys.executable, "-c", BARE, str(path), str(tiny)]
    return min(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(7))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    fit = [program, "fit", "--precision", "0.9", "--levels", "11", "--json"]
    tiny = folder / "rows_tiny.parquet"
    write_file(tiny, 1)
    print("| million rows | limen fit (s) | peak MB | python, pyarrow read (s) | ratio | the read alone (s) | ratio | "
          "fit, 200 MB limit (s) | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for millions in MILLIONS:
        path = folder / f"rows_{millions}m.parquet"
        if not path.exists():
            write_file(path, millions * 1_000_000)
        fit_seconds, fit_peak = measure(fit + [str(path)])
        read_seconds, _ = measure([sys.executable, "-c", READ, str(path)])
        bare_seconds = bare_read(path, tiny)
        streamed_seconds, streamed_peak = measure(fit + [str(path), "--max-memory", "200MB"])
        print(f"| {millions} | {fit_seconds:.2f} | {fit_peak:.0f} | {read_seconds:.2f} | {fit_seconds / read_seconds:.2f} | "
              f"{bare_seconds:.2f} | {fit_seconds / bare_seconds:.2f} | {streamed_seconds:.2f} | {streamed_peak:.0f} |", flush=True)
    large = folder / f"rows_{LARGE_MILLIONS}m.parquet"
    if not large.exists():
        write_file(large, LARGE_MILLIONS * 1_000_000)
    seconds, peak = measure(fit + [str(large), "--max-memory", "200MB"])
    print(f"\n{LARGE_MILLIONS} million rows, {9 * LARGE_MILLIONS} MB of columns, with a limit of 200 MB: {seconds:.1f} s, peak {peak:.0f} MB.")


if __name__ == "__main__":
    main()
