"""Kernels of Newton's steps on a set of columns."""

from __future__ import annotations

import numpy as np

from ..kernel.jit import helper, kernel
from .tuning import DESCENT, FLAT_BEND, HALVINGS

__all__ = [
    "bend_at",
    "extrapolate",
    "gap_of_set",
    "step_along",
    "sweep_gram",
    "sweep_lines",
]


@kernel
def bend_at(u, b, c, loss, slope, bend):
    """Slopes and curvatures of the rows; returns the loss and the sum of the curvatures."""
    value, total = 0.0, 0.0
    for i in range(len(u)):
        value += c[i] * loss.phi(u[i], b[i])
        slope[i] = c[i] * loss.derivative(u[i], b[i])
        bend[i] = c[i] * max(loss.curvature(u[i], b[i]), FLAT_BEND)
        total += bend[i]
    return value, total


@kernel
def gap_of_set(g, z, u, slope, b, c, loss, l1, l2, signed):
    """Gap of the columns with gradient g, how far the farthest is from rest, and the penalty."""
    strongest, over, worst, inner, size, squares = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for w in range(len(z)):
        pull = -g[w] if signed else abs(g[w])
        strongest = max(strongest, pull)
        apart = max(pull - l1, 0.0)
        if z[w] != 0.0:
            apart = abs(g[w] + l2 * z[w] + (l1 if z[w] > 0.0 else -l1))
        over += apart * apart
        worst = max(worst, apart)
        inner += z[w] * g[w]
        size += abs(z[w])
        squares += z[w] * z[w]
    theta = l1 / strongest if strongest > l1 else 1.0
    gap = max(l1 * size + 0.5 * l2 * squares + theta * inner, 0.0)
    if theta < 1.0:  # y = theta slope / c is off what the margins ask for
        for i in range(len(u)):
            if c[i] > 0.0:
                y = theta * slope[i] / c[i]
                star = loss.conjugate(y, b[i])
                gap += c[i] * max(loss.phi(u[i], b[i]) + star - u[i] * y, 0.0)
    if l2 > 0.0:
        gap = min(gap, 0.5 * over / l2)
    return gap, worst, l1 * size + 0.5 * l2 * squares


@helper
def moved_to(wish, curvature, l1, signed):
    """argmin_t { curvature t^2 / 2 - wish t + l1 |t| }, t >= 0 if signed."""
    new = (max(wish - l1, 0.0) + min(wish + l1, 0.0)) / curvature
    return max(new, 0.0) if signed else new


@kernel
def sweep_gram(G, z, g, l1, l2, signed, enough, most):
    """Sweeps over the model until no column is farther than ``enough`` from rest; whether so.

    G may be larger than z: its rows stay in one piece.
    """
    size = len(z)
    for _ in range(most):
        worst = 0.0
        for w in range(size):
            curvature = G[w, w] + l2
            if curvature <= 0.0:
                continue
            old = z[w]
            new = moved_to(G[w, w] * old - g[w], curvature, l1, signed)
            if new != old:
                step = new - old
                z[w] = new
                worst = max(worst, abs(step) * curvature)
                row = G[w]
                for k in range(size):
                    g[k] += step * row[k]
        if worst <= enough:
            return True
    return False


@helper
def model_change(model, other, bend, z, mixed, l1, l2):
    """What the objective of a model changes by from slopes ``model`` to ``other``, z to mixed."""
    total = 0.0
    for i in range(len(model)):
        if bend[i] > 0.0:
            total += 0.5 * (model[i] + other[i]) * (other[i] - model[i]) / bend[i]
    for w in range(len(z)):
        total += l1 * (abs(mixed[w]) - abs(z[w]))
        total += 0.5 * l2 * (mixed[w] * mixed[w] - z[w] * z[w])
    return total


