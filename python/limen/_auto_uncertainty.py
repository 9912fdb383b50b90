# SPDX-License-Identifier: MIT
"""Where BoundaryClassifier takes its uncertainty from.

A source is asked in two steps: `fit(estimator, X, y, fit_params, seed)` with the fitted estimator and its training rows
(None when the estimator came fitted) gives a fitted source; `uncertainty(estimator, X)` one number for each row. A source that
`needs_rows(estimator)` to be fitted on gets hold-out rows beside an estimator that came fitted: some for each of several sources,
asked for the others, and their mean for new rows (MeanSource).

An uncertainty that is a function of the score adds nothing to it. That rules out the entropy of the mean everywhere, and the
variance or mutual information between trees that are grown to pure leaves: each of them answers 0 or 1, so that the variance is
p (1 - p). Trees are asked for their leaves instead, boosting for what its small leaves added; its spread over iterations follows
the score too. Models that tell nothing by themselves get the second opinion of one other model.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params, _num_samples

from limen import _trees
from limen import uncertainty as measures

# Passes through a network with dropout, virtual ensembles, bootstrap fits, where n_members does not say how many.
_DEFAULT_MEMBERS = 10


def make_source(uncertainty, n_members, is_prefit):
    """The source that the parameter `uncertainty` of BoundaryClassifier means. Throws ValueError."""
    if isinstance(uncertainty, str) and uncertainty == "auto":
        if n_members is not None and (not isinstance(n_members, (int, np.integer)) or n_members < 2):
            raise ValueError(f"BoundaryClassifier: n_members is {n_members!r}, must be None or an int >= 2")
        return AutoSource(n_members)
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


class MeanSource:
    """The mean over several fitted sources, each asked with the estimator that it was fitted beside."""

    def __init__(self, sources, estimators):
        self.sources = sources
        self.estimators = estimators
        self.name = sources[0].name

    def uncertainty(self, estimator, X):
        pairs = zip(self.sources, self.estimators, strict=True)
        return np.mean([source.uncertainty(beside, X) for source, beside in pairs], axis=0)


class ReadingSource:
    """Of what is there already."""

    def needs_rows(self, estimator):
        return False

    def fit(self, estimator, X, y, fit_params, seed):
        return self


class ColumnSource(ReadingSource):
    name = "column"

    def __init__(self, column):
        self.column = column

    def uncertainty(self, estimator, X):
        if isinstance(X, list):
            X = np.asarray(X)
        column = _safe_indexing(X, self.column, axis=1)
        column = column.toarray().ravel() if hasattr(column, "toarray") else column
        return _checked(column, X, f"column {self.column!r}")


class CallableSource(ReadingSource):
    name = "callable"

    def __init__(self, function):
        self.function = function

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
    """Picks a measure by the type of the estimator; `name` says which.

    n_members: None, or how many members an ensemble is to have; then fits of many members are asked for.
    """

    name = "auto"

    def __init__(self, n_members):
        self.n_members = n_members

    def needs_rows(self, estimator):
        return choose(estimator, self.n_members) is None

    def fit(self, estimator, X, y, fit_params, seed):
        fitted = AutoSource(self.n_members)
        fitted.seed = seed
        fitted.name = choose(estimator, self.n_members)
        if fitted.name is not None:
            return fitted
        if self.n_members is not None:
            fitted.name = "bootstrap"
            fitted.members = _resampled_fits(estimator, X, y, fit_params, self.n_members, seed)
            return fitted
        seen = _as_array(_inner(estimator, X)[1])
        if _suits_a_forest(seen):
            fitted.name = "second-opinion-forest"
            fitted.second = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed)
            fitted.second.fit(seen, y, sample_weight=_weight_of_last_step(estimator, fit_params))
        else:
            fitted.name = "second-opinion-resampled"
            (fitted.second,) = _resampled_fits(estimator, X, y, fit_params, 1, seed)
        return fitted

    def uncertainty(self, estimator, X):
        if self.name == "bootstrap":
            values = _member_spread(self.members, [X] * len(self.members))
        elif self.name == "second-opinion-forest":
            values = _log_odds(self.second, _as_array(_inner(estimator, X)[1])) - _log_odds(estimator, X)
        elif self.name == "second-opinion-resampled":
            values = _log_odds(self.second, X) - _log_odds(estimator, X)
        else:
            values = _measure(estimator, X, self.name, self.n_members or _DEFAULT_MEMBERS, self.seed)
        return _checked(values, X, self.name)


def _log_odds(estimator, X):
    """Of the second class; the margin where there are no probabilities, on whatever scale it is."""
    if hasattr(estimator, "predict_proba"):
        return measures._log_odds(np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1])
    return np.asarray(estimator.decision_function(X), dtype=np.float64).ravel()


def _as_array(X):
    """X as an array, missing values as NaN, where all of its columns are numbers; as it is where it is sparse."""
    if hasattr(X, "toarray"):
        return X
    if hasattr(X, "iloc") and X.ndim == 2 and all(dtype.kind in "biuf" for dtype in X.dtypes):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(X)


def _suits_a_forest(X):
    """Whether an array or sparse matrix is a table of numbers, none of them infinite in single precision, or missing if sparse."""
    values = X.data if hasattr(X, "toarray") else X
    if X.ndim != 2 or values.dtype.kind not in "biuf":
        return False
    is_usable = np.abs(values) <= np.finfo(np.float32).max
    return bool(np.all(is_usable if values is not X else is_usable | np.isnan(values)))


def _weight_of_last_step(estimator, fit_params):
    """Weights among the parameters of fit; a pipeline that does not route them has them by the name of the step."""
    name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
    return fit_params.get(name, fit_params.get("sample_weight"))


def _thawed(estimator):
    """The estimator with nothing in it that fit leaves as it is."""
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, Pipeline):
        return Pipeline([(name, _thawed(step)) for name, step in estimator.steps])
    return estimator


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


def choose(estimator, n_members):
    """Name of the measure that a fitted estimator tells by itself; None when there is nothing to read from it."""
    estimator, _ = _inner(estimator)
    if isinstance(estimator, (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)):
        return "leaf-evidence"
    if isinstance(estimator, BaggingClassifier):
        if all(isinstance(member, BaseDecisionTree) for member in estimator.estimators_):
            return "leaf-evidence"
        if all(hasattr(member, "predict_proba") for member in estimator.estimators_):
            return "member-mutual-information"
        return None
    if isinstance(estimator, CalibratedClassifierCV):
        return choose(estimator.calibrated_classifiers_[0].estimator, n_members)
    if n_members is not None and hasattr(estimator, "virtual_ensembles_predict"):
        return "virtual-ensembles"
    if _trees.is_boosted_trees(estimator):
        return "small-leaf-contribution" if _trees.tells_leaves(estimator) else "late-contribution"
    if isinstance(estimator, GaussianProcessClassifier) and hasattr(estimator, "latent_mean_and_variance"):
        return "latent-variance"
    if _dropout_layers(estimator):
        return "mc-dropout"
    return None


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
    if name == "small-leaf-contribution":
        return measures.small_leaf_contribution(estimator, X)
    if name == "late-contribution":
        return measures.late_contribution(estimator, X)
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


def _resampled_fits(estimator, X, y, fit_params, count, seed):
    """Clones fitted on rows drawn with replacement, within each class, so that no member lacks one."""
    estimator = _thawed(estimator)
    random = np.random.RandomState(seed)
    by_class = [np.flatnonzero(y == label) for label in np.unique(y)]
    members = []
    for _ in range(count):
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
