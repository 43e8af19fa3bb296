"""What the whole-matrix methods share: vectors, both products of every point, exact certificates.

They look at the data through A x and A'(c y) alone, so they run on data cut into tiles, on stores
and with threads as they do in memory. Products are known at every iterate, and by linearity at
every average, so a look at the certificate reads nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...certificate.points import Pair, pair_of
from ...control.balance import CautiousSteps
from ...control.steps import StepRule
from ...errors import ParameterError
from ..base import Method, Saved, typical_sizes
from ..tuning import ENTRIES_A_LOOK
from .tuning import MOST_ITERATIONS_A_LOOK, SAFE_NORM
from .vectors import coupling_norm, dual_prox, leeway_of, primal_prox

__all__ = ["Iterate", "WholeMatrix"]


class Iterate(NamedTuple):
    """x and y with their products u = A x and w = A'(c y)."""

    x: np.ndarray
    y: np.ndarray
    u: np.ndarray
    w: np.ndarray

    def mixed(self, other: Iterate, share: float) -> Iterate:
        """(1 - share) self + share other, products included."""
        return Iterate(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


class Averaged(NamedTuple):
    """Where the method stands, the point before, and the mean of its iterates."""

    now: Iterate
    before: Iterate
    mean: Iterate


class WholeMatrix(Method):
    """A method whose every iteration multiplies by the whole matrix, forth and back."""

    step_names: ClassVar[tuple[str, ...]] = ("eta", "tau")
    rule: ClassVar[type[StepRule]] = CautiousSteps
    takes_cuts = True
    remembers = (*Method.remembers, "averaged", "norm")
    products = 2.0  # passes an iteration
    proven_product = False  # |C^1/2 A| is estimated from below

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to {self.name}: it is exact")
        self.root = np.sqrt(self.problem.c)
        self.norm = 0.0  # |C^1/2 A|, when first asked for
        self.averaged = 0.0  # total weight of the mean
        self._pair: Pair | None = None

    @property
    def leeway(self) -> float:
        """By which factor eta and tau may be off."""
        return leeway_of(self.problem)

    def coupling(self) -> float:
        """|C^1/2 A|: eta tau may be its inverse square at most."""
        if self.norm == 0.0:
            self.norm = SAFE_NORM * coupling_norm(self.problem, self.root, np.ones(self.problem.d))
        return self.norm

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        w = p.adjoint(p.c * y) if v is None else -v
        here = Iterate(x.copy(), y.copy(), p.margins(x), w)
        self.state = Averaged(here, here, here)
        self.averaged = 0.0
        self._pair = None

    def restart_average(self) -> None:
        self.averaged = 0.0

    def epoch(self) -> Iterator[None]:
        p = self.problem
        some = min(max(int(ENTRIES_A_LOOK // max(p.stored, 1)), 1), MOST_ITERATIONS_A_LOOK)
        self._pair = None
        for _ in range(some):
            self.iterate()
            self.t += 1
            self.ledger.paper_passes += self.products
            yield

    @abstractmethod
    def iterate(self) -> None:
        """One iteration: put the next point into the state."""

    def move_to(self, after: Iterate, counted: Iterate | None = None, weight: float = 1.0) -> None:
        """Stand there; ``counted`` is what the mean takes in."""
        self.averaged += weight
        seen = after if counted is None else counted
        mean = (
            seen if weight == self.averaged else self.state.mean.mixed(seen, weight / self.averaged)
        )
        self.state = Averaged(after, self.state.now, mean)

    def step_x(self, x: np.ndarray, w: np.ndarray, eta: Any) -> tuple[np.ndarray, np.ndarray]:
        """prox_{eta g}(x - eta w) and its margins."""
        p = self.problem
        new = primal_prox(p, x - eta * w, np.broadcast_to(eta, (p.d,)))
        return new, p.margins(new)

    def step_y(self, y: np.ndarray, u: np.ndarray, sigma: Any) -> tuple[np.ndarray, np.ndarray]:
        """prox_{sigma phi*}(y + sigma u) and its A'(c y)."""
        p = self.problem
        new = dual_prox(p, y + sigma * u, np.broadcast_to(sigma, (p.n,)))
        return new, p.adjoint(p.c * new)

    def evaluated(self) -> Pair:
        """The better of the last iterate and the mean, both with products at hand."""
        if self._pair is None:
            pairs = [self._evaluate(self.state.now)]
            if self.state.mean is not self.state.now:
                pairs.append(self._evaluate(self.state.mean))
            self._pair = min(pairs, key=lambda pair: pair.gap)
        return self._pair

    def _evaluate(self, at: Iterate) -> Pair:
        return pair_of(self.problem, at.x, at.u, at.y, -at.w)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        pair = self.evaluated()
        return [(pair.point.x, pair.dual.y)]

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self._pair = None

    def default_steps(self) -> dict[str, float]:
        """With eta tau |C^1/2 A|^2 = 1; eta / tau = gamma / mu, or by how far they will travel."""
        p, norm = self.problem, self.coupling()
        if p.mu > 0 and p.gamma > 0:
            ratio = float(np.sqrt(p.gamma / p.mu))
        else:
            D, L = typical_sizes(p)
            ratio = D / L
        return {"eta": ratio / norm, "tau": 1.0 / (ratio * norm)}
