"""Sums of the objective's terms in float64: rows by loss and conjugate, columns by regularizer.

This room stands above ``problem``: the value of an objective needs no certificate.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .kernel.jit import by_answer, helper, kernel

__all__ = [
    "NO_REACH",
    "domain_ends",
    "dot",
    "dual_guess",
    "loss_domain",
    "loss_terms",
    "loss_terms_near",
    "net_terms",
    "size_of",
    "weighted_terms",
]

LARGEST_SUM = 1.7e308  # what is above, or not a number, counts as infinite
FEW_FOR_BLAS = 10_000  # numbers, below which it stays on one thread
NO_REACH = np.empty(0)  # the reach of a dual point that is known exactly


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
def net_terms(x, v, reach, net):
    """Sums over columns: g(x), g*(v), and g(x) + g*(v) - x v >= 0.

    The worst of them where v is known to lie in v +- reach only; reach may be ``NO_REACH``. g* and
    the brackets are convex in v: they are largest at an end.
    """
    return sum_net(net, x, v, reach)


def each_term(net, x, v, reach):
    """The sums, feature by feature."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    for j in range(len(x)):
        primal += net.g(x[j], j)
        r = reach[j] if len(reach) > 0 else 0.0
        star, bracket, end = -math.inf, 0.0, v[j] - r
        for _ in range(2 if r > 0.0 else 1):  # in a loop: a second call is compiled a second time
            star = max(star, net.g_conjugate(end, j))
            bracket = max(bracket, net.g_bracket(x[j], end, j))
            end = v[j] + r
        conjugate += star
        brackets += bracket
    return primal, conjugate, brackets


def shared_terms(net, x, v, reach):
    """The same where every feature has the same numbers."""
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    if len(reach) == 0 and net.is_plain():
        l2 = net.numbers(0)[1]
        inverse = 1.0 / l2
        for j in range(len(x)):  # squares of v or of l2 x would underflow for a tiny l2
            s = v[j] * inverse
            apart = x[j] - s
            primal += x[j] * x[j]
            conjugate += v[j] * s
            brackets += apart * apart
        return 0.5 * l2 * primal, 0.5 * conjugate, 0.5 * l2 * brackets
    if len(reach) == 0 and net.is_free():
        return free_terms(x, v, net)
    return term_by_term(net, x, v, reach)


term_by_term = helper(each_term)
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
    primal, conjugate, brackets = 0.0, 0.0, 0.0
    lost, lost_star, lost_bracket = 0.0, 0.0, 0.0
    for i in range(len(u)):
        value = loss.phi(u[i], b[i])
        below, above = y[i] - reach[i], y[i] + reach[i]
        first, last = loss.conjugate(below, b[i]), loss.conjugate(above, b[i])
        one = loss.bracket(u[i], below, b[i], value, first)
        two = loss.bracket(u[i], above, b[i], value, last)
        finite = (first <= LARGEST_SUM) & (last <= LARGEST_SUM)
        narrow = (one <= LARGEST_SUM) & (two <= LARGEST_SUM)
        primal += c[i] * (value if value <= LARGEST_SUM else 0.0)
        conjugate += c[i] * (max(first, last) if finite else 0.0)
        brackets += c[i] * (max(one, two) if narrow else 0.0)
        lost += 0.0 if value <= LARGEST_SUM else c[i]
        lost_star += 0.0 if finite else c[i]
        lost_bracket += 0.0 if narrow else c[i]
    primal = primal if lost == 0.0 else math.inf
    conjugate = conjugate if lost_star == 0.0 else math.inf
    return primal, conjugate, brackets if lost_star + lost_bracket == 0.0 else math.inf


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


def domain_ends(b: np.ndarray, loss: Any) -> tuple[np.ndarray, np.ndarray]:
    """The same as two arrays; labels of two kinds need no kernel."""
    if loss.label_kind == "sign":
        minus, plus = loss.domain(-1.0), loss.domain(1.0)
        return np.where(b > 0.0, plus[0], minus[0]), np.where(b > 0.0, plus[1], minus[1])
    low, high = np.empty(len(b)), np.empty(len(b))
    loss_domain(b, loss, low, high)
    return low, high


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """a'b, added up on one thread.

    BLAS wakes its other threads from 10,000 numbers on: milliseconds where cores are busy, and
    other bits for another number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    if len(a) < FEW_FOR_BLAS:
        return float(a @ b)
    return float(np.einsum("i,i->", a, b))


def size_of(v: np.ndarray) -> float:
    """|v|, added up on one thread."""
    return math.sqrt(dot(v, v))
