"""The objective of Huber regression with its scale, and bounds from below.

    Phi(x, sigma) = sigma + sum_i c_i sigma H((a_i'x - b_i) / sigma) + a |x|^2
    H(z) = z^2 up to |z| = epsilon, 2 epsilon |z| - epsilon^2 beyond

With sigma H(r / sigma) = sup_q { q r - sigma q^2 / 4 } the dual is

    D(q) = - sum_i c_i q_i b_i - |A'(c q)|^2 / (4 a),   |q_i| <= 2 epsilon,  sum_i c_i q_i^2 <= 4

and an intercept asks for sum_i c_i q_i = 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...problem import ROUNDED, Problem
from .tuning import BALANCING_ROUNDS, LEAST_ROOM, SCALE_ROUNDS, SMALLEST_SQUARE

__all__ = ["best_scale", "force_bound", "joint_bound", "joint_value", "least_forces"]


def joint_value(
    residual: np.ndarray, c: np.ndarray, penalty: float, sigma: float, epsilon: float
) -> float:
    """Phi at residuals a_i'x - b_i, with penalty = a |x|^2; its limit at sigma = 0."""
    size = np.abs(residual)
    linear = 2.0 * epsilon * size - sigma * epsilon**2
    inside = size <= epsilon * sigma
    with np.errstate(divide="ignore", invalid="ignore"):
        square = size * size / sigma if sigma > 0 else np.zeros_like(size)
    return float(sigma + c @ np.where(inside, square, linear) + penalty)


def best_scale(residual: np.ndarray, c: np.ndarray, epsilon: float) -> float:
    """The sigma that minimises Phi for given residuals; its derivative increases in sigma.

    It is where sum_i c_i min(t r_i^2, epsilon^2) = 1, t = 1 / sigma^2: Newton's method on a concave
    function in pieces comes from the left, and ends at the piece of the root.

    Examples
    --------
    >>> import numpy as np
    >>> best_scale(np.array([1.0, -1.0]), np.array([0.5, 0.5]), 1.35)
    1.0
    """
    square = residual * residual
    weighted = c * square
    total, whole = float(weighted.sum()), float(c.sum())
    if not (SMALLEST_SQUARE < total < math.inf):
        return sorted_scale(residual, c, epsilon)
    sigma = math.sqrt(total)  # too large: as if all were inside
    for _ in range(SCALE_ROUNDS):
        inside = square <= (epsilon * sigma) ** 2
        inner, outer = float(np.dot(weighted, inside)), whole - float(np.dot(c, inside))
        room = 1.0 - epsilon**2 * max(outer, 0.0)
        if not (room > LEAST_ROOM and inner > 0.0):  # the difference has lost its digits
            break
        last, sigma = sigma, math.sqrt(inner / room)
        if sigma >= last * (1.0 - 1e-14):  # the same samples are inside
            return sigma
    return sorted_scale(residual, c, epsilon)


