#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Flights by time: train January to April, choose on May, judge on June. Network with `auto` beside boosting.

    bench/flights_by_time.py flights_3m.csv.xz [--seeds 1,2,3,4,5] [--bounds 0.35,0.45,0.55] [--tau 5] [--program build/release/bin/limen]

Positive: more than 30 minutes late. A tenth of the training rows, drawn by the seed, is kept aside: the network chooses its epoch on
it, boosting (scikit-learn's HistGradientBoosting with default settings; hour, weekday, distance, and origin and destination as categories)
has its law of evidence learnt from it (limen.uncertainty.Evidence). The network learns with negatives kept at rate 1 / tau. Recall: on June at a
precision equal to the bound there, along the order learnt on May; in brackets recall and precision of the rule as it was fitted.
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile

import limen
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier


def run(program, *words):
    return subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, text=True).stdout


def judged(holdout, test, bound, method):
    """Matched recall, recall, precision; holdout, test: (y, score, uncertainty)."""
    found = limen.compare(holdout, test, min_precision=[bound], methods=[method]).get(method, bound)
    return found.matched_recall, found.test_recall, found.test_precision


def features(rows):
    date = pd.to_datetime(rows["date"])
    return pd.DataFrame(
        {
            "hour": date.dt.hour,
            "weekday": date.dt.weekday,
            "distance": rows["distance"],
            "origin": rows["origin"],
            "destination": rows["destination"],
        }
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--bounds", default="0.35,0.45,0.55")
    parser.add_argument("--tau", default="5")
    parser.add_argument("--program", default="build/release/bin/limen")
    options = parser.parse_args()
    bounds = [float(bound) for bound in options.bounds.split(",")]
    rows = pd.read_csv(options.file)
    month = pd.to_datetime(rows["date"]).dt.month
    y = (rows["delay"] > 30).to_numpy()
    parts = {"train": month <= 4, "holdout": month == 5, "test": month == 6}
    X = features(rows)
    for name in ("origin", "destination"):
        X[name] = X[name].astype("category")
    codes = X.assign(origin=X["origin"].cat.codes, destination=X["destination"].cat.codes)
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in options.seeds.split(","):
            aside = np.random.default_rng(int(seed)).random(len(y)) < 0.1
            tables = {
                "learn": parts["train"] & ~aside,
                "aside": parts["train"] & aside,
                "holdout": parts["holdout"],
                "test": parts["test"],
            }
            for table, chosen in tables.items():
                rows[chosen].to_csv(folder / f"{table}.csv", index=False)
            said = run(options.program, "train", folder / "learn.csv", "--validation-data", folder / "aside.csv", "--label", "delay",
                       "--positive-if", ">30", "--tau", options.tau, "--seed", seed, "-o", folder / "model", "--overwrite")  # fmt: skip
            print(f"seed {seed}: " + said.split("evidence: ")[-1].splitlines()[0], flush=True)
            network = {}
            for part in ("holdout", "test"):
                run(options.program, "predict", folder / "model", folder / f"{part}.csv", "-o", folder / "p.csv")
                predicted = pd.read_csv(folder / "p.csv")
                network[part] = (
                    predicted["label"].to_numpy(),
                    predicted["score"].to_numpy(),
                    predicted["uncertainty"].to_numpy(),
                )
            learn = tables["learn"].to_numpy()
            model = HistGradientBoostingClassifier(
                random_state=int(seed), categorical_features=["origin", "destination"]
            )
            model.fit(codes[learn], y[learn])
            score = {part: model.predict_proba(codes[tables[part]])[:, 1] for part in ("aside", "holdout", "test")}
            law = limen.uncertainty.Evidence(categorical=["hour", "weekday"])
            law.fit(X[learn], X[tables["aside"]], y[tables["aside"]], score["aside"])
            print("  boosting: " + law.why_, flush=True)
            single = {part: (y[tables[part]], score[part], -score[part]) for part in ("holdout", "test")}
            with_law = single
            if not law.is_silent_:
                with_law = {
                    part: (y[tables[part]], score[part], law.uncertainty(X[tables[part]]))
                    for part in ("holdout", "test")
                }
            for bound in bounds:
                for what, data, method in (("network, st", network, "st"), ("network, auto", network, "auto"),
                                           ("boosting, st", single, "st"), ("boosting, learnt evidence, auto", with_law, "auto")):  # fmt: skip
                    found = judged(data["holdout"], data["test"], bound, method)
                    figures.setdefault((bound, what), []).append(found)
                    print(f"  {bound} {what}: {found[0]:.4f} ({found[1]:.4f} at {found[2]:.4f})", flush=True)
    print("\n| bound | rule | recall at the bound: median (range) | as fitted: recall | precision |\n|" + "---|" * 5)
    for (bound, what), found in figures.items():
        matched, recall, precision = zip(*found, strict=True)
        print(f"| {bound} | {what} | {statistics.median(matched):.4f} ({min(matched):.4f} to {max(matched):.4f}) | "
              f"{statistics.median(recall):.4f} | {statistics.median(precision):.4f} |")  # fmt: skip


if __name__ == "__main__":
    main()
