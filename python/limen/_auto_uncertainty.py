# SPDX-License-Identifier: MIT
"""Where BoundaryClassifier takes its uncertainty from.

A source is asked in two steps: `fit(estimator, X, y, fit_params, seed)` with the fitted estimator and its training rows
(None when the estimator came fitted) gives a fitted source; `uncertainty(estimator, X)` one number for each row.

An uncertainty that is a function of the score adds nothing to it. That rules out the entropy of the mean everywhere, and the
variance or mutual information between trees that are grown to pure leaves: each of them answers 0 or 1, so that the variance is
p (1 - p). Trees are asked for their leaves instead.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from limen import uncertainty as measures


def make_source(uncertainty, n_members, is_prefit):
    """The source that the parameter `uncertainty` of BoundaryClassifier means. Throws ValueError."""
    if isinstance(uncertainty, str) and uncertainty == "auto":
        if not isinstance(n_members, (int, np.integer)) or n_members < 2:
            raise ValueError(f"BoundaryClassifier: n_members is {n_members!r}, must be an int >= 2")
        return AutoSource(int(n_members))
    if isinstance(uncertainty, (str, int, np.integer)) and not isinstance(uncertainty, bool):
        return ColumnSource(uncertainty)
    if hasattr(uncertainty, "fit") and hasattr(uncertainty, "uncertainty"):
        if is_prefit:
            raise ValueError(
                f"BoundaryClassifier: {type(uncertainty).__name__} must be fitted on the estimator's training rows, which "
                "cv='prefit' does not have; fit it there and give its method `uncertainty` as a callable of estimator and X"
            )
        return ObjectSource(uncertainty)
    if callable(uncertainty):
        return CallableSource(uncertainty)
    raise ValueError(
        f"BoundaryClassifier: uncertainty is {uncertainty!r}, must be 'auto', a callable, an object with fit and "
        "uncertainty, or the name or index of a column"
    )


def _checked(values, X, name):
    values = np.asarray(values, dtype=np.float64)
    rows = _num_samples(X)
    if values.shape != (rows,):
        raise ValueError(f"BoundaryClassifier: uncertainty by {name} has shape {values.shape}, must be ({rows},)")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"BoundaryClassifier: uncertainty by {name} of row {bad[0]} is {values[bad[0]]}, must be finite"
        )
    return values


class ColumnSource:
    name = "column"

    def __init__(self, column):
        self.column = column

    def fit(self, estimator, X, y, fit_params, seed):
        return self

    def uncertainty(self, estimator, X):
        if isinstance(X, list):
            X = np.asarray(X)
        column = _safe_indexing(X, self.column, axis=1)
        column = column.toarray().ravel() if hasattr(column, "toarray") else column
        return _checked(column, X, f"column {self.column!r}")


class CallableSource:
    name = "callable"

    def __init__(self, function):
        self.function = function

    def fit(self, estimator, X, y, fit_params, seed):
        return self

    def uncertainty(self, estimator, X):
        return _checked(self.function(estimator, X), X, getattr(self.function, "__name__", "the callable"))


class ObjectSource:
    def __init__(self, measure):
        self.measure = measure
        self.name = type(measure).__name__

    def fit(self, estimator, X, y, fit_params, seed):
        measure = clone(self.measure) if isinstance(self.measure, BaseEstimator) else clone(self.measure, safe=False)
        measure.fit(X, y)
        return ObjectSource(measure)

    def uncertainty(self, estimator, X):
        return _checked(self.measure.uncertainty(X), X, self.name)


class AutoSource:
    """Picks a measure by the type of the estimator; `name` says which."""

    name = "auto"

    def __init__(self, n_members):
        self.n_members = n_members

    def fit(self, estimator, X, y, fit_params, seed):
        fitted = AutoSource(self.n_members)
        fitted.seed = seed
        fitted.name = choose(estimator)
        if fitted.name == "bootstrap":
            if X is None or _is_frozen(estimator):
                raise ValueError(
                    f"BoundaryClassifier: uncertainty='auto' finds none in a fitted {type(estimator).__name__}, and cannot "
                    "fit others beside it; give a callable or a column, or use cv=5 with the unfitted estimator"
                )
            fitted.members = _bootstrap(estimator, X, y, fit_params, self.n_members, seed)
        return fitted

    def uncertainty(self, estimator, X):
        if self.name == "bootstrap":
            return _checked(_member_spread(self.members, [X] * len(self.members)), X, self.name)
        return _checked(_measure(estimator, X, self.name, self.n_members, self.seed), X, self.name)


def _is_frozen(estimator):
    if isinstance(estimator, Pipeline):
        return _is_frozen(estimator[-1])
    return isinstance(estimator, FrozenEstimator)


def _inner(estimator, X=None):
    """The classifier inside pipelines, searches and frozen estimators, and X as that one sees it."""
    while True:
        if isinstance(estimator, Pipeline):
            if X is not None and len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        elif isinstance(estimator, BaseSearchCV) and hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            return estimator, X


def choose(estimator):
    """Name of the measure for a fitted estimator; "bootstrap" when there is nothing to read from it."""
    estimator, _ = _inner(estimator)
    if isinstance(estimator, (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)):
        return "leaf-evidence"
    if isinstance(estimator, BaggingClassifier):
        if all(isinstance(member, BaseDecisionTree) for member in estimator.estimators_):
            return "leaf-evidence"
        if all(hasattr(member, "predict_proba") for member in estimator.estimators_):
            return "member-mutual-information"
        return "bootstrap"
    if isinstance(estimator, (GradientBoostingClassifier, HistGradientBoostingClassifier)):
        return "staged-spread"
    if isinstance(estimator, GaussianProcessClassifier) and hasattr(estimator, "latent_mean_and_variance"):
        return "latent-variance"
    if isinstance(estimator, CalibratedClassifierCV):
        return choose(estimator.calibrated_classifiers_[0].estimator)
    if _dropout_layers(estimator):
        return "mc-dropout"
    if hasattr(estimator, "virtual_ensembles_predict"):
        return "virtual-ensembles"
    return "bootstrap"


def _measure(estimator, X, name, n_members, seed):
    estimator, X = _inner(estimator, X)
    if isinstance(estimator, CalibratedClassifierCV):
        inner = [part.estimator for part in estimator.calibrated_classifiers_]
        return np.mean([_measure(part, X, name, n_members, seed) for part in inner], axis=0)
    if name == "leaf-evidence":
        return measures.leaf_evidence(estimator, X).uncertainty
    if name == "member-mutual-information":
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X) if isinstance(X, list) else X
        views = [X[:, columns] for columns in estimator.estimators_features_]
        return _member_spread(estimator.estimators_, views)
    if name == "staged-spread":
        return _staged_spread(estimator, X)
    if name == "latent-variance":
        return estimator.latent_mean_and_variance(X)[1]
    if name == "mc-dropout":
        return measures.ensemble(_dropout_passes(estimator, X, n_members, seed)).mutual_information
    margins = estimator.virtual_ensembles_predict(X, prediction_type="VirtEnsembles", virtual_ensembles_count=n_members)
    margins = np.asarray(margins, dtype=np.float64).reshape(len(margins), n_members)
    return measures.ensemble(1 / (1 + np.exp(-margins.T))).mutual_information


def _member_spread(members, views):
    """Mutual information between members; the standard deviation of their margins where they have no probabilities."""
    if hasattr(members[0], "predict_proba"):
        return measures.ensemble(
            [m.predict_proba(X)[:, 1] for m, X in zip(members, views, strict=True)]
        ).mutual_information
    return np.std([m.decision_function(X) for m, X in zip(members, views, strict=True)], axis=0)


def _staged_spread(estimator, X):
    """Standard deviation of the margin over the second half of the boosting stages.

    A row whose margin has settled is certain; one that each stage still moves is not. Sums are about the first margin, so that
    nearly equal numbers do not cancel.
    """
    stages = len(estimator.estimators_) if hasattr(estimator, "estimators_") else estimator.n_iter_
    first, total, squares, count = None, 0.0, 0.0, 0
    for stage, margin in enumerate(estimator.staged_decision_function(X)):
        if stage < stages // 2:
            continue
        margin = np.asarray(margin, dtype=np.float64).ravel()
        first = margin.copy() if first is None else first
        total, squares, count = total + (margin - first), squares + (margin - first) ** 2, count + 1
    return np.sqrt(np.maximum(squares / count - (total / count) ** 2, 0))


def _bootstrap(estimator, X, y, fit_params, n_members, seed):
    """Clones fitted on rows drawn with replacement, within each class, so that no member lacks one."""
    random = np.random.RandomState(seed)
    by_class = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = []
    for _ in range(n_members):
        rows = np.concatenate([random.choice(part, size=len(part)) for part in by_class])
        member = clone(estimator)
        seeds = {
            key: random.randint(2**31) for key in sorted(member.get_params()) if key.split("__")[-1] == "random_state"
        }
        member.set_params(**seeds)
        members.append(
            member.fit(_safe_indexing(X, rows), y[rows], **_check_method_params(X, fit_params, indices=rows))
        )
    return members


def _dropout_layers(estimator):
    """Dropout layers of the torch module of an estimator (its `module_`, or itself); none when torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    module = getattr(estimator, "module_", estimator)
    if not isinstance(module, torch.nn.Module):
        return []
    kinds = (torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d)
    return [layer for layer in module.modules() if isinstance(layer, kinds) and 0 < layer.p < 1]


def _dropout_passes(estimator, X, n_passes, seed):
    """Positive probability in each of n_passes thinned networks.

    A pass keeps or drops the same units for all rows, so that a row's value depends neither on its neighbours nor on batches.
    """
    import torch

    layers = _dropout_layers(estimator)
    current = [0]

    def thin(at):
        def hook(layer, inputs, output):
            x = inputs[0]
            by_channel = not isinstance(layer, torch.nn.Dropout)
            shape = (1, x.shape[1], *[1] * (x.ndim - 2)) if by_channel else (1, *x.shape[1:])
            draw = torch.Generator().manual_seed((seed * 1_000_003 + current[0] * 1009 + at) % 2**63)
            kept = torch.rand(shape, generator=draw) >= layer.p
            return x * (kept.to(x.device, x.dtype) / (1 - layer.p))

        return hook

    module = getattr(estimator, "module_", estimator)
    training = {part: part.training for part in module.modules()}
    handles = [layer.register_forward_hook(thin(at)) for at, layer in enumerate(layers)]
    try:
        passes = []
        for at in range(n_passes):
            current[0] = at
            passes.append(np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1])
        return passes
    finally:
        for handle in handles:
            handle.remove()
        for part, was_training in training.items():
            part.training = was_training
