# SPDX-License-Identifier: MIT
import copy
import datetime
import json
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn")
from limen import _inputs, uncertainty  # noqa: E402
from rows import make_shops  # noqa: E402
from scipy.stats import beta, spearmanr  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402


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


TRAIN, DATA, TRUE_COUNT = make_shops(0)
LAW = uncertainty.Evidence().fit(TRAIN, DATA, "label", "score")


def features(table):
    return {name: values for name, values in table.items() if name not in ("score", "label", "chance")}


def test_evidence_law_recovers_the_true_counts():
    assert not LAW.is_silent_
    assert LAW.terms_[0].columns == ("shop",)
    assert sum(term.weight for term in LAW.terms_) == pytest.approx(1)
    found = LAW.evidence(DATA)
    assert spearmanr(found, TRUE_COUNT).statistic > 0.9
    np.testing.assert_allclose(LAW.uncertainty(DATA), -np.log(found), atol=1e-12)
    assert (LAW.looked_at_, LAW.rising_) == (["shop", "shade", "age", "plan"], ["number"])
    # The mean is worth more than the score alone, recalibrated: a law without terms, on rows that neither saw.
    train, fresh, _ = make_shops(0, rows=60_000)
    assert train == TRAIN
    rows = {name: values[30_000:] for name, values in fresh.items()}
    label = np.array(rows["label"])
    silent = uncertainty.Evidence(least_z=1e9).fit(TRAIN, DATA, "label", "score")
    p, alone = LAW.probability(rows, "score"), silent.probability(rows, rows["score"])
    assert silent.is_silent_
    assert np.log(np.where(label, p, 1 - p)).mean() > np.log(np.where(label, alone, 1 - alone)).mean()


def test_evidence_law_is_silent_on_noise_and_says_so():
    law = uncertainty.Evidence().fit(TRAIN, DATA, DATA["chance"], DATA["score"])
    assert law.is_silent_
    assert law.status_ in ("nothing_found", "not_confirmed")
    assert law.why_.startswith("Silent: ")
    assert (law.terms_, law.columns_, law.crossing_) == ([], [], None)
    for ask in (law.evidence, law.uncertainty):
        with pytest.raises(uncertainty.SilentLawError, match="^Evidence.*the law is silent. Silent: ") as caught:
            ask(DATA)
        assert caught.value.why == law.why_
        assert isinstance(caught.value, ValueError)
        assert pickle.loads(pickle.dumps(caught.value)).why == law.why_
    p = law.probability(DATA, DATA["score"])
    assert len(p) == len(DATA["score"])
    assert p.mean() == pytest.approx(np.mean(DATA["chance"]), abs=0.005)
    with pytest.raises(ValueError, match="score has 1 rows, must have 30000"):
        law.probability(DATA, [0.5])
    assert repr(law) == f"<limen.uncertainty.Evidence: {law.why_}>"
    assert uncertainty.Evidence.from_json(law.to_json()).why_ == law.why_


def as_array(columns):
    return np.array([np.array(values, dtype=object) for values in columns.values()]).T


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow", "array", "list"])
def test_evidence_law_takes_any_table(kind):
    import pandas
    import polars
    import pyarrow

    make = {
        "dict": dict,
        "pandas": pandas.DataFrame,
        "polars": polars.DataFrame,
        "arrow": pyarrow.table,
        "array": as_array,
        "list": lambda columns: as_array(columns).tolist(),
    }[kind]
    train, rows = make(features(TRAIN)), make(features(DATA))
    law = uncertainty.Evidence().fit(train, rows, np.array(DATA["label"]) == 1, np.array(DATA["score"]))
    np.testing.assert_array_equal(law.uncertainty(rows), LAW.uncertainty(DATA))
    np.testing.assert_array_equal(law.probability(rows, DATA["score"]), LAW.probability(DATA, "score"))
    if kind in ("array", "list"):
        assert [term.columns for term in law.terms_] == [("x1",)] == [("x1",) for _ in LAW.terms_]
        with pytest.raises(ValueError, match="X has 2 columns, was fitted on 5"):
            law.evidence(np.zeros((3, 2)))
    else:
        assert law.terms_ == LAW.terms_
        np.testing.assert_array_equal(law.evidence(make({"shop": ["s1"]})), LAW.evidence({"shop": ["s1"]}))


