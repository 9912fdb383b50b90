#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which second column, of those that a fitted model tells by itself, informs beyond its score.

    bench/uncertainties.py DATA_FOLDER [--sets adult,bank,heart,diabetes] [--seeds 3] [--models hist,lightgbm,xgboost,catboost,forest,logistic]
    bench/uncertainties.py DATA_FOLDER --times [--sets adult]

For each seed the rows are split as in bench/choice.py, with at most 40,000 rows in each part. Boosting is asked for what its trees and
iterations tell, beside noise and the second opinion of a forest (one more fit); a forest for what its trees tell. Logistic regression, which tells nothing by itself,
is asked for second opinions and for the mutual information between ten fits on resampled rows.

Prints for each measure: rank correlation on the hold-out with |score - 0.5| and with the score; in how many of the cases (set, seed,
bound) limen.informs finds it informative there; the gain of method "smooth" over "st", both fitted on the hold-out, in recall on
the test rows. Each recall is divided by that of the best single threshold on the test rows at the same test precision, so that the two are
compared at equal precision; recalls are added up before, so that a case in which hardly a row is flagged counts for little.

With --times: processor time of the uncertainty that BoundaryClassifier takes by itself, over that of predict_proba, for the test rows;
and of fitting what it needs, over the fit of the model. Least of five.
"""

import argparse
import collections
import pathlib
import time
import warnings

import limen
import numpy as np
import real_sets
from limen import _trees, uncertainty
from limen._auto_uncertainty import AutoSource
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MOST_ROWS = 40_000
SETS = "adult,bank,heart,diabetes"
BOOSTING = ("hist", "lightgbm", "xgboost", "catboost")


def numbers_of(folder, data):
    rows, y = real_sets.load(folder, data)
    return real_sets.as_numbers(rows)[0].to_numpy(float), y


def make(name, seed):
    if name == "hist":
        return HistGradientBoostingClassifier(random_state=seed)
    if name == "lightgbm":
        import lightgbm

        return lightgbm.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    if name == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(random_state=seed, n_jobs=1)
    if name == "catboost":
        import catboost

        return catboost.CatBoostClassifier(
            300, random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
        )
    if name == "forest":
        return RandomForestClassifier(100, min_samples_leaf=5, random_state=seed)
    return make_pipeline(StandardScaler(), LogisticRegression())


def increments(model, X):
    """What each iteration adds to the margin, rows x iterations; 0 for the first one, which libraries put the base rate into."""
    name = _trees.library(model)
    if name is None:
        margins = list(model.staged_decision_function(X))
    elif name == "xgboost":
        margins = [_trees.margin_after(model, X, count + 1) for count in range(_trees.iterations(model))]
    elif name == "lightgbm":
        count = _trees.iterations(model)
        steps = [model.predict(X, raw_score=True, start_iteration=at, num_iteration=1) for at in range(count)]
        margins = np.cumsum(steps, axis=0)
    else:
        margins = list(model.staged_predict(X, prediction_type="RawFormulaVal"))
    margins = np.stack(margins, axis=1).astype(np.float64)
    return np.diff(margins, axis=1, prepend=margins[:, :1])


def boosting_measures(model, X):
    steps = increments(model, X)
    half = steps.shape[1] // 2
    rows = np.stack([np.maximum(tree.rows, 0.5)[tree.of_row] for tree in _trees.leaves(model, X, "bench")], axis=1)
    late = uncertainty.late_contribution(model, X)
    return {
        "staged spread (before)": np.cumsum(steps, axis=1)[:, half:].std(axis=1),
        "late contribution, last 1/4": uncertainty.late_contribution(model, X, share=0.25),
        "late contribution, last 1/2": late,
        "late contribution, last 3/4": uncertainty.late_contribution(model, X, share=0.75),
        "its size, last 1/2": np.abs(late),
        "late steps, sum of sizes": np.abs(steps[:, half:]).sum(axis=1),
        "late steps against each other": np.abs(steps[:, half:]).sum(axis=1) - np.abs(late),
        "odd less even iterations": steps[:, ::2].sum(axis=1) - steps[:, 1::2].sum(axis=1),
        "leaf evidence, arithmetic": -np.log(rows.mean(axis=1)),
        "leaf evidence, geometric": -np.log(rows).mean(axis=1),
        "leaf evidence, geometric, first 1/2": -np.log(rows[:, :half]).mean(axis=1),
        "leaf evidence, harmonic": np.log((1 / rows).mean(axis=1)),
        "sum of steps / sqrt(leaf rows)": (steps / np.sqrt(rows)).sum(axis=1),
        "small leaf contribution": uncertainty.small_leaf_contribution(model, X),
    }


def measures_of(model, others, X, seed):
    """Score, and second columns by name."""
    score = model.predict_proba(X)[:, 1].astype(np.float64)
    found = {"noise": np.random.default_rng(seed).random(len(score))}
    if "members" in others:
        members = [member.predict_proba(X)[:, 1] for member in others["members"]]
        found["mutual information, ten resampled fits"] = uncertainty.ensemble(members).mutual_information
        found["second opinion of one resampled fit"] = uncertainty.second_opinion(score, members[0])
        boosting = others["boosting"].predict_proba(X)[:, 1]
        found["second opinion of boosting"] = uncertainty.second_opinion(score, boosting)
    elif isinstance(model, RandomForestClassifier):
        found["spread of the trees"] = np.std([tree.predict_proba(X)[:, 1] for tree in model.estimators_], axis=0)
        for average in ("arithmetic", "geometric", "harmonic"):
            found[f"leaf evidence, {average}"] = uncertainty.leaf_evidence(model, X, average=average).uncertainty
        found["small leaf contribution"] = uncertainty.small_leaf_contribution(model, X)
        return score, found
    else:
        found |= boosting_measures(model, X)
    found["second opinion of a forest"] = uncertainty.second_opinion(score, others["forest"].predict_proba(X)[:, 1])
    return score, found


def single_recall(y, score, precision):
    return limen.fit_boundary(y, score, np.zeros(len(y)), min_precision=precision, method="st", num_threads=1).recall


def judge(y, seen, fresh, bound):
    """p-value on the hold-out; recall on test of smooth and of st, each with that of one threshold at its precision."""
    p = limen.informs(y[0], *seen, min_precision=bound, num_threads=1).p_value
    recalls = []
    for method in ("smooth", "st"):
        boundary = limen.fit_boundary(y[0], *seen, min_precision=bound, method=method, num_threads=1)
        found = boundary.evaluate(y[1], *fresh)
        recalls += [found.recall, single_recall(y[1], fresh[0], found.precision)] if found.flagged else [0.0, 0.0]
    return p, *recalls


def processor_time(function, repeats=5):
    def once():
        start = time.process_time()
        function()
        return time.process_time() - start

    return min(once() for _ in range(repeats))


def times_of(name, model, X, y, train, test):
    """A row of the table of times."""
    fit = processor_time(lambda: model.fit(X[train], y[train]), 1)
    fitted = []
    more = processor_time(lambda: fitted.append(AutoSource(None).fit(model, X[train], y[train], {}, 0)), 1)
    proba = processor_time(lambda: model.predict_proba(X[test]))
    measure = processor_time(lambda: fitted[0].uncertainty(model, X[test]))
    leaves = ""
    if "logistic" not in name:
        leaves = f"{processor_time(lambda: uncertainty.leaf_evidence(model, X[test])) / proba:.1f}"
    return (
        f"| {name} | {fitted[0].name} | {fit:.2f} s | {more:.2f} s | {proba:.3f} s | {measure / proba:.1f} | {leaves} |"
    )


def print_times(folder, data):
    X, y = numbers_of(folder, data)
    train, test = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=0)
    train, test = train[:MOST_ROWS], test[:MOST_ROWS]
    models = {name: make(name, 0) for name in (*BOOSTING, "logistic")}
    models["gradient boosting of scikit-learn"] = GradientBoostingClassifier(random_state=0)
    models["forest"] = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    models["bagging of ten logistic regressions"] = BaggingClassifier(models["logistic"], random_state=0)
    print(f"{data}: {len(train)} rows to fit, {len(test)} to predict")
    print(
        "| model | uncertainty_method_ | fit | more to fit | predict_proba | uncertainty, times that | leaf_evidence, times that |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, model in models.items():
        print(times_of(name, model, X, y, train, test), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", default="hist,lightgbm,xgboost")
    parser.add_argument("--columns", default="", help="only second columns with this text in their names")
    parser.add_argument("--times", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    names, sets = arguments.models.split(","), arguments.sets.split(",")
    if arguments.times:
        return print_times(arguments.folder, sets[0])
    results = collections.defaultdict(list)
    for data in sets:
        X, y = numbers_of(arguments.folder, data)
        bounds = real_sets.SETS[data][-1]
        for seed in range(arguments.seeds):
            train, rest = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
            holdout, test = train_test_split(rest, train_size=0.5, stratify=y[rest], random_state=seed)
            train, holdout, test = (rows[:MOST_ROWS] for rows in (train, holdout, test))
            forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed).fit(X[train], y[train])
            for name in names:
                model = make(name, seed).fit(X[train], y[train])
                others = {"forest": forest}
                if name == "logistic":
                    random = np.random.default_rng(seed)
                    draws = [random.choice(train, len(train)) for _ in range(10)]
                    others["members"] = [clone(model).fit(X[rows], y[rows]) for rows in draws]
                    others["boosting"] = make("hist", seed).fit(X[train], y[train])
                (score, seen), (fresh_score, fresh) = (
                    measures_of(model, others, X[rows], seed) for rows in (holdout, test)
                )
                for measure, u in seen.items():
                    if arguments.columns not in measure:
                        continue
                    correlations = spearmanr(u, np.abs(score - 0.5))[0], spearmanr(u, score)[0]
                    for bound in bounds:
                        try:
                            figures = judge((y[holdout], y[test]), (score, u), (fresh_score, fresh[measure]), bound)
                        except limen.InfeasibleError:
                            continue
                        results[name, measure].append((data, *correlations, *figures))
    print(f"| model | second column | with abs(score - 0.5) | with score | informs | gain | {' | '.join(sets)} |")
    print("|---|---|---|---|---|---|" + "---|" * len(sets))
    for (name, measure), cases in sorted(results.items(), key=lambda item: (names.index(item[0][0]), item[0][1])):
        by_set = " | ".join(row(gain([case for case in cases if case[0] == data])) for data in sets)
        _, size, sign, p, *_ = zip(*cases, strict=True)
        print(f"| {name} | {measure} | {np.mean(size):+.2f} | {np.mean(sign):+.2f} | {sum(x < 0.01 for x in p)} of {len(cases)} "
              f"| {row(gain(cases))} | {by_set} |")  # fmt: skip


def gain(cases):
    smooth, smooth_single, st, st_single = np.sum([case[4:] for case in cases], axis=0) if cases else [1, 1, 1, 1]
    return smooth / smooth_single - st / st_single


def row(value):
    return f"{100 * value:+.1f}%"


if __name__ == "__main__":
    main()
