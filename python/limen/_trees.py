# SPDX-License-Identifier: MIT
"""What the trees of a fitted model tell of a row: the training rows in its leaves, and its margin after some boosting iterations.

Models of scikit-learn, LightGBM, XGBoost and CatBoost, the last three as estimators for scikit-learn or as native boosters. None of
them is imported unless the model is its own: whose a model is, its class says.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from typing import NamedTuple

import numpy as np

_LIBRARIES = ("lightgbm", "xgboost", "catboost")


def library(model):
    """Where the model's class, or one that it derives from, is defined: "lightgbm", "xgboost", "catboost"; else None."""
    roots = {kind.__module__.split(".")[0] for kind in type(model).__mro__}
    return next((name for name in _LIBRARIES if name in roots), None)


def is_boosted_trees(model):
    """Whether the model is gradient boosting of trees. A linear booster of XGBoost is not: its iterations cannot be told apart."""
    name = library(model)
    if name == "xgboost":
        return json.loads(_xgboost_booster(model).save_config())["learner"]["gradient_booster"]["name"] != "gblinear"
    if name is not None:
        return True
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

    return isinstance(model, (GradientBoostingClassifier, HistGradientBoostingClassifier))


class Leaves(NamedTuple):
    """A tree: the leaf of each row asked about, and what is known of the leaves. Inner nodes may be among them, with 0 rows.

    Leaves can be empty too: those of CatBoost's symmetric trees, and in XGBoost, where a row counts for its second derivative.
    """

    of_row: np.ndarray  #: index into the others
    rows: np.ndarray  #: training rows
    value: np.ndarray  #: what the leaf adds to the margin; for the first tree with the base rate, in some libraries


def tells_leaves(model):
    """Whether the leaves of gradient boosting can be asked for; of HistGradientBoosting they are private, and may come to be gone."""
    if library(model) is not None or not hasattr(model, "_predictors"):
        return True
    if not hasattr(model, "_preprocess_X") or not hasattr(model, "_bin_mapper"):
        return False
    needed = {"count", "is_leaf", "value"}
    return all(needed <= set(tree.nodes.dtype.names) for iteration in model._predictors for tree in iteration)


def leaves(model, X, caller):
    """The Leaves of each tree. Training rows of XGBoost are the sums of their second derivatives. Throws ValueError for `caller`."""
    name, kind = library(model), type(model).__name__
    if name == "lightgbm":
        return _lightgbm_leaves(model, X)
    if name == "xgboost" and is_boosted_trees(model):
        return _xgboost_leaves(model, X)
    if name == "catboost":
        return _catboost_leaves(model, X)
    if hasattr(model, "tree_"):
        return iter([_tree_leaves(model, model.apply(X))])
    if hasattr(model, "estimators_features_"):
        others = [type(member).__name__ for member in model.estimators_ if not hasattr(member, "tree_")]
        if others:
            raise ValueError(f"{caller}: a member is a {others[0]}, must be a decision tree")
        return _bagging_leaves(model, X)
    if hasattr(model, "estimators_") and hasattr(model, "apply"):
        return _forest_leaves(model, X)
    if hasattr(model, "_predictors"):
        if not tells_leaves(model):
            raise ValueError(f"{caller}: {kind} of this version of scikit-learn does not tell its leaves")
        return _histogram_leaves(model, X)
    raise ValueError(f"{caller}: {kind} does not tell its leaves, or is not fitted")


def iterations(model):
    """Boosting iterations that the model predicts with."""
    name = library(model)
    if name == "lightgbm":
        booster = getattr(model, "booster_", model)
        return booster.best_iteration if booster.best_iteration > 0 else booster.current_iteration()
    if name == "xgboost":
        # An estimator that stopped early predicts with its best iteration, a native booster always with all.
        if hasattr(model, "get_booster") and hasattr(model, "best_iteration"):
            return model.best_iteration + 1
        return _xgboost_booster(model).num_boosted_rounds()
    if name == "catboost":
        return model.tree_count_
    return len(model.estimators_) if hasattr(model, "estimators_") else model.n_iter_


def late_margin(model, X, share):
    """Margin of all iterations less that of the first ones, those without the last `share`. Throws ValueError.

    At least one iteration is late; where that is the only one, the whole margin is.
    """
    if not is_boosted_trees(model):
        raise ValueError(f"late_contribution: {type(model).__name__} is not gradient boosting of trees")
    last = iterations(model)
    first = last - max(1, round(last * share))
    final = margin_after(model, X, last)
    return final - margin_after(model, X, first) if first > 0 else final


