"""Ascent on tiles of rows: local passes, safe sums, momentum."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, IncompatibleError, Problem, certify, solve
from spd1.kernel.rng import key_of
from spd1.solvers.registry import builder
from spd1.solvers.sprint.rhythm import Rhythm
from support.clusters import labelled, same_run


def cut(A, b, loss, reg, tiles, **more):
    problem = Problem(A, b, loss, reg, **more)
    return problem.with_grid(problem.grid.cut(tiles, 1))


def method_on(problem, seed=0):
    found = builder("ascent", problem, None)(problem, "auto", key_of(seed))
    found.tol = 1e-9
    found.begin(np.zeros(problem.d), np.zeros(problem.n))
    return found


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "squared"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_optimum(loss, sparse, rng):
    """Against Newton's method on data in one piece; weights, empty rows and an l1 among it."""
    A, b = labelled(rng, n=60, d=40)
    A[7] = 0.0
    weight = rng.random(60) + 0.1
    for reg in (L2(0.05), ElasticNet(l1=0.01, l2=0.05)):
        data = sp.csr_array(A) if sparse else A
        whole = Problem(A, b, loss, reg, sample_weight=weight)
        best = solve(whole, "newton" if loss != "hinge" else "auto", tol=1e-10).primal
        for tiles in (2, 5):
            found = solve(cut(data, b, loss, reg, tiles, sample_weight=weight), "ascent", tol=1e-7)
            assert found.converged
            assert certify(found.x, whole, found.y).rel_gap <= 1.01e-7
            assert found.primal == pytest.approx(best, rel=2e-7)


def test_columns_first_and_rows_that_do_not_lie_in_one_piece(rng):
    A, b = labelled(rng, n=40, d=10)
    for data in (np.asfortranarray(A), sp.csc_array(A)):
        found = solve(cut(data, b, "logistic", L2(0.1), 4), "ascent")
        assert certify(found.x, Problem(A, b, "logistic", L2(0.1)), found.y).rel_gap <= 1.01e-6


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_sums_are_what_they_stand_for(loss, rng):
    """G is A'(c y) after every round, momentum and rows that it holds back included."""
    A, b = labelled(rng, n=60, d=30)
    problem = cut(A, b, loss, L2(1e-3), 3)
    method, held = method_on(problem), 0
    for _ in range(30):
        held += np.count_nonzero(method.ahead()[2])
        method.round()
        y, G = method.state[:2]
        np.testing.assert_allclose(G, A.T @ (problem.c * y), atol=1e-12)
        assert np.all((-b * y >= 0.0) & (-b * y <= 1.0))  # the domain of both conjugates
    assert method.speed > 0
    assert held > 0 or loss == "logistic"


def dual(A, b, c, y, l2):
    """D of the squared hinge by its definition."""
    return -np.sum(c * (b * y + 0.5 * y**2)) - np.sum((A.T @ (c * y)) ** 2) / (2.0 * l2)


def test_the_safe_sum(rng):
    """With full care and no momentum a round gains, however much tiles are alike."""
    A, b = labelled(rng, n=40, d=12)
    A = np.tile(A, (4, 1)) + 0.01 * rng.standard_normal((160, 12))  # four tiles, all but equal
    b = np.tile(b, 4)
    for care, rises in ((4.0, True), (1.0, False)):
        problem = cut(A, b, "squared_hinge", L2(1e-4), 4)
        method = method_on(problem)
        before, gains = dual(A, b, problem.c, method.state.y, 1e-4), []
        for _ in range(5):
            method.value, method.speed, method.care = -math.inf, 0, care
            method.round()
            now = dual(A, b, problem.c, method.state.y, 1e-4)
            gains.append(now - before)
            before = now
        assert all(gain >= 0.0 for gain in gains) == rises


