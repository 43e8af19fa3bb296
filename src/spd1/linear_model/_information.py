"""Standard errors: the curvature of the likelihood at the coefficients, inverted.

With weights w that count samples, u the linear predictor, A the data with a column of ones if there
is an intercept, and the penalty as a part of the negative log-likelihood,

    I = A' diag(w phi''(u)) A,    L = W l2 for coefficients, 0 for a free intercept,
    covariance = s (I + L)^-1,

the inverse observed information. Without penalty these are the standard errors of maximum
likelihood, with l2 those of the posterior at a normal prior (Laplace's approximation). The
dispersion s is 1 for the logistic and the Poisson loss; for least squares, gamma and Tweedie it is
sum w (b - mean)^2 / mean^power over W - df, with df = trace((I + L)^-1 I) degrees of freedom.
A multinomial model has a block for every pair of classes, w (p_k [k = m] - p_k p_m), and the
inverse is that on coefficients that add up to zero over classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, softmax

from ..errors import IncompatibleError
from ..losses import as_loss
from .tuning import LARGEST_INFORMATION

__all__ = ["standard_errors"]


def _tweedie(loss: Any, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    a = loss.power - 1.0
    return np.asarray((1.0 - a) * np.exp((1.0 - a) * u) + a * b * np.exp(-a * u))


#: phi''(u; b) of the losses that are likelihoods.
CURVATURE: dict[str, Any] = {
    "Logistic": lambda loss, u, b: expit(u) * expit(-u),
    "Squared": lambda loss, u, b: np.ones_like(u),
    "Poisson": lambda loss, u, b: np.exp(u),
    "Gamma": lambda loss, u, b: b * np.exp(-u),
    "Tweedie": _tweedie,
}


def standard_errors(model: Any, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Standard errors of a fitted model, a row a target or class, the intercept last.

    Raises
    ------
    IncompatibleError
        Where they mean nothing: l1, bounds, losses that are no likelihood, too many coefficients.
    """
    from .foreign import _data, _tasks
    from .foreign import _twin as own

    X, y, weight = _data(model, X, y, sample_weight)
    tasks = _tasks(own(model), model, y, weight, X.shape[1])
    _refuse(model, tasks, X.shape[1])
    A = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    if model.fit_intercept:
        A = np.column_stack([A, np.ones(len(A))])
    w = np.ones(len(A)) if weight is None else weight
    if getattr(model, "_multinomial", False):
        return _of_classes(model, A, tasks[0], w)
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    level = np.broadcast_to(np.atleast_1d(model.intercept_), (len(tasks),))
    found = []
    for task, x, intercept in zip(tasks, coef, level, strict=True):
        point = np.append(x, intercept) if model.fit_intercept else x
        found.append(_of_one(model, A, task, w if task.weight is None else task.weight, point))
    return np.array(found)


def _refuse(model: Any, tasks: list[Any], d: int) -> None:
    """Say why there are none."""
    from ._ridge_classifier import RidgeClassifier

    several = len(model.classes_) if getattr(model, "_multinomial", False) else 1
    size = several * (d + 1)
    for task in tasks:
        kind = "Logistic" if task.loss == "multinomial" else type(as_loss(task.loss)).__name__
        if kind not in CURVATURE or isinstance(model, RidgeClassifier) or hasattr(model, "scale_"):
            raise IncompatibleError(f"{kind} is no likelihood of what {type(model).__name__} fits")
        if np.any(task.reg.l1):
            raise IncompatibleError("an l1 penalty sets coefficients to zero")
        if np.any(np.isfinite(task.reg.lower)) or np.any(np.isfinite(task.reg.upper)):
            raise IncompatibleError("coefficients are kept within bounds")
    if size > LARGEST_INFORMATION:
        raise IncompatibleError(f"{size} coefficients are more than {LARGEST_INFORMATION}")


def _penalty(model: Any, task: Any, total: float, d: int) -> np.ndarray:
    """L, a number a coefficient of one class."""
    l2 = np.broadcast_to(np.asarray(task.reg.l2, dtype=float), (d,)) * total
    if not model.fit_intercept:
        return l2
    column = model._intercept_column()  # intercept = column * coefficient of the column
    last = 0.0 if column is None else float(np.max(task.reg.l2)) * total / column**2
    return np.append(l2, last)


def _of_one(model: Any, A: np.ndarray, task: Any, w: np.ndarray, x: np.ndarray) -> np.ndarray:
    loss: Any = as_loss(task.loss)
    u = A @ x
    curved = CURVATURE[type(loss).__name__](loss, u, task.b)
    information = A.T @ (A * (w * curved)[:, None])
    d = A.shape[1] - int(model.fit_intercept)
    inverse = np.linalg.pinv(
        information + np.diag(_penalty(model, task, float(w.sum()), d)), hermitian=True
    )
    df = float(np.sum(inverse * information))
    return np.sqrt(np.diag(inverse) * _dispersion(loss, u, task.b, w, df))


def _dispersion(loss: Any, u: np.ndarray, b: np.ndarray, w: np.ndarray, df: float) -> float:
    kind = type(loss).__name__
    if kind in ("Logistic", "Poisson"):
        return 1.0
    power = {"Squared": 0.0, "Gamma": 2.0}.get(kind, getattr(loss, "power", 0.0))
    mean = u if kind == "Squared" else np.exp(u)
    left = float(w.sum()) - df
    spread = float(np.sum(w * (b - mean) ** 2 / (mean**power if power else 1.0)))
    return spread / left if left > 0.0 else math.nan


def _of_classes(model: Any, A: np.ndarray, task: Any, w: np.ndarray) -> np.ndarray:
    w = w if task.weight is None else task.weight
    coef = np.asarray(model.coef_, dtype=float)
    x = np.column_stack([coef, model.intercept_]) if model.fit_intercept else coef
    p = softmax(A @ x.T, axis=1)
    K, size = x.shape
    information = np.empty((K, size, K, size))
    for k in range(K):
        for m in range(K):
            share = w * (p[:, k] * (k == m) - p[:, k] * p[:, m])
            information[k, :, m] = A.T @ (A * share[:, None])
    penalty = np.tile(_penalty(model, task, float(w.sum()), coef.shape[1]), K)
    whole = information.reshape(K * size, K * size) + np.diag(penalty)
    centre = np.kron(np.eye(K) - 1.0 / K, np.eye(size))
    inverse = np.linalg.pinv(centre @ whole @ centre, hermitian=True)
    return np.sqrt(np.maximum(np.diag(inverse), 0.0)).reshape(K, size)
