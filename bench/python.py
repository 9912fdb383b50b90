# SPDX-License-Identifier: MIT
"""Ten million rows: the Python package beside the C++ benchmark on the same rows, by turns in one run. Prints Markdown."""

import json
import pathlib
import subprocess
import sys
import time

import limen
import numpy as np

ROUNDS = 7
REPEATS = 5
LEVELS = [3, 11]


def measure_cpp(program, best):
    """Shortest wall and processor milliseconds of each benchmark, into `best`."""
    output = subprocess.run([program, "--benchmark_format=json", "--benchmark_filter=^fit_exact/float/n:10M/levels:(3|11)/p",
                             f"--benchmark_repetitions={REPEATS}", "--benchmark_min_time=0.01"],
                            check=True, capture_output=True, text=True).stdout
    for entry in json.loads(output)["benchmarks"]:
        if entry["run_type"] != "iteration":
            continue
        levels = int(entry["run_name"].partition("levels:")[2].partition("/")[0])
        keep(best, ("C++", levels), entry["real_time"], entry["cpu_time"])


def keep(best, name, wall, processor):
    found = best.get(name, (np.inf, np.inf))
    best[name] = (min(found[0], wall), min(found[1], processor))


def measure_python(best, name, levels, *columns):
    for _ in range(REPEATS):
        wall, processor = time.perf_counter(), time.process_time()
        limen.fit_boundary(*columns, min_precision=0.9, levels=levels, levels_from="all")
        keep(best, (name, levels), 1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - processor))


def import_milliseconds(module):
    code = f"import time; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    return 1e3 * min(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
                     for _ in range(20))


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, f"--dump={folder}"], check=True)
    score, uncertainty = (np.fromfile(folder / f"{name}.f32", dtype=np.float32) for name in ("score", "uncertainty"))
    label = np.fromfile(folder / "label.u8", dtype=np.uint8)
    labels = {"Python, y uint8": label, "Python, y bool": label.astype(bool), "Python, y int64": label.astype(np.int64)}
    best = {}
    for _ in range(ROUNDS):
        measure_cpp(program, best)
        for name, y in labels.items():
            for levels in LEVELS:
                measure_python(best, name, levels, y, score, uncertainty)
    print("| fit_boundary, 10M float32 rows | levels | wall (ms) | to C++ | processor (ms) | to C++ |")
    print("|---|---|---|---|---|---|")
    for levels in LEVELS:
        for name in ("C++", *labels):
            wall, processor = best[name, levels]
            base = best["C++", levels]
            print(f"| {name} | {levels} | {wall:.1f} | {wall / base[0]:.2f} | {processor:.1f} | {processor / base[1]:.2f} |")
    numpy_only, package = import_milliseconds("numpy"), import_milliseconds("limen")
    print(f"\nimport limen: {package:.0f} ms, of which import numpy {numpy_only:.0f} ms.")


if __name__ == "__main__":
    main()
