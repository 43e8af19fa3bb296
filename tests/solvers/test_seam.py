"""The seam between methods and engines: tiles are matrices of their own, rounds are tasks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from spd1 import L1, L2, IncompatibleError, Problem, solve
from spd1.data.convert import as_matrix
from spd1.data.grid import Grid
from spd1.data.matrix import Dense
from spd1.engines.serial import Serial
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.regularizers import FeatureNet, SharedNet
from spd1.solve import starting_point
from spd1.solvers.entries.sampling import make_sampler
from spd1.solvers.entries.sparse_tiles import sparse_row_steps, sparse_spd1_steps
from spd1.solvers.entries.spd1 import CONSTANT, Averaged, Schedule, spd1_steps
from spd1.solvers.entries.spd1_vr import Snapshot, spd1_vr_steps
from spd1.solvers.entries.tile_kernels import (
    RowData,
    Tile,
    Whole,
    gram_of_tiles,
    tile_spd1_steps,
    tile_vr_steps,
    whole_row_steps,
)
from spd1.solvers.registry import build
from spd1.solvers.rows.kernels import Geometry, RowTileState, row_tile_steps, tied_row_steps
from support import cases, oracle

N, D = 11, 9
ROWS, COLUMNS = slice(3, 10), slice(2, 7)
n, d = ROWS.stop - ROWS.start, COLUMNS.stop - COLUMNS.start
KEY, LOSS = key_of(5), LOSSES["logistic"]()
SCHEDULE = Schedule(0.7, 0.9, CONSTANT, 0, 0)


class Part:
    """A tile of larger data, and vectors of which only the tile's part is a number.

    Around the tile everything is NaN: a kernel that reads it can't end with numbers, and one that
    writes it leaves something else than NaN.
    """

    def __init__(self, layout: str, rng: np.random.Generator) -> None:
        A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
        A[:, 0] = A[0] = 1.0
        self.A, self.rng, self.kept = A, rng, []
        if layout == "csr":
            self.tile = Grid.whole(self.sparse()).cut(2, 2).tiles[0][0]
        else:
            values = np.full((N, D), np.nan, order=layout)
            values[ROWS, COLUMNS] = A
            self.tile = Dense(values[ROWS, COLUMNS])
        self.dense = layout != "csr"

    def sparse(self):
        """Data whose first tile of 2 x 2 is A; the others are not to be seen."""
        whole = np.full((2 * n, 2 * d), 1e6)
        whole[:n, :d] = self.A
        return as_matrix(oracle.LAYOUTS["csr"](whole))

    def vector(self, values: np.ndarray, where: slice, size: int) -> np.ndarray:
        """A view of a longer vector of NaN."""
        whole = np.full(size, np.nan)
        whole[where] = values
        self.kept.append((whole, where))
        return whole[where]

    def of_rows(self, scale: float = 0.3) -> np.ndarray:
        return self.vector(scale * self.rng.standard_normal(n), ROWS, N)

    def of_columns(self, scale: float = 0.3) -> np.ndarray:
        return self.vector(scale * self.rng.standard_normal(d), COLUMNS, D)

    def check(self) -> None:
        """Numbers inside, NaN outside."""
        for whole, where in self.kept:
            assert np.all(np.isfinite(whole[where]))
            assert np.all(np.isnan(np.delete(whole, np.r_[where])))

    def row_data(self, p: int) -> RowData:
        b = self.vector(self.rng.choice([-1.0, 1.0], n), ROWS, N)
        c = self.vector(self.rng.random(n) / N, ROWS, N)
        shares = self.vector(0.5 + self.rng.random(n), ROWS, N)
        return RowData(b, c, shares, np.zeros((n, p)))


def nets(part):
    whole = np.full((D, 4), np.nan)
    whole[COLUMNS] = 0.01, 0.1, -9.0, 9.0
    return [
        SharedNet(0.01, 0.1, -9.0, 9.0),
        FeatureNet(whole[COLUMNS]),
        SharedNet(0, 0.1, -9e9, 9e9),
    ]


def averaged(part):
    return Averaged(*(part.of_columns() if k % 2 == 0 else part.of_rows() for k in range(6)))


def snapshot(part):
    return Snapshot(*(part.of_columns() if k % 2 == 0 else part.of_rows() for k in range(6)))


def free_rows(part, rows, net, outside):
    table = np.full((D, 4), np.nan, order="F" if part.dense else "C")
    table[COLUMNS] = np.abs(part.rng.standard_normal((d, 4)))
    y = part.of_rows()
    state = RowTileState(y, table[COLUMNS], y)
    geometry = Geometry(rows.shares, rows.c)
    order = part.rng.permutation(n)
    row_tile_steps(part.tile, N, outside, rows.b, geometry, state, LOSS, net, 0.4, order)
    assert np.all(np.isfinite(table[COLUMNS]))
    assert np.all(np.isnan(np.delete(table, np.r_[COLUMNS], axis=0)))


def tied_rows(part, rows, net, outside):
    y, G, order = part.of_rows(), part.of_columns(), part.rng.permutation(n)
    geometry = Geometry(rows.shares, rows.c)
    scale = -10.0 if net.numbers(0)[0] == 0.0 else 0.0
    tied_row_steps(part.tile, outside, rows.b, geometry, y, G, LOSS, net, scale, order)


def one_entry(part, rows, net, outside):
    del outside
    sampler = make_sampler(Grid.whole(part.tile), "uniform")
    spd1_steps(sampler, rows.b, rows.c, averaged(part), LOSS, net, SCHEDULE, 0, 99, KEY)
    spd1_vr_steps(sampler, rows.b, rows.c, snapshot(part), LOSS, net, (0.7, 0.9), 0, 99, KEY)


def one_stored_entry(part, rows, net, outside):
    del outside
    sampler = make_sampler(Grid.whole(part.tile), "nonzeros")
    spd1_steps(sampler, rows.b, rows.c, averaged(part), LOSS, net, SCHEDULE, 0, 99, KEY)
    spd1_vr_steps(sampler, rows.b, rows.c, snapshot(part), LOSS, net, (0.7, 0.9), 0, 99, KEY)


def dense_blocks(part, rows, net, outside):
    tile = Tile(3, 2, part.tile.row_major)
    common = rows, averaged(part), LOSS, net, SCHEDULE
    tile_spd1_steps(part.tile, N, outside, tile, *common, 0, 40, KEY)
    common = rows, snapshot(part), LOSS, net, (0.7, 0.9)
    tile_vr_steps(part.tile, N, tile, *common, 0, 40, KEY)


def whole_rows(part, rows, net, outside):
    tile = Tile(3, d, part.tile.row_major)
    gram_of_tiles(part.tile, tile, 0, 3, rows.gram)
    state = Whole(part.of_columns(), part.of_rows(), part.of_columns())
    order = np.array([2, 0, 1])
    whole_row_steps(part.tile, N, outside, tile, rows, state, LOSS, net, (0.7, 0.9), 0.1, order)


def sparse_rows(part, rows, net, outside):
    shares = np.abs(part.of_columns())
    tile = Tile(3, d, True)
    state = Whole(part.of_columns(), part.of_rows(), part.of_columns())
    steps, order = (0.1, 0.9), np.array([2, 0, 1])
    sparse_row_steps(part.tile, N, outside, tile, rows, shares, state, LOSS, net, steps, order)
    common = rows, shares, averaged(part), LOSS, net, SCHEDULE, (0, 40), KEY
    sparse_spd1_steps(part.tile, N, outside, tile, *common)


KERNELS = [
    (kernel, layout)
    for kernel, layouts in {
        free_rows: "C F csr",
        tied_rows: "C F csr",
        one_entry: "C F csr",
        one_stored_entry: "csr",
        dense_blocks: "C F",
        whole_rows: "C F",
        sparse_rows: "csr",
    }.items()
    for layout in layouts.split()
]


@pytest.mark.plain
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_a_kernel_reads_and_writes_nothing_outside_its_tile(number, rng):
    """Regularizers rotate; so does what other columns add, with each kernel both ways."""
    kernel, layout = KERNELS[number]
    part = Part(layout, rng)
    rows, net = part.row_data(3), nets(part)[number % 3]
    outside = part.of_rows() if (number + (layout == "csr")) % 2 else None
    kernel(part, rows, net, outside)
    part.check()
    assert len(part.kept) > 3


@pytest.mark.parametrize("layout", ["C", "csr"])
@pytest.mark.parametrize("tied", [False, True])
def test_rows_with_margins_from_outside_are_rows_of_wider_data(tied, layout, rng):
    """A visit to half of the columns, told the margins of the rest, moves y as a whole one."""
    A = rng.standard_normal((6, 8))
    x = 0.1 * rng.standard_normal(8)
    b, c = rng.choice([-1.0, 1.0], 6), np.full(6, 1 / 6)
    geometry = Geometry(np.sum(A * A, axis=1), c)
    kind = oracle.LAYOUTS["dense_c" if layout == "C" else "csr"]
    net, order = SharedNet(0.0, 1.0, -np.inf, np.inf), np.array([4])
    found = []
    for columns, outside in ((slice(0, 8), None), (slice(0, 4), A[:, 4:] @ x[4:])):
        tile, y = as_matrix(kind(A[:, columns])), np.zeros(6)
        if tied:  # x = -G
            G = -x[columns].copy()
            tied_row_steps(tile, outside, b, geometry, y, G, LOSS, net, -1.0, order)
        else:
            table = np.zeros((columns.stop, 4))
            table[:, 0], table[:, 2], table[:, 3] = x[columns], 0.1, 1.0
            state = RowTileState(y, table, y)
            row_tile_steps(tile, 6, outside, b, geometry, state, LOSS, net, 0.1, order)
        found.append(y[4])
    assert found[0] != 0.0
    assert found[1] == pytest.approx(found[0], rel=1e-12)


# Methods on an engine


def data(rng, layout):
    A = rng.standard_normal((13, 10)).astype(np.float32).astype(float)
    A[rng.random(A.shape) < 0.3] = 0.0
    return A, Grid.whole(as_matrix(oracle.LAYOUTS[layout](A)))


class Recorder(Serial):
    """A serial engine that keeps what it was asked to do."""

    def __init__(self) -> None:
        self.rounds = []

    def run(self, grid, tasks):
        self.rounds.append((grid.shape, [(task.row, task.column) for task in tasks]))
        return super().run(grid, tasks)


TILE_METHODS = [
    ("rows", None),
    ("spd1", None),
    ("spd1-vr", None),
    ("spd1", "auto"),
    ("spd1-vr", "auto"),
]


@pytest.mark.parametrize(("name", "tile"), TILE_METHODS)
@pytest.mark.parametrize("layout", ["dense_c", "csr", "csc"])
def test_tile_methods_work_through_their_engine_alone(name, tile, layout, rng):
    A, _ = data(rng, layout)
    problem = Problem(oracle.LAYOUTS[layout](A), np.sign(A[:, 0] + 0.1), "logistic", L2(0.1))
    worker = build(name, problem, tile, "auto", KEY)
    worker.engine = Recorder()
    worker.adopt(worker.rule(worker).first())
    worker.begin(np.zeros(10), np.zeros(13))
    before = worker.entries_read
    list(worker.epoch())
    assert worker.engine.rounds
    assert all(shape == (1, 1) and tasks == [(0, 0)] for shape, tasks in worker.engine.rounds)
    assert worker.entries_read > before

    class Idle(Serial):
        def run(self, grid, tasks):
            return 0.0

    x, y = (v.copy() for v in worker.iterates()[0])
    start = worker.save()
    worker.engine = Idle()
    list(worker.epoch())
    worker.restore(start)
    np.testing.assert_array_equal(worker.iterates()[0][0], x)
    np.testing.assert_array_equal(worker.iterates()[0][1], y)


@pytest.mark.parametrize("name", cases.EVERY_METHOD)
def test_what_cannot_be_cut_refuses_by_name(name):
    problem = cases.suited(name).problem()
    cut = problem.with_grid(problem.grid.cut(2, 3))
    if name in ("newton", "few-rows", "interior"):
        assert solve(cut, name, tol=1e-8).converged
        return
    if name in ("rows", "spd1", "spd1-vr"):  # tests/solvers/test_rounds.py
        with pytest.raises(IncompatibleError, match=r"tile= of spd1 takes data.*2 x 3"):
            solve(cut, "spd1", tile="auto")
        return
    with pytest.raises(IncompatibleError, match=f"^{name} takes data in one piece.* 2 x 3 tiles"):
        solve(cut, name)


def sent(saved):
    """A saved state on its way through a file: values alone survive that."""
    assert all(isinstance(v, np.ndarray | int | float) for v in saved.state)
    return pickle.loads(pickle.dumps(saved))


@pytest.mark.parametrize(
    ("name", "tile"), [*TILE_METHODS, *((m, None) for m in ("columns", "psgd", "svrg", "saga"))]
)
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
@pytest.mark.parametrize("tied", [True, False])
def test_a_saved_state_goes_on_where_it_was(name, tile, layout, tied, rng):
    """Epochs after a copy was made are the same bits when another worker runs them from it."""
    A, _ = data(rng, layout)
    problem = Problem(oracle.LAYOUTS[layout](A), np.sign(A[:, 0] + 0.1), "logistic", L2(0.1))
    worker = build(name, problem, tile, "auto", KEY)
    worker.adopt(worker.rule(worker).first())
    worker.tied = worker.tied and tied
    worker.begin(np.zeros(10), np.zeros(13))
    list(worker.epoch())
    saved = sent(worker.save())
    assert saved.beside["t"] > 0
    found = []
    for one in (worker, build(name, problem, tile, "auto", KEY)):
        if one is not worker:
            one.restore(saved)
        for _ in range(3):
            list(one.epoch())
        found.append((one.t, one.iterates()))
    assert found[0][0] == found[1][0]
    for (x, y), (same_x, same_y) in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_array_equal(x, same_x)
        np.testing.assert_array_equal(0 if y is None else y, 0 if same_y is None else same_y)


FACES = {  # loss, regularizer, shape
    "primal": ("logistic", L1(0.02), (40, 12)),
    "smooth": ("logistic", L2(0.01), (40, 12)),
    "tall": ("squared", L1(0.02), (60, 10)),
    "dual": ("hinge", L2(0.01), (40, 30)),
    "span": ("hinge", L2(0.01), (12, 40)),
    "free": ("hinge", L2(np.append(np.full(29, 0.01), 0.0)), (40, 30)),
    "free-span": ("hinge", L2(np.append(np.full(39, 0.01), 0.0)), (12, 40)),
    "proximal": ("absolute", L1(0.02), (40, 12)),
    "few-rows": ("logistic", L2(0.01), (12, 40)),
}


@pytest.mark.parametrize("key", FACES)
def test_newton_goes_on_from_a_saved_state(key, rng):
    """It finds working sets anew: the same point at first, the same optimum in the end."""
    loss, reg, shape = FACES[key]
    A = rng.standard_normal(shape)
    b = np.where(A[:, 0] + 0.5 * rng.standard_normal(shape[0]) > 0, 1.0, -1.0)
    problem, name = Problem(A, b, loss, reg), "few-rows" if key == "few-rows" else "newton"
    worker = build(name, problem, None, "auto", KEY)
    worker.steps_an_epoch = 1  # of few-rows, which would be there at once
    worker.tol = 1e-9
    x, y, _ = starting_point(problem, None, None)
    worker.begin(x, y)
    list(worker.epoch())
    pair = worker.evaluated()
    other = build(name, problem, None, "auto", KEY)
    other.tol = 1e-9
    other.restore(sent(worker.save()))
    for mine, theirs in zip(worker.state, other.state, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    if key not in ("free", "free-span", "proximal"):  # these have moved on to their next problem
        again = other.evaluated()
        np.testing.assert_array_equal(again.point.x, pair.point.x)
        assert again.gap == pytest.approx(pair.gap, rel=1e-9, abs=1e-13)
    for _ in range(200):
        list(other.epoch())
        if other.evaluated().gap <= 1e-7 * abs(other.evaluated().point.value):
            break
    best = solve(problem, tol=1e-10)
    assert other.evaluated().point.value == pytest.approx(best.primal, rel=3e-7)


@pytest.mark.parametrize("name", ["rows", "columns", "spd1", "spd1-vr", "svrg", "newton"])
def test_asking_for_default_steps_changes_nothing(name, rng):
    A, _ = data(rng, "dense_c")
    problem = Problem(A, np.sign(A[:, 0] + 0.1), "logistic", L2(0.1))
    worker = build(name, problem, None, "auto", KEY)
    plain = {k: v for k, v in vars(worker).items() if isinstance(v, bool | int | float | str)}
    first = worker.default_steps()
    assert first == worker.default_steps()
    assert worker.steps == {}
    for key, value in plain.items():
        assert getattr(worker, key) == value
