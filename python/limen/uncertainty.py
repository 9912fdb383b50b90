# SPDX-License-Identifier: MIT
"""Measures of uncertainty for any model. Whatever is called uncertainty here is larger for rows that are less certain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from limen import _core, _inputs, _trees
from limen._errors import SilentLawError
from limen._law import Evidence, EvidenceTerm

try:
    from sklearn.base import BaseEstimator
except ImportError:  # the functions below but late_contribution and neighbour_evidence work without scikit-learn

    class BaseEstimator:
        pass


__all__ = [
    "EnsembleMeasures",
    "Evidence",
    "EvidenceRows",
    "EvidenceTerm",
    "KeyEvidence",
    "LeafEvidence",
    "NeighbourDistances",
    "NeighbourEvidence",
    "SilentLawError",
    "beta_entropy",
    "ensemble",
    "evidence",
    "late_contribution",
    "leaf_evidence",
    "neighbour_evidence",
    "second_opinion",
    "small_leaf_contribution",
]


def beta_entropy(a1, a0):
    """Differential entropy of Beta(a1, a0) in nats, elementwise.

    0 for the uniform Beta(1, 1), negative otherwise; larger is less certain. For posteriors such as those of a Posterior Network,
    or of counts: a1 = 1 + positives, a0 = 1 + negatives.

    Parameters
    ----------
    a1, a0 : array-like or float, > 0, broadcast against each other

    Returns
    -------
    entropy : ndarray of their common shape, or float
    """
    a1, a0 = np.broadcast_arrays(np.asarray(a1, dtype=np.float64), np.asarray(a0, dtype=np.float64))
    entropy = _core.beta_entropy(np.ascontiguousarray(a1).ravel(), np.ascontiguousarray(a0).ravel()).reshape(a1.shape)
    return float(entropy) if entropy.ndim == 0 else entropy


class EnsembleMeasures(NamedTuple):
    """What the members of an ensemble say of each row; entropies in nats."""

    mean: np.ndarray  #: probability of the positive class, the score
    variance: np.ndarray  #: between members, divided by their number
    entropy: np.ndarray  #: of the mean; a function of the score, so no second axis for a boundary
    mutual_information: np.ndarray  #: entropy of the mean less the mean entropy of the members


def ensemble(probas):
    """Measures of an ensemble from the positive probabilities of its members.

    Parameters
    ----------
    probas : sequence of the members' arrays, or array of shape (members, rows) or (members, rows, 2)
        Probabilities of the positive class, or of both classes in the order negative, positive.

    Returns
    -------
    measures : EnsembleMeasures
    """
    members = [np.asarray(member) for member in probas]
    if not members:
        raise ValueError("ensemble: there are no members")
    for at, member in enumerate(members):
        if member.ndim == 2 and member.shape[1] == 2:
            members[at] = member[:, 1]
        elif member.ndim != 1:
            raise ValueError(f"ensemble: member {at} has shape {member.shape}, must be (rows,) or (rows, 2)")
    return EnsembleMeasures(**_core.ensemble([np.ascontiguousarray(member, dtype=np.float64) for member in members]))


def second_opinion(p, q):
    """What a second model says beyond the first: logit(q) - logit(p), signed.

    As the second column of a boundary it tells more than an unsigned spread, because it says in which direction the other
    model differs. The second model may be cheap, such as a forest or a logistic regression beside boosting; both must
    not have seen the rows. Probabilities are taken to be at least 1e-9 away from 0 and 1.

    Parameters
    ----------
    p, q : array-like of shape (n,)
        Probabilities of the positive class, of the model whose score is used and of the second one.

    Returns
    -------
    difference : ndarray of shape (n,)

    Examples
    --------
    >>> import limen.uncertainty
    >>> limen.uncertainty.second_opinion([0.5, 0.9], [0.5, 0.5]).round(3)
    array([ 0.   , -2.197])
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1:
        raise ValueError(f"second_opinion: p has shape {p.shape}, q {q.shape}; both must be columns of one length")
    for name, values in (("p", p), ("q", q)):
        bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
        if len(bad):
            raise ValueError(f"second_opinion: {name}[{bad[0]}] is {values[bad[0]]:g}, must be between 0 and 1")
    return _log_odds(q) - _log_odds(p)


def _log_odds(p):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return np.log(p) - np.log1p(-p)


class EvidenceRows(NamedTuple):
    """The training rows behind each row."""

    evidence: np.ndarray  #: training rows in the finest cell that has any
    uncertainty: np.ndarray  #: -log(1 + evidence), or above 0 for rows whose own cell is empty
    rate: np.ndarray | None  #: smoothed rate of positives; None without y
    keys_used: np.ndarray  #: keys that the row shares with that cell


