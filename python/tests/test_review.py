# SPDX-License-Identifier: MIT
"""Rows that are not flagged but sent to a person."""

import pickle
from fractions import Fraction

import limen
import numpy as np
import pytest

# Flagged at precision 0.75 on two levels: .9 .8 .7 and .95 .85. The last positive, .55, takes three more rows.
SCORE = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.95, 0.85, 0.75, 0.65, 0.55])
UNCERTAINTY = np.repeat([0.1, 0.9], 5)
Y = np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 1])


def fit(**options):
    return limen.fit_boundary(Y, SCORE, UNCERTAINTY, min_precision=0.75, levels=2, **options)


def test_a_rate_finds_the_most_positives():
    boundary = fit(review_rate=0.3)
    np.testing.assert_array_equal(np.flatnonzero(boundary.review(SCORE, UNCERTAINTY)), [7, 8, 9])
    assert not (boundary.review(SCORE, UNCERTAINTY) & boundary.decide(SCORE, UNCERTAINTY)).any()
    assert boundary.reviewed == limen.Reviewed(rows=3, positives=1, rate=0.3, recall=1.0, optimal=True)
    assert np.isnan(boundary.review_thresholds[0])
    assert 0.5 < boundary.review_thresholds[1] <= 0.55
    assert fit(review_rate=Fraction(29, 100)).reviewed.rows == 0
    np.testing.assert_array_equal(boundary.score_thresholds, fit().score_thresholds)
    assert "review of 30% of rows: recall 1.0000 with it" in repr(boundary)


def test_it_reads_back_and_knows_what_it_has():
    boundary = fit(review_rate=Fraction(1, 3))
    assert limen.Boundary.from_json(boundary.to_json()) == boundary
    assert pickle.loads(pickle.dumps(boundary)) == boundary
    assert boundary != fit()
    assert boundary.to_dict()["review"]["max_rate_fraction"] == "1/3"
    without = fit()
    assert (without.reviewed, without.review_thresholds) == (None, None)
    with pytest.raises(ValueError, match="fitted without one"):
        without.review(SCORE, UNCERTAINTY)
    with pytest.raises(ValueError, match=r"score\[1\] is NaN"):
        boundary.review([0.5, np.nan], [0.1, 0.1])


def test_a_recall_takes_the_fewest_rows_and_says_what_it_needs():
    assert fit(review_recall=0.9).reviewed.rows == 3
    assert fit(review_recall=0.8).reviewed.rows == 0
    with pytest.raises(limen.InfeasibleError, match="that takes a review rate of 0.3") as caught:
        fit(review_rate=0.2, review_recall=0.9)
    assert caught.value.best_attainable == 0.8


def test_a_cost_decides_both():
    boundary = limen.fit_boundary(Y, SCORE, UNCERTAINTY, cost=(2, 5), review_cost=1, levels=2)
    assert (boundary.holdout.flagged, boundary.reviewed.rows, boundary.holdout.objective_value) == (3, 5, 5)


def test_evaluate_has_the_review_with_intervals():
    found = fit(review_rate=0.3).evaluate(Y, SCORE, UNCERTAINTY)
    assert (found.review.reviewed, found.review.positives, found.review.rate, found.review.recall) == (3, 1, 0.3, 1.0)
    assert found.review.rate_interval == pytest.approx((0.06673951, 0.6524529), abs=1e-6)
    assert found.to_dict()["review"]["reviewed"] == 3
    assert "review" not in found.to_pandas().columns
    assert fit().evaluate(Y, SCORE, UNCERTAINTY).review is None


@pytest.mark.parametrize("method", ["auto", "st", "smooth", "exact", "joint"])
def test_weights_and_methods(method):
    random = np.random.default_rng(4)
    score, uncertainty = random.random(3000).astype(np.float32), random.random(3000).astype(np.float32)
    y = random.random(3000) < 0.5 + (score - 0.5) * (1.2 - uncertainty)
    weight = random.exponential(size=3000)
    boundary = limen.fit_boundary(
        y, score, uncertainty, min_precision=0.7, method=method, sample_weight=weight, review_rate=0.1
    )
    review = boundary.review(score, uncertainty)
    assert boundary.reviewed.rows == pytest.approx(weight[review].sum())
    assert 0.08 * weight.sum() < boundary.reviewed.rows <= 0.1 * weight.sum()
    caught = boundary.decide(score, uncertainty) | review
    assert boundary.reviewed.recall == pytest.approx(weight[caught & y].sum() / weight[y].sum())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"review_rate": 5}, "review_rate is 5, must be between 0 and 1; 5% is 0.05"),
        ({"review_rate": -0.1}, "review_rate is -0.1"),
        ({"review_recall": float("nan")}, "review_recall is nan"),
        ({"review_cost": 1}, "needs costs of false positives and negatives"),
        ({"review_rate": 0.1, "review_cost": 1}, "give no rate and no recall"),
        ({"review_rate": 0.1, "monotone": "up"}, "cannot be made monotone"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        fit(**options)
    with pytest.raises(TypeError, match="review_rate is"):
        fit(review_rate=[0.1])
