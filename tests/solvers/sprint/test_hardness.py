"""How long visits to rows are worth a try, and who goes on where they are not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.certificate.gap import certify_point
from spd1.kernel.rng import key_of
from spd1.solvers.sprint import choice, hardness, workers
from spd1.solvers.sprint.choice import kind_of, next_kind
from spd1.solvers.sprint.hardness import hard_pieces, passes_worth, row_overlap, row_ratio
from spd1.solvers.sprint.momentum import FAST_NUMBERS, OTHERS, crowded
from spd1.solvers.sprint.sprint import Dash
from spd1.solvers.sprint.tuning import (
    FEW_ROUGH_LINES,
    FEWEST_ROUGH_ASCENT,
    MOST_ASCENT,
    MOST_ROUGH_ASCENT,
    MOST_ROUGH_SPARSE,
)
from spd1.solvers.sprint.workers import AscentWorker


def problem_of(n, d, loss="squared_hinge", l2=1e-6, noise=2.0, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    signal = A @ rng.standard_normal(d) / np.sqrt(d) + noise * rng.standard_normal(n)
    return Problem(A, np.where(signal > 0.0, 1.0, -1.0), loss, L2(l2))


def test_the_ratio_is_the_mean_of_a_rows_square_over_l2():
    p = problem_of(30, 20, l2=0.1)
    A = p.grid.dense_rows()
    mean = np.mean([p.c[i] * (A[i] @ A[i]) / (0.1 * p.gamma) for i in range(p.n)])
    assert row_ratio(p) == pytest.approx(mean)


def test_columns_without_l2_do_not_count_in_the_ratio():
    p = problem_of(30, 20, l2=0.1)
    some = p.with_regularizer(ElasticNet(l2=np.append(np.full(19, 0.1), 0.0)))
    assert row_ratio(some) == row_ratio(p)
    assert row_ratio(p.with_regularizer(L1(0.1))) == np.inf
    assert row_ratio(p.with_regularizer(ElasticNet(l2=np.zeros(20)))) == np.inf


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "squared", "huber"])
@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("free", [0, 1, 2])
def test_every_shape_finds_a_kind_with_and_without_free_columns(loss, layout, free):
    """Who chooses divides by l2, which a column without penalty has none of."""
    rng = np.random.default_rng(0)
    for n, d in ((20, 60), (60, 50), (150, 60), (400, 50), (2600, 20), (12_000, 15)):
        A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
        A[:, d - free :] = 1.0 + np.arange(free)
        b = np.where(A[:, 0] + rng.standard_normal(n) > 0.0, 1.0, -1.0)
        for l2 in (1e-6, 1e-2, 10.0):
            reg = ElasticNet(l2=np.append(np.full(d - free, l2), np.zeros(free)))
            for one in (reg, L2(l2)) if free == 0 else (reg,):
                p = Problem(sp.csr_array(A) if layout == "csr" else A, b, loss, one)
                assert kind_of(p) in ("", *choice.REASONS)


def test_corners_are_worth_more_passes_the_more_columns_there_are():
    few, more = (passes_worth(problem_of(4 * d, d, "hinge")) for d in (150, 300))
    assert FEWEST_ROUGH_ASCENT <= few < more <= MOST_ROUGH_ASCENT
    assert passes_worth(problem_of(30, 20, "hinge")) == FEWEST_ROUGH_ASCENT
    rows = sp.random_array((4000, 3500), density=1e-2, rng=np.random.default_rng(0), format="csr")
    assert passes_worth(Problem(rows, np.ones(4000), "hinge", L2(1.0))) == MOST_ROUGH_SPARSE
    assert passes_worth(problem_of(400, 150, "logistic")) == MOST_ASCENT


def test_hard_pieces_go_to_momentum_or_to_newtons_steps():
    assert kind_of(problem_of(300, 200)) == "ascent"
    tall = problem_of(600, 150)
    assert hard_pieces(tall)
    assert kind_of(tall) == "newton-gram"
    assert not hard_pieces(problem_of(600, 150, l2=1.0))
    assert not hard_pieces(problem_of(600, 150, "logistic"))
    assert next_kind("newton-gram", tall) == "ascent"
    assert next_kind("ascent", tall) == "newton-gram"
    assert next_kind("ascent", problem_of(300, 200)) == "newton-cg"
    assert next_kind("newton-gram, then ascent", tall) == ""


@pytest.mark.parametrize(("in_use", "kind"), [(400, "newton-cg"), (4000, "ascent")])
def test_columns_without_entries_do_not_count(in_use, kind):
    """Logistic rows of ten entries, 4,000 columns: it matters how many of them are in use."""
    rng, n = np.random.default_rng(0), 300
    places = np.repeat(np.arange(n), 10), rng.integers(0, in_use, 10 * n) * (4000 // in_use)
    A = sp.csr_matrix((rng.standard_normal(10 * n), places), (n, 4000))
    p = Problem(A, np.sign(rng.standard_normal(n)), "logistic", L2(1e-5))
    assert choice.columns_in_use(p) == np.count_nonzero(np.diff(A.tocsc().indptr))
    assert kind_of(p) == kind
    assert solve(p, tol=1e-9).rel_gap <= 1e-9


@pytest.mark.parametrize(
    ("share", "kind"), [(0.5, "descent"), (0.002, "")], ids=["swept", "by a matrix"]
)
def test_tall_sparse_lassos_are_swept_where_few_columns_move(share, kind):
    rng, n, d = np.random.default_rng(0), 20_000, 100
    places = np.repeat(np.arange(n), 8), rng.integers(0, d, 8 * n)
    A = sp.csc_matrix((rng.standard_normal(8 * n), places), (n, d))
    b = A @ rng.standard_normal(d) + rng.standard_normal(n)
    p = Problem(A, b, "squared", L1(share * np.abs(A.T @ b).max() / n))
    assert choice.share_of_l1(p) == pytest.approx(share)
    assert kind_of(p) == kind
    assert solve(p, tol=1e-6).converged


@pytest.mark.parametrize(
    ("shape", "limits", "way"),
    [
        ((600, 150), ("NEWTON_CG_OF_PIECES", "SMALL_WORK"), "newton-gram, then ascent"),
        ((300, 200), ("MOST_ASCENT_OF_PIECES", "LITTLE_ASCENT"), "ascent, then newton-cg"),
    ],
)
def test_who_gives_up_is_followed_by_the_other(shape, limits, way, monkeypatch):
    for name, value in zip(limits, (5.0, 0.0), strict=True):
        room = workers if hasattr(workers, name) else hardness
        monkeypatch.setattr(room, name, value)
    p = problem_of(*shape, l2=1e-4)
    found = solve(p, tol=1e-8)
    assert found.method.startswith(f"auto: {way}")
    assert found.converged
    best = solve(p, "interior", tol=1e-12)
    assert found.dual <= best.primal * (1.0 + 1e-12)
    assert found.primal - best.primal <= found.gap + 1e-12


def test_squared_hinges_of_short_rows_take_products():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 200, (300, 4)).ravel()
    A = sp.csr_array((np.ones(1200), (np.repeat(np.arange(300), 4), columns)), shape=(300, 200))
    b = np.where(A @ rng.standard_normal(200) > 0.0, 1.0, -1.0)
    assert kind_of(Problem(A, b, "squared_hinge", L2(1e-2))) == "newton-cg"
    assert kind_of(Problem(A[:150], b[:150], "squared_hinge", L2(1e-2))) == "ascent"


@pytest.mark.parametrize(
    ("in_use", "l2", "kind"),
    [(200, 1e-2, "newton-cg"), (200, 3e-4, "newton-cg"), (600, 1e-2, "ascent")],
)
def test_squared_hinges_of_short_rows_count_the_columns_in_use(in_use, l2, kind):
    rng, n = np.random.default_rng(0), 300
    columns = rng.integers(0, in_use, (n, 8)).ravel()
    A = sp.csr_array((np.ones(8 * n), (np.repeat(np.arange(n), 8), columns)), shape=(n, 1000))
    b = np.where(A @ rng.standard_normal(1000) > 0.0, 1.0, -1.0)
    p = Problem(A, b, "squared_hinge", L2(l2))
    assert choice.columns_in_use(p) <= in_use
    assert kind_of(p) == kind


def test_dense_squared_hinges_are_visited_on_few_rows_a_column_only():
    for n, d, kind in ((1400, 400, ""), (3000, 150, "newton-gram")):
        p = problem_of(n, d)
        p = p.with_regularizer(L2(p.grid.square_sum / (n * n * p.gamma * 20.0)))
        assert row_ratio(p) == pytest.approx(20.0)
        assert kind_of(p) == kind


@pytest.mark.parametrize("rows", ["crowded", "few", "nobody else"])
def test_rows_are_crowded_where_more_are_at_work_than_columns(rows):
    y, G, fast = np.zeros(9), np.ones(4), np.zeros(FAST_NUMBERS)
    fast[OTHERS] = rows != "nobody else"
    G[3] = 0.0  # a column without an entry
    y[: 5 if rows != "few" else 4] = -0.1
    assert crowded(fast, y, G) == (rows == "crowded")


@pytest.mark.parametrize(("noise", "kinds"), [(3.0, "ascent, then newton-cg ("), (0.0, "ascent (")])
def test_visits_leave_crowded_rows_to_newtons_steps(noise, kinds):
    """With noisy labels most rows stay at work, more than there are columns; else few do."""
    p = problem_of(380, 200, l2=1e-2, noise=noise)
    found = solve(p, tol=1e-8)
    assert found.method.startswith(f"auto: {kinds}")
    best = solve(p, "interior", tol=1e-12)
    assert found.dual <= best.primal * (1.0 + 1e-12)
    assert found.primal - best.primal <= found.gap + 1e-12


def test_newtons_steps_begin_at_zero_where_visits_have_ended_above_it():
    p = problem_of(120, 60, l2=1e-4)
    state = Dash(p, "ascent", 1e-6, key_of(0))
    state.runner.G[:] = 1.0  # x = -G / l2 is far away
    for x, start in ((1e4, 0.0), (0.0, state.runner.x[0])):
        c = certify_point(np.full(p.d, x), p)
        other = Dash(p, "ascent", 1e-6, key_of(0))
        other.runner.G[:] = 1.0
        other.go_on_by("newton-cg", p, c, 100.0)
        assert np.all(other.runner.x == start)


def test_ascent_goes_on_from_a_feasible_point():
    p = problem_of(40, 30, "hinge", l2=0.01)
    y = -0.5 * p.b
    worker = AscentWorker(p, key_of(0))
    worker.start_from(np.zeros(p.d), y)
    assert pytest.approx(p.grid.dense_rows().T @ (p.c * y)) == worker.G
    looks, _ = worker.run((1e-8, 0.0, 400.0, 400.0), record := np.empty((64, 4)))
    assert record[looks - 1, 3] <= 1e-8 * record[looks - 1, 1]


def test_corners_on_much_data_are_visited_unless_it_can_be_separated(monkeypatch):
    monkeypatch.setattr(choice, "MOST_ENTRIES", 1_000)
    assert kind_of(problem_of(300, 100, "hinge", l2=1e-3)) == "ascent"
    assert kind_of(problem_of(300, 100, "hinge", l2=10.0)) == ""  # l2 holds rows back
    assert kind_of(problem_of(110, 100, "hinge", l2=1e-6)) == ""
    assert kind_of(problem_of(300, 100, "logistic", l2=1e-3)) == ""


def net_of(A, ratio=20.0, share=0.005):
    """An elastic net of this mean of a row's square over l2, and this share of the largest l1."""
    rng = np.random.default_rng(1)
    b = A @ rng.standard_normal(A.shape[1]) + rng.standard_normal(A.shape[0])
    squares = A.multiply(A).sum() if sp.issparse(A) else (A * A).sum()
    n = A.shape[0]
    return Problem(
        A, b, "squared",
        ElasticNet(share * float(np.abs(A.T @ b).max()) / n, float(squares) / n / (n * ratio)),
    )  # fmt: skip


