"""Rows less their mean: what is kept up to date, fixed points, when it is used, the same bits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.control.steps import Proposal
from spd1.kernel.rng import key_of
from spd1.solvers.rows.common import Common, common_of
from spd1.solvers.rows.rows import RowTiles
from support.checkpoints import assert_same, in_parts


def alike(
    seed=0, n=40, d=15, loss="hinge", reg=None, layout=np.asarray, spread=0.05, weighted=True
):
    """Rows that point the same way."""
    rng = np.random.default_rng(seed)
    E = spread * rng.standard_normal((n, d))
    b = np.where(E @ rng.standard_normal(d) + 0.03 * rng.standard_normal(n) > 0, 1.0, -1.0)
    weights = rng.random(n) + 0.5 if weighted else None
    reg = L1(1e-4) if reg is None else reg
    return Problem(layout(E + rng.standard_normal(d)), b, loss, reg, sample_weight=weights)


def averaging(problem, passes=3):
    """Rows that have taken the mean out and gone some passes."""
    method = RowTiles(problem, "auto", key_of(0))
    method.tied = False
    method.steps = method.default_steps()
    method.begin(np.zeros(problem.d), np.zeros(problem.n))
    method.adopt(Proposal({"eta": method.loose_eta()}, averaging=True, passes_ahead=passes))
    for _ in method.epoch():
        pass
    return method


REGS = [L1(1e-3), L2(1e-2), ElasticNet(l1=1e-3, l2=1e-3, lower=-2.0, upper=1.0)]


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("reg", REGS)
def test_the_gradient_is_that_of_the_data(reg, layout):
    problem = alike(reg=reg, layout=layout)
    method = averaging(problem)
    assert method.common is not None
    x, G = method.point()
    np.testing.assert_allclose(
        G, problem.adjoint(problem.c * method.state.y), rtol=1e-9, atol=1e-12
    )
    assert np.all((problem.reg.lower <= x) & (x <= problem.reg.upper))


def test_the_split_is_exact():
    """Rows, means and units by their definition: e_i = a_i - m, and (m, -1) is one row more."""
    problem = alike()
    common = common_of(problem, problem.grid)
    A = problem.grid.dense_rows()
    mean = problem.c @ A
    values = np.asarray(common.tile.values)
    np.testing.assert_allclose(values[:, :-1], A - mean, atol=1e-14)
    np.testing.assert_allclose(values[:, -1], common.unit)
    np.testing.assert_allclose(common.line, np.append(mean, -common.unit), atol=1e-14)
    np.testing.assert_allclose(common.row_norms_squared, np.sum(values**2, axis=1))
    assert common.unit**2 == pytest.approx(float(problem.c @ np.sum((A - mean) ** 2, axis=1)))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "absolute"])
def test_a_solution_stays_where_it_is(loss):
    problem = alike(loss=loss, reg=ElasticNet(l1=1e-3, l2=1e-2))
    best = solve(problem, "auto", tol=1e-13)
    method = averaging(problem, 1)
    method.begin(best.x.copy(), best.y.copy())
    for _ in method.epoch():
        pass
    x, _ = method.point()
    np.testing.assert_allclose(x, best.x, atol=1e-4 * np.abs(best.x).max())
    np.testing.assert_allclose(problem.margins(x), problem.margins(best.x), atol=1e-4)


@pytest.mark.parametrize("grid", [None, (3, 2)])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_rows_that_point_the_same_way_are_solved(loss, grid):
    problem = alike(n=60, d=30, loss=loss, reg=L1(1e-4), spread=0.02)
    found = solve(problem, "rows", tol=1e-6, max_passes=20_000, grid=grid)
    assert found.method == "rows"
    assert found.converged
    best = solve(problem, "auto", tol=1e-9)
    assert found.primal - best.dual <= 1.001 * 1e-6 * found.primal + 1e-12


def test_what_is_left_alone():
    """Rows that do not point the same way, sparse rows, and data that is cut."""
    problem = alike(spread=2.0)
    assert common_of(problem, problem.grid) is None
    A = sp.csr_array(np.where(np.random.default_rng(0).random((40, 15)) < 0.2, 1.0, 0.0))
    problem = Problem(A, np.ones(40), "hinge", L1(1e-3))
    assert common_of(problem, problem.grid) is None
    problem = alike()
    assert isinstance(common_of(problem, problem.grid), Common)
    assert common_of(problem, problem.grid.cut(2, 2)) is None
    one = Problem(np.ones((5, 3)), np.ones(5), "hinge", L1(1e-3))  # nothing tells them apart
    assert common_of(one, one.grid) is None


def test_saved_and_restored_it_goes_on_with_the_same_bits():
    method = averaging(alike())
    saved = method.save()
    ends = []
    for _ in range(2):
        method.restore(saved)
        for _ in method.epoch():
            pass
        ends.append((*method.point(), method.state.y.copy()))
    for one, two in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path):
    def problem():
        return alike(n=60, d=30, reg=L1(1e-4), spread=0.02)

    options = {"method": "rows", "tol": 1e-6, "max_passes": 400, "grid": (3, 2)}
    whole = solve(problem(), checkpoint=tmp_path / "whole", **options)
    parts, _ = in_parts(problem, tmp_path / "run", **options)
    assert_same(whole, parts)
