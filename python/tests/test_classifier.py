# SPDX-License-Identifier: MIT
import json
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import limen  # noqa: E402
import sklearn  # noqa: E402
from limen import BoundaryClassifier, uncertainty  # noqa: E402
from limen._auto_uncertainty import choose  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin, clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.frozen import FrozenEstimator  # noqa: E402
from sklearn.gaussian_process import GaussianProcessClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, RidgeClassifier  # noqa: E402
from sklearn.metrics import roc_auc_score  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

X, Y = make_classification(600, n_features=8, n_informative=4, weights=[0.7], flip_y=0.15, random_state=1)
X_NEW, Y_NEW = X[400:], Y[400:]
X, Y = X[:400], Y[:400]
NAMES = np.where(Y == 1, "fraud", "fine")


def first_feature(estimator, X):
    return np.asarray(X)[:, 0]


def forest(**options):
    return RandomForestClassifier(12, min_samples_leaf=3, random_state=0, **options)


WEIGHTS_ARE_NOT_ROWS = "folds are cut by rows, so that a weight of 2 is not a row given twice"
WITH_MARGINS = {"check_sample_weight_equivalence_on_dense_data": WEIGHTS_ARE_NOT_ROWS}
WITH_PROBABILITIES = {
    **WITH_MARGINS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS_ARE_NOT_ROWS,
    "check_classifiers_train": "the likelier class is not the predicted one: thresholds are not 0.5, and differ by level",
    "check_decision_proba_consistency": "flagged rows come before others, whatever their scores, where thresholds differ by level",
}


def expected_to_fail(estimator):
    return WITH_PROBABILITIES if hasattr(estimator, "predict_proba") else WITH_MARGINS


@parametrize_with_checks(
    [
        BoundaryClassifier(LogisticRegression(), max_flag_rate=0.3, cv=2, n_members=2, random_state=0),
        BoundaryClassifier(LogisticRegression(), max_flag_rate=0.3, cv=2, random_state=0),
        BoundaryClassifier(RidgeClassifier(), f_beta=1, cv=2, uncertainty=uncertainty.NeighbourEvidence(k=1)),
    ],
    expected_failed_checks=expected_to_fail,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


def test_it_is_cross_val_predict_and_fit_boundary():
    folds = StratifiedKFold(4)
    clf = BoundaryClassifier(forest(), min_precision=0.8, cv=folds).fit(X, Y)
    score = cross_val_predict(forest(), X, Y, cv=folds, method="predict_proba")[:, 1]
    spread = np.empty(len(Y))
    for train, test in folds.split(X, Y):
        spread[test] = uncertainty.leaf_evidence(forest().fit(X[train], Y[train]), X[test]).uncertainty
    np.testing.assert_array_equal(clf.holdout_.score, score[clf.holdout_.index])
    np.testing.assert_array_equal(clf.holdout_.uncertainty, spread[clf.holdout_.index])
    np.testing.assert_array_equal(clf.holdout_.y, Y[clf.holdout_.index] == 1)
    by_hand = limen.fit_boundary(Y, score, spread, min_precision=0.8)
    assert clf.boundary_ == by_hand
    whole = forest().fit(X, Y)
    new = uncertainty.leaf_evidence(whole, X_NEW).uncertainty
    expected = by_hand.decide(whole.predict_proba(X_NEW)[:, 1], new)
    np.testing.assert_array_equal(clf.predict(X_NEW), expected.astype(int))
    assert 0 < expected.sum() < len(expected)
    np.testing.assert_array_equal(clf.predict_proba(X_NEW), whole.predict_proba(X_NEW))
    assert clf.score(X_NEW, Y_NEW) == np.mean(expected == Y_NEW)


@pytest.mark.parametrize("goal", [{"max_flag_rate": 0.1}, {"min_recall": 0.7}, {"cost": (3, 1)}, {"f_beta": 0.5}])
def test_each_goal_reaches_fit_boundary(goal):
    clf = BoundaryClassifier(forest(), **goal, levels=2, bins=50, binning="equi-span", method="exact").fit(X, Y)
    rows = clf.holdout_
    expected = limen.fit_boundary(
        rows.y, rows.score, rows.uncertainty, **goal, levels=2, bins=50, binning="equi-span", method="exact"
    )
    assert clf.boundary_ == expected
    assert clf.boundary_.levels == 2


def test_the_goal_is_nine_tenths_of_precision_when_none_is_given():
    clf = BoundaryClassifier(forest(), levels=2).fit(X, Y)
    assert clf.boundary_.objective == limen.fit_boundary(
        clf.holdout_.y, clf.holdout_.score, clf.holdout_.uncertainty, min_precision=0.9, levels=2
    ).objective  # fmt: skip


@pytest.mark.parametrize("positive", ["fraud", "fine", None])
def test_either_class_can_be_the_positive_one(positive):
    clf = BoundaryClassifier(forest(), min_precision=0.8, pos_label=positive).fit(X, NAMES)
    column = 0 if positive == "fine" else 1
    assert clf.classes_.tolist() == ["fine", "fraud"]
    score = clf.estimator_.predict_proba(X_NEW)[:, column]
    np.testing.assert_array_equal(clf.predict_score(X_NEW), score)
    flagged = clf.boundary_.decide(score, clf.predict_uncertainty(X_NEW))
    names = [clf.classes_[column], clf.classes_[1 - column]]
    np.testing.assert_array_equal(clf.predict(X_NEW), np.where(flagged, *names))
    np.testing.assert_array_equal(clf.holdout_.y, NAMES[clf.holdout_.index] == names[0])


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier()], ids=["proba", "margin"])
def test_decisions_above_zero_are_the_second_class_even_on_a_threshold(estimator, positive):
    # Prefit and judged on the hold-out itself, with each threshold at the score of some row.
    estimator = clone(estimator).fit(X_NEW, Y_NEW)
    clf = BoundaryClassifier(
        estimator, min_precision=0.8, cv="prefit", uncertainty=first_feature, pos_label=positive, levels=3
    ).fit(X, Y)
    document = json.loads(clf.boundary_.to_json())
    level = clf.boundary_.level(clf.holdout_.uncertainty)
    flagged = clf.boundary_.decide(clf.holdout_.score, clf.holdout_.uncertainty)
    document["rule"]["score_thresholds"] = [
        None if at is None else clf.holdout_.score[flagged & (level == number)].min()
        for number, at in enumerate(document["rule"]["score_thresholds"])
    ]
    clf.boundary_ = limen.Boundary.from_json(json.dumps(document))
    assert np.isin(clf.holdout_.score, clf.boundary_.score_thresholds).any()
    decision = clf.decision_function(X)
    np.testing.assert_array_equal(clf.predict(X), (decision > 0).astype(int))
    thresholds = clf.boundary_.score_thresholds
    assert len(thresholds) > 1
    from_where = np.where(clf.predict(X) == positive, np.nanmin(thresholds), np.nanmax(thresholds))
    distance = clf.holdout_.score - from_where
    known = (clf.predict(X) == positive) | ~np.isnan(thresholds).any()
    assert known.any()
    np.testing.assert_allclose(decision[known], (distance if positive else -distance)[known], atol=1e-12)
    assert clf.holdout_.score.shape == (400,)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_a_level_that_flags_nothing_has_finite_decisions_on_the_negative_side(method, positive):
    y = Y.copy()
    hopeless = X[:, 0] > np.quantile(X[:, 0], 0.7)
    y[hopeless] = 1 - positive
    estimator = LogisticRegression().fit(X[:, 1:], Y)
    clf = BoundaryClassifier(
        make_pipeline(_DropFirst(), FrozenEstimator(estimator)).fit(X, Y), min_precision=0.8, cv="prefit",
        uncertainty=0, pos_label=positive, response_method=method, levels=3,
    ).fit(X, y)  # fmt: skip
    assert np.isnan(clf.boundary_.score_thresholds[-1])
    huge = np.repeat(X[hopeless], 2, axis=0) * 1000
    decision = clf.decision_function(huge)
    assert np.isfinite(decision).all()
    np.testing.assert_array_equal(clf.predict(huge), (decision > 0).astype(int))
    assert set(clf.predict(huge[huge[:, 0] > 0])) == {1 - positive}


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier()], ids=["proba", "margin"])
@pytest.mark.parametrize("options", [{"method": "st"}, {"levels": 8}], ids=["st", "levels"])
def test_measures_of_ranking_see_the_order_of_the_estimator(estimator, options):
    # The uncertainty is a feature that the label does not depend on: a row's level says nothing about it.
    rows, y = make_classification(
        4000, n_features=4, n_informative=2, n_redundant=0, shuffle=False, flip_y=0.2, random_state=3
    )
    order = np.random.default_rng(0).permutation(4000)
    rows, y = rows[order], y[order]
    clf = BoundaryClassifier(estimator, min_precision=0.85, uncertainty=3, **options).fit(rows[:600], y[:600])
    decision, score = clf.decision_function(rows[2000:]), clf.predict_score(rows[2000:])
    flagged = clf.predict(rows[2000:]) == 1
    assert 100 < flagged.sum() < 1900
    np.testing.assert_array_equal(decision > 0, flagged)
    for side in (flagged, ~flagged):
        assert (np.diff(decision[side][np.argsort(score[side])]) >= 0).all()
    of_wrapper, of_estimator = (
        cross_val_score(each, rows, y, scoring="roc_auc", cv=3) for each in (clone(clf), clone(estimator))
    )
    if "method" in options:
        np.testing.assert_allclose(of_wrapper, of_estimator, atol=1e-12)
    else:
        thresholds = clf.boundary_.score_thresholds
        distance = score - thresholds[clf.boundary_.level(clf.predict_uncertainty(rows[2000:]))]
        by_level, by_decision, by_score = (roc_auc_score(y[2000:], order) for order in (distance, decision, score))
        assert by_level < by_score - 0.01  # what the distance from the threshold of the row's level would cost
        assert by_decision > by_score - 0.001
        assert of_wrapper.mean() > of_estimator.mean() - 0.002


