"""Stores: the same matrix back, the same bits as in memory, and a named error for every fault."""

from __future__ import annotations

import json
import pickle
import threading
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1 import (
    L1,
    L2,
    DataError,
    ElasticNet,
    IncompatibleError,
    Problem,
    open_store,
    solve,
    write_store,
)
from spd1.data import lines, store_grid
from spd1.data.convert import as_scipy
from spd1.data.lines import LineStore
from spd1.solvers.newton.faces.choose import best_face
from spd1.solvers.registry import build
from support import oracle

LAYOUTS = ("dense_c", "dense_f", "dense_float32", "csr", "csc", "csr_int64", "csr_float32")


def data(rng, n=53, d=10):
    A = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    A[rng.random((n, d)) < 0.3] = 0.0
    return A, np.where(A @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)


def matrix_of(store):
    """All of it, dense."""
    rows = []
    for p in range(store.tiles[0]):
        tiles = [store.tile(p, q) for q in range(store.tiles[1])]
        rows.append(np.hstack([t.values if store.dense else as_scipy(t).toarray() for t in tiles]))
    return np.vstack(rows)


@pytest.mark.parametrize("tiles", [(1, 1), (4, 1), (3, 2)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_matrix_back(layout, tiles, tmp_path, rng):
    A, b = data(rng)
    given = oracle.LAYOUTS[layout](A)
    store = write_store(tmp_path / "a.store", given, b, tiles=tiles)
    assert (store.shape, store.tiles) == (A.shape, tiles)
    assert store.dense == (not sp.issparse(given))
    assert store.dtype == given.dtype
    assert store.stored == (given.nnz if sp.issparse(given) else A.size)
    np.testing.assert_array_equal(matrix_of(store), A)
    np.testing.assert_array_equal(store.labels, b)
    assert f"{tiles[0]} x {tiles[1]} tiles" in repr(store)
    store.verify()
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(matrix_of(again), A)


def test_tiles_of_a_size_hold_whole_rows(tmp_path, rng):
    A, b = data(rng, n=1000)
    dense = write_store(tmp_path / "dense", A, b, tile_mb=100 * 80 / 2**20)
    assert dense.manifest.row_ends == list(range(0, 1001, 100))
    sparse = write_store(tmp_path / "sparse", sp.csr_array(A), b, tile_mb=0.01)
    assert sparse.tiles[0] > 5
    sizes = [sparse.tile(p, 0).nbytes for p in range(sparse.tiles[0])]
    assert max(sizes) <= 0.01 * 2**20 + 8
    np.testing.assert_array_equal(matrix_of(sparse), A)


def test_types_are_the_users_choice(tmp_path, rng):
    A, b = data(rng)
    small = write_store(tmp_path / "f", sp.csr_array(A), b, dtype="float32", index="int64")
    assert (small.dtype, small.tile(0, 0).indices.dtype) == (np.float32, np.uint64)
    np.testing.assert_array_equal(matrix_of(small), A)
    counts = write_store(tmp_path / "i", np.arange(6).reshape(3, 2), [1, 2, 3])
    assert counts.dtype == np.float64
    with pytest.raises(DataError, match="non-finite"):
        write_store(tmp_path / "o", np.full((2, 2), 1e200), [1, 2], dtype=np.float32)
    for wrong in ({"dtype": "int8"}, {"index": "float32"}, {"tile_mb": 0}, {"tiles": (0, 1)}):
        with pytest.raises(spd1.ParameterError, match=next(iter(wrong))):
            write_store(tmp_path / "w", A, b, **wrong)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f", "i"]


def test_facts_are_those_of_the_grid(tmp_path, rng):
    A, b = data(rng)
    for name, given in (("dense", A), ("sparse", sp.csr_array(A))):
        whole = Problem(given, b).grid
        cut, found = whole.cut(4, 2), write_store(tmp_path / name, given, b, tiles=(4, 2)).grid
        for fact in ("row_squares", "column_squares", "row_counts", "column_counts"):
            np.testing.assert_array_equal(getattr(found, fact), getattr(cut, fact))
        assert found.square_sum == pytest.approx(np.sum(A * A), rel=1e-14)
        assert (found.n, found.d, found.stored) == (cut.n, cut.d, cut.stored)


# The same answers

PROBLEMS = {
    "smooth": ("logistic", L2(0.01)),
    "kinks": ("logistic", L1(0.02)),
    "dual": ("hinge", L2(0.01)),
    "least squares": ("squared", L1(0.02)),
}


@pytest.mark.parametrize("copies", [np.inf, 100.0], ids=["copies", "passes"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("key", PROBLEMS)
def test_same_bits_as_in_memory(key, sparse, copies, tmp_path, rng):
    """Also where no line may be copied: then every question is a pass over the tiles."""
    A, b = data(rng, n=90, d=20)
    given = sp.csr_array(A) if sparse else A
    loss, reg = PROBLEMS[key]
    whole = Problem(given, b, loss, reg)
    cut = whole.with_grid(whole.grid.cut(5, 1))
    stored = Problem(write_store(tmp_path / "a", given, b, tiles=(5, 1)), loss=loss, reg=reg)
    cut.grid.copies = stored.grid.copies = copies
    # in memory, auto makes passes on the tiles where rows are too many to copy: a store does not
    method = "newton" if key == "dual" else "auto"
    expected, found = (solve(problem, method, tol=1e-7) for problem in (cut, stored))
    assert found.converged
    assert "newton" in found.method
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.y, expected.y)
    np.testing.assert_array_equal(found.trace.passes, expected.trace.passes)
    assert spd1.certify(found.x, whole, found.y).rel_gap <= 1.01e-7


@pytest.mark.parametrize("method", ["rows", "spd1", "spd1-vr"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("tiles", [(5, 1), (3, 2)])
def test_methods_on_tiles_have_the_bits_of_memory(method, sparse, tiles, tmp_path, rng):
    A, b = data(rng, n=90, d=20)
    given = sp.csr_array(A) if sparse else A
    whole = Problem(given, b, "logistic", L2(0.02))
    cut = whole.with_grid(whole.grid.cut(*tiles))
    stored = Problem(write_store(tmp_path / "a", given, b, tiles=tiles), reg=L2(0.02))

    def six_looks():  # not so many passes: what is made of a tile on disk is made anew, and counts
        looks = count(1)
        return lambda row: next(looks) == 6

    expected, found = (solve(p, method, tol=1e-9, callback=six_looks()) for p in (cut, stored))
    assert found.rel_gap < expected.trace.rel_gap[0]  # it moved
    assert len(found.trace.rows) == len(expected.trace.rows)
    # cut columns of dense data are strided in memory, and in one piece on disk: another kernel
    rtol = 1e-9 if tiles[1] > 1 and not sparse else 0.0
    np.testing.assert_allclose(found.x, expected.x, rtol=rtol)
    np.testing.assert_allclose(found.y, expected.y, rtol=rtol)


@pytest.mark.parametrize("method", ["spd1", "spd1-vr"])
def test_only_tiles_of_a_round_take_memory(method, tmp_path, rng):
    """Draws need a tile by rows and by columns, in memory: those of other rounds are let go."""
    A, b = data(rng, n=90, d=20)
    store = write_store(tmp_path / "a", sp.csr_array(A), b, tiles=(4, 2))
    worker = build(method, Problem(store, reg=L2(0.02)), None, "auto", np.uint64(1))
    worker.steps = worker.default_steps()
    worker.begin(np.zeros(20), -0.5 * b)
    for _ in worker.epoch():
        held = [one for row in worker.samplers for one in row if one.value is not None]
        assert 1 <= len(held) <= 2


def test_one_tile_is_a_matrix_like_any_other(tmp_path, rng):
    A, b = data(rng)
    store = write_store(tmp_path / "a", A, b)
    found = solve(Problem(store, reg=L2(0.1)))
    expected = solve(Problem(A, b, reg=L2(0.1)))
    assert found.method == expected.method
    np.testing.assert_array_equal(found.x, expected.x)


def test_other_labels_and_none(tmp_path, rng):
    A, b = data(rng)
    store = write_store(tmp_path / "a", A, tiles=(2, 1))
    assert store.labels is None
    with pytest.raises(DataError, match="no labels: pass b"):
        Problem(store)
    assert Problem(store, -b).b[0] == -b[0]
    with pytest.raises(DataError, match="3 labels"):
        Problem(store, [1.0, 1.0, -1.0])
    with pytest.raises(DataError, match="no labels: pass b"):
        Problem(A)


@pytest.mark.parametrize("sparse", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_columns_take_turns_where_they_are_too_many(sparse, tmp_path, rng, monkeypatch):
    """More columns move than can be copied or have a Gram matrix."""
    from spd1.solvers.newton import choice

    monkeypatch.setattr(choice, "LARGEST_GRAM", 7)
    A, b = data(rng, n=90, d=20)
    given = sp.csr_array(A) if sparse else A
    problem = Problem(write_store(tmp_path / "a", given, b, tiles=(3, 1)), reg=L1(1e-3))
    problem.grid.copies = 100.0
    found = solve(problem, tol=1e-3)
    assert found.converged
    assert np.count_nonzero(found.x) > 7


CUT_ROWS = {
    "hinge": ("hinge", L2(0.01)),
    "quadratic pieces": ("squared_hinge", L2(0.01)),
    "kinks on both sides": ("hinge", ElasticNet(0.01, 0.02)),
    "an intercept": ("hinge", ElasticNet(l2=np.append(np.full(19, 0.01), 0.0))),
}


@pytest.mark.parametrize("share", [0.3, 0.12], ids=["a third", "a few rows"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("key", CUT_ROWS)
def test_rows_that_are_cut_take_turns(key, sparse, share, tmp_path, rng, monkeypatch):
    """No working set has more of them than may be copied, nor do the copies that are kept."""
    A, b = data(rng, n=90, d=20)
    given = sp.csr_array(A) if sparse else A
    loss, reg = CUT_ROWS[key]
    whole = Problem(given, b, loss, reg)
    stored = Problem(write_store(tmp_path / "a", given, b, tiles=(2, 3)), loss=loss, reg=reg)
    cut = whole.with_grid(whole.grid.cut(2, 3))
    cut.grid.copies = stored.grid.copies = share * stored.grid.nbytes
    most, of = [], LineStore.of

    def watched(lines, chosen):
        B, ids = of(lines, chosen)
        held = lines.copies.count * 8 * lines.width if B.is_dense() else 12 * B.stored
        most.append(held / lines.grid.copies)
        return B, ids

    monkeypatch.setattr(LineStore, "of", watched)
    expected, found = (solve(problem, tol=1e-6) for problem in (cut, stored))
    assert found.converged
    assert spd1.certify(found.x, whole, found.y).rel_gap <= 1.01e-6
    if best_face(stored) == "primal":
        assert key == "quadratic pieces"  # smooth: products alone
        assert share == 0.12
    else:
        np.testing.assert_allclose(found.x, expected.x, rtol=1e-9, atol=1e-12)
        assert 0.5 < max(most) <= 1.0


def test_what_cannot_be_done_is_refused_by_name(tmp_path, rng):
    A, b = data(rng)
    store = write_store(tmp_path / "a", sp.csr_array(A), b, tiles=(3, 2))
    for method, why in {
        "svrg": "tiles",
        "columns": "tiles",
    }.items():
        with pytest.raises(IncompatibleError, match=rf"{method} .*{why}"):
            solve(Problem(store, reg=L2(0.1)), method)
    assert solve(Problem(store, reg=L2(0.1)), "rows", tol=1e-3).converged
    hinge = Problem(store, loss="hinge", reg=L2(0.01))
    hinge.grid.copies = 100.0  # too many working sets would have to take turns
    with pytest.raises(IncompatibleError, match="rows of this data are cut into 2 tiles"):
        solve(hinge)
    proximal = Problem(store, loss="hinge", reg=L1(0.01))
    proximal.grid.copies = 0.9 * proximal.grid.nbytes
    with pytest.raises(IncompatibleError, match="rows of this data are cut into 2 tiles"):
        solve(proximal)
    free = Problem(store, loss="squared")
    free.grid.copies = 100.0
    with pytest.raises(IncompatibleError, match="10 columns without penalty are too large to copy"):
        solve(free)
    with pytest.raises(IncompatibleError, match="all its columns at once"):
        hinge.grid.by_columns
    with pytest.raises(DataError, match=r"store.*spd1\.Problem"):
        np.asarray(store)
    with pytest.raises(DataError, match="cut into 3 x 2 tiles"):
        hinge.A
    from spd1.linear_model import LogisticRegression

    with pytest.raises(DataError, match=r"store.*spd1\.Problem"):
        LogisticRegression().fit(store, b)


@pytest.mark.parametrize("capped", [False, True])
def test_tiles_are_let_go_and_the_next_is_read_ahead(capped, tmp_path, rng, monkeypatch):
    """Never more than three tiles are mapped, and every one is visited once, in order.

    Under a cap on address space no thread is started for it: it would take more than tiles do.
    """
    A, b = data(rng, n=400)
    monkeypatch.setattr(store_grid, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(store_grid, "address_space_is_capped", lambda: capped)
    store = write_store(tmp_path / "a", A, b, tiles=(8, 1))

    def mapped():
        with open("/proc/self/maps") as maps:
            return sum("tile-" in line and str(tmp_path) in line for line in maps)

    seen = []
    for tile, rows, _ in store.grid.parts():
        np.testing.assert_array_equal(tile.values, A[rows])
        seen.append(rows.start)
        assert mapped() <= 3
        readers = [one for one in threading.enumerate() if "read-ahead" in one.name]
        assert len(readers) == (0 if capped else 1)
    assert seen == store.manifest.row_ends[:-1]
    del tile
    assert mapped() == 0


@pytest.mark.parametrize("by_columns", [False, True])
def test_copies_of_sparse_lines_map_few_tiles(by_columns, tmp_path, rng, monkeypatch):
    """Three tiles at most are mapped while lines are copied; one of sparse rows has three files."""
    A, b = data(rng, n=400)
    store = write_store(tmp_path / "a", sp.csr_array(A), b, tiles=(8, 1))
    counts, plain = [], lines.mapped

    def counted(crew, work, items):
        with open("/proc/self/maps") as maps:
            counts.append(sum("tile-" in line and str(tmp_path) in line for line in maps))
        return plain(crew, work, items)

    monkeypatch.setattr(lines, "mapped", counted)
    chosen = np.array([7, 2, 5])
    copied = as_scipy(lines.CopiedLines(store.grid, by_columns, chosen).lines).toarray()
    np.testing.assert_array_equal(copied, A[:, chosen] if by_columns else A[chosen])
    assert 0 < max(counts) <= 9


# Faults


@pytest.fixture
def store(tmp_path, rng):
    A, b = data(rng)
    return write_store(tmp_path / "a.store", sp.csr_array(A), b, tiles=(3, 1))


def flip(path, place=-1):
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_a_flipped_byte(store):
    flip(store.path / "tile-00001-000.data.npy")
    open_store(store.path)  # lengths and headers are as they were
    with pytest.raises(DataError, match=r"tile-00001-000\.data\.npy is damaged: its checksum"):
        open_store(store.path, verify=True)


def test_a_flipped_byte_in_a_header(store):
    flip(store.path / "tile-00001-000.data.npy", 70)
    with pytest.raises(DataError, match="is damaged: its header"):
        open_store(store.path)


@pytest.mark.parametrize("name", ["tile-00002-000.indices.npy", "labels.npy", "row_counts.npy"])
def test_a_missing_file(store, name):
    (store.path / name).unlink()
    with pytest.raises(DataError, match=rf"{name} is missing: put it back .* or write"):
        open_store(store.path)


def test_a_tile_that_is_cut_off(store):
    path = store.path / "tile-00000-000.data.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match="cut off: it has"):
        open_store(store.path)
    path.write_bytes(path.read_bytes() + bytes(16))
    with pytest.raises(DataError, match="too long"):
        open_store(store.path)


def test_tiles_that_vanish_or_shrink_while_the_store_is_open(store):
    problem = Problem(store, reg=L2(0.1))
    path = store.path / "tile-00001-000.data.npy"
    content = path.read_bytes()
    path.write_bytes(content[:200])
    with pytest.raises(DataError, match="cut off"):
        solve(problem)
    path.unlink()
    with pytest.raises(DataError, match=r"tile-00001-000\.data\.npy is missing"):
        solve(problem)
    path.write_bytes(content)
    assert solve(problem).converged


def changed(store, **values):
    path = store.path / "manifest.json"
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps(content))


def test_a_manifest_of_a_newer_version(store):
    changed(store, version=2)
    with pytest.raises(DataError, match=r"version 2 .* upgrade spd1, or write"):
        open_store(store.path)


@pytest.mark.parametrize(
    "values",
    [
        {"rows": 54}, {"rows": True}, {"columns": -1}, {"stored": 3}, {"layout": "dense"},
        {"dtype": "object"}, {"index_dtype": "int64"}, {"row_ends": [0, 60, 53]},
        {"column_ends": [0]}, {"row_ends": []}, {"square_sum": None}, {"files": {}}, {"files": 3},
        {"version": "1"}, {"target": 5},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_contradicts_itself(store, values):
    changed(store, **values)
    with pytest.raises(DataError, match=r"manifest\.json is damaged: it contradicts itself"):
        open_store(store.path)


def test_what_is_no_store(store, tmp_path):
    with pytest.raises(DataError, match="no such store"):
        open_store(tmp_path / "none")
    with pytest.raises(DataError, match="is a folder and no store"):
        open_store(tmp_path)
    with pytest.raises(DataError, match="is a file and no store"):
        open_store(store.path / "manifest.json")
    changed(store, format="other")
    with pytest.raises(DataError, match="not the manifest of a store"):
        open_store(store.path)
    (store.path / "manifest.json").write_bytes(b"\xff{")
    with pytest.raises(DataError, match="no JSON"):
        open_store(store.path)
