# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np

from limen import _core, _inputs
from limen._parameters import Parameters, not_fitted


class LevelIsotonic(Parameters):
    """Isotonic calibration of the score, level of uncertainty by level of uncertainty.

    Each level has its own non-decreasing step function from score to probability. With ``levels=1`` it is plain isotonic
    regression on the score. Follows scikit-learn's conventions and does not need it.

    Parameters
    ----------
    levels : int
        Uncertainty levels, 1 to 1000.
    binning : {"equi-weight", "equi-span"}
        Levels of equally many rows, or equal intervals of uncertainty.
    shrinkage : float or "auto"
        Pulls each level towards the calibration by the score alone: every step counts as if so many more rows were in
        it, with the probabilities that the score alone gives to its rows. 0: each level by itself. ``"auto"``: what
        leaves rows left out with the least log loss, in cross-validation.

    Attributes
    ----------
    shrinkage_ : float
        The shrinkage used.
    uncertainty_edges_ : ndarray
        Where the next level begins.
    steps_ : list of (ndarray, ndarray)
        For each level the lowest score of each step, and its probability.
    classes_ : ndarray
        ``[0, 1]``.
    n_features_in_ : int
        2: score and uncertainty.
    feature_names_in_ : ndarray of str
        Names of the columns of a DataFrame.

    Examples
    --------
    >>> import limen
    >>> X = [[0.2, 0.1], [0.4, 0.1], [0.6, 0.1], [0.2, 0.9], [0.4, 0.9], [0.6, 0.9]]
    >>> calibrator = limen.LevelIsotonic(levels=2).fit(X, [0, 1, 1, 0, 0, 1])
    >>> calibrator.calibrate([0.4, 0.4], [0.1, 0.9])
    array([1., 0.])
    """

    def __init__(self, levels: int = 3, binning: str = "equi-weight", shrinkage: float | str = 0.0) -> None:
        self.levels = levels
        self.binning = binning
        self.shrinkage = shrinkage

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LevelIsotonic:
        """Fit on labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Score and uncertainty.
        y : array-like of shape (n,)
            Labels, 0 and 1 or bool.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        score, uncertainty = self._columns(X)
        rows = _inputs.table(y, score, uncertainty, sample_weight)
        if len(rows[0]) == 0:
            raise ValueError("X has no rows")
        is_auto = isinstance(self.shrinkage, str)
        if is_auto and self.shrinkage != "auto":
            raise ValueError(f'shrinkage is "{self.shrinkage}", must be a number of rows or "auto"')
        edges, steps, self.shrinkage_ = _core.fit_level_calibration(
            rows,
            _inputs.whole_number(self.levels, "levels"),
            _inputs.text(self.binning, "binning"),
            None if is_auto else float(self.shrinkage),
        )
        self.uncertainty_edges_: np.ndarray = edges
        self.steps_: list[tuple[np.ndarray, np.ndarray]] = list(steps)
        self.classes_ = np.array([0, 1])
        self.n_features_in_ = 2
        names = _feature_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def calibrate(self, score: Any, uncertainty: Any) -> np.ndarray:
        """The probability of each row, from its score and uncertainty."""
        if not hasattr(self, "steps_"):
            raise not_fitted(self)
        score = _inputs.real_array(score, "score")
        uncertainty = _inputs.real_array(uncertainty, "uncertainty")
        for name, values in (("score", score), ("uncertainty", uncertainty)):
            bad = np.flatnonzero(~np.isfinite(values))
            if bad.size:
                raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]}, must be finite")
        return _core.calibrated_probability(self.uncertainty_edges_, self.steps_, score, uncertainty)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, shape (n, 2)."""
        if not hasattr(self, "steps_"):
            raise not_fitted(self)
        names = _feature_names(X)
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and list(names) != list(fitted):
            raise ValueError(f"X has columns {list(names)}, was fitted on {list(fitted)}")
        positive = self.calibrate(*self._columns(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X: Any) -> np.ndarray:
        """1 where the probability is at least one half, else 0."""
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)

    @staticmethod
    def _columns(X: Any) -> tuple[Any, Any]:
        if hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray):  # a frame: column by column
            if X.shape[1] != 2:
                raise ValueError(f"X has {X.shape[1]} columns, must have two: score and uncertainty")
            column = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
            return column((slice(None), 0)), column((slice(None), 1))
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X has shape {array.shape}, must be (rows, 2): score and uncertainty")
        if array.shape[1] != 2:
            raise ValueError(f"X has {array.shape[1]} columns, must have two: score and uncertainty")
        return array[:, 0], array[:, 1]

    # What scikit-learn asks of an estimator.

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "steps_")

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(multi_class=False),
        )


def _feature_names(X: Any) -> Any:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)
