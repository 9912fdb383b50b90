#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calibrates, compares methods and draws three pictures, from score, uncertainty and label alone.

examples/compare_and_plot.py [FOLDER]      writes boundary.png, frontier.png, calibration.png there
"""

import pathlib
import sys

import limen
import matplotlib
import numpy as np
from sklearn.metrics import brier_score_loss

matplotlib.use("Agg")
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
data = limen.simulate(prior=(1.5, 8.5), tau=5, regions=5_000, holdout_rows=60_000, test_rows=60_000, seed=1)
y, score, uncertainty = data.holdout.columns

for levels in (1, 5):
    calibrator = limen.LevelIsotonic(levels=levels).fit(np.column_stack([score, uncertainty]), y)
    probability = calibrator.calibrate(data.test.score, data.test.uncertainty)
    print(
        f"isotonic on {levels} level{'s' * (levels > 1)}: Brier score {brier_score_loss(data.test.y, probability):.5f} on test"
    )

found = limen.compare(
    data.holdout, data.test, min_precision=0.4, levels=5, methods=["st", "hr", "gmt", "mist", "exact"]
)
for summary in found:
    print(f"{summary.method:6} test precision {summary.test_precision:.4f}, recall {summary.test_recall:.4f}, "
          f"recall at equal precision {summary.matched_recall:.4f}")  # fmt: skip

pictures = {
    "boundary": limen.BoundaryDisplay.from_predictions(y, score, uncertainty, min_precision=0.4, levels=5),
    "frontier": limen.FrontierDisplay.from_predictions(y, score, uncertainty, levels=5),
    "calibration": limen.CalibrationLevelsDisplay.from_predictions(y, score, uncertainty, levels=5),
}
for name, display in pictures.items():
    display.figure_.savefig(folder / f"{name}.png", dpi=150)
    print("wrote", folder / f"{name}.png")