def test_a_search_scored_by_ranking_finds_what_it_finds_without_the_wrapper():
    depths = [1, 3, 6]
    plain = GridSearchCV(forest(), {"max_depth": depths}, scoring="roc_auc", cv=3).fit(X, Y)
    wrapped = GridSearchCV(
        BoundaryClassifier(forest(), max_flag_rate=0.3, cv=3), {"estimator__max_depth": depths}, scoring="roc_auc", cv=3
    ).fit(X, Y)
    np.testing.assert_allclose(wrapped.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"], atol=2e-3)
    assert wrapped.best_params_["estimator__max_depth"] == plain.best_params_["max_depth"]


class _DropFirst(BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return np.asarray(X)[:, 1:]


def test_prefit_takes_the_estimator_as_it_is_and_all_rows_as_hold_out():
    fitted = forest().fit(X_NEW, Y_NEW)
    clf = BoundaryClassifier(fitted, min_precision=0.7, cv="prefit").fit(X, Y)
    assert clf.estimator_ is fitted
    score, spread = fitted.predict_proba(X)[:, 1], uncertainty.leaf_evidence(fitted, X).uncertainty
    assert clf.boundary_ == limen.fit_boundary(Y, score, spread, min_precision=0.7)
    with pytest.raises(NotFittedError, match="cv='prefit' the estimator must be fitted"):
        BoundaryClassifier(forest(), cv="prefit").fit(X, Y)
    with pytest.raises(ValueError, match="y has the classes .*fine.*, the prefit estimator"):
        BoundaryClassifier(fitted, cv="prefit").fit(X, NAMES)


def test_one_hold_out_split_and_no_refit_keeps_its_estimator():
    clf = BoundaryClassifier(forest(), min_precision=0.7, cv=0.3, refit=False, random_state=4).fit(X, Y)
    assert len(set(clf.holdout_.index)) == 120
    np.testing.assert_array_equal(clf.holdout_.score, clf.predict_score(X)[clf.holdout_.index])
    kept = BoundaryClassifier(forest(), min_precision=0.7, cv=0.3, random_state=4).fit(X, Y)
    np.testing.assert_array_equal(kept.predict_proba(X_NEW), clf.predict_proba(X_NEW))
    again = BoundaryClassifier(forest(), min_precision=0.7, cv=0.3, refit=True, random_state=4).fit(X, Y)
    assert again.boundary_ == clf.boundary_
    np.testing.assert_array_equal(again.predict_proba(X_NEW), forest().fit(X, Y).predict_proba(X_NEW))
    assert (clf.predict_proba(X_NEW) != again.predict_proba(X_NEW)).any()


@pytest.mark.parametrize("estimator", [forest(), RidgeClassifier()], ids=["proba", "margin"])
def test_levels_are_kept_with_the_models_they_were_fitted_for(estimator):
    options = {"min_precision": 0.7, "uncertainty": first_feature, "cv": 3}
    levels = BoundaryClassifier(clone(estimator), levels=3, **options).fit(X, Y)
    assert len(levels.boundary_.score_thresholds) == 3
    folds = [clone(estimator).fit(X[train], Y[train]) for train, _ in StratifiedKFold(3).split(X, Y)]
    method = levels.response_method_
    scores = [np.reshape(getattr(fold, method)(X_NEW), (len(X_NEW), -1))[:, -1] for fold in folds]
    np.testing.assert_allclose(levels.predict_score(X_NEW), np.mean(scores, axis=0), atol=1e-12)
    flagged = levels.boundary_.decide(levels.predict_score(X_NEW), levels.predict_uncertainty(X_NEW))
    np.testing.assert_array_equal(levels.predict(X_NEW) == 1, flagged)
    assert len(levels.estimator_.estimators) == 3
    assert hasattr(levels, "predict_proba") == hasattr(estimator, "predict_proba")
    repr(levels.estimator_)
    middle = 0.5 if method == "predict_proba" else 0
    np.testing.assert_array_equal(levels.estimator_.predict(X_NEW) == 1, levels.predict_score(X_NEW) > middle)
    single = BoundaryClassifier(clone(estimator), method="st", **options).fit(X, Y)
    refitted = BoundaryClassifier(clone(estimator), levels=3, refit=True, **options).fit(X, Y)
    for each in (single, refitted):
        whole = np.reshape(getattr(clone(estimator).fit(X, Y), method)(X_NEW), (len(X_NEW), -1))[:, -1]
        np.testing.assert_array_equal(each.predict_score(X_NEW), whole)
    assert refitted.boundary_ == levels.boundary_
    kept = BoundaryClassifier(clone(estimator), method="st", refit=False, **options).fit(X, Y)
    np.testing.assert_array_equal(kept.predict_score(X_NEW), levels.predict_score(X_NEW))


def test_the_uncertainty_of_kept_folds_is_the_mean_of_theirs():
    clf = BoundaryClassifier(forest(), min_precision=0.7, levels=3, cv=3).fit(X, Y)
    folds = [forest().fit(X[train], Y[train]) for train, _ in StratifiedKFold(3).split(X, Y)]
    mean = np.mean([uncertainty.leaf_evidence(fold, X_NEW).uncertainty for fold in folds], axis=0)
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), mean, atol=1e-12)


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers the weights it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.weight_ = sample_weight
        self.model_ = LogisticRegression().fit(X, y, sample_weight)
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