@helper
def mixing(points, weights):
    """Weights of sum 1 that make the same mixture of the steps between points shortest."""
    m = len(weights)
    C = np.empty((m, m))
    for p in range(m):
        for q in range(p + 1):
            total = 0.0
            for w in range(points.shape[1]):
                step = points[p + 1, w] - points[p, w]
                total += step * (points[q + 1, w] - points[q, w])
            C[p, q] = total
            C[q, p] = total
    most = 0.0
    for p in range(m):
        most = max(most, C[p, p])
    if not most > 0.0:
        return False
    for p in range(m):
        C[p, p] += 1e-10 * most
        weights[p] = 1.0
    for p in range(m):  # elimination: the matrix is positive
        for q in range(p + 1, m):
            factor = C[q, p] / C[p, p]
            for r in range(p, m):
                C[q, r] -= factor * C[p, r]
            weights[q] -= factor * weights[p]
    total = 0.0
    for p in range(m - 1, -1, -1):
        for q in range(p + 1, m):
            weights[p] -= C[p, q] * weights[q]
        weights[p] /= C[p, p]
        total += weights[p]
    for p in range(m):
        weights[p] /= total
    return abs(total) > 0.0


@kernel
def extrapolate(points, slopes, z, model, bend, l1, l2, signed):
    """Go to the mixture of the last points that their steps point to, if that is better.

    Slopes are linear in z: their mixture takes no product (Anderson's acceleration).
    """
    weights = np.empty(len(points) - 1)
    if not mixing(points, weights):
        return
    mixed, other = np.zeros(len(z)), np.zeros(len(model))
    for p in range(len(weights)):
        for w in range(len(z)):
            mixed[w] += weights[p] * points[p + 1, w]
        for i in range(len(model)):
            other[i] += weights[p] * slopes[p + 1, i]
    if signed:
        for w in range(len(z)):
            if mixed[w] < 0.0:
                return
    if model_change(model, other, bend, z, mixed, l1, l2) < 0.0:
        for w in range(len(z)):
            z[w] = mixed[w]
        for i in range(len(model)):
            model[i] = other[i]


@kernel
def sweep_lines(
    B, ids, z, model, bend, flat, curvature, l1, l2, signed, enough, everything, points, slopes
):
    """The same over sparse columns; ``model`` is the slope of the model, row by row.

    Sweeps over all columns find those that move, sweeps over these follow, and are kept as points.
    Returns whether no column is farther than ``enough`` from rest, else there are enough points.
    """
    stored = 0
    while stored < len(points):
        worst = 0.0
        for w in range(len(ids)):
            old, h = z[w], curvature[w]
            if (old == 0.0 and not everything) or h + l2 <= 0.0:
                continue
            line = ids[w]
            g = 0.0
            for k in range(B.line_length(line)):
                i, a = B.at(line, k)
                g += a * model[i]
            new = moved_to(h * old - g, h + l2, l1, signed)
            if new != old:
                step = new - old
                z[w] = new
                worst = max(worst, abs(step) * (h + l2))
                if flat:
                    step *= bend[0]
                    for k in range(B.line_length(line)):
                        i, a = B.at(line, k)
                        model[i] += a * step
                else:
                    for k in range(B.line_length(line)):
                        i, a = B.at(line, k)
                        model[i] += bend[i] * (a * step)
        if worst <= enough and everything:
            return True
        everything = worst <= enough
        if not everything:
            for w in range(len(z)):
                points[stored, w] = z[w]
            for i in range(len(model)):
                slopes[stored, i] = model[i]
            stored += 1
    return False


@helper
def part_of_the_way(u, du, t, b, c, loss, old, z, l1, l2):
    """The objective t of the way."""
    total = 0.0
    for i in range(len(u)):
        total += c[i] * loss.phi(u[i] + t * du[i], b[i])
    for w in range(len(old)):
        now = old[w] + t * (z[w] - old[w])
        total += l1 * abs(now) + 0.5 * l2 * now * now
    return total


@kernel
def step_along(u, du, b, c, loss, old, z, l1, l2, value, promised):
    """Go as far as the objective keeps a part of what was promised; u and z follow."""
    t = 1.0
    for _ in range(HALVINGS):
        now = part_of_the_way(u, du, t, b, c, loss, old, z, l1, l2)
        if now <= value + DESCENT * t * promised:
            break
        t *= 0.5
    for i in range(len(u)):
        u[i] += t * du[i]
    if t < 1.0:
        for w in range(len(z)):
            z[w] = old[w] + t * (z[w] - old[w])
    return t
