#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the evidence of the default network fall for rows unlike those of training?

    bench/out_of_distribution.py DATA_FOLDER [--sets adult,bank] [--seeds 1,2,3,4,5] [--program build/release/bin/limen] [--train "flags"]

The network learns from 60% of the rows. Of 5,000 test rows the columns of text get a value that training never had, the columns of numbers a
value ten ranges above the largest or below the smallest, or both; also one column at a time. Printed: the share of rows whose evidence is lower
than before the change, in % (of single columns: the lowest, the median and the highest share).
"""

import argparse
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np
import pandas as pd
import real_sets

MOST_ROWS = 5000


def run(program, *words):
    return subprocess.run([str(program), *map(str, words)], check=True, capture_output=True, text=True).stdout


def evidence(program, folder, rows):
    rows.to_csv(folder / "rows.csv", index=False)
    run(program, "predict", folder / "model", folder / "rows.csv", "-o", folder / "out.csv", "--all-columns")
    return pd.read_csv(folder / "out.csv")["evidence"].to_numpy()


def changed(rows, columns, text, high):
    rows = rows.copy()
    for name in columns:
        if name in text:
            rows[name] = "never seen before"
        else:
            low, top = rows[name].min(), rows[name].max()
            rows[name] = top + 10 * (top - low) if high else low - 10 * (top - low)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--sets", default="adult,bank,heart,diabetes")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--program", default="build/release/bin/limen")
    parser.add_argument("--train", default="")
    options = parser.parse_args()
    print(
        "| set | seed | all text | all numbers, above | below | everything | one text column | one number column |\n|"
        + "---|" * 8
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for each in options.sets.split(","):
            rows, y = real_sets.load(options.data, each)
            text = [column for column in rows if not pd.api.types.is_numeric_dtype(rows[column])]
            numbers = [column for column in rows if column not in text]
            for seed in options.seeds.split(","):
                order = np.random.default_rng(int(seed)).permutation(len(y))
                train, test = order[: len(y) * 6 // 10], order[len(y) * 6 // 10 :][:MOST_ROWS]
                rows.assign(label_=y).iloc[train].to_csv(folder / "train.csv", index=False)
                run(options.program, "train", folder / "train.csv", "--label", "label_", "--seed", seed, "-o", folder / "model", "--overwrite",
                    *options.train.split())  # fmt: skip
                known = rows.iloc[test]
                before = evidence(options.program, folder, known)

                def share(columns, high=True, known=known, before=before, text=text):
                    if not columns:
                        return None
                    return 100 * float(
                        np.mean(evidence(options.program, folder, changed(known, columns, text, high)) < before)
                    )

                def spread(columns, share=share):
                    shares = [share([column]) for column in columns]
                    return f"{min(shares):.1f}, {statistics.median(shares):.1f}, {max(shares):.1f}" if shares else ""

                whole = [share(text), share(numbers), share(numbers, False), share([*text, *numbers])]
                cells = ["" if value is None else f"{value:.1f}" for value in whole]
                print(f"| {each} | {seed} | " + " | ".join([*cells, spread(text), spread(numbers)]) + " |", flush=True)


if __name__ == "__main__":
    main()
