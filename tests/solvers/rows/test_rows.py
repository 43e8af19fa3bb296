"""The engines by name: what they reach, what they refuse; the kernels of the row tiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, IncompatibleError, ParameterError, Problem, solve
from spd1.data.convert import as_matrix
from spd1.kernel.rng import key_of, shuffle_blocks
from spd1.losses import LOSSES
from spd1.solvers.rows.kernels import (
    GRADIENT,
    SHRINK,
    STEP,
    Geometry,
    RowTileState,
    X,
    row_tile_steps,
    tie,
    tied_row_steps,
)
from support import cases, oracle
from support.checks import REGS, check, easy

SMOOTH = [name for name, cls in LOSSES.items() if cls().gamma > 0 or name == "poisson"]
SHARP = [name for name in LOSSES if name not in SMOOTH]


def check_method(method, loss, reg, shape, layout="dense_c", tol=1e-6, max_passes=None):
    case, best = cases.make(loss, reg, shape), cases.best(loss, reg, shape)
    problem = case.problem(layout)
    found = solve(problem, method, tol=tol, max_passes=max_passes)
    check(case, problem, found, best)
    assert found.method == method
    assert found.status == "converged" or (best < 1e-12 and found.gap < 1e-9)
    return found


@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_newton_solves_what_it_accepts(loss, reg):
    """Which is all of these: with no smooth part it fades a proximal term.

    Shapes take turns, so that every loss and every regularizer meets both; the slow test below has
    all of them.
    """
    tol = 1e-9 if easy(loss, reg) else 1e-6
    shape = ("tall", "weights")[(list(LOSSES).index(loss) + REGS.index(reg)) % 2]
    check_method("newton", loss, reg, shape, tol=tol)


@pytest.mark.parametrize("reg", ["l2", "l2_array"])
@pytest.mark.parametrize("loss", SMOOTH)
def test_few_rows_solve_to_the_last_digits(loss, reg):
    for shape, layout in (("wide", "dense_c"), ("one_row", "dense_c"), ("wide", "csr")):
        found = check_method("few-rows", loss, reg, shape, layout, tol=1e-9)
        assert found.passes <= 50


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_solve_what_is_strongly_convex(loss):
    for reg, shape in (("l2", "wide"), ("elastic", "tall"), ("arrays", "weights")):
        check_method("rows", loss, reg, shape, max_passes=10_000)


@pytest.mark.parametrize("layout", ["dense_f", "csr", "csc", "dense_float32"])
@pytest.mark.parametrize("method", ["newton", "rows", "few-rows"])
def test_methods_take_every_layout(method, layout):
    check_method(method, "logistic", "l2", "wide", layout)
    if method != "few-rows":
        check_method(method, "hinge", "elastic", "square", layout, max_passes=10_000)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc"])
@pytest.mark.parametrize("reg", REGS)
@pytest.mark.parametrize("loss", LOSSES)
def test_newton_on_every_shape(loss, reg, layout):
    for shape in cases.SHAPES:
        check_method("newton", loss, reg, shape, layout)


REFUSED = [
    ("few-rows", "logistic", "l1", "wide"),
    ("few-rows", "logistic", "elastic_box", "wide"),
    ("few-rows", "logistic", "l2", "tall"),
    ("few-rows", "logistic", "none", "wide"),
    ("few-rows", "hinge", "l2", "wide"),
    ("few-rows", "absolute", "l2", "wide"),
]


@pytest.mark.parametrize(("method", "loss", "reg", "shape"), REFUSED)
def test_problems_that_do_not_suit_are_refused_with_a_reason(method, loss, reg, shape):
    with pytest.raises(IncompatibleError, match=rf"{method} needs .*\w+ \w+ \w+"):
        solve(cases.make(loss, reg, shape).problem(), method, callback=pytest.fail)


@pytest.mark.parametrize("method", ["newton", "few-rows", "rows"])
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sampling": "nonzeros"}, ParameterError, "'nonzeros' means nothing to {}"),
        ({"steps": "theory"}, IncompatibleError, "{}.*use steps='auto'"),
        ({"steps": {"tau": 1.0}}, ParameterError, "{}.*unknown: tau"),
        ({"tile": (2, 2)}, ParameterError, "'{}' has no tiles"),
        ({"max_passes": 0}, ParameterError, "max_passes must be a positive"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_refused_by_name(method, arguments, error, message):
    problem = cases.make("logistic", "l2", "wide").problem()
    with pytest.raises(error, match=message.format(method)):
        solve(problem, method, callback=pytest.fail, **arguments)


@pytest.mark.parametrize(("n", "block"), [(1, 1), (50, 1), (50, 16), (64, 16), (7, 16)])
def test_blocks_of_rows_are_shuffled_and_nothing_is_lost(n, block):
    orders = []
    for counter in (0, 1000):
        order = np.full(n, -1)
        shuffle_blocks(order, key_of(3), counter, block)
        np.testing.assert_array_equal(np.sort(order), np.arange(n))
        starts = np.flatnonzero(np.diff(order, prepend=order[0] - 2) != 1)
        assert np.all(order[starts] % block == 0)  # blocks stay in one piece
        orders.append(order)
    assert (n <= block) == bool(np.array_equal(*orders))


def row_data(rng, layout, reg):
    A = rng.standard_normal((6, 4))
    A[rng.random(A.shape) < 0.3] = 0.0
    A[2] = 0.0
    b = rng.choice([-1.0, 1.0], 6)
    weights = rng.random(6) * (np.arange(6) != 4)
    problem = Problem(oracle.LAYOUTS[layout](A), b, "smoothed_hinge", reg, weights)
    y = -b * rng.random(6)
    return A, problem, y


REG = ElasticNet(l1=0.05, l2=[0.1, 0.2, 0.3, 0.4], lower=-0.5, upper=0.6)


@pytest.mark.parametrize("reg", [REG, L2(0.3)], ids=["net", "plain"])
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_free_row_steps_follow_the_formulas(layout, reg, rng):
    """The update of the module's first lines, one row after the other, in NumPy."""
    A, p, y = row_data(rng, layout, reg)
    n, eta = p.n, 0.4
    stored = np.full(4, n) if layout == "dense_c" else np.count_nonzero(A, axis=0)
    eta_j = eta * n / stored
    table = np.zeros((4, 4))
    table[:, X], table[:, STEP] = rng.uniform(-0.4, 0.4, 4), eta_j
    table[:, GRADIENT], table[:, SHRINK] = A.T @ (p.c * y), 1.0 / (1.0 + eta_j * reg.l2)
    x, y_plain, order = table[:, X].copy(), y.copy(), np.array([3, 0, 2, 4, 5, 1])
    state = RowTileState(y, table, y)
    row_tile_steps(
        p.grid.by_rows.matrix, p.n, None, p.b, Geometry(p.row_norms_squared, p.c), state,
        p.loss, p.net, eta, order,
    )  # fmt: skip
    for i in (3, 0, 5, 1):  # row 2 is empty, row 4 has no weight
        on = np.flatnonzero(A[i]) if layout == "csr" else np.arange(4)
        sigma = 1.0 / (eta * n * p.c[i] * (A[i] @ A[i]))
        new = p.loss.prox_conjugate(y_plain[i] + sigma * (A[i] @ x), p.b[i], sigma)
        gradient = A.T @ (p.c * y_plain)
        delta, y_plain[i] = new - y_plain[i], new
        for j in on:
            ahead = stored[j] * p.c[i] * A[i, j] * delta
            x[j] = p.net.prox(x[j] - eta_j[j] * (gradient[j] + ahead), eta_j[j], j)
    np.testing.assert_allclose(table[:, X], x, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(y, y_plain, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(table[:, GRADIENT], A.T @ (p.c * y), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("reg", [REG, L2(0.3)], ids=["net", "plain"])
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_many_tied_rows_are_the_same_as_one_by_one(layout, reg, rng):
    A, p, y = row_data(rng, layout, reg)
    geometry, order = Geometry(p.row_norms_squared / p.mu, p.c), np.array([3, 0, 2, 4, 5, 1, 0])
    scale = -1.0 / p.mu if reg.plain else 0.0
    one, G_one, G = y.copy(), A.T @ (p.c * y), A.T @ (p.c * y)
    tied_row_steps(p.grid.by_rows.matrix, None, p.b, geometry, y, G, p.loss, p.net, scale, order)
    for i in order:
        row = np.array([i])
        tied_row_steps(
            p.grid.by_rows.matrix, None, p.b, geometry, one, G_one, p.loss, p.net, scale, row
        )
    np.testing.assert_allclose(y, one, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(G, G_one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("reg", [REG, L2(0.3)], ids=["net", "plain"])
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_tied_row_steps_never_lower_the_dual(layout, reg, rng):
    """Each is an exact step, or a shorter one where l2 differs; G follows y, x is tied to G."""
    A, p, y = row_data(rng, layout, reg)
    case = oracle.Case(A, p.b, p.c, p.loss, reg)
    G, x = A.T @ (p.c * y), np.empty(4)
    geometry = Geometry(p.row_norms_squared / p.mu, p.c)
    scale = -1.0 / p.mu if reg.plain else 0.0
    value = first = oracle.dual(case, y)
    for i in [*range(6)] * 5:
        row = np.array([i])
        tied_row_steps(p.grid.by_rows.matrix, None, p.b, geometry, y, G, p.loss, p.net, scale, row)
        new = oracle.dual(case, y)
        assert new >= value - 1e-13
        value = new
    assert value > first + 1e-3
    np.testing.assert_allclose(G, A.T @ (p.c * y), rtol=1e-12, atol=1e-13)
    tie(G, p.net, x)
    l1, l2, lower, upper = oracle.net(reg, 4)
    v = -A.T @ (p.c * y)
    soft = np.sign(v) * np.maximum(np.abs(v) - l1, 0.0)
    np.testing.assert_allclose(x, np.clip(soft / l2, lower, upper), rtol=1e-11)


def test_an_exact_tied_step_maximises_the_dual_in_its_row(rng):
    """Pure l2: no other y_i gives a better bound."""
    reg = L2(0.3)
    A, p, y = row_data(rng, "dense_c", reg)
    case = oracle.Case(A, p.b, p.c, p.loss, reg)
    G, row = A.T @ (p.c * y), np.array([3])
    geometry = Geometry(p.row_norms_squared / p.mu, p.c)
    tied_row_steps(as_matrix(A), None, p.b, geometry, y, G, p.loss, p.net, -1.0 / p.mu, row)
    others = np.repeat(y[None], 41, axis=0)
    others[:, 3] = -p.b[3] * np.linspace(0.0, 1.0, 41)
    assert max(oracle.dual(case, other) for other in others) <= oracle.dual(case, y) + 1e-14


@pytest.mark.parametrize("seed", [5, 8, 11])
def test_a_lag_that_leads_astray_does_not_keep_rows_from_the_gap(seed):
    """Hinge and l1 on few columns of positive entries: eta followed the lag until x stood still."""
    rng = np.random.default_rng(seed)
    A = np.exp(2.0 * rng.standard_normal((120, 12)))
    A /= np.linalg.norm(A, axis=1)[:, None]
    t = A @ rng.standard_normal(12) + 0.1 * rng.standard_normal(120)
    b = np.where(t > np.median(t), 1.0, -1.0)
    l1 = 0.02 * float(np.abs(A.T @ b).max()) / 120
    problem = Problem(A, b, "hinge", ElasticNet(l1=l1))
    found = solve(problem, "rows", tol=1e-6, max_passes=3000)
    assert found.converged
    assert found.method == "rows"
    best = solve(problem, "newton", tol=1e-9)
    assert found.primal == pytest.approx(best.primal, rel=2e-6)


@pytest.mark.parametrize("grid", [None, (1, 4), (2, 3)])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_empty_rows_are_solved_wherever_a_run_begins(loss, grid, rng):
    """A bound that a run goes back to may be scaled, and visits leave empty rows alone.

    Parts of news20 with logistic loss and l1 stood at 1e-3 on 48 of 64 grids.
    """
    A = rng.standard_normal((40, 12)) * (rng.random((40, 12)) < 0.5)
    A[[3, 17]] = 0.0
    b = np.where(A[:, 0] + rng.standard_normal(40) > 0, 1.0, -1.0)
    problem = Problem(sp.csr_array(A), b, loss, L1(0.02))
    near = solve(problem, tol=1e-6)
    found = solve(problem, "rows", tol=1e-6, grid=grid, x0=near.x, y0=0.5 * near.y)
    assert found.converged
    if loss == "logistic":
        np.testing.assert_allclose(found.y[[3, 17]], -0.5 * b[[3, 17]], rtol=1e-2)
