"""The other packages: celer, skglm, cyanure, snapml, lightning and adelie.

Where a package scales its loss in another way, the penalty is scaled to match; every scaling was
checked by minimising P on a small problem (tests/test_race.py does it again).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from race_peers import EPOCHS, MANY, Peer, Run, estimator, l1_ratio
from race_peers_sklearn import L2_SMOOTH, SQUARED, inverse_l1, inverse_l2
from race_problems import Instance


def celer(one: Instance, tol: float) -> Any:
    import celer

    if one.loss == "logistic":
        return celer.LogisticRegression(C=inverse_l1(one), tol=tol, max_iter=1000, max_epochs=MANY)
    shared = {"tol": tol, "max_iter": 1000, "max_epochs": MANY, "fit_intercept": False}
    if one.l2:
        return celer.ElasticNet(alpha=one.l1 + one.l2, l1_ratio=l1_ratio(one), **shared)
    return celer.Lasso(alpha=one.l1, **shared)


def skglm(one: Instance, tol: float) -> Any:
    import skglm

    shared = {"tol": tol, "max_iter": 1000, "max_epochs": MANY, "fit_intercept": False}
    if one.loss == "hinge":
        return skglm.LinearSVC(C=inverse_l2(one), **shared)
    if one.loss == "logistic":
        return skglm.SparseLogisticRegression(alpha=one.l1, **shared)
    if one.l2:
        return skglm.ElasticNet(alpha=one.l1 + one.l2, l1_ratio=l1_ratio(one), **shared)
    return skglm.Lasso(alpha=one.l1, **shared)


def skglm_lbfgs(one: Instance, tol: float) -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    solver = LBFGS(max_iter=MANY, tol=tol)
    solver.fit_intercept = solver.warm_start = False  # the estimator asks, LBFGS has neither
    return GeneralizedLinearEstimator(Logistic(), L2(one.l2), solver)


def skglm_gram(one: Instance) -> Run:
    """The solver by itself: the estimator gives it a datafit, which it refuses."""
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import GramCD
    from skglm.utils.jit_compilation import compiled_clone

    if one.d > 5000:
        raise ValueError("d > 5000: the Gram matrix is no sane choice")
    A = one.columns

    def run(tol: float) -> np.ndarray:
        penalty = L1_plus_L2(one.l1 + one.l2, l1_ratio(one)) if one.l2 else L1(one.l1)
        solver = GramCD(tol=tol, max_iter=MANY, fit_intercept=False)
        return solver.solve(A, one.b, None, compiled_clone(penalty))[0]

    return run


def cyanure(solver: str) -> Callable[[Instance], Run]:
    def make(one: Instance, tol: float) -> Any:
        from cyanure import estimators

        shared = {
            "tol": tol, "solver": solver, "max_iter": 100_000, "fit_intercept": False,
            "verbose": False, "n_threads": 1, "random_state": 0,
        }  # fmt: skip
        if one.loss == "squared":
            penalty = "elasticnet" if one.l2 else "l1"
            return estimators.Regression(
                penalty=penalty, lambda_1=one.l1, lambda_2=one.l2, **shared
            )
        if one.loss == "squared_hinge":  # theirs has the factor 1/2
            return estimators.Classifier(
                loss="sqhinge", penalty="l2", lambda_1=0.5 * one.l2, **shared
            )
        penalty, weight = ("l1", one.l1) if one.l1 else ("l2", one.l2)
        return estimators.Classifier(loss="logistic", penalty=penalty, lambda_1=weight, **shared)

    return estimator(make)


def snapml(dual: bool) -> Callable[[Instance], Run]:
    def make(one: Instance, tol: float) -> Any:
        import snapml

        shared = {"tol": tol, "max_iter": 100_000, "n_jobs": 1, "random_state": 0}
        if one.loss in ("hinge", "squared_hinge"):
            return snapml.SupportVectorMachine(loss=one.loss, regularizer=one.n * one.l2, **shared)
        kind = snapml.LogisticRegression if one.loss == "logistic" else snapml.LinearRegression
        penalty, weight = ("l1", one.l1) if one.l1 else ("l2", one.l2)
        return kind(regularizer=one.n * weight, penalty=penalty, dual=dual, **shared)

    return estimator(make)


def by_epochs(make: Callable[..., Any]) -> Callable[[Instance, float], Any]:
    """Sweep the number of epochs: lightning's tolerances often jump from loose to never."""
    return lambda one, epochs: make(one, 0.0, int(epochs))


def lightning_cd(one: Instance, tol: float, epochs: int = MANY) -> Any:
    from lightning.classification import CDClassifier
    from lightning.regression import CDRegressor

    penalty, weight = ("l1", one.l1) if one.l1 else ("l2", one.l2)
    shared = {
        "penalty": penalty, "C": 1.0 / one.n, "tol": tol, "max_iter": epochs, "random_state": 0,
    }  # fmt: skip
    if one.loss == "squared":  # theirs lacks the factor 1/2
        return CDRegressor(loss="squared", alpha=2.0 * weight, **shared)
    loss = "log" if one.loss == "logistic" else one.loss
    return CDClassifier(loss=loss, alpha=weight, **shared)


def lightning_sdca(one: Instance, tol: float, epochs: int = MANY) -> Any:
    from lightning.classification import SDCAClassifier
    from lightning.regression import SDCARegressor

    kind = SDCARegressor if one.loss == "squared" else SDCAClassifier
    return kind(
        loss=one.loss, alpha=one.l1 + one.l2, l1_ratio=l1_ratio(one), tol=tol, max_iter=epochs,
        random_state=0,
    )  # fmt: skip


