"""Kernels on working sets, against their definitions in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1.data.convert import as_matrix
from spd1.engines.ledger import Ledger
from spd1.solvers.newton.linalg.working_set import (
    Lines,
    curvatures,
    descend,
    forces,
    line_dots,
    move_margins,
)
from support import oracle
from support.models import LAYOUTS, TABLES, data, lines, make_model, make_table, separable, start


@pytest.mark.plain
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_over_lines_match_numpy(layout, rng):
    B = as_matrix(oracle.LAYOUTS[layout](data(rng)))
    dense = lines(B)
    ids = rng.permutation(len(dense))[:4]
    bend, slope = rng.random(dense.shape[1]), rng.standard_normal(dense.shape[1])
    step = np.array([0.5, 0.0, -2.0, 1.0])
    out, moved = np.empty(4), slope.copy()
    curvatures(B, ids, bend, out)
    np.testing.assert_allclose(out, dense[ids] ** 2 @ bend, rtol=1e-14)
    line_dots(B, ids, slope, out)
    np.testing.assert_allclose(out, dense[ids] @ slope, rtol=1e-13, atol=1e-14)
    move_margins(B, ids, step, moved)
    np.testing.assert_allclose(moved, slope + step @ dense[ids], rtol=1e-13, atol=1e-14)


def wants_to_move(z, pull, row):
    """Whether a step from z to another point of the box lowers pull t + l1 |t| + l2/2 t^2."""
    _, l1, l2, lower, upper = row
    shift = np.concatenate([-(10.0 ** -np.arange(0, 7.0)), 10.0 ** -np.arange(0, 7.0)])
    t = np.clip(z + shift, lower, upper)
    change = pull * (t - z) + l1 * (np.abs(t) - abs(z)) + l2 / 2 * (t - z) * (t + z)
    return bool(np.min(change) < -1e-12)


@pytest.mark.parametrize("kind", TABLES)
def test_forces_never_hold_a_coordinate_that_can_gain(kind, rng):
    count = 400
    table = make_table(kind, count, rng)
    z, gradient = start(table, rng), rng.standard_normal(count)
    force = np.empty(count)
    nonzero = forces(z, gradient, table, 0.1, 0.0, force)
    assert nonzero == np.count_nonzero(z)
    moves = np.array(
        [wants_to_move(*pair) for pair in zip(z, gradient + table[:, 0], table, strict=True)]
    )
    assert moves.any()
    assert np.all(force[moves] > -math.inf)
    inside = (z != 0.0) & (z > table[:, 3]) & (z < table[:, 4])
    assert np.all(force[inside] == math.inf)


def test_forces_hold_zeros_and_bounds_that_stay(rng):
    """Zeros well inside the kink, and bounds that the gradient pushes against."""
    table = np.array([[0.2, 1.0, 0.0, -9.0, 9.0], [0.0, 0.0, 0.0, 0.3, 9.0], [0, 0, 0, -9, -0.3]])
    held, free = np.empty(3), np.empty(3)
    z = np.array([0.0, 0.3, -0.3])
    forces(z, np.array([0.6, 0.5, -0.5]), table, 0.1, 0.0, held)
    np.testing.assert_array_equal(held, -math.inf)
    forces(z, np.array([1.3, -0.5, 0.5]), table, 0.1, 0.0, free)
    assert free[0] == pytest.approx(0.5)  # |0.6 + 0.9| - 1
    np.testing.assert_array_equal(free[1:], math.inf)
    forces(z[:1], np.array([0.75]), table[:1], 0.1, 0.0, held[:1])
    assert held[0] == pytest.approx(-0.05)  # within a tenth of l1: it may move soon
    forces(z, np.array([0.6, 0.5, -0.4]), table, 0.1, 0.45, held)
    np.testing.assert_array_equal(held[:2], -math.inf)
    assert held[2] == pytest.approx(-0.4)  # its bound holds it by less than the slack


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("layout", ["dense_c", "csr", "csc"])
@pytest.mark.parametrize("kind", TABLES)
def test_descend_lowers_its_model_and_ends_where_no_coordinate_can_gain(kind, layout, flat, rng):
    part, curvature, model = make_model(kind, layout, flat, rng)
    B, ids = part.B, part.ids
    z, slope = model.z0.copy(), model.slope.copy()
    value = model.value(z)
    for sweeps in [1, 2, 5] + [1] * 600:
        gain, _, _ = descend(
            B, ids, model.table, z, curvature, model.bend, flat, slope, 1, sweeps, 0.0
        )
        new = model.value(z)
        assert new <= value - gain + 1e-12 * (1.0 + abs(value))  # gain: a lower bound
        value = new
    expected = model.slope + model.bend * ((z - model.z0) @ model.dense)
    np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-11)
    assert np.all(np.isfinite(separable(model.table, z)))
    assert min(model.best_of(w, z) for w in range(len(z))) >= value - 1e-9


def test_descend_stops_when_a_sweep_gains_too_little(rng):
    part, curvature, model = make_model("l2", "dense_c", False, rng)
    z, slope = model.z0.copy(), model.slope.copy()
    common = part.B, part.ids, model.table, z, curvature, model.bend, False, slope
    first, before, _ = descend(*common, 1, 50, math.inf)
    assert before == 0.0  # one sweep was enough
    assert first > 0.0
    gain, before, _ = descend(*common, 1, 1000, 1e-3 * first)
    assert gain <= 1e-3 * first < before


@pytest.mark.parametrize("layout", ["dense_c", "csr", "csc"])
def test_everything_that_lines_read_is_counted(layout, rng):
    """Sums read each line once; a sweep those that are not pinned, the first sweep all."""
    plain, curvature, model = make_model("bounds", layout, False, rng)
    ledger = Ledger(stored=1)
    part = Lines(plain.B, plain.ids, plain.width, ledger)
    lengths = np.array([plain.B.line_length(i) for i in plain.ids], dtype=float)
    read = []
    for asked in (
        lambda: part.dots(model.slope),
        lambda: part.moved(model.z0),
        lambda: part.curvatures(model.bend),
        part.spread,
    ):
        before = ledger.entries
        asked()
        read.append(ledger.entries - before)
    assert read == [lengths.sum()] * 4
    z, slope, before = model.z0.copy(), model.slope.copy(), ledger.entries
    part.descend(model.table, z, curvature, slope, model.bend, False, 1, 1, 0.0)
    assert ledger.entries - before == lengths.sum()
    pinned = (z <= model.table[:, 3]) | (z >= model.table[:, 4])
    assert pinned.any()
    again, before = model.z0.copy(), ledger.entries
    slope = model.slope.copy()
    part.descend(model.table, again, curvature, slope, model.bend, False, 2, 2, 0.0)
    assert ledger.entries - before == lengths.sum() + lengths[~pinned].sum()
