"""Accelerated SDCA (Shalev-Shwartz & Zhang 2014): SDCA inside, a centre with momentum outside."""

from __future__ import annotations

import math

import numpy as np

from ...certificate.points import pair_of
from ...errors import IncompatibleError
from ...problem import Problem
from ...terms import NO_REACH, loss_terms, net_terms
from ..catalyst import inner_net
from ..rows.kernels import tie
from .sdca import SDCA

__all__ = ["ASDCA"]


class ASDCA(SDCA):
    """SDCA on P(x) + kappa/2 |x - z|^2, where z = x + beta (x - x_before).

    kappa = R^2/(gamma n) - mu, eta = sqrt(mu / (mu + 2 kappa)), beta = (1 - eta) / (1 + eta). An
    inner problem is solved to a duality gap of eta / (2 (1 + eta^-2)) xi, where xi starts at
    (1 + eta^-2)(P(0) - D(0)) and shrinks by 1 - eta/2: their Figure 1, with R^2 the largest
    n c_i |a_i|^2. Where kappa would be negative it is SDCA.
    """

    name = "asdca"
    needs_smooth_loss = True
    maintains = ""
    remembers = (*SDCA.remembers, "centre", "before", "xi")

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
        self.beta = (1.0 - self.eta) / (1.0 + self.eta)
        self.set_net(inner_net(p, self.kappa), p.mu + self.kappa)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.centre, self.before = x.copy(), x.copy()
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
        if inner <= self.eta / (2.0 * (1.0 + self.eta**-2)) * self.xi:
            self.centre = s.x + self.beta * (s.x - self.before)
            self.before = s.x.copy()
            self.xi *= 1.0 - self.eta / 2.0
