#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A network trained on the rows of the paper's simulation beside the ideal Bayesian model of the same regions.

    bench/simulated_networks.py [--seeds 1,2,3,4,5] [--rows 1000000] [--program build/release/bin/limen] [--train "flags of limen train"]

Each seed draws regions (prior 1.5,8.5; tau 3; at most 100 training rows kept in a region), trains the default network on the rows of
the regions, which know the region's name and its place, and fits `auto` on a hold-out of so many rows. Recall: on as many test rows, at a test
precision equal to the bound, along the order learnt on the hold-out ("matched recall" of limen compare). The ideal model knows the
counts of each region that undersampling left, and its `auto` has its entropy. Certified: recall on the test rows of the certified boundary, one
threshold and `auto`, confidence 0.95. Rank correlation: of the model's column `uncertainty`, negated, with the training rows of the region.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

import pandas as pd

BOUNDS = ("0.3", "0.35", "0.4")


def run(program, *words, accepted=(0,)):
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True)
    if done.returncode not in accepted:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def matched(program, holdout, test):
    """Recall by method and bound."""
    words = ["--precision", ",".join(BOUNDS), "--methods", "st,auto", "--json"]
    report = json.loads(run(program, "compare", "--holdout", holdout, "--test", test, *words))
    return {(entry["method"], str(entry["bound"])): entry["matched_recall"] for entry in report}


def certified(program, folder, method, bound):
    """Recall and precision on test; 0 where nothing is certified."""
    boundary = folder / "certified.json"
    boundary.unlink(missing_ok=True)
    run(program, "fit", folder / "p_holdout.csv", "--precision", bound, "--confidence", "0.95", "--method", method, "-o",
        boundary, accepted=(0, 3))  # fmt: skip
    if not boundary.exists():
        return 0.0, 1.0
    figures = json.loads(run(program, "evaluate", boundary, folder / "p_test.csv", "--json"))[0]
    return figures["recall"], figures["precision"]


def spread(values, form=".4f"):
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--program", default="build/release/bin/limen")
    parser.add_argument("--train", default="", help="flags of limen train")
    options = parser.parse_args()
    program = options.program
    figures = {bound: [] for bound in BOUNDS}
    correlations = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in options.seeds.split(","):
            run(program, "simulate", "-o", folder, "--prior", "1.5,8.5", "--tau", 3, "--features", "--evidence-limit", 100, "--seed",
                seed, "--holdout-rows", options.rows, "--test-rows", options.rows)  # fmt: skip
            said = run(program, "train", folder / "features_train.csv", "--label", "label", "--tau", 3, "--seed", seed, "-o",
                       folder / "model", "--overwrite", *options.train.split())  # fmt: skip
            for part in ("holdout", "test"):
                run(
                    program,
                    "predict",
                    folder / "model",
                    folder / f"features_{part}.csv",
                    "-o",
                    folder / f"p_{part}.csv",
                    "--keep",
                    "region",
                )
            ideal = matched(program, folder / "holdout.csv", folder / "test.csv")
            network = matched(program, folder / "p_holdout.csv", folder / "p_test.csv")
            rows = pd.read_csv(folder / "features_train.csv", usecols=["region"])["region"].value_counts()
            test = pd.read_csv(folder / "p_test.csv")
            correlation = -test["uncertainty"].corr(test["region"].map(rows).fillna(0), method="spearman")
            correlations.append(correlation)
            print(
                f"seed {seed}: {said.split('uncertainty: ')[-1].splitlines()[0]}; rank correlation {correlation:.3f}",
                flush=True,
            )
            for bound in BOUNDS:
                promises = {method: certified(program, folder, method, bound) for method in ("st", "auto", "smooth")}
                figures[bound].append((ideal["auto", bound], network["st", bound], network["auto", bound], promises))
                shown = ", ".join(
                    f"{method} {recall:.4f} at {precision:.4f}" for method, (recall, precision) in promises.items()
                )
                print(f"  {bound}: ideal {ideal['auto', bound]:.4f}, network st {network['st', bound]:.4f}, auto {network['auto', bound]:.4f}; "
                      f"certified {shown}", flush=True)  # fmt: skip
    print(f"\nrank correlation: {spread(correlations, '.3f')}\n")
    print(
        "| bound | ideal, auto | network, st | network, auto | auto / ideal | certified st | certified auto | certified smooth | smooth / st |"
    )
    print("|" + "---|" * 9)
    for bound, seeds in figures.items():
        columns = [[each[at] for each in seeds] for at in range(3)]
        promises = [[each[3][method][0] for each in seeds] for method in ("st", "auto", "smooth")]
        share = [network / ideal for ideal, _, network, _ in seeds]
        more = [smooth / max(single, 1e-9) for single, smooth in zip(promises[0], promises[2], strict=True)]
        cells = [*map(spread, columns), spread(share, ".3f"), *map(spread, promises), spread(more, ".3f")]
        print(f"| {bound} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