def lightning_svc(one: Instance, tol: float) -> Any:
    from lightning.classification import LinearSVC

    return LinearSVC(loss=one.loss, C=inverse_l2(one), tol=tol, max_iter=MANY, random_state=0)


def lightning_saga(one: Instance, epochs: float) -> Any:
    from lightning.classification import SAGAClassifier
    from lightning.regression import SAGARegressor

    shared = {
        "alpha": one.l2, "beta": one.l1, "penalty": "l1" if one.l1 else None, "tol": 0.0,
        "max_iter": int(epochs), "random_state": 0,
    }  # fmt: skip
    if one.loss == "squared":
        return SAGARegressor(loss="squared", **shared)
    return SAGAClassifier(loss="log" if one.loss == "logistic" else one.loss, **shared)


def lightning_svrg(one: Instance, epochs: float) -> Any:
    """It has no automatic step: 1/(3 L) for L of the longest row is what its paper suggests."""
    from lightning.classification import SVRGClassifier

    rows = one.A.multiply(one.A).sum(axis=1) if one.sparse else np.sum(one.A**2, axis=1)
    curvature = 0.25 if one.loss == "logistic" else 2.0
    step = 1.0 / (3.0 * (curvature * float(np.max(rows)) + one.l2))
    loss = "log" if one.loss == "logistic" else one.loss
    return SVRGClassifier(
        loss=loss, alpha=one.l2, eta=step, max_iter=int(epochs), tol=0.0, random_state=0
    )


def lightning_fista(one: Instance, iterations: float) -> Any:
    from lightning.regression import FistaRegressor

    return FistaRegressor(penalty="l1", C=1.0 / one.n, alpha=one.l1, max_iter=int(iterations))


def adelie(one: Instance) -> Run:
    """One point of grpnet: the one pair of penalties, its own path switched off.

    With a path of one point it starts cold, as everyone here does.
    """
    import adelie as ad

    A = ad.matrix.sparse(one.columns) if one.sparse else one.columns

    def run(tol: float) -> np.ndarray:
        if one.loss == "squared":
            glm = ad.glm.gaussian(one.b)
        else:
            glm = ad.glm.binomial(0.5 * (one.b + 1.0))
        state = ad.grpnet(
            A, glm, alpha=l1_ratio(one), lmda_path=[one.l1 + one.l2], intercept=False,
            early_exit=False, progress_bar=False, tol=tol, irls_tol=tol,
        )  # fmt: skip
        return state.betas.toarray().ravel()

    return run


def more_peers() -> list[Peer]:
    penalised = ("l1-logistic", *SQUARED)
    cyanure_families = (*L2_SMOOTH, *penalised)
    snap_dual = ("l2-logistic", "l2-squared-hinge", "l2-hinge")
    snap_primal = ("l2-logistic", "l1-logistic", "lasso")
    sdca = ("l2-squared-hinge", "l2-hinge", "elastic-net")
    descent = (*L2_SMOOTH, "l1-logistic", "lasso")
    columns = "columns"
    return [
        Peer("celer", "celer", penalised, estimator(celer, columns)),
        Peer("skglm", "skglm", ("l2-hinge", *penalised), estimator(skglm, columns), warm="parent"),
        Peer("skglm-gram", "skglm", SQUARED, skglm_gram, warm="parent"),
        Peer("skglm-lbfgs", "skglm", ("l2-logistic",), estimator(skglm_lbfgs), warm="parent"),
        Peer("adelie", "adelie", ("l2-logistic", *penalised), adelie),
        Peer("snapml-dual", "snapml", snap_dual, snapml(dual=True)),
        Peer("snapml-primal", "snapml", snap_primal, snapml(dual=False)),
        Peer("lightning-svc", "lightning", ("l2-squared-hinge", "l2-hinge"),
             estimator(lightning_svc)),
        Peer("lightning-sdca", "lightning", sdca, estimator(lightning_sdca)),
        Peer("lightning-cd", "lightning", descent, estimator(lightning_cd, columns)),
        Peer("cyanure-auto", "cyanure", cyanure_families, cyanure("auto")),
        Peer("cyanure-qning-ista", "cyanure", cyanure_families, cyanure("qning-ista")),
        Peer("cyanure-qning-miso", "cyanure", cyanure_families, cyanure("qning-miso")),
        Peer("cyanure-catalyst-miso", "cyanure", cyanure_families, cyanure("catalyst-miso")),
        Peer("cyanure-acc-svrg", "cyanure", cyanure_families, cyanure("acc-svrg")),
        Peer("lightning-sdca-epochs", "lightning", sdca, estimator(by_epochs(lightning_sdca)),
             EPOCHS),
        Peer("lightning-cd-epochs", "lightning", descent,
             estimator(by_epochs(lightning_cd), columns), EPOCHS),
        Peer("lightning-saga", "lightning", (*L2_SMOOTH, *penalised), estimator(lightning_saga),
             EPOCHS),
        Peer("lightning-svrg", "lightning", L2_SMOOTH, estimator(lightning_svrg), EPOCHS),
        Peer("lightning-fista", "lightning", ("lasso",), estimator(lightning_fista), EPOCHS),
    ]  # fmt: skip
