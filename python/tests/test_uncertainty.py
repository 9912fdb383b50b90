# SPDX-License-Identifier: MIT
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn")
from limen import uncertainty  # noqa: E402
from scipy.stats import beta  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


def entropy(p):
    return 0.0 if p in (0, 1) else -p * math.log(p) - (1 - p) * math.log(1 - p)


def test_beta_entropy_is_that_of_the_beta_distribution_elementwise():
    a1, a0 = np.array([[1.0, 2.5], [40.0, 0.5]]), np.array([1.0, 7.0])
    found = uncertainty.beta_entropy(a1, a0)
    assert found.shape == (2, 2)
    np.testing.assert_allclose(found, beta(a1, np.broadcast_to(a0, (2, 2))).entropy(), rtol=1e-9, atol=1e-9)
    assert uncertainty.beta_entropy(1, 1) == 0
    assert isinstance(uncertainty.beta_entropy(2, 3), float)


def test_beta_entropy_falls_with_evidence():
    assert uncertainty.beta_entropy(2, 2) > uncertainty.beta_entropy(20, 20) > uncertainty.beta_entropy(200, 200)


def test_beta_entropy_refuses_what_is_no_parameter():
    with pytest.raises(ValueError, match="-1"):
        uncertainty.beta_entropy([1.0, -1.0], [1.0, 1.0])


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=6))
def test_ensemble_measures_are_their_formulas(members):
    found = uncertainty.ensemble(members)
    for row in range(3):
        p = [member[row] for member in members]
        mean = math.fsum(p) / len(p)
        assert found.mean[row] == pytest.approx(mean, abs=1e-12)
        assert found.variance[row] == pytest.approx(math.fsum((x - mean) ** 2 for x in p) / len(p), abs=1e-12)
        assert found.entropy[row] == pytest.approx(entropy(mean), abs=1e-9)
        mutual = entropy(mean) - math.fsum(map(entropy, p)) / len(p)
        assert found.mutual_information[row] == pytest.approx(mutual, abs=1e-9)
        assert found.mutual_information[row] >= 0


def test_ensemble_takes_predict_proba_of_its_members():
    one = np.array([[0.2, 0.8], [0.5, 0.5]])
    two = np.array([[0.4, 0.6], [0.1, 0.9]])
    np.testing.assert_array_equal(uncertainty.ensemble([one, two]).mean, [0.7, 0.7])
    np.testing.assert_array_equal(uncertainty.ensemble(np.stack([one, two])).mean, [0.7, 0.7])


def test_ensemble_names_the_member_it_refuses():
    with pytest.raises(ValueError, match="no members"):
        uncertainty.ensemble([])
    with pytest.raises(ValueError, match=r"member 1 has shape \(2, 3\)"):
        uncertainty.ensemble([np.zeros(2), np.zeros((2, 3))])


# Training rows by color and size: red/S 3, red/L 1, blue/S 2. A red/L row has one like it; blue/L none, so that the size
# is dropped and the two blue rows stand behind it; green has none at all, so that all six do.
COLOR = ["red", "red", "red", "red", "blue", "blue"]
SIZE = ["S", "S", "S", "L", "S", "S"]
ASK_COLOR, ASK_SIZE = ["red", "red", "blue", "green"], ["S", "L", "L", "S"]


def frames():
    import pandas
    import polars

    yield "dict", dict
    yield "pandas", pandas.DataFrame
    yield "polars", polars.DataFrame
    yield "numpy", lambda columns: np.array(list(columns.values()), dtype=object).T
    yield "list", lambda columns: [list(row) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("name", ["dict", "pandas", "polars", "numpy", "list"])
def test_evidence_counts_training_rows_by_keys(name):
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    make = dict(frames())[name]
    keys = ["color", "size"] if name in ("dict", "pandas", "polars") else [0, 1]
    found = uncertainty.evidence(
        make({"color": COLOR, "size": SIZE}),
        make({"color": ASK_COLOR, "size": ASK_SIZE}),
        keys=keys,
        y=[1, 1, 0, 0, 1, 0],
        strength=0,
    )
    assert found.evidence.tolist() == [3, 1, 2, 6]
    assert found.keys_used.tolist() == [2, 2, 1, 0]
    # -log(1 + count) for own cells; d - count / (1 + count) with d keys dropped.
    np.testing.assert_allclose(found.uncertainty, [-math.log(4), -math.log(2), 1 - 2 / 3, 2 - 6 / 7])
    np.testing.assert_allclose(found.rate, [2 / 3, 0, 1 / 2, 3 / 6])


def test_evidence_without_labels_has_no_rate_and_weights_count():
    found = uncertainty.evidence({"a": ["x", "x", "y"]}, {"a": ["x", "y"]}, keys=["a"], sample_weight=[0.5, 2, 1])
    assert found.rate is None
    assert found.evidence.tolist() == [2.5, 1]


def test_evidence_says_which_key_is_wrong():
    rows = {"a": ["x", "y"], "b": [1.0, 2.0]}
    with pytest.raises(ValueError, match="no key column 'c'"):
        uncertainty.evidence(rows, rows, keys=["c"])
    with pytest.raises(ValueError, match="key 'a' was text in the training rows and is numbers here"):
        uncertainty.evidence(rows, {"a": [1.0, 2.0]}, keys=["a"])
    with pytest.raises(ValueError, match="keys is 'a', must be a list"):
        uncertainty.evidence(rows, rows, keys="a")
    with pytest.raises(ValueError, match=r"y\[1\] is 2"):
        uncertainty.evidence(rows, rows, keys=["a"], y=[0, 2])


def test_key_evidence_is_on_one_scale_whatever_the_number_of_rows():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"color": COLOR, "size": SIZE})
    ask = pandas.DataFrame({"color": ASK_COLOR, "size": ASK_SIZE})
    once = uncertainty.KeyEvidence(["color", "size"]).fit(rows)
    tenfold = clone(once).fit(pandas.concat([rows] * 10))
    np.testing.assert_allclose(once.uncertainty(ask), tenfold.uncertainty(ask))
    million = [1e6 * count / 6 for count in (3, 1, 2, 6)]
    expected = [-math.log1p(million[0]), -math.log1p(million[1]), 1 - million[2] / (1 + million[2])]
    np.testing.assert_allclose(once.uncertainty(ask)[:3], expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(once)).uncertainty(ask), once.uncertainty(ask))