def scattered(n, d, a_row, power):
    """Rows of normal entries; columns are the more popular the larger the power is."""
    rng = np.random.default_rng(2)
    popular = np.arange(1.0, d + 1.0) ** -power
    columns = rng.choice(d, n * a_row, p=popular / popular.sum())
    rows = np.repeat(np.arange(n), a_row)
    return sp.csr_matrix((rng.standard_normal(n * a_row), (rows, columns)), (n, d))


@pytest.mark.parametrize("of", [np.asarray, sp.csr_matrix])
def test_the_overlap_is_n_times_the_mean_square_of_the_cosine_of_two_rows(of):
    A = np.random.default_rng(0).standard_normal((8, 5))
    A /= np.linalg.norm(A, axis=1)[:, None]
    products = A @ A.T
    squares = (products**2).sum() - (np.diag(products) ** 2).sum()
    assert row_overlap(net_of(of(A))) == pytest.approx(8 * squares / (8 * 7))


def test_rows_without_entries_and_a_single_row_do_not_overlap():
    A = sp.csr_matrix((6, 4))
    assert row_overlap(Problem(A, np.ones(6), "squared", ElasticNet(0.1, 0.1))) == 0.0
    assert row_overlap(Problem(np.ones((1, 4)), np.ones(1), "squared", ElasticNet(0.1, 0.1))) == 0.0


