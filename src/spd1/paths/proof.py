"""The certificate of a point of a path, from the columns that can add to the gap."""

from __future__ import annotations

import math

import numpy as np

from ..certificate.gap import Certificate, certificate_of
from ..certificate.points import DualPoint, Pair, PrimalPoint
from ..certificate.segments import best_between
from ..certificate.tuning import ROUGHLY
from ..problem import ROUNDED, SUBTLE, Problem
from ..regularizers import SharedNet
from ..terms import NO_REACH, loss_terms, net_terms

__all__ = ["Rounding", "proof_of"]


class Rounding:
    """When the rounding of v is nothing beside l1, and that of v^2 nothing beside l2."""

    def __init__(self, problem: Problem) -> None:
        p = problem
        self.faint = p.most_faint_l2
        self.size = ROUNDED * math.sqrt(p.grid.square_sum * float(p.c.max()))

    def shows(self, square: float, net: SharedNet) -> bool:
        """Whether it does, ``square`` being the sum of c y^2.

        |c y|^2 is at most the largest c times that.
        """
        if net.l2 > 0.0:
            return net.l2 <= self.faint
        return not self.size * math.sqrt(square) <= SUBTLE * net.l1


def proof_of(
    problem: Problem,
    net: SharedNet,
    x: np.ndarray,
    u: np.ndarray,
    y: np.ndarray,
    v: np.ndarray,
    tol: float,
) -> Certificate:
    """The certificate of x with the multiple of y that suits it.

    Parameters
    ----------
    problem : Problem
        Its regularizer does not matter.
    net : SharedNet
        The regularizer.
    x, v : ndarray
        Of all columns that are not zero or pulled by more than l1; the others add nothing.
    u, y : ndarray of shape (n,)
        Margins, and phi' there.
    tol : float
        A relative gap that is good enough.
    """
    pull = float((np.abs(v) if net.lower < 0.0 else v).max(initial=0.0))
    inside = min(1.0, net.l1 / pull) if pull > 0.0 else 1.0
    if net.l2 == 0.0 or inside == 1.0:
        return _at(problem, net, x, u, y, v, inside)
    whole = _at(problem, net, x, u, y, v, 1.0)
    if whole.rel_gap <= tol:
        return whole
    # Far from the optimum v exceeds l1 almost everywhere, and a small l2 makes that expensive.
    ends = (inside * y, inside * v), (y, v)
    share, _ = best_between(*ends, problem.b, problem.c, problem.loss, net, ROUGHLY)
    shrunk = _at(problem, net, x, u, y, v, inside + share * (1.0 - inside))
    return shrunk if shrunk.dual > whole.dual else whole


def _at(
    problem: Problem,
    net: SharedNet,
    x: np.ndarray,
    u: np.ndarray,
    y: np.ndarray,
    v: np.ndarray,
    theta: float,
) -> Certificate:
    p = problem
    if theta < 1.0:
        y, v = theta * y, theta * v
    if net.l2 == 0.0:  # what rounding left outside the bounds
        v = np.minimum(v, net.l1)
        if net.lower < 0.0:
            v = np.maximum(v, -net.l1)
    loss, conjugate, rows = loss_terms(u, y, p.b, p.c, p.loss)
    g, g_star, columns = net_terms(x, v, NO_REACH, net)
    primal, dual = loss + g, -(conjugate + g_star)
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    bound = DualPoint(y, v, dual if math.isfinite(dual) else -math.inf)
    return certificate_of(p, Pair(point, bound, float(rows), float(columns)))