def sorted_scale(residual: np.ndarray, c: np.ndarray, epsilon: float) -> float:
    """The same by looking at every number of samples that may be inside."""
    size = np.abs(residual)
    order = np.argsort(size)
    size, c = size[order], c[order]
    inner = np.concatenate([[0.0], np.cumsum(c * size * size)])  # of the k smallest
    outer = 1.0 - np.concatenate([[0.0], np.cumsum(c)])  # weight of the others
    room = 1.0 - epsilon**2 * np.maximum(outer, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.sqrt(inner / room)  # if the k smallest were inside, and no others
    left, right = np.append(0.0, size), np.append(size, math.inf)
    reach, slack = epsilon * sigma, 1.0 + 1e-12
    fits = np.flatnonzero((room > 0.0) & (left <= reach * slack) & (reach <= right * slack))
    return float(sigma[fits[0]]) if len(fits) else 0.0


def joint_bound(problem: Problem, y: np.ndarray, value: float, sigma: float) -> tuple[float, Any]:
    """Bound and dual point q that a feasible y of the slice at sigma, D(y) = value, proves."""
    epsilon = problem.loss.delta / sigma
    q = 2.0 * y / sigma
    square = float(problem.c @ (q * q))
    linear = -float(problem.c @ (q * problem.b))
    curved = max(linear - 0.25 * sigma * square - 2.0 / sigma * value, 0.0)
    most = min(2.0 / math.sqrt(square), 2.0 * epsilon / np.abs(q).max()) if square > 0 else 0.0
    theta = most if curved <= 0.0 else min(max(0.5 * linear / curved, 0.0), most)
    if linear <= 0.0:
        theta = 0.0
    return theta * linear - theta * theta * curved, theta * q


def force_bound(
    X: Any, b: np.ndarray, c: np.ndarray, q: np.ndarray, a: float, epsilon: float, level: bool
) -> tuple[float, np.ndarray]:
    """The bound that any q proves, a > 0, once it is inside the dual's set; and that q.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    b, c, q : arrays of shape (n,)
    a, epsilon : float
    level : bool
        Whether there is an intercept.
    """
    q = np.clip(q, -2.0 * epsilon, 2.0 * epsilon)
    if level:
        q = balanced_forces(q, c, epsilon)
    square = float(c @ (q * q))
    if square <= 0.0:
        return 0.0, np.zeros_like(q)
    linear = -float(c @ (q * b))
    v = np.asarray(X.T @ (c * q)).ravel()
    curved = float(v @ v) / (4.0 * a)
    most = min(2.0 / math.sqrt(square), 2.0 * epsilon / float(np.abs(q).max()))
    theta = most if 2.0 * most * curved <= linear else max(0.5 * linear / curved, 0.0)
    bound = theta * (linear - theta * curved)
    if level:
        bound -= theta * unbalanced(X, b, c, q, theta * v / (2.0 * a))
    return bound, theta * q


def least_forces(X: Any, c: np.ndarray, x: np.ndarray, a: float, level: bool) -> np.ndarray:
    """The q with the least sum c q^2 for which A'(c q) = -2 a x, and sum c q = 0 with an intercept.

    Examples
    --------
    >>> import numpy as np
    >>> A, c, x = np.array([[1.0], [2.0], [3.0]]), np.full(3, 1 / 3), np.array([2.0])
    >>> q = least_forces(A, c, x, 0.1, True)
    >>> bool(abs(A.T @ (c * q) + 0.4) < 1e-12), bool(abs(c @ q) < 1e-12)
    (True, True)
    """
    from scipy.sparse.linalg import LinearOperator, lsqr  # rare: not with every import

    n, d = X.shape
    root = np.sqrt(c)

    def pull(s: np.ndarray) -> np.ndarray:
        s = root * s.ravel()
        return np.append(np.asarray(X.T @ s).ravel(), s.sum() if level else 0.0)

    def spread(v: np.ndarray) -> np.ndarray:
        v = v.ravel()
        return np.asarray(root * (np.asarray(X @ v[:-1]).ravel() + (v[-1] if level else 0.0)))

    A = LinearOperator((d + 1, n), matvec=pull, rmatvec=spread, dtype=float)
    found = lsqr(A, np.append(-2.0 * a * x, 0.0), atol=1e-15, btol=1e-15, conlim=0.0)[0]
    return np.asarray(np.divide(found, root, out=np.zeros(n), where=root > 0.0))


def unbalanced(X: Any, b: np.ndarray, c: np.ndarray, q: np.ndarray, x: np.ndarray) -> float:
    """What the bound loses when q is moved until sum c q is exactly zero.

    The moves have one sign and add up to what is off; each changes the bound by its residual.
    """
    off = abs(float(c @ q)) + ROUNDED * float(c @ np.abs(q))
    return off * float(np.abs(np.asarray(X @ x).ravel() + b).max(initial=0.0))


def balanced_forces(q: np.ndarray, c: np.ndarray, epsilon: float) -> np.ndarray:
    """Move q where it has room until sum c q = 0; as a last resort scale one sign down."""
    for _ in range(BALANCING_ROUNDS):
        off = float(c @ q)
        if abs(off) <= ROUNDED * float(c @ np.abs(q)):
            return q
        room = 2.0 * epsilon - np.abs(q)
        total = float(c @ room)
        if total <= 0.0:
            break
        q = np.clip(q - off * room / total, -2.0 * epsilon, 2.0 * epsilon)
    plus, minus = float(c @ np.maximum(q, 0.0)), float(c @ np.maximum(-q, 0.0))
    least = min(plus, minus)
    return np.asarray(
        np.where(q > 0.0, q * (least / max(plus, 1e-300)), q * (least / max(minus, 1e-300)))
    )
