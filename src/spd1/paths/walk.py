"""Walking along a path: at every alpha a set of columns is solved, then all columns are asked.

The set of the next alpha has the columns that the sequential strong rule names. The rule may err:
a point counts when the certificate of the whole problem says so.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..certificate.gap import Certificate
from ..certificate.points import dual_from_margins
from ..losses.logistic import Logistic
from ..problem import Problem
from ..regularizers import SharedNet
from .curved import CurvedGramSet, CurvedSet
from .forces import Forces
from .proof import Rounding, proof_of
from .sets import GramSet, LineSet
from .tuning import FEW_AT_A_TIME, GOAL, MOST_PRODUCTS, ROUNDS, SHARPER

__all__ = ["PathWalk", "Point"]

Point = tuple[np.ndarray, Certificate, int, int]  # x, certificate, rounds, columns left out


class PathWalk:
    """The path of one problem without intercept, for l1 > 0.

    Parameters
    ----------
    problem : Problem
        Its regularizer does not matter.
    ratio : float
        l1_ratio.
    positive : bool
    tol : float
    """

    @staticmethod
    def suits(problem: Problem, ratio: float) -> bool:
        """Whether there is a way to walk it."""
        known = problem.loss.quadratic or isinstance(problem.loss, Logistic)
        return bool(ratio > 0.0 and known and problem.grid.shape == (1, 1))

    def __init__(self, problem: Problem, ratio: float, positive: bool, tol: float) -> None:
        p = problem
        self.problem, self.ratio, self.tol = p, ratio, tol
        self.lower = 0.0 if positive else -math.inf
        self.x = np.zeros(p.d)
        self.forces = Forces(p, dual_from_margins(p, np.zeros(p.n)), positive)
        self.set = self._set(p.grid.dense)
        self.goal, self.rounding = GOAL * tol, Rounding(p)
        self.last, self.older = math.inf, math.inf  # l1 of the last alpha, and the one before
        everything = np.arange(p.d)
        self.seen = everything, self.forces.v

    def _set(self, products: bool) -> Any:
        """An empty set of columns, on products with each other or not."""
        p, B = self.problem, self.forces.B
        if not p.loss.quadratic:
            return (CurvedGramSet if products else CurvedSet)(p, B, self.lower)
        if products:
            return GramSet(p, B, self.lower, self.forces.v.copy())
        return LineSet(p, B, self.lower, self.forces.lengths)

    def largest(self) -> float:
        """Smallest alpha at which no column is needed."""
        return max(float(self.forces.strength(self.forces.v).max()), 0.0) / self.ratio

    def step(self, alpha: float, after: float) -> Point | None:
        """The point at alpha, ``after`` being the next one; None if it can't be proved here."""
        p, l1 = self.problem, alpha * self.ratio
        net = SharedNet(l1, alpha * (1.0 - self.ratio), self.lower, math.inf)
        if not net.l1 > 0.0:
            return None
        ids, v = self.seen
        strength = self.forces.strength(v)
        before = min(self.last, float(strength.max(initial=0.0)))
        self.admit(ids, strength, 2.0 * net.l1 - before)
        known = self.last < self.older < math.inf
        t = (self.last - net.l1) / (self.older - self.last) if known else 0.0
        self.set.predict(t)
        best, goal, level = math.inf, self.goal, min(2.0 * after * self.ratio - net.l1, net.l1)
        for count in range(1, ROUNDS + 1):
            self.set.minimise(net.l1, net.l2, goal)
            self.set.put(self.x)
            u = self.set.margins()
            y = u - p.b if p.loss.quadratic else dual_from_margins(p, u)
            ids, v = self.seen = self.forces.look(y, self.x, level)
            if self.rounding.shows(self.forces.square, net):
                return None
            proof = proof_of(p, net, self.x[ids], u, y, v, self.tol)
            if proof.rel_gap <= self.tol:
                self.older, self.last = self.last, net.l1
                return self.x.copy(), proof, count, p.d - len(self.set.ids)
            if not self.admit(ids, self.forces.strength(v), net.l1):
                if proof.rel_gap > 0.5 * best:  # what is left is rounding
                    return None
                best, goal = proof.rel_gap, SHARPER * goal
        return None

    def admit(self, ids: np.ndarray, strength: np.ndarray, level: float) -> bool:
        """Take in the columns that are pulled so strongly, or the strongest if they are many."""
        wanted = (strength >= level) & ~self.set.has[ids]
        fresh = int(np.count_nonzero(wanted))
        if fresh == 0:
            return False
        most = max(FEW_AT_A_TIME, 2 * int(np.count_nonzero(self.x)))
        if fresh > most:
            pull = np.where(wanted, strength, -math.inf)
            wanted = pull >= np.partition(pull, -most)[-most]
        self.set.admit(ids[wanted])
        if len(self.set.ids) > MOST_PRODUCTS and isinstance(self.set, GramSet | CurvedGramSet):
            before, self.set = self.set, self._set(False)  # sweeps over so many columns read less
            self.set.admit(before.ids)
            self.set.z[:], self.set.before = before.z, before.before
            self.set.margins()
        return True
