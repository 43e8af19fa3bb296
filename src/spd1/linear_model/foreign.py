"""How far from optimal is a fitted model of scikit-learn? Measured by its own objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_X_y

from ..certificate.gap import Certificate, certify_point, relative
from ..data.indices import trusted
from ..design.huber.objective import joint_bound, joint_value
from ..design.huber.scale import HuberScale
from ..design.intercept import Design, joined
from ..errors import DataError, IncompatibleError
from ..losses import Huber
from ..regularizers import ElasticNet as Net
from ._base import Task
from ._chunked import checked_chunks, is_chunked, on_cluster
from ._classifiers import CertifiedClassifier
from ._erm import ERMClassifier
from ._glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from ._huber import HuberRegressor
from ._logistic import LogisticRegression
from ._losses import LinearSVR, QuantileRegressor
from ._margin import LinearSVC
from ._progress import Watch
from ._regressors import CertifiedRegressor, ElasticNet, Lasso
from ._ridge import LinearRegression, Ridge
from ._ridge_classifier import RidgeClassifier
from .tuning import CERTIFY_LOOKS, PROVEN

__all__ = ["certify_model"]

TWINS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        LogisticRegression, LinearSVC, LinearSVR, Ridge, RidgeClassifier, Lasso, ElasticNet,
        HuberRegressor, QuantileRegressor, PoissonRegressor, GammaRegressor, TweedieRegressor,
        LinearRegression,
    )
}  # fmt: skip
SGD_LOSSES = {"hinge": "hinge", "log_loss": "logistic", "squared_hinge": "squared_hinge"}


class _SGDObjective(ERMClassifier):
    """SGDClassifier's objective: the weighted loss divided by n, not by the sum of weights."""

    _own_class_only = True
    _balances_counts = True
    samples = 0

    def _regularizer(self, total: float, d: int) -> Net:
        share = self.samples / total
        return Net(l1=self.l1 * share, l2=self.l2 * share)


