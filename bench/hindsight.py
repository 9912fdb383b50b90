#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`auto` beside the best fixed choice in hindsight, where uncertainty informs: the paper's simulation, and flights by counts.

    bench/hindsight.py flights_3m.csv.xz [--limen build/release/bin/limen]

Fixed choices: `smooth`, `joint`, and `exact` on 2, 4, 8 and 16 levels from the top; the one with the highest recall on test at equal test
precision is the best in hindsight. Simulation: the ideal model's score and uncertainty, 300,000 hold-out rows and a million test rows.
Flights: split and scored as in bench/flights.py.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import flights

LEVELS = [2, 4, 8, 16]


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def judge(program, name, holdout, test, bounds):
    pair = ["compare", "--holdout", holdout, "--test", test, "--precision", bounds, "--json", "--methods"]
    found = json.loads(run(program, *pair, "st,smooth,joint,auto"))
    entries = {(entry["method"], entry["bound"]): entry for entry in found}
    for levels in LEVELS:
        for entry in json.loads(run(program, *pair, "exact", "--levels", levels)):
            entries[f"exact {levels}", entry["bound"]] = entry
    for bound in map(float, bounds.split(",")):
        recall = {method: entry["matched_recall"] for (method, at), entry in entries.items() if at == bound}
        st, auto = recall.pop("st"), recall.pop("auto")
        best = max(recall, key=recall.get)
        (trial,) = entries["auto", bound]["trials"]
        print(f"| {name} | {bound} | {st:.4f} | {best} {100 * (recall[best] / st - 1):+.1f}% | "
              f"{trial['method']} {100 * (auto / st - 1):+.1f}% | {trial['test_precision']:.4f} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flights", type=pathlib.Path)
    parser.add_argument("--limen", default="build/release/bin/limen")
    arguments = parser.parse_args()
    limen = pathlib.Path(arguments.limen).resolve()
    print("| rows | precision | st | best in hindsight | auto | its test precision |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for tau in (1, 3, 5):
            law = ["--prior", "1.5,8.5", "--tau", tau, "--regions", 200_000, "--seed", 1]
            run(limen, "simulate", "-o", folder, *law, "--holdout-rows", 300_000, "--test-rows", 1_000_000)
            judge(limen, f"simulation, tau {tau}", folder / "holdout.csv", folder / "test.csv", "0.25,0.3,0.35,0.4")
        flights.split(arguments.flights, folder, 1)
        for strength in (2, 5, 10):
            for part in ("holdout", "test"):
                keys = ["--keys", "origin,destination,date:hour", "--label", "delay", "--positive-if", ">30"]
                run(limen, "evidence", folder / "train.csv", folder / f"{part}.csv", *keys, "--tau", 5, "--seed", 1,
                    "--strength", strength, "--rate", "--add-label", "-o", folder / f"{part}_scored.csv")  # fmt: skip
            scored = [folder / f"{part}_scored.csv" for part in ("holdout", "test")]
            judge(limen, f"flights, strength {strength}", *scored, "0.5,0.6,0.7")


if __name__ == "__main__":
    main()
