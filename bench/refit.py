#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a refit after the boundary was chosen does to its goal, and what else could be done.

    bench/refit.py DATA_FOLDER [--sets adult,bank,heart] [--bases boosting,forest,pure-forest,shallow-forest] [--seeds 10] [--rows 10000]

For each seed some rows are drawn for fitting, and the others, at most 30,000, are test rows. Five folds give out-of-fold scores and
uncertainties (uncertainty="auto"), the boundary (`auto`; one threshold, `st`; and `smooth` and `exact` with 3 levels, which use uncertainty
whether it informs or not) is fitted on those, and new rows are decided by

- 5 folds, refit: the model fitted once more on all rows;
- 5 folds, transported: the same on nine tenths of them; the last tenth, whose labels are not used, tells how its scores and uncertainties
  compare with those out of fold: they are moved to these by quantiles;
- 5 folds, mean: the mean of score and uncertainty over the models of the five folds;
- 5 folds, vote: what most of the five models decide;
- 5 folds, one of them: one of the five models, drawn for each row. New rows are then decided exactly as the rows left out were: what is
  missed here is missed because rows are few, not because of the model;
- 2 folds, refit: two folds in the place of five;
- quarter left out, half left out: a single split, whose model is kept;
- the same with a refit.

TunedThresholdClassifierCV (five folds, refit, 1000 thresholds) is asked for the most recall at the goal, as in bench/decisions.py.
The pure forest is RandomForestClassifier() as it comes, with leaves of a single row; the next has leaves of five; the shallow one is 8 levels
deep, so that the rows in its leaves, which its uncertainty counts, grow with those it is fitted on.