def margin_after(model, X, count):
    """Margin of each row after `count` iterations, at least one. Throws ValueError when there are several, one for each class."""
    name = library(model)
    if name == "lightgbm":
        margin = model.predict(X, raw_score=True, num_iteration=count)
    elif name == "xgboost":
        rows = X if hasattr(model, "get_booster") else _xgboost_matrix(X)
        margin = model.predict(rows, output_margin=True, iteration_range=(0, count))
    elif name == "catboost":
        margin = model.predict(X, prediction_type="RawFormulaVal", ntree_end=count)
    elif count == iterations(model):
        margin = model.decision_function(X)
    else:
        margin = next(itertools.islice(model.staged_decision_function(X), count - 1, None))
    margin = np.asarray(margin, dtype=np.float64)
    if margin.ndim == 2 and margin.shape[1] != 1:
        raise ValueError(f"late_contribution: the model has {margin.shape[1]} margins for each row, must have one")
    return margin.ravel()


def _tree_leaves(tree, of_row, learning_rate=1.0):
    is_leaf = tree.tree_.children_left < 0
    rows = np.where(is_leaf, tree.tree_.n_node_samples, 0).astype(np.float64)
    return Leaves(np.asarray(of_row).astype(np.intp), rows, learning_rate * tree.tree_.value[:, 0, -1])


def _bagging_leaves(model, X):
    X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X) if isinstance(X, list) else X
    for tree, features in zip(model.estimators_, model.estimators_features_, strict=True):
        yield _tree_leaves(tree, tree.apply(X[:, features]))


def _forest_leaves(model, X):
    of_row = np.asarray(model.apply(X))
    of_row = of_row.reshape(len(of_row), -1)
    for at, tree in enumerate(np.ravel(model.estimators_)):
        yield _tree_leaves(tree, of_row[:, at], getattr(model, "learning_rate", 1.0))


def _histogram_leaves(model, X):
    """HistGradientBoosting tells no leaves: its private trees predict the number of a node, put in the place of its value."""
    X = model._preprocess_X(X, reset=False)
    categories, features = model._bin_mapper.make_known_categories_bitsets()
    for tree in itertools.chain.from_iterable(model._predictors):
        numbering = copy.copy(tree)
        numbering.nodes = tree.nodes.copy()
        numbering.nodes["value"] = np.arange(len(tree.nodes))
        of_row = numbering.predict(X, categories, features, 1).astype(np.intp)
        yield Leaves(of_row, np.where(tree.nodes["is_leaf"], tree.nodes["count"], 0.0), tree.nodes["value"])


def _lightgbm_leaves(model, X):
    count = iterations(model)
    of_row = np.asarray(model.predict(X, pred_leaf=True, num_iteration=count)).astype(np.intp)
    text = getattr(model, "booster_", model).model_to_string(num_iteration=count)
    rows, value = (re.findall(rf"^{name}=(.*)$", text, re.MULTILINE) for name in ("leaf_count", "leaf_value"))
    for of_tree, row, in_tree in zip(of_row.reshape(len(of_row), -1).T, rows, value, strict=True):
        yield Leaves(of_tree, np.array(row.split(), dtype=np.float64), np.array(in_tree.split(), dtype=np.float64))


def _xgboost_booster(model):
    return model.get_booster() if hasattr(model, "get_booster") else model


def _xgboost_matrix(X):
    from xgboost import DMatrix

    return X if isinstance(X, DMatrix) else DMatrix(X)


def _xgboost_leaves(model, X):
    span = (0, iterations(model))
    if hasattr(model, "get_booster"):
        of_row = model.apply(X, iteration_range=span)
    else:
        of_row = model.predict(_xgboost_matrix(X), pred_leaf=True, iteration_range=span)
    of_row = np.asarray(of_row).astype(np.intp)
    trees = _xgboost_booster(model).get_dump(with_stats=True)  # those of all iterations, the first ones first
    for of_tree, tree in zip(of_row.reshape(len(of_row), -1).T, trees, strict=False):
        found = re.findall(r"(\d+):leaf=([^,]*),cover=(\S+)", tree)
        nodes = np.array([int(node) for node, _, _ in found])
        rows, value = np.zeros(nodes.max() + 1), np.zeros(nodes.max() + 1)
        value[nodes], rows[nodes] = [float(leaf) for _, leaf, _ in found], [float(cover) for _, _, cover in found]
        yield Leaves(of_tree, rows, value)


def _catboost_leaves(model, X):
    of_row = np.asarray(model.calc_leaf_indexes(X)).astype(np.intp)
    ends = np.cumsum(model.get_tree_leaf_counts())[:-1]
    rows, value = (np.split(np.asarray(array), ends) for array in (model.get_leaf_weights(), model.get_leaf_values()))
    for of_tree, row, in_tree in zip(of_row.T, rows, value, strict=True):
        yield Leaves(of_tree, row, in_tree)
