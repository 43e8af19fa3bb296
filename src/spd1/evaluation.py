"""Primal and dual values, term by term, in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .jit import kernel
from .products import adjoint, margins

if TYPE_CHECKING:
    from .problem import Problem


@kernel
def loss_terms(u, y, b, c, loss):
    """Sums over rows, weighted by c: phi(u), phi*(y), and phi(u) + phi*(y) - u y >= 0."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    for i in range(len(u)):
        if c[i] > 0.0:
            value = loss.phi(u[i], b[i])
            star = loss.conjugate(y[i], b[i])
            primal += c[i] * value
            conjugate += c[i] * star
            brackets += c[i] * max(value + star - u[i] * y[i], 0.0)
    return primal, conjugate, brackets


@kernel
def net_terms(x, v, net):
    """Sums over columns: g(x), g*(v), and g(x) + g*(v) - x v >= 0."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    for j in range(len(x)):
        primal += net.g(x[j], j)
        conjugate += net.g_conjugate(v[j], j)
        brackets += net.g_bracket(x[j], v[j], j)
    return primal, conjugate, brackets


@kernel
def dual_between(theta, one, two, b, c, loss, net):
    """D at (1 - theta) one + theta two; both are pairs (y, v), and v is linear in y."""
    y_one, v_one = one
    y_two, v_two = two
    total = 0.0
    for i in range(len(b)):
        if c[i] > 0.0:
            total += c[i] * loss.conjugate(y_one[i] + theta * (y_two[i] - y_one[i]), b[i])
    for j in range(len(v_one)):
        total += net.g_conjugate(v_one[j] + theta * (v_two[j] - v_one[j]), j)
    return -total


@kernel
def dual_guess(u, b, loss, y):
    """y_i = phi'(u_i), feasible by construction; where u_i overflowed, phi'(0)."""
    for i in range(len(u)):
        y[i] = loss.derivative(u[i], b[i])
        if not abs(loss.conjugate(y[i], b[i])) < math.inf:
            y[i] = loss.derivative(0.0, b[i])


@kernel
def replace_infeasible(y, guess, b, loss):
    """Where phi*(y_i) is infinite, clip y_i to the domain, or take guess_i; return how often."""
    count = 0
    for i in range(len(y)):
        if not abs(loss.conjugate(y[i], b[i])) < math.inf:
            low, high = loss.domain(b[i])
            y[i] = min(max(y[i], low), high)
            if not abs(loss.conjugate(y[i], b[i])) < math.inf:
                y[i] = guess[i]
            count += 1
    return count


@kernel
def loss_domain(b, loss, low, high):
    """Ends of the domain of phi*, row by row."""
    for i in range(len(b)):
        low[i], high[i] = loss.domain(b[i])


def primal_value(problem: Problem, x: np.ndarray) -> float:
    """P(x)."""
    u = margins(problem.A, x)
    zero = np.zeros(problem.n)
    loss = loss_terms(u, zero, problem.b, problem.c, problem.loss)[0]
    value = float(loss + net_terms(x, np.zeros(problem.d), problem.net)[0])
    return value if math.isfinite(value) else math.inf


def dual_value(problem: Problem, y: np.ndarray) -> float:
    """D(y)."""
    v = -adjoint(problem.A, problem.c * y)
    zero = np.zeros(problem.n)
    loss = loss_terms(zero, y, problem.b, problem.c, problem.loss)[1]
    value = float(-loss - net_terms(np.zeros(problem.d), v, problem.net)[1])
    return value if math.isfinite(value) else -math.inf
