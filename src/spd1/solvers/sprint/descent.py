"""Sweeps over the columns that can move: a whole solve for smooth losses, looks included.

A look computes margins and slopes of the loss anew, the gradient of every column that is not
screened, a feasible dual point and with it the gap. Between looks columns are visited that are not
zero or pull beyond l1:

    x_j+ = soft(h_j x_j - a_j'm, l1) / (h_j + l2)
    m = c phi'(u),  W = c phi''(u),  h_j = a_j'W a_j

Slopes and bends follow every move that is long enough to change them; for least squares nothing but
m = c (u - b) has to. Where |phi'''| <= growth phi'', bends grow by e^r at most along a step that
moves no margin by more than r / growth, and a step that is log(1 + r) / r as long never climbs.
"""

from __future__ import annotations

import math

import numpy as np

from ...data.strides import (
    add_line,
    bend_along,
    largest_entry,
    line_dot,
    line_square,
    pull_and_bend,
    shift_along,
)
from ...kernel.jit import helper, kernel
from ...kernel.rng import index
from .ascent import LOOKS, hopeless
from .tuning import (
    FIRST_SWEEPS,
    GOOD,
    LEAST_CURVATURE,
    MANY_MOVE,
    NEARLY_THERE,
    SHORT_MOVE,
    SMALL_SHARE,
    SWEEPS_A_LOOK,
    UNTIL_PACE_COUNTS,
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
def flat_sweep(L, which, count, x, bends, l1, l2, flat, m):
    """Visit some columns once, least squares: the largest pull and the sum of their squares."""
    largest, squares = 0.0, 0.0
    for k in range(count):
        j = which[k]
        h = bends[j]
        z = h * x[j] - line_dot(L, j, m)
        x_new = (max(z - l1, 0.0) + min(z + l1, 0.0)) / (h + l2)
        step = x_new - x[j]
        if step != 0.0:
            x[j] = x_new
            pull = (h + l2) * abs(step)
            largest = max(largest, pull)
            squares += pull * pull
            add_line(L, j, flat * step, m)
    return largest, squares


@helper
def curved_sweep(L, which, count, x, peaks, l1, l2, growth, loss, b, c, u, m, W):
    """The same for other losses, whose slopes and bends follow."""
    largest, squares = 0.0, 0.0
    for k in range(count):
        j = which[k]
        g, h = pull_and_bend(L, j, m, W)
        z = h * x[j] - g
        step = (max(z - l1, 0.0) + min(z + l1, 0.0)) / (h + l2) - x[j]
        if step != 0.0:
            pull = (h + l2) * abs(step)
            largest = max(largest, pull)
            squares += pull * pull
            r = growth * peaks[j] * abs(step)
            if r <= SHORT_MOVE:
                shift_along(L, j, step, u, m, W)
            else:
                step *= math.log1p(r) / r if r < math.inf else 1.0
                bend_along(L, j, step, u, m, W, b, c, loss, LEAST_CURVATURE)
            x[j] += step
    return largest, squares


@kernel
def descend(
    L, b, c, l1, l2, loss, gamma, growth, flat, key, limits, x, u, y, G, best_y, best_G, record
):
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Parameters
    ----------
    L : matrix
        Its lines are the columns of the data.
    growth : float
        Such that |phi'''| <= growth phi''; infinite if there is none.
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
    norms, peaks = np.empty(d), np.empty(d)
    W, m = np.empty(n), np.empty(n)
    count, typical = 0, 0.0
    for j in range(d):
        norms[j] = line_square(L, j, c)
        peaks[j] = largest_entry(L, j) if 0.0 < growth < math.inf else 1.0
        typical += norms[j] / d
        if norms[j] > 0.0:
            alive[count] = j
            count += 1
    passes, looks, best, latest, whole, drawn = 1.0, 0, -math.inf, False, count, 0
    per_column = 1.0 / max(count, 1)
    while looks < LOOKS:
        for i in range(n):  # slices would take seconds to compile
            u[i] = 0.0
        penalty, nonzero = 0.0, 0
        for k in range(count):
            z = x[alive[k]]
            if z != 0.0:
                add_line(L, alive[k], z, u)
                penalty += l1 * abs(z) + 0.5 * l2 * z * z
                nonzero += 1
        primal = penalty
        for i in range(n):
            primal += c[i] * loss.phi(u[i], b[i]) if c[i] > 0.0 else 0.0
            y[i] = loss.derivative(u[i], b[i])
            m[i] = c[i] * y[i]
            W[i] = c[i] * max(loss.curvature(u[i], b[i]), LEAST_CURVATURE)
        top = 0.0
        for k in range(count):
            j = alive[k]
            G[j] = line_dot(L, j, m)
            top = max(top, abs(G[j]))
        passes += (count + nonzero) * per_column
        theta, dual = 1.0, -math.inf
        inside = min(1.0, l1 / top) if l1 > 0.0 and top > 0.0 else 1.0
        scale, more = inside, True
        while more:  # inside, and where l2 allows it as it is; one call, as it compiles long
            value = dual_value(scale, y, b, c, loss, G, alive, count, l1, l2)
            if value > dual:
                theta, dual = scale, value
            more = l2 > 0.0 and scale < 1.0
            scale = 1.0
        latest = dual > best
        if latest:
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
        patience = 2 if flat > 0.0 else UNTIL_PACE_COUNTS
        if looks > patience and hopeless(record, looks, tol * size, left):
            break
        if looks == 2 and l1 > 0.0 and l2 < SMALL_SHARE * typical and nonzero > MANY_MOVE * n:
            break  # so many columns move that sweeps will be slow
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
        # Pulls that are small beside the gap are no reason to go on: it grows with l1 by the
        # largest of them, and with l2 by their squares.
        slack = max(GOOD * gap, NEARLY_THERE * tol * size)
        enough, enough_squares = l1 * slack / size, l2 * NEARLY_THERE * tol * size
        most = (FIRST_SWEEPS if looks == 1 or flat == 0.0 else SWEEPS_A_LOOK) * wanted
        most = min(most, (budget - passes) / per_column)
        visited, settled, among = 0.0, False, wanted
        while visited < most and not settled:
            everything = among == wanted
            for k in range(among):
                active[k] = ws[k] if everything else active[k]
            for k in range(among - 1, 0, -1):  # in a fixed order long columns can take ten times
                other = index(key, drawn + k, k + 1)
                active[k], active[other] = active[other], active[k]
            drawn += among
            if flat > 0.0:
                largest, squares = flat_sweep(L, active, among, x, norms, l1, l2, flat, m)
            else:
                largest, squares = curved_sweep(
                    L, active, among, x, peaks, l1, l2, growth, loss, b, c, u, m, W
                )
            visited += among
            if largest <= enough or squares <= enough_squares:
                settled = everything
                among = wanted
            elif everything:  # between whole sweeps, over what is not zero
                among = 0
                for k in range(wanted):
                    if x[ws[k]] != 0.0:
                        active[among] = ws[k]
                        among += 1
                settled = among == 0
        passes += per_column * visited
    if latest and count == whole:
        for j in range(d):
            best_G[j] = G[j]
    else:  # the screened ones, too: a bound for all of the problem
        for i in range(n):
            m[i] = c[i] * best_y[i]
        for j in range(d):
            best_G[j] = line_dot(L, j, m)
        passes += 1.0
    return looks, passes