WEIGHT = np.random.default_rng(0).integers(1, 5, len(Y)).astype(float)


def test_weights_reach_the_estimator_and_the_boundary():
    clf = BoundaryClassifier(Recorder(), min_precision=0.7, uncertainty=first_feature).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(clf.estimator_.weight_, WEIGHT)
    rows = clf.holdout_
    np.testing.assert_array_equal(rows.sample_weight, WEIGHT[rows.index])
    expected = limen.fit_boundary(
        rows.y, rows.score, rows.uncertainty, min_precision=0.7, sample_weight=WEIGHT[rows.index]
    )
    assert clf.boundary_ == expected
    plain = limen.fit_boundary(rows.y, rows.score, rows.uncertainty, min_precision=0.7)
    assert clf.boundary_ != plain


def test_an_estimator_without_weights_leaves_them_to_the_boundary():
    clf = BoundaryClassifier(make_pipeline(Recorder()), min_precision=0.7, uncertainty=first_feature)
    with pytest.warns(UserWarning, match="Pipeline.fit takes no sample_weight"):
        clf.fit(X, Y, sample_weight=WEIGHT)
    assert clf.estimator_[-1].weight_ is None
    assert clf.holdout_.sample_weight is not None


@pytest.mark.parametrize("to_estimator", [True, False])
def test_metadata_routing_gives_weights_to_those_who_request_them(to_estimator):
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Recorder().set_fit_request(sample_weight=to_estimator)
        clf = BoundaryClassifier(inner, min_precision=0.7, uncertainty=first_feature)
        clf.fit(X, Y, sample_weight=WEIGHT)
        assert (clf.estimator_.weight_ is not None) == to_estimator
        assert clf.holdout_.sample_weight is not None
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        outer = make_pipeline(scaler, clone(clf).set_fit_request(sample_weight=True))
        outer.fit(X, Y, sample_weight=WEIGHT)
        assert outer[-1].holdout_.sample_weight is not None
        assert (outer[-1].estimator_.weight_ is not None) == to_estimator


def test_metadata_routing_gives_groups_to_the_splitter():
    groups = np.arange(400) // 8
    with sklearn.config_context(enable_metadata_routing=True):
        clf = BoundaryClassifier(forest(), min_precision=0.7, cv=GroupKFold(4)).fit(X, Y, groups=groups)
    expected = np.concatenate([test for _, test in GroupKFold(4).split(X, Y, groups)])
    np.testing.assert_array_equal(clf.holdout_.index, expected)


GROUPS = np.arange(400) // 8


def sides(clf):
    """Groups of the rows left out, and of the others."""
    left_out = np.isin(np.arange(400), clf.holdout_.index)
    return set(GROUPS[left_out]), set(GROUPS[~left_out])


def test_groups_stay_together_whatever_cv_is():
    with sklearn.config_context(enable_metadata_routing=True):
        folds = BoundaryClassifier(forest(), min_precision=0.7, cv=4).fit(X, Y, groups=GROUPS)
        expected = np.concatenate([test for _, test in StratifiedGroupKFold(4).split(X, Y, GROUPS)])
        np.testing.assert_array_equal(folds.holdout_.index, expected)
        np.testing.assert_array_equal(folds.holdout_.groups, GROUPS[expected])
        one = BoundaryClassifier(forest(), min_precision=0.7, cv=0.3, random_state=0).fit(X, Y, groups=GROUPS)
        left_out, others = sides(one)
        assert left_out and others and not left_out & others
        plain = BoundaryClassifier(forest(), min_precision=0.7, cv=0.3, random_state=0).fit(X, Y)
        left_out, others = sides(plain)
        assert left_out & others and plain.holdout_.groups is None
        # From outside, through cross-validation and its parameters.
        scores = cross_validate(
            BoundaryClassifier(forest(), min_precision=0.7, cv=GroupKFold(3)), X, Y, cv=GroupKFold(2),
            params={"groups": GROUPS}, return_estimator=True, error_score="raise",
        )  # fmt: skip
        inner = scores["estimator"][0]
        assert inner.holdout_.groups is not None


def test_groups_without_metadata_routing_are_refused_with_the_way_to_pass_them():
    how = r"set_config\(enable_metadata_routing=True\), then fit\(X, y, groups=groups\)"
    with pytest.raises(ValueError, match=f"groups are given; metadata routing .*{how}"):
        BoundaryClassifier(forest()).fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match=f"GroupKFold needs groups; metadata routing .*{how}"):
        BoundaryClassifier(forest(), cv=GroupKFold(3)).fit(X, Y)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="GroupKFold needs groups; metadata routing"),
    ):
        BoundaryClassifier(forest(), cv=GroupKFold(3)).fit(X, Y)


