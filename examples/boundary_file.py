#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fits a boundary in Python, writes its file, and lets the program decide by it: the same decisions, row by row.

examples/boundary_file.py [FOLDER]      LIMEN_PROGRAM names the program where it is not built here
"""

import csv
import os
import pathlib
import subprocess
import sys
import tempfile

import limen

program = os.environ.get("LIMEN_PROGRAM", pathlib.Path(__file__).resolve().parents[1] / "build/release/bin/limen")
folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
data = limen.simulate(holdout_rows=20_000, test_rows=5_000, regions=2_000, seed=3)
boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.6)
boundary.save(folder / "boundary.json")
with open(folder / "rows.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["score", "uncertainty"])
    rows.writerows(zip(data.test.score.tolist(), data.test.uncertainty.tolist(), strict=True))
print(f"wrote {folder / 'boundary.json'}: {boundary}")

if not os.path.exists(program):
    print(f"the program is not built ({program} is not there; make build): limen apply was left out")
    sys.exit()
subprocess.run(
    [program, "apply", folder / "boundary.json", folder / "rows.csv", "-o", folder / "decided.csv"], check=True
)
with open(folder / "decided.csv", newline="") as file:
    decided = [row["decision"] in ("1", "true") for row in csv.DictReader(file)]
in_python = boundary.decide(data.test.score, data.test.uncertainty).tolist()
assert decided == in_python
print(f"limen apply and Boundary.decide agree on {len(decided)} rows, {sum(decided)} of them flagged")
