# SPDX-License-Identifier: MIT
"""Boundaries and fitted classifiers as ONNX models.

``to_model`` needs the package onnx, ``register_converters`` skl2onnx; they are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from limen._boundary import Boundary

if TYPE_CHECKING:
    import onnx

__all__ = ["register_converters", "to_model"]


def to_model(boundary: Boundary, **options: Any) -> onnx.ModelProto:
    """The rule as an ``onnx.ModelProto``; the options are those of :meth:`limen.Boundary.to_onnx`."""
    import onnx

    return onnx.load_model_from_string(boundary.to_onnx(**options))


def register_converters() -> None:
    """Teaches skl2onnx :class:`limen.BoundaryClassifier`: ``skl2onnx.to_onnx(fitted, X)`` then takes one.

    The model has four outputs, a value a row: ``label``, as ``predict``, ``decision`` (1 or 0; -1 where the score or the
    uncertainty is not finite), ``level`` and ``score``. skl2onnx must know the estimator, and the uncertainty must be one of

    - a column of X (one tensor of all columns),
    - ``"leaf-evidence"`` of a decision tree, a random forest or extra trees,
    - ``"second-opinion-forest"``,
    - any at all, where the boundary is one threshold and so does not look at it.

    Others are refused with NotImplementedError. The scores of skl2onnx are in single precision, so that a row whose score or
    uncertainty lies within the rounding of a threshold or edge may be decided differently.
    """
    from skl2onnx import update_registered_converter

    from limen._classifier import BoundaryClassifier

    update_registered_converter(
        BoundaryClassifier, "LimenBoundaryClassifier", _shapes, _convert, parser=_parse, overwrite=True
    )


def _parse(scope, model, inputs, custom_parsers=None):
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs.extend(inputs)
    is_text = np.asarray(model.classes_).dtype.kind in "OSU"
    types = {
        "label": StringTensorType() if is_text else Int64TensorType(),
        "decision": Int64TensorType(),
        "level": Int64TensorType(),
        "score": DoubleTensorType(),
    }
    for name, kind in types.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _shapes(operator):
    rows = operator.inputs[0].get_first_dimension()
    for output in operator.outputs:
        output.type.shape = [rows]


class _Input(NamedTuple):
    onnx_name: str
    type: Any  #: of skl2onnx


class _Graph:
    """Adds nodes to the model that skl2onnx is making. inputs: what estimators see."""

    def __init__(self, scope, container, inputs):
        self.scope = scope
        self.container = container
        self.inputs = inputs
        self.opset = container.target_opset_any_domain("")

    def constant(self, values):
        """values: an array of numbers, or a list of texts."""
        from onnx import TensorProto, helper, numpy_helper

        name = self.scope.get_unique_variable_name("limen_constant")
        if isinstance(values, list):
            tensor = helper.make_tensor(name, TensorProto.STRING, [len(values)], [text.encode() for text in values])
        else:
            tensor = numpy_helper.from_array(np.asarray(values), name)
        self.container.initializers.append(tensor)
        return name

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or self.scope.get_unique_variable_name(f"limen_{kind}")
        name = self.scope.get_unique_operator_name(f"limen_{kind}")
        self.container.add_node(kind, list(inputs), [output], name=name, **attributes)
        return output

    def as_double(self, value):
        from onnx import TensorProto

        return self.node("Cast", value, to=TensorProto.DOUBLE)

    def embed(self, model, inputs, outputs=None):
        """Adds all nodes of a model. inputs and outputs: its names to ours. Returns our names of its outputs, in order."""
        from onnx import helper

        names = {**inputs, **(outputs or {}), "": ""}

        def ours(name):
            if name not in names:
                names[name] = self.scope.get_unique_variable_name(f"limen_{name}")
            return names[name]

        versions = {entry.domain: entry.version for entry in model.opset_import}
        for tensor in model.graph.initializer:
            copy = type(tensor)()
            copy.CopyFrom(tensor)
            copy.name = ours(tensor.name)
            self.container.initializers.append(copy)
        for node in model.graph.node:
            self.container.add_node(
                node.op_type,
                [ours(name) for name in node.input],
                [ours(name) for name in node.output],
                op_domain=node.domain,
                op_version=versions[node.domain],
                name=self.scope.get_unique_operator_name(f"limen_{node.op_type}"),
                **{attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute},
            )
        return [ours(output.name) for output in model.graph.output]

    def estimator(self, estimator, **options):
        """Our names of the outputs of an estimator's own model, of the rows that come in."""
        from skl2onnx import convert_sklearn
        from sklearn.frozen import FrozenEstimator

        while isinstance(estimator, FrozenEstimator):  # which skl2onnx does not know
            estimator = estimator.estimator

        def convert(options):
            return convert_sklearn(
                estimator,
                initial_types=[(variable.onnx_name, variable.type) for variable in self.inputs],
                target_opset=self.container.target_opset_all,
                options={id(estimator): options},
            )

        try:
            model = convert({"zipmap": False, **options})
        except NameError:  # how skl2onnx says that there is no such option: it would not add a map to this one
            model = convert(options)
        names = {variable.onnx_name: variable.onnx_name for variable in self.inputs}
        return self.embed(model, names)

    def behind(self, steps, features):
        """The graph as the estimator behind some transformers sees it."""
        from skl2onnx.common.data_types import FloatTensorType

        seen = self.node("Cast", self.estimator(steps)[0], to=1)
        return _Graph(self.scope, self.container, [_Input(seen, FloatTensorType([None, features]))])

    def column(self, values, at):
        """Column `at` of a matrix, in double precision."""
        return self.as_double(self.node("Gather", values, self.constant(np.int64(at)), axis=1))

    def mean(self, values):
        if len(values) == 1:
            return values[0]
        return self.node("Div", self.node("Sum", *values), self.constant(np.float64(len(values))))


