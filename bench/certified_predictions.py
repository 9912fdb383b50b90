#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Predictions for bench/certified.py, kept in a folder: one file for each set and seed.

    bench/certified_predictions.py DATA_FOLDER CACHE_FOLDER [--sets adult,bank,...] [--seeds 50]

For each seed the rows are split at random into training (half, at most 40,000), hold-out (half of the rest, at most 30,000) and test
(what is left, at most 60,000: the more, the better the true precision is known). Gradient boosting of scikit-learn with its default
settings gives the score; u is a second opinion: the logit of a logistic regression on one-hot inputs less that of the boosting.
A file that is there is left as it is.
"""

import argparse
import os
import pathlib

import numpy as np
import real_sets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_TRAINING, MOST_HOLDOUT, MOST_TEST = 40_000, 30_000, 60_000


def split(rows, seed):
    order = np.random.default_rng(seed).permutation(rows)
    train = order[: min(rows // 2, MOST_TRAINING)]
    rest = order[len(train) :]
    holdout = rest[: min(len(rest) // 2, MOST_HOLDOUT)]
    return train, holdout, rest[len(holdout) :][:MOST_TEST]


def predict(X, y, few, many, seed):
    train, holdout, test = split(len(y), seed)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), few), (StandardScaler(), many))
    logistic = make_pipeline(encoder, LogisticRegression(max_iter=400)).fit(X[train], y[train])
    boosting = HistGradientBoostingClassifier(random_state=seed).fit(X[train], y[train])
    found = {}
    for part, where in (("h", holdout), ("t", test)):
        found[f"y_{part}"] = y[where]
        found[f"score_{part}"] = boosting.predict_proba(X[where])[:, 1]
        found[f"u_{part}"] = logistic.decision_function(X[where]) - boosting.decision_function(X[where])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cache", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(real_sets.SETS))
    parser.add_argument("--seeds", type=int, default=50)
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    for name in arguments.sets.split(","):
        paths = {seed: arguments.cache / f"{name}_{seed}.npz" for seed in range(arguments.seeds)}
        missing = {seed: path for seed, path in paths.items() if not path.exists()}
        if not missing:
            continue
        rows, y = real_sets.load(arguments.folder, name)
        codes, text = real_sets.as_numbers(rows)
        few, many = real_sets.few_and_many(codes, text)
        X = codes.to_numpy(float)
        for seed, path in missing.items():
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                np.savez(file, **predict(X, y, few, many, seed))
            os.replace(partial, path)  # others may read the folder meanwhile


if __name__ == "__main__":
    main()