@pytest.fixture
def certified(monkeypatch):
    """What fit_boundary was asked to certify; the boundary is that of the rows themselves."""
    asked = []

    def fit_boundary(*rows, confidence_level=None, groups=None, **options):
        asked.append((confidence_level, groups))
        return limen.fit_boundary(*rows, **options)

    monkeypatch.setattr("limen._classifier.fit_boundary", fit_boundary)
    return asked


def test_a_certified_boundary_is_one_for_the_estimator_that_predicts(certified):
    clf = BoundaryClassifier(forest(), min_precision=0.7, confidence_level=0.9, random_state=2).fit(X, Y)
    assert certified == [(0.9, None)]
    assert len(clf.holdout_.index) == 100
    others = np.setdiff1d(np.arange(400), clf.holdout_.index)
    assert abs(Y[others].mean() - Y.mean()) < 0.01
    np.testing.assert_array_equal(clf.holdout_.score, clf.predict_score(X)[clf.holdout_.index])
    np.testing.assert_array_equal(clf.holdout_.uncertainty, clf.predict_uncertainty(X)[clf.holdout_.index])
    again = clone(clf).fit(X, Y)
    np.testing.assert_array_equal(again.holdout_.index, clf.holdout_.index)
    fitted = forest().fit(X_NEW, Y_NEW)
    for prefit in (
        BoundaryClassifier(fitted, min_precision=0.7, confidence_level=0.9, cv="prefit"),
        BoundaryClassifier(FrozenEstimator(fitted), min_precision=0.7, confidence_level=0.9),
    ):
        prefit.fit(X, Y)
        np.testing.assert_array_equal(prefit.holdout_.index, np.arange(400))
        np.testing.assert_array_equal(prefit.predict_score(X), fitted.predict_proba(X)[:, 1])
    one = BoundaryClassifier(forest(), min_precision=0.7, confidence_level=0.9, cv=ShuffleSplit(1, random_state=0)).fit(
        X, Y
    )
    assert len(one.holdout_.index) == 40


def test_groups_of_a_certified_boundary_are_on_one_side_and_reach_the_test(certified):
    with sklearn.config_context(enable_metadata_routing=True):
        clf = BoundaryClassifier(forest(), min_precision=0.7, confidence_level=0.9, random_state=2)
        clf.fit(X, Y, groups=GROUPS)
        left_out, others = sides(clf)
        assert left_out and others and not left_out & others
        np.testing.assert_array_equal(certified[0][1], GROUPS[clf.holdout_.index])
        prefit = BoundaryClassifier(
            forest().fit(X_NEW, Y_NEW), min_precision=0.7, confidence_level=0.9, cv="prefit"
        ).fit(X, Y, groups=GROUPS)
        np.testing.assert_array_equal(certified[1][1], GROUPS)
        assert prefit.holdout_.groups is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refit": True}, "refit=True is given with a confidence_level; .* a refit makes another one"),
        ({"refit": True, "cv": 0.3}, "refit=True is given with a confidence_level"),
        ({"cv": 5}, "cv has 5 splits, a confidence_level needs a single one: give a share .*cv=0.25"),
        ({"cv": StratifiedKFold(3)}, "cv has 3 splits, a confidence_level needs a single one"),
        ({"f_beta": 1}, "confidence_level is given for f_beta, it goes with min_precision, min_recall"),
        ({"cost": (1, 1)}, "confidence_level is given for cost"),
        ({"confidence_level": 95}, r"confidence_level is 95, must be in \(0, 1\)"),
        ({"confidence_level": 0}, r"confidence_level is 0, must be in \(0, 1\)"),
        ({"confidence_level": 1.0}, r"confidence_level is 1.0, must be in \(0, 1\)"),
        ({"confidence_level": float("nan")}, r"confidence_level is nan, must be in \(0, 1\)"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_anything_is_fitted(options, message):
    counting = CountingFits()
    CountingFits.fits = 0
    with pytest.raises(ValueError, match=message):
        BoundaryClassifier(counting, **{"confidence_level": 0.9, "uncertainty": 0} | options).fit(X, Y)
    assert CountingFits.fits == 0


def test_pickled_and_cloned_it_decides_the_same():
    clf = BoundaryClassifier(LogisticRegression(), min_precision=0.7, n_members=3, random_state=5).fit(X, Y)
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.decision_function(X_NEW), clf.decision_function(X_NEW))
    again = clone(clf).fit(X, Y)
    assert again.boundary_ == clf.boundary_
    np.testing.assert_array_equal(again.predict_uncertainty(X_NEW), clf.predict_uncertainty(X_NEW))


def test_jobs_do_not_change_the_result():
    one = BoundaryClassifier(LogisticRegression(), min_precision=0.7, n_members=2, random_state=5).fit(X, Y)
    two = clone(one).set_params(n_jobs=2).fit(X, Y)
    assert one.boundary_ == two.boundary_


def test_grid_search_over_levels_inside_a_pipeline():
    pipe = make_pipeline(StandardScaler(), BoundaryClassifier(forest(), max_flag_rate=0.3, cv=2))
    search = GridSearchCV(pipe, {"boundaryclassifier__levels": [1, 2, 4]}, cv=2).fit(X, Y)
    best = search.best_params_["boundaryclassifier__levels"]
    assert search.best_estimator_[-1].boundary_.levels == best
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_pandas_rows_keep_their_names_and_a_column_can_be_the_uncertainty():
    pandas = pytest.importorskip("pandas")
    names = [f"x{at}" for at in range(8)]
    rows, new = pandas.DataFrame(X, columns=names), pandas.DataFrame(X_NEW, columns=names)
    by_name = BoundaryClassifier(forest(), min_precision=0.7, uncertainty="x3").fit(rows, pandas.Series(NAMES))
    assert by_name.feature_names_in_.tolist() == names
    assert by_name.n_features_in_ == 8
    assert by_name.uncertainty_method_ == "column"
    np.testing.assert_array_equal(by_name.predict_uncertainty(new), X_NEW[:, 3])
    by_index = BoundaryClassifier(forest(), min_precision=0.7, uncertainty=3).fit(X, NAMES)
    assert by_index.boundary_ == by_name.boundary_
    np.testing.assert_array_equal(by_name.predict(new), by_index.predict(X_NEW))


def test_polars_rows_give_the_same_as_arrays():
    polars = pytest.importorskip("polars")
    names = [f"x{at}" for at in range(8)]
    clf = BoundaryClassifier(forest(), min_precision=0.7).fit(polars.DataFrame(X, schema=names), Y)
    assert clf.boundary_ == BoundaryClassifier(forest(), min_precision=0.7).fit(X, Y).boundary_


def test_an_object_is_fitted_on_the_training_rows_of_each_fold():
    folds = StratifiedKFold(3)
    clf = BoundaryClassifier(
        LogisticRegression(), min_precision=0.7, cv=folds, uncertainty=uncertainty.NeighbourEvidence(k=2)
    ).fit(X, Y)
    assert clf.uncertainty_method_ == "NeighbourEvidence"
    expected = np.concatenate(
        [uncertainty.neighbour_evidence(X[train], X[test], k=2).uncertainty for train, test in folds.split(X, Y)]
    )
    np.testing.assert_array_equal(clf.holdout_.uncertainty, expected)
    with pytest.raises(ValueError, match="NeighbourEvidence must be fitted on the estimator's training rows"):
        BoundaryClassifier(
            forest().fit(X, Y), cv="prefit", uncertainty=uncertainty.NeighbourEvidence()
        ).fit(X_NEW, Y_NEW)  # fmt: skip


def test_infeasible_raises_or_flags_nothing():
    noise = np.random.default_rng(0).normal(size=(400, 2))
    y = np.zeros(400, dtype=int)
    y[::40] = 1
    clf = BoundaryClassifier(LogisticRegression(), min_precision=0.99, uncertainty=first_feature)
    with pytest.raises(limen.InfeasibleError, match="best attainable precision") as caught:
        clf.fit(noise, y)
    assert 0 < caught.value.best_attainable < 0.99
    clf.set_params(on_infeasible="none")
    with pytest.warns(UserWarning, match="flags no rows: infeasible"):
        clf.fit(noise, y)
    assert clf.boundary_ is None
    assert not clf.predict(noise).any()
    assert (clf.decision_function(noise) < 0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_precision": 0.9, "f_beta": 1}, "one goal is possible, min_precision and f_beta are given"),
        ({"min_precision": 1.5}, "min_precision is 1.5"),
        ({"pos_label": "nobody"}, "pos_label is 'nobody', the classes are"),
        ({"response_method": "margin"}, "response_method is 'margin'"),
        ({"on_infeasible": "guess"}, "on_infeasible is 'guess'"),
        ({"cv": 1.5}, r"cv is 1.5, a share of rows must be in \(0, 1\)"),
        ({"n_members": 1}, "n_members is 1, must be None or an int >= 2"),
        ({"uncertainty": 2.5}, "uncertainty is 2.5, must be 'auto'"),
        ({"uncertainty": lambda estimator, X: np.zeros(3)}, r"has shape \(3,\), must be"),
        ({"uncertainty": lambda estimator, X: np.full(len(X), np.nan)}, "of row 0 is nan, must be finite"),
        ({"method": "best"}, "best"),
        ({"levels": 0}, "levels"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        BoundaryClassifier(LogisticRegression(), **options).fit(X, Y)


def test_bad_targets_are_named():
    clf = BoundaryClassifier(LogisticRegression())
    with pytest.raises(
        ValueError, match="Only binary classification is supported. The type of the target is multiclass"
    ):
        clf.fit(X, np.arange(400) % 3)
    with pytest.raises(ValueError, match="y has 1 class, two classes are needed"):
        clf.fit(X, np.ones(400))
    with pytest.raises(NotFittedError):
        clf.predict(X)
    with pytest.raises(ValueError, match="RidgeClassifier has no predict_proba"):
        BoundaryClassifier(RidgeClassifier(), response_method="predict_proba", uncertainty=0).fit(X, Y)
    assert not hasattr(BoundaryClassifier(RidgeClassifier()), "predict_proba")


# uncertainty="auto": each branch against a slow reference.


def fitted_auto(estimator, **options):
    options = {"cv": 2, "refit": True} | options
    return BoundaryClassifier(estimator, max_flag_rate=0.3, random_state=7, **options).fit(X, Y)


def mutual_information(probabilities):
    p = np.clip(np.asarray(probabilities), 1e-300, 1 - 1e-16)
    entropy = lambda q: -q * np.log(q) - (1 - q) * np.log(1 - q)  # noqa: E731
    return entropy(p.mean(axis=0)) - entropy(p).mean(axis=0)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_auto_asks_forests_for_their_leaves(kind):
    clf = fitted_auto(kind(10, random_state=0))
    assert clf.uncertainty_method_ == "leaf-evidence"
    leaves = [tree.tree_.n_node_samples[tree.apply(np.float32(X_NEW))] for tree in clf.estimator_.estimators_]
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), -np.log(np.mean(leaves, axis=0)), atol=1e-12)


def test_auto_is_no_function_of_the_score_where_trees_are_pure():
    # Variance and mutual information between trees that answer 0 or 1 are functions of the score; leaves are not.
    clf = fitted_auto(RandomForestClassifier(10, random_state=0))
    score, spread = clf.predict_score(X_NEW), clf.predict_uncertainty(X_NEW)
    by_score = {}
    for s, u in zip(score.round(9), spread, strict=True):
        by_score.setdefault(s, set()).add(round(u, 9))
    assert sum(len(values) > 1 for values in by_score.values()) >= 5


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, HistGradientBoostingClassifier])
@pytest.mark.parametrize("is_prefit", [False, True], ids=["cv", "prefit"])
def test_auto_asks_boosting_what_its_small_leaves_added(kind, is_prefit):
    count = {"n_estimators": 12} if kind is GradientBoostingClassifier else {"max_iter": 12}
    model = kind(**count, random_state=0)
    if is_prefit:
        clf = BoundaryClassifier(model.fit(X_NEW, Y_NEW), max_flag_rate=0.3, cv="prefit").fit(X, Y)
    else:
        clf = fitted_auto(model)
    assert clf.uncertainty_method_ == "small-leaf-contribution"
    expected = uncertainty.small_leaf_contribution(clf.estimator_, X_NEW)
    np.testing.assert_array_equal(clf.predict_uncertainty(X_NEW), expected)


def test_auto_asks_histogram_boosting_for_late_iterations_where_its_leaves_are_not_to_be_had():
    # As a version of scikit-learn would be whose private trees keep no counts.
    model = HistGradientBoostingClassifier(max_iter=12).fit(X, Y)
    for (tree,) in model._predictors:
        tree.nodes = tree.nodes[[name for name in tree.nodes.dtype.names if name != "count"]]
    assert choose(model, None) == "late-contribution"


def boosters():
    """One of each library by name; those that are not installed are skipped."""
    yield "lightgbm", lambda library: library.LGBMClassifier(n_estimators=12, num_leaves=6, verbose=-1, n_jobs=1)
    yield "xgboost", lambda library: library.XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1)
    yield (
        "catboost",
        lambda library: library.CatBoostClassifier(
            iterations=12, depth=3, verbose=False, allow_writing_files=False, thread_count=1
        ),
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "make"), list(boosters()), ids=[name for name, _ in boosters()])
def test_auto_asks_boosting_of_other_libraries_in_whatever_wrapping(name, make):
    model = make(pytest.importorskip(name))
    fitted = clone(model).fit(X, Y)
    for clf in (
        fitted_auto(model),
        fitted_auto(FrozenEstimator(fitted)),
        BoundaryClassifier(fitted, max_flag_rate=0.3, cv="prefit").fit(X, Y),
    ):
        assert clf.uncertainty_method_ == "small-leaf-contribution"
        inner = getattr(clf.estimator_, "estimator", clf.estimator_)
        np.testing.assert_array_equal(clf.predict_uncertainty(X_NEW), uncertainty.small_leaf_contribution(inner, X_NEW))
    pipe = fitted_auto(make_pipeline(StandardScaler(), model))
    assert pipe.uncertainty_method_ == "small-leaf-contribution"
    expected = uncertainty.small_leaf_contribution(pipe.estimator_[-1], pipe.estimator_[0].transform(X_NEW))
    np.testing.assert_array_equal(pipe.predict_uncertainty(X_NEW), expected)
    calibrated = fitted_auto(CalibratedClassifierCV(model, cv=2))
    parts = [part.estimator for part in calibrated.estimator_.calibrated_classifiers_]
    expected = np.mean([uncertainty.small_leaf_contribution(part, X_NEW) for part in parts], axis=0)
    np.testing.assert_allclose(calibrated.predict_uncertainty(X_NEW), expected, atol=1e-12)


def test_auto_asks_bagged_members_and_bagged_trees():
    clf = fitted_auto(BaggingClassifier(LogisticRegression(), 6, max_features=0.6, random_state=0))
    assert clf.uncertainty_method_ == "member-mutual-information"
    members = zip(clf.estimator_.estimators_, clf.estimator_.estimators_features_, strict=True)
    probabilities = [member.predict_proba(X_NEW[:, columns])[:, 1] for member, columns in members]
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), mutual_information(probabilities), atol=1e-12)
    assert fitted_auto(BaggingClassifier(n_estimators=3, random_state=0)).uncertainty_method_ == "leaf-evidence"


def test_auto_asks_gaussian_processes_for_the_latent_variance():
    clf = fitted_auto(GaussianProcessClassifier(optimizer=None))
    assert clf.uncertainty_method_ == "latent-variance"
    # Rasmussen and Williams (2006), equation 3.24: k(x, x) - k' (K + W^-1)^-1 k.
    inner = clf.estimator_.base_estimator_
    covariance, cross = inner.kernel_(inner.X_train_), inner.kernel_(inner.X_train_, X_NEW)
    middle = np.linalg.inv(covariance + np.diag(1 / inner.W_sr_**2))
    expected = inner.kernel_.diag(X_NEW) - np.einsum("ij,ik,kj->j", cross, middle, cross)
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), expected, atol=1e-6)


def test_auto_bootstraps_anything_else_when_members_are_asked_for():
    clf = fitted_auto(LogisticRegression(), n_members=4)
    assert clf.uncertainty_method_ == "bootstrap"
    members = clf._source.members
    coefficients = {tuple(member.coef_.ravel()) for member in members}
    assert len(members) == len(coefficients) == 4
    probabilities = [1 / (1 + np.exp(-(X_NEW @ m.coef_.ravel() + m.intercept_))) for m in members]
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), mutual_information(probabilities), atol=1e-9)
    margins = fitted_auto(RidgeClassifier(), n_members=3)
    expected = np.std([X_NEW @ m.coef_.ravel() + m.intercept_ for m in margins._source.members], axis=0)
    np.testing.assert_allclose(margins.predict_uncertainty(X_NEW), expected, atol=1e-9)
    other = clone(clf).set_params(random_state=8).fit(X, Y)
    assert (other.predict_uncertainty(X_NEW) != clf.predict_uncertainty(X_NEW)).all()


def log_odds(p):
    p = np.clip(p, 1e-9, 1 - 1e-9)
    return np.log(p / (1 - p))


def reference_forest(seed, X, y, sample_weight=None):
    return RandomForestClassifier(100, min_samples_leaf=5, random_state=seed).fit(X, y, sample_weight)


def test_auto_asks_a_forest_for_a_second_opinion_of_anything_else():
    clf = fitted_auto(LogisticRegression())
    assert clf.uncertainty_method_ == "second-opinion-forest"
    second = reference_forest(clf._source.seed, X, Y).predict_proba(X_NEW)[:, 1]
    expected = uncertainty.second_opinion(clf.predict_proba(X_NEW)[:, 1], second)
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), expected, atol=1e-9)
    again = clone(clf).fit(X, Y)
    np.testing.assert_array_equal(again.predict_uncertainty(X_NEW), clf.predict_uncertainty(X_NEW))
    other = clone(clf).set_params(random_state=8).fit(X, Y)
    assert (other.predict_uncertainty(X_NEW) != clf.predict_uncertainty(X_NEW)).any()
    margins = fitted_auto(RidgeClassifier())
    second = reference_forest(margins._source.seed, X, Y).predict_proba(X_NEW)[:, 1]
    expected = log_odds(second) - margins.estimator_.decision_function(X_NEW)
    np.testing.assert_allclose(margins.predict_uncertainty(X_NEW), expected, atol=1e-9)


def test_the_out_of_fold_second_opinion_has_not_seen_the_fold():
    # A forest fitted on all rows would know their labels: its opinion of them is much closer to the truth.
    clf = fitted_auto(LogisticRegression())
    rows = clf.holdout_
    after = clf.predict_uncertainty(X)[rows.index]
    assert np.corrcoef(after, rows.y)[0, 1] > np.corrcoef(rows.uncertainty, rows.y)[0, 1] + 0.1


class CountingFits(Recorder):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingFits.fits += 1
        return super().fit(X, y, sample_weight)


def test_auto_fits_the_estimator_no_more_often_than_folds_and_refit_do():
    CountingFits.fits = 0
    # One threshold, which is refitted; levels keep the models of the folds, and which it is depends on the seed.
    BoundaryClassifier(CountingFits(), max_flag_rate=0.3, cv=3, random_state=0, method="st").fit(X, Y)
    assert CountingFits.fits == 4
    BoundaryClassifier(CountingFits(), max_flag_rate=0.3, cv=3, n_members=2, random_state=0, method="st").fit(X, Y)
    assert CountingFits.fits == 4 + 4 * 3


