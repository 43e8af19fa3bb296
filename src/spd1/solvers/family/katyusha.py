"""Katyusha: SVRG with momentum and a magnet to the snapshot (Allen-Zhu 2016)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...certificate.points import dual_from_margins
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import helper, kernel
from ...kernel.rng import index
from ...problem import Problem
from ..base import Method
from ..gradient.tuning import FEW
from ..tuning import ENTRIES_A_CHUNK

__all__ = ["Katyusha"]


class Coupled(NamedTuple):
    """z and y of the paper, the sum of the y's, the snapshot, its gradient and derivatives."""

    z: np.ndarray
    y: np.ndarray
    total: np.ndarray  # of y's, each weighted 1 + alpha mu times the one before, over the last one
    snap: np.ndarray
    gradient: np.ndarray
    table: np.ndarray
    last: np.ndarray


class Couplings(NamedTuple):
    """alpha, tau_1, 1 - tau_1 - tau_2, tau_2, and 1 / (1 + alpha mu)."""

    alpha: float
    pull: float
    keep: float
    magnet: float
    fade: float


@helper
def power(times, a, c, pull, keep, rest, fade, z, y, total):
    """Apply z' = a z + c, y' = pull z' + keep y + rest, total' = fade total + y' many times.

    The map is squared as often as ``times`` has binary digits: its powers are of the same form.
    """
    b1, b2, b3 = pull * a, keep, pull * c + rest
    t1, t2, t3, t4 = b1, b2, fade, b3
    while times > 0:
        if times & 1:
            total = t1 * z + t2 * y + t3 * total + t4
            y = b1 * z + b2 * y + b3
            z = a * z + c
        t4 = t1 * c + t2 * b3 + t3 * t4 + t4
        t1 = t1 * a + t2 * b1 + t3 * t1
        t2 = t2 * b2 + t3 * t2
        t3 = t3 * t3
        b3 = b1 * c + b2 * b3 + b3
        b1 = b1 * a + b2 * b1
        b2 = b2 * b2
        c = a * c + c
        a = a * a
        times >>= 1
    return z, y, total


@helper
def coast(net, z, y, total, gradient, snap, k, times, j):
    """``times`` steps that do not see the coordinate: z moves by the snapshot's gradient alone.

    z goes one way, as in ``repeat_prox``: each side of zero is one affine map, many times. A box
    would bend it once more: there, steps are repeated one by one.
    """
    l1, l2, _, _ = net.numbers(j)
    rest = k.magnet * snap
    left = times
    while left > 0:
        stay = 0.0
        side = 0.0
        if times > FEW and net.is_free() and l2 > 0.0:
            if z > 0.0 or (z == 0.0 and -gradient > l1):
                side = 1.0
            elif z < 0.0 or gradient > l1:
                side = -1.0
            against = side * gradient + l1
            stay = float(left)
            if side != 0.0 and against > 0.0:
                reach = math.log1p(abs(z) * l2 / against) / math.log1p(k.alpha * l2)
                stay = min(math.floor(reach), stay)
        if stay >= 1.0:
            a = 1.0 / (1.0 + k.alpha * l2) if side != 0.0 else 0.0
            c = -a * k.alpha * (gradient + side * l1)
            z, y, total = power(int(stay), a, c, k.pull, k.keep, rest, k.fade, z, y, total)
            left -= int(stay)
        else:
            z = net.prox(z - k.alpha * gradient, k.alpha, j)
            y = k.pull * z + k.keep * y + rest
            total = k.fade * total + y
            left -= 1
    return z, y, total


