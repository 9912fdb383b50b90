# SPDX-License-Identifier: MIT
"""Runs the paper's run-time table: our solvers and the plain-Python EW-DPMT in one go. Prints Markdown."""

import json
import subprocess
import sys

from ew_dpmt_reference import timed_cell

METHODS = ["ew-dpmt", "mist", "vw-dpmt", "exact"]
# Seconds in the paper (64-core machine), EW-DPMT / MIST.
PAPER = {(3, 100): (8, 92), (3, 500): (98, 99), (3, 1000): (530, 80), (7, 100): (42, 154), (7, 500): (830, 146),
         (7, 1000): (3434, 99), (11, 100): (106, 233), (11, 500): (1976, 162), (11, 1000): (11335, 99)}


def main():
    program = sys.argv[1]
    output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.2"], check=True,
                            capture_output=True, text=True).stdout
    ours = {}
    for entry in json.loads(output)["benchmarks"]:
        method, levels, bins = entry["name"].split("/")
        cell = (int(levels.split(":")[1]), int(bins.split(":")[1]))
        ours[cell, method] = (entry["real_time"] / 1e6, entry["true_positives"])
    print("| levels x bins | " + " | ".join(f"{m} (ms)" for m in METHODS) +
          " | plain Python EW-DPMT (s) | ratio | paper EW-DPMT / MIST (s) |")
    print("|---" * (len(METHODS) + 4) + "|")
    worst = None
    for cell in sorted(PAPER):
        seconds, positives = timed_cell(*cell)
        if positives != ours[cell, "ew-dpmt"][1]:
            sys.exit(f"{cell}: Python finds {positives} positives, ew-dpmt {ours[cell, 'ew-dpmt'][1]}")
        ratio = seconds / ours[cell, "ew-dpmt"][0]
        worst = ratio if worst is None else min(worst, ratio)
        print(f"| {cell[0]} x {cell[1]} | " + " | ".join(f"{1e3 * ours[cell, m][0]:.3f}" for m in METHODS) +
              f" | {seconds:.3f} | {ratio:,.0f} | {PAPER[cell][0]} / {PAPER[cell][1]} |", flush=True)
    print(f"\nSmallest ratio of plain Python to ew-dpmt: {worst:,.0f}")


if __name__ == "__main__":
    main()
