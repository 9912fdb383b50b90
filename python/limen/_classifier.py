# SPDX-License-Identifier: MIT
"""BoundaryClassifier: a scikit-learn meta-estimator whose decisions come from a boundary in score and uncertainty."""

from __future__ import annotations

import warnings
from inspect import signature
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    BaseCrossValidator,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    check_cv,
)
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.utils import Bunch, _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
    indexable,
)

from limen._auto_uncertainty import MeanSource, make_source
from limen._errors import InfeasibleError
from limen._fit import fit_boundary

_GOALS = ("min_precision", "min_recall", "max_false_positive_rate", "max_flag_rate", "cost", "f_beta")
_CERTIFIABLE = ("min_precision", "min_recall", "max_false_positive_rate", "max_flag_rate")
_DEFAULT_MIN_PRECISION = 0.9
_DEFAULT_FOLDS = 5
_DEFAULT_CERTIFIED_SHARE = 0.25
_HOW_TO_PASS_GROUPS = (
    "metadata routing passes them on: sklearn.set_config(enable_metadata_routing=True), then fit(X, y, groups=groups)"
)


def _has(method):
    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), method)  # its AttributeError tells what is missing
        return True

    return check


class _RowSplit(GroupsConsumerMixin, BaseCrossValidator):
    """Folds (an int) or one hold-out (a share of the rows), stratified; with groups, all rows of a group are in one part."""

    def __init__(self, parts=_DEFAULT_FOLDS, seed=None):
        self.parts = parts
        self.seed = seed

    def get_n_splits(self, X=None, y=None, groups=None):
        return 1 if isinstance(self.parts, float) else self.parts

    def split(self, X, y, groups=None):
        if isinstance(self.parts, float):
            kind = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
            return kind(n_splits=1, test_size=self.parts, random_state=self.seed).split(X, y, groups)
        return (StratifiedKFold if groups is None else StratifiedGroupKFold)(self.parts).split(X, y, groups)


def _routing_enabled():
    from sklearn import get_config

    return get_config().get("enable_metadata_routing", False)


def _response(estimator, X, methods, positive_index):
    """Score of the positive class: its probability, or the margin turned towards it."""
    for method in methods:
        if not hasattr(estimator, method):
            continue
        values = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
        if method == "predict_proba":
            return values[:, positive_index], method
        values = values.ravel()
        return (values if positive_index == 1 else -values), method
    raise ValueError(
        f"BoundaryClassifier: {type(estimator).__name__} has no {' and no '.join(methods)}, a score is needed"
    )


def _take(X, rows):
    return X if rows is None else _safe_indexing(X, rows)


def _fit_one(estimator, source, X, y, rows, fit_params, seed):
    """Fits the estimator and what its uncertainty needs on some rows (None: all)."""
    X_rows, y_rows = _take(X, rows), _take(y, rows)
    params = _check_method_params(X, fit_params, indices=rows)
    fitted = estimator.fit(X_rows, y_rows, **params)
    return fitted, source.fit(fitted, X_rows, y_rows, params, seed)


def _fit_and_respond(estimator, source, X, y, train, test, fit_params, seed, methods, positive_index, keep):
    fitted, fitted_source = _fit_one(estimator, source, X, y, train, fit_params, seed)
    X_test = _safe_indexing(X, test)
    score, method = _response(fitted, X_test, methods, positive_index)
    uncertainty = fitted_source.uncertainty(fitted, X_test)
    return score, uncertainty, method, (fitted, fitted_source) if keep else None


def _all_have(method):
    def check(self):
        for estimator in self.estimators:
            getattr(estimator, method)  # its AttributeError tells what is missing
        return True

    return check


class FoldMean(ClassifierMixin, BaseEstimator):
    """The fitted classifiers of several folds (``estimators``), by the means of their probabilities or margins."""

    def __init__(self, estimators):
        self.estimators = estimators
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(estimators[0], name):
                setattr(self, name, getattr(estimators[0], name))

    def predict(self, X):
        if hasattr(self, "predict_proba"):
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    @available_if(_all_have("predict_proba"))
    def predict_proba(self, X):
        return np.mean([estimator.predict_proba(X) for estimator in self.estimators], axis=0)

    @available_if(_all_have("predict_proba"))
    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if(_all_have("decision_function"))
    def decision_function(self, X):
        return np.mean([estimator.decision_function(X) for estimator in self.estimators], axis=0)


class BoundaryClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Binary classifier that decides by score and uncertainty, with the best boundary that a goal allows.

    Any probabilistic classifier is fitted in folds; its out-of-fold scores and uncertainties, with the true labels, are
    what the boundary is fitted on (:func:`limen.fit_boundary`): the rows are cut into levels of uncertainty, and each
    level gets its own score threshold. The classifier is then fitted once more on all rows, or those of the folds are kept (``refit``). Compare
    ``sklearn.model_selection.TunedThresholdClassifierCV``, which has one threshold for all. With a ``confidence_level``
    rows are left out once, and the boundary is certified for the very classifier that was fitted on the others.

    Parameters
    ----------
    estimator : estimator instance
        Binary classifier with ``predict_proba`` or ``decision_function``. Fitted already when ``cv="prefit"``.

    min_precision, min_recall, max_false_positive_rate, max_flag_rate, cost, f_beta : default=None
        The goal, as in :func:`limen.fit_boundary`; one of them. With none of them ``min_precision=0.9``. It is met on
        the out-of-fold rows; on new rows precision varies around it like any estimate. A guarantee needs a
        ``confidence_level``.

    confidence_level : float in (0, 1), default=None
        The goal is kept on new rows with at least this probability, as in :func:`limen.fit_boundary`; not for ``cost`` and
        ``f_beta``. A guarantee is one for the classifier whose scores were certified: rows are split once (``cv``), and
        there is no refit.

    uncertainty : "auto", callable, object, str or int, default="auto"
        How certain the classifier is of each row, or whatever else is known of it; larger is less certain.

        - ``"auto"``: read from the fitted estimator, without another fit, where it is made of trees, is bagged, a Gaussian
          process or a network with dropout; that includes LightGBM, XGBoost and CatBoost. For anything else one more model
          is fitted beside it, see ``uncertainty_method_``.
        - callable ``f(fitted_estimator, X)``: one finite number for each row.
        - object with ``fit(X, y)`` and ``uncertainty(X)``, such as :class:`limen.uncertainty.KeyEvidence`: cloned, and
          fitted on the training rows of each fold.
        - name or index of a column of X. The estimator sees this column too.

    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What the score is; ``"auto"`` takes ``predict_proba`` where there is one.

    pos_label : int, float, bool or str, default=None
        The class to be flagged. None: ``classes_[1]``.

    levels, bins, binning, method, monotone : default=None, None, "equi-weight", "auto", None
        As in :func:`limen.fit_boundary`.

    cv : int, splitter, iterable, float, "prefit" or None, default=None
        Folds for the out-of-fold rows. A float in (0, 1) keeps this share of the rows, stratified, as one hold-out.
        ``"prefit"``: the estimator is used as it is, and all rows given to ``fit`` are hold-out rows; they must not be
        those that it was fitted on. None: 5 folds; a hold-out of 0.25 with a ``confidence_level``, which needs a single
        split; ``"prefit"`` where the estimator is a ``FrozenEstimator``. With ``groups`` (see ``fit``) all rows of a group
        are in the same fold or on the same side.

    refit : bool, default=None
        True: fit the estimator on all rows at the end. False: keep those of the folds; score and uncertainty of a row are the means of
        theirs (``estimator_`` is a :class:`FoldMean`), or those of the only one. None: refit after folds where the boundary
        is one threshold, and not where it has levels, which do not survive a refit. Refused with a ``confidence_level``. Of no
        effect with ``cv="prefit"``.

    n_members : int, default=None
        Members of an ensemble for ``uncertainty="auto"``. Given, it asks for that many fits on resampled rows where the
        estimator tells nothing by itself, and for as many virtual ensembles of CatBoost. None: neither of them. Passes
        through a network with dropout are n_members, or 10.

    on_infeasible : {"raise", "none"}, default="raise"
        When no boundary reaches the goal: ``"raise"`` :class:`limen.InfeasibleError`, which names the best that can be
        had, or warn and flag ``"none"`` of the rows (``boundary_`` is None then). Never a threshold that misses the goal.

    random_state : int, RandomState instance or None, default=None
        For the split when ``cv`` is a float, and for ``uncertainty="auto"``.

    n_jobs : int, default=None
        Folds that are fitted at the same time.

    Attributes
    ----------
    boundary_ : limen.Boundary or None
        The rule. Its ``precision`` and ``recall`` are those of the out-of-fold rows.

    estimator_ : estimator instance
        The fitted classifier; a ``FoldMean``, with those of the folds in its ``estimators``, where these are kept.

    holdout_ : Bunch
        The rows that the boundary was fitted on: ``y`` (bool, True is positive), ``score``, ``uncertainty``,
        ``sample_weight`` and ``groups`` (or None), and ``index``, the position of each in X.

    uncertainty_method_ : str
        ``"column"``, ``"callable"``, the class of the object, or what ``"auto"`` came to. Read from the estimator:
        ``"leaf-evidence"`` (forests), ``"small-leaf-contribution"`` (boosting; ``"late-contribution"`` where a version of
        scikit-learn hides the leaves), ``"member-mutual-information"`` (bagging), ``"latent-variance"`` (Gaussian process),
        ``"mc-dropout"`` (networks). With one more fit: ``"second-opinion-forest"``, the log odds of a random forest less
        those of the estimator, where the estimator, or the last step of a pipeline, sees a table of numbers; else
        ``"second-opinion-resampled"``, the same with the estimator fitted on resampled rows. When ``n_members`` is
        given: ``"virtual-ensembles"``, ``"bootstrap"``.

    response_method_ : str
        ``"predict_proba"`` or ``"decision_function"``.

    classes_ : ndarray of shape (2,)
        The class labels.

    n_features_in_ : int
        Number of features seen during ``fit``. Only if the estimator has it.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during ``fit``. Only if the estimator has it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from limen import BoundaryClassifier
    >>> X, y = make_classification(2000, weights=[0.8], flip_y=0.1, random_state=0)
    >>> clf = BoundaryClassifier(RandomForestClassifier(random_state=0), min_precision=0.9).fit(X, y)
    >>> clf.uncertainty_method_
    'leaf-evidence'
    >>> bool(clf.boundary_.precision >= 0.9)
    True
    """

    def __init__(
        self,
        estimator,
        *,
        min_precision=None,
        min_recall=None,
        max_false_positive_rate=None,
        max_flag_rate=None,
        cost=None,
        f_beta=None,
        confidence_level=None,
        uncertainty="auto",
        response_method="auto",
        pos_label=None,
        levels=None,
        bins=None,
        binning="equi-weight",
        method="auto",
        monotone=None,
        cv=None,
        refit=None,
        n_members=None,
        on_infeasible="raise",
        random_state=None,
        n_jobs=None,
    ):
        self.estimator = estimator
        self.min_precision = min_precision
        self.min_recall = min_recall
        self.max_false_positive_rate = max_false_positive_rate
        self.max_flag_rate = max_flag_rate
        self.cost = cost
        self.f_beta = f_beta
        self.confidence_level = confidence_level
        self.uncertainty = uncertainty
        self.response_method = response_method
        self.pos_label = pos_label
        self.levels = levels
        self.bins = bins
        self.binning = binning
        self.method = method
        self.monotone = monotone
        self.cv = cv
        self.refit = refit
        self.n_members = n_members
        self.on_infeasible = on_infeasible
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None, **params):
        """Fit the estimator, its uncertainty and the boundary.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows, as the estimator takes them.

        y : array-like of shape (n_samples,)
            Labels, of two classes.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the boundary's precision and recall, and in the estimator's ``fit`` if that takes them.
            With metadata routing enabled the estimator gets them if it requests them.

        **params : dict
            More parameters of the estimator's ``fit``, and with metadata routing of the splitter: ``groups`` among them, also
            where ``cv`` is a number, ``"prefit"`` or None.

        Returns
        -------
        self : object
        """
        goal = self._goal()
        methods = self._response_methods()
        if self.on_infeasible not in ("raise", "none"):
            raise ValueError(f"BoundaryClassifier: on_infeasible is {self.on_infeasible!r}, must be 'raise' or 'none'")
        self._check_confidence(goal)
        if y is None:
            raise ValueError("BoundaryClassifier requires y to be passed, but the target y is None")
        X, y = indexable(X, y)
        y = column_or_1d(y, warn=True)
        self._check_target(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        routed = self._route(sample_weight, params)
        random = check_random_state(self.random_state)
        groups = routed.splitter.split.get("groups")
        is_prefit = self._is_prefit()
        source = make_source(self.uncertainty, self.n_members, is_prefit)

        self.classes_ = np.unique(y)
        if is_prefit:
            try:
                check_is_fitted(self.estimator)
            except NotFittedError as error:
                raise NotFittedError("BoundaryClassifier: with cv='prefit' the estimator must be fitted") from error
            fitted_classes = getattr(self.estimator, "classes_", self.classes_)
            if not set(self.classes_) <= set(fitted_classes):
                raise ValueError(
                    f"BoundaryClassifier: y has the classes {list(self.classes_)}, "
                    f"the prefit estimator {list(fitted_classes)}"
                )
            self.classes_ = np.asarray(fitted_classes)
        if len(self.classes_) != 2:
            raise ValueError(f"BoundaryClassifier: y has {len(self.classes_)} class, two classes are needed")
        self._positive_index = self._find_positive()

        if is_prefit:
            self.estimator_ = self.estimator
            index, uncertainty, self._source = self._ask_prefit(source, X, y, groups, random)
            score, self.response_method_ = _response(self.estimator_, X, methods, self._positive_index)
            score = score[index]
        else:
            splits = self._splits(X, y, routed.splitter.split, random)
            seeds = random.randint(2**31, size=len(splits) + 1)
            parts = Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_and_respond)(
                    clone(self.estimator), source, X, y, train, test, routed.estimator.fit, int(seed), methods,
                    self._positive_index, self.refit is None or not self.refit,
                )
                for (train, test), seed in zip(splits, seeds[:-1], strict=True)
            )  # fmt: skip
            score, uncertainty = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
            index = np.concatenate([_positions(test) for _, test in splits])
            self.response_method_ = parts[0][2]

        self.holdout_ = Bunch(
            y=y[index] == self.classes_[self._positive_index],
            score=score,
            uncertainty=uncertainty,
            sample_weight=None if sample_weight is None else sample_weight[index],
            groups=None if groups is None else _safe_indexing(groups, index),
            index=index,
        )
        self.boundary_ = self._fit_boundary(goal)
        if not is_prefit:
            if self._is_refitted(len(splits)):
                self.estimator_, self._source = _fit_one(
                    clone(self.estimator), source, X, y, None, routed.estimator.fit, int(seeds[-1])
                )
            else:
                estimators, sources = zip(*(part[3] for part in parts), strict=True)
                self.estimator_ = estimators[0] if len(splits) == 1 else FoldMean(list(estimators))
                self._source = MeanSource(sources, estimators)
        self.uncertainty_method_ = self._source.name
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X):
        """Labels: the positive class where the boundary flags the row.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        flagged = self._decide(*self._respond(X))
        return self.classes_[np.where(flagged, self._positive_index, 1 - self._positive_index)]

    def decision_function(self, X):
        """Rows in the order of the estimator's scores, those that are flagged above those that are not.

        Greater than 0 exactly where ``predict`` gives ``classes_[1]``. With one threshold it is the distance of the score
        from it. With several, flagged rows are measured from the lowest of them, the others from the highest: the order is
        that of the scores on either side, so that measures of ranking, such as ``scoring="roc_auc"``, see the estimator's own.
        If there are levels that flag nothing, the highest threshold is just above 1 for a score of ``predict_proba``, and a
        margin s that is not flagged is turned into -log(1 + exp(-s)), always negative. With ``classes_[0]`` as the positive
        class the sign is turned, so that the rule above holds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        score, uncertainty = self._respond(X)
        flagged = self._decide(score, uncertainty)
        thresholds = np.full(1, np.nan) if self.boundary_ is None else np.asarray(self.boundary_.score_thresholds)
        decision = np.empty(len(score))
        if flagged.any():
            lowest = np.nanmin(thresholds)
            # From the number just below it: a score on the threshold is flagged, so it must be above 0.
            decision[flagged] = score[flagged] - (
                np.nextafter(lowest, -np.inf) if self._positive_index == 1 else lowest
            )
        rest = score[~flagged]
        if not np.isnan(thresholds).any():
            rest = rest - thresholds.max()
        elif self.response_method_ == "predict_proba":
            rest = rest - np.nextafter(1, 2)
        else:
            rest = -np.logaddexp(0, -rest)
        decision[~flagged] = np.minimum(rest, -np.finfo(np.float64).tiny)
        return decision if self._positive_index == 1 else -decision

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the classes, as the fitted estimator gives them.

        The boundary has no part in them: the likelier class is not always the predicted one.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Logarithms of the probabilities, as the fitted estimator gives them.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_log_proba(X)

    def predict_uncertainty(self, X):
        """Uncertainty of each row, as the boundary sees it.

        Larger is less certain, but for second opinions and contributions of trees, which are signed.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        uncertainty : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        return self._source.uncertainty(self.estimator_, X)

    def predict_score(self, X):
        """Score of the positive class for each row, as the boundary sees it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        score : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        return _response(self.estimator_, X, [self.response_method_], self._positive_index)[0]

    def get_metadata_routing(self):
        """Metadata routing of this object: its own ``sample_weight``, the estimator's ``fit``, the splitter's ``split``.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(
                splitter=self.cv if hasattr(self.cv, "split") and not isinstance(self.cv, str) else _RowSplit(),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.categorical = inner.input_tags.categorical
        tags.input_tags.string = inner.input_tags.string
        return tags

    def _goal(self):
        goal = {name: getattr(self, name) for name in _GOALS if getattr(self, name) is not None}
        if len(goal) > 1:
            raise ValueError(f"BoundaryClassifier: one goal is possible, {' and '.join(goal)} are given")
        return goal or {"min_precision": _DEFAULT_MIN_PRECISION}

    def _response_methods(self):
        if self.response_method == "auto":
            return ["predict_proba", "decision_function"]
        if self.response_method in ("predict_proba", "decision_function"):
            return [self.response_method]
        raise ValueError(
            f"BoundaryClassifier: response_method is {self.response_method!r}, "
            "must be 'auto', 'predict_proba' or 'decision_function'"
        )

    @staticmethod
    def _check_target(y):
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}. Unknown label type: {kind}"
            )

    def _find_positive(self):
        if self.pos_label is None:
            return 1
        at = np.flatnonzero(self.classes_ == self.pos_label)
        if len(at) != 1:
            raise ValueError(
                f"BoundaryClassifier: pos_label is {self.pos_label!r}, the classes are {list(self.classes_)}"
            )
        return int(at[0])

    def _check_confidence(self, goal):
        if self.confidence_level is None:
            return
        if not 0 < float(self.confidence_level) < 1:
            raise ValueError(f"BoundaryClassifier: confidence_level is {self.confidence_level!r}, must be in (0, 1)")
        if not set(goal) <= set(_CERTIFIABLE):
            raise ValueError(
                f"BoundaryClassifier: confidence_level is given for {next(iter(goal))}, it goes with {', '.join(_CERTIFIABLE)}"
            )
        if self.refit:
            raise ValueError(
                "BoundaryClassifier: refit=True is given with a confidence_level; a boundary is certified for the scores of "
                "one fitted estimator, and a refit makes another one: leave refit out"
            )

    def _is_prefit(self):
        if self.cv is None:
            return isinstance(self.estimator, FrozenEstimator)
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _ask_prefit(self, source, X, y, groups, random):
        """Hold-out rows, their uncertainty and the fitted source.

        What must be fitted beside the estimator is fitted on hold-out rows: in folds, so that all of them are left out once. A
        guarantee is one for the rule that is used: there one half of the rows is for fitting, the other for the boundary.
        """
        seed = random.randint(2**31)
        if not source.needs_rows(self.estimator):
            fitted = source.fit(self.estimator, None, None, {}, seed)
            return np.arange(_num_samples(X)), fitted.uncertainty(self.estimator, X), fitted
        cv = _RowSplit() if self.confidence_level is None else _RowSplit(0.5, seed)
        index, uncertainty, fitted = [], [], []
        for train, test in cv.split(X, y, groups):
            fitted.append(source.fit(self.estimator, _safe_indexing(X, train), y[train], {}, seed))
            uncertainty.append(fitted[-1].uncertainty(self.estimator, _safe_indexing(X, test)))
            index.append(test)
        return np.concatenate(index), np.concatenate(uncertainty), MeanSource(fitted, [self.estimator] * len(fitted))

    def _splits(self, X, y, split_params, random):
        if isinstance(self.cv, GroupsConsumerMixin) and split_params.get("groups") is None:
            raise ValueError(f"BoundaryClassifier: {type(self.cv).__name__} needs groups; {_HOW_TO_PASS_GROUPS}")
        splits = list(self._splitter(y, random).split(X, y, **split_params))
        if self.confidence_level is not None and len(splits) > 1:
            raise ValueError(
                f"BoundaryClassifier: cv has {len(splits)} splits, a confidence_level needs a single one: give a share of the "
                "rows such as cv=0.25, a splitter of one split, or cv='prefit' and an estimator fitted on other rows"
            )
        return splits

    def _is_refitted(self, splits):
        """Whether the estimator is fitted once more on all rows.

        A refitted estimator is surer of its rows: scores under one threshold move a little, and rather to the safe side; rows slide
        from level to level, and a boundary of several then flags more than it should.
        """
        if self.refit is not None:
            return self.refit
        has_levels = self.boundary_ is not None and len(self.boundary_.score_thresholds) > 1
        return splits > 1 and not has_levels

    def _splitter(self, y, random):
        if self.cv is None:
            parts = _DEFAULT_FOLDS if self.confidence_level is None else _DEFAULT_CERTIFIED_SHARE
        elif isinstance(self.cv, Real) and not isinstance(self.cv, bool):
            parts = int(self.cv) if isinstance(self.cv, Integral) else float(self.cv)
        else:
            return check_cv(self.cv, y=y, classifier=True)
        if isinstance(parts, int):
            return _RowSplit(parts)
        if not 0 < parts < 1:
            raise ValueError(f"BoundaryClassifier: cv is {self.cv}, a share of rows must be in (0, 1)")
        return _RowSplit(parts, random.randint(2**31))

    def _route(self, sample_weight, params):
        if _routing_enabled():
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        fit_params = dict(params)
        if "groups" in params and "groups" not in signature(self.estimator.fit).parameters:
            raise ValueError(f"BoundaryClassifier: groups are given; {_HOW_TO_PASS_GROUPS}")
        if sample_weight is not None:
            if "sample_weight" in signature(self.estimator.fit).parameters:
                fit_params["sample_weight"] = sample_weight
            elif not self._is_prefit():
                warnings.warn(
                    f"BoundaryClassifier: {type(self.estimator).__name__}.fit takes no sample_weight; "
                    "the weights are used for the boundary alone",
                    stacklevel=3,
                )
        return Bunch(splitter=Bunch(split={}), estimator=Bunch(fit=fit_params))

    def _fit_boundary(self, goal):
        rows = self.holdout_
        certify = {}
        if self.confidence_level is not None:
            certify = {"confidence_level": self.confidence_level}
            if rows.groups is not None:
                certify["groups"] = rows.groups
        try:
            return fit_boundary(
                rows.y, rows.score, rows.uncertainty, **goal, **certify, levels=self.levels, bins=self.bins,
                binning=self.binning, method=self.method, monotone=self.monotone, sample_weight=rows.sample_weight,
            )  # fmt: skip
        except InfeasibleError as error:
            if self.on_infeasible == "raise":
                raise
            warnings.warn(f"BoundaryClassifier flags no rows: {error}", stacklevel=3)
            return None

    def _decide(self, score, uncertainty):
        if self.boundary_ is None:
            return np.zeros(len(score), dtype=bool)
        return np.asarray(self.boundary_.decide(score, uncertainty), dtype=bool)

    def _respond(self, X):
        return self.predict_score(X), self.predict_uncertainty(X)


def _positions(rows):
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows
