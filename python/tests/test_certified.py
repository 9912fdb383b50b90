# SPDX-License-Identifier: MIT
"""Certified boundaries: the arguments of fit_boundary, what comes back, and what is refused."""

import json
import pickle

import limen
import numpy as np
import pytest


def rows(size, seed=1):
    random = np.random.default_rng(seed)
    score = random.random(size)
    return (random.random(size) < score).astype(int), score, random.random(size)


def test_a_guarantee_comes_with_its_counts():
    y, score, uncertainty = rows(5000)
    boundary = limen.fit_boundary(y, score, uncertainty, min_precision=0.8, method="st", confidence_level=0.9)
    guarantee = boundary.guarantee
    flagged = boundary.decide(score, uncertainty)
    assert guarantee["constraint"] == "precision" and guarantee["bound"] == 0.8 and guarantee["confidence"] == 0.9
    assert guarantee["rows"] == 5000 and guarantee["learning_rows"] == 0
    assert guarantee["flagged"] == flagged.sum()
    assert guarantee["true_positives"] == (flagged * y).sum()
    assert 0 < guarantee["p_value"] <= 0.1
    assert boundary.expected["by"] == "tested rows"
    assert "certified with confidence 0.9" in repr(boundary)
    assert limen.Boundary.from_json(boundary.to_json()) == boundary
    plain = limen.fit_boundary(y, score, uncertainty, min_precision=0.8, method="st")
    assert plain.guarantee is None
    assert boundary.recall < plain.recall  # what the promise costs


def test_two_columns_learn_on_other_rows_and_the_seed_says_which():
    y, score, uncertainty = rows(20000)
    options = {"min_precision": 0.8, "method": "smooth", "confidence_level": 0.9}
    first, again, other = (
        limen.fit_boundary(y, score, uncertainty, **options, random_state=seed) for seed in (0, 0, 5)
    )
    assert first == again != other
    assert first.guarantee["learning_rows"] + first.guarantee["rows"] == 20000
    assert first.guarantee["learning_rows"] > 4000


def test_groups_are_the_units_of_the_test():
    y, score, uncertainty = rows(6000)
    days = np.arange(6000) // 3
    boundary = limen.fit_boundary(
        y, score, uncertainty, min_precision=0.7, method="st", confidence_level=0.9, groups=days
    )
    assert boundary.guarantee["test"] == "betting"
    named = limen.fit_boundary(
        y, score, uncertainty, min_precision=0.7, method="st", confidence_level=0.9, groups=[str(day) for day in days]
    )
    assert named == boundary  # a group's text says on which side it is
    with pytest.raises(ValueError, match="groups has 3 entries, y has 6000"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.7, confidence_level=0.9, groups=[1, 2, 3])
    with pytest.raises(ValueError, match=r"groups\[1\] is missing"):
        limen.fit_boundary(
            y[:2], score[:2], uncertainty[:2], min_precision=0.7, confidence_level=0.9, groups=["a", None]
        )
    with pytest.raises(ValueError, match="give confidence_level too"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.7, groups=days)


def test_what_cannot_be_certified_says_what_could_be():
    y, score, uncertainty = rows(400)
    with pytest.raises(limen.NotCertifiableError, match="cannot be certified: .*400 tested rows") as caught:
        limen.fit_boundary(y, score, uncertainty, min_precision=0.98, method="st", confidence_level=0.95)
    assert 0.6 < caught.value.best_attainable < 0.98
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.best_attainable, copy.rows_needed) == (
        str(caught.value),
        caught.value.best_attainable,
        caught.value.rows_needed,
    )
    assert isinstance(caught.value, limen.InfeasibleError)


@pytest.mark.parametrize("confidence", [0, 1, 95, -1, float("nan")])
def test_a_confidence_is_between_0_and_1(confidence):
    y, score, uncertainty = rows(100)
    with pytest.raises(ValueError, match="confidence"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.8, confidence_level=confidence)


def test_wrong_use_is_refused():
    y, score, uncertainty = rows(100)
    for goal in ({"f_beta": 1}, {"cost": (1, 2)}):
        with pytest.raises(ValueError, match="no bound that could be certified"):
            limen.fit_boundary(y, score, uncertainty, confidence_level=0.9, **goal)
    for more in ({"bins": 10}, {"monotone": "up"}, {"levels": "auto"}, {"binning": "equi-span"}):
        with pytest.raises(ValueError, match="every distinct score"):
            limen.fit_boundary(y, score, uncertainty, min_precision=0.8, confidence_level=0.9, **more)
    with pytest.raises(ValueError, match="mist cannot be certified"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.8, confidence_level=0.9, method="mist")
    with pytest.raises(ValueError, match="random_state"):
        limen.fit_boundary(y, score, uncertainty, min_precision=0.8, confidence_level=0.9, random_state=-1)


def test_a_review_goes_with_a_guarantee():
    y, score, uncertainty = rows(5000)
    options = {"min_precision": 0.8, "method": "st", "confidence_level": 0.9}
    alone = limen.fit_boundary(y, score, uncertainty, **options)
    both = limen.fit_boundary(y, score, uncertainty, **options, review_rate=0.05)
    assert both.guarantee == alone.guarantee
    assert json.loads(both.to_json())["rule"] == json.loads(alone.to_json())["rule"]
    assert json.loads(both.to_json())["review"]["rate"] <= 0.05


def test_the_estimator_certifies_the_model_it_predicts_with():
    ensemble = pytest.importorskip("sklearn.ensemble")
    random = np.random.default_rng(3)
    features = random.normal(size=(6000, 3))
    y = (random.random(6000) < 1 / (1 + np.exp(-2.5 * features[:, 0]))).astype(int)
    model = ensemble.HistGradientBoostingClassifier(max_iter=30, random_state=0)
    clf = limen.BoundaryClassifier(model, min_precision=0.85, confidence_level=0.9, method="st", random_state=1)
    clf.fit(features, y)
    assert clf.boundary_.guarantee["confidence"] == 0.9
    assert clf.boundary_.guarantee["rows"] == len(clf.holdout_.index)
    left_out = clf.holdout_.index
    np.testing.assert_array_equal(
        clf.predict(features)[left_out], clf.boundary_.decide(clf.holdout_.score, clf.holdout_.uncertainty)
    )
