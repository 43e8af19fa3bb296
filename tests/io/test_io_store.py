"""write_store: every source gives the same matrix; what goes wrong leaves nothing behind."""

from __future__ import annotations

import bz2
import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1 import DataError, ParameterError, open_store, write_store
from spd1.data.convert import as_scipy
from spd1.io import Data, read_data, store_sources, table_chunks, write_data

SOURCE = str(Path(spd1.__file__).parents[1])


def matrix_of(store):
    rows = []
    for p in range(store.tiles[0]):
        tiles = [store.tile(p, q) for q in range(store.tiles[1])]
        rows.append(np.hstack([t.values if store.dense else as_scipy(t).toarray() for t in tiles]))
    return np.vstack(rows)


@pytest.fixture
def table(rng):
    A = rng.standard_normal((40, 6))
    A[rng.random(A.shape) < 0.5] = 0.0
    A[-1, -1] = 1.5  # the last column is seen
    return Data(A, np.where(A[:, 0] > 0, 2.0, 1.0))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Files of a few lines come in several pieces, as large ones do."""
    monkeypatch.setattr(store_sources, "BLOCK_BYTES", 400)
    monkeypatch.setattr(store_sources, "TEXT_BYTES", 500)
    for name in ("iter_csv", "iter_parquet"):
        kept = getattr(table_chunks, name)
        monkeypatch.setattr(
            store_sources, name, lambda *a, kept=kept, **k: kept(*a, chunk_bytes=500, **k)
        )


FILES = ["a.svm", "a.svm.bz2", "a.svm.gz", "a.csv", "a.csv.gz", "a.parquet", "a.npz", "a.npy"]


@pytest.mark.parametrize("name", FILES)
def test_every_file_gives_the_same_matrix_back(name, table, tmp_path):
    path = tmp_path / name
    write_data(path, table)
    shares = []
    store = write_store(tmp_path / "s", path, tile_mb=600 / 2**20, progress=shares.append)
    expected = read_data(path)
    assert store.tiles[0] > 2
    np.testing.assert_array_equal(matrix_of(store), table.A)
    np.testing.assert_array_equal(store.labels, expected.b)
    assert store.names == expected.names
    assert store.target == expected.target
    assert store.dense == (not sp.issparse(expected.A))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_sparse_files_of_scipy_packed_or_not(table, tmp_path):
    for packed in (False, True):
        for kind in (sp.csr_array, sp.csc_array):
            A = kind(np.tile(table.A, (300, 1)))
            sp.save_npz(tmp_path / "a.npz", A, compressed=packed)
            store = write_store(tmp_path / "s", tmp_path / "a.npz", overwrite=True, tiles=(3, 2))
            np.testing.assert_array_equal(matrix_of(store), A.toarray())
            assert store.labels is None
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "s"]


def test_a_damaged_packed_file(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, A=np.random.default_rng(0).standard_normal((200, 100)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.npz is not an NPZ file|a\.npz.*damaged"):
        write_store(tmp_path / "s", path)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_libsvm_text_counted_from_zero_or_one(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 0:1 2:5\n-1 1:2\n")
    assert matrix_of(write_store(tmp_path / "auto", path)).tolist() == [[1, 0, 5], [0, 2, 0]]
    path.write_text("1 1:1 3:5\n-1 2:2\n3\n")
    rows = [[1, 0, 5], [0, 2, 0], [0, 0, 0]]
    assert matrix_of(write_store(tmp_path / "one", path)).tolist() == rows
    known = write_store(tmp_path / "told", path, zero_based=False)  # without a look before
    assert matrix_of(known).tolist() == rows
    wide = write_store(tmp_path / "wide", path, n_features=4, tiles=(2, 2))
    assert (wide.shape, wide.tiles) == ((3, 4), (2, 2))
    path.write_text("1 0:1\n")
    with pytest.raises(DataError, match="index 0, though indices start at 1"):
        write_store(tmp_path / "wrong", path, zero_based=False)
    path.write_text("1\n2\n")
    with pytest.raises(DataError, match="no features"):
        write_store(tmp_path / "wrong", path)
    path.write_text("")
    with pytest.raises(DataError, match="no rows"):
        write_store(tmp_path / "wrong", path)
    assert not (tmp_path / "wrong").exists()


def test_text_that_begins_like_a_number(tmp_path):
    """The target looks like numbers for many lines: then all of it is text."""
    labels = ["1.0"] * 60 + ["two"]
    lines = [f"{i},{i * i},{label}" for i, label in enumerate(labels)]
    path = tmp_path / "a.csv"
    path.write_text("x,y,kind\n" + "\n".join(lines) + "\n")
    store = write_store(tmp_path / "s", path)
    assert store.labels.tolist() == labels
    np.testing.assert_array_equal(matrix_of(store), read_data(path).A)
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "s"]


def test_quoted_line_ends_and_rows_of_messages(tmp_path):
    path = tmp_path / "a.csv"
    body = "".join(f'{i},"one\ntwo"\n' for i in range(200))
    path.write_text("x,kind\n" + body)
    assert write_store(tmp_path / "s", path).labels.tolist() == ["one\ntwo"] * 200
    path.write_text("x,y\n" + "1,2\n" * 300 + "nan,2\n")
    with pytest.raises(DataError, match="column 'x' has nan in row 301"):
        write_store(tmp_path / "t", path)
    path.write_text("x,y\n" + "1,2\n" * 300 + "1,2,3\n")
    with pytest.raises(DataError, match="line 302: 3 fields, the first line has 2"):
        write_store(tmp_path / "t", path)


def test_targets_by_name_and_tables_without(table, tmp_path):
    named = table._replace(names=list("pqrstu"), target="way")
    write_data(tmp_path / "a.csv", named)
    store = write_store(tmp_path / "s", tmp_path / "a.csv", target="q")
    assert (store.names, store.target) == (["p", "r", "s", "t", "u", "way"], "q")
    bare = write_store(tmp_path / "b", tmp_path / "a.csv", n_features=7)
    assert (bare.d, bare.labels) == (7, None)
    write_data(tmp_path / "a.npy", table)
    assert write_store(tmp_path / "n", tmp_path / "a.npy", n_features=7).labels is None
    first = write_store(tmp_path / "f", tmp_path / "a.npy", target=0)
    np.testing.assert_array_equal(first.labels, table.A[:, 0])
    with pytest.raises(ParameterError, match="rows of csv files are not known"):
        write_store(tmp_path / "c", tmp_path / "a.csv", tiles=(2, 1))


def test_arrays_on_disk_and_dask_arrays(table, tmp_path):
    da = pytest.importorskip("dask.array")
    np.save(tmp_path / "a.npy", table.A)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    np.testing.assert_array_equal(matrix_of(write_store(tmp_path / "m", mapped)), table.A)
    X, y = da.from_array(table.A, chunks=(7, 4)), da.from_array(table.b, chunks=9)
    store = write_store(tmp_path / "d", X, y, tile_mb=600 / 2**20)
    np.testing.assert_array_equal(matrix_of(store), table.A)
    np.testing.assert_array_equal(store.labels, table.b)
    sparse = write_store(tmp_path / "e", X.map_blocks(sp.csr_array), y)
    assert not sparse.dense
    np.testing.assert_array_equal(matrix_of(sparse), table.A)
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        write_store(tmp_path / "u", X[X[:, 0] > 0], y)


def test_pairs_of_rows_and_labels(table, tmp_path):
    halves = [(table.A[:15], table.b[:15]), (table.A[15:], table.b[15:])]
    store = write_store(tmp_path / "p", iter(halves))
    np.testing.assert_array_equal(matrix_of(store), table.A)
    np.testing.assert_array_equal(store.labels, table.b)
    mixed = write_store(
        tmp_path / "q", iter([(sp.coo_array(table.A[:15]), None), (halves[1][0], None)])
    )
    np.testing.assert_array_equal(matrix_of(mixed), table.A)
    wrong = {
        "pairs": [table.A],
        "follow rows of 6": [halves[0], (table.A[:, :5], table.b)],
        "25 rows": [(table.A[15:], table.b)],
        "followed by float64": [(table.A.astype("f4"), None), (table.A, None)],
        "followed by sparse": [halves[0], (sp.csr_array(table.A), table.b)],
        "15 labels and 40 rows": [halves[0], (halves[1][0], None)],
        "no rows": [],
    }
    for message, pairs in wrong.items():
        with pytest.raises(DataError, match=message):
            write_store(tmp_path / "w", iter(pairs))
    assert sorted(os.listdir(tmp_path)) == ["p", "q"]


def test_a_store_written_again_in_other_tiles(table, tmp_path):
    first = write_store(tmp_path / "a", sp.csr_array(table.A), table.b, tiles=(3, 2))
    again = write_store(tmp_path / "b", first, tiles=(5, 1), dtype="float32")
    assert (again.tiles, again.dtype) == ((5, 1), np.float32)
    np.testing.assert_array_equal(matrix_of(again), table.A.astype(np.float32))
    np.testing.assert_array_equal(again.labels, table.b)


def test_what_is_not_finite_is_said_with_its_rows(table, tmp_path):
    A = table.A.copy()
    A[33, 2] = np.inf
    with pytest.raises(DataError, match=r"rows 3\d to \d\d of the source: A has a non-finite"):
        write_store(tmp_path / "s", A, tiles=(8, 1))
    with pytest.raises(DataError, match="labels have NaN"):
        write_store(tmp_path / "s", table.A, np.full(40, np.nan))
    broken = sp.csr_array(table.A)
    broken.indices[5] = 99
    with pytest.raises(DataError, match="outside 0"):
        write_store(tmp_path / "s", broken)
    unsorted = sp.csr_array((np.ones(3), np.array([2, 0, 0]), np.array([0, 3])), shape=(1, 3))
    assert matrix_of(write_store(tmp_path / "u", unsorted)).tolist() == [[2.0, 0.0, 1.0]]
    assert os.listdir(tmp_path) == ["u"]


# Whole or not at all


def test_a_store_is_replaced_only_if_that_is_said_and_at_the_end(table, tmp_path):
    old = write_store(tmp_path / "s", table.A, table.b)
    with pytest.raises(DataError, match="exists: name another folder, or allow"):
        write_store(tmp_path / "s", 2 * table.A, table.b)

    def rows():
        yield 2 * table.A, table.b
        np.testing.assert_array_equal(matrix_of(open_store(tmp_path / "s")), table.A)

    write_store(tmp_path / "s", rows(), overwrite=True)
    np.testing.assert_array_equal(matrix_of(open_store(tmp_path / "s")), 2 * table.A)
    np.testing.assert_array_equal(matrix_of(old), 2 * table.A)  # opened when it is used
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError, ValueError])
def test_what_ends_it_leaves_nothing(error, table, tmp_path):
    write_store(tmp_path / "old", table.A, table.b)

    def rows():
        yield table.A, table.b
        raise error

    for name in ("new", "old"):
        with pytest.raises(error):
            write_store(tmp_path / name, rows(), overwrite=True, tile_mb=1e-3)
    assert os.listdir(tmp_path) == ["old"]
    np.testing.assert_array_equal(matrix_of(open_store(tmp_path / "old")), table.A)


def test_what_killed_processes_left_is_removed(table, tmp_path):
    from spd1 import files

    prefix = files.part_prefix(tmp_path / "s").split(".")
    prefix[-2] = str(2**22 + 1)  # no process has this number
    left = tmp_path / (".".join(prefix) + "abc.part")
    left.mkdir()
    (left / "tile-00000-000.npy").write_bytes(b"half")
    os.utime(left, (1e9, 1e9))
    write_store(tmp_path / "s", table.A)
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.parametrize("able", [True, False], ids=["at once", "one after the other"])
def test_a_store_takes_the_place_of_another(able, table, tmp_path, monkeypatch):
    from spd1.io import folders

    if not able:
        monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    write_store(tmp_path / "s", table.A)
    write_store(tmp_path / "s", -table.A, overwrite=True)
    np.testing.assert_array_equal(matrix_of(open_store(tmp_path / "s")), -table.A)
    assert os.listdir(tmp_path) == ["s"]


def test_folders_that_are_no_stores_are_left_alone(table, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("dear")
    with pytest.raises(DataError, match="is no store, and is left alone"):
        write_store(tmp_path / "mine", table.A, overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "dear"
    with pytest.raises(DataError, match="does not exist"):
        write_store(tmp_path / "none" / "s", table.A)
    (tmp_path / "file").write_text("dear")
    with pytest.raises(DataError, match="is no store, and is left alone"):
        write_store(tmp_path / "file", table.A, overwrite=True)
    store = write_store(tmp_path / "s", table.A)
    with pytest.raises(DataError, match="onto itself"):
        write_store(tmp_path / "s", tmp_path / "s", overwrite=True)
    (tmp_path / "s").chmod(0o555)
    with pytest.raises(DataError, match="write-protected"):
        write_store(tmp_path / "s", table.A, overwrite=True)
    np.testing.assert_array_equal(matrix_of(store), table.A)


def test_a_folder_that_cannot_be_written_to(table, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(DataError, match="s can't be written: permission denied"):
        write_store(tmp_path / "s", table.A)


FULL = """
import resource, sys, numpy as np, spd1
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    spd1.write_store(sys.argv[1], np.ones((1000, 10)), tile_mb=0.01 * int(sys.argv[2]),
                     overwrite=True)
