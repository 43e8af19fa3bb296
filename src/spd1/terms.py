"""Primal and dual values, term by term, in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .data.products import adjoint, margins
from .kernel.jit import helper, kernel

if TYPE_CHECKING:
    from .problem import Problem


@kernel
def loss_terms(u, y, b, c, loss):
    """Sums over rows, weighted by c: phi(u), phi*(y), and phi(u) + phi*(y) - u y >= 0."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    for i in range(len(u)):  # no branch, so that cheap losses are vectorised
        value = loss.phi(u[i], b[i])
        star = loss.conjugate(y[i], b[i])
        bracket = max(value + star - u[i] * y[i], 0.0)
        counts = c[i] > 0.0
        primal += c[i] * value if counts else 0.0
        conjugate += c[i] * star if counts else 0.0
        brackets += c[i] * bracket if counts else 0.0
    return primal, conjugate, brackets


@kernel
def net_terms(x, v, net):
    """Sums over columns: g(x), g*(v), and g(x) + g*(v) - x v >= 0."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    if net.is_plain():
        l2 = net.numbers(0)[1]
        for j in range(len(x)):
            apart = l2 * x[j] - v[j]
            primal += x[j] * x[j]
            conjugate += v[j] * v[j]
            brackets += apart * apart
        return 0.5 * l2 * primal, conjugate / (2.0 * l2), brackets / (2.0 * l2)
    if net.is_free():
        return free_terms(x, v, net)
    for j in range(len(x)):
        primal += net.g(x[j], j)
        conjugate += net.g_conjugate(v[j], j)
        brackets += net.g_bracket(x[j], v[j], j)
    return primal, conjugate, brackets


@helper
def free_terms(x, v, net):
    """The same where every feature has the same l1 and l2 and no bounds: no branch in the loops."""
    l1, l2, _, _ = net.numbers(0)
    size, square, conjugate, brackets = 0.0, 0.0, 0.0, 0.0
    if l2 > 0.0:
        inverse = 1.0 / l2
        for j in range(len(x)):
            beyond = max(v[j] - l1, 0.0) + min(v[j] + l1, 0.0)
            apart = x[j] - beyond * inverse
            rest = l1 * (abs(x[j]) - abs(beyond) * inverse) - (v[j] - beyond) * apart
            size += abs(x[j])
            square += x[j] * x[j]
            conjugate += beyond * beyond
            brackets += 0.5 * l2 * apart * apart + max(rest, 0.0)
        return l1 * size + 0.5 * l2 * square, 0.5 * conjugate * inverse, brackets
    outside = 0.0
    for j in range(len(x)):
        outside += 1.0 if abs(v[j]) > l1 else 0.0
        size += abs(x[j])
        square += x[j] * x[j]
        brackets += max(l1 * abs(x[j]) - v[j] * x[j], 0.0)
    primal = l1 * size + 0.5 * l2 * square  # not a number where the square overflows, as in g
    if outside > 0.0:
        return primal, math.inf, math.inf
    return primal, 0.0, brackets


@kernel
def room_inside(v, low, high):
    """Largest theta <= 1 with theta v inside the bounds, where those leave room around zero."""
    theta = 1.0
    for j in range(len(v)):
        if v[j] > high[j]:
            if high[j] > 0.0:
                theta = min(theta, high[j] / v[j])
        elif v[j] < low[j] and low[j] < 0.0:
            theta = min(theta, low[j] / v[j])
    return theta


@kernel
def scaled_inside(theta, v, low, high, out):
    """Scale v by theta; what rounding left outside the bounds is cut off."""
    for j in range(len(v)):
        out[j] = min(max(theta * v[j], low[j]), high[j])


@kernel
def dual_between(theta, one, two, b, c, loss, net):
    """D at (1 - theta) one + theta two; both are pairs (y, v), and v is linear in y."""
    y_one, v_one = one
    y_two, v_two = two
    total = 0.0
    for i in range(len(b)):
        star = loss.conjugate(y_one[i] + theta * (y_two[i] - y_one[i]), b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    l1, l2, _, _ = net.numbers(0)
    if net.is_free() and l2 > 0.0:  # without branches, as in free_terms
        squares = 0.0
        for j in range(len(v_one)):
            v = v_one[j] + theta * (v_two[j] - v_one[j])
            beyond = max(v - l1, 0.0) + min(v + l1, 0.0)
            squares += beyond * beyond
        return -(total + 0.5 * squares / l2)
    for j in range(len(v_one)):
        total += net.g_conjugate(v_one[j] + theta * (v_two[j] - v_one[j]), j)
    return -total


@kernel
def best_between(one, two, b, c, loss, net, sections):
    """The theta in [0, 1] for which ``dual_between`` is largest, and that value.

    D is concave: golden sections close in on it.
    """
    golden = 0.6180339887498949
    low, high = 0.0, 1.0
    inner, outer = 1.0 - golden, golden
    at_inner = dual_between(inner, one, two, b, c, loss, net)
    at_outer = dual_between(outer, one, two, b, c, loss, net)
    for _ in range(sections):
        if at_inner > at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - golden * (high - low)
            at_inner = dual_between(inner, one, two, b, c, loss, net)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + golden * (high - low)
            at_outer = dual_between(outer, one, two, b, c, loss, net)
    if at_inner > at_outer:
        return inner, at_inner
    return outer, at_outer


@kernel
def dual_guess(u, b, loss, y):
    """y_i = phi'(u_i), feasible by construction; where u_i overflowed, phi'(0)."""
    for i in range(len(u)):
        slope, at_zero = loss.derivative(u[i], b[i]), loss.derivative(0.0, b[i])
        y[i] = slope if abs(loss.conjugate(slope, b[i])) < math.inf else at_zero


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
