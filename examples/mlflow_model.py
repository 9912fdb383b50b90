#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Logs a fitted BoundaryClassifier in MLflow as any scikit-learn estimator, and the boundary beside it in every form.

examples/mlflow_model.py [FOLDER]      the tracking store: a folder, no server
"""

import os
import pathlib
import sys
import tempfile

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions ask whether a plain folder is meant
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

import mlflow
import mlflow.sklearn
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import limen

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
mlflow.set_tracking_uri((folder / "runs").as_uri())
X, y = make_classification(6000, weights=[0.8], flip_y=0.1, random_state=0)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)
classifier = limen.BoundaryClassifier(RandomForestClassifier(50, random_state=0), min_precision=0.9, random_state=0)
classifier.fit(X_train, y_train)
boundary = classifier.boundary_

with mlflow.start_run() as run:
    mlflow.log_params({"min_precision": 0.9, "uncertainty": classifier.uncertainty_method_, "levels": boundary.levels})
    mlflow.log_metrics({"holdout_precision": boundary.precision, "holdout_recall": boundary.recall})
    mlflow.log_text(boundary.to_json(), "boundary.json")
    mlflow.log_text(boundary.to_sql(dialect="spark"), "decision.sql")
    mlflow.log_text(boundary.to_c(name="decide"), "decide.h")
    # Pickled whole: limen must be installed where it is loaded.
    model = mlflow.sklearn.log_model(
        classifier, name="model", serialization_format="cloudpickle", pip_requirements=["limen", "scikit-learn"]
    )

loaded = mlflow.sklearn.load_model(model.model_uri)
assert (loaded.predict(X_new) == classifier.predict(X_new)).all()
assert loaded.boundary_ == boundary
print(f"run {run.info.run_id}: {boundary}")
print(f"the model that was logged predicts the same on {len(X_new)} new rows, {int((loaded.predict(X_new) == 1).sum())} of them flagged")
