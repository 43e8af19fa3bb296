"""Few rows, many columns, l2 on all but one of them: the span of the rows, and that column.

With a the column without penalty, the margins are u = K w + a t. Newton's method on
F(K w + a t) + w'K w / 2 has, with W = diag(F''), S = sqrt(W), r = F' + w and M = 1 + S K S,

    S du = M^-1 S (a dt - K r),   dw = -r - W du,   a'(F' + W du) = 0

so that dt is one quotient, and M is factorised once a step. After a whole step a'w = 0.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernel.jit import helper, kernel

__all__ = ["newton_beside_rows", "times_matrix"]


@helper
def factor_in_place(M):
    """The lower triangle of M becomes its Cholesky factor."""
    for i in range(len(M)):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += M[i, k] * M[j, k]
            if i == j:
                M[i, i] = math.sqrt(M[i, i] - total)
            else:
                M[i, j] = (M[i, j] - total) / M[j, j]


@helper
def solve_twice(M, x):
    """Replace both rows of x by M^-1 times them, M being a factor."""
    n = len(M)
    for which in range(2):
        for i in range(n):
            total = 0.0
            for k in range(i):
                total += M[i, k] * x[which, k]
            x[which, i] = (x[which, i] - total) / M[i, i]
        for i in range(n - 1, -1, -1):
            x[which, i] /= M[i, i]
            for k in range(i):
                x[which, k] -= M[i, k] * x[which, i]


@helper
def times_matrix(K, x, out):
    """K x."""
    for i in range(len(out)):
        total = 0.0
        for j in range(len(x)):
            total += K[i, j] * x[j]
        out[i] = total


@helper
def value_on_the_way(part, Kw, Ks, a, w, step, t, dt, along):
    """F and w'K w / 2 at w + along step and t + along dt."""
    total = 0.0
    for i in range(len(w)):
        there = Kw[i] + along * Ks[i]
        total += part.value(there + a[i] * (t + along * dt), i)
        total += 0.5 * (w[i] + along * step[i]) * there
    return total


@kernel
def newton_beside_rows(K, a, part, w, level, tol, least, limit):
    """Newton's method from w and t = level[0]; returns the steps taken, at least some.

    It ends where the gap is below tol that F'(u) proves, moved along the bends until a'F' = 0: half
    of r'K r after the move, and about half of (a'F')^2 / a'Wa for the move.
    """
    n = len(w)
    Kw, Ks, mended, root, rest = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    image, step, M, sides = np.empty(n), np.empty(n), np.empty((n, n)), np.empty((2, n))
    for i in range(n):
        Ks[i], step[i] = 0.0, 0.0
    times_matrix(K, w, Kw)
    value = value_on_the_way(part, Kw, Ks, a, w, step, level[0], 0.0, 0.0)
    for taken in range(limit):
        off, bent = 0.0, 1e-300
        for i in range(n):
            u = Kw[i] + a[i] * level[0]
            slope, bend = part.slope(u, i), part.bend(u, i)
            root[i] = math.sqrt(bend)
            off += a[i] * slope
            bent += a[i] * a[i] * bend
            rest[i] = slope + w[i]
        square = off * off / bent
        for i in range(n):
            mended[i] = rest[i] - off / bent * root[i] * root[i] * a[i]
        times_matrix(K, mended, image)
        for i in range(n):
            square += mended[i] * image[i]
        if taken >= least and 0.5 * square <= tol * abs(value):
            return taken
        times_matrix(K, rest, image)
        for i in range(n):
            for j in range(i + 1):
                M[i, j] = root[i] * K[i, j] * root[j]
            M[i, i] += 1.0
            sides[0, i], sides[1, i] = root[i] * image[i], root[i] * a[i]
        factor_in_place(M)
        solve_twice(M, sides)
        up, down = -off, 0.0
        for i in range(n):
            up += root[i] * a[i] * sides[0, i]
            down += root[i] * a[i] * sides[1, i]
        dt = up / down if down > 0.0 else 0.0
        descent = off * dt
        for i in range(n):
            step[i] = root[i] * (sides[0, i] - dt * sides[1, i]) - rest[i]
            descent += step[i] * image[i]
        times_matrix(K, step, Ks)
        along, new = 1.0, value
        while True:
            new = value_on_the_way(part, Kw, Ks, a, w, step, level[0], dt, along)
            if new <= value + 1e-4 * along * descent + 1e-15 * abs(value) or along < 1e-10:
                break
            along *= 0.5
        value = new
        for i in range(n):
            w[i] += along * step[i]
            Kw[i] += along * Ks[i]
        level[0] += along * dt
    return limit
