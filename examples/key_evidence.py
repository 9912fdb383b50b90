#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gradient boosting, and as its uncertainty the evidence: how many training rows share a row's keys.

The data is made up to show the way, and chosen among a few variants as one in which evidence helps at a bound of 0.5 (it does
not at 0.7). Whether it helps depends on the data and on how the score treats small merchants; here it is pulled strongly
towards the mean (smooth=30). limen.compare tells on rows of one's own.
"""

import limen
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder


def payments(rows, rates, popularity, random):
    """Merchants differ in their rate of fraud; a few have many of the payments, most have a handful."""
    merchant = random.choice(len(rates), rows, p=popularity)
    fraud = random.random(rows) < rates[merchant]
    amount = random.lognormal(3 + 0.3 * fraud, 1)
    return pd.DataFrame({"merchant": [f"m{at}" for at in merchant], "amount": amount}), fraud.astype(int)


random = np.random.default_rng(1)
rates = random.beta(0.3, 2.7, 4000)
popularity = random.pareto(1.0, 4000) + 0.5
popularity /= popularity.sum()
X, y = payments(30_000, rates, popularity, random)
X_test, y_test = payments(30_000, rates, popularity, random)

model = make_pipeline(
    make_column_transformer((TargetEncoder(smooth=30), ["merchant"]), ("passthrough", ["amount"])),
    HistGradientBoostingClassifier(max_iter=50, random_state=0),
)
clf = limen.BoundaryClassifier(
    model, min_precision=0.7, levels=4, cv=3, uncertainty=limen.uncertainty.KeyEvidence(["merchant"])
).fit(X, y)
print(clf.boundary_)

holdout = (clf.holdout_.y, clf.holdout_.score, clf.holdout_.uncertainty)
test = (y_test, clf.predict_score(X_test), clf.predict_uncertainty(X_test))
found = limen.compare(holdout, test, min_precision=[0.5, 0.6, 0.7], levels=4, methods=["st", "exact"])
columns = ["bound", "method", "test_precision", "test_recall", "matched_recall"]
print(found.to_pandas()[columns].to_string(index=False))
