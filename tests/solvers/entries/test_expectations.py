"""What a step of SPD1, SPD1-VR and spd1-vr-acc does on average, summed over all draws.

Least squares with l2: every prox is linear, so the mean of a step has a closed form, with the exact
gradients A'(c y) and A x in it. The steps are those of the kernels, one at a time from the same
point; the chances of draws come from their definition (docs/laboratory/family.md).
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem
from spd1.kernel.rng import key_of
from spd1.solvers import method_class

ETA, TAU = 0.3, 0.7
L2S = np.array([0.4, 0.02, 2.0, 0.1])
WEIGHTS = np.array([1.0, 2.0, 0.5, 0.0, 3.0])  # one row has none
# An empty row and an empty column, a stored zero at (0, 2), long and short lines.
GAPS = np.array(
    [[9.0, 0.5, 0, 0], [0, -1.0, 2.0, 0], [0, 0, 0, 0], [1.0, 0, -3.0, 0], [0.1, 0, 0, 0]]
)
STORED = (GAPS != 0) | (np.arange(20).reshape(5, 4) == 2)
FULL = GAPS + np.where(GAPS == 0, 0.2, 0.0) * [1, 1, 1, 0]  # its last column is zero


def chances_of(sampling, A, stored, c):
    """P(i, j)."""
    if sampling == "uniform":
        return np.full(A.shape, 1.0 / A.size)
    if sampling == "nonzeros":
        return stored / stored.sum()
    if stored.all():
        rows, columns = c * np.sum(A**2, axis=1), c @ A**2
        return np.outer(*(0.5 / len(v) + 0.5 * v / v.sum() for v in (rows, columns)))
    w = np.sqrt(c)[:, None] * np.abs(A)
    by_row, by_column = w * w.sum(axis=1, keepdims=True), w * w.sum(axis=0)
    by_line = by_row / by_row.sum() + by_column / by_column.sum()
    return 0.5 * stored / stored.sum() + 0.25 * by_line


def every_draw(P, draws):
    """What a step can draw, and with which chance: (i, j), or i' in column j and j' in row i, too.

    These are independent of each other given i and j.
    """
    pairs = {(int(i), int(j)): float(P[i, j]) for i, j in np.argwhere(P > 0)}
    if draws == 2:
        return pairs
    q, r = P.sum(axis=0), P.sum(axis=1)
    return {
        (i, j, i2, j2): chance * P[i2, j] / q[j] * P[i, j2] / r[i]
        for (i, j), chance in pairs.items()
        for i2 in np.flatnonzero(P[:, j]).tolist()
        for j2 in np.flatnonzero(P[i]).tolist()
    }


def drawn(worker, t):
    """Rows and columns that step t looks at, from the sampler that the kernel asks."""
    s, key, first = worker.sampler, worker.key, worker.draws_a_step * t
    i, j, _ = s.pair(key, first)
    if worker.draws_a_step == 2:
        return int(i), int(j)
    i2, j2 = s.in_column(key, first + 2, j)[0], s.in_row(key, first + 3, i)[0]
    return int(i), int(j), int(i2), int(j2)


def one_step(worker, start, snapshot, t):
    """How far the kernel's step number t goes."""
    worker.begin(*start)
    p, state = worker.problem, worker.state
    if hasattr(state, "x_snap"):
        state.x_snap[:], state.y_snap[:] = snapshot
        state.gradient[:] = p.adjoint(p.c * snapshot[1])
        state.margins[:] = p.margins(snapshot[0])
    worker.steps_on(None, t, 1, worker.key)
    return state.x - start[0], state.y - start[1]


def mean_of_steps(worker, start, snapshot, P, eta, sigma):
    """Means of (1 + eta_j l2_j) times the move of x_j, and of (1 + sigma_i) times that of y_i."""
    chances, seen, t = every_draw(P, worker.draws_a_step), set(), 0
    for_x, for_y = np.zeros(len(eta)), np.zeros(len(sigma))
    while len(seen) < len(chances):
        draw = drawn(worker, t)
        if draw not in seen:
            seen.add(draw)
            x_move, y_move = one_step(worker, start, snapshot, t)
            for_x += chances[draw] * (1.0 + eta * L2S) * x_move
            for_y += chances[draw] * (1.0 + sigma) * y_move
        t += 1
        assert t < 200_000  # what can be drawn is drawn sooner or later
    return for_x, for_y


QUICK = ("spd1", "sparse", "importance")
CASES = [
    QUICK,
    *(
        pytest.param(method, layout, sampling, marks=pytest.mark.slow)
        for method in ("spd1", "spd1-vr", "spd1-vr-acc")
        for layout in ("sparse", "dense")
        for sampling in ("importance", "uniform", "nonzeros")[: 3 if layout == "sparse" else 2]
        if (method, layout, sampling) != QUICK
    ),
]


@pytest.mark.parametrize(("method", "layout", "sampling"), CASES)
def test_the_mean_of_a_step_has_the_exact_gradients(method, layout, sampling, rng):
    A, stored = (FULL, np.ones(FULL.shape, bool)) if layout == "dense" else (GAPS, STORED)
    data = FULL if layout == "dense" else sp.csr_array((A[stored], np.nonzero(stored)), A.shape)
    problem = Problem(data, rng.standard_normal(len(A)), "squared", L2(L2S), WEIGHTS)
    b, c, (n, d) = problem.b, problem.c, A.shape
    worker = method_class(method)(problem, sampling, key_of(5))
    worker.steps, worker.momentum = {"eta": ETA, "tau": TAU}, 0.0  # momentum: see its proof's test
    (x, x_old), (y, y_old) = rng.standard_normal((2, d)), rng.standard_normal((2, n))
    P = chances_of(sampling, A, stored, c)
    steps = n * d if sampling == "uniform" or layout == "dense" else stored.sum()  # of a pass
    in_column, in_row = P.sum(axis=0), P.sum(axis=1)
    used_x, used_y = in_column > 0, in_row > 0
    # every line has the same total step in a pass: eta n for columns, tau for rows
    eta = np.divide(ETA * n / steps, in_column, out=np.zeros(d), where=used_x)
    sigma = np.divide(TAU / steps, in_row, out=np.zeros(n), where=used_y)
    for_x, for_y = mean_of_steps(worker, (x, y), (x_old, y_old), P, eta, sigma)
    x_seen, y_seen = x, y  # where the gradients are taken
    if method != "spd1":  # at the mean of the half step, from here or from the snapshot
        x_from, y_from = (x_old, y_old) if method == "spd1-vr-acc" else (x, y)
        x_seen = (x - eta * (A.T @ (c * y_from))) / (1.0 + eta * L2S)
        y_seen = (y + sigma * (A @ x_from - b)) / (1.0 + sigma)
    by_gradient = -ETA * n / steps * (A.T @ (c * y_seen) + L2S * x)
    np.testing.assert_allclose(for_x, np.where(used_x, by_gradient, 0.0), atol=1e-12)
    by_margins = TAU / steps * (A @ x_seen - b - y)
    np.testing.assert_allclose(for_y, np.where(used_y, by_margins, 0.0), atol=1e-12)
