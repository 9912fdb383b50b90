# SPDX-License-Identifier: MIT
import copy
import pickle
import subprocess
import sys

import limen
import numpy as np
import pandas
import polars
import pytest
from rows import make_rows

Y, SCORE, UNCERTAINTY = make_rows(3000, seed=1)
X = np.column_stack([SCORE, UNCERTAINTY])


@pytest.fixture
def fitted():
    return limen.LevelIsotonic(levels=4).fit(X, Y)


def test_probabilities_are_monotone_in_the_score_and_right_on_average(fitted):
    probability = fitted.predict_proba(X)
    assert probability.shape == (3000, 2)
    assert (probability.sum(axis=1) == 1).all()
    level = np.searchsorted(fitted.uncertainty_edges_, UNCERTAINTY, side="right")
    for at in range(4):
        rows = level == at
        calibrated = probability[rows, 1]
        assert (np.diff(calibrated[np.argsort(SCORE[rows], kind="stable")]) >= 0).all()
        assert calibrated.mean() == pytest.approx(Y[rows].mean(), abs=1e-12)
    assert (fitted.predict(X) == (probability[:, 1] >= 0.5)).all()
    assert (fitted.calibrate(SCORE, UNCERTAINTY) == probability[:, 1]).all()
    assert fitted.calibrate([-9.0, 9.0], [0, 0]).tolist() == [
        fitted.steps_[0][1][0],
        fitted.steps_[0][1][-1],
    ]


def test_weights_repeat_rows():
    times = 1 + np.arange(3000) % 3
    weighted = limen.LevelIsotonic(levels=1).fit(X, Y, sample_weight=times)
    repeated = limen.LevelIsotonic(levels=1).fit(np.repeat(X, times, axis=0), np.repeat(Y, times))
    np.testing.assert_allclose(
        weighted.calibrate(SCORE, UNCERTAINTY), repeated.calibrate(SCORE, UNCERTAINTY), atol=1e-12
    )


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame])
def test_frames_go_in_and_their_names_are_checked(fitted, make):
    frame = make({"score": SCORE.astype(np.float32), "doubt": UNCERTAINTY})
    calibrator = limen.LevelIsotonic(levels=4).fit(frame, Y)
    assert calibrator.feature_names_in_.tolist() == ["score", "doubt"]
    assert calibrator.n_features_in_ == 2
    expected = limen.LevelIsotonic(levels=4).fit(X.astype(np.float32), Y).predict_proba(X.astype(np.float32))
    np.testing.assert_allclose(calibrator.predict_proba(frame), expected, atol=0.05)
    with pytest.raises(ValueError, match=r"X has columns \['doubt', 'score'\], was fitted on \['score', 'doubt'\]"):
        calibrator.predict_proba(frame[["doubt", "score"]])
    calibrator.fit(X, Y)
    assert not hasattr(calibrator, "feature_names_in_")


def test_it_follows_the_conventions_of_scikit_learn(fitted):
    import sklearn.base
    import sklearn.exceptions

    calibrator = limen.LevelIsotonic(levels=5, binning="equi-span")
    assert calibrator.get_params() == {"levels": 5, "binning": "equi-span", "shrinkage": 0.0}
    assert repr(calibrator) == "LevelIsotonic(levels=5, binning='equi-span')"
    assert repr(limen.LevelIsotonic()) == "LevelIsotonic()"
    clone = sklearn.base.clone(fitted)
    assert clone.get_params() == {"levels": 4, "binning": "equi-weight", "shrinkage": 0.0}
    assert not hasattr(clone, "steps_")
    assert clone.set_params(levels=2) is clone
    assert clone.levels == 2
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        clone.set_params(depth=1)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        clone.predict_proba(X)
    assert sklearn.base.is_classifier(fitted)
    assert fitted.classes_.tolist() == [0, 1]
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert (other.predict_proba(X) == fitted.predict_proba(X)).all()


def test_it_works_where_scikit_learn_is_not_installed():
    code = """
import sys
sys.modules["sklearn"] = None  # any import of it fails
import limen
calibrator = limen.LevelIsotonic(levels=1)
try:
    calibrator.calibrate([0.1], [0])
except ValueError as error:
    print(error)
print(calibrator.fit([[0.1, 0], [0.9, 0]], [0, 1]).predict([[0.9, 0], [0.2, 0]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "This LevelIsotonic is not fitted yet: call fit first\n[1 0]\n", done.stderr


@pytest.mark.parametrize(
    ("X", "y", "keywords", "message"),
    [
        (X[:, :1], Y, {}, "X has 1 columns, must have two: score and uncertainty"),
        (pandas.DataFrame(np.zeros((3, 3))), [0, 1, 1], {}, "X has 3 columns, must have two: score and uncertainty"),
        (SCORE, Y, {}, "X has shape (3000,), must be (rows, 2): score and uncertainty"),
        (X, Y[1:], {}, "score has 3000 rows, y has 2999"),
        (X, Y * 2, {}, "y[0] is 2, must be 0 or 1"),
        (X * np.nan, Y, {}, "score[0] is NaN, must be finite"),
        (np.zeros((0, 2)), [], {}, "X has no rows"),
        (X, Y, {"levels": 0}, "uncertainty_edges: levels is 0, must be 1 to 1000"),
        (X, Y, {"binning": "x"}, 'binning "x" is not one of'),
    ],
)
def test_bad_input_is_refused(X, y, keywords, message):
    y = np.maximum(y, 2 * (np.arange(len(y)) == 0)) if message.startswith("y[0]") else y
    with pytest.raises(ValueError) as caught:
        limen.LevelIsotonic(**keywords).fit(X, y)
    assert str(caught.value).startswith(message)


def test_bad_rows_to_calibrate_are_refused(fitted):
    with pytest.raises(ValueError, match=r"uncertainty\[1\] is nan, must be finite"):
        fitted.calibrate([0.5, 0.5], [0.5, np.nan])
    with pytest.raises(ValueError, match="calibrated_probability: score has 1 rows, uncertainty has 2"):
        fitted.calibrate([0.5], [0.5, 0.5])


def test_shrinkage_pulls_levels_towards_the_score_alone():
    # One score; one positive in the first level, one of three in the second, two of four together.
    rows, labels = [[1, 0], [1, 5], [1, 5], [1, 5]], [1, 0, 1, 0]

    def levels(shrinkage):
        fitted = limen.LevelIsotonic(levels=2, binning="equi-span", shrinkage=shrinkage).fit(rows, labels)
        assert fitted.shrinkage_ == shrinkage
        return fitted.calibrate([1, 1], [0, 5])

    assert levels(0).tolist() == [1, 1 / 3]
    assert levels(1).tolist() == [0.75, 0.375]
    assert levels(1e12) == pytest.approx([0.5, 0.5])


def test_shrinkage_is_found_by_cross_validation():
    random = np.random.default_rng(1)
    noise = limen.LevelIsotonic(levels=8, shrinkage="auto").fit(np.column_stack([SCORE, random.random(len(Y))]), Y)
    assert noise.shrinkage_ >= 100
    with pytest.raises(ValueError, match='shrinkage is "much", must be a number of rows or "auto"'):
        limen.LevelIsotonic(shrinkage="much").fit(X, Y)
    with pytest.raises(ValueError, match="shrinkage is -1"):
        limen.LevelIsotonic(shrinkage=-1).fit(X, Y)