def certify_model(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Certificate of a fitted linear model, or a list of one per class or target.

    Parameters
    ----------
    model : fitted estimator
        LogisticRegression, LinearSVC, SGDClassifier, Ridge, RidgeClassifier, Lasso, ElasticNet,
        LinearSVR, HuberRegressor, QuantileRegressor, PoissonRegressor, GammaRegressor,
        TweedieRegressor or LinearRegression of scikit-learn, or any estimator of
        ``spd1.linear_model``.
    X, y, sample_weight
        What it was fitted on.

    Notes
    -----
    LogisticRegression of three classes or more is multinomial: one certificate for all of it, whose
    ``y`` has a column a class. Models that tell one class from the rest have one for each class.
    Where the model's own coefficients prove little, the problem is solved for a good lower bound:
    then this takes as long as a fit.

    Examples
    --------
    >>> import numpy as np, sklearn.linear_model, spd1
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3)); y = X[:, 0] > 0
    >>> loose = sklearn.linear_model.LogisticRegression(tol=0.1).fit(X, y)
    >>> tight = sklearn.linear_model.LogisticRegression(tol=1e-10).fit(X, y)
    >>> bool(spd1.certify(tight, X, y).gap < 1e-8 < spd1.certify(loose, X, y).gap)
    True
    """
    twin = _twin(model)
    check_is_fitted(model)
    if y is None:
        raise DataError("certify(model, X, y) needs the labels or targets y")
    if is_chunked(X):
        return _certify_chunks(twin, model, X, y, sample_weight)
    X, y, weight = _data(model, X, y, sample_weight)
    if isinstance(twin, _SGDObjective):
        twin.samples = len(y)
    tasks = _tasks(twin, model, y, weight, X.shape[1])
    if isinstance(twin, LogisticRegression) and twin._multinomial:
        return _certify_multinomial(twin, model, X, y, weight)
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.atleast_2d(coef).astype(float)
    level = np.broadcast_to(np.atleast_1d(model.intercept_).astype(float), (len(coef),))
    if coef.shape != (len(tasks), X.shape[1]):
        raise DataError(
            f"{type(model).__name__} has coefficients of shape {coef.shape}, the data asks for "
            f"{(len(tasks), X.shape[1])}"
        )
    proofs = [
        _certify_one(twin, model, X, task, weight, x, float(b))
        for task, x, b in zip(tasks, coef, level, strict=True)
    ]
    return proofs[0] if len(proofs) == 1 else proofs


def _certify_chunks(twin: Any, model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """A model of this package on a dask array: what its coefficients alone prove."""
    own = twin is model and model._chunks and not getattr(model, "_multinomial", False)
    X, y, weight = checked_chunks(model, X, y, sample_weight, own)
    tasks = _tasks(twin, model, y, weight, X.shape[1])
    design = Design(X, bool(getattr(model, "fit_intercept", True)), weight)
    level = np.broadcast_to(np.atleast_1d(model.intercept_).astype(float), (len(tasks),))
    proofs = []
    duals = np.atleast_2d(model.dual_coef_)
    with on_cluster(design):
        for task, x, b, dual in zip(tasks, np.atleast_2d(model.coef_), level, duals, strict=True):
            point = np.append(x, b) if design.fit_intercept else x
            problem = design.problem(task.b, task.loss, task.reg, task.weight)
            proofs.append(certify_point(point, problem, dual if len(dual) == problem.n else None))
    return proofs[0] if len(proofs) == 1 else proofs


def _twin(model: Any) -> Any:
    """The estimator of this package with the objective of the model, or a refusal by name."""
    if isinstance(model, (CertifiedClassifier, CertifiedRegressor)):
        return model
    name = type(model).__name__
    home = type(model).__module__.split(".")[0]
    if home == "sklearn" and name == "SGDClassifier":
        return _sgd_twin(model)
    if home != "sklearn" or name not in TWINS:
        raise IncompatibleError(
            f"certify does not know the objective of {type(model).__module__}.{name}: it knows "
            f"SGDClassifier, {', '.join(TWINS)} of scikit-learn and the estimators of "
            "spd1.linear_model; for others state it, as certify(x, Problem(A, b, loss, reg))"
        )
    kind = TWINS[name]
    shared = set(kind().get_params()) & set(model.get_params(deep=False))
    kept = shared - {"solver", "tol", "max_iter", "dual", "intercept_scaling", "n_jobs", "verbose"}
    return kind(**{key: getattr(model, key) for key in kept})


def _sgd_twin(model: Any) -> _SGDObjective:
    if model.loss not in SGD_LOSSES:
        raise IncompatibleError(
            f"certify does not know the loss {model.loss!r} of SGDClassifier: it knows "
            f"{', '.join(SGD_LOSSES)}"
        )
    ratios = {"l2": 0.0, "l1": 1.0, "elasticnet": model.l1_ratio, None: None}
    ratio = ratios[model.penalty]
    l1 = 0.0 if ratio is None else model.alpha * ratio
    l2 = 0.0 if ratio is None else model.alpha * (1.0 - ratio)
    return _SGDObjective(
        SGD_LOSSES[model.loss],
        l1=l1,
        l2=l2,
        fit_intercept=model.fit_intercept,
        class_weight=model.class_weight,
    )


def _data(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
    try:
        X, y = check_X_y(
            trusted(X),
            y,
            accept_sparse=("csr", "csc"),
            dtype=(np.float64, np.float32),
            multi_output=True,
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    except ValueError as error:
        raise DataError(str(error)) from None
    if y.ndim == 2 and y.shape[1] == 1 and np.ndim(model.coef_) == 1:
        y = y.ravel()
    return X, y, sample_weight


def _tasks(twin: Any, model: Any, y: np.ndarray, weight: Any, d: int) -> list[Task]:
    if isinstance(twin, CertifiedClassifier) and y.ndim == 1:
        strange = np.setdiff1d(y, model.classes_)
        if len(strange):
            raise DataError(f"y has labels that {type(model).__name__} has not seen: {strange[:3]}")
    if isinstance(twin, RidgeClassifier):
        columns, weight = twin._targets(y, weight)
        total = float(len(y)) if weight is None else float(weight.sum())
        net = twin._regularizer(total, d)
        return [Task(np.ascontiguousarray(b), "squared", net, weight) for b in columns.T]
    if not isinstance(twin, CertifiedClassifier):
        total = float(len(y)) if weight is None else float(weight.sum())
        targets = np.asarray(y, dtype=float).T if y.ndim == 2 else [np.asarray(y, dtype=float)]
        return [
            Task(np.ascontiguousarray(b), twin._loss(), twin._regularizer(total, d, k), None)
            for k, b in enumerate(targets)
        ]
    twin.classes_ = model.classes_
    return list(twin._tasks(np.searchsorted(model.classes_, y), weight, d))


def _certify_one(
    twin: Any, model: Any, X: Any, task: Task, weight: Any, x: np.ndarray, level: float
) -> Certificate:
    weight = weight if task.weight is None else task.weight
    if isinstance(twin, HuberRegressor):
        return _certify_huber(twin, X, task, weight, x, level, float(model.scale_))
    column = _intercept_column(twin, model)
    if column is not None:
        design = Design(joined(X, column), False, weight)
        return _sharpened(np.append(x, level / column), design, task)
    design = Design(X, bool(twin.fit_intercept), weight)
    point = np.append(x, level) if design.fit_intercept else x
    return _sharpened(point, design, task)


def _sharpened(point: np.ndarray, design: Design, task: Task) -> Certificate:
    """The certificate of a point; where phi' proves little, with a dual point that is solved for.

    At a corner of the loss phi' is any subgradient, and the bound it proves may be far below the
    optimum. Then the problem is solved, and its dual point shows how much is left to gain.
    """
    problem = design.problem(task.b, task.loss, task.reg)
    proof = certify_point(point, problem)
    if proof.rel_gap <= PROVEN:
        return proof
    result = design.solve(
        task.b,
        task.loss,
        task.reg,
        tol=PROVEN,
        callback=Watch(CERTIFY_LOOKS, PROVEN),
        max_passes=1e12,
    )
    return certify_point(point, problem, result.y)


def _intercept_column(twin: Any, model: Any) -> float | None:
    """Constant of the column that a penalised intercept is, as in liblinear; else None."""
    if twin is model:
        column: float | None = model._intercept_column()
        return column
    liblinear = isinstance(twin, LogisticRegression) and model.solver == "liblinear"
    if model.fit_intercept and (liblinear or isinstance(twin, (LinearSVC, LinearSVR))):
        return float(model.intercept_scaling)
    return None


def _certify_multinomial(twin: Any, model: Any, X: Any, y: np.ndarray, weight: Any) -> Certificate:
    """LogisticRegression of more than two classes is one problem, not one each."""
    from ..multinomial.certify import certify_multinomial
    from ..multinomial.objective import Objective

    labels = np.searchsorted(model.classes_, y)
    weight = np.ones(len(y)) if weight is None else weight
    share = twin._class_weights(labels, weight)
    weight = weight if share is None else weight * share[labels]
    reg = twin._regularizer(float(weight.sum()), X.shape[1])
    fit_intercept = bool(model.fit_intercept)
    objective = Objective(X, labels, len(model.classes_), weight, reg, fit_intercept)
    x = model.coef_.toarray() if sp.issparse(model.coef_) else np.asarray(model.coef_, float)
    if x.shape != (objective.K, objective.d):
        raise DataError(
            f"{type(model).__name__} has coefficients of shape {x.shape}, the data asks for "
            f"{(objective.K, objective.d)}"
        )
    if fit_intercept:
        x = np.column_stack([x, np.asarray(model.intercept_, float)])
    return certify_multinomial(objective, x, PROVEN)


def _certify_huber(
    twin: Any, X: Any, task: Task, weight: Any, x: np.ndarray, level: float, sigma: float
) -> Certificate:
    """The joint objective of coefficients and scale."""
    design, epsilon = Design(X, bool(twin.fit_intercept), weight), float(twin.epsilon)
    a = float(task.reg.l2)
    safe = max(sigma, 1e-12 * max(float(np.abs(task.b).max()), 1e-300))
    problem = design.problem(task.b, Huber(epsilon * safe), Net(l2=a * safe))
    point = np.append(x, level) if design.fit_intercept else x
    slice_proof = certify_point(point, problem)
    bound, q = joint_bound(problem, slice_proof.y, slice_proof.dual, safe)
    search = HuberScale(design, task.b, epsilon, a, weight, {"tol": PROVEN, "max_passes": 1e12})
    search.run()
    if search.bound > bound:
        bound, q = search.bound, search.q
    residual = np.asarray(X @ x).ravel() + level - task.b
    value = joint_value(residual, problem.c, a * float(x @ x), sigma, epsilon)
    gap = max(value - bound, 0.0)
    return Certificate(value, bound, gap, relative(gap, value, bound), q)
