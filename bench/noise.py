#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `auto` chooses when the second column is pure noise: 40 kinds of data, 10 seeds each.

Four sizes and ten laws (mean and spread of the log odds, ties of the score); noise is continuous or has eleven values. Where anything but
one threshold is chosen, its gain at equal test precision on fresh rows is printed.
"""

import collections

import limen
import numpy as np

SIZES = [2_000, 10_000, 50_000, 200_000]
LAWS = [(-1, 1.5, 0), (-2, 1.5, 0), (-3, 2, 0), (-5, 2, 0), (-1, 1, 0.05), (-2, 2, 0.01), (-1, 3, 0), (-4, 1.5, 0), (0, 1, 0),
        (-2, 1, 0.1)]  # fmt: skip
SEEDS = 10
BOUNDS = [0.5, 0.7, 0.9]


def make_rows(size, law, seed, random):
    mean, spread, tie = law
    p = 1 / (1 + np.exp(-spread * random.normal(size=size) - mean))
    y = (random.random(size) < p).astype(int)
    score = p + 0.05 * random.normal(size=size) * p
    noise = random.random(size)
    return y, np.round(score / tie) * tie if tie else score, noise if seed % 2 else np.round(noise, 1)


def main():
    chosen, gains = collections.Counter(), []
    for size in SIZES:
        for at, law in enumerate(LAWS):
            for seed in range(SEEDS):
                random = np.random.default_rng(1000 * at + seed + size)
                rows, bound = make_rows(size, law, seed, random), BOUNDS[seed % 3]
                try:
                    method = limen.fit_boundary(*rows, min_precision=bound).method
                except limen.InfeasibleError:
                    method = "infeasible"
                chosen[method] += 1
                if method in ("st", "infeasible"):
                    gains.append(0.0)
                    continue
                fresh = make_rows(max(size, 20_000), law, seed, random)
                found = limen.compare(rows, fresh, min_precision=bound, methods=["st", "auto"])
                gains.append(found.get("auto").matched_recall / found.get("st").matched_recall - 1)
                print(size, law, seed, bound, method, f"{100 * gains[-1]:+.2f}%", flush=True)
    print(dict(chosen), f"mean gain {100 * np.mean(gains):+.4f}%")


if __name__ == "__main__":
    main()
