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
from scipy.stats import beta, spearmanr  # noqa: E402
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
    with pytest.raises(ValueError, match="^leaf_evidence: LogisticRegression does not tell its leaves"):
        uncertainty.leaf_evidence(LogisticRegression().fit(X_TRAIN, Y_TRAIN), X_ASK)
    bagged = BaggingClassifier(LogisticRegression(), 2).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(ValueError, match="^leaf_evidence: a member is a LogisticRegression, must be a decision tree$"):
        uncertainty.leaf_evidence(bagged, X_ASK)
    with pytest.raises(ValueError, match="average is 'median'"):
        uncertainty.leaf_evidence(ExtraTreesClassifier(2).fit(X_TRAIN, Y_TRAIN), X_ASK, average="median")
    # As a version of scikit-learn would be whose private trees keep no counts.
    model = HistGradientBoostingClassifier(max_iter=2).fit(X_TRAIN, Y_TRAIN)
    for (tree,) in model._predictors:
        tree.nodes = tree.nodes[[name for name in tree.nodes.dtype.names if name != "count"]]
    with pytest.raises(
        ValueError, match="HistGradientBoostingClassifier of this version of scikit-learn does not tell"
    ):
        uncertainty.leaf_evidence(model, X_ASK)


# Twelve training rows, one feature. Labels: all of the 0s negative, all of the 2s positive, the 1s mixed. A first stump can only part
# {0} from {1, 2} or {0, 1} from {2}; with both trees of two leaves, counts are 5 and 7 or 8 and 4.
ONE = np.array([0] * 5 + [1] * 3 + [2] * 4, dtype=float)[:, None]
ONE_LABEL = np.array([0] * 5 + [0, 1, 1] + [1] * 4)


def test_leaf_evidence_of_two_histogram_stumps_counted_by_hand():
    model = HistGradientBoostingClassifier(
        max_iter=2, max_leaf_nodes=2, min_samples_leaf=1, learning_rate=1, early_stopping=False
    )
    # Of the two splits {0} | {1, 2} has the purer sides: 5 negatives, and 6 positives with 1 negative. Then the 0s are settled, the 1s
    # are taken for too positive, and the second tree parts {0, 1} from {2}; the margins below say that it was so.
    model.fit(ONE, ONE_LABEL)
    stages = np.array(list(model.staged_decision_function([[0], [1], [2]]))).reshape(2, 3)
    assert stages[0][0] < stages[0][1] == stages[0][2]
    second = stages[1] - stages[0]
    assert second[0] == pytest.approx(second[1])
    assert second[1] < second[2] - 0.1
    found = uncertainty.leaf_evidence(model, [[0], [1], [2]])
    np.testing.assert_array_equal(found.evidence, [(5 + 8) / 2, (7 + 8) / 2, (7 + 4) / 2])
    np.testing.assert_allclose(found.uncertainty, -np.log(found.evidence))
    harmonic = uncertainty.leaf_evidence(model, [[2]], average="harmonic").evidence
    np.testing.assert_allclose(harmonic, 2 / (1 / 7 + 1 / 4))


def rows_of_equal_steps(steps_train, steps_ask, weight=None):
    """For each row asked and each iteration, training rows (or their weights) to which it added the same."""
    weight = np.ones_like(steps_train) if weight is None else weight
    same = np.abs(steps_ask[:, None, :] - steps_train[None, :, :]) < 1e-5
    return (same * weight[None, :, :]).sum(axis=1)


def with_missing_values(X):
    X = X.copy()
    X[::7, 0] = np.nan
    return X


def test_leaf_evidence_of_histogram_boosting_is_told_by_equal_steps():
    X_train, X_ask = with_missing_values(X_TRAIN), with_missing_values(X_ASK)
    X_train[:, 1], X_ask[:, 1] = np.digitize(X_train[:, 1], [-1, 0, 1]), np.digitize(X_ask[:, 1], [-1, 0, 1])
    model = HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=5, min_samples_leaf=10, categorical_features=[1], early_stopping=False
    ).fit(X_train, Y_TRAIN)
    before = model.predict_proba(X_ask)
    train, ask = (
        np.diff([np.ravel(m).copy() for m in model.staged_decision_function(rows)], axis=0).T
        for rows in (X_train, X_ask)
    )
    counts = rows_of_equal_steps(train, ask)  # of iterations 2 to 6; the first is told apart by the first margin
    first_train, first_ask = (next(iter(model.staged_decision_function(rows))) for rows in (X_train, X_ask))
    counts = np.column_stack([rows_of_equal_steps(first_train[:, None], first_ask[:, None]), counts])
    assert len(np.unique(counts)) > 5
    np.testing.assert_allclose(uncertainty.leaf_evidence(model, X_ask).evidence, counts.mean(axis=1))
    np.testing.assert_array_equal(model.predict_proba(X_ask), before)


