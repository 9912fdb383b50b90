# SPDX-License-Identifier: MIT
"""`limen fit` on Parquet files beside a bare read of the same columns with pyarrow, in one run. Prints Markdown."""

import pathlib
import statistics
import subprocess
import sys

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


def write_file(path, rows, seed=1):
    """Rows like those of large_samples.h, a million a row group."""
    random = np.random.default_rng(seed)
    schema = pa.schema([("id", pa.int64()), ("score", pa.float32()), ("uncertainty", pa.float32()), ("label", pa.bool_())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - begin)
            uncertainty = random.random(size, dtype=np.float32)
            score = random.random(size, dtype=np.float32) ** 4
            label = random.random(size) < score ** (1 + uncertainty)
            writer.write_table(pa.table([np.arange(begin, begin + size), score, uncertainty, label], schema=schema))


# Runs a command and prints wall seconds and peak resident kilobytes on the last line. In a process of its own, because the peak
# of a child is never below that of the process it was forked from.
MEASURE = ("import os, sys, time; start = time.perf_counter(); "
           "child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, "
           "file_actions=[(os.POSIX_SPAWN_OPEN, 2, '/dev/null', os.O_WRONLY, 0)]); "
           "_, status, usage = os.wait4(child, 0); "
           "print(time.perf_counter() - start, usage.ru_maxrss, flush=True); sys.exit(status != 0)")


def run(command):
    """(wall seconds, peak resident megabytes, output) of a command."""
    result = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, *command], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{command} failed")
    *output, (seconds, kilobytes) = [line.split() for line in result.stdout.splitlines()]
    return float(seconds), float(kilobytes) / 1024, " ".join(output[-1]) if output else ""


def by_turns(commands, runs):
    """The runs of each command, one after the other in turns, so that a busy minute of the machine meets all of them. A first
    turn that warms the cache does not count."""
    results = [[] for _ in commands]
    for turn in range(runs + 1):
        for command, result in zip(commands, results):
            result.append(run(command))
    return [result[1:] for result in results]


def shortest(results):
    return min(seconds for seconds, _, _ in results)


def peak(results):
    return max(megabytes for _, megabytes, _ in results)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    fit = [program, "fit", "--precision", "0.9", "--levels", "11", "--levels-from", "all"]
    tiny = folder / "rows_tiny.parquet"
    write_file(tiny, 1)
    print("| million rows | limen fit (s) | peak MB | python, pyarrow read (s) | ratio | the read alone (s) | ratio | "
          "ratio of medians | fit, 200 MB limit (s) | peak MB |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for millions in MILLIONS:
        path = folder / f"rows_{millions}m.parquet"
        if not path.exists():
            write_file(path, millions * 1_000_000)
        fits, reads, bare, limited = by_turns(
            [fit + [str(path)], [sys.executable, "-c", READ, str(path)], [sys.executable, "-c", BARE, str(path), str(tiny)],
             fit + [str(path), "--max-memory", "200MB"]], 5)
        alone = [float(output) for _, _, output in bare]
        medians = statistics.median(seconds for seconds, _, _ in fits) / statistics.median(alone)
        print(f"| {millions} | {shortest(fits):.2f} | {peak(fits):.0f} | {shortest(reads):.2f} | "
              f"{shortest(fits) / shortest(reads):.2f} | {min(alone):.2f} | {shortest(fits) / min(alone):.2f} | {medians:.2f} | "
              f"{shortest(limited):.2f} | {peak(limited):.0f} |", flush=True)
    large = folder / f"rows_{LARGE_MILLIONS}m.parquet"
    if not large.exists():
        write_file(large, LARGE_MILLIONS * 1_000_000)
    [limited] = by_turns([fit + [str(large), "--max-memory", "200MB"]], 3)
    print(f"\n{LARGE_MILLIONS} million rows, {9 * LARGE_MILLIONS} MB of columns, with a limit of 200 MB: "
          f"{shortest(limited):.1f} s, peak {peak(limited):.0f} MB.")
    million = str(folder / "rows_1m.parquet")
    other = folder / "rows_1m_test.parquet"
    write_file(other, 1_000_000, seed=2)
    compare = [program, "compare", "--holdout", million, "--test", str(other), "--precision", "0.7,0.8,0.9"]
    both, once, again = by_turns(
        [compare, [sys.executable, "-c", READ, million], [sys.executable, "-c", READ, str(other)]], 5)
    print(f"\n`compare` of all methods at three bounds, a million rows each side: {shortest(both):.2f} s; the commands that read "
          f"the two files with pyarrow: {shortest(once) + shortest(again):.2f} s, ratio "
          f"{shortest(both) / (shortest(once) + shortest(again)):.2f}.")


if __name__ == "__main__":
    main()
