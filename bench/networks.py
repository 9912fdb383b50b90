#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of limen train beside gradient boosting and logistic regression: average precision on the same test rows.

    bench/networks.py DATA_FOLDER [--sets adult,bank,...] [--seeds 1,2,3,4,5] [--program build/release/bin/limen]
                      [--model "NAME=flags of limen train" ...] [--peers boosting,lightgbm,logistic]

Each seed splits the rows 60/20/20 into training, hold-out and test as `limen train --split 0.6,0.2,0.2 --seed` does; every model learns
from the training part (limen keeps a tenth of it aside to choose the epoch) and is judged on the test part.

boosting: scikit-learn's HistGradientBoostingClassifier with default settings, columns of text as categories where they have at most 255
values. lightgbm: LGBMClassifier with default settings (where it is installed), the same inputs. logistic: one-hot categories and numbers
in 32 quantile bins, C by a tenth of the training rows. Prints a line for each set, seed and model, then medians and ranges, and the
difference to boosting.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
import real_sets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

MOST_CATEGORIES = 255


def run(program, *words):
    return subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, text=True).stdout


def predict(program, model, table, part, output):
    """Row numbers from 0, and scores, of a part."""
    run(program, "predict", model, table, "--part", part, "--row-number", "-o", output)
    rows = pd.read_csv(output)
    number = next(name for name in rows if "row" in name)
    return rows[number].to_numpy() - 1, rows["score"].to_numpy()


def boosting(codes, text, y, train, test):
    few = [at for at, name in enumerate(codes) if name in text and codes[name].nunique() <= MOST_CATEGORIES]
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=few or None)
    X = codes.to_numpy(float)
    return model.fit(X[train], y[train]).predict_proba(X[test])[:, 1]


def lightgbm(codes, text, y, train, test):
    from lightgbm import LGBMClassifier

    X = codes.copy()
    for name in text:
        X[name] = X[name].astype(int).astype("category")
    model = LGBMClassifier(random_state=0, verbose=-1)
    return model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]


def logistic(codes, text, y, train, test):
    few = [name for name in codes if name in text or codes[name].nunique() <= 32]
    many = [name for name in codes if name not in few]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), few),
        (KBinsDiscretizer(32, encode="onehot", quantile_method="averaged_inverted_cdf"), many),
    )
    cut = len(train) * 9 // 10
    learn, check = train[:cut], train[cut:]
    best = None
    for strength in (0.01, 0.1, 1.0, 10.0):
        model = make_pipeline(encoder, LogisticRegression(C=strength, max_iter=300)).fit(codes.iloc[learn], y[learn])
        value = average_precision_score(y[check], model.predict_proba(codes.iloc[check])[:, 1])
        best = max(best or (-1, None), (value, strength))
    model = make_pipeline(encoder, LogisticRegression(C=best[1], max_iter=300)).fit(codes.iloc[train], y[train])
    return model.predict_proba(codes.iloc[test])[:, 1]


PEERS = {"boosting": boosting, "lightgbm": lightgbm, "logistic": logistic}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sets", default=",".join(real_sets.SETS))
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--program", default="build/release/bin/limen")
    parser.add_argument("--model", action="append", help="NAME=flags; default: default=, with no flags")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--most-rows", type=int, default=0, help="a sample of so many rows of larger sets; 0: all")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    flags = parser.parse_args()
    warnings.filterwarnings("ignore")
    models = dict(each.split("=", 1) for each in flags.model or ["default="])
    figures = {}

    def note(name, seed, model, value, seconds):
        figures.setdefault(name, {}).setdefault(model, []).append((value, seconds))
        print(f"{name}, seed {seed}, {model}: average precision {value:.4f}, {seconds:.1f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in flags.sets.split(","):
            rows, y = real_sets.load(flags.data, name)
            if flags.most_rows and len(y) > flags.most_rows:
                chosen = np.random.default_rng(0).permutation(len(y))[: flags.most_rows]
                rows, y = rows.iloc[chosen].reset_index(drop=True), y[chosen]
            codes, text = real_sets.as_numbers(rows)
            table = folder / f"{name}.csv"
            rows.assign(label_=y).to_csv(table, index=False)
            for seed in flags.seeds.split(","):
                parts = None
                for model, words in models.items():
                    start = time.perf_counter()
                    run(flags.program, "train", table, "--label", "label_", "--split", "0.6,0.2,0.2", "--seed", seed, "-o",
                        folder / "model", "--overwrite", *words.split())  # fmt: skip
                    seconds = time.perf_counter() - start
                    test, score = predict(flags.program, folder / "model", table, "test", folder / "test.csv")
                    note(name, seed, model, average_precision_score(y[test], score), seconds)
                    if parts is None:
                        train, _ = predict(flags.program, folder / "model", table, "train", folder / "train.csv")
                        parts = train, test
                for peer in filter(None, flags.peers.split(",")):
                    start = time.perf_counter()
                    try:
                        score = PEERS[peer](codes, text, y, *parts)
                    except ImportError:
                        continue
                    note(name, seed, peer, average_precision_score(y[parts[1]], score), time.perf_counter() - start)
    if flags.json:
        flags.json.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n| set | model | average precision: median (range) | less boosting: median (range) | seconds |\n|" + "---|" * 5)
    for name, of in figures.items():
        for model, values in of.items():
            precisions = [value for value, _ in values]
            less = [a - b for a, (b, _) in zip(precisions, of.get("boosting", values), strict=True)]
            print(
                f"| {name} | {model} | {statistics.median(precisions):.4f} ({min(precisions):.4f} to {max(precisions):.4f}) | "
                f"{statistics.median(less):+.4f} ({min(less):+.4f} to {max(less):+.4f}) | "
                f"{statistics.median(seconds for _, seconds in values):.1f} |"
            )


if __name__ == "__main__":
    main()
