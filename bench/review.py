#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a review of 5% of the rows promises on the hold-out and brings on other rows: positives among those reviewed.

Simulated data, hold-outs of several sizes, a smooth boundary flags. Reviews of the rows that it does not flag: exact on 32 narrow levels,
exact on 3, one threshold, and what `review_rate` does for a smooth boundary.
"""

import limen
import numpy as np

SIZES = [(5_000, 40), (20_000, 20), (100_000, 8)]
RATE = 0.05


def main():
    print("| hold-out | review | on the hold-out | on other rows | standard error |\n|---|---|---|---|---|")
    data = limen.simulate(prior=(1, 3), tau=3, regions=20_000, holdout_rows=1_000_000, test_rows=200_000, seed=1)
    y_all, score_all, uncertainty_all = (np.asarray(column) for column in data.holdout.columns)
    y_test, score_test, uncertainty_test = (np.asarray(column) for column in data.test.columns)
    y_test = y_test.astype(bool)
    for size, draws in SIZES:
        found = {}
        for draw in range(draws):
            rows = np.random.default_rng(draw).choice(len(y_all), size, replace=False)
            y, score, uncertainty = y_all[rows].astype(bool), score_all[rows], uncertainty_all[rows]
            boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.6, method="smooth", review_rate=RATE)
            rest, rest_test = (~boundary.decide(*columns) for columns in ((score, uncertainty), (score_test, uncertainty_test)))
            reviews = {"as fitted": (boundary.review(score, uncertainty), boundary.review(score_test, uncertainty_test))}
            rate = round(min(1, RATE * size / rest.sum()), 6)
            for name, how in {
                "exact, 32 levels": {"method": "exact", "levels": 32},
                "exact, 3 levels": {"method": "exact", "levels": 3},
                "one threshold": {"method": "st"},
            }.items():
                other = limen.fit_boundary(y[rest], score[rest], uncertainty[rest], max_flag_rate=rate, **how)
                reviews[name] = (
                    rest & other.decide(score, uncertainty),
                    rest_test & other.decide(score_test, uncertainty_test),
                )
            for name, (here, there) in reviews.items():
                found.setdefault(name, []).append((y[here].mean(), y_test[there].mean()))
        for name, shares in found.items():
            here, there = np.mean(shares, axis=0)
            error = np.std([share[1] for share in shares]) / len(shares) ** 0.5
            print(f"| {size:,} rows, {draws} draws | {name} | {here:.3f} | {there:.3f} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
