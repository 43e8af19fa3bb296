"""Sweeps over the columns that can move: a whole solve for l1 penalties, looks included.

A look computes margins and slopes of the loss anew, the gradient of every column that is not
screened, a feasible dual point and with it the gap. Between looks the loss is a quadratic, exact
for least squares and Newton's otherwise, on the columns that are not zero or pull beyond l1:

    x_j+ = soft(h_j x_j - a_j'm, l1) / (h_j + l2),   m += W (x_j+ - x_j) a_j,   h_j = a_j'W a_j
"""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import add_line, add_weighted_line, line_dot, line_square
from ...kernel.jit import helper, kernel
from .ascent import LOOKS, hopeless
from .tuning import (
    FIRST_SWEEPS,
    GOOD,
    LEAST_CURVATURE,
    MANY_MOVE,
    NEARLY_THERE,
    SMALL_SHARE,
    SWEEPS_A_LOOK,
)

__all__ = ["descend"]


@helper
def dual_value(theta, y, b, c, loss, G, alive, count, l1, l2):
    """D(theta y): all columns that are not alive are below l1."""
    total = 0.0
    for i in range(len(y)):
        star = loss.conjugate(theta * y[i], b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    if l2 > 0.0:
        beyond = 0.0
        for k in range(count):
            over = max(theta * abs(G[alive[k]]) - l1, 0.0)
            beyond += over * over
        total += 0.5 * beyond / l2
    return -total


@helper
def sweep(L, which, count, x, bends, l1, l2, flat, W, m):
    """Visit some columns once; returns the largest pull that was left."""
    largest = 0.0
    for k in range(count):
        j = which[k]
        h = bends[j]
        z = h * x[j] - line_dot(L, j, m)
        x_new = (max(z - l1, 0.0) + min(z + l1, 0.0)) / (h + l2)
        step = x_new - x[j]
        if step != 0.0:
            x[j] = x_new
            largest = max(largest, (h + l2) * abs(step))
            if flat > 0.0:
                add_line(L, j, flat * step, m)
            else:
                add_weighted_line(L, j, step, W, m)
    return largest


@helper
def sweeps(L, ws, count, active, x, bends, l1, l2, flat, W, m, enough, most):
    """Sweep over a working set, and between such sweeps over what is not zero in it.

    Returns columns visited.
    """
    visited, size = 0.0, count
    while visited < most:
        whole = size == count
        for k in range(size):
            active[k] = ws[k] if whole else active[k]
        largest = sweep(L, active, size, x, bends, l1, l2, flat, W, m)
        visited += size
        if largest <= enough:
            if whole:
                break
            size = count
        elif whole:
            size = 0
            for k in range(count):
                if x[ws[k]] != 0.0:
                    active[size] = ws[k]
                    size += 1
            if size == 0:
                break
    return visited


@helper
def objective(share, x, old, ws, count, u, t, b, c, loss, l1, l2):
    """P at old + share (x - old) and the margins u + share t: the columns of ws, and all rows."""
    rows = 0.0
    for i in range(len(u)):
        rows += c[i] * loss.phi(u[i] + share * t[i], b[i])
    size, square = 0.0, 0.0
    for k in range(count):
        j = ws[k]
        z = old[j] + share * (x[j] - old[j])
        size += abs(z)
        square += z * z
    return rows + l1 * size + 0.5 * l2 * square


@kernel
def descend(L, b, c, l1, l2, loss, gamma, flat, limits, x, u, y, G, best_y, best_G, record):
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Parameters
    ----------
    L : matrix
        Its lines are the columns of the data.
    flat : float
        The weight of all rows if the loss is (u - b)^2 / 2; 0 for other losses and weights.
    limits : (tol, floor, most passes of this call, most passes in all)
    x, u, y, G : arrays
        Where to start, and the end: x, A x; phi'(A x), A'(c y).
    best_y, best_G : arrays
        The best dual point, before it is scaled, and A'(c y) there.
    record : array of LOOKS x 4
        Passes, primal, dual and gap of each look.

    Returns
    -------
    looks, passes
    """
    tol, floor, budget, left = limits
    n, d = len(u), len(x)
    alive, ws, active = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    norms, bends, old = np.empty(d), np.empty(d), np.empty(d)
    W, m, t = np.empty(n), np.empty(n), np.zeros(n)
    count, typical = 0, 0.0
    for j in range(d):
        norms[j] = line_square(L, j, c)
        typical += norms[j] / d
        if norms[j] > 0.0:
            alive[count] = j
            count += 1
    passes, looks, best, primal, wanted = 1.0, 0, -math.inf, math.inf, 0
    for j in range(d):
        old[j] = x[j]
        if x[j] != 0.0:
            ws[wanted] = j
            wanted += 1
    per_column = 1.0 / max(count, 1)
    while looks < LOOKS:
        share, before = 1.0, primal
        for _ in range(30):
            primal = objective(share, x, old, ws, wanted, u, t, b, c, loss, l1, l2)
            if primal <= before or flat > 0.0:
                break
            share *= 0.5
        for i in range(n):
            u[i] += share * t[i]
            t[i] = 0.0
            y[i] = loss.derivative(u[i], b[i])
            m[i] = c[i] * y[i]
        for k in range(wanted):
            j = ws[k]
            x[j] = old[j] + share * (x[j] - old[j]) if share < 1.0 else x[j]
        top = 0.0
        for k in range(count):
            j = alive[k]
            G[j] = line_dot(L, j, m)
            top = max(top, abs(G[j]))
        passes += count * per_column
        theta, dual = 1.0, -math.inf
        inside = min(1.0, l1 / top) if top > 0.0 else 1.0
        for attempt in range(2):
            scale = inside if attempt == 0 else 1.0
            if attempt == 0 or (l2 > 0.0 and inside < 1.0):
                value = dual_value(scale, y, b, c, loss, G, alive, count, l1, l2)
                if value > dual:
                    theta, dual = scale, value
        if dual > best:
            best = dual
            for i in range(n):
                best_y[i] = y[i]
        gap = primal - best
        record[looks, 0], record[looks, 1] = passes, primal
        record[looks, 2], record[looks, 3] = best, gap
        looks += 1
        size = max(max(abs(primal), abs(best)), floor)
        if gap <= tol * size or not gap < math.inf or passes >= budget:
            break
        if looks > 2 and hopeless(record, looks, tol * size, left):
            break
        if looks == 2 and l2 < SMALL_SHARE * typical and crowded(x, n):
            break
        # columns that are zero at the optimum, by the gap of this very y
        radius = math.sqrt(2.0 * max(primal - dual, 0.0) / gamma)
        kept, wanted = 0, 0
        for k in range(count):
            j = alive[k]
            if x[j] != 0.0 or theta * abs(G[j]) + math.sqrt(norms[j]) * radius >= l1:
                alive[kept] = j
                kept += 1
                if x[j] != 0.0 or abs(G[j]) > l1:
                    ws[wanted] = j
                    wanted += 1
        count = kept
        for i in range(n):
            W[i] = c[i] * max(loss.curvature(u[i], b[i]), LEAST_CURVATURE)
        for k in range(wanted):
            j = ws[k]
            bends[j] = norms[j] if flat > 0.0 else line_square(L, j, W)
            old[j] = x[j]
        enough = l1 * max(GOOD * gap, NEARLY_THERE * tol * size) / size
        most = (FIRST_SWEEPS if looks == 1 else SWEEPS_A_LOOK) * wanted
        most = min(most, (budget - passes) / per_column)
        passes += per_column * sweeps(
            L, ws, wanted, active, x, bends, l1, l2, flat, W, m, enough, most
        )
        for k in range(wanted):
            j = ws[k]
            if x[j] != old[j]:
                add_line(L, j, x[j] - old[j], t)
        passes += 2.0 * wanted * per_column
    for i in range(n):
        m[i] = c[i] * best_y[i]
    for j in range(d):  # the screened ones, too: a bound for all of the problem
        best_G[j] = line_dot(L, j, m)
    return looks, passes + 1.0


@helper
def crowded(x, n):
    """Whether so many columns move that sweeps will be slow."""
    moving = 0
    for j in range(len(x)):
        moving += 1 if x[j] != 0.0 else 0
    return moving > MANY_MOVE * n