def test_the_forest_is_weighted_as_the_estimator_is():
    clf = BoundaryClassifier(Recorder(), max_flag_rate=0.3, cv=2, refit=True, random_state=7)
    clf.fit(X, Y, sample_weight=WEIGHT)
    second = reference_forest(clf._source.seed, X, Y, WEIGHT).predict_proba(X_NEW)[:, 1]
    expected = log_odds(second) - log_odds(clf.predict_proba(X_NEW)[:, 1])
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), expected, atol=1e-9)
    pipe = BoundaryClassifier(make_pipeline(Recorder()), max_flag_rate=0.3, cv=2, refit=True, random_state=7)
    pipe.fit(X, Y, recorder__sample_weight=WEIGHT)
    np.testing.assert_array_equal(pipe.estimator_[-1].weight_, WEIGHT)
    np.testing.assert_array_equal(pipe.predict_uncertainty(X_NEW), clf.predict_uncertainty(X_NEW))


def test_the_forest_sees_what_the_last_step_of_a_pipeline_sees():
    pandas = pytest.importorskip("pandas")
    color = np.where(X[:, 0] > 0, "red", "blue")
    rows = pandas.DataFrame({"color": color, "size": X[:, 1]})
    encode = make_column_transformer((OneHotEncoder(), ["color"]), (StandardScaler(), ["size"]))
    clf = BoundaryClassifier(make_pipeline(encode, LogisticRegression()), max_flag_rate=0.3, cv=2, random_state=7)
    clf.fit(rows, Y)
    assert clf.uncertainty_method_ == "second-opinion-forest"
    second = reference_forest(clf._source.seed, clf.estimator_[0].transform(rows), Y)
    expected = log_odds(second.predict_proba(clf.estimator_[0].transform(rows))[:, 1])
    np.testing.assert_allclose(
        clf.predict_uncertainty(rows), expected - log_odds(clf.predict_proba(rows)[:, 1]), atol=1e-9
    )


