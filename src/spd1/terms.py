"""Sums of the objective's terms in float64: rows by loss and conjugate, columns by regularizer.

This room stands above ``problem``: the value of an objective needs no certificate.
"""

from __future__ import annotations

import math

from .kernel.jit import by_answer, helper, kernel

__all__ = [
    "dual_guess",
    "loss_domain",
    "loss_terms",
    "loss_terms_near",
    "net_terms",
    "net_terms_near",
    "weighted_terms",
]

LARGEST_SUM = 1.7e308  # what is above, or not a number, counts as infinite


@helper
def weighted_terms(u, y, b, c, loss):
    """Sums over rows, weighted by c: phi(u), phi*(y), and phi(u) + phi*(y) - u y >= 0.

    No branch, so that the loop is vectorised: rows that are infinite are left out of the sums, and
    what they weigh tells whether they count.
    """
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    lost, lost_star, lost_bracket = 0.0, 0.0, 0.0
    for i in range(len(u)):
        value, star = loss.phi(u[i], b[i]), loss.conjugate(y[i], b[i])
        bracket = loss.bracket(u[i], y[i], b[i], value, star)
        primal += c[i] * (value if value <= LARGEST_SUM else 0.0)
        conjugate += c[i] * (star if star <= LARGEST_SUM else 0.0)
        brackets += c[i] * (bracket if bracket <= LARGEST_SUM else 0.0)
        lost += 0.0 if value <= LARGEST_SUM else c[i]
        lost_star += 0.0 if star <= LARGEST_SUM else c[i]
        lost_bracket += 0.0 if bracket <= LARGEST_SUM else c[i]
    primal = primal if lost == 0.0 else math.inf
    conjugate = conjugate if lost_star == 0.0 else math.inf
    return primal, conjugate, brackets if lost_star + lost_bracket == 0.0 else math.inf


@kernel
def loss_terms(u, y, b, c, loss):
    """The same as a kernel."""
    return weighted_terms(u, y, b, c, loss)


@kernel
def net_terms(x, v, net):
    """Sums over columns: g(x), g*(v), and g(x) + g*(v) - x v >= 0."""
    return sum_net(net, x, v)


def each_term(net, x, v):
    """The sums, feature by feature."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    for j in range(len(x)):
        primal += net.g(x[j], j)
        conjugate += net.g_conjugate(v[j], j)
        brackets += net.g_bracket(x[j], v[j], j)
    return primal, conjugate, brackets


def shared_terms(net, x, v):
    """The same where every feature has the same numbers."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    if net.is_plain():
        l2 = net.numbers(0)[1]
        inverse = 1.0 / l2
        for j in range(len(x)):  # squares of v or of l2 x would underflow for a tiny l2
            s = v[j] * inverse
            apart = x[j] - s
            primal += x[j] * x[j]
            conjugate += v[j] * s
            brackets += apart * apart
        return 0.5 * l2 * primal, 0.5 * conjugate, 0.5 * l2 * brackets
    if net.is_free():
        return free_terms(x, v, net)
    for j in range(len(x)):
        primal += net.g(x[j], j)
        conjugate += net.g_conjugate(v[j], j)
        brackets += net.g_bracket(x[j], v[j], j)
    return primal, conjugate, brackets


sum_net = by_answer("is_shared", shared_terms, each_term)


@helper
def free_terms(x, v, net):
    """The same where every feature has the same l1 and l2 and no bounds: no branch in the loops."""
    l1, l2, _, _ = net.numbers(0)
    size, square, conjugate, brackets = 0.0, 0.0, 0.0, 0.0
    if l2 > 0.0:
        inverse = 1.0 / l2
        for j in range(len(x)):
            beyond = max(v[j] - l1, 0.0) + min(v[j] + l1, 0.0)
            s = beyond * inverse
            apart = x[j] - s
            rest = l1 * (abs(x[j]) - abs(s)) - (v[j] - beyond) * apart
            size += abs(x[j])
            square += x[j] * x[j]
            conjugate += beyond * s
            brackets += 0.5 * l2 * apart * apart + max(rest, 0.0)
        return l1 * size + 0.5 * l2 * square, 0.5 * conjugate, brackets
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
def loss_terms_near(u, y, reach, b, c, loss):
    """The worst of ``loss_terms`` for a dual point that is known to lie in y +- reach only.

    phi* and the brackets are convex in y: they are largest at an end.
    """
    conjugate, brackets = 0.0, 0.0
    for i in range(len(u)):
        if c[i] > 0.0:
            below, above = y[i] - reach[i], y[i] + reach[i]
            first, last = loss.conjugate(below, b[i]), loss.conjugate(above, b[i])
            star = max(first, last)
            conjugate += c[i] * star
            bracket = math.inf
            if star < math.inf:
                value = loss.phi(u[i], b[i])
                bracket = max(
                    loss.bracket(u[i], below, b[i], value, first),
                    loss.bracket(u[i], above, b[i], value, last),
                )
            brackets += c[i] * bracket
    return conjugate, brackets


@kernel
def net_terms_near(x, v, reach, net):
    """The worst of ``net_terms`` for v +- reach; columns with reach 0 are taken as they are."""
    conjugate, brackets = 0.0, 0.0
    for j in range(len(x)):
        below, above = v[j] - reach[j], v[j] + reach[j]
        conjugate += max(net.g_conjugate(below, j), net.g_conjugate(above, j))
        brackets += max(net.g_bracket(x[j], below, j), net.g_bracket(x[j], above, j))
    return conjugate, brackets


@kernel
def dual_guess(u, b, loss, y):
    """y_i = phi'(u_i), feasible by construction; where u_i overflowed, phi'(0)."""
    for i in range(len(u)):
        slope, at_zero = loss.derivative(u[i], b[i]), loss.derivative(0.0, b[i])
        y[i] = slope if abs(loss.conjugate(slope, b[i])) < math.inf else at_zero


@kernel
def loss_domain(b, loss, low, high):
    """Ends of the domain of phi*, row by row."""
    for i in range(len(b)):
        low[i], high[i] = loss.domain(b[i])