def evidence(X_train, X, *, keys, y=None, sample_weight=None, num_bins=32, strength=2.0, num_threads=None):
    """How many training rows agree with each row on some key columns.

    The keys are in an order, the most important first: where no training row has a row's combination of all keys, the last key is
    dropped, then the one before. The verb ``limen evidence`` computes the same.

    Parameters
    ----------
    X_train, X : data frame (pandas, polars, Arrow table, dict of columns) or array of shape (rows, columns)
        Training rows, and rows to ask about.
    keys : list of column names, or of column indices
        Text columns as they are; numbers by their value when at most `num_bins` are distinct, else in bins equal in rows.
        Missing values are a value of their own.
    y : array-like of 0 and 1, default=None
        Labels of the training rows, for ``rate``.
    sample_weight : array-like, default=None
        Weights of the training rows.
    num_bins, strength : default=32, 2.0
        Bins of a numeric key; rows that the rate of the next coarser cell counts for in ``rate``.

    Returns
    -------
    rows : EvidenceRows
    """
    table = _EvidenceTable(X_train, keys, y, sample_weight, num_bins, strength, num_threads)
    return table.query(X)


class KeyEvidence(BaseEstimator):
    """:func:`evidence` for ``BoundaryClassifier(uncertainty=KeyEvidence(keys))``.

    Counts are taken per million training rows, so that folds and the whole are on one scale.

    Parameters
    ----------
    keys : list of column names or indices, the most important first
    num_bins : int, default=32
        Bins of a numeric key.
    """

    def __init__(self, keys, *, num_bins=32):
        self.keys = keys
        self.num_bins = num_bins

    def fit(self, X, y=None, sample_weight=None):
        """Count the training rows."""
        self.table_ = _EvidenceTable(X, self.keys, None, sample_weight, self.num_bins, 2.0, None)
        return self

    def uncertainty(self, X):
        """Uncertainty of each row: larger where fewer training rows share its keys."""
        rows = self.table_.query(X)
        count = rows.evidence * (1e6 / self.table_.num_rows)
        dropped = len(self.keys) - rows.keys_used
        return np.where(dropped == 0, -np.log1p(count), dropped - count / (1 + count))


class LeafEvidence(NamedTuple):
    """The training rows in the leaves that a row falls into."""

    evidence: np.ndarray  #: mean over the trees
    uncertainty: np.ndarray  #: -log(evidence)


def leaf_evidence(model, X, *, average="arithmetic"):
    """How many training rows share a row's leaves in a model made of trees.

    Needs no training rows, so that it can be asked of any fitted model. Unlike the spread between trees it says something
    new where trees are grown to pure leaves.

    Parameters
    ----------
    model : fitted classifier or regressor
        Of scikit-learn: RandomForest, ExtraTrees, GradientBoosting, HistGradientBoosting, Bagging of trees, or a single tree. Of
        LightGBM, XGBoost and CatBoost: an estimator, or a native booster. XGBoost keeps no counts: its rows count for their
        second derivatives ("cover"; p (1 - p) for the logistic loss); those of CatBoost for their weights. A leaf counts for half a
        row at least. HistGradientBoosting is read through private attributes; where a version of scikit-learn lacks them, that
        is an error.
    X : array-like or data frame of shape (rows, features)
    average : {"arithmetic", "geometric", "harmonic"}, default="arithmetic"
        The mean over trees of the rows in a leaf. The harmonic one is drawn to the trees in which the row stands alone.

    Returns
    -------
    rows : LeafEvidence
    """
    forward = {"arithmetic": lambda n: n, "geometric": np.log, "harmonic": np.reciprocal}
    backward = {"arithmetic": lambda m: m, "geometric": np.exp, "harmonic": np.reciprocal}
    if average not in forward:
        raise ValueError(f'leaf_evidence: average is {average!r}, must be "arithmetic", "geometric" or "harmonic"')
    total, trees = 0.0, 0
    for tree in _trees.leaves(model, X, "leaf_evidence"):
        total, trees = total + forward[average](np.maximum(tree.rows, _LEAST_ROWS))[tree.of_row], trees + 1
    mean = backward[average](total / trees)
    return LeafEvidence(mean, -np.log(mean))


_LEAST_ROWS = 0.5  # that a leaf counts for, so that logarithms and inverses of empty ones are finite


def small_leaf_contribution(model, X):
    """What leaves with few training rows added to the margin of each row, signed.

    The value of a small leaf is known least: it was learnt from few rows, and is where a model fits noise. The sum over the trees of
    (v - mean of v) (w - mean of w), with v what the row's leaf adds to the margin, w = 1 / sqrt(training rows in it), which is the order
    of the error of v, and means over the tree's training rows. So it is positive for rows whose margin was raised by smaller leaves than
    usual, or lowered by larger ones. Taking the means off leaves little of the score in it.

    Parameters
    ----------
    model : fitted classifier of two classes, or regressor
        As for :func:`leaf_evidence`. Of forests v is the share of the second class in the leaf.
    X : array-like or data frame of shape (rows, features)

    Returns
    -------
    contribution : ndarray of shape (rows,)
    """
    if len(getattr(model, "classes_", ())) > 2:
        raise ValueError(f"small_leaf_contribution: the model has {len(model.classes_)} classes, must have two")
    total = 0.0
    for tree in _trees.leaves(model, X, "small_leaf_contribution"):
        weight = 1 / np.sqrt(np.maximum(tree.rows, _LEAST_ROWS))
        value, weight = (part - np.average(part, weights=tree.rows) for part in (tree.value, weight))
        total = total + (value * weight)[tree.of_row]
    return total