except spd1.DataError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_store(table, tmp_path):
    """The system's limit on the size of files stands in for it."""
    path = tmp_path / "s"
    write_store(path, table.A, table.b)
    done = subprocess.run(
        [sys.executable, "-c", FULL, path, "10"], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert "s can't be written: File too large; what was there before is as it was" in done.stdout
    np.testing.assert_array_equal(matrix_of(open_store(path, verify=True)), table.A)
    assert os.listdir(tmp_path) == ["s"]


def test_a_disk_that_is_full_halfway(table, tmp_path, monkeypatch):
    import errno

    from spd1.io.store_writer import StoreWriter

    kept = StoreWriter.write

    def write(self, name, array):
        if name.startswith("tile-00002"):
            raise OSError(errno.ENOSPC, "No space left on device")
        kept(self, name, array)

    monkeypatch.setattr(StoreWriter, "write", write)
    with pytest.raises(DataError, match="No space left on device; what was there before"):
        write_store(tmp_path / "s", table.A, table.b, tiles=(4, 1))
    assert os.listdir(tmp_path) == []


def test_memory_for_writing_is_bounded(tmp_path, monkeypatch):
    """Data of forty tiles; what NumPy allocates on the way stays with one."""
    import tracemalloc

    monkeypatch.undo()  # blocks of the usual size
    monkeypatch.setattr(store_sources, "BLOCK_BYTES", 2**18)
    A = np.lib.stride_tricks.as_strided(np.ones(1), (100_000, 50), (0, 0))  # 40 MB in 8 bytes
    write_store(tmp_path / "w", A[:10])  # imports, compiles
    tracemalloc.start()
    try:
        store = write_store(tmp_path / "s", A, tile_mb=1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert store.nbytes > 40e6
    assert peak < 8e6


def test_compressed_text_is_what_it_says(table, tmp_path):
    """The suffix says how to open it: a file that is something else is refused by name."""
    (tmp_path / "a.svm.bz2").write_bytes(gzip.compress(b"1 1:1\n"))
    with pytest.raises(DataError, match=r"a\.svm\.bz2"):
        write_store(tmp_path / "s", tmp_path / "a.svm.bz2")
    (tmp_path / "b.svm.bz2").write_bytes(bz2.compress(b"1 1:1\n" * 1000)[:-9])
    with pytest.raises(DataError, match=r"b\.svm\.bz2 is cut off"):
        write_store(tmp_path / "s", tmp_path / "b.svm.bz2")