def test_evidence_law_never_counts_by_the_label_or_the_score():
    import pandas
    import polars

    # The label in the training rows too, under a name of its own: at the labelled rows it would tell everything.
    train = TRAIN | {"late": [0, 1] * (len(TRAIN["shop"]) // 2) + [0] * (len(TRAIN["shop"]) % 2)}
    train |= {"p": [0.5, 0.25] * (len(TRAIN["shop"]) // 2) + [0.5] * (len(TRAIN["shop"]) % 2)}
    train |= {"uncertainty": TRAIN["age"], "evidence": TRAIN["age"]}
    rows = {"p" if name == "score" else "late" if name == "label" else name: DATA[name] for name in DATA}
    rows |= {"uncertainty": DATA["age"], "evidence": DATA["age"]}
    seen = ["shop", "shade", "age", "plan"]
    for make in (dict, pandas.DataFrame, polars.DataFrame):
        train_table, table = make(train), make(rows)
        assert uncertainty.Evidence().fit(train_table, table, "late", "p").looked_at_ == seen
        if make is not dict:
            assert uncertainty.Evidence().fit(train_table, table, table["late"], table["p"]).looked_at_ == seen
    law = uncertainty.Evidence(drop=["shade"]).fit(train, rows, rows["late"], "p")
    assert law.looked_at_ == ["shop", "age", "plan", "late"]  # a bare list has no name


def test_evidence_law_takes_numbers_that_are_names():
    import pandas

    def numbered(table):
        shop = [int(name[1:]) * 2**40 + 2**60 for name in table["shop"]]
        return features(table) | {"shop": shop}

    train, rows = numbered(TRAIN), numbered(DATA)
    law = uncertainty.Evidence(categorical=["shop"]).fit(train, rows, DATA["label"], DATA["score"])
    np.testing.assert_array_equal(law.uncertainty(rows), LAW.uncertainty(DATA))
    frames = [pandas.DataFrame(table).astype({"shop": "category"}) for table in (train, rows)]
    law = uncertainty.Evidence().fit(*frames, DATA["label"], DATA["score"])
    np.testing.assert_array_equal(law.uncertainty(frames[1]), LAW.uncertainty(DATA))
    # As numbers they are cut into 32 bins of many shops each.
    binned = uncertainty.Evidence().fit(train, rows, DATA["label"], DATA["score"])
    assert binned.is_silent_ or spearmanr(binned.evidence(rows), TRUE_COUNT).statistic < 0.5


def test_evidence_law_takes_text_in_one_table_for_text_in_all():
    def as_text(table):
        return table | {"shop": [name[1:] for name in table["shop"]]}

    def as_number(table):
        return table | {"shop": [float(name[1:]) for name in table["shop"]]}

    for train, rows in ((as_text(TRAIN), as_number(DATA)), (as_number(TRAIN), as_text(DATA))):
        law = uncertainty.Evidence().fit(train, rows, "label", "score")
        np.testing.assert_array_equal(law.uncertainty(rows), LAW.uncertainty(DATA))
        np.testing.assert_array_equal(law.uncertainty(as_number(DATA)), LAW.uncertainty(DATA))


def test_evidence_law_takes_missing_values_infinities_and_columns_without_values():
    size = len(TRAIN["shop"])
    train = TRAIN | {"hole": [None] * size, "many": [float("inf"), 1.0, None] * (size // 3) + [2.0] * (size % 3)}
    rows = DATA | {"hole": np.arange(30_000.0)[::-1], "many": [1.0, -float("inf"), float("nan")] * 10_000}
    law = uncertainty.Evidence().fit(train, rows, "label", "score")
    assert law.looked_at_ == ["shop", "shade", "age", "plan", "hole", "many"]
    asked = {"shop": [None, float("nan"), "nowhere", "s7"]}
    assert law.evidence(asked)[:3].tolist() == [1, 1, 1]
    assert law.evidence({"shop": []}).tolist() == []
    assert LAW.evidence({"shop": ["s7"]})[0] == law.evidence(asked)[3]


DATES = {
    "numpy": lambda pandas, polars, pyarrow, times: np.array(times, "M8[us]"),
    "objects": lambda pandas, polars, pyarrow, times: times,
    "pandas": lambda pandas, polars, pyarrow, times: pandas.Series(times),
    "pandas zone": lambda pandas, polars, pyarrow, times: (
        pandas.Series(times).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    ),
    "pandas arrow": lambda pandas, polars, pyarrow, times: pandas.Series(
        times, dtype=pandas.ArrowDtype(pyarrow.timestamp("us"))
    ),
    "polars": lambda pandas, polars, pyarrow, times: polars.Series(times),
    "arrow": lambda pandas, polars, pyarrow, times: pyarrow.chunked_array([times]),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_the_texts_that_the_program_reads(kind):
    import pandas
    import polars
    import pyarrow

    times = [datetime.datetime(2020, 1, 2, 3, 4, 5, 600_000), None, datetime.datetime(1969, 12, 31)]
    texts, codes = _inputs.table_column(DATES[kind](pandas, polars, pyarrow, times), "when")
    assert [texts[at] if at >= 0 else None for at in codes] == ["2020-01-02 03:04:05", None, "1969-12-31 00:00:00"]
    days = [datetime.date(2020, 1, 2), None]
    if kind == "numpy":
        days = np.array(days, "M8[D]")
    elif kind in ("polars", "arrow"):
        days = polars.Series(days) if kind == "polars" else pyarrow.array(days)
    texts, codes = _inputs.table_column(days, "day")
    assert (texts, codes.tolist()) == (["2020-01-02"], [0, -1])
    found = uncertainty.evidence({"when": ["2020-01-02 03:04:05", "x"]}, {"when": times}, keys=["when"])
    assert found.evidence.tolist() == [1, 2, 2]


# The missing value was taken for the last text of the dictionary.
def test_missing_values_of_an_arrow_dictionary_are_missing():
    pyarrow = pytest.importorskip("pyarrow")
    for make in (pyarrow.array, lambda values: pyarrow.chunked_array([values])):
        column = make(["a", "b", None])
        texts, codes = _inputs.key_column(column.dictionary_encode(), "key")
        assert (texts, codes.tolist()) == (["a", "b"], [0, 1, -1])


def test_evidence_law_does_not_depend_on_threads_nor_on_the_order_of_training_rows():
    wanted = uncertainty.Evidence(num_threads=1).fit(TRAIN, DATA, "label", "score")
    assert uncertainty.Evidence(num_threads=3).fit(TRAIN, DATA, "label", "score").to_json() == wanted.to_json()
    order = np.random.default_rng(0).permutation(len(TRAIN["shop"]))
    shuffled = {name: [values[at] for at in order] for name, values in TRAIN.items() if name != "number"}
    law = uncertainty.Evidence().fit(shuffled, DATA, "label", "score")
    np.testing.assert_array_equal(law.uncertainty(DATA), wanted.uncertainty(DATA))
    assert law.why_ == wanted.why_


def test_evidence_law_is_kept_by_json_pickle_and_copy():
    text = LAW.to_json()
    assert json.loads(text)["format"] == "limen-evidence"
    for again in (
        uncertainty.Evidence.from_json(text),
        pickle.loads(pickle.dumps(LAW)),
        copy.copy(LAW),
        copy.deepcopy(LAW),
    ):
        assert again.to_json() == text
        assert (again.terms_, again.why_, again.columns_) == (LAW.terms_, LAW.why_, LAW.columns_)
        np.testing.assert_array_equal(again.evidence(DATA), LAW.evidence(DATA))
    assert pickle.loads(pickle.dumps(LAW)).looked_at_ == LAW.looked_at_
    # Only the columns of its terms are in it.
    assert "age" not in text
    with pytest.raises(ValueError, match='is damaged at "texts"'):
        uncertainty.Evidence.from_json(text.replace('"texts"', '"text"'))
    with pytest.raises(ValueError, match="is no law of evidence"):
        uncertainty.Evidence.from_json("{}")


def test_evidence_law_follows_scikit_learn():
    law = uncertainty.Evidence(cap=50, drop=["age"])
    assert repr(law) == "Evidence(drop=['age'], cap=50)"
    assert repr(LAW) == f"<limen.uncertainty.Evidence: {LAW.why_.removeprefix('Evidence: ')}>"
    assert clone(law).get_params() == law.get_params()
    assert law.set_params(cap=9).cap == 9
    with pytest.raises(ValueError, match="Invalid parameter 'cab' for Evidence"):
        law.set_params(cab=9)
    check_is_fitted(LAW)
    for ask in (law.evidence, law.uncertainty, lambda rows: law.probability(rows, "score")):
        with pytest.raises(NotFittedError, match="This Evidence is not fitted yet"):
            ask(DATA)
    with pytest.raises(TypeError):
        uncertainty.Evidence(["age"])
    # cap: 9 training rows count, more add nothing.
    assert law.fit(TRAIN, DATA, "label", "score").evidence(DATA).max() <= 10 * (1 + 1e-12)


def test_evidence_law_says_what_is_wrong():
    import pandas

    def refused(message, *, parameters=None, **given):
        arguments = {"X_train": TRAIN, "X": DATA, "y": "label", "score": "score"} | given
        with pytest.raises((ValueError, TypeError)) as caught:
            uncertainty.Evidence(**(parameters or {})).fit(**arguments)
        assert message in str(caught.value)

    refused("X has no column 'lable'", y="lable")
    refused("y[0] is 2, must be 0 or 1", y=[2] + DATA["label"][1:])
    refused("label has 3 rows, must have 30000", y=[0, 1, 0])
    refused("score has 2 rows, must have 30000", score=[0.1, 0.2])
    refused("score[0] is 1.5, must be from 0 to 1", score=[1.5] + DATA["score"][1:])
    refused("score[1] is missing", score=[0.5, None] + DATA["score"][2:])
    refused("score has shape (30000, 2), must be one-dimensional", score=np.zeros((30_000, 2)))
    refused("no column in common", X_train={"a": ["x", "y"]})
    refused("training has no rows", X_train={name: values[:0] for name, values in TRAIN.items()})
    refused('key "shade" has 1 rows, "number" has 2', X_train={"number": [2, 1], "shade": ["a"]})
    refused("X has 3 columns, X_train has 2", X_train=np.zeros((5, 2)), X=np.zeros((30_000, 3)), y=DATA["label"])
    refused("X_train has shape (5,), must be a table of rows and columns", X_train=np.zeros(5))
    twice = pandas.DataFrame([["a", "b"]], columns=["shop", "shop"])
    refused("X_train has several columns 'shop', must have one", X_train=twice)
    refused("column 'shop'[1] is {}, must be a text", X_train=TRAIN | {"shop": ["a", {}] + TRAIN["shop"][2:]})
    refused('drop names "shap", which is not a column', parameters={"drop": ["shap"]})
    refused("drop is 'shop', must be a list of columns", parameters={"drop": "shop"})
    refused("categorical: 'number2' is not one of the columns", parameters={"categorical": ["number2"]})
    refused("level is 2, must be above 0 and below 1", parameters={"level": 2})
    refused("most_terms is 0, must be from 1 to 16", parameters={"most_terms": 0})
    refused("num_bins is 1, must be from 2 to 65536", parameters={"num_bins": 1})
    refused("cap is 1.5, must be a whole number", parameters={"cap": 1.5})
    refused("random_state is -1, must be at least 0", parameters={"random_state": -1})
    with pytest.raises(ValueError, match="X has no column 'shop', which the law counts by"):
        LAW.evidence({"shade": ["red"]})
    with pytest.raises(ValueError, match="score has 1 rows, must have 2"):
        LAW.probability({"shop": ["s1", "s2"]}, [0.5])


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
