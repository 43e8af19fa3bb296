"""Newton's steps, a whole solve for smooth losses and l2, looks included.

With m = c phi'(A x) and W = c phi''(A x), a step s solves about

    (A' W A + diag(l2)) s = -(A'm + diag(l2) x)

by conjugate gradients that walk along each row once a product, then goes as far along s as the
objective falls: where columns are more than rows, about to where it is lowest. Data that can be
separated is far from the model there, and steps would be too short.

The gap of y = phi'(A x) is the squared gradient over 2 l2. A better bound comes from the step's own
model of the loss, y = phi' + phi'' A s: conjugate gradients know its A'(c y) without reading the
data, as their residual is what it differs from -l2 (x + s) by.

Where columns are few, and products many, the matrix is added up, over all rows or some, and its
factor is what conjugate gradients are preconditioned by: two to four products, however columns
depend on each other. It serves until steps have gone so far that products are many again.

One column, f, may have no penalty, as an intercept has none. Conjugate gradients eliminate it:
every direction keeps its part of the gradient at zero. So y is balanced, sum_i c_i a_if y_i = 0.
"""

from __future__ import annotations

import math

from ...data.strides import add_line, add_pairs, add_products, line_dot
from ...kernel.jit import helper, kernel
from .ascent import LOOKS
from .tuning import (
    CLIMB,
    ENOUGH_DESCENT,
    EXACTLY,
    FAR_MORE,
    FORCED,
    FORCED_BY_TOLD,
    LONGER,
    LOST_PIVOT,
    LOW_ENOUGH,
    MOST_ALONG,
    MOST_HALVES,
    QUARTER,
    RARE,
    SHORTER,
    STEPS_THAT_TELL,
    TELLING_ROWS,
    TO_ROUNDING,
    UNMOVED,
)

__all__ = ["newton_steps"]


@helper
def moved(u, As, step, b, c, loss, trial, y, h):
    """Margins u + step A s, slopes and bends there; returns the sum of the losses."""
    total = 0.0
    for i in range(len(u)):
        z = u[i] + step * As[i]
        trial[i] = z
        total += c[i] * loss.phi(z, b[i])
        y[i] = loss.derivative(z, b[i])
        h[i] = loss.curvature(z, b[i])
    return total


@helper
def along_step(As, y, h, c, x, s, step, l2):
    """First and second derivative of the objective along s, after a step with these slopes."""
    pull, bend = 0.0, 0.0
    for i in range(len(As)):
        pull += c[i] * y[i] * As[i]
        bend += c[i] * h[i] * As[i] * As[i]
    for j in range(len(s)):
        pull += l2[j] * (x[j] + step * s[j]) * s[j]
        bend += l2[j] * s[j] * s[j]
    return pull, bend


@helper
def sums_of_columns(A, y, h, c, f, at_free, l2, G, D, B):
    """G = A'(c y), D = 1 / diag(A'WA + l2), and B = A'W a_f where a column f has no penalty.

    D_f is zero: what is eliminated needs no step of its own.
    """
    for j in range(len(G)):
        G[j], D[j], B[j] = 0.0, l2[j], 0.0
    for i in range(len(y)):
        m, W = c[i] * y[i], c[i] * h[i]
        if m != 0.0 or W > 0.0:
            add_products(A, i, m, W, W * at_free[i] if f >= 0 else 0.0, G, D, B)
    for j in range(len(G)):
        D[j] = 1.0 / D[j] if D[j] > 0.0 and j != f else 0.0


@helper
def without_free(p, f, B):
    """Choose p_f so that the gradient's part of column f stays as it is: (A'WA p)_f = 0."""
    if f >= 0:
        p[f] = 0.0
        total = 0.0
        for j in range(len(p)):
            total += B[j] * p[j]
        p[f] = -total / B[f] if B[f] > 0.0 else 0.0


@helper
def curved(A, h, c, l2, p, Ap, q):
    """Ap = A p and q = (A'WA + diag(l2)) p; returns p'q."""
    for j in range(len(p)):
        q[j] = l2[j] * p[j]
    for i in range(len(Ap)):
        along = line_dot(A, i, p)
        Ap[i] = along
        if h[i] > 0.0:
            add_line(A, i, c[i] * h[i] * along, q)
    total = 0.0
    for j in range(len(p)):
        total += p[j] * q[j]
    return total


@helper
def sums_of_pairs(A, h, c, stride, l2, D, H):
    """H = A'WA + diag(l2), its lower triangle, every so many rows standing for all of them.

    A column that is rare among them has the diagonal entry of all rows, 1 / D; one without penalty
    has no D.
    """
    for j in range(len(H)):
        for k in range(len(H)):
            H[j, k] = l2[j] if j == k else 0.0
    add_pairs(A, h, c, stride, H)
    for j in range(len(H)):
        if D[j] > 0.0 and H[j, j] * D[j] < RARE:
            H[j, j] = 1.0 / D[j]


