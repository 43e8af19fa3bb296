"""The best bound on the way from one feasible dual point to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..kernel.jit import helper, kernel
from ..terms import NO_REACH, size_of
from .feasible import scaled_inside
from .points import DualPoint, Pair, dual_here, feasible_dual, pair_of, zero_dual
from .tuning import CANCELLED, ROUGHLY, SECTIONS
from .vicinity import Vicinity

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["best_between", "best_multiple", "better", "shrunk_pair"]


@helper
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
def dual_at_ends(one, two, b, c, loss, net):
    """``dual_between`` for theta 0 and 1."""
    return dual_between(0.0, one, two, b, c, loss, net), dual_between(
        1.0, one, two, b, c, loss, net
    )


@kernel
def best_between(one, two, b, c, loss, net, sections):
    """The theta in [0, 1] for which ``dual_between`` is largest, and that value.

    D is concave: golden sections close in on it.
    """
    golden = 0.6180339887498949
    low, high = 0.0, 1.0
    inner, outer = 1.0 - golden, golden
    at_inner, at_outer = 0.0, 0.0
    inside = True  # whether it is the inner of the two that is asked for
    for k in range(sections + 2):  # asked for in one place: every further one is compiled anew
        value = dual_between(inner if inside else outer, one, two, b, c, loss, net)
        if inside:
            at_inner = value
        else:
            at_outer = value
        if k == 0:
            inside = False
        elif k <= sections:
            inside = at_inner > at_outer
            if inside:
                high, outer, at_outer = outer, inner, at_inner
                inner = high - golden * (high - low)
            else:
                low, inner, at_inner = inner, outer, at_outer
                outer = low + golden * (high - low)
    if at_inner > at_outer:
        return inner, at_inner
    return outer, at_outer


def better(
    problem: Problem, one: DualPoint, other: DualPoint, sections: int = SECTIONS
) -> DualPoint:
    """The best lower bound on the segment between two feasible points, by golden section.

    D is concave and both points are feasible, so is everything between them, and v = -A'(c y)
    is known there without a product. A noisy or far-off dual point still helps this way.
    """
    if not math.isfinite(other.value):
        return one
    if not math.isfinite(one.value):
        return other
    ends = (one.y, one.v), (other.y, other.v)
    theta, found = best_between(*ends, problem.b, problem.c, problem.loss, problem.net, sections)
    if not found > max(one.value, other.value):
        return other if other.value > one.value else one
    y, v = one.y + theta * (other.y - one.y), one.v + theta * (other.v - one.v)
    near = _between(theta, one.near, other.near)
    if near is None:
        largest = max(float(np.abs(end.y).max()) for end in (one, other))
        if float(np.abs(y).max()) >= CANCELLED * largest:
            return DualPoint(y, v, float(found))
        anew = feasible_dual(problem, y)  # v is a small difference, and not that of y any more
        return max(one, anew, other, key=lambda point: point.value)
    return max(one, dual_here(problem, y, v, near), other, key=lambda point: point.value)


def _between(theta: float, one: Vicinity | None, other: Vicinity | None) -> Vicinity | None:
    """The vicinity of (1 - theta) one + theta other."""
    if one is None or other is None:
        if one is None and other is None:
            return None
        return other.scaled(theta) if one is None else one.scaled(1.0 - theta)  # type: ignore
    return one.mixed(theta, other)


def best_multiple(problem: Problem, y: np.ndarray) -> DualPoint:
    """About the best multiple theta y, 0 <= theta <= 1; y alone may be far off."""
    if problem.reg.scalar and problem.reg.plain and problem.dual_bounds[0] is None:
        return _best_multiple_of_plain(problem, y)
    zero, whole = zero_dual(problem), feasible_dual(problem, y)
    if not math.isfinite(zero.value):
        return whole
    return better(problem, zero, whole, ROUGHLY)


def _best_multiple_of_plain(problem: Problem, y: np.ndarray) -> DualPoint:
    """The same where |v| is all that the regularizer, l2/2 |x|^2, asks of v."""
    p = problem
    v = p.adjoint(p.c * y)
    ends = (np.zeros(p.n), np.zeros(1)), (y, np.array([size_of(v)]))
    rest = p.b, p.c, p.loss, p.net
    at_zero, at_one = dual_at_ends(*ends, *rest)
    choices = [(at_zero, 0.0), (at_one, 1.0)]
    if all(math.isfinite(value) for value, _ in choices):
        theta, value = best_between(*ends, *rest, ROUGHLY)
        choices.append((value, theta))
    value, theta = max(choices)
    v *= -theta
    return DualPoint(theta * y, v, float(value) if math.isfinite(value) else -math.inf)


@np.errstate(all="ignore")
def shrunk_pair(
    problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray, tol: float = 0.0
) -> Pair:
    """The pair of x and about the best multiple of y where l1 and l2 meet.

    Far from the optimum v exceeds l1 almost everywhere, and a small l2 makes that expensive. A
    relative gap of ``tol`` is good enough as it is.
    """
    p, pair = problem, pair_of(problem, x, u, y, v)
    if p.mu == 0.0 or p.reg.plain or pair.gap <= tol * abs(pair.dual.value):
        return pair
    l1 = np.array(np.broadcast_to(np.asarray(p.reg.l1, dtype=float), (p.d,)))
    theta = scaled_inside(v, NO_REACH, -l1, l1, np.empty(p.d))
    if theta == 1.0:
        return pair
    ends = (theta * y, theta * v), (y, v)
    share, _ = best_between(*ends, p.b, p.c, p.loss, p.net, ROUGHLY)
    theta += share * (1.0 - theta)
    shrunk = pair_of(p, x, u, theta * y, theta * v)
    return shrunk if shrunk.dual.value > pair.dual.value else pair
