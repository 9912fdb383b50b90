# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess
import sys

import limen
import pytest
from conftest import ROOT

pytest.importorskip("sklearn")


def run(name, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / name, *map(str, arguments)], capture_output=True, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fraud_forest_reaches_its_precision_out_of_fold():
    text = run("fraud_forest.py")
    assert "precision >= 0.95" in text
    assert float(re.search(r"hold-out of 12000 rows: precision ([0-9.]+)", text)[1]) >= 0.95
    assert "uncertainty: leaf-evidence" in text
    precision = [float(number) for number in re.findall(r"precision ([0-9.]+), recall [0-9.]+ on new", text)]
    assert len(precision) == 2
    assert precision[1] > precision[0]


def test_key_evidence_beats_one_threshold_at_half_precision():
    pytest.importorskip("pandas")
    rows = [line.split() for line in run("key_evidence.py").splitlines()]
    matched = {(row[0], row[1]): float(row[4]) for row in rows if row[1:2] in (["st"], ["exact"])}
    assert set(matched) == {(bound, method) for bound in ("0.5", "0.6", "0.7") for method in ("st", "exact")}
    assert matched["0.5", "exact"] > matched["0.5", "st"]


def test_compare_and_plot_writes_three_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    text = run("compare_and_plot.py", tmp_path)
    assert text.count("Brier score") == 2
    assert re.findall(r"^(\w+) +test precision", text, re.M) == ["st", "hr", "gmt", "mist", "exact"]
    for name in ("boundary", "frontier", "calibration"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_boundary_file_is_applied_by_the_program(program, tmp_path):
    text = run("boundary_file.py", tmp_path, LIMEN_PROGRAM=str(program.path))
    assert "agree on 5000 rows" in text
    assert limen.Boundary.load(tmp_path / "boundary.json").precision >= 0.6


def test_boundary_file_says_that_the_program_is_not_built(tmp_path):
    text = run("boundary_file.py", tmp_path, LIMEN_PROGRAM=str(tmp_path / "nothing"))
    assert "the program is not built" in text
    assert json.loads((tmp_path / "boundary.json").read_text())["format"] == "limen-boundary"


@pytest.mark.engines
def test_mlflow_model_loads_what_it_logged(tmp_path):
    pytest.importorskip("mlflow")
    text = run("mlflow_model.py", tmp_path)
    assert "predicts the same on 3000 new rows" in text
    (logged,) = (tmp_path / "runs").glob("0/*/artifacts/boundary.json")
    boundary = limen.Boundary.load(logged)
    assert boundary.precision >= 0.9
    assert (logged.parent / "decision.sql").read_text() == boundary.to_sql(dialect="spark")
    assert (logged.parent / "decide.h").read_text() == boundary.to_c(name="decide")
    (model,) = (tmp_path / "runs").glob("0/models/*/artifacts/MLmodel")
    assert "sklearn" in model.read_text()
