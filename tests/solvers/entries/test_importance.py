"""Draws by importance: tables, unbiased estimates, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from spd1 import L2, Problem, solve
from spd1.errors import DataError, IncompatibleError
from spd1.kernel.rng import alias_table, key_of
from spd1.solvers import method_class
from spd1.solvers.entries.importance import importance_sampler


def chances(limits, others):
    """Probabilities that Walker's tables stand for."""
    found = np.zeros(len(limits))
    np.add.at(found, np.arange(len(limits)), limits)
    np.add.at(found, others, 1.0 - limits)
    return found / len(limits)


@given(st.lists(st.floats(0.0, 1e3), min_size=1, max_size=40).filter(lambda v: sum(v) > 1e-6))
def test_alias_tables_have_the_probabilities_asked_for(shares):
    shares = np.array(shares)
    np.testing.assert_allclose(chances(*alias_table(shares)), shares / shares.sum(), atol=1e-13)


@pytest.fixture
def problem(rng):
    """Rows and columns of different lengths, and weights of which one is zero."""
    A = rng.standard_normal((7, 5)) * [[1.0], [9.0], [1.0], [0.1], [1.0], [0.0], [1.0]]
    A *= [1.0, 10.0, 1.0, 0.0, 0.1]
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 1.0])
    return Problem(A, np.sign(A[:, 1] + 0.5), "logistic", L2(0.1), weights)


def test_estimates_are_unbiased_and_steps_even(problem, rng):
    """Over all draws, as the kernels use them: x_j moves by eta n c_i a y_i, y_i by tau a x_j."""
    p, s = problem, importance_sampler(problem)
    pi, rho = chances(s.row_limits, s.row_others), chances(s.column_limits, s.column_others)
    A, x, y = p.A.values, rng.standard_normal(p.d), rng.standard_normal(p.n)
    entries = A * np.outer(s.row_factors, s.column_factors)  # what a draw hands out
    columns = np.array([s.column_share(j) for j in range(p.d)])  # eta_j / eta
    rows = np.array([s.row_share(i) for i in range(p.n)])  # sigma_i / tau
    for_x = pi @ (entries * (p.n * p.c * y)[:, None]) / columns
    for_y = (entries * x) @ rho / rows
    np.testing.assert_allclose(for_x, A.T @ (p.c * y), atol=1e-12)
    np.testing.assert_allclose(for_y, A @ x, atol=1e-12)
    np.testing.assert_allclose(rho * columns, 1.0 / p.d)  # every line the same step in a pass
    np.testing.assert_allclose(pi * rows, 1.0 / (p.n * p.d))
    assert pi[1] > 2 * pi[0] > 0  # and long lines are drawn more often
    assert rho[1] > 2 * rho[0]


def test_draws_hand_out_what_the_tables_say(problem):
    s, key, A = importance_sampler(problem), key_of(3), problem.A.values
    for counter in range(0, 40, 2):
        i, j, a = s.pair(key, counter)
        assert a == A[i, j] * s.row_factors[i] * s.column_factors[j]
        i2, a2 = s.in_column(key, counter, j)
        j2, a3 = s.in_row(key, counter + 1, i)
        assert (i2, a2, j2, a3) == (i, a, j, a)  # the same draws


@pytest.fixture
def sparse(problem, rng):
    """The same with gaps: an empty row, an empty column and a stored zero."""
    A = problem.A.values * (rng.random((7, 5)) < 0.7)
    A[0, :2], A[1, 1] = 1.0, 50.0
    stored = sp.csr_array(A)
    stored.data[0] = 0.0
    return Problem(stored, problem.b, "logistic", L2(0.1), problem.c)


def filled(A):
    """CSR as an array."""
    return sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape).toarray()


def line_chances(ends, indptr, line):
    """Probabilities within a line, from its running sums."""
    part = ends[int(indptr[line]) : int(indptr[line + 1])]
    return np.diff(part, prepend=0.0) / part[-1]


