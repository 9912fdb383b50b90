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


def rows_in_leaves(model, X):
    """For each tree, the training rows in the leaf of each row of X; for XGBoost the sum of their hessians. Throws ValueError."""
    name = library(model)
    if name == "lightgbm":
        return _lightgbm_leaves(model, X)
    if name == "xgboost" and is_boosted_trees(model):
        return _xgboost_leaves(model, X)
    if name == "catboost":
        return _catboost_leaves(model, X)
    if hasattr(model, "tree_"):
        return [model.tree_.n_node_samples[model.apply(X)]]
    if hasattr(model, "estimators_features_"):
        return _bagging_leaves(model, X)
    if hasattr(model, "estimators_") and hasattr(model, "apply"):
        return _forest_leaves(model, X)
    if hasattr(model, "_predictors"):
        return _histogram_leaves(model, X)
    raise ValueError(f"leaf_evidence: {type(model).__name__} does not tell its leaves, or is not fitted")


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


def _bagging_leaves(model, X):
    X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X) if isinstance(X, list) else X
    for tree, features in zip(model.estimators_, model.estimators_features_, strict=True):
        if not hasattr(tree, "tree_"):
            raise ValueError(f"leaf_evidence: a member is a {type(tree).__name__}, must be a decision tree")
        yield tree.tree_.n_node_samples[tree.apply(X[:, features])]


def _forest_leaves(model, X):
    leaves = np.asarray(model.apply(X)).astype(np.intp)
    leaves = leaves.reshape(len(leaves), -1)
    for at, tree in enumerate(np.ravel(model.estimators_)):
        yield tree.tree_.n_node_samples[leaves[:, at]]


def _histogram_leaves(model, X):
    """HistGradientBoosting tells no leaves: its private trees predict the count of a leaf, put in the place of its value."""
    trees = [tree for iteration in model._predictors for tree in iteration]
    is_as_known = hasattr(model, "_preprocess_X") and hasattr(model, "_bin_mapper")
    if not is_as_known or not all({"count", "value"} <= set(tree.nodes.dtype.names) for tree in trees):
        raise ValueError(
            f"leaf_evidence: {type(model).__name__} of this version of scikit-learn does not tell its leaves"
        )
    X = model._preprocess_X(X, reset=False)
    categories, features = model._bin_mapper.make_known_categories_bitsets()
    for tree in trees:
        counting = copy.copy(tree)
        counting.nodes = tree.nodes.copy()
        counting.nodes["value"] = tree.nodes["count"]
        yield counting.predict(X, categories, features, 1)


def _lightgbm_leaves(model, X):
    count = iterations(model)
    leaves = np.asarray(model.predict(X, pred_leaf=True, num_iteration=count)).astype(np.intp)
    text = getattr(model, "booster_", model).model_to_string(num_iteration=count)
    counts = re.findall(r"^leaf_count=(.*)$", text, re.MULTILINE)
    for of_tree, leaf in zip(counts, leaves.reshape(len(leaves), -1).T, strict=True):
        yield np.array(of_tree.split(), dtype=np.float64)[leaf]


def _xgboost_booster(model):
    return model.get_booster() if hasattr(model, "get_booster") else model


def _xgboost_matrix(X):
    from xgboost import DMatrix

    return X if isinstance(X, DMatrix) else DMatrix(X)


def _xgboost_leaves(model, X):
    span = (0, iterations(model))
    if hasattr(model, "get_booster"):
        leaves = model.apply(X, iteration_range=span)
    else:
        leaves = model.predict(_xgboost_matrix(X), pred_leaf=True, iteration_range=span)
    leaves = np.asarray(leaves).astype(np.intp)
    trees = _xgboost_booster(model).get_dump(with_stats=True)  # those of all iterations, the first ones first
    for tree, leaf in zip(trees, leaves.reshape(len(leaves), -1).T, strict=False):
        covers = {int(node): float(cover) for node, cover in re.findall(r"(\d+):leaf=[^,]*,cover=(\S+)", tree)}
        by_node = np.zeros(max(covers) + 1)
        by_node[list(covers)] = list(covers.values())
        yield by_node[leaf]


def _catboost_leaves(model, X):
    leaves = np.asarray(model.calc_leaf_indexes(X)).astype(np.intp)
    ends = np.cumsum(model.get_tree_leaf_counts())
    for of_tree, leaf in zip(np.split(np.asarray(model.get_leaf_weights()), ends[:-1]), leaves.T, strict=True):
        yield np.maximum(of_tree[leaf], 0.5)  # leaves of its symmetric trees can be empty