def margins_of(model, X, count):
    """Margins after 1, 2, ... count iterations, by each library's own prediction."""
    library = type(model).__module__.split(".")[0]
    if library == "lightgbm":
        return [model.predict(X, raw_score=True, num_iteration=at) for at in range(1, count + 1)]
    if library == "xgboost":
        return [model.predict(X, output_margin=True, iteration_range=(0, at)) for at in range(1, count + 1)]
    if library == "catboost":
        return list(model.staged_predict(X, prediction_type="RawFormulaVal"))
    return [np.ravel(margin).copy() for margin in model.staged_decision_function(X)]


def boosters():
    yield "sklearn.ensemble", lambda library: library.GradientBoostingClassifier(n_estimators=8, max_depth=2)
    yield "lightgbm", lambda library: library.LGBMClassifier(n_estimators=8, num_leaves=5, verbose=-1, n_jobs=1)
    yield "xgboost", lambda library: library.XGBClassifier(n_estimators=8, max_depth=2, n_jobs=1, reg_lambda=0)
    yield (
        "catboost",
        lambda library: library.CatBoostClassifier(
            iterations=8, depth=2, verbose=False, allow_writing_files=False, thread_count=1
        ),
    )


EACH_BOOSTER = pytest.mark.parametrize(("name", "make"), list(boosters()), ids=[name for name, _ in boosters()])


@EACH_BOOSTER
@pytest.mark.filterwarnings("ignore")
def test_leaf_evidence_of_boosting_is_told_by_equal_steps(name, make):
    model = make(pytest.importorskip(name)).fit(X_TRAIN, Y_TRAIN)
    train, ask = (np.array(margins_of(model, rows, 8), dtype=np.float64).T for rows in (X_TRAIN, X_ASK))
    weight = None
    if name == "xgboost":  # rows count for p (1 - p), with p as it was before the iteration
        p = 1 / (1 + np.exp(-train[:, :-1]))
        weight = np.column_stack([np.full(len(p), Y_TRAIN.mean() * (1 - Y_TRAIN.mean())), p * (1 - p)])
    steps_train, steps_ask = (np.diff(margins, axis=1, prepend=0) for margins in (train, ask))
    expected = rows_of_equal_steps(steps_train, steps_ask, weight)
    assert len(np.unique(expected.round(3))) > 5
    found = uncertainty.leaf_evidence(model, X_ASK)
    np.testing.assert_allclose(found.evidence, np.maximum(expected, 0.5).mean(axis=1), rtol=1e-4)
    np.testing.assert_allclose(found.uncertainty, -np.log(found.evidence))


@EACH_BOOSTER
@pytest.mark.filterwarnings("ignore")
def test_late_contribution_is_the_difference_of_margins(name, make):
    model = make(pytest.importorskip(name)).fit(X_TRAIN, Y_TRAIN)
    margins = margins_of(model, X_ASK, 8)
    for share, first in ((0.5, 4), (0.25, 6), (0.01, 7)):
        found = uncertainty.late_contribution(model, X_ASK, share=share)
        np.testing.assert_allclose(found, margins[-1] - margins[first - 1], atol=1e-6)
    np.testing.assert_array_equal(
        uncertainty.late_contribution(model, X_ASK), uncertainty.late_contribution(model, X_ASK, share=0.5)
    )
    np.testing.assert_allclose(uncertainty.late_contribution(model, X_ASK, share=1), margins[-1], atol=1e-6)
    with pytest.raises(ValueError, match="share is 0, must be above 0"):
        uncertainty.late_contribution(model, X_ASK, share=0)
    three = make(pytest.importorskip(name)).fit(X_TRAIN, np.arange(200) % 3)
    with pytest.raises(ValueError, match="has 3 margins for each row, must have one"):
        uncertainty.late_contribution(three, X_ASK)


