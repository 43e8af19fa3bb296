"""P*, the optimum every contender is measured against, with a dual bound as evidence.

Smooth l2 problems: Newton from zero. The others: a peer's tight answer, then an active-set
Newton method on its support (l1) or on its margin (hinge). The dual point that goes with the
answer bounds the error, whoever found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from race_peers import Peer
from race_polish import curvature, dual_value, polish_margin, polish_support, solve_positive
from race_problems import Instance, loss_slopes
from race_timing import Send, in_child

TRUST = 1e-10  # of P(0) - P*: beyond it the 1e-9 column is marked
STARTS = {
    "l2-logistic": (),
    "l2-squared-hinge": (),
    "l2-hinge": ("sklearn-svc-dual", "skglm"),
    "l1-logistic": ("sklearn-liblinear", "celer"),
    "lasso": ("sklearn-cd", "celer"),
    "elastic-net": ("sklearn-cd", "celer"),
}
LADDER = tuple(10.0**-k for k in range(3, 16, 2))
DIRECT = 2500  # rows or columns up to which equations are solved directly
PROVEN = 1e-12  # nothing to gain from another start


@dataclass
class Reference:
    """The optimum and how well it is known."""

    value: float
    gap: float  # (P - D) / (P(0) - P), the certified relative error
    source: str

    @property
    def trusted(self) -> bool:
        return self.gap <= TRUST


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], right: np.ndarray, tol: float, limit: int
) -> np.ndarray:
    x, r = np.zeros_like(right), right.copy()
    p, rr = r.copy(), float(right @ right)
    goal = tol * tol * rr
    for _ in range(limit):
        if rr <= goal:
            break
        hp = product(p)
        step = rr / float(p @ hp)
        x += step * p
        r -= step * hp
        rr, last = float(r @ r), rr
        p = r + (rr / last) * p
    return x


def line_search(one: Instance, x: np.ndarray, step: np.ndarray, value: float) -> np.ndarray:
    """Halve until P falls; x itself where rounding lets nothing fall."""
    for _ in range(40):
        if one.objective(x + step) <= value:
            return x + step
        step = 0.5 * step
    return x


def newton_step(
    one: Instance, gradient: np.ndarray, weights: np.ndarray, gram: np.ndarray | None
) -> np.ndarray:
    """-H^-1 gradient for H = A'diag(weights)A + l2 I, directly where n or d is moderate.

    ``gram`` is A A' where the rows are few: Woodbury's formula then needs only n x n equations.
    """
    if gram is not None:
        half = np.sqrt(weights)
        K = half[:, None] * gram * half[None, :]
        K[np.diag_indices_from(K)] += one.l2
        inner = solve_positive(K, half * (one.A @ gradient))
        return -(gradient - one.A.T @ (half * inner)) / one.l2
    if one.d <= DIRECT:
        dense = one.A.toarray() if one.sparse else one.A
        H = dense.T @ (weights[:, None] * dense)
        H[np.diag_indices_from(H)] += one.l2
        return solve_positive(H, -gradient)

    def product(v: np.ndarray) -> np.ndarray:
        return one.A.T @ (weights * (one.A @ v)) + one.l2 * v

    return conjugate_gradients(product, -gradient, min(0.1, float(np.linalg.norm(gradient))), 3000)


def newton(one: Instance, limit: int = 100) -> np.ndarray:
    """Minimise a smooth l2 problem to rounding error."""
    gram = None
    if one.n < one.d and one.n <= DIRECT:
        gram = (one.A @ one.A.T).toarray() if one.sparse else one.A @ one.A.T
    x = np.zeros(one.d)
    for _ in range(limit):
        u = one.A @ x
        gradient = one.A.T @ loss_slopes(one.loss, u, one.b) / one.n + one.l2 * x
        value = one.objective(x)
        if gradient @ gradient <= 2.0 * one.l2 * 1e-15 * value:
            break
        step = newton_step(one, gradient, curvature(one, u) / one.n, gram)
        moved = line_search(one, x, step, value)
        if np.array_equal(moved, x):
            break
        x = moved
    return x


def answers_of(peer: Peer, one: Instance, seconds: float) -> Iterator[np.ndarray]:
    """Tighter and tighter answers of a peer, as long as the next one comes in time."""

    def work(send: Send) -> None:
        run = peer.prepare(one)
        for tol in LADDER:
            send(("x", run(tol)))

    for message in in_child(work, [seconds]):
        if message[0] == "x":
            yield message[1]


class Candidates:
    """The lowest P and the highest D seen, each on its own."""

    def __init__(self, one: Instance) -> None:
        self.one, self.value, self.source, self.bound = one, np.inf, "", -np.inf

    def offer(self, x: np.ndarray, source: str, y: np.ndarray | None = None) -> None:
        one = self.one
        value = one.objective(x)
        if value < self.value:
            self.value, self.source = value, source
        slopes = loss_slopes(one.loss, one.A @ x, one.b)
        for point in (slopes, y):
            if point is not None:
                self.bound = max(self.bound, dual_value(one, point))

    def polish(self, x: np.ndarray, source: str) -> None:
        if self.one.loss == "hinge":
            point, y = polish_margin(self.one, x)
            self.offer(point, f"{source}+margin", y)
        else:
            self.offer(polish_support(self.one, x), f"{source}+support")

    def gap(self) -> float:
        scale = max(self.one.at_zero - self.value, 1e-300)
        return max(self.value - self.bound, 0.0) / scale


def find_reference(one: Instance, peers: list[Peer], seconds: float) -> Reference:
    """The lowest P of all candidates, with the best dual bound."""
    found = Candidates(one)
    if one.family in ("l2-logistic", "l2-squared-hinge"):
        found.offer(newton(one), "newton")
    for peer in peers:
        if peer.name not in STARTS[one.family] or peer.missing() or found.gap() <= PROVEN:
            continue
        for x in answers_of(peer, one, seconds):
            found.offer(x, peer.name)
            found.polish(x, peer.name)
            if found.gap() <= PROVEN:
                break
    return Reference(found.value, found.gap(), found.source)
