"""scikit-learn's solvers, and LIBLINEAR as its authors publish it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from race_peers import EPOCHS, MANY, Peer, Run, estimator, l1_ratio
from race_problems import Instance


def inverse_l2(one: Instance) -> float:
    """C of  C sum phi + 1/2 |x|^2."""
    return 1.0 / (one.n * one.l2)


def inverse_l1(one: Instance) -> float:
    """C of  C sum phi + |x|_1."""
    return 1.0 / (one.n * one.l1)


def l1_option() -> dict[str, Any]:
    """How this scikit-learn is asked for the l1 penalty: ``penalty`` is leaving since 1.8."""
    import sklearn

    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return {"l1_ratio": 1.0} if (major, minor) >= (1, 8) else {"penalty": "l1"}


def logistic(solver: str, dual: bool = False) -> Any:
    def make(one: Instance, tol: float) -> Any:
        from sklearn.linear_model import LogisticRegression

        penalty = l1_option() if one.l1 else {}
        C = inverse_l1(one) if one.l1 else inverse_l2(one)
        return LogisticRegression(
            C=C, solver=solver, dual=dual, tol=tol, max_iter=MANY, fit_intercept=False,
            random_state=0, **penalty,
        )  # fmt: skip

    return estimator(make)


def svm(dual: bool) -> Any:
    def make(one: Instance, tol: float) -> Any:
        from sklearn.svm import LinearSVC

        return LinearSVC(
            loss=one.loss, C=inverse_l2(one), dual=dual, tol=tol, max_iter=MANY,
            fit_intercept=False, random_state=0,
        )  # fmt: skip

    return estimator(make)


def sgd(one: Instance, epochs: float) -> Any:
    from sklearn.linear_model import SGDClassifier

    loss = "log_loss" if one.loss == "logistic" else one.loss
    return SGDClassifier(
        loss=loss, alpha=one.l2, max_iter=int(epochs), tol=None, fit_intercept=False,
        average=True, random_state=0,
    )  # fmt: skip


def coordinate_descent(**options: Any) -> Any:
    def make(one: Instance, tol: float) -> Any:
        from sklearn.linear_model import ElasticNet, Lasso

        shared = {"tol": tol, "max_iter": MANY, "fit_intercept": False, **options}
        if one.l2:
            return ElasticNet(alpha=one.l1 + one.l2, l1_ratio=l1_ratio(one), **shared)
        return Lasso(alpha=one.l1, **shared)

    return estimator(make, "columns")


def lars(one: Instance, setting: float) -> Any:
    from sklearn.linear_model import LassoLars

    return LassoLars(alpha=one.l1, max_iter=MANY, fit_intercept=False)


def with_gram(prepare: Callable[[Instance], Run]) -> Callable[[Instance], Run]:
    """The Gram matrix is d x d: refused where that is no sane way to call it."""

    def guarded(one: Instance) -> Run:
        if one.d > 10_000:
            raise ValueError("d > 10000: the Gram matrix would not fit")
        return prepare(one)

    return guarded


def liblinear(solver: dict[str, int]) -> Callable[[Instance], Run]:
    """LIBLINEAR's own package; ``solver`` gives its -s for the family."""

    def prepare(one: Instance) -> Run:
        from liblinear.liblinearutil import problem, train

        data = problem(one.b, sp.csr_matrix(one.A))
        C = inverse_l1(one) if one.l1 else inverse_l2(one)

        def run(tol: float) -> np.ndarray:
            options = f"-s {solver[one.family]} -c {C!r} -e {tol!r} -q"
            model = train(data, options)
            # A feature that is zero throughout has no weight in the model.
            w = np.zeros(one.d)
            kept = min(model.nr_feature, one.d)
            w[:kept] = np.ctypeslib.as_array(model.w, (kept,))
            return w if model.label[0] > 0 else -w

        return run

    return prepare


L2_SMOOTH = ("l2-logistic", "l2-squared-hinge")
SQUARED = ("lasso", "elastic-net")


def sklearn_peers() -> list[Peer]:
    """Likely winners first: the clock of the later ones is cut by what the first ones reach."""
    lib, learn = "liblinear", "sklearn"
    primal = {"l2-logistic": 0, "l2-squared-hinge": 2, "l1-logistic": 6}
    dual = {"l2-logistic": 7, "l2-squared-hinge": 1, "l2-hinge": 3}
    return [
        Peer("liblinear-primal", lib, tuple(primal), liblinear(primal)),
        Peer("liblinear-dual", lib, tuple(dual), liblinear(dual)),
        Peer("sklearn-liblinear", learn, ("l2-logistic", "l1-logistic"), logistic("liblinear")),
        Peer("sklearn-liblinear-dual", learn, ("l2-logistic",), logistic("liblinear", dual=True)),
        Peer("sklearn-svc-dual", learn, ("l2-hinge", "l2-squared-hinge"), svm(dual=True)),
        Peer("sklearn-svc-primal", learn, ("l2-squared-hinge",), svm(dual=False)),
        Peer("sklearn-lbfgs", learn, ("l2-logistic",), logistic("lbfgs")),
        Peer("sklearn-newton-cg", learn, ("l2-logistic",), logistic("newton-cg")),
        Peer(
            "sklearn-newton-chol", learn, ("l2-logistic",), with_gram(logistic("newton-cholesky"))
        ),
        Peer("sklearn-cd", learn, SQUARED, coordinate_descent()),
        Peer("sklearn-cd-gram", learn, SQUARED, with_gram(coordinate_descent(precompute=True))),
        Peer(
            "sklearn-lars", learn, ("lasso",), estimator(lars, "columns"), (1.0,), dense_only=True
        ),
        Peer("sklearn-sag", learn, ("l2-logistic",), logistic("sag")),
        Peer("sklearn-saga", learn, ("l2-logistic", "l1-logistic"), logistic("saga")),
        Peer("sklearn-sgd", learn, ("l2-logistic", "l2-hinge"), estimator(sgd), EPOCHS),
    ]
