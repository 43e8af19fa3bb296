"""Least-squares paths on tall data: one Gram matrix serves every alpha.

    x'G x / 2 - h'x,   G = A'CA,  h = A'C b

says all there is to know of the loss, gap included, so a problem of the path costs nothing that
grows with the number of rows. The certificates are then computed from the data itself, for all
alphas together: two products of matrices.
"""

from __future__ import annotations

import numpy as np

from ..certificate.gap import Certificate, certificate_of
from ..certificate.segments import shrunk_pair
from ..problem import Problem
from ..solvers.newton.faces.primal import column_gram
from ..solvers.newton.linalg.gram import minimise_on_gram
from ._regressors import net_of
from .tuning import (
    ALPHAS_AT_ONCE,
    FIRST_GOAL,
    GRAM_ROUNDS,
    LEFT,
    PATH_COLUMNS,
    PATH_TALL,
    SHARPER,
)

__all__ = ["GramPath"]


class GramPath:
    """The path of one problem without intercept.

    Parameters
    ----------
    problem : Problem
        Squared loss; its regularizer does not matter.
    ratio : float
        l1_ratio.
    positive : bool
    tol : float
    """

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Whether the Gram matrix is small beside the data, and dense data as quick to read."""
        p = problem
        tall = PATH_TALL * p.d <= p.n and p.d <= PATH_COLUMNS
        return tall and p.loss.quadratic and p.grid.dense

    def __init__(self, problem: Problem, ratio: float, positive: bool, tol: float) -> None:
        p = problem
        self.problem, self.ratio, self.positive, self.tol = p, ratio, positive, tol
        self.G = column_gram(p)
        self.values = np.asarray(p.grid.dense_rows(), dtype=float)
        self.h = np.asarray(self.values.T @ (p.c * p.b), dtype=float)
        self.square = float(p.c @ (p.b * p.b))
        self.table = np.zeros((p.d, 5))
        self.table[:, 3:] = (0.0 if positive else -np.inf), np.inf
        self.z, self.g = np.zeros(p.d), -self.h

    def largest(self) -> float:
        """The strongest pull at zero."""
        return max(float(self.h.max() if self.positive else np.abs(self.h).max()), 0.0)

    def gap(self) -> tuple[float, float]:
        """Objective and gap at z by the Gram matrix alone, for a multiple of the residuals."""
        z, g, l1, l2 = self.z, self.g, self.table[0, 1], self.table[0, 2]
        inner = float(z @ self.h)
        residual = max(float(z @ g) - inner + self.square, 0.0)  # |A z - b|^2
        primal = 0.5 * residual + l1 * float(np.abs(z).sum()) + 0.5 * l2 * float(z @ z)
        pull = -g if self.positive else np.abs(g)
        strongest = float(pull.max())
        if l2 == 0.0:
            theta = 1.0 if strongest <= l1 else l1 / strongest
            conjugate = 0.0
        else:
            theta, over = 1.0, np.maximum(pull - l1, 0.0)
            conjugate = 0.5 * float(over @ over) / l2
        dual = theta * (self.square - inner) - 0.5 * theta * theta * residual - conjugate
        return primal, primal - dual

    def solve(self, alpha: float) -> int:
        """Move z to the solution at alpha; returns the rounds it took."""
        net = net_of(alpha, self.ratio, self.positive)
        self.table[:, 1], self.table[:, 2] = net.l1, net.l2
        share = FIRST_GOAL * self.tol
        for count in range(1, GRAM_ROUNDS + 1):
            primal, gap = self.gap()
            if gap <= LEFT * self.tol * primal:
                return count
            minimise_on_gram(self.G, self.table, self.z, self.g, share * primal)
            share *= SHARPER
        self.g = self.G @ self.z - self.h  # rounding may have crept in
        return GRAM_ROUNDS

    def run(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solutions of all alphas, one a row, and the rounds of each."""
        points, rounds = np.empty((len(alphas), self.problem.d)), np.empty(len(alphas), dtype=int)
        for k, alpha in enumerate(alphas):
            rounds[k] = self.solve(float(alpha))
            points[k] = self.z
        return points, rounds

    def certificates(self, alphas: np.ndarray, points: np.ndarray) -> list[Certificate]:
        """Certificates of solutions, from the data."""
        p, proofs = self.problem, []
        for first in range(0, len(alphas), ALPHAS_AT_ONCE):
            x = points[first : first + ALPHAS_AT_ONCE]
            u = np.asarray(x @ self.values.T, dtype=float)
            y = u - p.b
            v = (y * -p.c) @ self.values
            for k, alpha in enumerate(alphas[first : first + ALPHAS_AT_ONCE]):
                whole = p.with_regularizer(net_of(float(alpha), self.ratio, self.positive))
                proofs.append(certificate_of(whole, shrunk_pair(whole, x[k], u[k], y[k], v[k])))
        return proofs