class ByFirstColumn(ClassifierMixin, BaseEstimator):
    """Rates of the values of the first column, whatever they are."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rates_ = {value: (y[self._first(X) == value] == self.classes_[1]).mean() for value in self._first(X)}
        return self

    def _first(self, X):
        first = X.iloc[:, 0].to_numpy() if hasattr(X, "iloc") else np.asarray(X).reshape(len(X), -1)[:, 0]
        return first.astype(str)  # a missing value is one too

    def predict_proba(self, X):
        p = np.array([self.rates_.get(value, 0.5) for value in self._first(X)])
        return np.column_stack([1 - p, p])


def table_kinds():
    first = np.round(X[:, :2] * 2)
    yield "array", first, "forest"
    yield "list", first.tolist(), "forest"
    yield "integers", first.astype(int), "forest"
    yield "booleans", first > 0, "forest"
    yield "one feature", first[:, :1], "forest"
    yield "missing values", np.where(first == 1, np.nan, first), "forest"
    yield "infinite values", np.where(first == 1, np.inf, first), "resampled"
    yield "too large for single precision", np.where(first == 1, 1e300, first), "resampled"
    yield "text", first.astype(str), "resampled"
    yield "objects", first.astype(object), "resampled"
    yield "three axes", first[:, :, None], "resampled"


@pytest.mark.parametrize(
    ("rows", "second"), [case[1:] for case in table_kinds()], ids=[case[0] for case in table_kinds()]
)
def test_what_the_rows_are_decides_who_gives_the_second_opinion(rows, second):
    clf = BoundaryClassifier(ByFirstColumn(), max_flag_rate=0.3, cv=2, random_state=7).fit(rows, Y)
    assert clf.uncertainty_method_ == f"second-opinion-{second}"
    found = clf.predict_uncertainty(rows)
    assert len(np.unique(found)) > 2
    np.testing.assert_array_equal(clone(clf).fit(rows, Y).predict_uncertainty(rows), found)


def test_frames_of_numbers_get_a_forest_and_those_with_text_or_categories_a_resampled_fit():
    pandas = pytest.importorskip("pandas")
    numbers = pandas.DataFrame(
        {"a": np.round(X[:, 0] * 2), "b": X[:, 1] > 0, "c": pandas.array([1, None] * 200, dtype="Int64")}
    )
    for rows, second in (
        (numbers, "forest"),
        (numbers.assign(d=np.where(X[:, 2] > 0, "x", "y")), "resampled"),
        (numbers.assign(d=pandas.Categorical(np.where(X[:, 2] > 0, "x", "y"))), "resampled"),
    ):
        clf = BoundaryClassifier(ByFirstColumn(), max_flag_rate=0.3, cv=2, random_state=7).fit(rows, Y)
        assert clf.uncertainty_method_ == f"second-opinion-{second}"
    # The resampled fit: rates of the first column among rows drawn within each class.
    difference = log_odds(clf._source.second.predict_proba(rows)[:, 1]) - log_odds(clf.predict_proba(rows)[:, 1])
    np.testing.assert_allclose(clf.predict_uncertainty(rows), difference, atol=1e-12)
    assert clf._source.second.rates_ != clf.estimator_.rates_


def test_sparse_rows_get_a_forest():
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(np.where(np.abs(X) > 1, X, 0))
    clf = BoundaryClassifier(LogisticRegression(), max_flag_rate=0.3, cv=2, refit=True, random_state=7)
    clf.fit(sparse, Y)
    assert clf.uncertainty_method_ == "second-opinion-forest"
    second = reference_forest(clf._source.seed, sparse, Y).predict_proba(sparse)[:, 1]
    expected = log_odds(second) - log_odds(clf.predict_proba(sparse)[:, 1])
    np.testing.assert_allclose(clf.predict_uncertainty(sparse), expected, atol=1e-9)


def test_auto_fits_a_second_opinion_on_hold_out_rows_beside_an_estimator_that_came_fitted():
    fitted = LogisticRegression().fit(X_NEW, Y_NEW)
    for clf in (
        BoundaryClassifier(fitted, cv="prefit", max_flag_rate=0.3, random_state=1),
        BoundaryClassifier(FrozenEstimator(fitted), max_flag_rate=0.3, random_state=1),
    ):
        clf.fit(X, Y)
        assert clf.uncertainty_method_ == "second-opinion-forest"
        np.testing.assert_array_equal(clf.predict_proba(X_NEW), fitted.predict_proba(X_NEW))
        assert sorted(clf.holdout_.index) == list(range(400))
        # Each row's opinion is that of the forest that has not seen it; new rows get the mean of the five.
        seed = np.random.RandomState(1).randint(2**31)
        opinions = []
        for train, test in StratifiedKFold(5).split(X, Y):
            second = RandomForestClassifier(100, min_samples_leaf=5, random_state=seed).fit(X[train], Y[train])
            left_out = np.isin(clf.holdout_.index, test)
            own = uncertainty.second_opinion(fitted.predict_proba(X[test])[:, 1], second.predict_proba(X[test])[:, 1])
            np.testing.assert_allclose(clf.holdout_.uncertainty[left_out], own, atol=1e-9)
            opinions.append(
                uncertainty.second_opinion(fitted.predict_proba(X_NEW)[:, 1], second.predict_proba(X_NEW)[:, 1])
            )
        np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), np.mean(opinions, axis=0), atol=1e-9)


def test_a_certified_second_opinion_is_that_of_new_rows(certified):
    fitted = LogisticRegression().fit(X_NEW, Y_NEW)
    clf = BoundaryClassifier(fitted, cv="prefit", max_flag_rate=0.3, confidence_level=0.9, random_state=1).fit(X, Y)
    assert len(clf.holdout_.index) == 200
    np.testing.assert_array_equal(clf.holdout_.uncertainty, clf.predict_uncertainty(X)[clf.holdout_.index])
    np.testing.assert_array_equal(clf.holdout_.score, fitted.predict_proba(X)[clf.holdout_.index, 1])


def test_a_frozen_estimator_of_text_gets_the_opinion_of_one_fitted_on_hold_out_rows():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    rows = pandas.DataFrame({"town": random.choice(list("abcdef"), 400), "size": random.normal(size=400)})
    y = (rows["size"] + (rows["town"] < "d") + random.normal(size=400) > 1).astype(int).to_numpy()
    pipe = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"),
        LogisticRegression(),
    )
    whole = make_pipeline(ByFirstColumn())  # sees text: no forest
    for estimator, second in (
        (FrozenEstimator(pipe.fit(rows[200:], y[200:])), "second-opinion-forest"),
        (FrozenEstimator(whole.fit(rows[200:], y[200:])), "second-opinion-resampled"),
    ):
        clf = BoundaryClassifier(estimator, max_flag_rate=0.5, random_state=0).fit(rows[:200], y[:200])
        assert clf.uncertainty_method_ == second
        assert np.unique(clf.holdout_.uncertainty).size > 2


def test_auto_looks_into_pipelines_searches_calibration_and_frozen_estimators():
    pipe = fitted_auto(make_pipeline(StandardScaler(), forest()))
    assert pipe.uncertainty_method_ == "leaf-evidence"
    inner = uncertainty.leaf_evidence(pipe.estimator_[-1], pipe.estimator_[0].transform(X_NEW)).uncertainty
    np.testing.assert_array_equal(pipe.predict_uncertainty(X_NEW), inner)
    search = fitted_auto(GridSearchCV(forest(), {"max_depth": [2]}, cv=2))
    inner = uncertainty.leaf_evidence(search.estimator_.best_estimator_, X_NEW).uncertainty
    np.testing.assert_array_equal(search.predict_uncertainty(X_NEW), inner)
    frozen = fitted_auto(FrozenEstimator(forest().fit(X_NEW, Y_NEW)))
    assert frozen.uncertainty_method_ == "leaf-evidence"
    calibrated = fitted_auto(CalibratedClassifierCV(forest(), cv=3))
    parts = [part.estimator for part in calibrated.estimator_.calibrated_classifiers_]
    inner = np.mean([uncertainty.leaf_evidence(part, X_NEW).uncertainty for part in parts], axis=0)
    assert len(parts) == 3
    np.testing.assert_allclose(calibrated.predict_uncertainty(X_NEW), inner)


class TorchModel(ClassifierMixin, BaseEstimator):
    """A network with three hidden units and dropout, as a wrapper such as skorch has it: predict_proba sets eval mode."""

    def fit(self, X, y):
        import torch

        self.classes_ = np.unique(y)
        torch.manual_seed(0)
        self.module_ = torch.nn.Sequential(
            torch.nn.Linear(X.shape[1], 3), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(3, 1)
        )
        return self

    def predict_proba(self, X):
        import torch

        self.module_.eval()
        with torch.no_grad():
            parts = [
                torch.sigmoid(self.module_(torch.tensor(np.asarray(X)[at : at + 64], dtype=torch.float32)))
                for at in range(0, len(X), 64)
            ]
        p = torch.cat(parts).numpy().ravel()
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def test_auto_drops_units_of_torch_modules_for_all_rows_alike():
    torch = pytest.importorskip("torch")
    from limen._auto_uncertainty import _dropout_passes

    model = TorchModel().fit(X, Y)
    before = model.predict_proba(X_NEW)
    passes = _dropout_passes(model, X_NEW, 40, seed=1)
    np.testing.assert_array_equal(model.predict_proba(X_NEW), before)
    # Each pass is one of the 8 networks that keep some of the three units, doubled.
    first, last = model.module_[0], model.module_[3]
    with torch.no_grad():
        hidden = torch.tanh(first(torch.tensor(X_NEW, dtype=torch.float32)))
        thinned = []
        for mask in np.ndindex(2, 2, 2):
            kept = hidden * torch.tensor(mask, dtype=torch.float32) * 2
            thinned.append(torch.sigmoid(last(kept)).numpy().ravel())
    which = [int(np.argmin([np.abs(p - network).max() for network in thinned])) for p in passes]
    for at, p in zip(which, passes, strict=True):
        np.testing.assert_allclose(p, thinned[at], atol=1e-6)
    assert len(set(which)) == 8
    clf = fitted_auto(TorchModel(), n_members=5)
    assert clf.uncertainty_method_ == "mc-dropout"
    whole = clf.predict_uncertainty(X_NEW)
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW[150:]), whole[150:], atol=1e-7)
    np.testing.assert_array_equal(clf.predict_uncertainty(X_NEW), whole)
    expected = mutual_information(_dropout_passes(clf.estimator_, X_NEW, 5, clf._source.seed))
    np.testing.assert_allclose(whole, expected, atol=1e-9)


def test_auto_takes_virtual_ensembles_of_catboost_when_members_are_asked_for():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(
        iterations=40, depth=3, random_seed=0, verbose=False, posterior_sampling=True, thread_count=1,
        allow_writing_files=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = fitted_auto(model, n_members=5)
    assert clf.uncertainty_method_ == "virtual-ensembles"
    data, total = clf.estimator_.virtual_ensembles_predict(
        X_NEW, prediction_type="TotalUncertainty", virtual_ensembles_count=5
    ).T
    np.testing.assert_allclose(clf.predict_uncertainty(X_NEW), total - data, atol=1e-6)
    assert clf.predict_uncertainty(X_NEW).max() > 0
