"""Dual coordinate ascent over rows: one pass in one kernel.

Yu, Huang and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy
models", Machine Learning 85 (2011); Shalev-Shwartz and Zhang, "Accelerated proximal stochastic dual
coordinate ascent", Mathematical Programming 155 (2016). The dual variables of row i are chances p_i
on the simplex. Coefficients are tied to them: W = A'(c (e - p)) / l2.
"""

from __future__ import annotations

import numpy as np

from ..kernel.elementary import exp
from ..kernel.jit import helper, kernel
from ..kernel.rng import shuffled

__all__ = ["ascend_rows", "best_chances"]

ROW_STEPS = 200  # of Newton's method in a row; three are usual
ROW_CLOSE = 1e-12  # the square of Newton's last step: another would change chances by so much


@helper
def best_chances(t, h, q, p):
    """Minimise sum_k [p_k log p_k + h/2 p_k^2 - t_k p_k] over the simplex.

    The minimiser has log p_k + h p_k = t_k - nu, with nu such that the sum is one: Newton's
    method in q = log p and nu together. ``q`` and ``p`` hold a guess and get the answer. No chance
    is above one, and the largest is at least 1/K: that bounds q and nu.
    """
    K = len(t)
    top, nu = t[0], 0.0
    for k in range(K):
        top = max(top, t[k])
        nu += p[k] * (t[k] - q[k] - h * p[k])
    for _ in range(ROW_STEPS):
        total, slope = -1.0, 0.0
        for k in range(K):
            bend = 1.0 + h * p[k]
            total += p[k] * (1.0 + (t[k] - nu - q[k] - h * p[k]) / bend)
            slope += p[k] / bend
        nu = min(max(nu + total / slope, top - h), top - h / K + np.log(K))
        size = 0.0
        for k in range(K):
            change = min((t[k] - nu - q[k] - h * p[k]) / (1.0 + h * p[k]), -q[k])
            q[k] += change
            new = exp(q[k])
            most = max(p[k], new)
            size += change * change * most * (1.0 + h * most)
            p[k] = new
        if size <= ROW_CLOSE:
            break
    total = 0.0
    for k in range(K):
        total += p[k]
    for k in range(K):
        p[k] /= total


@kernel
def ascend_rows(
    starts, columns, values, labels, c, squares, l2, ones, W, P, work, key, first, size, mask, half
):  # fmt: skip
    """Visit every row once in random order; each takes the chances that raise the dual the most.

    ``P`` has a row a sample. The last row of ``W`` is the intercept over ``ones``, the value of a
    column that all rows have; ``squares`` are |a_i|^2 with it. ``work`` has three rows of K
    numbers. Returns the gap that rows had when they were visited, to second order, at most one
    each.
    """
    K = W.shape[1]
    last = np.uint64(W.shape[0] - 1)
    z, q, p = work[0], work[1], work[2]
    gap = 0.0
    for turn in range(first, first + len(labels)):
        i = shuffled(key, turn, size, mask, half)
        if c[i] == 0.0:
            continue
        for k in range(K):
            z[k] = ones * W[last, k]
        for e in range(starts[i], starts[i + np.uint64(1)]):
            j, a = np.uint64(columns[e]), values[e]
            for k in range(K):
                z[k] += a * W[j, k]
        top = z[0]
        for k in range(K):
            top = max(top, z[k])
        total = 0.0
        for k in range(K):
            q[k] = z[k] - top
            p[k] = exp(q[k])
            total += p[k]
        log_total = np.log(total)
        h = c[i] * squares[i] / l2
        off = 0.0
        for k in range(K):
            q[k] -= log_total
            p[k] /= total
            off += (P[i, k] - p[k]) ** 2 / max(p[k], 1e-100)
            z[k] += h * P[i, k]
        gap += c[i] * min(0.5 * off, 1.0)
        best_chances(z, h, q, p)
        for k in range(K):
            z[k] = (P[i, k] - p[k]) * (c[i] / l2)
            P[i, k] = p[k]
            W[last, k] += ones * z[k]
        for e in range(starts[i], starts[i + np.uint64(1)]):
            j, a = np.uint64(columns[e]), values[e]
            for k in range(K):
                W[j, k] += a * z[k]
    return gap
