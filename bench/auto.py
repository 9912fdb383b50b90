#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ten million rows: `auto` beside `exact` with 11 levels, by turns; shortest of three. Prints Markdown."""

import time

import limen
import numpy as np

ROWS = 10_000_000
REPEATS = 3


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def main():
    print("| second column | precision | flagged | chosen | exact (ms) | auto (ms) | ratio |")
    print("|---|---|---|---|---|---|---|")
    random = np.random.default_rng(1)
    logit = 1.5 * random.normal(size=ROWS) - 1
    score = (1 / (1 + np.exp(-logit))).astype(np.float32)
    for name, effect in (("noise", 0), ("informs", 1)):
        column = random.uniform(-1, 1, ROWS)
        y = (random.random(ROWS) < 1 / (1 + np.exp(-logit - effect * column))).astype(np.uint8)
        rows = (y, score, column.astype(np.float32))
        for bound in (0.5, 0.7, 0.9):
            exact, auto = [], []
            for _ in range(REPEATS):
                exact.append(seconds(lambda: limen.fit_boundary(*rows, min_precision=bound, levels=11, levels_from="all"))[0])
                spent, boundary = seconds(lambda: limen.fit_boundary(*rows, min_precision=bound))
                auto.append(spent)
            print(f"| {name} | {bound} | {boundary.holdout.flagged:,} | {boundary.method} | {1e3 * min(exact):.0f} | "
                  f"{1e3 * min(auto):.0f} | {min(auto) / min(exact):.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
