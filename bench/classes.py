# SPDX-License-Identifier: MIT
"""Do classes keep their certified promises? Repeated splits of real and drawn sets of three classes. Prints Markdown.

    .venv/bin/python bench/classes.py

A model is fitted on a third of the rows. The others are the population; half of them, drawn again and
again, is the hold-out. A class misses when its precision on the whole population is below the bound: that is the truth
that the certificate speaks of, without the chance of a test set. Uncertified: the same fit without a promise.
"""

import warnings

import limen
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

CONFIDENCE = 0.9
SPLITS = 300


def sets():
    X, y = load_iris(return_X_y=True)
    yield "iris, two columns", X[:, :2], y, 0.7, LogisticRegression(max_iter=2000)
    X, y = load_wine(return_X_y=True)
    yield "wine, four columns", X[:, :4], y, 0.75, LogisticRegression(max_iter=2000)
    X, y = load_digits(return_X_y=True)
    yield "digits 0-2, 3-6, 7-9", X[:, 10:54:4], np.digitize(y, [3, 7]), 0.9, RandomForestClassifier(60, random_state=0)
    X, y = make_classification(
        60_000, n_features=12, n_informative=6, n_classes=3, n_clusters_per_class=2, class_sep=1.6, random_state=0
    )
    yield "make_classification", X, y, 0.85, LogisticRegression(max_iter=2000)


def run(X, y, bound, model, **keywords):
    """Certified classes, those that miss, and mean recall."""
    random = np.random.default_rng(1)
    order = random.permutation(len(y))
    learn, rest = order[: len(y) // 3], order[len(y) // 3 :]
    X = (X - X.mean(0)) / X.std(0)
    model.fit(X[learn], y[learn])
    scores = model.predict_proba(X[rest])
    y = y[rest]
    decided = missed = any_missed = 0
    recall = []
    for _ in range(SPLITS):
        holdout = np.zeros(len(y), bool)
        holdout[random.choice(len(y), len(y) // 2, replace=False)] = True
        try:
            found = limen.fit_classes(y[holdout], scores[holdout], min_precision=bound, num_threads=1, **keywords)
        except limen.InfeasibleError:
            recall += [0] * 3
            continue
        figures = found.evaluate(y, scores)
        misses = [at.flagged > 0 and at.precision < bound for at in figures.values()]
        decided += sum(fit.boundary is not None for fit in found.fits.values())
        missed += sum(misses)
        any_missed += any(misses)
        recall += [at.recall for at in figures.values()]
    return decided, missed / max(decided, 1), any_missed / SPLITS, np.mean(recall)


def main():
    warnings.simplefilter("ignore")
    print(f"{SPLITS} splits, three classes, confidence {CONFIDENCE}\n")
    print("| set | rows | bound | fit | classes decided | missed | any class missed | mean recall |")
    print("|---|---:|---:|---|---:|---:|---:|---:|")
    for name, X, y, bound, model in sets():
        for fit, keywords in {
            "uncertified, one threshold": {"method": "st"},
            "certified, each": {"confidence_level": CONFIDENCE},
            "certified, all at once": {"confidence_level": CONFIDENCE, "joint": True},
        }.items():
            decided, missed, any_missed, recall = run(X, y, bound, model, **keywords)
            print(
                f"| {name} | {len(y):,} | {bound} | {fit} | {decided} of {3 * SPLITS} | {missed:.1%} | {any_missed:.1%} "
                f"| {recall:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
