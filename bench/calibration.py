#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibration by uncertainty level beside the score alone, on real sets and on the paper's process.

    bench/calibration.py DATA_FOLDER [--sets adult,bank] [--seeds 1,2,3] [--tau 3] [--rows 200000]

Each seed splits at most --rows rows 40/30/30 (training, hold-out, test); negatives of training are kept at rate 1/tau. Score:
HistGradientBoosting of 100 iterations. Second columns: the spread of a random forest's trees, and its signed second opinion,
logit(forest) - logit(boosting). `ideal` is the paper's process with the ideal model. Prints means over seeds: calibration
errors on test (limen.calibration_report, three levels, ten bins), how often the 95% band of mist's cumulative error less that
of ist lies below or above 0, over all bins (j = 0) and in the top one (j = 9), and average precision less that of the score:
of the probabilities, and with equal ones ordered by the score.
"""

import argparse
import pathlib

import limen
import numpy as np
from real_sets import SETS, as_numbers, load
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score

COLUMNS = ("raw", "tau", "ist", "mist", "shrunken")


def logit(p):
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p) - np.log1p(-p)


def real_tables(folder, name, seed, tau, most):
    """Hold-out and test by second column: (y, score, uncertainty)."""
    rows, y = load(folder, name)
    X = as_numbers(rows)[0].to_numpy(dtype=np.float32)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:most]
    ends = (np.array([0.4, 0.7]) * len(order)).astype(int)
    train, holdout, test = np.split(order, ends)
    train = train[(y[train] == 1) | (rng.random(len(train)) < 1 / tau)]
    boosting = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=seed).fit(X[train], y[train])
    forest = RandomForestClassifier(50, min_samples_leaf=20, n_jobs=1, random_state=seed).fit(
        np.nan_to_num(X[train]), y[train]
    )
    parts = {}
    for part, rows in (("holdout", holdout), ("test", test)):
        score = boosting.predict_proba(X[rows])[:, 1]
        trees = np.stack([tree.predict_proba(np.nan_to_num(X[rows]))[:, 1] for tree in forest.estimators_])
        parts[part] = {
            "spread": (y[rows], score, trees.std(0)),
            "second opinion": (y[rows], score, logit(trees.mean(0)) - logit(score)),
        }
    return {column: (parts["holdout"][column], parts["test"][column]) for column in parts["test"]}


def ideal_tables(seed, tau, most):
    rows = int(0.3 * most)
    data = limen.simulate(prior=(1.5, 8.5), tau=tau, regions=100_000, holdout_rows=rows, test_rows=rows, seed=seed)
    return {"entropy": (data.holdout.columns, data.test.columns)}


def without_ties(report, test):
    """Average precision of mist and shrunken with equal probabilities ordered by the score."""
    y, score, uncertainty = test
    found = []
    for name in ("mist", "shrunken"):
        probability = limen.LevelIsotonic.from_json(report.to_json(), calibrator=name).calibrate(score, uncertainty)
        pairs = np.rec.fromarrays([probability, score])
        found.append(average_precision_score(y, np.unique(pairs, return_inverse=True)[1]))
    return np.array(found) - report["raw"].average_precision[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sets", default="ideal," + ",".join(SETS))
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--tau", type=float, default=3)
    parser.add_argument("--rows", type=int, default=200_000)
    options = parser.parse_args()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for name in options.sets.split(","):
        reports = {}
        for seed in seeds:
            tables = (
                ideal_tables(seed, options.tau, options.rows)
                if name == "ideal"
                else real_tables(options.folder, name, seed, options.tau, options.rows)
            )
            for column, (holdout, test) in tables.items():
                found = limen.calibration_report(*holdout, test=test, tau=options.tau, seed=seed)
                reports.setdefault(column, []).append((found, without_ties(found, test)))
        for column, found in reports.items():
            print_set(name, column, [report for report, _ in found], np.mean([ties for _, ties in found], axis=0))


def print_set(name, column, found, untied):
    def mean(of):
        return np.mean([of(report) for report in found])

    def signs(j):
        bands = [report["mist"].cumulative_ece_less_ist for report in found]
        return f"{sum(b.high[j] < 0 for b in bands)} / {sum(b.low[j] > 0 for b in bands)}"

    for j in (0, 9):
        errors = " | ".join(f"{mean(lambda r, c=c: r[c].cumulative_ece.value[j]):.4f}" for c in COLUMNS)
        chance = mean(lambda r: r.cumulative_by_chance[j])
        print(f"| {name}, {column} | {j} | {errors} | {chance:.4f} | {signs(j)} |", flush=True)
    order = []
    for c in ("ist", "mist", "shrunken"):
        less = [report[c].average_precision_less_raw for report in found]
        above, below = sum(f[1] > 0 for f in less), sum(f[2] < 0 for f in less)
        order.append(f"{np.mean([f[0] for f in less]):+.4f} ({above} / {below})")
    auc = " | ".join(f"{mean(lambda r, c=c: r[c].roc_auc_less_raw[0]):+.4f}" for c in ("ist", "mist", "shrunken"))
    raw = mean(lambda r: r["raw"].average_precision[0])
    losses = " | ".join(f"{mean(lambda r, c=c: r[c].log_loss[0]):.4f}" for c in COLUMNS)
    chosen = ", ".join(report.chosen for report in found)
    print(
        f"  order: AP {raw:.4f} | {' | '.join(order)} || without ties {untied[0]:+.4f} | {untied[1]:+.4f} || ROC AUC {auc} || log loss {losses} || chosen {chosen}",
        flush=True,
    )


if __name__ == "__main__":
    main()