def test_late_contribution_refuses_what_is_not_boosting():
    with pytest.raises(ValueError, match="ExtraTreesClassifier is not gradient boosting of trees"):
        uncertainty.late_contribution(ExtraTreesClassifier(2).fit(X_TRAIN, Y_TRAIN), X_ASK)
    library = pytest.importorskip("xgboost")
    linear = library.XGBClassifier(booster="gblinear", n_estimators=3, n_jobs=1).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(ValueError, match="XGBClassifier is not gradient boosting of trees"):
        uncertainty.late_contribution(linear, X_ASK)
    with pytest.raises(ValueError, match="XGBClassifier does not tell its leaves"):
        uncertainty.leaf_evidence(linear, X_ASK)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
@pytest.mark.filterwarnings("ignore")
def test_native_boosters_and_sparse_rows_tell_the_same(name):
    model = make_booster(name).fit(X_TRAIN, Y_TRAIN)
    native = model.booster_ if name == "lightgbm" else model.get_booster()
    for measure in (uncertainty.late_contribution, lambda *asked: uncertainty.leaf_evidence(*asked).evidence):
        expected = measure(model, X_ASK)
        np.testing.assert_array_equal(measure(native, X_ASK), expected)
        np.testing.assert_array_equal(measure(model, pytest.importorskip("scipy.sparse").csr_matrix(X_ASK)), expected)


def make_booster(name):
    return dict(boosters())[name](pytest.importorskip(name))


def stopped_early(name):
    rows = {"eval_set": [(X_ASK, Y[200:])]}
    if name == "lightgbm":
        library = pytest.importorskip(name)
        model = library.LGBMClassifier(n_estimators=300, learning_rate=0.5, verbose=-1, n_jobs=1)
        return model.fit(X_TRAIN, Y_TRAIN, **rows, callbacks=[library.early_stopping(3, verbose=False)])
    if name == "xgboost":
        model = pytest.importorskip(name).XGBClassifier(n_estimators=300, n_jobs=1, early_stopping_rounds=3)
        return model.fit(X_TRAIN, Y_TRAIN, **rows, verbose=False)
    model = pytest.importorskip(name).CatBoostClassifier(
        iterations=300,
        learning_rate=0.5,
        early_stopping_rounds=3,
        verbose=False,
        allow_writing_files=False,
        thread_count=1,
    )
    return model.fit(X_TRAIN, Y_TRAIN, **rows)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost"])
@pytest.mark.filterwarnings("ignore")
def test_iterations_are_those_that_a_model_which_stopped_early_predicts_with(name):
    model = stopped_early(name)
    p = model.predict_proba(X_ASK)[:, 1]
    whole = uncertainty.late_contribution(model, X_ASK, share=1)
    np.testing.assert_allclose(whole, np.log(p / (1 - p)), atol=1e-4)
    assert np.isfinite(uncertainty.leaf_evidence(model, X_ASK).uncertainty).all()


# Models of two trees on one feature, as each library would show them; nothing of the library is there. Tree one: x < 1 has 30
# training rows and adds -1, the rest has 10 and adds 2. Tree two: x < 2 has 35 and adds 0.5, the rest 5 and 4.
def leaves_of(X):
    x = np.asarray(X, dtype=float)[:, 0]
    return np.column_stack([x >= 1, x >= 2]).astype(int)


def margin_of(X, trees):
    values = np.array([[-1.0, 2.0], [0.5, 4.0]])
    return sum(values[at][leaves_of(X)[:, at]] for at in range(trees))


class FakeLightGBM:
    best_iteration = 0

    def current_iteration(self):
        return 2

    def predict(self, X, raw_score=False, pred_leaf=False, num_iteration=None):
        assert raw_score != pred_leaf
        return margin_of(X, num_iteration) if raw_score else leaves_of(X)[:, :num_iteration]

    def model_to_string(self, num_iteration):
        trees = ["Tree=0\nleaf_value=-1 2\nleaf_count=30 10\n", "Tree=1\nleaf_value=0.5 4\nleaf_count=35 5\n"]
        return "tree\n\n" + "\n".join(trees[:num_iteration])