def test_a_round_by_definition(rng):
    """One pass over each of two tiles by the formulas, in the order that the rows have."""
    A, b = labelled(rng, n=8, d=5, zeros=0.0)
    problem, l2 = cut(A, b, "squared", L2(0.1), 2), 0.1
    method = method_on(problem)
    method.rhythm = method.rhythm._replace(level=0)
    method.round()
    y, G = method.state[:2]
    seen = [False, False]
    for start in (0, 4):
        from itertools import permutations

        for order in permutations(range(start, start + 4)):
            z, local = np.zeros(8), np.zeros(5)
            for i in order:
                u, square = -A[i] @ local / l2, 2.0 * A[i] @ A[i] / (8 * l2)  # care 2
                new = (z[i] + u / square - b[i] / square) / (1.0 + 1.0 / square)
                local += 2.0 * (new - z[i]) * A[i] / 8
                z[i] = new
            if np.allclose(z[start : start + 4], y[start : start + 4], atol=1e-13):
                seen[start // 4] = True
    assert all(seen)
    np.testing.assert_allclose(G, A.T @ y / 8, atol=1e-13)


def test_the_same_bits_from_a_saved_state_and_with_threads(rng):
    A, b = labelled(rng)
    problem = cut(sp.csr_array(A), b, "logistic", L2(1e-3), 4)
    one, two = method_on(problem), method_on(problem)
    for _ in range(6):
        one.round()
    two.restore(one.save())
    for method in (one, two):
        for _ in range(6):
            method.round()
    for left, right in zip(one.state, two.state, strict=True):
        np.testing.assert_array_equal(left, right)
    runs = [solve(problem, "ascent", engine="threads", n_threads=k) for k in (1, 3)]
    same_run(*runs)


def test_a_run_that_goes_on(tmp_path, rng):
    A, b = labelled(rng)
    problem = cut(A, b, "hinge", L2(1e-2), 3)
    settings = {"method": "ascent", "tol": 1e-7}
    whole = solve(problem, checkpoint=tmp_path / "whole", **settings)
    part = solve(problem, checkpoint=tmp_path / "part", max_passes=whole.passes / 2, **settings)
    assert part.status == "max_passes"
    found = solve(problem, checkpoint=tmp_path / "part", **settings)
    np.testing.assert_array_equal(found.x, whole.x)


def test_auto_takes_it_where_rows_can_not_be_copied_and_lets_it_give_way(rng):
    A, b = labelled(rng, n=120, d=60)
    for l2, begins in ((0.1, "auto: ascent ("), (1e-6, "auto: ascent, then newton")):
        problem = cut(A, b, "squared_hinge", L2(l2), 3)
        assert "newton" in solve(problem, tol=1e-4).method  # they fit
        problem.grid.copies = 1000.0
        found = solve(problem)
        assert found.converged
        assert found.method.startswith(begins)
        whole = Problem(A, b, "squared_hinge", L2(l2))
        assert certify(found.x, whole, found.y).rel_gap <= 1.01e-6


def test_refusals(rng):
    A, b = labelled(rng)
    problem = Problem(A, b, "logistic", L2(0.1))
    with pytest.raises(IncompatibleError, match=r"cut it by rows alone, grid=\(2, 1\)"):
        solve(problem.with_grid(problem.grid.cut(2, 3)), "ascent")
    with pytest.raises(IncompatibleError, match="the same l2 > 0"):
        solve(cut(A, b, "logistic", L1(0.1), 2), "ascent")


def test_the_rhythm_finds_what_gains_most_for_its_price():
    """A round of k passes leaves share(k) of the gap; a round's price counts as passes do."""
    for share, price, wanted in (
        (lambda k: 0.5, 1.0, {1}),  # more passes gain nothing
        (lambda k: 0.9**k, 8.0, {32}),  # they gain all the same, and rounds are dear
        (lambda k: max(0.8**k, 0.4), 2.0, {4}),
    ):
        rhythm, gap = Rhythm(price), 1.0
        used = []
        for _ in range(60):
            passes = rhythm.passes
            used.append(passes)
            rhythm, gap = rhythm.after(gap, float(passes)), gap * share(passes)
        assert set(used[-10:]) == wanted
