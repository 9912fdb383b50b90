#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of limen train beside logistic regression and gradient boosting, on the same rows of public data.

    bench/models.py DATA_FOLDER [--program build/release/bin/limen] [--sets bank,heart] [--models mlp/postnet,...]
                    [--seeds 1,2,3] [--flags "--epochs 20"]

DATA_FOLDER holds bank_marketing/bank-additional-full.csv and heart_brfss2020/heart_2020_cleaned.csv, plain or as .xz. Each
seed splits the rows 60/20/20 (training, hold-out, test). All models learn from the training part and are judged on the test
part. Logistic regression: one-hot, standardised, C by 5-fold cross-validation, once on ROC AUC and once on average
precision. Gradient boosting: HistGradientBoosting, categories as such, learning rate and leaves by a tenth of the training
rows. Prints one line per seed and model, then the means; exits with 1 when a model of limen is not above the better of the
two regressions in both figures, by the mean over the seeds.
"""
import argparse
import csv
import lzma
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

SETS = {
    "bank": {"file": "bank_marketing/bank-additional-full.csv", "separator": ";", "label": "y", "positive": "yes",
             "drop": ["duration"]},
    "heart": {"file": "heart_brfss2020/heart_2020_cleaned.csv", "separator": ",", "label": "HeartDisease",
              "positive": "Yes", "drop": []},
}
PEERS = {
    "logistic regression, C by ROC AUC": lambda *data: logistic_regression(*data, "roc_auc"),
    "logistic regression, C by average precision": lambda *data: logistic_regression(*data, "average_precision"),
    "gradient boosting": lambda *data: gradient_boosting(*data),
}
MODELS = "mlp/postnet,mlp/mc-dropout,mlp/ensemble,sam/postnet,ft-transformer/postnet"


def read(folder, of):
    path = folder / of["file"]
    packed = path.with_name(path.name + ".xz")
    with lzma.open(packed, "rt") if packed.exists() else open(path) as file:
        rows = list(csv.reader(file, delimiter=of["separator"]))
    return rows[0], rows[1:]


def is_number(value):
    try:
        float(value)
    except ValueError:
        return False
    return True


def columns_of(of, header, rows):
    """Numbers and categories as two arrays, and the labels. Numbers are what reads as such, as for limen."""
    numbers, categories = [], []
    for at, name in enumerate(header):
        if name == of["label"] or name in of["drop"]:
            continue
        values = [row[at] for row in rows]
        if all(map(is_number, values)):
            numbers.append(numpy.array(values, float))
        else:
            categories.append(numpy.array(values, object))
    label = numpy.array([row[header.index(of["label"])] == of["positive"] for row in rows])
    return numpy.stack(numbers, 1), numpy.stack(categories, 1), label


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def part_of(program, model, data, part, output):
    """Row numbers and scores of a part of the split."""
    run(program, "predict", model, data, "--part", part, "--keep", "id", "-o", output)
    with open(output) as file:
        rows = list(csv.DictReader(file))
    return numpy.array([int(row["id"]) for row in rows]), numpy.array([float(row["score"]) for row in rows])


def logistic_regression(numbers, categories, label, train, test, scoring):
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(categories[train])
    inputs = numpy.concatenate([numbers, one_hot.transform(categories)], 1)
    scaler = StandardScaler().fit(inputs[train])
    model = LogisticRegressionCV(Cs=numpy.logspace(-5, 2, 8), scoring=scoring, solver="newton-cholesky", max_iter=100,
                                 cv=StratifiedKFold(5, shuffle=True, random_state=0))
    model.fit(scaler.transform(inputs[train]), label[train])
    return model.predict_proba(scaler.transform(inputs[test]))[:, 1], f"C = {model.C_[0]:g}"


def gradient_boosting(numbers, categories, label, train, test):
    codes = OrdinalEncoder().fit_transform(categories)
    inputs = numpy.concatenate([numbers, codes], 1)
    mask = [False] * numbers.shape[1] + [True] * codes.shape[1]
    learn, check = train_test_split(train, test_size=0.1, random_state=0, stratify=label[train])
    best = None
    for rate in (0.03, 0.1):
        for leaves in (7, 31):
            model = HistGradientBoostingClassifier(learning_rate=rate, max_leaf_nodes=leaves, max_iter=500,
                                                   categorical_features=mask, early_stopping=True, random_state=0)
            model.fit(inputs[learn], label[learn])
            value = average_precision_score(label[check], model.predict_proba(inputs[check])[:, 1])
            if best is None or value > best[0]:
                best = (value, model, f"rate {rate}, {leaves} leaves")
    return best[1].predict_proba(inputs[test])[:, 1], best[2]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("data", type=pathlib.Path)
    arguments.add_argument("--program", default="build/release/bin/limen")
    arguments.add_argument("--sets", default="bank,heart")
    arguments.add_argument("--models", default=MODELS, help="encoder/model, by commas")
    arguments.add_argument("--seeds", default="1,2,3")
    arguments.add_argument("--flags", default="", help="more flags of limen train")
    flags = arguments.parse_args()
    warnings.filterwarnings("ignore")
    results = {}

    def note(name, seed, model, label, score, seconds, remark):
        values = roc_auc_score(label, score), average_precision_score(label, score)
        results.setdefault((name, model), []).append((*values, seconds))
        print(f"{name}, seed {seed}, {model}: ROC AUC {values[0]:.4f}, average precision {values[1]:.4f}, "
              f"{seconds:.1f} s {remark}", flush=True)

    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for name in flags.sets.split(","):
            of = SETS[name]
            header, rows = read(flags.data, of)
            numbers, categories, label = columns_of(of, header, rows)
            data = place / f"{name}.csv"
            with open(data, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([*header, "id"])
                writer.writerows([*row, at] for at, row in enumerate(rows))
            for seed in flags.seeds.split(","):
                train = None
                for chosen in flags.models.split(","):
                    encoder, model = chosen.split("/")
                    command = ["train", data, "--label", of["label"], "--drop", ",".join([*of["drop"], "id"]),
                               "--split", "0.6,0.2,0.2", "--seed", seed, "--encoder", encoder, "--model", model,
                               *flags.flags.split()]
                    start = time.perf_counter()
                    run(flags.program, *command, "-o", place / "model", "--overwrite")
                    seconds = time.perf_counter() - start
                    found, score = part_of(flags.program, place / "model", data, "test", place / "test.csv")
                    if train is None:
                        test = found
                        train, _ = part_of(flags.program, place / "model", data, "train", place / "train.csv")
                        assert not set(train) & set(test)
                        for peer, learn in PEERS.items():
                            start = time.perf_counter()
                            peer_score, remark = learn(numbers, categories, label, train, test)
                            note(name, seed, peer, label[test], peer_score,
                                 time.perf_counter() - start, f"({remark})")
                    assert (found == test).all()
                    note(name, seed, f"{model} on {encoder}", label[test], score, seconds, "")

    short = 0
    print("\n| set | model | ROC AUC | average precision | seeds above logistic regression | training |\n"
          "|---|---|---|---|---|---|")
    for (name, model), values in results.items():
        mean = numpy.mean(values, 0)
        base = numpy.max([results[name, peer] for peer in PEERS if peer.startswith("logistic")], 0)
        wins = (numpy.array(values)[:, :2] > base[:, :2]).sum(0)
        above = "" if model.startswith("logistic") else f"{wins[0]} and {wins[1]} of {len(values)}"
        short += model not in PEERS and not (mean[:2] > base.mean(0)[:2]).all()
        print(f"| {name} | {model} | {mean[0]:.4f} | {mean[1]:.4f} | {above} | {mean[2]:.1f} s |")
    sys.exit(1 if short else 0)


if __name__ == "__main__":
    main()