def _members(estimator):
    """The classifiers whose means a FoldMean gives, or the only one."""
    from limen._classifier import FoldMean

    return estimator.estimators if isinstance(estimator, FoldMean) else [estimator]


def _score_of(graph, estimator, method, positive_index):
    if method == "predict_proba":
        return graph.column(graph.estimator(estimator)[1], positive_index)
    margin = graph.as_double(graph.estimator(estimator, raw_scores=True)[1])
    # One column, or one for each class of which the second is the margin.
    last = graph.node("Gather", margin, graph.constant(np.int64(-1)), axis=1)
    return last if positive_index == 1 else graph.node("Neg", last)


def _refuse(what):
    raise NotImplementedError(
        f"limen.onnx: a boundary that looks at {what} cannot be written as ONNX; export the boundary alone "
        "(Boundary.to_onnx) and give it the uncertainty"
    )


def _uncertainty_of(graph, source, estimator):
    from limen._auto_uncertainty import ColumnSource, MeanSource

    if isinstance(source, MeanSource):
        pairs = zip(source.sources, source.estimators, strict=True)
        return graph.mean([_uncertainty_of(graph, part, beside) for part, beside in pairs])
    if isinstance(source, ColumnSource):
        return _column_of(graph, source.column, estimator)
    if source.name == "leaf-evidence":
        return _leaf_evidence_of(graph, estimator)
    if source.name == "second-opinion-forest":
        return _second_opinion_of(graph, source.second, estimator)
    return _refuse(f"an uncertainty by {source.name}")


def _column_of(graph, column, estimator):
    if len(graph.inputs) != 1:
        _refuse("a column among inputs of one column each")
    if isinstance(column, str):
        names = list(getattr(estimator, "feature_names_in_", ()))
        if column not in names:
            _refuse(f"the column {column!r}, of an estimator that was fitted without names of columns,")
        column = names.index(column)
    return graph.column(graph.inputs[0].onnx_name, column)