class FakeXGBoost:
    def get_booster(self):
        return self

    def save_config(self):
        return '{"learner": {"gradient_booster": {"name": "gbtree"}}}'

    def num_boosted_rounds(self):
        return 2

    def predict(self, X, output_margin, iteration_range):
        assert output_margin
        return margin_of(X, iteration_range[1]).astype(np.float32)

    def apply(self, X, iteration_range):
        return leaves_of(X).astype(np.float32) + 1  # node 0 is the root

    def get_dump(self, with_stats):
        text = "0:[f0<{}] yes=1,no=2,missing=2,gain=9,cover=40\n\t1:leaf={},cover={}\n\t2:leaf={},cover={}\n"
        return [text.format(1, -1, 30, 2, 10), text.format(2, 0.5, 35, "4e+00", 5)]


class FakeCatBoost:
    tree_count_ = 2

    def predict(self, X, prediction_type, ntree_end):
        assert prediction_type == "RawFormulaVal"
        return margin_of(X, ntree_end)

    def calc_leaf_indexes(self, X):
        return leaves_of(X).astype(np.uint32)

    def get_tree_leaf_counts(self):
        return np.array([2, 2])

    def get_leaf_weights(self):
        return np.array([30.0, 10.0, 35.0, 5.0])

    def get_leaf_values(self):
        return np.array([-1.0, 2.0, 0.5, 4.0])


@pytest.mark.parametrize(
    ("fake", "module"),
    [(FakeLightGBM, "lightgbm.basic"), (FakeXGBoost, "xgboost.sklearn"), (FakeCatBoost, "catboost.core")],
)
def test_two_trees_of_each_library_by_hand_and_without_it(fake, module):
    model = type("Model", (type("Theirs", (fake,), {"__module__": module}),), {})()
    loaded = set(sys.modules)
    found = uncertainty.leaf_evidence(model, [[0], [1], [2]])
    np.testing.assert_array_equal(found.evidence, [(30 + 35) / 2, (10 + 35) / 2, (10 + 5) / 2])
    np.testing.assert_array_equal(uncertainty.late_contribution(model, [[0], [1], [2]]), [0.5, 0.5, 4])
    # Means over the 40 training rows. Tree one: of the values (30 * -1 + 10 * 2) / 40 = -0.25, of the weights 1 / sqrt(rows)
    # (sqrt(30) + sqrt(10)) / 40. Tree two: (35 * 0.5 + 5 * 4) / 40 = 0.9375 and (sqrt(35) + sqrt(5)) / 40.
    weight = [30**-0.5, 10**-0.5, 35**-0.5, 5**-0.5]
    one, two = (30**0.5 + 10**0.5) / 40, (35**0.5 + 5**0.5) / 40
    below_1, from_1 = (-1 + 0.25) * (weight[0] - one), (2 + 0.25) * (weight[1] - one)
    below_2, from_2 = (0.5 - 0.9375) * (weight[2] - two), (4 - 0.9375) * (weight[3] - two)
    expected = [below_1 + below_2, from_1 + below_2, from_1 + from_2]
    np.testing.assert_allclose(uncertainty.small_leaf_contribution(model, [[0], [1], [2]]), expected, atol=1e-12)
    assert not {name for name in set(sys.modules) - loaded if name.split(".")[0] == module.split(".")[0]}


def contribution_by_hand(steps_train, steps_ask, rows_train, rows_ask):
    """The definition: values and weights less their means over the training rows, multiplied, added up over the iterations."""
    total = 0
    for at in range(steps_train.shape[1]):
        mean = np.average(steps_train[:, at]), np.average(rows_train[:, at] ** -0.5)
        total = total + (steps_ask[:, at] - mean[0]) * (rows_ask[:, at] ** -0.5 - mean[1])
    return total


