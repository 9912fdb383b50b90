# SPDX-License-Identifier: MIT
"""Ten million rows: our kernels beside numpy and scikit-learn on the same rows, in one run. Prints Markdown."""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np
from sklearn.isotonic import IsotonicRegression, isotonic_regression
from sklearn.metrics import precision_recall_curve

METHODS = ["fit_hr", "fit_gmt", "fit_mist", "fit_ew-dpmt", "fit_vw-dpmt"]


def timed(function, repeats):
    """Shortest of `repeats` runs, in milliseconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return 1e3 * best


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([program, f"--dump={folder}"], check=True)
    output = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=0.5"], check=True,
                            capture_output=True, text=True).stdout
    ours = {entry["name"].removesuffix("/real_time").removesuffix("/process_time"): entry["real_time"]
            for entry in json.loads(output)["benchmarks"]}

    score = np.fromfile(folder / "score.f32", dtype=np.float32)
    label = np.fromfile(folder / "label.u8", dtype=np.uint8)
    order = np.argsort(score, kind="stable")
    sorted_score, sorted_label = score[order].astype(float), label[order].astype(float)
    peers = {
        "sklearn precision_recall_curve": timed(lambda: precision_recall_curve(label, score), 2),
        "np.sort of the scores": timed(lambda: np.sort(score), 3),
        "numpy score >= t": timed(lambda: score >= np.float32(0.5), 10),
        "sklearn isotonic_regression, sorted": timed(lambda: isotonic_regression(sorted_label), 2),
        "sklearn IsotonicRegression.fit": timed(lambda: IsotonicRegression().fit(score.astype(float), label), 1),
    }
    pairs = [
        ("fit_exact/float/n:10M/levels:11", "sklearn precision_recall_curve"),
        ("fit_exact/float/n:10M/levels:3", "sklearn precision_recall_curve"),
        ("fit_exact/float/n:10M/levels:11", "np.sort of the scores"),
        ("fit_exact/float/n:10M/levels:11", "peer/std_sort_of_scores/float/n:10M"),
        ("fit_exact/float/n:10M/levels:11", "peer/parallel_sort_of_scores/float/n:10M"),
        *((name, "fit_exact/float/n:10M/levels:11") for name in ours
          if name.startswith("fit_exact/float/n:10M/levels:11/") or name.split("/")[0] in METHODS),
        ("decide/float/n:10M/levels:3", "numpy score >= t"),
        ("decide/float/n:10M/levels:11", "numpy score >= t"),
        ("decide/float/n:10M/levels:100", "numpy score >= t"),
        ("fit_isotonic/sorted_labels/n:10M", "sklearn isotonic_regression, sorted"),
        ("fit_level_calibration/float/n:10M/levels:1", "sklearn IsotonicRegression.fit"),
    ]
    print("| ours | ms | peer | ms | peer / ours |")
    print("|---|---|---|---|---|")
    for name, peer in pairs:
        peer_ms = peers.get(peer) or ours[peer]
        print(f"| {name} | {ours[name]:.1f} | {peer} | {peer_ms:.1f} | {peer_ms / ours[name]:.2f} |")
    print("\nOther figures (ms): " + ", ".join(f"{name} {value:.1f}" for name, value in ours.items()
                                              if name not in {pair[0] for pair in pairs}))


if __name__ == "__main__":
    main()
