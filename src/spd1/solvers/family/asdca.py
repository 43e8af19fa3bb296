"""Accelerated SDCA (Shalev-Shwartz & Zhang 2014): SDCA inside, a centre with momentum outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...certificate.points import pair_of
from ...control.steps import Proposal
from ...errors import IncompatibleError
from ...problem import Problem
from ...terms import NO_REACH, loss_terms, net_terms
from ..base import Saved
from ..catalyst import catalyst_momentum, eased, inner_net
from ..rows.kernels import tie
from .sdca import SDCA

__all__ = ["ASDCA"]


class ASDCA(SDCA):
    """SDCA on P(x) + kappa/2 |x - z|^2, where z = x + beta (x - x_before).

    kappa = R^2/(gamma n) - mu, R^2 the largest n c_i |a_i|^2. Where that is negative it is SDCA.

    steps="theory" is their Figure 1: with eta = sqrt(mu / (mu + 2 kappa)), beta is
    (1 - eta) / (1 + eta), and an inner problem is solved to a duality gap of
    eta / (2 (1 + eta^-2)) xi, where xi starts at (1 + eta^-2)(P(0) - D(0)) and shrinks by
    1 - eta/2. That is far more than it takes, so steps="auto" has the momentum and the criterion of
    Catalyst, which ask for no more than the last move was worth: the same rate, proved by Lin,
    Mairal & Harchaoui (2018). And R^2 is the worst case: where one sweep solves an inner problem,
    kappa is more than it needs. Then it becomes four times smaller and the momentum starts anew
    (``catalyst.eased``).
    """

    name = "asdca"
    needs_smooth_loss = True
    maintains = ""
    remembers = (*SDCA.remembers, "centre", "before", "xi", "strict", "kappa", "sweeps")
    sweeps = 0  # of the inner problem
    strict = False  # whether inner problems are solved as accurately as Figure 1 has it

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.gamma > 0:
            raise IncompatibleError(f"{cls.name} needs a smooth loss: use method 'sdca'")

    def prepare(self, sampling: str) -> None:
        super().prepare(sampling)
        p = self.problem
        R2 = float((p.n * p.c * p.row_norms_squared).max())
        self.kappa = max(R2 / (p.gamma * p.n) - p.mu, 0.0)
        self.eta = math.sqrt(p.mu / (p.mu + 2.0 * self.kappa))
        self.set_kappa()

    def set_kappa(self) -> None:
        """What follows from kappa."""
        p = self.problem
        self.momentum = catalyst_momentum(p.mu, self.kappa)
        self.set_net(inner_net(p, self.kappa), p.mu + self.kappa)

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.set_kappa()

    def adopt(self, proposal: Proposal) -> None:
        super().adopt(proposal)
        self.strict = proposal.source == "theory"

    @property
    def beta(self) -> float:
        """How far centres overshoot."""
        return (1.0 - self.eta) / (1.0 + self.eta) if self.strict else self.momentum.beta

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.centre, self.before, self.sweeps = x.copy(), x.copy(), 0
        super().begin(x, y, v)
        gap = pair_of(p, x, p.margins(x), y, -self.state.G).gap
        self.xi = (1.0 + self.eta**-2) * (gap if math.isfinite(gap) else self.pair.gap)

    def visit(self, order: np.ndarray) -> None:
        """SDCA's steps with kappa z taken off the gradient."""
        G = self.state.G
        G -= self.kappa * self.centre
        super().visit(order)
        G += self.kappa * self.centre

    def look(self) -> None:
        """X from G and the centre, its margins; the centre moves on if the inner gap is small."""
        p, s = self.problem, self.state
        pull = s.G - self.kappa * self.centre
        tie(pull, self.net, s.x)
        u = p.margins(s.x)
        s.G[:] = p.adjoint(p.c * s.y)  # the centre comes and goes: roundings must not stay
        self.pair = pair_of(p, s.x.copy(), u, s.y.copy(), -s.G)
        if self.t == 0 or self.kappa == 0.0:
            return
        rows = loss_terms(u, s.y, p.b, p.c, p.loss)[2]
        inner = float(rows + net_terms(s.x, -pull, NO_REACH, self.net)[2])
        self.sweeps += 1
        if inner <= self.accuracy():
            self.centre = s.x + self.beta * (s.x - self.before)
            self.before = s.x.copy()
            self.xi *= 1.0 - self.eta / 2.0
            if self.sweeps == 1 and not self.strict:
                self.lower_kappa()
            self.sweeps = 0

    def lower_kappa(self) -> None:
        """Inner problems are easier than they need be: fewer of them, and no momentum at first."""
        self.kappa = eased(self.problem.mu, self.kappa).kappa
        self.centre = self.before = self.state.x.copy()
        self.set_kappa()

    def accuracy(self) -> float:
        """Duality gap at which an inner problem is solved."""
        if self.strict:
            return self.eta / (2.0 * (1.0 + self.eta**-2)) * self.xi
        apart = self.state.x - self.centre
        return self.momentum.share * 0.5 * self.kappa * float(apart @ apart)

    def theory_steps(self) -> dict[str, Any]:
        """There are none; their Figure 1 has an accuracy of its own."""
        return {}
