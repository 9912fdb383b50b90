# SPDX-License-Identifier: MIT
"""The labelled rows that a display is drawn for."""

from __future__ import annotations

import numpy as np


def columns(y, score, uncertainty, sample_weight, who):
    y = np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "biuf" or not np.isin(y, (0, 1)).all():
        raise ValueError(f"{who}: y must be a column of 0 and 1")
    columns = [y.astype(bool), np.asarray(score, dtype=np.float64), np.asarray(uncertainty, dtype=np.float64)]
    columns.append(np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64))
    for name, column in zip(("score", "uncertainty", "sample_weight"), columns[1:], strict=True):
        if column.shape != y.shape:
            raise ValueError(f"{who}: {name} has shape {column.shape}, y has {y.shape}")
        if not np.isfinite(column).all():
            raise ValueError(f"{who}: {name} has values that are not finite")
    if y.all() or not y.any():
        raise ValueError(f"{who}: y has only one class; both are needed")
    return columns


def holdout(estimator, X, y, sample_weight, who):
    """Label, score, uncertainty and weight of rows as a fitted BoundaryClassifier sees them; without X its own hold-out."""
    if not hasattr(estimator, "predict_uncertainty"):
        raise ValueError(
            f"{who}: {type(estimator).__name__} is no BoundaryClassifier; from_predictions takes arrays of any model"
        )
    if not hasattr(estimator, "holdout_"):
        raise ValueError(f"{who}: the BoundaryClassifier is not fitted")
    if X is None:
        rows = estimator.holdout_
        return rows.y, rows.score, rows.uncertainty, rows.sample_weight
    positive = np.asarray(y) == estimator.classes_[estimator._positive_index]
    return positive, estimator.predict_score(X), estimator.predict_uncertainty(X), sample_weight


def edges(values, y, weight, cells):
    """Edges of cells with equal shares of the rows, each class counting for one half, ties never split."""
    share = np.where(y, weight / weight[y].sum(), weight / weight[~y].sum())
    order = np.argsort(values, kind="stable")
    position = np.cumsum(share[order]) / share.sum()
    inner = values[order][np.searchsorted(position, np.arange(1, cells) / cells).clip(max=len(values) - 1)]
    low, high = values.min(), values.max()
    inner = np.unique(inner)
    inner = inner[inner > low]
    # The last edge lies above every value, so that a row is in the cell of the last edge at or below it.
    top = high + (high - low) * 1e-3 if high > low else low + 1
    return np.concatenate([[low], inner, [top]])
