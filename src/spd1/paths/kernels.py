"""Sweeps over a Gram matrix that know their own gap."""

from __future__ import annotations

import math

from ..kernel.jit import helper, kernel

__all__ = ["settle"]


@helper
def gap_on_gram(h, z, g, l1, l2, signed, square):
    """Objective and gap of  |A z - b|^2 / 2 + l1 |z| + l2 |z|^2 / 2  by products alone.

    ``g`` is the gradient of the first term, ``h`` minus that at zero and ``square`` is |b|^2. The
    dual point is a multiple of the residuals.
    """
    inner, along, size, squares, strongest, over = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(z)):
        inner += z[k] * h[k]
        along += z[k] * g[k]
        size += abs(z[k])
        squares += z[k] * z[k]
        pull = -g[k] if signed else abs(g[k])
        strongest = max(strongest, pull)
        beyond = max(pull - l1, 0.0)
        over += beyond * beyond
    residual = max(along - inner + square, 0.0)
    primal = 0.5 * residual + l1 * size + 0.5 * l2 * squares
    theta, conjugate = 1.0, 0.0
    if l2 > 0.0:
        conjugate = 0.5 * over / l2
    elif strongest > l1:
        theta = l1 / strongest
    dual = theta * (square - inner) - 0.5 * theta * theta * residual - conjugate
    return primal, primal - dual


@kernel
def settle(G, h, z, g, l1, l2, signed, square, enough, most, price):
    """Sweeps of coordinate descent until the gap is ``enough`` of the objective.

    At most so many, or until they would take more than ``price`` further ones. Returns whether the
    gap is there. G may be larger than z: its rows stay in one piece.
    """
    first = math.inf
    size = len(z)
    for sweep in range(most + 1):
        primal, gap = gap_on_gram(h, z, g, l1, l2, signed, square)
        goal = enough * primal
        if gap <= goal:
            return True
        if sweep == 2:
            first = gap
        elif sweep > 4 and goal > 0.0:
            pace = math.log(max(first / gap, 1.0)) / (sweep - 2)
            if math.log(gap / goal) > pace * price:
                return False
        for w in range(size):
            curvature = G[w, w] + l2
            if curvature <= 0.0:
                continue
            old = z[w]
            wish = G[w, w] * old - g[w]
            new = (max(wish - l1, 0.0) + min(wish + l1, 0.0)) / curvature
            if signed:
                new = max(new, 0.0)
            if new != old:
                step = new - old
                z[w] = new
                row = G[w]
                for k in range(size):
                    g[k] += step * row[k]
    return False
