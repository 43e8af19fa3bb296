"""Sweeps by threads that stay in one kernel: against NumPy, bits, and a model that never rises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1.data.convert import as_matrix
from spd1.engines.ledger import Ledger
from spd1.engines.threads import Threads
from spd1.solvers import merging
from spd1.solvers.newton.linalg import sweeps_together
from spd1.solvers.newton.linalg.working_set import Lines
from support import oracle
from support.models import Model, make_table, separable, start

SLOW = pytest.mark.slow
COUNT, WIDTH = 90, 48


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Let small working sets be worth a team."""
    monkeypatch.setattr(sweeps_together, "WORTH_A_TEAM", 1)
    monkeypatch.setattr(sweeps_together, "WORTH_BLOCKS", 0.0)
    monkeypatch.setattr(sweeps_together, "LONG_LINE", 0)
    monkeypatch.setattr(sweeps_together, "WORTH_A_MERGE", 1e-9)
    monkeypatch.setattr(sweeps_together, "LINES_A_BLOCK", 1)
    monkeypatch.setattr(merging, "available_cores", lambda: 8)


def model_of(kind, layout, flat, rng, alike=0.0):
    """Lines, their curvatures, and the model in NumPy; ``alike``: all share a direction."""
    A = rng.standard_normal((COUNT, WIDTH)) + alike * rng.random(WIDTH)
    B = as_matrix(oracle.LAYOUTS[layout](A))
    bend = np.full(WIDTH, 0.3) if flat else rng.random(WIDTH) + 0.01
    table = make_table(kind, COUNT, rng)
    model = Model(A, table, bend, rng.standard_normal(WIDTH), start(table, rng))
    return B, A**2 @ bend, model


def swept(B, curvature, model, flat, n_threads, sweeps, enough=0.0):
    """z, slope and what came of sweeps by so many threads."""
    z, slope = model.z0.copy(), model.slope.copy()
    ledger = Ledger(stored=1)
    with Threads(n_threads) as engine:
        lines = Lines(B, np.arange(COUNT), WIDTH, ledger, engine)
        found = lines.descend(model.table, z, curvature, slope, model.bend, flat, 1, sweeps, enough)
    return z, slope, found, ledger.entries


def plain_sweep(model, curvature, blocks, stretches):
    """One sweep of the docstring in NumPy; None if a stretch would be taken back."""
    z, slope, care = model.z0.copy(), model.slope.copy(), float(blocks)
    size = -(-COUNT // stretches)
    for first in range(0, COUNT, size):
        part, moves, gained = np.arange(COUNT)[first : first + size], [], 0.0
        for k in range(blocks):
            move = np.zeros(WIDTH)
            for w in part[len(part) * k // blocks : len(part) * (k + 1) // blocks]:
                linear, l1, l2, lower, upper = model.table[w]
                h = care * curvature[w]
                wish = h * z[w] - linear - model.dense[w] @ (slope + care * move)
                new = np.sign(wish) * max(abs(wish) - l1, 0.0) / (h + l2)
                new = min(max(new, lower), upper)
                gained += 0.5 * (h + l2) * (new - z[w]) ** 2
                move += model.bend * model.dense[w] * (new - z[w])
                z[w] = new
            moves.append(move)
        norm = [move**2 @ (1.0 / model.bend) for move in (*moves, sum(moves))]
        apart, together = sum(norm[:-1]), norm[-1]
        if gained - 0.5 * max(together - care * apart, 0.0) < 0.0:
            return None
        slope = slope + sum(moves)
        care = min(max(together / apart, 1.0), float(blocks))
    return z, slope


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("layout", ["dense_c", pytest.param("csr", marks=SLOW)])
@pytest.mark.parametrize("kind", ["l1", "all"])
def test_a_sweep_is_the_one_of_the_docstring(kind, layout, flat, rng):
    B, curvature, model = model_of(kind, layout, flat, rng)
    expected = plain_sweep(model, curvature, 2, sweeps_together.SWEEP_STRETCHES)
    assert expected is not None
    z, slope, _, _ = swept(B, curvature, model, flat, 2, 1)
    np.testing.assert_allclose(z, expected[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("alike", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["l1", "l2", "bounds"])
def test_the_model_never_rises_and_slopes_follow(kind, alike, rng):
    """Lines that pull the same way, too; gains are lower bounds."""
    B, curvature, model = model_of(kind, "dense_c", False, rng, alike)
    z, value = model.z0.copy(), model.value(model.z0)
    slope = model.slope.copy()
    with Threads(2) as engine:
        lines = Lines(B, np.arange(COUNT), WIDTH, Ledger(stored=1), engine)
        for sweeps in (1, 1, 2, 5, 20, 200):
            gain, _ = lines.descend(
                model.table, z, curvature, slope, model.bend, False, 1, sweeps, 0.0
            )
            new = model.value(z)
            assert new <= value - gain + 1e-11 * (1.0 + abs(value))
            value = new
    expected = model.slope + model.bend * ((z - model.z0) @ model.dense)
    np.testing.assert_allclose(slope, expected, rtol=1e-8, atol=1e-9 * (1.0 + alike**2))
    assert np.all(np.isfinite(separable(model.table, z)))


def test_the_end_is_the_one_of_sweeps_line_by_line(rng):
    """Only the first sweep of a call visits what is pinned."""
    B, curvature, model = model_of("all", "dense_c", False, rng, 0.3)
    ids, ends = np.arange(COUNT), []
    with Threads(2) as engine:
        for crew in (engine, None):
            z, slope = model.z0.copy(), model.slope.copy()
            lines = Lines(B, ids, WIDTH, Ledger(stored=1), crew)
            for _ in range(300):
                lines.descend(model.table, z, curvature, slope, model.bend, False, 1, 10, 0.0)
            ends.append(model.value(z))
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)


def test_sweeps_have_the_same_bits_for_any_number_of_threads(rng):
    B, curvature, model = model_of("l1", "dense_c", True, rng, 0.5)
    first = swept(B, curvature, model, True, 1, 12, 1e-6)
    for n_threads in (2, 4, 8):
        other = swept(B, curvature, model, True, n_threads, 12, 1e-6)
        np.testing.assert_array_equal(other[0], first[0])
        np.testing.assert_array_equal(other[1], first[1])
        assert other[2:] == first[2:]
    assert 0.0 < first[3] <= 12 * COUNT * WIDTH
    _, _, (gain, before), read = swept(B, curvature, model, True, 2, 50, math.inf)
    assert before == 0.0  # one sweep was enough
    assert gain > 0.0
    assert read == COUNT * WIDTH
