#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often a certified bound is missed, over simulated hold-outs whose true precision is known.

Rows: score s = v^2 with v uniform, second column u uniform, log odds of a positive -7 + 12 s + c (2u - 1); c = 0 (it tells nothing), 0.5
(weak) or 2 (strong). "Ties": scores rounded to two digits. The true precision of a boundary is an integral.

    .venv/bin/python bench/certification.py [--runs 1000] [--processes 2] [--methods st,auto] [--rows 2000,20000,200000] [--results FILE]

With --results every block of 50 hold-outs is kept in FILE, and a run that was ended goes on from there; the table is of whatever is there.

Missed: hold-outs of all whose boundary's true precision is below the bound, for C = 0.9 and 0.95; naive: the best single threshold on
the hold-out. Recall is the true one, relative to the best single threshold that keeps the bound (nothing certified counts as 0).
"""

import argparse
import json
import multiprocessing
import pathlib

import limen
import numpy as np

STRENGTHS = {"none": 0.0, "weak": 0.5, "strong": 2.0}


def positivity(score, uncertainty, strength):
    return 1 / (1 + np.exp(-(-7 + 12 * score + strength * (2 * uncertainty - 1))))


def scores(v, ties):
    return np.round(v * v, 2) if ties else v * v


NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
NODES, WEIGHTS = (NODES + 1) / 2, WEIGHTS / 2  # on 0 to 1


class Truth:
    """True precision and recall by Gauss quadrature: a grid of points is too coarse for large hold-outs, whose thresholds
    lie closer to the best one than its points to each other."""

    def __init__(self, strength, ties):
        self.strength, self.ties = strength, ties
        self.positives = self.flagged([], [-1.0])[1]
        v = np.linspace(0, 1, 4001)
        at = [self.flagged([], [score]) for score in scores(v, ties)]
        self.curve = np.array([[found / max(rows, 1e-300), found / self.positives] for rows, found in at if rows > 0])

    def flagged(self, edges, thresholds):
        """Shares of all rows: flagged, and flagged and positive. Thresholds per level; infinite: none of it."""
        rows = found = 0.0
        low = 0.0
        for high, threshold in zip([*edges, 1.0], thresholds, strict=True):
            high, begin = min(max(high, low), 1.0), low
            low = high
            if not np.isfinite(threshold) or threshold > 1:
                continue
            # Rounded scores at or above the threshold are those of v from here on.
            least = np.ceil(100 * threshold - 1e-9) / 100 - 0.005 if self.ties else threshold
            v0 = np.sqrt(max(least, 0.0))
            if v0 >= 1:
                continue
            v, u = v0 + (1 - v0) * NODES, begin + (high - begin) * NODES
            area = (1 - v0) * (high - begin)
            rows += area
            found += area * (WEIGHTS @ positivity(v[:, None] ** 2, u[None, :], self.strength) @ WEIGHTS)
        return rows, found

    def best_recall(self, bound):
        return self.curve[self.curve[:, 0] >= bound, 1].max()

    def judge(self, boundary):
        thresholds = [np.inf if np.isnan(value) else value for value in np.asarray(boundary.score_thresholds, float)]
        rows, found = self.flagged(list(boundary.uncertainty_edges), thresholds)
        return found / max(rows, 1e-300), found / self.positives


TRUTHS = {}


def run(job):
    method, bound, rows, strength, ties, confidence, seeds = job
    truth = TRUTHS.setdefault((strength, ties), Truth(STRENGTHS[strength], ties))
    missed = nothing = 0
    recall = []
    chosen = {}
    for seed in seeds:
        random = np.random.default_rng([seed, rows, int(100 * bound), list(STRENGTHS).index(strength), ties])
        v, u = random.random(rows), random.random(rows)
        y = random.random(rows) < positivity(v * v, u, STRENGTHS[strength])
        arguments = {} if method == "naive" else {"confidence_level": confidence}
        try:
            boundary = limen.fit_boundary(
                y,
                scores(v, ties),
                u,
                min_precision=bound,
                method="st" if method == "naive" else method,
                num_threads=1,
                **arguments,
            )
        except limen.InfeasibleError:
            nothing += 1
            recall.append(0)
            continue
        precision, found = truth.judge(boundary)
        missed += bool(precision < bound - 1e-9)
        recall.append(found)
        chosen[boundary.method] = chosen.get(boundary.method, 0) + 1
    return job, missed, nothing, float(sum(recall) / truth.best_recall(bound)), len(recall), chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", default="2000,20000,200000", help="of a hold-out")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--methods", default="st,auto")
    parser.add_argument("--results", type=pathlib.Path, help="file of finished blocks; they are not run again")
    options = parser.parse_args()
    settings = [("st", "none", False), ("st", "none", True), ("auto", "weak", False), ("auto", "strong", False)]
    settings = [setting for setting in settings if setting[0] in options.methods.split(",")]
    sizes = [int(rows) for rows in options.rows.split(",")]
    jobs = []
    for start in range(0, options.runs, 50):
        seeds = range(start, min(start + 50, options.runs))
        for method, strength, ties in settings:
            for bound in (0.5, 0.7, 0.9, 0.97):
                for rows in sizes:
                    for confidence in (0.9, 0.95):
                        jobs.append((method, bound, rows, strength, ties, confidence, seeds))
                    if method == "st":
                        jobs.append(("naive", bound, rows, strength, ties, 0.5, seeds))
    sums = {}

    def add(job, missed, nothing, recall, runs, chosen):
        entry = sums.setdefault(tuple(job[:6]), [0, 0, 0.0, 0, {}])
        entry[0] += missed
        entry[1] += nothing
        entry[2] += recall
        entry[3] += runs
        for name, count in chosen.items():
            entry[4][name] = entry[4].get(name, 0) + count

    done = set()
    if options.results and options.results.exists():
        for line in options.results.read_text().splitlines():
            job, *figures = json.loads(line)
            if tuple(job) not in {(*each[:6], each[6].start, each[6].stop) for each in jobs}:
                continue
            done.add(tuple(job))
            add(job, *figures)
    jobs = [job for job in jobs if (*job[:6], job[6].start, job[6].stop) not in done]
    with multiprocessing.Pool(options.processes) as pool:
        for job, *figures in pool.imap_unordered(run, jobs, chunksize=1):
            add(job, *figures)
            if options.results:
                with options.results.open("a") as file:
                    file.write(json.dumps([[*job[:6], job[6].start, job[6].stop], *figures]) + "\n")
    print(
        "| method | second column | bound | rows | runs | missed, C 0.9 | C 0.95 | naive missed | nothing, C 0.9 | C 0.95 | recall, C 0.9 | C 0.95 | naive | chosen |"
    )
    print("|" + "---|" * 14)
    worst = -9.0
    for method, strength, ties in settings:
        for bound in (0.5, 0.7, 0.9, 0.97):
            for rows in sizes:
                by = [sums[(method, bound, rows, strength, ties, confidence)] for confidence in (0.9, 0.95)]
                naive = sums.get(("naive", bound, rows, strength, ties, 0.5))
                for entry, level in zip(by, (0.1, 0.05), strict=True):
                    worst = max(worst, (entry[0] / entry[3] - level) / np.sqrt(level * (1 - level) / entry[3]))
                name = strength + (", ties" if ties else "")
                chosen = (
                    ", ".join(f"{key} {count}" for key, count in sorted(by[0][4].items())) if method == "auto" else ""
                )
                print(
                    f"| {method} | {name} | {bound} | {rows:,} | {by[0][3]} | "
                    + " | ".join(f"{entry[0] / entry[3]:.3f}" for entry in by)
                    + (f" | {naive[0] / naive[3]:.3f} | " if naive else " | | ")
                    + " | ".join(f"{entry[1] / entry[3]:.3f}" for entry in by)
                    + " | "
                    + " | ".join(f"{entry[2] / entry[3]:.3f}" for entry in by)
                    + (f" | {naive[2] / naive[3]:.3f}" if naive else " | ")
                    + f" | {chosen} |"
                )
    print(f"\nLargest excess over the level: {worst:.1f} standard errors of the runs")


if __name__ == "__main__":
    main()