def test_stored_entries_give_unbiased_estimates_and_even_steps(sparse, rng):
    """P(i, j) by rows and by columns alike; all draws as the kernels use them."""
    p, s = sparse, importance_sampler(sparse)
    A, x, y = filled(p.A), rng.standard_normal(p.d), rng.standard_normal(p.n)
    rows, columns = s.by_rows, s.by_columns
    r = chances(s.row_limits, s.row_others)
    P, handed = np.zeros((p.n, p.d)), np.zeros((p.n, p.d))
    for i in np.flatnonzero(r):
        part = slice(int(rows.indptr[i]), int(rows.indptr[i + 1]))
        P[i, rows.indices[part]] = r[i] * line_chances(s.row_ends, rows.indptr, i)
        handed[i, rows.indices[part]] = s.row_scaled[part]
    assert P.sum() == pytest.approx(1.0)
    q = P.sum(axis=0)
    for j in np.flatnonzero(q):  # draws in a column are those of pairs, given the column
        part = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        given = line_chances(s.column_ends, columns.indptr, j)
        np.testing.assert_allclose(given, P[columns.indices[part], j] / q[j], rtol=1e-12)
        np.testing.assert_allclose(s.column_scaled[part], handed[columns.indices[part], j])
    row_used, column_used = r > 0, q > 0
    assert not row_used.all() or not column_used.all()
    for_x = (P * handed * (p.n * p.c * y)[:, None]).sum(axis=0)[column_used]
    for_y = (P * handed * x).sum(axis=1)[row_used]
    shares = s.column_shares[column_used] * q[column_used]
    np.testing.assert_allclose(for_x / shares, (A.T @ (p.c * y))[column_used], atol=1e-12)
    row_shares = s.row_shares[row_used] * r[row_used]
    np.testing.assert_allclose(for_y / row_shares, (A @ x)[row_used], atol=1e-12)
    np.testing.assert_allclose(shares, p.n / p.stored)  # every line the same step in a pass
    np.testing.assert_allclose(row_shares, 1.0 / p.stored)
    assert P[1, 1] == P.max()  # the largest entry of the longest lines
    assert P[A != 0].min() >= 0.5 / p.stored


def test_sparse_draws_hand_out_what_the_tables_say(sparse):
    s, key = importance_sampler(sparse), key_of(3)
    A = filled(sparse.A)
    seen = set()
    for counter in range(0, 400, 2):
        i, j, a = s.pair(key, counter)
        assert (a == 0.0) == (A[i, j] == 0.0)
        assert s.in_row(key, counter + 1, i) == (j, a)
        i2, a2 = s.in_column(key, counter, j)
        assert (a2 == 0.0) == (A[i2, j] == 0.0)
        seen.add((int(i), int(j)))
    assert len(seen) == sparse.stored  # every stored entry is drawn now and then


def test_empty_data_and_tiles_are_refused(problem, sparse):
    with pytest.raises(IncompatibleError, match="one piece"):
        solve(problem, "spd1-vr", sampling="importance", grid=(2, 2))
    with pytest.raises(IncompatibleError, match="one piece"):
        solve(sparse, "spd1-vr", sampling="importance", grid=(2, 2))
    empty = Problem(sp.csr_array((3, 2)), [1, -1, 1], "logistic", L2(0.1))
    with pytest.raises(DataError, match="no stored entries"):
        solve(empty, "spd1-vr", sampling="importance")


def test_theorems_are_about_uniform_draws(problem):
    with pytest.raises(IncompatibleError, match="sampling='uniform'"):
        method_class("spd1-vr")(problem, "importance", key_of(1)).theory_steps()


@pytest.mark.slow
@pytest.mark.parametrize("which", ["problem", "sparse"])
@pytest.mark.parametrize("method", ["spd1-vr", "spd1-vr-acc", "spd1"])
def test_they_reach_the_optimum(method, which, request):
    problem = request.getfixturevalue(which)
    best = solve(problem, tol=1e-9).primal
    for seed in range(3):
        found = solve(
            problem, method, sampling="importance", max_passes=20_000, tol=1e-6, random_state=seed
        )
        assert found.primal - best <= (1e-6 if method != "spd1" else 3e-2) * abs(best)
