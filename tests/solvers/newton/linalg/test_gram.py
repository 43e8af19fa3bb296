"""Models on a Gram matrix by their definition: entries, descent, Newton's step, the minimiser."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, ElasticNet, Problem, solve
from spd1.data.facts import Nobody
from spd1.solvers.newton.linalg import gram
from spd1.solvers.newton.linalg.gram import GramOfLines, minimise_on_gram, newton_on_gram
from spd1.solvers.newton.linalg.gram_kernels import descend_on_gram
from spd1.solvers.newton.linalg.working_set import Lines
from support import oracle
from support.models import TABLES, grid_of, lines, make_model

LAYOUTS = ["dense_c", "csr", "csc"]


def gram_of(model):
    return (model.dense * model.bend) @ model.dense.T


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_entries_are_the_products_of_lines(layout, keep, rng):
    part, _, model = make_model("l1", layout, False, rng)
    chosen = np.arange(part.count)
    G = GramOfLines(grid_of(part.B), keep, False).of(part, chosen, model.bend)
    np.testing.assert_allclose(G, gram_of(model), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_that_join_or_leave_give_the_same_entries(layout, rng):
    part, _, model = make_model("l1", layout, False, rng)
    B = part.B
    store = GramOfLines(grid_of(B), True, False)
    truth = (lines(B) * model.bend) @ lines(B).T
    for chosen in ([2, 0], [2, 0, 3], [2, 0, 3, 1, 4], [4, 1], [4, 1]):
        chosen = np.array(chosen)
        chosen_lines = Lines(B, chosen, part.width, Nobody())
        G = store.of(chosen_lines, chosen, model.bend)[: len(chosen), : len(chosen)]
        np.testing.assert_allclose(G, truth[np.ix_(chosen, chosen)], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sample_counts_every_so_many_positions(layout, rng, monkeypatch):
    part, _, model = make_model("l1", layout, False, rng)
    store = GramOfLines(grid_of(part.B), False, False)
    monkeypatch.setattr(store, "stride_for", lambda k, width: 3)
    G = store.of(part, np.arange(part.count), model.bend)
    sample, bend = model.dense[:, ::3], 3 * model.bend[::3]
    expected = (sample * bend) @ sample.T
    own = np.diag(gram_of(model))  # no line has less than its own curvature
    np.fill_diagonal(expected, np.maximum(np.diag(expected), own))
    np.testing.assert_allclose(G, expected, rtol=1e-13, atol=1e-14)


def test_a_matrix_is_made_of_what_it_knows_and_what_wants_to_move(rng):
    part, _, model = make_model("l1", "dense_c", False, rng)
    known = np.array([2, 0])
    store = GramOfLines(grid_of(part.B), True, False)
    store.of(Lines(part.B, known, part.width, Nobody()), known, model.bend)
    chosen, wants = np.array([4, 0, 1, 2]), np.array([False, False, True, False])
    assert list(chosen[store.part(chosen, wants)]) == [2, 0, 1]
    assert list(chosen[store.part(chosen, ~wants)]) == [2, 0, 4, 1]  # most of them: take all
    elsewhere = np.array([4, 1, 3, 0])  # without one that is known
    assert list(elsewhere[store.part(elsewhere, wants)]) == [3]


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_matrix_serves_again_while_its_curvature_is_about_right(layout, smooth, rng):
    """It is then that of a multiple of the old curvature, with the right sum."""
    part, _, model = make_model("l1", layout, False, rng)
    store, chosen = GramOfLines(grid_of(part.B), False, smooth), np.arange(part.count)
    first = store.of(part, chosen, model.bend).copy()
    bend = model.bend * rng.uniform(1.9, 2.1, len(model.bend))
    exact = (model.dense * bend) @ model.dense.T
    held = first * (bend.sum() / model.bend.sum())
    expected = held if smooth else exact
    np.testing.assert_allclose(store.of(part, chosen, bend), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(held, exact, rtol=0.1, atol=0.1 * np.abs(exact).max())
    store.renew()
    np.testing.assert_allclose(store.of(part, chosen, bend), exact, rtol=1e-12, atol=1e-14)
    other = bend.copy()
    other[::2] *= 5.0
    exact = (model.dense * other) @ model.dense.T
    np.testing.assert_allclose(store.of(part, chosen, other), exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", TABLES)
def test_descent_lowers_the_model_and_reports_at_most_what_it_gained(kind, rng):
    _, _, model = make_model(kind, "dense_c", False, rng)
    G, z = gram_of(model), model.z0.copy()
    g = model.dense @ model.slope
    value = model.value(z)
    for _ in range(30):
        gain, _ = descend_on_gram(G, model.table, z, g, 1, 0.0)
        now = model.value(z)
        assert value - now >= gain - 1e-12 * (1.0 + abs(value))
        value = now
    expected = model.dense @ (model.slope + model.bend * ((z - model.z0) @ model.dense))
    np.testing.assert_allclose(g, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", TABLES)
def test_newtons_step_stays_in_the_box_and_gains_what_it_says(kind, rng):
    _, _, model = make_model(kind, "dense_c", False, rng)
    G, z = gram_of(model), model.z0.copy()
    g = model.dense @ model.slope
    before = model.value(z)
    gain = newton_on_gram(G, model.table, z, g)
    assert np.all((z >= model.table[:, 3]) & (z <= model.table[:, 4]))
    assert before - model.value(z) == pytest.approx(gain, rel=1e-8, abs=1e-10)
    expected = model.dense @ (model.slope + model.bend * ((z - model.z0) @ model.dense))
    np.testing.assert_allclose(g, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", TABLES)
def test_the_minimiser_leaves_no_coordinate_anything_to_gain(kind, rng):
    _, _, model = make_model(kind, "dense_c", False, rng)
    z = model.z0.copy()
    minimise_on_gram(gram_of(model), model.table, z, model.dense @ model.slope, 1e-13)
    value = model.value(z)
    for w in range(len(z)):
        assert model.best_of(w, z) >= value - 1e-9 * (1.0 + abs(value))


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("reg", [L1(0.02), ElasticNet(0.02, 1e-3), ElasticNet(0.01, lower=0.0)])
@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc"])
def test_runs_on_gram_matrices_are_certified_and_right(layout, reg, loss, rng, monkeypatch):
    """With G at any price; the bound must hold for what other solvers know, too."""
    monkeypatch.setattr(gram, "SAVED_SWEEPS", 1e9)
    A = rng.standard_normal((60, 90)) * (rng.random((60, 90)) < 0.3)
    b = np.where(A[:, :5].sum(axis=1) + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
    used = []
    plain = gram.GramOfLines.of
    monkeypatch.setattr(
        gram.GramOfLines, "of", lambda self, *rest: (used.append(1), plain(self, *rest))[1]
    )
    problem = Problem(oracle.LAYOUTS[layout](A), b, loss, reg)
    found = solve(problem, "newton", tol=1e-9)
    assert used
    assert found.status == "converged"
    other = solve(problem, "columns", tol=1e-7, max_passes=20000)
    assert found.dual <= other.primal + 1e-12
    assert other.dual <= found.primal + 1e-12
