#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""False alarms of the monitor when precision is exactly the bound, and how soon it sees a fall of 5 points.

Both look after every label. `--runs` and `--labels` make it shorter.
"""

import argparse
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import limen
import numpy as np

BOUNDS = [0.5, 0.7, 0.9, 0.95]


def boundary_of(bound):
    """Scores from 0.5 on are flagged; on the hold-out precision is just the bound."""
    positives = round(1000 * bound)
    y = np.repeat([1, 0, 0], [positives, 1000 - positives, 1000])
    score = np.repeat([0.9, 0.9, 0.1], [positives, 1000 - positives, 1000])
    return limen.fit_boundary(y, score, np.zeros(2000), method="st", min_precision=bound)


def false_alarms(boundary, bound, runs, labels):
    score, uncertainty = np.full(labels, 0.9), np.zeros(labels)
    alarms, holds = 0, []
    for seed in range(runs):
        monitor = limen.Monitor(boundary)
        monitor.update(score, uncertainty, np.random.default_rng(seed).random(labels) < bound)
        alarms += monitor.verdict == "broken"
        holds.append(monitor.verdict == "holds so far")
    return alarms, sum(holds)


def delays(boundary, before, after, good, runs):
    """Labels from the fall to the alarm, and how far the estimated first row is off; alarms before the fall are left out."""
    found, misses, early = [], [], 0
    for seed in range(runs):
        random = np.random.default_rng(10_000 + seed)
        monitor = limen.Monitor(boundary)
        monitor.update(np.full(good, 0.9), np.zeros(good), random.random(good) < before)
        if monitor.verdict == "broken":
            early += 1
            continue
        rows = 2_000
        while monitor.verdict != "broken":
            monitor.update(np.full(rows, 0.9), np.zeros(rows), random.random(rows) < after)
        broken = monitor.report.broken
        found.append(broken.noticed.row - good)
        misses.append(abs(broken.since.row - 1 - good))
    return found, misses, early


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--program", default=str(pathlib.Path(__file__).resolve().parents[1] / "build/release/bin/limen"))
    options = parser.parse_args()
    print(f"False alarms, precision exactly the bound, {options.labels:,} labels, each looked at, {options.runs} runs\n")
    print("| bound | broken | share | holds so far at the end |\n|---|---|---|---|")
    for bound in BOUNDS:
        alarms, holds = false_alarms(boundary_of(bound), bound, options.runs, options.labels)
        print(f"| {bound} | {alarms} | {alarms / options.runs:.1%} | {holds / options.runs:.1%} |", flush=True)

    print("\nLabels until a fall of 5 points is called broken: median / 95% of runs; rows by which its start is missed\n")
    print("| bound | fall | from the first label | start missed by | after 20,000 good labels | start missed by |")
    print("|---|---|---|---|---|---|")
    for bound in BOUNDS:
        boundary, cells = boundary_of(bound), []
        for good in (0, 20_000):
            found, misses, _ = delays(boundary, bound, bound - 0.05, good, options.runs)
            cells.append(f"{statistics.median(found):,.0f} / {np.quantile(found, 0.95):,.0f}")
            cells.append(f"{statistics.median(misses):,.0f}")
        print(f"| {bound} | {bound} to {bound - 0.05:.2f} | {' | '.join(cells)} |", flush=True)

    speed(options.program)


def speed(program):
    print("\nTime: ten million labelled rows in memory, all of them tested; a year of daily runs of the program, 1,000 rows each\n")
    boundary, size = boundary_of(0.9), 10_000_000
    y = np.random.default_rng(0).random(size) < 0.92
    columns = np.full(size, 0.9), np.zeros(size), y
    start = time.perf_counter()
    limen.Monitor(boundary).update(*columns)
    print(f"ten million rows: {time.perf_counter() - start:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        boundary.save(f"{folder}/b.json")
        for day in range(365):
            lines = (f"0.9,0,{label:d},{day}-{row}" for row, label in enumerate(y[1000 * day : 1000 * day + 1000]))
            pathlib.Path(folder, f"{day}.csv").write_text("\n".join(["score,uncertainty,label,id", *lines]) + "\n")
        for flags in ([], ["--id", "id"]):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            state = ["--state", f"{len(flags)}.json"]
            for day in range(365):
                command = [program, "monitor", "b.json", f"{day}.csv", *state, *flags]
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            bytes_written = pathlib.Path(folder, state[1]).stat().st_size
            print(
                f"a year{' with ids' if flags else ''}: {time.perf_counter() - start:.1f} s, {spent:.1f} s of processor time, "
                f"state {bytes_written:,} bytes"
            )


if __name__ == "__main__":
    main()
