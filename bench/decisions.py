#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decisions at a precision bound: Limen beside scikit-learn's TunedThresholdClassifierCV and MAPIE.

    bench/decisions.py DATA_FOLDER [--base boosting|forest] [--sets adult,bank,heart] [--seeds 10]

For each seed the rows are split into training (50%), hold-out (25%) and test (25%), stratified. One model is fitted on the
training rows; then every method gets the same fitted model and the same hold-out to choose its rule on, and is judged on
the same test rows:

- TunedThresholdClassifierCV (cv="prefit") with 1000 thresholds and a scorer that is the recall where the precision is at
  least the bound, and below 0 elsewhere;
- MAPIE's BinaryClassificationController for precision, confidence 0.9, the threshold of the highest recall among its
  default 100, less those above every score of the hold-out, with which its default test (Bonferroni-Holm) finds none;
- limen.BoundaryClassifier (cv="prefit"), one threshold (st) and the 2-D boundary (exact, 3 levels, uncertainty="auto").

Missed: share of seeds whose test precision is below the bound; a rule that flags nothing misses nothing and has recall 0.
Matched: recall on test at a test precision equal to the bound (limen.compare), mean over seeds. Seconds: choosing the rule,
median over seeds, the model's answers for the hold-out rows included.
"""

import argparse
import pathlib
import statistics
import time
import warnings

import limen
import numpy as np
import real_sets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

SETS = ("adult", "bank", "heart")
METHODS = ("TunedThresholdClassifierCV", "MAPIE", "limen, st", "limen, exact")


def recall_at(bound):
    def score(y, flagged):
        true_positives, count = np.count_nonzero(y & flagged), np.count_nonzero(flagged)
        if count == 0:
            return 0.0
        precision = true_positives / count
        return true_positives / np.count_nonzero(y) if precision >= bound else precision - 1

    return make_scorer(score)


def tuned(model, X, y, bound):
    return TunedThresholdClassifierCV(model, scoring=recall_at(bound), thresholds=1000, cv="prefit", refit=False).fit(
        X, y
    )


class Mapie:
    def __init__(self, model, X, y, bound):
        from mapie.risk_control import BinaryClassificationController

        thresholds = np.linspace(0, 0.99, 100)
        self.controller = BinaryClassificationController(
            model.predict_proba,
            risk="precision",
            target_level=bound,
            confidence_level=0.9,
            best_predict_param_choice="recall",
            list_predict_params=thresholds[thresholds < model.predict_proba(X)[:, 1].max()],
        )
        self.controller.calibrate(X, y)

    def predict(self, X):
        if len(self.controller.valid_predict_params) == 0:
            return np.zeros(len(X), dtype=int)
        return self.controller.predict(X)


def boundary(method):
    def fit(model, X, y, bound):
        return limen.BoundaryClassifier(
            model, min_precision=bound, method=method, cv="prefit", random_state=0, on_infeasible="none"
        ).fit(X, y)

    return fit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--base", choices=("boosting", "forest"), default="boosting")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    flags = parser.parse_args()
    warnings.simplefilter("ignore")
    fits = dict(zip(METHODS, (tuned, Mapie, boundary("st"), boundary("exact")), strict=True))
    print("| set | bound | method | test recall | test precision | missed | matched | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name in flags.sets.split(","):
        rows, y = real_sets.load(flags.folder, name)
        X, bounds = real_sets.as_numbers(rows)[0].to_numpy(float), real_sets.SETS[name][-1]
        found = {}
        for seed in range(1, flags.seeds + 1):
            X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
            X_hold, X_test, y_hold, y_test = train_test_split(
                X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed
            )
            if flags.base == "boosting":
                model = HistGradientBoostingClassifier(random_state=seed)
            else:
                model = RandomForestClassifier(200, min_samples_leaf=5, random_state=seed, n_jobs=-1)
            model.fit(X_train, y_train)
            for bound in bounds:
                for method, fit in fits.items():
                    start = time.perf_counter()
                    rule = fit(model, X_hold, y_hold, bound)
                    seconds = time.perf_counter() - start
                    flagged = rule.predict(X_test) == 1
                    hits = np.count_nonzero(flagged & (y_test == 1))
                    precision = hits / flagged.sum() if flagged.any() else np.nan
                    found.setdefault((bound, method), []).append((hits / y_test.sum(), precision, seconds))
                test = (y_test, rule.predict_score(X_test), rule.predict_uncertainty(X_test))
                hold = (rule.holdout_.y, rule.holdout_.score, rule.holdout_.uncertainty)
                for summary in limen.compare(hold, test, min_precision=bound, methods=["st", "exact"]):
                    found.setdefault((bound, "matched", f"limen, {summary.method}"), []).append(summary.matched_recall)
        for bound in bounds:
            for method in METHODS:
                recall, precision, seconds = zip(*found[bound, method], strict=True)
                missed = np.mean([p < bound for p in precision])
                matched = found.get((bound, "matched", method))
                print(
                    f"| {name} | {bound} | {method} | {np.mean(recall):.4f} | {np.nanmean(precision):.4f} | {missed:.0%} "
                    f"| {f'{np.mean(matched):.4f}' if matched else ''} | {statistics.median(seconds):.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