def _inner(graph, estimator):
    """The classifier inside pipelines, searches and frozen estimators, and the graph as it sees it.

    Opens what limen._auto_uncertainty._inner opens: what the second opinion was fitted on must be what it is asked about.
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.pipeline import Pipeline

    while True:
        if isinstance(estimator, Pipeline):
            last = estimator[-1]
            if len(estimator) > 1:
                graph = graph.behind(estimator[:-1], last.n_features_in_)
            estimator = last
        elif isinstance(estimator, BaseSearchCV) and hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        else:
            return graph, estimator


def _leaf_evidence_of(graph, estimator):
    """-log of the mean over trees of the training rows in a row's leaf, which skl2onnx gives the numbers of."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    from limen.uncertainty import _LEAST_ROWS

    graph, estimator = _inner(graph, estimator)
    if not isinstance(estimator, (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)):
        _refuse(f"the leaves of a {type(estimator).__name__}")
    trees = [part.tree_ for part in getattr(estimator, "estimators_", [estimator])]
    rows = np.full((len(trees), max(tree.node_count for tree in trees)), _LEAST_ROWS)
    for at, tree in enumerate(trees):
        in_leaf = np.where(tree.children_left < 0, tree.n_node_samples, 0)
        rows[at, : tree.node_count] = np.maximum(in_leaf, _LEAST_ROWS)
    leaf = graph.estimator(estimator, decision_leaf=True)[2]
    leaf = graph.node("Reshape", leaf, graph.constant(np.array([-1, len(trees)])))
    place = graph.node("Add", leaf, graph.constant(np.arange(len(trees)) * rows.shape[1]))
    evidence = graph.node("Gather", graph.constant(rows.ravel()), place)
    total = graph.node("MatMul", evidence, graph.constant(np.full(len(trees), 1.0)))
    return graph.node("Neg", graph.node("Log", graph.node("Div", total, graph.constant(np.float64(len(trees))))))


def _second_opinion_of(graph, second, estimator):
    if not hasattr(estimator, "predict_proba"):
        _refuse("the second opinion on margins")
    inner = _inner(graph, estimator)[0]
    odds = [
        _log_odds(graph, graph.column(asked.estimator(part)[1], 1))
        for asked, part in ((inner, second), (graph, estimator))
    ]
    return graph.node("Sub", *odds)


def _log_odds(graph, p):
    low, high = graph.constant(np.float64(1e-9)), graph.constant(np.float64(1 - 1e-9))
    p = graph.node("Clip", p, low, high)
    rest = graph.node("Sub", graph.constant(np.float64(1)), p)
    return graph.node("Sub", graph.node("Log", p), graph.node("Log", rest))


def _convert(scope, operator, container):
    from onnx import TensorProto

    model = operator.raw_operator
    if model.boundary_ is None:
        raise NotImplementedError("limen.onnx: no boundary reached the goal, there is nothing to convert")
    graph = _Graph(scope, container, operator.inputs)
    label, decision, level, score_out = (output.onnx_name for output in operator.outputs)
    positive = model._positive_index
    scores = [_score_of(graph, part, model.response_method_, positive) for part in _members(model.estimator_)]
    score = graph.node("Identity", graph.mean(scores), output=score_out)
    if model.boundary_.levels == 1:
        uncertainty = graph.node("Mul", score, graph.constant(np.float64(0)))
    else:
        uncertainty = _uncertainty_of(graph, model._source, model.estimator_)
    rule = to_model(model.boundary_, opset=min(graph.opset, 25))
    graph.embed(rule, {"score": score, "uncertainty": uncertainty}, {"decision": decision, "level": level})
    # The class of a row that is not flagged, then that of one that is.
    classes = model.classes_[[1 - positive, positive]]
    texts = classes.dtype.kind in "OSU"
    flagged = graph.node("Cast", graph.node("Equal", decision, graph.constant(np.int64(1))), to=TensorProto.INT64)
    names = graph.constant([str(name) for name in classes] if texts else classes.astype(np.int64))
    graph.node("Gather", names, flagged, output=label)