X, Y = make_classification(300, n_features=6, flip_y=0.2, random_state=3)
X_TRAIN, Y_TRAIN, X_ASK = X[:200], Y[:200], X[200:]


def rows_in_leaf_by_hand(trees, views_train, views_ask):
    """Counts training rows that fall into the same leaf, tree by tree."""
    counts = []
    for tree, train, ask in zip(trees, views_train, views_ask, strict=True):
        counts.append((tree.apply(ask)[:, None] == tree.apply(train)[None, :]).sum(axis=1))
    return np.array(counts, dtype=float)


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(15, random_state=0),
        GradientBoostingClassifier(n_estimators=12, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=4), 8, bootstrap=False, max_features=0.5, random_state=0),
        DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_leaf_evidence_is_the_mean_of_training_rows_in_the_same_leaf(model):
    model.fit(X_TRAIN, Y_TRAIN)
    trees = [model] if isinstance(model, DecisionTreeClassifier) else np.ravel(model.estimators_)
    columns = getattr(model, "estimators_features_", [slice(None)] * len(trees))
    ask, train = ([np.float32(rows[:, part]) for part in columns] for rows in (X_ASK, X_TRAIN))
    counts = rows_in_leaf_by_hand(trees, train, ask)
    means = {
        "arithmetic": counts.mean(axis=0),
        "geometric": np.exp(np.log(counts).mean(axis=0)),
        "harmonic": 1 / (1 / counts).mean(axis=0),
    }
    for average, mean in means.items():
        found = uncertainty.leaf_evidence(model, X_ASK, average=average)
        np.testing.assert_allclose(found.evidence, mean)
        np.testing.assert_allclose(found.uncertainty, -np.log(mean), atol=1e-12)


def test_leaf_evidence_refuses_models_without_leaves():
    for model in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=2)):
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not tell its leaves"):
            uncertainty.leaf_evidence(model.fit(X_TRAIN, Y_TRAIN), X_ASK)
    with pytest.raises(ValueError, match="average is 'median'"):
        uncertainty.leaf_evidence(ExtraTreesClassifier(2).fit(X_TRAIN, Y_TRAIN), X_ASK, average="median")


def test_neighbour_evidence_is_the_distance_to_the_kth_scaled_row():
    scale = X_TRAIN.std(axis=0)
    distances = np.sqrt((((X_ASK[:, None, :] - X_TRAIN[None, :, :]) / scale) ** 2).sum(axis=2))
    found = uncertainty.neighbour_evidence(X_TRAIN, X_ASK, k=4)
    np.testing.assert_allclose(found.distance, np.sort(distances, axis=1)[:, 3])
    np.testing.assert_array_equal(found.uncertainty, found.distance)


def test_measures_that_need_no_scikit_learn_work_without_it():
    code = """
import sys
sys.modules["sklearn"] = sys.modules["pandas"] = None  # any import of them fails
from limen import uncertainty
assert uncertainty.beta_entropy(1, 1) == 0
assert uncertainty.ensemble([[0.0], [1.0]]).variance[0] == 0.25
found = uncertainty.KeyEvidence(["a"]).fit({"a": ["x", "x", "y"]}).uncertainty({"a": ["x", "y"]})
print(found[0] < found[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


def test_a_second_opinion_is_the_signed_difference_of_logits():
    p, q = np.array([0.2, 0.5, 0.9]), np.array([0.2, 0.8, 0.5])
    expected = np.log(q / (1 - q)) - np.log(p / (1 - p))
    np.testing.assert_allclose(uncertainty.second_opinion(p, q), expected)
    np.testing.assert_allclose(uncertainty.second_opinion(q, p), -expected)
    assert np.isfinite(uncertainty.second_opinion([0, 1], [1, 0])).all()
    with pytest.raises(ValueError, match=r"^second_opinion: q\[1\] is 1.5, must be between 0 and 1$"):
        uncertainty.second_opinion([0.5, 0.5], [0.5, 1.5])
    with pytest.raises(ValueError, match=r"p\[0\] is nan"):
        uncertainty.second_opinion([np.nan], [0.5])
    with pytest.raises(ValueError, match="one length"):
        uncertainty.second_opinion([0.5], [0.5, 0.5])
