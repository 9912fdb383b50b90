#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Planned tests, paired tests and resampled fits against simulation: the tables of docs/algorithms/plan.md.

    .venv/bin/python bench/plan.py [--runs 10000]
"""

import argparse
import time

import limen
import numpy as np
from limen import _core


def draw(rows, random):
    """Score s with density 3 (1 - s)^2; a positive with probability s."""
    score = 1 - random.random(rows) ** (1 / 3)
    return (random.random(rows) < score).astype(np.uint8), score


def true_figures(threshold):
    """Flag rate and precision of score >= threshold, and recall: integrals of the law above."""
    above = (1 - threshold) ** 3
    positives = above - 0.75 * (1 - threshold) ** 4  # of s 3 (1 - s)^2 from the threshold to 1
    return above, positives / above, positives / 0.25


def upper_tail(successes, trials, bound):
    from scipy.stats import binom

    return binom.sf(successes - 1, trials, bound)


def planned_power(runs):
    """How often a hold-out of the planned size certifies the promise, the number of flagged rows being random too."""
    print("\nplanned power 0.8: certified in so many of the hold-outs of the planned size")
    print("  bound  expected  flag rate     rows  planned  certified")
    random = np.random.default_rng(1)
    for bound, expected, rate in [(0.5, 0.6, 0.1), (0.7, 0.75, 0.05), (0.9, 0.93, 0.05), (0.9, 0.98, 0.01), (0.97, 0.985, 0.02)]:
        test = limen.plan(min_precision=bound, expect_precision=expected, flag_rate=rate, learning_share=0.15)
        flagged = random.binomial(round(0.85 * test.rows), rate, runs)
        right = random.binomial(flagged, expected)
        share = np.mean(upper_tail(right, flagged, bound) <= 0.05)
        print(f"  {bound:5}  {expected:8}  {rate:9}  {test.rows:7,}  {test.power:7.3f}  {share:9.3f}")


def planned_walk(runs):
    """A plan made from one sample, then kept by a walk on others: start where the learning part is surest, 20 steps."""
    print("\n40 plans from 20,000 rows each (precision >= 0.7), and a walk of 20 tests on hold-outs of each size")
    print("  labelled rows  median planned  median certified  of the recall at precision 0.7 in deployment")
    random = np.random.default_rng(2)
    plans = [limen.plan(*draw(20_000, random), min_precision=0.7, more_rows=[20_000, 80_000, 380_000], learning_share=0.15) for _ in range(40)]
    for rows in plans[0].reach:
        certified = []
        for _ in range(runs):
            y, score = draw(rows, random)
            learns = random.random(rows) < 0.15
            order = np.argsort(-score[learns])
            sums = np.cumsum(y[learns][order])
            counts = np.arange(1, len(sums) + 1)
            precision = sums / counts
            # Deviations by which the testing part is expected to pass; the walk goes from the best to the bound.
            sure = (precision - 0.7) * np.sqrt(counts / 0.21)
            start = int(np.argmax(sure))
            below = np.flatnonzero(precision >= 0.7)
            end = max(start, int(below[-1])) if len(below) else start
            recall = 0.0
            for at in np.unique(np.linspace(start, end, 20).astype(int)):
                threshold = score[learns][order][at]
                flagged = score[~learns] >= threshold
                if upper_tail(y[~learns][flagged].sum(), flagged.sum(), 0.7) > 0.05:
                    break
                recall = true_figures(threshold)[2]
            certified.append(recall)
        planned = np.median([plan.reach[rows].recall for plan in plans])
        best = true_figures(0.6)[2]  # where precision is 0.7
        print(f"  {rows:13,}  {planned:14.4f}  {np.median(certified):16.4f}  {np.median(certified) / best:.1%}")


def paired_size(runs):
    """How often two rules that are the same in deployment are told apart at level 0.05."""
    print("\nrules of equal recall and precision told apart at level 0.05, and intervals that hold the truth")
    print("  rows   flagged by one alone   recall   precision   recall interval   precision interval")
    random = np.random.default_rng(3)
    for rows, differ in [(300, 0.08), (300, 0.02), (1000, 0.08), (1000, 0.02), (5000, 0.02), (5000, 0.005)]:
        chance = np.array([0.10, 0.05, differ / 3, differ / 6, differ / 3, differ / 6, 0.10, 0])
        chance[7] = 1 - chance.sum()
        told = np.zeros(4)
        for counts in random.multinomial(rows, chance, runs):
            kind = np.repeat(np.arange(8), counts)
            first, second = (kind < 4).astype(np.uint8), ((kind < 2) | ((kind >= 4) & (kind < 6))).astype(np.uint8)
            label = (kind % 2 == 0).astype(np.uint8)
            found = _core.compare_decisions(first, second, label, 0.95, "first", "second")
            for at, name in enumerate(("recall", "precision")):
                told[at] += found[name]["p_value"] <= 0.05
                low, high = found[name]["interval"]
                told[2 + at] += low <= 0 <= high
        told /= runs
        print(f"  {rows:4}   {differ:20.1%}   {told[0]:.3f}   {told[1]:9.3f}   {told[2]:15.3f}   {told[3]:18.3f}")


def bootstrap_cover(runs):
    """How often intervals of a single threshold's recall hold what the best threshold has in deployment."""
    print("\n95% intervals of 200 resamples of the single threshold at precision >= 0.7, and whether they hold the truth")
    thresholds = np.linspace(0.3, 0.9, 6001)
    precision, recall = true_figures(thresholds)[1:]
    at = int(np.argmax(precision >= 0.7))
    random = np.random.default_rng(4)
    for rows in (2_000, 20_000):
        held = np.zeros(2)
        for run in range(runs):
            y, score = draw(rows, random)
            try:
                boundary = limen.fit_boundary(y, score, score, min_precision=0.7, method="st")
            except limen.InfeasibleError:
                continue
            found = limen.bootstrap(boundary, y, score, score, seed=run)
            low, high = found.recall
            held[0] += low <= recall[at] <= high
            threshold = found.single_threshold
            held[1] += (threshold.low or 2) <= thresholds[at] <= (threshold.high or 2)
        print(f"  {rows:6,} rows: recall {held[0] / runs:.3f}, threshold {held[1] / runs:.3f}")


def bootstrap_time():
    print("\n200 resamples of `exact` on 3 levels: seconds")
    random = np.random.default_rng(5)
    for rows in (10_000, 100_000, 1_000_000, 10_000_000):
        y, score = draw(rows, random)
        uncertainty = random.random(rows)
        boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.7, method="exact", levels=3)
        begin = time.perf_counter()
        limen.bootstrap(boundary, y, score, uncertainty, replicates=2)
        counted = time.perf_counter()
        limen.bootstrap(boundary, y, score, uncertainty, replicates=202)
        end = time.perf_counter()
        print(f"  {rows:10,} rows: counting {counted - begin:.2f}, resampling {end - counted - (counted - begin):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    planned_power(runs)
    planned_walk(max(10, runs // 50))
    paired_size(runs)
    bootstrap_cover(max(10, runs // 20))
    bootstrap_time()


if __name__ == "__main__":
    main()
