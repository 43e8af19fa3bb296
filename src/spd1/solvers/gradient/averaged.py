"""PSGD as the figures need it: every step t may have its own eta_t, and all iterates are averaged.

The regularizer is l2/2 |x|^2 alone. Then a step of PSGD

    x+ = (x - eta_t n c_i phi'(a_i'x) a_i) / (1 + eta_t l2)

is kept as x = scale z: z changes where row i has entries, the scale everywhere. The sum of the
iterates x^0 ... x^(T-1), as SPD1 averages them, costs no more: an entry that leaves z at step r was
in force with the scales of all steps up to r.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...kernel.jit import kernel
from ...kernel.rng import index
from ...problem import Problem

__all__ = ["AveragedPSGD"]

STEPS_A_CHUNK = 20_000


class Scaled(NamedTuple):
    """x = sums[0] z; sums[1] is the sum of the scales so far, ``owed`` what left z, weighted."""

    z: np.ndarray
    owed: np.ndarray
    sums: np.ndarray


@kernel
def scaled_steps(A, b, weights, state, loss, l2, eta, offset, first, count, key):
    """Steps first .. first + count - 1: eta_t = eta, or eta / (t + offset) if that is positive."""
    z, owed, sums = state
    scale, total = sums[0], sums[1]
    n = len(b)
    for t in range(first, first + count):
        i = index(key, t, n)
        step = eta / (t + offset) if offset > 0.0 else eta
        total += scale
        u = 0.0
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            u += a * z[j]
        change = step * weights[i] * loss.derivative(scale * u, b[i]) / scale
        for k in range(A.line_length(i)):
            j, a = A.at(i, k)
            z[j] -= change * a
            owed[j] += total * change * a
        scale /= 1.0 + step * l2
    sums[0], sums[1] = scale, total


class AveragedPSGD:
    """Proximal stochastic gradient descent with the average of all its iterates.

    Steps are ``eta``, in force until they are changed, or ``eta`` and ``offset``:
    eta_t = eta / (t + offset), the textbook's being eta = 2 / l2 and offset = 4.

    Examples
    --------
    >>> import spd1
    >>> from spd1.kernel.rng import key_of
    >>> problem = spd1.Problem(np.eye(4), [1, -1, 1, -1], "logistic", spd1.L2(0.1))
    >>> worker = AveragedPSGD(problem, key_of(0))
    >>> worker.steps = {"eta": 2.0 / 0.1, "offset": 4.0}
    >>> worker.begin(np.zeros(4), np.zeros(4))
    >>> for _ in range(100):
    ...     for _ in worker.epoch():
    ...         pass
    >>> (last, _), (average, _) = worker.iterates()
    >>> worker.paper_passes, problem.primal(average) < problem.primal(np.zeros(4))
    (100.0, True)
    """

    name = "psgd"

    def __init__(self, problem: Problem, key: np.uint64) -> None:
        self.problem, self.key = problem, key
        self.A = problem.grid.by_rows.matrix
        self.weights = problem.n * problem.c
        self.steps: dict[str, float] = {}

    def begin(self, x: np.ndarray, y: np.ndarray) -> None:
        """Start at x."""
        del y
        self.t = 0
        self.paper_passes = self.entries_read = 0.0
        self.x, self.sum = x.copy(), np.zeros_like(x)

    def epoch(self) -> Iterator[None]:
        """N steps; then scale and sums are written out, so that neither can grow large."""
        p, end = self.problem, self.t + self.problem.n
        state = Scaled(self.x, np.zeros(p.d), np.array([1.0, 0.0]))
        eta, offset = self.steps["eta"], self.steps.get("offset", 0.0)
        while self.t < end:
            count = min(STEPS_A_CHUNK, end - self.t)
            scaled_steps(
                self.A, p.b, self.weights, state, p.loss, p.mu, eta, offset, self.t, count,
                self.key,
            )  # fmt: skip
            self.t += count
            self.paper_passes = self.t / p.n
            self.entries_read = self.paper_passes * p.stored
            yield
        self.sum += state.sums[1] * state.z + state.owed
        self.x = state.sums[0] * state.z

    def iterates(self) -> list[tuple[np.ndarray, None]]:
        """The last iterate, and the average of x^0 ... x^(T-1)."""
        last = (self.x.copy(), None)
        return [last, (self.sum / self.t, None)] if self.t else [last]
