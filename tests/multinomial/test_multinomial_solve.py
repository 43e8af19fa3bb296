"""The solver of multinomial models: its pieces by their definitions, limits, wrong input."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from test_multinomial_bound import NETS, K, data

from spd1 import write_store
from spd1.errors import DataError, IncompatibleError, ParameterError
from spd1.multinomial import precondition, proximal, smooth
from spd1.multinomial.kernels import descend_by_class
from spd1.multinomial.objective import Objective
from spd1.multinomial.smooth import bent, guess, newton_step
from spd1.multinomial.solve import solve_multinomial
from spd1.regularizers import ElasticNet


def a_point(objective, seed=0):
    rng = np.random.default_rng(seed)
    return objective.at(0.3 * rng.normal(size=(objective.size, objective.K)))


def whole_matrix(objective, point, A):
    """Second derivative of the loss: sum_i c_i (diag p_i - p_i p_i') x a_i a_i', classes first."""
    p = point.chances
    inner = np.einsum("ki,kl->kli", p, np.eye(objective.K)) - np.einsum("ki,li->kli", p, p)
    H = np.einsum("i,kli,ij,im->kjlm", objective.c, inner, A, A)
    size = objective.K * A.shape[1]
    return H.reshape(size, size)


def setup(net=NETS["l2"], sparse=False, intercept=True):
    X, labels, weight = data(4)
    objective = Objective(sp.csr_array(X) if sparse else X, labels, K, weight, net, intercept)
    A = np.column_stack([X, np.ones(len(X))]) if intercept else X
    return objective, a_point(objective), A


@pytest.mark.parametrize("sparse", [False, True])
def test_products_and_slopes_are_what_they_are_called(sparse):
    objective, point, A = setup(sparse=sparse)
    np.testing.assert_allclose(point.scores, (A @ point.x).T, atol=1e-14)
    q = objective.pulls(point.chances)
    np.testing.assert_allclose(objective.adjoint(q), A.T @ q.T, atol=1e-15)
    np.testing.assert_allclose(objective.sums_of_squares(q), (A * A).T @ q.T, atol=1e-14)
    h, along = 1e-6, np.random.default_rng(1).normal(size=point.x.shape)
    ends = [objective.at(point.x + s * h * along) for s in (1.0, -1.0)]
    slope = objective.adjoint(q) + objective.l2_rows * point.x
    difference = (ends[0].value - ends[1].value) / (2 * h)
    assert difference == pytest.approx(float(np.vdot(slope, along)), rel=1e-7)
    change = (ends[0].chances - ends[1].chances) / (2 * h)
    np.testing.assert_allclose(bent(point, objective.scores(along)), change, atol=1e-8)


def test_stand_ins_of_the_newton_matrix():
    objective, point, A = setup()
    H = whole_matrix(objective, point, A)
    lower = precondition.newton_matrix(A, objective.c, point.chances)
    np.testing.assert_allclose(np.tril(lower), np.tril(H), atol=1e-15)
    l2 = np.tile(objective.l2_rows.ravel(), K)
    right = np.random.default_rng(0).normal(size=point.x.shape)
    right -= right.mean(axis=1, keepdims=True)  # as gradients are
    found = precondition.Whole(objective, point.chances).solve(right)
    np.testing.assert_allclose((H + np.diag(l2)) @ found.T.ravel(), right.T.ravel(), atol=1e-9)
    size, blocks = objective.size, precondition.Blocks(objective, point.chances).solve(right)
    for k in range(K):
        own = slice(k * size, (k + 1) * size)
        block = H[own, own] + np.diag(l2[own])
        np.testing.assert_allclose(block @ blocks[:, k], right[:, k], atol=1e-9)
    diagonal = precondition.Diagonal(objective, point.chances).solve(right)
    wanted = right.T.ravel() / (np.diag(H) + l2)
    np.testing.assert_allclose(diagonal.T.ravel(), wanted, rtol=1e-10)


@pytest.mark.parametrize("make", [precondition.Whole, precondition.Blocks, precondition.Diagonal])
def test_newton_step_and_the_dual_point_that_belongs_to_it(make, monkeypatch):
    monkeypatch.setattr(smooth, "FORCING", 0.0)  # to the end
    monkeypatch.setattr(smooth, "EARLY", np.inf)
    objective, point, A = setup()
    step = newton_step(objective, point, make, 1e-20)
    H = whole_matrix(objective, point, A) + np.diag(np.tile(objective.l2_rows.ravel(), K))
    slope = objective.adjoint(objective.pulls(point.chances)) + objective.l2_rows * point.x
    np.testing.assert_allclose(H @ step.x.T.ravel(), -slope.T.ravel(), atol=1e-7)
    np.testing.assert_allclose(step.scores, objective.scores(step.x), atol=1e-12)
    left = objective.adjoint(objective.pulls(guess(point, step)))
    wanted = -objective.l2_rows * (point.x + step.x)
    np.testing.assert_allclose(left, wanted, atol=1e-7)  # V = l2 x, and intercepts balance
    assert np.abs(left[-1]).max() < 1e-15


@pytest.mark.parametrize("sparse", [False, True])
def test_gram_matrix_of_a_working_set(sparse):
    objective, point, A = setup(NETS["both"], sparse)
    chosen = np.random.default_rng(0).random(point.x.shape) < 0.5
    chosen[-1] = True
    work = proximal.WorkingSet(objective, chosen)
    H = whole_matrix(objective, point, A)
    flat = work.cls * objective.size + work.column
    found = proximal.gram_of(objective, point, work) - H[np.ix_(flat, flat)]
    level = work.column == objective.d
    np.testing.assert_allclose(found[~level], 0.0, atol=1e-15)
    same = found[np.ix_(level, level)]
    assert same.min() == pytest.approx(same.max(), rel=1e-12)  # holds the intercepts together
    assert same.min() > 0.0


@pytest.mark.parametrize("sparse", [False, True])
def test_sweeps_over_columns_are_coordinate_descent(sparse):
    """Against a transcription with the whole matrix."""
    objective, point, A = setup(NETS["both"], sparse)
    work = proximal.WorkingSet(objective, np.ones(point.x.shape, dtype=bool))
    slope = objective.adjoint(objective.pulls(point.chances))[work.column, work.cls]
    H = whole_matrix(objective, point, A)
    flat = work.cls * objective.size + work.column
    H = H[np.ix_(flat, flat)]
    old = point.x[work.column, work.cls]
    wanted = old.copy()
    for _ in range(2):
        for s in range(len(work)):
            if _ > 0 and wanted[s] == 0.0 and work.l1[s] > 0.0:
                continue
            h = H[s, s] + work.l2[s]
            g = slope[s] + H[s] @ (wanted - old) + work.l2[s] * wanted[s]
            wish = h * wanted[s] - g
            wanted[s] = np.sign(wish) * max(abs(wish) - work.l1[s], 0.0) / h
    z = old.copy()
    way = proximal.Proximal(objective)
    way.by_columns(point, work, z.copy(), slope, 1.0)  # makes the lines
    p, scores, mean = point.chances, np.zeros_like(point.scores), np.zeros(objective.n)
    spread = objective.sums_of_squares(objective.c * p * (1.0 - p))[work.column, work.cls]
    descend_by_class(
        way.lines, objective.d, work.column, work.cls, work.l1, work.l2, z, slope, spread,
        objective.c, p, scores, mean, 2,
    )  # fmt: skip
    np.testing.assert_allclose(z, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["l1", "both"])
def test_both_ways_to_minimise_a_model_agree(name, monkeypatch):
    X, labels, weight = data(5)
    one = solve_multinomial(X, labels, K, NETS[name], weight, tol=1e-9)
    monkeypatch.setattr(proximal, "GRAM_MOST", 0)
    other = solve_multinomial(sp.csc_array(X), labels, K, NETS[name], weight, tol=1e-9)
    assert one.converged
    assert other.converged
    assert abs(one.primal - other.primal) <= 1e-9 * one.primal
    assert np.array_equal(one.x[:, :-1] != 0.0, other.x[:, :-1] != 0.0)


def test_separable_data_without_penalty_come_to_an_end():
    X = np.repeat(np.eye(3), 4, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(12, 3))
    labels = np.repeat(np.arange(3), 4)
    result = solve_multinomial(X, labels, 3, None, tol=1e-4)
    assert result.converged  # relative to a share of the objective at the start
    assert result.primal < 1e-10
    wide = np.random.default_rng(0).normal(size=(20, 700))
    result = solve_multinomial(wide, np.arange(20) % 3, 3, None, tol=1e-4, max_passes=1e5)
    assert result.converged


def test_limits_callback_and_ctrl_c():
    X, labels, weight = data(6)
    few = solve_multinomial(X, labels, K, NETS["faint"], weight, tol=1e-12, max_passes=10)
    assert few.status == "max_passes"
    best = solve_multinomial(X, labels, K, NETS["faint"], weight, tol=1e-12)
    assert few.dual <= best.primal
    assert few.primal - best.dual <= few.gap + 1e-12
    assert len(best.trace) > len(few.trace) >= 2
    assert np.all(np.diff(best.trace.primal) <= 1e-15)
    seen = []

    def third(row):
        seen.append(row)
        return len(seen) > 2

    stopped = solve_multinomial(X, labels, K, NETS["faint"], weight, tol=1e-12, callback=third)
    assert stopped.status == "interrupted"
    assert len(seen) == 3

    def press(row):
        if row.passes > 10:
            signal.raise_signal(signal.SIGINT)

    result = solve_multinomial(X, labels, K, NETS["faint"], weight, tol=1e-12, callback=press)
    assert result.status == "interrupted"
    assert result.primal - best.dual <= result.gap + 1e-12


def test_a_start_at_the_optimum_needs_one_step():
    X, labels, weight = data(7)
    for net in (NETS["l2"], NETS["l1"]):
        best = solve_multinomial(X, labels, K, net, weight, tol=1e-10)
        again = solve_multinomial(X, labels, K, net, weight, tol=1e-8, x0=best.x)
        assert again.converged
        assert len(again.trace) <= 2
        assert again.primal <= best.primal * (1.0 + 1e-12)


def test_l2_optimum_is_symmetric_in_the_classes():
    X, labels, weight = data(8)
    x = solve_multinomial(X, labels, K, NETS["l2"], weight, tol=1e-12).x
    np.testing.assert_allclose(x.sum(axis=0), 0.0, atol=1e-6)


def test_wrong_input_is_refused_by_name():
    X, labels, weight = data()
    broken = X.copy()
    broken[3, 1] = np.nan
    net = NETS["l2"]
    for wrong, what in (
        (lambda: solve_multinomial(broken, labels, K, net), "finite|NaN|nan"),
        (lambda: solve_multinomial(X, labels[:-1], K, net), "labels must be"),
        (lambda: solve_multinomial(X, labels + 1, K, net), "labels must be"),
        (lambda: solve_multinomial(X, 0.5 * labels, K, net), "labels must be"),
        (lambda: solve_multinomial(X, 0 * labels, 1, net), "at least two classes"),
        (lambda: solve_multinomial(X, labels, K, net, -weight), "weights must be"),
        (lambda: solve_multinomial(X, labels, K, net, 0.0 * weight), "zero everywhere"),
        (lambda: solve_multinomial(X, labels, K, net, weight * (labels < 1)), "only class 0"),
        (lambda: solve_multinomial(X, labels, K, net, x0=np.ones((2, 2))), "x0 must be"),
    ):
        with pytest.raises(DataError, match=what):
            wrong()
    with pytest.raises(ParameterError, match="tol must be"):
        solve_multinomial(X, labels, K, net, tol=0.0)
    with pytest.raises(IncompatibleError, match="no bounds"):
        solve_multinomial(X, labels, K, ElasticNet(l2=1.0, lower=0.0))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_have_the_same_bits_whatever_their_number(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 12)) * (rng.random((6000, 12)) < 0.7)
    labels = (X[:, :3] + rng.gumbel(size=(6000, 3))).argmax(axis=1)
    A = sp.csr_array(X) if kind == "sparse" else X
    net = ElasticNet(l2=1e-3)
    one = solve_multinomial(A, labels, 3, net, tol=1e-9)
    several = [
        solve_multinomial(A, labels, 3, net, tol=1e-9, engine="threads", n_threads=k)
        for k in (1, 2, 5)
    ]
    for found in several:
        np.testing.assert_array_equal(found.x, several[0].x)
        assert found.rel_gap == several[0].rel_gap <= 1e-9
    np.testing.assert_allclose(several[0].x, one.x, atol=1e-4)


def test_other_engines_are_refused_by_name():
    X, labels, _ = data()
    with pytest.raises(ParameterError, match="know 'serial' and 'threads'"):
        solve_multinomial(X, labels, K, NETS["l2"], engine="async")


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_penalty_coefficients_are_the_centred_ones(fit_intercept):
    """What all classes share changes no score: a tol out of reach must not let it drift."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    labels = (X[:, :3] + rng.gumbel(size=(200, 3))).argmax(axis=1)
    found = solve_multinomial(
        X, labels, 3, ElasticNet(), fit_intercept=fit_intercept, tol=1e-20, max_passes=400
    )
    np.testing.assert_allclose(found.x.sum(axis=0), 0.0, atol=1e-10)
    assert np.abs(found.x).max() < 10.0
    assert found.rel_gap < 1e-9


def test_data_that_is_not_in_memory_is_refused_with_what_to_do(tmp_path):
    X, labels, _ = data()
    store = write_store(tmp_path / "store", X, labels.astype(float))
    array = pytest.importorskip("dask.array")
    for given in (store, array.from_array(X, chunks=20)):
        with pytest.raises(IncompatibleError, match="multi_class='ovr'"):
            solve_multinomial(given, labels, K, NETS["l2"])
