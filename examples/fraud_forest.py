#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fraud-like payments, a random forest, and the most fraud that can be flagged while 19 flags of 20 are right."""

import numpy as np
from limen import BoundaryClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

# Amount, hour, distance from home, age of the account, payments in the last hour; one payment in 25 is fraud.
random = np.random.default_rng(0)
fraud = random.random(16_000) < 0.04
X = np.column_stack([
    random.lognormal(3 + fraud, 1),
    random.integers(0, 24, len(fraud)),
    random.exponential(np.where(fraud, 40, 8)),
    random.gamma(2, np.where(fraud, 100, 400)),
    random.poisson(np.where(fraud, 2.5, 0.5)),
])  # fmt: skip
y = np.where(fraud, "fraud", "fine")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0)
clf = BoundaryClassifier(forest, min_precision=0.95, levels=8, cv=3).fit(X_train, y_train)
print(clf.boundary_)
print(f"uncertainty: {clf.uncertainty_method_}")
for name, model in (("as it is", clf.estimator_), ("with the boundary", clf)):
    flagged, true = model.predict(X_test) == "fraud", y_test == "fraud"
    print(f"forest {name}: precision {np.mean(true[flagged]):.3f}, recall {np.mean(flagged[true]):.3f} on new payments")
