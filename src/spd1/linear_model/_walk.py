"""The walk along a regularization path: warm starts, and only the columns that can matter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..certificate.gap import Certificate, certificate_of
from ..certificate.points import dual_from_margins, dual_of, paired, primal_of
from ..design.intercept import Design
from ..engines.blas import one_thread
from ..errors import ParameterError
from ..paths.walk import PathWalk
from ..problem import Problem
from ..regularizers import ElasticNet as Net
from ..solve import solve
from ._progress import Watch
from .tuning import PATH_LOOKS, PATH_ROUNDS

__all__ = ["Walk", "net_of"]


def net_of(alpha: float, l1_ratio: float, positive: bool = False) -> Net:
    """The elastic net in scikit-learn's parameters."""
    lower = 0.0 if positive else -math.inf
    return Net(l1=alpha * l1_ratio, l2=alpha * (1.0 - l1_ratio), lower=lower)


Row = tuple[np.ndarray, Certificate, int, int]  # x, certificate, iterations, columns left out


class Walk:
    """The state of a path: the last solution, and what it says about every column."""

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        loss: Any,
        ratio: float,
        positive: bool,
        fit_intercept: bool,
        weight: Any,
        tol: float,
    ) -> None:
        self.ratio, self.positive, self.loss, self.tol = ratio, positive, loss, tol
        design = Design(X, fit_intercept, weight)
        self.centre: tuple[np.ndarray, float] | None = None
        if fit_intercept and loss.quadratic and design.centrable:
            X, mean = design.centred(weight)
            level = float(np.average(y, weights=weight))
            y, self.centre = y - level, (mean, level)
            design = Design(X, False, weight)
        self.design = design
        self.problem: Problem = design.problem(y, loss, Net())
        self.y = np.zeros(design.n)
        self.x = np.zeros(self.problem.d)
        self.last: float | None = None
        self.v: np.ndarray | None = None

    def largest(self) -> float:
        """Smallest alpha at which no feature is needed."""
        if self.ratio == 0.0:
            raise ParameterError("l1_ratio=0 never leaves out a feature: give alphas yourself")
        self.start()
        assert self.v is not None
        v = self.v[: self.design.d]
        force = float(v.max() if self.positive else np.abs(v).max())
        return max(force, 0.0) / self.ratio

    def start(self) -> None:
        """X = 0 and the best intercept."""
        if self.v is not None:
            return
        p = self.problem
        if self.design.fit_intercept:
            alone = Problem(np.ones((p.n, 1)), p.b, p.loss, None, p.c)
            result = solve(alone, tol=1e-9, max_passes=1e6)
            self.x[-1], self.y = result.x[0], result.y
        else:
            self.y = dual_from_margins(p, np.zeros(p.n))
        self.v = -p.adjoint(p.c * self.y)

    def whole(self, alpha: float) -> Problem:
        """The problem at alpha; everything that does not depend on it is shared."""
        return self.problem.with_regularizer(self.design.regularizer(self.net(alpha)))

    def net(self, alpha: float) -> Net:
        return net_of(alpha, self.ratio, self.positive)

    def kept(self, alpha: float, screen: bool) -> np.ndarray:
        """Sequential strong rule: columns whose force could reach l1 at the next alpha."""
        assert self.v is not None
        d = self.design.d
        if not screen or self.ratio == 0.0:
            return np.ones(d, dtype=bool)
        v = self.v[:d] if self.positive else np.abs(self.v[:d])
        before = v.max() if self.last is None else self.last * self.ratio
        return np.asarray((v >= 2.0 * alpha * self.ratio - before) | (self.x[:d] != 0.0))

    def rows(self, alphas: np.ndarray, screen: bool) -> list[Row]:
        """Solve at every alpha, on one walk where that is the whole story."""
        plain = screen and not self.design.fit_intercept
        if not (plain and PathWalk.suits(self.problem, self.ratio)):
            return [self.step(float(alpha), screen) for alpha in alphas]
        found: list[Row] = []
        with one_thread():
            walk = PathWalk(self.problem, self.ratio, self.positive, self.tol)
            for alpha, after in zip(alphas, [*alphas[1:], alphas[-1]], strict=True):
                point = walk.step(float(alpha), float(after))
                if point is None:  # rounding shows
                    self.x, self.last = walk.x.copy(), None
                    point = self.step(float(alpha), screen=False)
                found.append(point)
        return found

    def step(self, alpha: float, screen: bool) -> Row:
        """Solve at alpha: x, its certificate, iterations, columns left out."""
        self.start()
        whole = self.whole(alpha)
        keep, tol, looks = self.kept(alpha, screen), 0.5 * self.tol, 0
        for _ in range(PATH_ROUNDS):
            watch = Watch(PATH_LOOKS, tol)
            proof, wrong = self.attempt(whole, alpha, keep, tol, watch)
            looks += watch.iterations
            if proof.rel_gap <= self.tol:
                break
            if np.any(wrong):
                keep |= wrong
            else:
                tol *= 0.1
        else:
            watch = Watch(PATH_LOOKS, self.tol)
            result = solve(whole, tol=self.tol, x0=self.x, callback=watch, max_passes=1e12)
            self.x, self.y, proof = result.x, result.y, result.certificate
            self.v = -whole.adjoint(whole.c * self.y)
        self.last = alpha
        return self.x.copy(), proof, looks, int(np.sum(~keep))

    def attempt(
        self, whole: Problem, alpha: float, keep: np.ndarray, tol: float, watch: Watch
    ) -> tuple[Certificate, np.ndarray]:
        """Solve on the kept columns and certify with all; then name the columns missing."""
        d = self.design.d
        full = bool(np.all(keep))
        columns = np.flatnonzero(keep)
        data = self.design.X if full else self.design.X[:, columns]
        if len(columns):
            part = self.design if full else Design(data, self.design.fit_intercept, whole.c)
            x0 = self.x if full else np.append(self.x[:d][columns], self.x[d:])
            result = part.solve(
                whole.b, self.loss, self.net(alpha), whole.c, tol=tol, x0=x0, callback=watch,
                max_passes=1e12,
            )  # fmt: skip
            self.x = np.zeros(whole.d)
            self.x[columns] = result.x[: len(columns)]
            self.x[d:] = result.x[len(columns) :]
            self.y = result.y
        margins = np.asarray(data @ self.x[:d][columns]).ravel() + float(self.x[d:].sum())
        self.v = -whole.adjoint(whole.c * self.y)
        dual = dual_of(whole, self.y, self.v)
        proof = certificate_of(whole, paired(whole, primal_of(whole, self.x, margins), dual))
        force = self.v[:d] if self.positive else np.abs(self.v[:d])
        return proof, ~keep & (force > alpha * self.ratio)

    def lift(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts and coefficients of the rows of x."""
        if self.centre is not None:
            mean, level = self.centre
            return level - x @ mean, x
        if self.design.fit_intercept:
            return x[:, -1].copy(), x[:, :-1].copy()
        return np.zeros(len(x)), x