@pytest.mark.parametrize("name", ["sklearn.ensemble", "lightgbm", "catboost", "histogram"])
@pytest.mark.filterwarnings("ignore")
def test_small_leaf_contribution_is_its_definition_by_margins_and_equal_steps(name):
    # Margins alone tell values and leaves. Those of the first iteration may have the base rate in them, which must not matter.
    model = HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=5) if name == "histogram" else make_booster(name)
    model.fit(X_TRAIN, Y_TRAIN)
    margins = [np.array(margins_of(model, rows, 8), dtype=np.float64).T for rows in (X_TRAIN, X_ASK)]
    train, ask = (np.diff(part, axis=1, prepend=0) for part in margins)
    rows_train, rows_ask = rows_of_equal_steps(train, train), rows_of_equal_steps(train, ask)
    seen = (rows_ask > 0).all(axis=1)  # empty leaves of CatBoost apart
    assert seen.mean() > 0.7
    expected = contribution_by_hand(train, ask[seen], rows_train, rows_ask[seen])
    found = uncertainty.small_leaf_contribution(model, X_ASK)
    np.testing.assert_allclose(found[seen], expected, atol=1e-6)
    assert np.abs(found).max() > 0.01


def test_small_leaf_contribution_of_xgboost_weighs_by_cover():
    model = make_booster("xgboost").fit(X_TRAIN, Y_TRAIN)
    train, ask = (np.array(margins_of(model, rows, 8), dtype=np.float64).T for rows in (X_TRAIN, X_ASK))
    before = np.column_stack([np.full(200, np.log(Y_TRAIN.mean() / (1 - Y_TRAIN.mean()))), train[:, :-1]])
    hessian = 1 / (2 + np.exp(before) + np.exp(-before))
    train, ask = (np.diff(part, axis=1, prepend=before[0, 0]) for part in (train, ask))
    covers_train, covers_ask = (rows_of_equal_steps(train, part, hessian) for part in (train, ask))
    expected = 0
    for at in range(8):
        mean = [np.average(part[:, at], weights=hessian[:, at]) for part in (train, covers_train**-0.5)]
        expected = expected + (ask[:, at] - mean[0]) * (covers_ask[:, at] ** -0.5 - mean[1])
    np.testing.assert_allclose(uncertainty.small_leaf_contribution(model, X_ASK), expected, atol=1e-4)


def test_small_leaf_contribution_of_a_tree_by_hand():
    # Leaves {0}: 5 rows, none positive; {1}: 3 rows, 2 positive; {2}: 4 rows, all positive. In the mean 6 of 12 are.
    tree = DecisionTreeClassifier().fit(ONE, ONE_LABEL)
    mean = (5**0.5 + 3**0.5 + 4**0.5) / 12
    expected = [(0 - 0.5) * (5**-0.5 - mean), (2 / 3 - 0.5) * (3**-0.5 - mean), (1 - 0.5) * (4**-0.5 - mean)]
    np.testing.assert_allclose(uncertainty.small_leaf_contribution(tree, [[0], [1], [2]]), expected, atol=1e-12)
    with pytest.raises(ValueError, match="small_leaf_contribution: the model has 3 classes, must have two"):
        uncertainty.small_leaf_contribution(DecisionTreeClassifier().fit(ONE, ONE[:, 0]), ONE)
    with pytest.raises(ValueError, match="^small_leaf_contribution: LogisticRegression does not tell its leaves"):
        uncertainty.small_leaf_contribution(LogisticRegression().fit(ONE, ONE_LABEL), ONE)


def test_small_leaf_contribution_is_not_the_score_again():
    # The spread over iterations, which it replaced, follows the distance of the score from the base rate.
    X, y = make_classification(4000, n_features=10, n_informative=5, flip_y=0.2, random_state=3)
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[:2000], y[:2000])
    score = model.predict_proba(X[2000:])[:, 1]
    stages = np.array([np.ravel(m).copy() for m in model.staged_decision_function(X[2000:])])
    spread, found = stages[30:].std(axis=0), uncertainty.small_leaf_contribution(model, X[2000:])
    assert abs(spearmanr(found, np.abs(score - 0.5))[0]) < 0.3 < spearmanr(spread, np.abs(score - 0.5))[0]
    assert abs(spearmanr(found, score)[0]) < 0.5


def test_an_empty_leaf_of_catboost_counts_for_half_a_row():
    class Empty(FakeCatBoost):
        def get_leaf_weights(self):
            return np.array([40.0, 0.0, 40.0, 0.0])

    Empty.__module__ = "catboost.core"
    found = uncertainty.leaf_evidence(Empty(), [[0], [2]], average="geometric")
    np.testing.assert_allclose(found.evidence, [40, 0.5])
    np.testing.assert_allclose(found.uncertainty, [-np.log(40), np.log(2)])


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
