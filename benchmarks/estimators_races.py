"""Data and objectives of ``estimators.py``: our estimators, and scikit-learn's of the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model as peers
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC, LinearSVR

import spd1
import spd1.linear_model as ours
from spd1.design.intercept import Design

__all__ = ["Point", "Race", "point_of", "races"]

ENDLESS = 10**7  # max_iter of scikit-learn: the clock ends its fits
SHARE = 0.05  # of the smallest alpha at which all coefficients are 0
EPSILON, HUBER = 0.1, 1.35
PLAIN_LP = 2_000_000  # entries up to which scikit-learn's quantiles are tried


# Data


def synthetic(n: int, d: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / math.sqrt(d) + 0.5 * rng.normal(size=n) + 1.0
    return X, y / y.std()


def text(n: int = 3000, d: int = 8000, words: int = 80) -> tuple[Any, np.ndarray]:
    """Words by Zipf's law, logarithms of counts, rows of length 1."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / (10.0 + np.arange(d))
    columns = rng.choice(d, size=n * words, p=frequency / frequency.sum())
    counts = sp.csr_matrix((np.ones(n * words), (np.repeat(np.arange(n), words), columns)), (n, d))
    X = counts.log1p()
    X = sp.csr_matrix(sp.diags(1.0 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    y = X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) + 1.0
    return X, y / y.std()


def diabetes() -> tuple[Any, np.ndarray]:
    X, y = load_diabetes(return_X_y=True)
    return scale(X), y / y.std()


def cancer() -> tuple[Any, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def digits() -> tuple[Any, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


DATA: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "diabetes": diabetes,
    "cancer": cancer,
    "digits": digits,
    "20000x50": lambda: synthetic(20000, 50),
    "2000x2000": lambda: synthetic(2000, 2000),
    "200x5000": lambda: synthetic(200, 5000),
    "text": text,
}
LABELS_ONLY, TARGETS_ONLY = ("cancer", "digits"), ("diabetes",)


@cache
def load(name: str) -> tuple[Any, np.ndarray]:
    return DATA[name]()


# Problems


@dataclass
class Race:
    """An objective, our estimator of it, and scikit-learn's by name of the variant.

    ``value(u, b, x)`` is the objective by scikit-learn's documentation, in units of the mean loss,
    for margins u = Xx + intercept: a check on both sides, independent of spd1.
    """

    name: str
    data: str
    X: Any
    y: np.ndarray
    mine: Any
    theirs: dict[str, Any]
    loss: Any
    reg: Any
    value: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    intercept: bool = True
    alone: bool = False  # whether models are certified without our dual point

    @cached_property
    def labels(self) -> list[np.ndarray]:
        """The targets, or labels -1 and 1, of each problem."""
        if not hasattr(self.mine, "predict_proba") and "SVC" not in self.name:
            return [self.y]
        classes = np.unique(self.y)
        return [np.where(self.y == k, 1.0, -1.0) for k in classes[1 if len(classes) == 2 else 0 :]]

    @cached_property
    def problems(self) -> list[Any]:
        design = Design(self.X, self.intercept)
        return [design.problem(b, self.loss, self.reg) for b in self.labels]

    def prepare(self, tol: float) -> None:
        """Our fit at a small tol, whose dual points certify scikit-learn's models."""
        self.tight = clone(self.mine).set_params(tol=tol).fit(self.X, self.y)

    def certify(self, point: Point) -> float:
        """The largest relative gap of the problems at a point."""
        if self.name == "HuberRegressor":
            value, bound = self.values(point)[0], float(self.tight.certificate_.dual)
            return max(value - bound, 0.0) / max(abs(value), abs(bound))
        duals = np.atleast_2d(self.tight.dual_coef_)
        levels = point.level[:, None] if self.intercept else np.zeros((len(point.coef), 0))
        return max(
            float(spd1.certify(x, problem, None if self.alone else y).rel_gap)
            for x, problem, y in zip(
                np.hstack([point.coef, levels]), self.problems, duals, strict=True
            )
        )

    def values(self, point: Point) -> list[float]:
        found = []
        for x, level, b in zip(point.coef, point.level, self.labels, strict=True):
            u = np.asarray(self.X @ x).ravel() + level
            if point.sigma is None:
                found.append(self.value(u, b, x))
            else:
                found.append(huber(u - b, point.sigma) + self.reg.l2 * float(x @ x))
        return found


class Point(NamedTuple):
    """Coefficients and intercepts of each problem; Huber's scale."""

    coef: np.ndarray
    level: np.ndarray
    sigma: float | None


def point_of(model: Any) -> Point:
    models = getattr(model, "estimators_", [model])
    coef = [np.atleast_2d(one.coef_.toarray() if sp.issparse(one.coef_) else one.coef_)
            for one in models]  # fmt: skip
    level = [np.broadcast_to(np.ravel(one.intercept_), (len(x),))
             for one, x in zip(models, coef, strict=True)]  # fmt: skip
    return Point(np.vstack(coef), np.concatenate(level), getattr(model, "scale_", None))


def huber(residual: np.ndarray, sigma: float) -> float:
    z = np.abs(residual) / sigma
    return float(sigma + sigma * np.where(z < HUBER, z * z, 2 * HUBER * z - HUBER**2).mean())


def with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.csr_matrix(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])


def liblinear(peer: Any) -> dict[str, Any]:
    """With intercepts that pay less and less."""
    return {f"scaling {s}": clone(peer).set_params(intercept_scaling=s) for s in (1, 10, 100)}


def classification(data: str) -> Iterator[Race]:
    X, y = load(data)
    y = y if data in LABELS_ONLY else (y > y.mean() + 0.3 * y.std()).astype(int)
    l2 = 1.0 / len(y)  # C = 1
    reg = spd1.ElasticNet(l2=l2)
    solvers = ("lbfgs", "newton-cholesky") if X.shape[1] <= 2000 else ("lbfgs",)
    theirs: dict[str, Any] = {
        name: peers.LogisticRegression(solver=name, max_iter=ENDLESS) for name in solvers
    }
    if data == "digits":
        theirs = {name: OneVsRestClassifier(one) for name, one in theirs.items()}
    mine = ours.LogisticRegression(multi_class="ovr")
    yield Race(
        "LogisticRegression", data, X, y, mine, theirs, "logistic", reg,
        lambda u, b, x: float(np.logaddexp(0.0, -b * u).mean() + 0.5 * l2 * x @ x),
    )  # fmt: skip
    for loss, power in (("hinge", 1), ("squared_hinge", 2)):
        peer = LinearSVC(loss=loss, dual="auto", max_iter=ENDLESS, random_state=0)

        def value(u: np.ndarray, b: np.ndarray, x: np.ndarray, power: int = power) -> float:
            return float((np.maximum(0.0, 1.0 - b * u) ** power).mean() + 0.5 * l2 * x @ x)

        name = f"LinearSVC {loss}"
        mine = ours.LinearSVC(loss=loss, penalize_intercept=False)
        yield Race(name, data, X, y, mine, liblinear(peer), loss, reg, value)
        yield bare(Race(name, data, with_ones(X), y, mine, {"": peer}, loss, reg, value, False))


def bare(race: Race) -> Race:
    """Without an intercept: a column of ones has been put in its place."""
    race.name += " +ones"
    race.mine = clone(race.mine).set_params(fit_intercept=False)
    race.theirs = {
        name: clone(one).set_params(fit_intercept=False) for name, one in race.theirs.items()
    }
    return race


def regression(data: str) -> Iterator[Race]:
    X, y = load(data)
    n, Net = len(y), spd1.ElasticNet

    def insensitive(u: np.ndarray, b: np.ndarray, x: np.ndarray) -> float:
        return float(np.maximum(0.0, np.abs(u - b) - EPSILON).mean() + 0.5 / n * x @ x)

    def squares(l1: float, l2: float) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
        return lambda u, b, x: float(
            0.5 * ((u - b) ** 2).mean() + l1 * np.abs(x).sum() + 0.5 * l2 * x @ x
        )

    mine = ours.LinearSVR(epsilon=EPSILON, penalize_intercept=False)
    peer = LinearSVR(epsilon=EPSILON, dual="auto", max_iter=ENDLESS, random_state=0)
    loss, reg = spd1.EpsilonInsensitive(EPSILON), Net(l2=1.0 / n)
    name = "LinearSVR"
    yield Race(name, data, X, y, mine, liblinear(peer), loss, reg, insensitive)
    yield bare(Race(name, data, with_ones(X), y, mine, {"": peer}, loss, reg, insensitive, False))

    alpha = SHARE * float(np.abs(X.T @ (y - y.mean())).max()) / n
    for name, ratio in (("Lasso", 1.0), ("ElasticNet", 0.5)):
        given = {"alpha": alpha} if ratio == 1.0 else {"alpha": alpha / ratio, "l1_ratio": ratio}
        l1, l2 = alpha, alpha / ratio * (1.0 - ratio)
        yield Race(
            name, data, X, y, getattr(ours, name)(**given),
            {"": getattr(peers, name)(max_iter=ENDLESS, **given)},
            "squared", Net(l1=l1, l2=l2), squares(l1, l2),
        )  # fmt: skip
    solver = "sparse_cg" if sp.issparse(X) else "auto"
    yield Race(
        "Ridge", data, X, y, ours.Ridge(), {"": peers.Ridge(solver=solver, max_iter=ENDLESS)},
        "squared", Net(l2=1.0 / n), squares(0.0, 1.0 / n),
    )  # fmt: skip
    if X.shape[0] * X.shape[1] <= PLAIN_LP and not sp.issparse(X):
        alpha = SHARE * 0.5 * float(np.abs(X.T @ np.sign(y - np.median(y))).max()) / n
        yield Race(
            "QuantileRegressor", data, X, y, ours.QuantileRegressor(alpha=alpha),
            {"highs": peers.QuantileRegressor(alpha=alpha)}, spd1.Quantile(0.5), Net(l1=alpha),
            lambda u, b, x: float(0.5 * np.abs(u - b).mean() + alpha * np.abs(x).sum()),
        )  # fmt: skip
    yield Race(
        "HuberRegressor", data, X, y, ours.HuberRegressor(epsilon=HUBER),
        {"": peers.HuberRegressor(epsilon=HUBER, max_iter=ENDLESS)},
        "huber", Net(l2=1e-4 / n), lambda u, b, x: math.nan,
    )  # fmt: skip


def races(only: str) -> Iterator[Race]:
    for data in DATA:
        for kind, others in ((regression, LABELS_ONLY), (classification, TARGETS_ONLY)):
            if data not in others:
                yield from (one for one in kind(data) if re.search(only, f"{data}/{one.name}"))
