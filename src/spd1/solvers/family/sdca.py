"""SDCA: stochastic dual coordinate ascent (Shalev-Shwartz & Zhang 2013)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.points import pair_of
from ...errors import IncompatibleError, ParameterError
from ...kernel.rng import indices
from ...problem import Problem
from ..base import PairMethod
from ..rows.kernels import Geometry, tie, tied_row_steps
from ..tuning import ENTRIES_A_CHUNK
from .states import Dual

__all__ = ["SDCA"]


class SDCA(PairMethod):
    """Draw a row, maximise the dual in its y_i; x follows y.

        y_i+ = prox_{s phi*}(y_i + s a_i'x),  s = mu / (c_i |a_i|^2);   x = argmax_t {-G t - g(t)}

    where G = A'(c y) is kept up to date: a step costs the row's entries. The step is exact for a
    plain l2, and their proximal variant's (2014) elsewhere. Rows are drawn with replacement, as
    their theorems have it; ``rows`` visits each once a pass, and knows more than this step.
    """

    name = "sdca"
    maintains = "gradient"
    reads_norms = True

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} needs l2 > 0 for every feature, so that x follows y: use method "
                "'rows', 'spdhg' or 'chambolle-pock', or add an l2"
            )

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws rows"
            )
        self.A = self.problem.grid.by_rows.matrix
        self.set_net(self.problem.net, self.problem.mu)

    def set_net(self, net: Any, mu: float) -> None:
        """The regularizer that x follows, and its strong convexity."""
        p = self.problem
        self.net = net
        self.geometry = Geometry(p.row_norms_squared / mu, p.c)
        self.scale = -1.0 / mu if p.reg.scalar and p.reg.plain else 0.0  # x = scale G

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        self.state = Dual(x.copy(), y.copy(), G)
        self.look()

    def epoch(self) -> Iterator[None]:
        p = self.problem
        rows_a_chunk = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        for first, count in self.chunks(p.n, rows_a_chunk):
            order = indices(self.key, first, count, p.n)
            self.visit(order)
            self.t = first + count
            self.ledger.entries += count / p.n * p.stored
            self.ledger.paper_passes += count / p.n
            yield
        self.look()

    def visit(self, order: np.ndarray) -> None:
        """The exact steps of these rows."""
        p, s = self.problem, self.state
        tied_row_steps(
            self.A, None, p.b, self.geometry, s.y, s.G, p.loss, self.net, self.scale, order
        )

    def look(self) -> None:
        """X from G, and its margins."""
        p, s = self.problem, self.state
        tie(s.G, self.net, s.x)
        self.pair = pair_of(p, s.x.copy(), p.margins(s.x), s.y.copy(), -s.G)
