"""The contenders in the race of paths, each as its users call it: run(tol) hands back all x.

What a peer wants converted is converted before the clock starts. ``tol`` is the peer's own and
means something else for each: the race sweeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from path_problems import Task

Run = Callable[[float], np.ndarray]
MANY = 1_000_000
FAMILIES = ("lasso", "enet", "logistic")


def ours(task: Task, alphas: np.ndarray) -> Run:
    from spd1.linear_model import path

    X, y = task.drawn

    def run(tol: float) -> np.ndarray:
        found = path(
            X, y, loss=task.loss, l1_ratio=task.ratio, alphas=alphas, fit_intercept=False, tol=tol
        )
        assert found.rel_gaps.max() <= tol
        return found.coefs

    return run


def celer(task: Task, alphas: np.ndarray, **options: Any) -> Run:
    from celer import celer_path

    X, y = task.drawn
    if task.loss == "logistic":  # its loss is a sum, ours a mean
        pb, alphas = "logreg", alphas * len(y)
    else:
        pb, options = "lasso", {"l1_ratio": task.ratio}

    def run(tol: float) -> np.ndarray:
        found = celer_path(
            X, y, pb, alphas=alphas, tol=tol, prune=1, max_iter=1000, max_epochs=MANY, **options
        )
        return np.ascontiguousarray(found[1].T)

    return run


def celer_newton(task: Task, alphas: np.ndarray) -> Run:
    return celer(task, alphas, use_PN=True)


def sklearn(task: Task, alphas: np.ndarray) -> Run:
    from sklearn.linear_model import enet_path

    X, y = task.drawn

    def run(tol: float) -> np.ndarray:  # lasso_path is enet_path with l1_ratio 1
        found = enet_path(X, y, l1_ratio=task.ratio, alphas=alphas, tol=tol, max_iter=MANY)
        return np.ascontiguousarray(found[1].T)

    return run


def sklearn_loop(task: Task, alphas: np.ndarray, solver: str) -> Run:
    """Fits from the strongest penalty to the weakest; saga goes on from the last solution."""
    from sklearn.linear_model import LogisticRegression

    X, y = task.drawn
    X = X.tocsr() if hasattr(X, "tocsr") else np.ascontiguousarray(X)

    def run(tol: float) -> np.ndarray:
        model = LogisticRegression(
            l1_ratio=1.0, solver=solver, fit_intercept=False, warm_start=solver == "saga",
            tol=tol, max_iter=MANY, random_state=0,
        )  # fmt: skip
        found = []
        for alpha in alphas:
            model.set_params(C=1.0 / (len(y) * alpha)).fit(X, y)
            found.append(model.coef_.ravel().copy())
        return np.array(found)

    return run


def saga(task: Task, alphas: np.ndarray) -> Run:
    return sklearn_loop(task, alphas, "saga")


def liblinear(task: Task, alphas: np.ndarray) -> Run:
    return sklearn_loop(task, alphas, "liblinear")


def skglm(task: Task, alphas: np.ndarray) -> Run:
    from skglm import datafits, penalties
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    X, y = task.drawn
    loss = datafits.Logistic() if task.loss == "logistic" else datafits.Quadratic()
    net = penalties.L1(1.0) if task.ratio == 1.0 else penalties.L1_plus_L2(1.0, task.ratio)
    datafit, penalty = compiled_clone(loss), compiled_clone(net)

    def run(tol: float) -> np.ndarray:
        solver = AndersonCD(max_iter=1000, max_epochs=MANY, tol=tol, fit_intercept=False)
        return np.ascontiguousarray(solver.path(X, y, datafit, penalty, alphas=alphas)[1].T)

    return run


PEERS: dict[str, tuple[str, tuple[str, ...], Callable[[Task, np.ndarray], Run]]] = {
    "celer": ("celer", FAMILIES, celer),
    "celer-pn": ("celer", ("logistic",), celer_newton),
    "sklearn": ("sklearn", ("lasso", "enet"), sklearn),
    "sklearn-saga": ("sklearn", ("logistic",), saga),
    "sklearn-liblinear": ("sklearn", ("logistic",), liblinear),
    "skglm": ("skglm", FAMILIES, skglm),
}
