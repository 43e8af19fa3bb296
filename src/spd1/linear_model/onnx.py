"""ONNX export: tells skl2onnx how the estimators of this package predict.

Needs the extra ``spd1[onnx]``. Linear models are a matrix product and, for classifiers, a
threshold or a logistic function; that is all the graph has.

>>> import numpy as np
>>> from spd1.linear_model import Ridge
>>> from spd1.linear_model.onnx import to_onnx
>>> model = Ridge().fit(np.eye(3), [1.0, 2.0, 3.0])
>>> graph = to_onnx(model, np.eye(3, dtype=np.float32))
>>> [output.name for output in graph.graph.output]
['variable']
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import (
    _cv,
    _erm,
    _erm_cv,
    _glm,
    _huber,
    _log_link,
    _logistic,
    _logistic_cv,
    _losses,
    _margin,
    _regressors,
    _ridge,
    _ridge_classifier,
    _ridge_cv,
)

__all__ = ["register", "to_onnx"]

CLASSIFIERS: tuple[Any, ...] = (
    _logistic.LogisticRegression,
    _logistic_cv.LogisticRegressionCV,
    _margin.LinearSVC,
    _ridge_classifier.RidgeClassifier,
    _ridge_cv.RidgeClassifierCV,
    _erm.ERMClassifier,
    _erm_cv.ERMClassifierCV,
)
REGRESSORS: tuple[Any, ...] = (
    _ridge.Ridge,
    _ridge.LinearRegression,
    _ridge_cv.RidgeCV,
    _regressors.ElasticNet,
    _regressors.Lasso,
    _cv.ElasticNetCV,
    _cv.LassoCV,
    _losses.LinearSVR,
    _huber.HuberRegressor,
    _losses.QuantileRegressor,
    _glm.PoissonRegressor,
    _glm.GammaRegressor,
    _glm.TweedieRegressor,
    _erm.ERMRegressor,
    _erm_cv.ERMRegressorCV,
)


def to_onnx(model: Any, X: Any, **options: Any) -> Any:
    """Convert a fitted estimator, or a pipeline that ends with one; see ``skl2onnx.to_onnx``."""
    register()
    from skl2onnx import to_onnx as convert

    return convert(model, X, **options)


def register() -> None:
    """Tell skl2onnx about the estimators of this package; calling it again changes nothing."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
        calculate_linear_regressor_output_shapes,
    )

    options = {"zipmap": [True, False, "columns"], "nocl": [True, False], "raw_scores": [False]}
    for kind in CLASSIFIERS:
        update_registered_converter(
            kind,
            f"Spd1{kind.__name__}",
            calculate_linear_classifier_output_shapes,
            _convert_classifier,
            options=options,
            overwrite=True,
        )
    for kind in REGRESSORS:
        update_registered_converter(
            kind,
            f"Spd1{kind.__name__}",
            calculate_linear_regressor_output_shapes,
            _convert_regressor,
            overwrite=True,
        )


class _Graph:
    """Adds nodes to what skl2onnx builds."""

    def __init__(self, scope: Any, operator: Any, container: Any) -> None:
        from skl2onnx.common.data_types import guess_numpy_type, guess_proto_type

        self.scope, self.container, self.operator = scope, container, operator
        kind = operator.inputs[0].type
        self.proto, self.dtype = guess_proto_type(kind), guess_numpy_type(kind)
        if self.dtype not in (np.float32, np.float64):
            from onnx import TensorProto

            self.proto, self.dtype = TensorProto.FLOAT, np.float32

    def constant(self, value: np.ndarray) -> str:
        name = self.scope.get_unique_variable_name("constant")
        array = np.ascontiguousarray(value, dtype=self.dtype)
        self.container.add_initializer(name, self.proto, list(array.shape), array.ravel().tolist())
        return str(name)

    def node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or self.scope.get_unique_variable_name(kind.lower())
        label = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [name], name=label, **attributes)
        return str(name)

    def scores(self, model: Any) -> str:
        """X coef' + intercept, one column a class or target."""
        data = self.node("Cast", self.operator.inputs[0].full_name, to=self.proto)
        coef = self.constant(np.atleast_2d(model.coef_).T)
        level = self.constant(np.atleast_1d(model.intercept_)[None, :])
        return self.node("Add", self.node("MatMul", data, coef), level)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _Graph(scope, operator, container), operator.raw_operator
    scores = graph.scores(model)
    counts = (isinstance(model, _log_link.LogLinkRegressor) and model._power() > 0.0) or (
        isinstance(model, _erm.ERMRegressor) and _erm._kind(model.loss) == "count"
    )
    graph.node("Exp" if counts else "Identity", scores, output=operator.outputs[0].full_name)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    """Labels, and probabilities or scores: two columns for two classes, else one a class."""
    from onnx import TensorProto

    graph, model = _Graph(scope, operator, container), operator.raw_operator
    scores = graph.scores(model)
    if len(model.classes_) == 2:
        scores = graph.node("Concat", graph.node("Neg", scores), scores, axis=1)
    ranked = scores
    if getattr(model, "_multinomial", False):
        ranked = graph.node("Softmax", scores, axis=1)
    elif hasattr(model, "predict_proba"):
        ranked = graph.node("Sigmoid", scores)
        if len(model.classes_) > 2:
            total = graph.scope.get_unique_variable_name("total")
            container.add_node(
                "ReduceSum",
                [ranked, _axis(scope, container)],
                [total],
                name=scope.get_unique_operator_name("ReduceSum"),
                op_version=13,
                keepdims=1,
            )
            ranked = graph.node("Div", ranked, total)
    graph.node("Identity", ranked, output=operator.outputs[1].full_name)
    index = graph.node("ArgMax", scores, axis=1, keepdims=0)
    texts = model.classes_.dtype.kind in "OUS"
    labels = scope.get_unique_variable_name("classes")
    if texts:
        values: list[Any] = [str(label).encode() for label in model.classes_]
        container.add_initializer(labels, TensorProto.STRING, [len(values)], values)
    else:
        values = [int(label) for label in model.classes_]
        container.add_initializer(labels, TensorProto.INT64, [len(values)], values)
    graph.node("Gather", labels, index, output=operator.outputs[0].full_name)


def _axis(scope: Any, container: Any) -> str:
    from onnx import TensorProto

    name = scope.get_unique_variable_name("axis")
    container.add_initializer(name, TensorProto.INT64, [1], [1])
    return str(name)