def test_elastic_nets_go_row_by_row_where_rows_hardly_feel_each_other():
    apart, together = scattered(400, 20_000, 30, 0.0), scattered(400, 20_000, 30, 1.3)
    assert kind_of(net_of(apart)) == "ascent"
    assert kind_of(net_of(together)) == "descent"
    assert kind_of(net_of(apart, share=0.3)) == "descent"  # few columns move
    assert kind_of(net_of(apart, ratio=1e4)) == "descent"
    assert kind_of(net_of(sp.csc_matrix(apart))) == "descent"  # rows would have to be copied


@pytest.mark.parametrize("power", [0.0, 1.3])
def test_either_way_an_elastic_net_is_certified(power):
    problem = net_of(scattered(200, 5000, 20, power))
    result = solve(problem, tol=1e-8)
    assert result.converged
    assert result.rel_gap <= 1e-8


def test_few_entries_are_no_reason_to_leave_many_rows_and_columns_soon():
    """What others would take follows from rows and columns, not from entries."""
    few, many = (
        Problem(sp.eye_array(n, format="csr"), np.ones(n), "hinge", L2(1e-6))
        for n in (FEW_ROUGH_LINES, 2 * FEW_ROUGH_LINES)
    )
    assert passes_worth(few) == FEWEST_ROUGH_ASCENT
    assert passes_worth(many) > 10.0 * FEWEST_ROUGH_ASCENT
