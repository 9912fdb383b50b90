#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `auto` chooses on real sets, and what that brings over one threshold.

    bench/choice.py DATA_FOLDER CACHE_FOLDER [--sets adult,bank,...] [--seeds 20] [--limen build/bench/bin/limen]

For each seed the rows are split into training (50%), hold-out (25%) and test (25%), stratified, at most 40,000 rows each. Logistic
regression, gradient boosting, a forest and two networks of limen are fitted on the training rows; their predictions are kept in the
cache folder. Rules are chosen on the hold-out and judged on the test rows by limen.compare, one pair for each seed.

Matched gain: recall at equal test precision along the order learnt on the hold-out, over that of one threshold; mean and worst over
seeds. p: one-sided paired t-test. Missed: seeds whose test precision is below the bound, of `auto`, one threshold, and the three
levels of all rows that were the default before.
"""

import argparse
import collections
import pathlib
import subprocess
import tempfile

import limen
import numpy as np
import pandas as pd
import real_sets
from limen.uncertainty import second_opinion
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MOST_ROWS = 40_000
NETWORKS = ["postnet", "mc-dropout"]


def split(y, seed):
    train, rest = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
    holdout, test = train_test_split(rest, train_size=0.5, stratify=y[rest], random_state=seed)
    return train[:MOST_ROWS], holdout[:MOST_ROWS], test[:MOST_ROWS]


def fit_and_predict(rows, y, seed):
    """Scores, and what the fitted models tell beside them, of hold-out (h) and test rows (t)."""
    codes, text = real_sets.as_numbers(rows)
    X = codes.to_numpy(float)
    few, many = real_sets.few_and_many(codes, text)
    train, holdout, test = split(y, seed)
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), few), (StandardScaler(), many))
    logistic = make_pipeline(encoder, LogisticRegression(max_iter=400)).fit(X[train], y[train])
    boosting = HistGradientBoostingClassifier(random_state=seed).fit(X[train], y[train])
    forest = RandomForestClassifier(60, min_samples_leaf=5, random_state=seed).fit(X[train], y[train])
    found = {"train": train, "hold": holdout, "test": test, "yh": y[holdout], "yt": y[test]}
    for part, where in (("h", holdout), ("t", test)):
        found[f"lin_{part}"] = logistic.predict_proba(X[where])[:, 1]
        found[f"boost_{part}"] = boosting.predict_proba(X[where])[:, 1]
        trees = np.stack([tree.predict_proba(X[where])[:, 1] for tree in forest.estimators_])
        found[f"forest_{part}"], found[f"spread_{part}"] = trees.mean(axis=0), trees.std(axis=0)
        found[f"leaf_{part}"] = limen.uncertainty.leaf_evidence(forest, X[where]).uncertainty
        margins = [np.ravel(margin).copy() for margin in boosting.staged_decision_function(X[where])]
        found[f"stages_{part}"] = np.stack([margins[round(share * len(margins)) - 1] for share in (0.25, 0.5, 0.75, 1)])
    return found


def train_networks(program, rows, y, found, seed):
    predicted = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("train", "hold", "test"):
            rows.assign(target=y).iloc[found[part]].to_csv(folder / f"{part}.csv", index=False)
        for model in NETWORKS:
            train = [program, "train", folder / "train.csv", "-o", folder / model, "--label", "target", "--model", model]
            subprocess.run([*train, "--seed", str(seed), "--threads", "1"], check=True, capture_output=True)
            for part in ("hold", "test"):
                predict = [program, "predict", folder / model, folder / f"{part}.csv", "-o", folder / "predictions.csv"]
                subprocess.run([*predict, "--threads", "1"], check=True, capture_output=True)
                table = pd.read_csv(folder / "predictions.csv")
                (folder / "predictions.csv").unlink()
                predicted[f"{model}_{part[0]}"] = table["score"].to_numpy()
                predicted[f"{model}_u_{part[0]}"] = table["uncertainty"].to_numpy()
    return predicted


def columns_of(found, networks, part, seed):
    """(score, second column) by name."""
    random = np.random.default_rng(seed * 2 + (part == "t"))
    logistic, boosting, forest = (found[f"{name}_{part}"] for name in ("lin", "boost", "forest"))
    late = found[f"stages_{part}"][3] - found[f"stages_{part}"][2]
    return {
        "logistic, noise": (logistic, random.random(len(logistic))),
        "logistic, second opinion of boosting": (logistic, second_opinion(logistic, boosting)),
        "forest, spread of its trees": (forest, found[f"spread_{part}"]),
        "forest, leaf evidence": (forest, found[f"leaf_{part}"]),
        "boosting, noise": (boosting, random.random(len(boosting))),
        "boosting, spread of a forest": (boosting, found[f"spread_{part}"]),
        "boosting, its last iterations": (boosting, late),
        "boosting, second opinion of a forest": (boosting, second_opinion(boosting, forest)),
        "boosting, second opinion of logistic": (boosting, second_opinion(boosting, logistic)),
        **{f"{model}, its own": (networks[f"{model}_{part}"], networks[f"{model}_u_{part}"]) for model in NETWORKS},
    }


def cached(path, make):
    if not path.exists():
        np.savez(path, **make())
    return np.load(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cache", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(real_sets.SETS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--limen", default="build/bench/bin/limen")
    arguments = parser.parse_args()
    arguments.cache.mkdir(exist_ok=True)
    print("| set | bound | score, second column | chosen by auto | auto, mean | worst | p | 3 levels, mean | worst | missed |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    missed = collections.Counter()
    for name in arguments.sets.split(","):
        rows, y = real_sets.load(arguments.folder, name)
        bounds = real_sets.SETS[name][-1]
        pairs = collections.defaultdict(lambda: ([], []))
        for seed in range(arguments.seeds):
            found = cached(arguments.cache / f"{name}_{seed}.npz", lambda seed=seed: fit_and_predict(rows, y, seed))
            networks = cached(
                arguments.cache / f"{name}_{seed}_net.npz",
                lambda seed=seed, found=found: train_networks(arguments.limen, rows, y, found, seed),
            )
            for at, part in enumerate("ht"):
                for columns, pair in columns_of(found, networks, part, seed).items():
                    pairs[columns][at].append((found[f"y{part}"], *pair))
        for columns, (holdouts, tests) in pairs.items():
            now = limen.compare(holdouts, tests, min_precision=bounds, methods=["st", "auto"])
            before = limen.compare(
                holdouts, tests, min_precision=bounds, methods=["exact"], levels=3, levels_from="all"
            )
            for bound in bounds:
                st, auto, levels = now.get("st", bound), now.get("auto", bound), before.get("exact", bound)
                gains = [
                    [a.matched_recall / b.matched_recall - 1 if b.matched_recall else 0.0
                     for a, b in zip(summary.trials, st.trials, strict=True)]
                    for summary in (auto, levels)
                ]  # fmt: skip
                chosen = collections.Counter(trial.method for trial in auto.trials)
                missed.update(auto=auto.missed, st=st.missed, levels=levels.missed, fits=len(holdouts))
                figures = " | ".join(f"{100 * np.mean(g):+.1f}% | {100 * min(g):+.1f}%" for g in gains[:1])
                p = "" if set(chosen) == {"st"} else f"{auto.p_value_matched:.2g}"
                print(f"| {name} | {bound} | {columns} | {', '.join(f'{m} {n}' for m, n in chosen.most_common())} | "
                      f"{figures} | {p} | {100 * np.mean(gains[1]):+.1f}% | {100 * min(gains[1]):+.1f}% | "
                      f"{auto.missed} / {st.missed} / {levels.missed} |", flush=True)  # fmt: skip
    print(f"\nMissed bounds of {missed['fits']} fits: auto {missed['auto']}, one threshold {missed['st']}, "
          f"three levels {missed['levels']}.")  # fmt: skip


if __name__ == "__main__":
    main()