@kernel
def katyusha_steps(A, b, weights, state, loss, net, k, first, count, key):
    """Steps ``first .. first + count - 1`` of Algorithm 1, Option II; then all are up to date."""
    z, y, total, snap, gradient, table, last = state
    n = len(b)
    for t in range(first, first + count):
        i = index(key, t, n)
        u = 0.0
        for q in range(A.line_length(i)):
            j, a = A.at(i, q)
            if not A.is_dense() and last[j] < t:
                z[j], y[j], total[j] = coast(
                    net, z[j], y[j], total[j], gradient[j], snap[j], k, t - last[j], j
                )
            u += a * (k.pull * z[j] + k.magnet * snap[j] + k.keep * y[j])
        change = weights[i] * (loss.derivative(u, b[i]) - table[i])
        for q in range(A.line_length(i)):
            j, a = A.at(i, q)
            z[j] = net.prox(z[j] - k.alpha * (gradient[j] + change * a), k.alpha, j)
            y[j] = k.pull * z[j] + k.magnet * snap[j] + k.keep * y[j]
            total[j] = k.fade * total[j] + y[j]
            last[j] = t + 1
    for j in range(len(z)):
        if last[j] < first + count:
            if not A.is_dense():
                z[j], y[j], total[j] = coast(
                    net, z[j], y[j], total[j], gradient[j], snap[j], k, first + count - last[j], j
                )
            last[j] = first + count


class Katyusha(Method):
    """Accelerated SVRG: x = tau_1 z + x~/2 + (1/2 - tau_1) y, steps of z, y close behind.

    m = 2 n inner steps, tau_1 = min(sqrt(m mu / (3 L)), 1/2), alpha = 1 / (3 tau_1 L), and the next
    snapshot is the mean of the y's, weighted by powers of 1 + alpha mu: Algorithm 1 with Option II.
    Here ``eta`` is 1 / (3 L). Rate: n + sqrt(n L / mu) rows for a constant factor.

    Sparse rows: coordinates that a row does not hold are brought up to date when they are needed,
    by powers of the one affine map that moves them.
    """

    name = "katyusha"
    step_names = ("eta",)
    needs_smooth_loss = True

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not problem.mu > 0:
            raise IncompatibleError(
                f"{cls.name} is here for l2 > 0 of every feature: use method 'svrg' or 'saga', or "
                "add an l2"
            )

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws rows"
            )
        self.A = self.problem.grid.by_rows.matrix

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        last = np.full(p.d, self.t, dtype=np.int64)
        self.state = Coupled(
            x.copy(), x.copy(), np.zeros(p.d), x.copy(), np.zeros(p.d), np.zeros(p.n), last
        )

    def couplings(self) -> Couplings:
        """What follows from eta = 1 / (3 L)."""
        p, eta = self.problem, self.steps["eta"]
        pull = min(math.sqrt(2.0 * p.n * p.mu * eta), 0.5)
        alpha = eta / pull
        return Couplings(alpha, pull, 0.5 - pull, 0.5, 1.0 / (1.0 + alpha * p.mu))

    def epoch(self) -> Iterator[None]:
        p, s, k = self.problem, self.state, self.couplings()
        s.table[:] = dual_from_margins(p, p.margins(s.snap))
        s.gradient[:] = p.adjoint(p.c * s.table)
        s.total[:] = 0.0
        self.ledger.paper_passes += 1
        rows_a_chunk = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        start = self.t
        for first, count in self.chunks(2 * p.n, rows_a_chunk):
            katyusha_steps(self.A, p.b, self.weights, s, p.loss, p.net, k, first, count, self.key)
            self.t = first + count
            self.ledger.entries += count / p.n * p.stored
            self.ledger.paper_passes += count / p.n
            s.snap[:] = s.snap if self.t - start < 2 * p.n else self.mean(2 * p.n, k)
            yield

    def mean(self, steps: int, k: Couplings) -> np.ndarray:
        """The weighted mean of the y's of an epoch."""
        gone = math.log(k.fade)
        return np.asarray(self.state.total * (math.expm1(gone) / math.expm1(steps * gone)))

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.snap.copy(), None)]

    def smoothness(self) -> float:
        """Largest n c_i |a_i|^2 / gamma."""
        p = self.problem
        return max(float((self.weights * p.row_norms_squared).max()) / p.gamma, 1e-300)

    def default_steps(self) -> dict[str, float]:
        return {"eta": 1.0 / (3.0 * self.smoothness())}

    def theory_steps(self) -> dict[str, Any]:
        return self.default_steps()
