# SPDX-License-Identifier: MIT
"""Boundaries behind other ONNX graphs, and BoundaryClassifier by skl2onnx."""

import json

import limen
import limen.onnx
import numpy as np
import pytest
from boundaries import make_boundary, random_boundary

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

pytestmark = [
    pytest.mark.engines,
    # skl2onnx and onnx call what newer versions of their own dependencies deprecate.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]


NAMES = [
    "forest, folds kept", "forest, refitted", "extra trees, one hold-out", "tree", "forest behind a search", "second opinion",
    "second opinion behind a scaler", "second opinion behind a search", "second opinion, prefit", "column", "column, margins",
    "margins of the first class", "one threshold on what tells nothing to ONNX", "frozen",
]  # fmt: skip


def make_rows(rows=2000, seed=0):
    from sklearn.datasets import make_classification

    X, y = make_classification(rows, n_features=8, n_informative=5, weights=[0.7], flip_y=0.15, random_state=seed)
    X = X.astype(np.float32)
    random = np.random.default_rng(seed)
    new = X[random.integers(0, rows, 4000)] + random.normal(size=(4000, 8)) * 0.2
    return X, y, new.astype(np.float32)


def session_of(model):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_a_model_is_the_bytes_of_the_boundary():
    boundary = make_boundary([0.5], [0.8, None])
    model = limen.onnx.to_model(boundary, dtype=np.float32, opset=17)
    assert isinstance(model, onnx.ModelProto)
    assert model.SerializeToString() == boundary.to_onnx(dtype=np.float32, opset=17)
    assert {node.domain for node in model.graph.node} == {""}
    assert [part.name for part in model.graph.output] == ["decision", "level"]
    assert (model.producer_name, model.producer_version) == ("limen", limen.__version__)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_merged_behind_a_graph_it_decides_by_that_graphs_outputs(shape):
    """A model of the user's own, p = sigmoid(x) and spread = p (1 - p), and the rule behind it by onnx.compose."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    dims = ["N"] if shape == (-1,) else ["N", 1]
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["p"]),
        helper.make_node("Sub", ["one", "p"], ["q"]),
        helper.make_node("Mul", ["p", "q"], ["spread"]),
    ]
    outputs = [value(name, TensorProto.FLOAT, dims) for name in ("p", "spread")]
    graph = helper.make_graph(nodes, "model", [value("x", TensorProto.FLOAT, dims)], outputs, [one])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    random = np.random.default_rng(0)
    boundary = random_boundary(random, np.round(random.random(60), 2), 12)
    rule = limen.onnx.to_model(boundary, dtype=np.float32, opset=17, ir_version=model.ir_version)
    merged = onnx.compose.merge_models(model, rule, io_map=[("p", "score"), ("spread", "uncertainty")])
    merged = onnx.compose.add_prefix(merged, "all_")
    onnx.checker.check_model(merged)
    x = random.normal(size=5000).astype(np.float32).reshape(shape)
    decision, level = session_of(merged).run(["all_decision", "all_level"], {"all_x": x})
    p, spread = session_of(model).run(["p", "spread"], {"x": x})
    assert (decision.ravel() == boundary.decide(p.ravel(), spread.ravel())).all()
    assert (level.ravel() == boundary.level(spread.ravel())).all()
    assert decision.shape == x.shape
    assert set(np.unique(decision)) == {0, 1}


def estimators():
    from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    forest = RandomForestClassifier(12, random_state=0)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    levels = {"method": "exact", "levels": 3}
    X, y, _ = make_rows()
    return {
        "forest, folds kept": (forest, {**levels, "cv": 3}),
        "forest, refitted": (forest, {**levels, "refit": True}),
        "extra trees, one hold-out": (ExtraTreesClassifier(12, min_samples_leaf=3, random_state=0), {**levels, "cv": 0.3}),
        "tree": (DecisionTreeClassifier(min_samples_leaf=20, random_state=0), levels),
        "forest behind a search": (GridSearchCV(forest, {"max_depth": [6]}, cv=2), {**levels, "cv": 0.3}),
        "second opinion": (LogisticRegression(), {**levels, "cv": 2}),
        "second opinion behind a scaler": (scaled, {**levels, "cv": 0.3}),
        "second opinion behind a search": (GridSearchCV(scaled, {"logisticregression__C": [1.0]}, cv=2), {**levels, "cv": 0.3}),
        "second opinion, prefit": (LogisticRegression().fit(X, y), {**levels, "cv": "prefit"}),
        "column": (LogisticRegression(), {**levels, "uncertainty": 2}),
        "column, margins": (LinearSVC(random_state=0), {**levels, "uncertainty": 1}),
        "margins of the first class": (LinearSVC(random_state=0), {"method": "st", "pos_label": 0, "cv": 0.3}),
        "one threshold on what tells nothing to ONNX": (GradientBoostingClassifier(n_estimators=20, random_state=0), {"method": "st"}),
        "frozen": (FrozenEstimator(LogisticRegression().fit(X, y)), {"method": "st"}),
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_skl2onnx_predicts_as_the_classifier(name):
    estimator, options = estimators()[name]
    X, y, new = make_rows()
    if name in ("tree", "column"):
        y = np.where(y == 1, "yes", "no")
    classifier = limen.BoundaryClassifier(estimator, min_precision=0.8, random_state=0, **options).fit(X, y)
    limen.onnx.register_converters()
    model = skl2onnx.to_onnx(classifier, new[:1])
    label, decision, level, score = session_of(model).run(["label", "decision", "level", "score"], {"X": new})
    wanted = classifier.predict(new)
    # Single precision: a score moves by 1e-6, and only where it crosses a threshold a row may be decided otherwise.
    assert np.abs(score - classifier.predict_score(new)).max() < 2e-6
    assert (label != wanted).sum() <= 2
    assert ((decision == 1) == (label == classifier.classes_[classifier._positive_index])).all()
    assert 0 < decision.sum() < len(new)
    uncertainty = classifier.predict_uncertainty(new)
    assert (level != classifier.boundary_.level(uncertainty)).sum() <= 4
    if options["method"] == "exact":
        assert len(np.unique(level)) == classifier.boundary_.levels > 1
    # Rows do not depend on each other.
    again = session_of(model).run(["decision"], {"X": new[:7]})[0]
    assert (again == decision[:7]).all()


def test_all_estimators_are_converted():
    assert list(estimators()) == NAMES


def test_what_cannot_be_converted_is_refused_by_name():
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    X, y, new = make_rows()
    limen.onnx.register_converters()
    options = {"min_precision": 0.8, "method": "exact", "levels": 3, "cv": 0.3, "random_state": 0}
    boosted = limen.BoundaryClassifier(GradientBoostingClassifier(n_estimators=10, random_state=0), **options).fit(X, y)
    with pytest.raises(
        NotImplementedError, match="an uncertainty by small-leaf-contribution cannot be written as ONNX"
    ):
        skl2onnx.to_onnx(boosted, new[:1])
    asked = limen.BoundaryClassifier(
        LogisticRegression(), uncertainty=lambda estimator, X: np.abs(X[:, 0]), **options
    ).fit(X, y)
    with pytest.raises(NotImplementedError, match="an uncertainty by callable"):
        skl2onnx.to_onnx(asked, new[:1])
    none = limen.BoundaryClassifier(LogisticRegression(), min_precision=1, on_infeasible="none", random_state=0)
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    with pytest.warns(UserWarning):
        none.fit(np.zeros_like(X), noise)
    with pytest.raises(NotImplementedError, match="no boundary reached the goal"):
        skl2onnx.to_onnx(none, new[:1])


def test_the_classifiers_boundary_is_exported_as_it_is():
    from sklearn.ensemble import RandomForestClassifier

    X, y, _ = make_rows()
    classifier = limen.BoundaryClassifier(RandomForestClassifier(10, random_state=0), min_precision=0.8, random_state=0)
    boundary = classifier.fit(X, y).boundary_
    assert json.loads(boundary.to_json())["format"] == "limen-boundary"
    assert "static inline int flag(double score, double uncertainty)" in boundary.to_c(name="flag")
