"""Theorem 2: why it fails as printed, and the steps with which its proof holds.

docs/laboratory/theorem2.md has it in prose.

A step of SPD1 moves one of d coordinates of x and one of n of y. With m_t = min(eta_t mu / 2, 1/4)
one step gives, for any fixed x,

    d / (2 eta_t) [ (1 - m_t / d) |x^t - x|^2 - E |x^(t+1) - x|^2 ] >= ...

where Lemma 5 of the paper prints 1 - m_t; for y it is 1 - m'_t / n with m'_t = min(tau_t gamma /
(2 d), 1/4). Summed over t, the terms in |x^t - x|^2 fall away if for all t >= 1

    (1 - m_t / d) / eta_t <= 1 / eta_(t-1):  the recursion *closes* at t,

and likewise for y. ``excess_of_x`` and ``excess_of_y`` are the left side minus the right side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..problem import Problem

__all__ = [
    "Moments",
    "excess_of_x",
    "excess_of_y",
    "expected_gaps",
    "mended_bound",
    "mended_steps",
    "published_steps",
    "stated_bound",
]

Steps = tuple[np.ndarray, np.ndarray]


def published_steps(t: np.ndarray, n: int, d: int, mu: float, gamma: float) -> Steps:
    """eta_t = 2 / (mu (t + 4)), tau_t = 2 n d / (gamma (t + 4))."""
    return 2.0 / (mu * (t + 4.0)), 2.0 * n * d / (gamma * (t + 4.0))


def mended_steps(t: np.ndarray, n: int, d: int, mu: float, gamma: float) -> Steps:
    """eta_t = 2 d / (mu (t + 4 d)), tau_t = 2 n d / (gamma (t + 4 n)): both recursions close."""
    return 2.0 * d / (mu * (t + 4.0 * d)), 2.0 * n * d / (gamma * (t + 4.0 * n))


def excess_of_x(eta: np.ndarray, d: int, mu: float) -> np.ndarray:
    """(1 - m_t / d) / eta_t - 1 / eta_(t-1) for t = 1, 2, ...; closed where it is at most 0.

    Examples
    --------
    >>> t = np.arange(200.0)
    >>> bool(excess_of_x(mended_steps(t, 1, 20, 0.5, 1.0)[0], 20, 0.5).max() < 1e-12)
    True
    >>> times_d = 20 * published_steps(t, 1, 20, 0.5, 1.0)[0]
    >>> (1 + np.flatnonzero(excess_of_x(times_d, 20, 0.5) > 1e-12))[[0, -1]].tolist()
    [1, 75]
    """
    shrink = np.minimum(0.5 * eta * mu, 0.25) / d
    return np.asarray((1.0 - shrink[1:]) / eta[1:] - 1.0 / eta[:-1])


def excess_of_y(tau: np.ndarray, n: int, d: int, gamma: float) -> np.ndarray:
    """(1 - m'_t / n) / tau_t - 1 / tau_(t-1) for t = 1, 2, ..."""
    return excess_of_x(tau, n, gamma / d)


def stated_bound(p: Problem, T: np.ndarray) -> np.ndarray:
    """(4 d D^2 mu + 4 L^2 gamma + (2 L^2 R^2 / mu + 2 d D^2 R'^2 / gamma) ln(T + 4)) / T."""
    return printed(p.L, p.D, p.R, p.R_prime, p.d, p.mu, p.gamma, T)


def printed(
    L: float, D: float, R: float, R_prime: float, d: int, mu: float, gamma: float, T: np.ndarray
) -> np.ndarray:
    """The bound that Theorem 2 prints."""
    fixed = 4.0 * d * D**2 * mu + 4.0 * L**2 * gamma
    growing = 2.0 * L**2 * R**2 / mu + 2.0 * d * D**2 * R_prime**2 / gamma
    return np.asarray((fixed + growing * np.log(T + 4.0)) / T)


def mended_bound(p: Problem, T: np.ndarray) -> np.ndarray:
    """What the proof gives with ``mended_steps``, for sup E[F(x_hat, y) - F(x, y_hat)].

    (4 d D^2 mu + 4 n L^2 gamma + (2 d L^2 R^2 / mu) ln(1 + T / (4 d - 1))
    + (2 d D^2 R'^2 / gamma) ln(1 + T / (4 n - 1))) / T.
    """
    fixed = 4.0 * p.d * p.D**2 * p.mu + 4.0 * p.n * p.L**2 * p.gamma
    of_x = 2.0 * p.d * p.L**2 * p.R**2 / p.mu * np.log1p(T / (4.0 * p.d - 1.0))
    of_y = 2.0 * p.d * p.D**2 * p.R_prime**2 / p.gamma * np.log1p(T / (4.0 * p.n - 1.0))
    return np.asarray((fixed + of_x + of_y) / T)


class Moments(NamedTuple):
    """SPD1 on the counterexample after T steps: E[G], and what Jensen's inequality leaves of it."""

    T: int
    gap: float  # E[G(x_hat, y_hat)] = mu/2 E |x_hat - x*|^2
    lower: float  # mu/2 |E x_hat - x*|^2


def expected_gaps(
    d: int, horizons: Sequence[int], mu: float = 1.0, mended: bool = False
) -> list[Moments]:
    """Exact E[G] of SPD1 for n = 1, phi(u) = u, a = (1, ..., 1) and g = mu/2 |x|^2.

    y is 1 throughout. A coordinate's error e = x_j - x*_j starts at 1/mu and is divided by
    1 + eta_t mu when it is drawn. The recursions below are those of E e, E e^2, E S e and E S^2,
    S being the sum of the errors so far.

    Examples
    --------
    >>> [round(m.gap, 3) for m in expected_gaps(2, [1, 2])]
    [1.0, 0.847]
    """
    scale = d if mended else 1
    mean, square, cross, total, sums = 1.0 / mu, 1.0 / mu**2, 0.0, 0.0, 0.0
    found, wanted = [], set(horizons)
    for t in range(max(horizons)):
        total += 2.0 * cross + square
        sums += mean
        kept = (t + 4.0 * scale) / (t + 6.0 * scale)  # 1 / (1 + eta_t mu)
        cross = (1.0 - (1.0 - kept) / d) * (cross + square)
        mean *= 1.0 - (1.0 - kept) / d
        square *= 1.0 - (1.0 - kept * kept) / d
        if t + 1 in wanted:
            T, half = t + 1, 0.5 * mu * d
            found.append(Moments(T, half * total / T**2, half * (sums / T) ** 2))
    return found


def smallest_stated_bound(d: int, T: int, mu: float = 1.0, half_width: float = 2.0) -> float:
    """The printed bound for the counterexample on the box |x_j| <= half_width / mu.

    phi(u) = u is smooth with any gamma: the one that makes the bound smallest is taken.
    """
    D, log = half_width * math.sqrt(d) / mu, math.log(T + 4.0)
    gamma = D * math.sqrt(d * log / 2.0)
    return float(printed(1.0, D, math.sqrt(d), 1.0, d, mu, gamma, np.array(float(T))))