def late_contribution(model, X, *, share=0.5):
    """What the last iterations of boosting added to the margin of each row, signed.

    The model as it was before them is a second opinion that costs no fit: a large part that came late rests on what little the first
    iterations left over, which is where boosting fits noise. Larger values are those that were raised late.

    Parameters
    ----------
    model : fitted gradient boosting of trees for two classes
        Of scikit-learn (GradientBoosting, HistGradientBoosting), LightGBM, XGBoost or CatBoost; of the last three an estimator or a
        native booster. Where it stopped early, its iterations are those that it predicts with.
    X : array-like or data frame of shape (rows, features)
    share : float in (0, 1], default=0.5
        The iterations that are late, as a share of all; at least one is.

    Returns
    -------
    contribution : ndarray of shape (rows,)
        In log odds where the model's loss is the logistic one.
    """
    if not 0 < share <= 1:
        raise ValueError(f"late_contribution: share is {share!r}, must be above 0 and at most 1")
    return _trees.late_margin(model, X, share)


class NeighbourDistances(NamedTuple):
    """How far the nearest training rows are."""

    distance: np.ndarray  #: to the k-th nearest training row, in standard deviations of the features
    uncertainty: np.ndarray  #: the same: far is uncertain


def neighbour_evidence(X_train, X, *, k=10, n_jobs=None):
    """Distance to the k-th nearest training row, each feature scaled by its standard deviation there.

    Parameters
    ----------
    X_train, X : numeric array-like of shape (rows, features), without missing values
    k : int, default=10
    n_jobs : int, default=None

    Returns
    -------
    rows : NeighbourDistances
    """
    distance = NeighbourEvidence(k=k, n_jobs=n_jobs).fit(X_train).uncertainty(X)
    return NeighbourDistances(distance, distance)


class NeighbourEvidence(BaseEstimator):
    """:func:`neighbour_evidence` for ``BoundaryClassifier(uncertainty=NeighbourEvidence())``.

    Parameters
    ----------
    k : int, default=10
    n_jobs : int, default=None
    """

    def __init__(self, *, k=10, n_jobs=None):
        self.k = k
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Keep the training rows."""
        from sklearn.neighbors import NearestNeighbors
        from sklearn.preprocessing import StandardScaler

        self.scaler_ = StandardScaler(with_mean=False).fit(X)  # distances do not depend on the mean
        self.neighbours_ = NearestNeighbors(n_neighbors=self.k, n_jobs=self.n_jobs).fit(self.scaler_.transform(X))
        return self

    def uncertainty(self, X):
        """Distance of each row to its k-th nearest training row."""
        return self.neighbours_.kneighbors(self.scaler_.transform(X))[0][:, -1]


class _EvidenceTable:
    """Counted training rows. Keeps the key columns, from which it is counted again after pickling."""

    def __init__(self, X, keys, y, sample_weight, num_bins, strength, num_threads):
        if isinstance(keys, (str, int, np.integer)) or not len(keys):
            raise ValueError(f"evidence: keys is {keys!r}, must be a list of columns")
        label = None if y is None else _inputs.label_array(y)
        weight = None if sample_weight is None else _inputs.double_array(sample_weight, "sample_weight")
        self._keys = list(keys)
        self._has_rate = y is not None
        self._arguments = (
            [str(key) for key in keys],
            [_key_column(X, key) for key in keys],
            label,
            weight,
            _inputs.whole_number(num_bins, "num_bins"),
            float(strength),
            _inputs.threads(num_threads),
        )
        self._table = _core.Evidence(*self._arguments)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_table"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._table = _core.Evidence(*self._arguments)

    @property
    def num_rows(self):
        return self._table.num_rows

    def query(self, X):
        columns = [_key_column(X, key) for key in self._keys]
        for key, trained, asked in zip(self._keys, self._arguments[1], columns, strict=True):
            if isinstance(trained, tuple) != isinstance(asked, tuple):
                kinds = ["text" if isinstance(column, tuple) else "numbers" for column in (trained, asked)]
                raise ValueError(f"evidence: key {key!r} was {kinds[0]} in the training rows and is {kinds[1]} here")
        found = self._table.query(columns, False, None, None)
        return EvidenceRows(
            found["evidence"], found["uncertainty"], found["rate"] if self._has_rate else None, found["keys_used"]
        )


def _key_column(X, key):
    """The column of a data frame, dict or array, as _core.Evidence takes it."""
    try:
        values = _inputs.values_in_table(X, key)
    except Exception as error:  # each kind of frame has its own
        raise ValueError(f"evidence: there is no key column {key!r} in the {type(X).__name__}") from error
    return _inputs.table_column(values, f"key {key!r}")