@helper
def telling(h, stride, d):
    """Every how many rows tell enough of d columns: rows without curvature tell nothing."""
    curved_rows = 0
    for i in range(len(h)):
        if h[i] > 0.0:
            curved_rows += 1
    return max(1, min(stride, curved_rows // (TELLING_ROWS * d)))


@helper
def factorise(H):
    """Cholesky's factor in the place of H; columns that nothing is left of will not move."""
    for j in range(len(H)):
        whole = H[j, j]
        for k in range(j + 1):
            total = 0.0
            for m in range(k):
                total += H[j, m] * H[k, m]
            if k < j:
                H[j, k] = (H[j, k] - total) / H[k, k]
            else:
                left = whole - total
                H[j, j] = math.sqrt(left) if left > LOST_PIVOT * whole else UNMOVED


@helper
def solve_factored(H, r, s):
    """H H' s = r."""
    for j in range(len(s)):
        total = 0.0
        for k in range(j):
            total += H[j, k] * s[k]
        s[j] = (r[j] - total) / H[j, j]
    for j in range(len(s) - 1, -1, -1):
        s[j] /= H[j, j]
        for k in range(j):
            s[k] -= H[j, k] * s[j]


@helper
def half_square(v, over):
    """Sum of v_j^2 / (2 l2_j)."""
    total = 0.0
    for j in range(len(v)):
        total += v[j] * v[j] * over[j]
    return 0.5 * total


@helper
def bound_of(A, y, v, h, b, c, over, f, at_free, B, loss):
    """Bring y into its domain and v = A'(c y) with it; returns the dual objective.

    First column f is balanced by moves along the bends. What a y kept within its domain lacks of
    balance is left to the certificate, and only counted here.
    """
    balanced = f >= 0 and B[f] > 0.0
    off = v[f] / B[f] if balanced else 0.0
    if balanced:
        for j in range(len(v)):
            v[j] -= off * B[j]
    total = 0.0
    for i in range(len(y)):
        wanted = y[i] - off * h[i] * at_free[i] if balanced else y[i]
        low, high = loss.domain(b[i])
        y[i] = min(max(wanted, low), high)
        if y[i] != wanted:
            add_line(A, i, c[i] * (y[i] - wanted), v)
    for i in range(len(y)):
        star = loss.conjugate(y[i], b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    if balanced:
        total += 0.5 * v[f] * v[f] / B[f]
    return -total - half_square(v, over)


@helper
def far(taken, start, left, enough, products):
    """Whether conjugate gradients, at their pace so far, would take far more than their products.

    Their pace is slow at first: on data with a few strong factors the residual does not fall for
    a dozen of products, and then does.
    """
    if taken * STEPS_THAT_TELL <= products:
        return False
    return not left < start or taken * math.log(start / enough) > FAR_MORE * products * math.log(
        start / left
    )


@kernel
def newton_steps(
    A, b, c, l2, over, f, at_free, H, stride, told, loss, bound, products, limits, x, u,
    best_y, record, of_columns, of_rows,
):  # fmt: skip
    """Run until the gap is reached or the budget is spent.

    Parameters
    ----------
    l2, over : arrays of shape (d,)
        Positive, and 1 / l2; both zero for column f.
    f : int
        The column without penalty; -1 if there is none.
    at_free : array of shape (n,)
        Its entries; of any length if there is none.
    H : array of d x d
        Where the matrix of every ``stride``-th row is added up, whose factor preconditions
        conjugate gradients; without entries: it never is.
    stride : int
    told : array of 2 (int64)
        Whether H is in use, and whether it is of a step near enough; kept from call to call.
    bound : float
        The dual objective at best_y.
    products : (int, int, int, int)
        That conjugate gradients may take for a step, one that would take more is the last; where
        there may be an H, until it is made, and until it is made anew. How often a step may be
        moved to where the objective is lowest along it.
    limits : (tol, floor, most passes of this call, most passes in all)
    x, u : arrays
        Where to start, and the end: x and A x.
    best_y : array
        The dual point with the best bound.
    record : array of LOOKS x 4
        Passes, primal, dual and gap of each look.
    of_columns, of_rows : arrays of 7 x d and 5 x n
        To work with.

    Returns
    -------
    looks, passes, bound
    """
    tol, floor, budget, _ = limits
    hard, last = False, tol >= TO_ROUNDING  # where x is asked for, one more step than gaps tell
    most, untold, trusted, along = products
    may = len(H) > 0
    n, d = len(u), len(x)
    G, D, B, s = of_columns[0], of_columns[1], of_columns[2], of_columns[3]
    r, p, q = of_columns[4], of_columns[5], of_columns[6]
    y, h, As, Ap, trial = of_rows[0], of_rows[1], of_rows[2], of_rows[3], of_rows[4]
    passes, looks, primal, slope = 0.0, 0, math.inf, 0.0
    for j in range(d):
        s[j] = 0.0
    for i in range(n):
        As[i] = 0.0
    while looks < LOOKS:
        step, now, kept, back, more = 1.0, math.inf, 0.0, False, along
        for halves in range(MOST_HALVES + MOST_ALONG + 1):
            at = moved(u, As, step, b, c, loss, trial, y, h)
            for j in range(d):
                z = x[j] + step * s[j]
                at += 0.5 * l2[j] * z * z
            if back:
                break
            if kept == 0.0:  # as far as the objective falls
                now = at
                low = primal + ENOUGH_DESCENT * step * slope + CLIMB * abs(now)
                if not now <= low and halves < MOST_HALVES:
                    step *= 0.5
                    continue
            elif not at < now:
                step, back = kept, True
                continue
            now, kept = at, step
            if more == 0 or not slope < 0.0:
                break
            pull, bend = along_step(As, y, h, c, x, s, step, l2)
            if abs(pull) <= LOW_ENOUGH * -slope or not bend > 0.0:
                break
            step, more = min(max(step - pull / bend, SHORTER * step), LONGER * step), more - 1
        stuck = not now <= primal + CLIMB * abs(now)
        if not stuck:
            primal = now
            for j in range(d):
                x[j] += step * s[j]
            for i in range(n):
                u[i] = trial[i]
        size = max(max(abs(primal), abs(bound)), floor)
        over_now = stuck or (last and primal - bound <= tol * size)
        if not over_now:
            sums_of_columns(A, y, h, c, f, at_free, l2, G, D, B)
            passes += 1.0
            if told[0] > told[1]:
                every = telling(h, stride, d)
                sums_of_pairs(A, h, c, every, l2, D, H)
                factorise(H)
                told[1] = 1
                passes += 1.0 / every
            for j in range(d):
                r[j] = -G[j] - l2[j] * x[j]
            if f < 0:
                dual = primal - half_square(r, over)
                if dual > bound:
                    bound = dual
                    for i in range(n):
                        best_y[i] = y[i]
        gap = primal - bound
        record[looks, 0], record[looks, 1] = passes, primal
        record[looks, 2], record[looks, 3] = bound, gap
        looks += 1
        size = max(max(abs(primal), abs(bound)), floor)
        there = over_now or gap <= tol * size
        if looks > 1 and gap <= TO_ROUNDING * size and 2.0 * gap > record[looks - 2, 3]:
            there = True  # rounding is all that is left
        if (there and last) or stuck or not gap < math.inf or passes >= budget or hard:
            break
        last = last or there
        for j in range(d):
            s[j], p[j] = 0.0, 0.0
        for i in range(n):
            As[i] = 0.0
        if f >= 0 and B[f] > 0.0:  # the best for column f alone
            s[f] = r[f] / B[f]
            for j in range(d):
                r[j] -= s[f] * B[j]
            for i in range(n):
                As[i] = s[f] * at_free[i]
        start = half_square(r, over)
        enough = max((FORCED_BY_TOLD if told[0] > 0 else FORCED) * start, QUARTER * tol * size)
        enough *= EXACTLY if tol < TO_ROUNDING else 1.0
        before = 1.0
        for k in range(most):
            if told[0] > 0:
                if f >= 0:
                    r[f] = 0.0
                solve_factored(H, r, q)
            else:
                for j in range(d):
                    q[j] = r[j] * D[j]
            after = 0.0
            for j in range(d):
                after += r[j] * q[j]
            turn = after / before if k > 0 else 0.0
            before = after
            for j in range(d):
                p[j] = q[j] + turn * p[j]
            without_free(p, f, B)
            bend = curved(A, h, c, l2, p, Ap, q)
            passes += 2.0
            if not bend > 0.0:
                break
            length = after / bend
            left = 0.0
            for j in range(d):
                s[j] += length * p[j]
                r[j] -= length * q[j]
                left += 0.5 * r[j] * r[j] * over[j]
            for i in range(n):
                As[i] += length * Ap[i]
            hard = left > enough
            if may and hard and k + 1 >= (trusted if told[0] > 0 else untold):
                told[0], told[1], hard = 1, 0, False  # this step is good enough
            pace = not may and k > 1 and far(k + 1, start, left, enough, most)
            if not hard or pace:
                break
        slope = 0.0
        for j in range(d):
            slope += (G[j] + l2[j] * x[j]) * s[j]
            q[j] = -l2[j] * (x[j] + s[j]) - r[j]
        for i in range(n):
            trial[i] = y[i] + h[i] * As[i]
        dual = bound_of(A, trial, q, h, b, c, over, f, at_free, B, loss)
        if dual > bound:
            bound = dual
            for i in range(n):
                best_y[i] = trial[i]
    return looks, passes, bound