Precision less goal, and recall: means over seeds. Missed: seeds whose test precision is below the goal; far: by more than 0.02.
"""

import argparse
import collections
import hashlib
import pathlib
import warnings

import decisions
import limen
import numpy as np
import real_sets
from limen._auto_uncertainty import make_source
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, train_test_split

RULES = ("auto", "st", "smooth", "exact")
MOST_TEST = 30_000
FITTED = {}


class Remembering:
    """Fits once on the same rows."""

    def fit(self, X, y):
        key = hashlib.sha1(X.tobytes() + y.tobytes()).digest()
        if key not in FITTED:
            FITTED[key] = super().fit(X, y).__dict__
        self.__dict__.update(FITTED[key])
        return self


class Boosting(Remembering, HistGradientBoostingClassifier):
    pass


class Forest(Remembering, RandomForestClassifier):
    pass


BASES = {
    "boosting": lambda seed: Boosting(random_state=seed),
    "forest": lambda seed: Forest(100, min_samples_leaf=5, random_state=seed),
    "pure-forest": lambda seed: Forest(100, random_state=seed),
    "shallow-forest": lambda seed: Forest(100, max_depth=8, random_state=seed),
}


class Fitted:
    def __init__(self, base, seed, X, y):
        self.model = BASES[base](seed).fit(X, y)
        self.source = make_source("auto", None, False).fit(self.model, X, y, {}, seed)

    def respond(self, X):
        return np.stack([self.model.predict_proba(X)[:, 1], self.source.uncertainty(self.model, X)])


def move(values, before, after):
    """Each value from its quantile in `before` to the same quantile of `after`."""
    shares = np.linspace(0, 1, 2001)
    return np.interp(values, np.quantile(before, shares), np.quantile(after, shares))


def in_folds(base, seed, X, y, X_test, folds):
    held_out, on_test = np.empty((2, len(y))), []
    for train, left_out in StratifiedKFold(folds).split(X, y):
        fitted = Fitted(base, seed, X[train], y[train])
        held_out[:, left_out] = fitted.respond(X[left_out])
        on_test.append(fitted.respond(X_test))
    return held_out, on_test


def responses(base, seed, X, y, X_test):
    """name of the way, hold-out y, hold-out response, test responses: of one model, or of those that vote"""
    refitted = [Fitted(base, seed, X, y).respond(X_test)]
    held_out, on_test = in_folds(base, seed, X, y, X_test, 5)
    yield "5 folds, refit", y, held_out, refitted
    most, last = train_test_split(np.arange(len(y)), test_size=0.1, random_state=seed)
    fitted = Fitted(base, seed, X[most], y[most])
    now, then = fitted.respond(X_test), fitted.respond(X[last])
    yield "5 folds, transported", y, held_out, [np.stack([move(now[at], then[at], held_out[at]) for at in (0, 1)])]
    yield "5 folds, mean", y, held_out, [np.mean(on_test, axis=0)]
    yield "5 folds, vote", y, held_out, on_test
    drawn = np.random.default_rng(seed).integers(5, size=len(X_test))
    yield "5 folds, one of them", y, held_out, [np.stack(on_test)[drawn, :, np.arange(len(X_test))].T]
    yield "2 folds, refit", y, in_folds(base, seed, X, y, X_test, 2)[0], refitted
    for share, name in ((0.25, "quarter"), (0.5, "half")):
        train, left_out = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
        fitted = Fitted(base, seed, X[train], y[train])
        held_out = fitted.respond(X[left_out])
        yield f"{name} left out", y[left_out], held_out, [fitted.respond(X_test)]
        yield f"{name} left out, refit", y[left_out], held_out, refitted


def decide(y, held_out, on_test, goal, method):
    try:
        rule = limen.fit_boundary(y, *held_out, min_precision=goal, method=method, num_threads=1)
    except limen.InfeasibleError:
        return np.zeros(on_test[0].shape[1], bool), "none"
    votes = [np.asarray(rule.decide(*response), bool) for response in on_test]
    return np.sum(votes, axis=0) * 2 > len(votes), rule.method


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--sets", default="adult,bank,heart")
    parser.add_argument("--bases", default=",".join(BASES))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | set | goal | rule | way | precision less goal | missed | far | recall | 2-D |\n|" + "---|" * 10)
    overall = collections.defaultdict(list)
    for base in arguments.bases.split(","):
        for name in arguments.sets.split(","):
            rows, y = real_sets.load(arguments.folder, name)
            X = real_sets.as_numbers(rows)[0].to_numpy(float)
            found = collections.defaultdict(list)
            for seed in range(arguments.seeds):
                FITTED.clear()
                order = np.random.default_rng(seed).permutation(len(y))
                fit_rows, test = order[: arguments.rows], order[arguments.rows :][:MOST_TEST]
                X_fit, y_fit, X_test, y_test = X[fit_rows], y[fit_rows], X[test], y[test] == 1
                ways = list(responses(base, seed, X_fit, y_fit, X_test))
                for goal in real_sets.SETS[name][-1]:
                    flagged = {}
                    for method in RULES:
                        for way, *data in ways:
                            flagged[method, way] = decide(*data, goal, method)
                    tuned = TunedThresholdClassifierCV(
                        BASES[base](seed), scoring=decisions.recall_at(goal), thresholds=1000, cv=5
                    ).fit(X_fit, y_fit)
                    flagged["TunedThresholdClassifierCV", "5 folds, refit"] = tuned.predict(X_test) == 1, "st"
                    for key, (flags, chosen) in flagged.items():
                        hits = np.count_nonzero(flags & y_test)
                        precision = hits / flags.sum() if flags.any() else np.nan
                        found[(goal, *key)].append((precision - goal, hits / y_test.sum(), chosen not in ("st", "none")))
            for (goal, rule, way), trials in found.items():
                print_row(base, name, goal, rule, way, trials)
                overall[base, rule, way] += trials
    print()
    for (base, rule, way), trials in overall.items():
        print_row(base, "all", "", rule, way, trials)


def print_row(base, name, goal, rule, way, trials):
    excess, recall, is_2d = (np.array(column) for column in zip(*trials, strict=True))
    print(
        f"| {base} | {name} | {goal} | {rule} | {way} | {np.nanmean(excess):+.4f} | {np.mean(excess < 0):.0%} | {np.mean(excess < -0.02):.0%} "
        f"| {recall.mean():.4f} | {is_2d.mean():.0%} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
