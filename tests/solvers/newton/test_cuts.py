"""Newton's method on data cut into tiles: it looks at them through the grid alone."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, L2, Box, ElasticNet, Problem, certify, solve
from support import oracle

SHAPES = [(1, 3), (4, 1), (3, 2)]
FREE = np.append(np.full(29, 0.01), 0.0)  # the last column has no penalty
PROBLEMS = {  # loss, regularizer, shape of the data
    "primal": ("logistic", L1(0.02), (60, 30)),
    "smooth": ("logistic", L2(0.01), (60, 30)),
    "factor of rows": ("logistic", L2(0.01), (30, 45)),
    "tall": ("squared", L1(0.02), (130, 30)),
    "box": ("huber", Box(-0.1, 0.3), (60, 30)),
    "dual": ("hinge", L2(0.01), (60, 30)),
    "dual with l1": ("hinge", ElasticNet(l1=0.01, l2=0.01), (60, 30)),
    "span": ("hinge", L2(0.01), (20, 50)),
    "free": ("hinge", L2(FREE), (60, 30)),
    "proximal": ("absolute", L1(0.02), (60, 30)),
    "few-rows": ("logistic", L2(0.01), (20, 50)),
}


def problem_of(key, layout, rng):
    loss, reg, (n, d) = PROBLEMS[key]
    A = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    A[rng.random((n, d)) < 0.3] = 0.0
    t = A @ rng.standard_normal(d) / np.sqrt(d) + rng.standard_normal(n)
    b = np.where(t > 0, 1.0, -1.0) if loss in ("logistic", "hinge") else t
    return Problem(oracle.LAYOUTS[layout](A), b, loss, reg, rng.random(n) + 0.1)


@pytest.mark.parametrize(
    "layout",
    ["dense_c", "csr", *(pytest.param(v, marks=pytest.mark.slow) for v in ("dense_f", "csc"))],
)
@pytest.mark.parametrize("key", PROBLEMS)
def test_any_cut_has_the_same_optimum(key, layout, rng):
    """Shapes rotate; what is certified on tiles is certified on the whole matrix, too."""
    whole = problem_of(key, layout, rng)
    best = solve(whole, tol=1e-8)
    number = list(PROBLEMS).index(key) + len(layout)
    cut = whole.with_grid(whole.grid.cut(*SHAPES[number % len(SHAPES)]))
    found = solve(cut, tol=1e-8)
    assert found.converged
    assert found.primal == pytest.approx(best.primal, rel=3e-8)
    proof = certify(found.x, whole, found.y)
    assert proof.gap <= 1.001 * found.gap + 1e-12 * abs(found.primal)


@pytest.mark.parametrize("key", ["primal", "dual", "tall"])
def test_a_cut_has_its_own_bits_whoever_looked_before(key, rng):
    whole = problem_of(key, "dense_c", rng)
    cut = whole.with_grid(whole.grid.cut(3, 2))
    first = solve(cut, tol=1e-8)
    solve(whole, tol=1e-8)
    again = solve(whole.with_grid(whole.grid.cut(3, 2)), tol=1e-8)
    np.testing.assert_array_equal(again.x, first.x)
    np.testing.assert_array_equal(again.trace.passes, first.trace.passes)
