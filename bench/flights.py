#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Evidence on the flights data: 2-D boundary against one threshold at matched test precision.

    bench/flights.py flights_3m.csv.xz [--limen build/release/bin/limen] [--seed 1] [--strengths 0,2,5,10]

The file (CSV or CSV.xz) has the columns date, delay, distance, origin, destination. Rows are split at random into
training (60%), hold-out (20%) and test (20%); a flight is positive when it is more than 30 minutes late; negatives of the
training rows are kept at rate 1/5. The score is the smoothed rate of the cell route by hour, the uncertainty comes from
the number of training rows in it, 8 levels by its quantiles.

A second table: boundaries certified with confidence 0.95 on the hold-out, one threshold and `auto`, judged on the test rows.
"""

import argparse
import json
import lzma
import pathlib
import random
import subprocess
import tempfile


def split(source, folder, seed):
    pick = random.Random(seed)
    opener = lzma.open if source.suffix == ".xz" else open
    with opener(source, "rt") as rows:
        header = next(rows)
        files = [open(folder / f"{name}.csv", "w") for name in ("train", "holdout", "test")]
        for file in files:
            file.write(header)
        for row in rows:
            place = pick.random()
            files[0 if place < 0.6 else 1 if place < 0.8 else 2].write(row)
        for file in files:
            file.close()


def run(*words):
    print("$", *("limen" if at == 0 else f'"{word}"' if ">" in word else word for at, word in enumerate(words)))
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def certified(limen, folder, strength, bound):
    cells = []
    for method in ("st", "auto"):
        done = subprocess.run(
            [limen, "fit", f"{folder}/holdout_scored.csv", "--precision", bound, "--confidence", "0.95", "--method", method,
             "-o", f"{folder}/b.json", "--json"],
            capture_output=True, text=True, check=False,
        )
        if done.returncode == 3:
            cells += ["nothing", "", ""]
            continue
        done.check_returncode()
        judged = json.loads(run(limen, "evaluate", f"{folder}/b.json", f"{folder}/test_scored.csv", "--json"))[0]
        cells += [judged["method"], f"{judged['precision']:.4f}", f"{judged['recall']:.4f}"]
    gain = f"{100 * (float(cells[5]) / float(cells[2]) - 1):+.1f}%" if cells[2] and cells[5] else ""
    return f"| {strength} | {bound} | " + " | ".join([*cells[1:3], *cells[3:], gain]) + " |"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("source", type=pathlib.Path)
    arguments.add_argument("--limen", default="build/release/bin/limen")
    arguments.add_argument("--seed", default="1")
    arguments.add_argument("--strengths", default="0,2,5,10")
    flags = arguments.parse_args()
    limen = str(pathlib.Path(flags.limen).resolve())
    lines = []
    promises = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        split(flags.source, folder, int(flags.seed))
        for strength in flags.strengths.split(","):
            for part in ("holdout", "test"):
                run(limen, "evidence", f"{folder}/train.csv", f"{folder}/{part}.csv", "--keys", "origin,destination,date:hour",
                    "--label", "delay", "--positive-if", ">30", "--tau", "5", "--seed", flags.seed, "--strength", strength,
                    "--rate", "--add-label", "-o", f"{folder}/{part}_scored.csv")
            result = json.loads(run(limen, "compare", "--holdout", f"{folder}/holdout_scored.csv", "--test",
                                    f"{folder}/test_scored.csv", "--precision", "0.5,0.6,0.7", "--levels", "8",
                                    "--methods", "st,exact", "--json"))
            recall = {(line["bound"], line["method"]): line["matched_recall"] for line in result}
            for bound in sorted({bound for bound, _ in recall}):
                st, exact = recall[bound, "st"], recall[bound, "exact"]
                lines.append(f"| {strength} | {bound} | {st:.4f} | {exact:.4f} | {100 * (exact / st - 1):+.1f}% |")
                promises.append(certified(limen, folder, strength, str(bound)))
    print("\n| strength | test precision | st | 8 levels | gain |\n|---|---|---|---|---|")
    print("\n".join(lines))
    print("\n| strength | bound | st: test precision | recall | auto chose | test precision | recall | gain |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(promises))


if __name__ == "__main__":
    main()
