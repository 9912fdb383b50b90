#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `auto` chooses on real sets, and what that brings over one threshold.

    bench/choice.py DATA_FOLDER [--sets adult,bank,heart,diabetes] [--seeds 5]

For each seed the rows are split into training (50%, at most 60,000), hold-out (25%) and test (25%), stratified. Models are fitted on
the training rows; the rule is chosen on the hold-out and judged on the test rows. Second columns: noise; the spread of a forest's
trees; the second opinion of the forest beside boosting (signed).

Gain: recall on test over that of the best single threshold on the test rows themselves at the same test precision, which favours the
threshold a little; mean and worst over seeds. Missed: share of seeds whose test precision is below the bound. Beside `auto` the
three levels of all rows that were the default before.
"""

import argparse
import collections
import pathlib

import limen
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

SETS = {
    "adult": ("adult/adult.csv.xz", ",", "income", lambda y: y.astype(str).str.contains(">50K"), [0.8, 0.9]),
    "bank": ("bank_marketing/bank-additional-full.csv.xz", ";", "y", lambda y: y == "yes", [0.5, 0.6]),
    "heart": ("heart_brfss2020/heart_2020_cleaned.csv.xz", ",", "HeartDisease", lambda y: y == "Yes", [0.4, 0.5]),
    "diabetes": (
        "diabetes_brfss2015/diabetes_binary_health_indicators_BRFSS2015.csv.xz", ",", "Diabetes_binary", lambda y: y == 1,
        [0.5, 0.6],
    ),
}  # fmt: skip
MOST_TRAINING_ROWS = 60_000
CHOICES = {"auto": {}, "3 levels of all": {"levels": 3, "levels_from": "all"}, "st": {"method": "st"}}


def load(folder, name):
    path, separator, label, is_positive, bounds = SETS[name]
    rows = pd.read_csv(folder / path, sep=separator).drop(columns="duration", errors="ignore")
    y = is_positive(rows.pop(label if label in rows else rows.columns[-1])).to_numpy().astype(int)
    text = [column for column in rows if not pd.api.types.is_numeric_dtype(rows[column])]
    if text:
        rows[text] = OrdinalEncoder().fit_transform(rows[text].astype(str))
    return rows.to_numpy(dtype=np.float64), y, bounds


def columns_of(boosting, forest, X, random):
    """(score, second column) by name."""
    p = boosting.predict_proba(X)[:, 1]
    trees = np.stack([tree.predict_proba(X)[:, 1] for tree in forest.estimators_])
    q, spread = trees.mean(axis=0), trees.std(axis=0)
    return {
        "boosting, noise": (p, random.random(len(p))),
        "boosting, spread of a forest": (p, spread),
        "boosting, second opinion": (p, limen.uncertainty.second_opinion(p, q)),
        "forest, its spread": (q, spread),
    }


def gain_at_equal_precision(y, score, found):
    """Of a boundary's test figures over the best single threshold on the same rows; 0 where it flags nothing."""
    if not found.flagged:
        return 0.0
    single = limen.fit_boundary(y, score, np.zeros(len(y)), min_precision=found.precision, method="st")
    return found.recall / single.recall - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print("| set | columns | bound | rule | chosen | gain, mean | worst | missed |")
    print("|---|---|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        X, y, bounds = load(arguments.folder, name)
        results = collections.defaultdict(list)
        for seed in range(arguments.seeds):
            train, rest = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
            holdout, test = train_test_split(rest, train_size=0.5, stratify=y[rest], random_state=seed)
            train = train[:MOST_TRAINING_ROWS]
            boosting = HistGradientBoostingClassifier(random_state=seed).fit(X[train], y[train])
            forest = RandomForestClassifier(60, min_samples_leaf=5, n_jobs=-1, random_state=seed).fit(X[train], y[train])
            random = np.random.default_rng(seed)
            seen, fresh = (columns_of(boosting, forest, X[rows], random) for rows in (holdout, test))
            for columns in seen:
                for bound in bounds:
                    for rule, options in CHOICES.items():
                        try:
                            boundary = limen.fit_boundary(y[holdout], *seen[columns], min_precision=bound, **options)
                        except limen.InfeasibleError:
                            continue
                        found = boundary.evaluate(y[test], *fresh[columns])
                        gain = gain_at_equal_precision(y[test], fresh[columns][0], found)
                        results[columns, bound, rule].append((gain, found.precision < bound, boundary.method))
        for (columns, bound, rule), found in results.items():
            gains, missed, methods = zip(*found, strict=True)
            chosen = ", ".join(f"{method} {count}" for method, count in collections.Counter(methods).most_common())
            print(f"| {name} | {columns} | {bound} | {rule} | {chosen} | {100 * np.mean(gains):+.1f}% | "
                  f"{100 * min(gains):+.1f}% | {np.mean(missed):.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
