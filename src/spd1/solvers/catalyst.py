"""Acceleration from outside: the problem with a proximal term, whose centre moves with momentum.

    x_k ~ argmin_x P(x) + kappa/2 |x - z_k-1|^2,     z_k = x_k + beta (x_k - x_k-1)

Catalyst (Lin, Mairal & Harchaoui 2015, 2018) and accelerated SDCA (Shalev-Shwartz & Zhang 2014)
are of this form. A method that solves the inner problem needs nothing new: kappa is added to
every l2, and kappa z is taken off the gradient A'(c y) of the coupling.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..certificate.points import Pair, pair_of
from ..problem import Problem
from ..terms import NO_REACH, loss_terms, net_terms

__all__ = [
    "InnerGap",
    "Momentum",
    "catalyst_momentum",
    "eased",
    "inner_gap",
    "inner_net",
    "wanted_strength",
]

LESS = 4.0  # the proximal term is so many times weaker once an inner problem was easy


class Momentum(NamedTuple):
    """The proximal term's weight, how far centres overshoot, and the accuracy asked for.

    A point is good enough if its inner gap is at most ``share`` kappa/2 |x - z|^2.
    """

    kappa: float
    beta: float
    share: float


class InnerGap(NamedTuple):
    """Rows' and columns' part of the duality gap of the inner problem."""

    rows: float
    columns: float

    @property
    def gap(self) -> float:
        total = self.rows + self.columns
        return total if math.isfinite(total) else math.inf

    @property
    def lag(self) -> float:
        """Above 1 y lags behind x, below 1 x behind y."""
        tiny = 1e-300
        return (self.rows + tiny) / (self.columns + tiny) if math.isfinite(self.gap) else 1.0


def catalyst_momentum(mu: float, kappa: float) -> Momentum:
    """What Catalyst takes for a strongly convex P.

    q = mu / (mu + kappa), beta = (1 - sqrt q) / (1 + sqrt q), and its criterion (C2) with
    delta = sqrt q / (2 - sqrt q): every outer step then leaves 1 - sqrt(q)/2 of P(x) - P*.

    Examples
    --------
    >>> catalyst_momentum(1.0, 3.0)
    Momentum(kappa=3.0, beta=0.3333333333333333, share=0.3333333333333333)
    """
    root = math.sqrt(mu / (mu + kappa))
    return Momentum(kappa, (1.0 - root) / (1.0 + root), root / (2.0 - root))


def eased(mu: float, kappa: float) -> Momentum:
    """A weaker proximal term, where inner problems are easier than they need be; none below mu.

    The worst case says how strong the term should be for inner problems of about one epoch; most
    data is kinder. It only ever becomes weaker, with a momentum that starts anew, so a run has
    few such changes, and the theorem holds from the last one on.

    Examples
    --------
    >>> eased(1.0, 12.0).kappa, eased(1.0, 3.0).kappa
    (3.0, 0.0)
    """
    less = kappa / LESS
    return catalyst_momentum(mu, less if less > mu else 0.0)


def wanted_strength(problem: Problem) -> float:
    """The strong convexity with which n d one-entry steps are as many as the inner problem needs.

    Theorem 3 asks for max(d R^2, d R'^2) / (mu gamma) steps, up to its constant; with mu in their
    place, max(R^2, R'^2) / (n gamma) makes that n d. Rows and columns count with their weights.
    """
    p = problem
    rows = float((p.n * p.c * p.row_norms_squared).max())
    if p.uniform_weights:
        columns = float(p.column_norms_squared.max())
    else:
        columns = p.n * float(p.grid.weighted_squares(p.c).max())
    return max(rows, columns) / (p.n * p.gamma)


def inner_net(problem: Problem, kappa: float) -> Any:
    """The regularizer with kappa added to every l2, as kernels see it."""
    return replace(problem.reg, l2=problem.reg.l2 + kappa).bind(problem.d)


def inner_gap(problem: Problem, pair: Pair, y: np.ndarray, pull: np.ndarray, net: Any) -> InnerGap:
    """Gap of the inner problem at x and y; ``pull`` is kappa z - A'(c y).

    The linear and the constant part of the proximal term cancel in g(x) + g*(v) - x v.
    """
    p, point = problem, pair.point
    rows = loss_terms(point.u, y, p.b, p.c, p.loss)[2]
    return InnerGap(float(rows), float(net_terms(point.x, pull, NO_REACH, net)[2]))


def evaluated_pair(problem: Problem, x: np.ndarray, y: np.ndarray) -> tuple[Pair, np.ndarray]:
    """The pair with both products made here, and A'(c y)."""
    gradient = problem.adjoint(problem.c * y)
    return pair_of(problem, x.copy(), problem.margins(x), y.copy(), -gradient), gradient
