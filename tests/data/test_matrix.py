"""Data as users hold it: viewed without a copy, repaired without loss, or refused by cause."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem, certify
from spd1.data.convert import as_matrix, column_access, row_access
from spd1.data.matrix import CSC, CSR, Dense
from spd1.data.products import adjoint, margins, squared_row_norms, stored_counts
from spd1.errors import DataError
from spd1.kernel.jit import helper
from support.oracle import LAYOUTS

every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@pytest.fixture
def values(rng):
    """Half zeros, an empty row, an empty column; float32 holds every entry."""
    A = rng.standard_normal((7, 5)).astype(np.float32).astype(float)
    A[rng.random((7, 5)) < 0.5] = 0.0
    A[2, :] = 0.0
    A[:, 3] = 0.0
    return A


def parts(M):
    """The arrays that hold a matrix, the user's or ours."""
    if isinstance(M, np.ndarray):
        return [M]
    return [M.values] if isinstance(M, Dense) else [M.data, M.indices, M.indptr]


def dense(A):
    """What our matrix says, as an array."""
    if isinstance(A, Dense):
        return np.array(A.values)
    kind = sp.csr_array if isinstance(A, CSR) else sp.csc_array
    index = np.dtype(f"i{A.indices.itemsize}"), np.dtype(f"i{A.indptr.itemsize}")
    return kind((A.data, A.indices.view(index[0]), A.indptr.view(index[1])), A.shape).toarray()


@every_layout
def test_what_can_be_viewed_is_viewed(layout, values):
    X = LAYOUTS[layout](values)
    A = as_matrix(X)
    for mine, theirs in zip(parts(A), parts(X), strict=True):
        assert np.shares_memory(mine, theirs)
        assert mine.itemsize == theirs.itemsize
        assert theirs.flags.writeable  # only our view is read-only
        assert not mine.flags.writeable
    np.testing.assert_array_equal(dense(A), values)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_all_sparse_classes_are_viewed(kind, index, values):
    X = kind(values)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    A = as_matrix(X)
    assert A.indices.dtype.kind == "u"
    assert all(np.shares_memory(*pair) for pair in zip(parts(A), parts(X), strict=True))
    np.testing.assert_array_equal(dense(A), values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_memory_map_is_viewed(dtype, values, tmp_path):
    np.save(tmp_path / "A.npy", values.astype(dtype))
    X = np.load(tmp_path / "A.npy", mmap_mode="r")
    A = as_matrix(X)
    assert np.shares_memory(A.values, X)
    np.testing.assert_array_equal(A.values, values)


REPAIRS = {
    "int8": lambda A: np.round(10 * A).astype(np.int8),
    "uint16": lambda A: np.abs(np.round(1e4 * A)).astype(np.uint16),
    "int32": lambda A: np.round(1e9 * A).astype(np.int32),
    "int64": lambda A: np.round(1e15 * A).astype(np.int64),
    "bool": lambda A: A > 0,
    "float16": lambda A: A.astype(np.float16),
    "big_endian": lambda A: A.astype(">f8"),
    "unaligned": lambda A: np.frombuffer(b"." + A.tobytes(), offset=1).reshape(A.shape),
    "nested_list": lambda A: A.tolist(),
    "negative_strides": lambda A: A[::-1, ::-1],
    "coo": sp.coo_array,
    "coo_matrix": sp.coo_matrix,
    "lil": sp.lil_array,
    "dok": sp.dok_array,
    "dia": sp.dia_array,
    "bsr": sp.bsr_array,
    "csr_int": lambda A: sp.csr_array(np.round(1e9 * A).astype(np.int64)),
    "csc_bool": lambda A: sp.csc_array(A > 0),
    "csr_unsorted": lambda A: unsorted(sp.csr_matrix(A)),
    "csc_unsorted": lambda A: unsorted(sp.csc_matrix(A)),
    "csr_duplicates": lambda A: duplicated(sp.csr_array(A)),
    "csc_duplicates": lambda A: duplicated(sp.csc_array(A)),
    "csr_bool_duplicates": lambda A: duplicated(sp.csr_array(A > 0)),
    "coo_duplicates": lambda A: duplicated(sp.csr_array(A)).tocoo(),
    "csr_spare_room": lambda A: with_spare_room(sp.csr_array(A)),
}


def unsorted(M):
    """The same matrix with the entries of every line in reverse order."""
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in itertools.pairwise(M.indptr)])
    return type(M)((M.data[order], M.indices[order], M.indptr.copy()), shape=M.shape)


def duplicated(M):
    """Every entry stored twice."""
    twice = np.repeat(M.data, 2), np.repeat(M.indices, 2), 2 * M.indptr
    return type(M)(twice, shape=M.shape)


def with_spare_room(M):
    """Arrays longer than indptr says: SciPy never reads the rest."""
    M.data = np.append(M.data, [np.nan, np.nan])
    M.indices = np.append(M.indices, np.array([99, -1], dtype=M.indices.dtype))
    return M


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs_lose_nothing_and_leave_the_original_alone(name, values):
    X = REPAIRS[name](values)
    plain = X.toarray() if sp.issparse(X) else np.asarray(X)
    before = [p.copy() for p in parts(X)] if getattr(X, "format", "") in ("csr", "csc") else None
    A = as_matrix(X)
    np.testing.assert_array_equal(dense(A), plain)
    assert dense(A).dtype in (np.float32, np.float64)
    if before is not None:
        for mine, old in zip(parts(X), before, strict=True):
            np.testing.assert_array_equal(mine, old)
            assert mine.flags.writeable
    for line in range(0 if isinstance(A, Dense) else len(A.indptr) - 1):
        positions = [int(A.at(line, k)[0]) for k in range(int(A.line_length(line)))]
        assert positions == sorted(set(positions))  # what binary search in `entry` relies on


def broken(change):
    """A sparse matrix damaged after SciPy checked it."""
    M = sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]]))
    change(M)
    return M


def assign(name, value):
    return lambda M: setattr(M, name, np.array(value, dtype=getattr(M, name).dtype))


BIG = 2**53
REFUSED = {
    "nan": (np.array([[1.0, np.nan]]), "non-finite.*row 0, column 1"),
    "inf": (np.array([[1.0], [-np.inf]], dtype=np.float32), "non-finite.*row 1, column 0"),
    "nan_late": (np.vstack([np.ones((10, 3)), [[0, 0, np.nan]]]), "row 10, column 2"),
    "sparse_nan": (sp.csr_array(np.array([[0.0, np.nan]])), "non-finite"),
    "sparse_inf": (sp.csc_array(np.array([[0.0, np.inf], [0.0, -np.inf]])), "non-finite"),
    "no_rows": (np.empty((0, 3)), "empty"),
    "no_columns": (np.empty((3, 0)), "empty"),
    "sparse_no_rows": (sp.csr_array((0, 3)), "empty"),
    "vector": (np.ones(3), "two dimensions.*reshape"),
    "cube": (np.ones((2, 2, 2)), "two dimensions, not 3"),
    "scalar": (3.0, "two dimensions"),
    "sparse_vector": (sp.coo_array(np.ones(3)), "two dimensions"),
    "object": (np.array([[1.0, None]]), "object"),
    "complex": (np.ones((2, 2), dtype=complex), "complex"),
    "sparse_complex": (sp.csr_array(np.ones((2, 2), dtype=complex)), "complex"),
    "string": (np.array([["1", "2"]]), "numbers only"),
    "ragged": ([[1.0], [1.0, 2.0]], "can't be read|object"),
    "masked": (np.ma.masked_array(np.ones((2, 2)), mask=[[0, 1], [0, 0]]), "masked"),
    "int64_too_large": (np.array([[4 * BIG]]), r"2\*\*53"),
    "int64_just_too_large": (np.array([[BIG + 1]]), r"2\*\*53"),
    "int64_too_negative": (np.array([[-BIG - 1]]), r"2\*\*53"),
    "uint64_too_large": (np.array([[2**64 - 1]], dtype=np.uint64), r"2\*\*53"),
    "longdouble": (np.ones((2, 2), dtype=np.longdouble), "float64"),
    "indptr_start": (broken(assign("indptr", [1, 2, 4])), "indptr"),
    "indptr_decreases": (broken(assign("indptr", [0, 5, 4])), "indptr"),
    "indptr_too_long": (broken(assign("indptr", [0, 2, 9])), "indptr"),
    "indptr_length": (broken(assign("indptr", [0, 4])), "indptr"),
    "index_too_large": (broken(assign("indices", [0, 3, 1, 2])), "outside 0 .. 2"),
    "index_negative": (broken(assign("indices", [0, -1, 1, 2])), "outside 0 .. 2"),
    "data_too_short": (broken(assign("data", [1.0, 2.0])), "lengths"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unusable_data_is_refused_by_cause(name):
    X, cause = REFUSED[name]
    with pytest.raises(DataError, match=cause):
        as_matrix(X)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_integers_up_to_2_to_the_53_are_exact(dtype):
    assert as_matrix(np.array([[BIG]], dtype=dtype)).values[0, 0] == BIG


def test_finite_values_whose_sum_overflows_are_accepted():
    X = np.full((3, 2), 1e308)
    assert np.shares_memory(as_matrix(X).values, X)
    assert as_matrix(sp.csr_array(X)).stored == 6


@helper
def read(A, by_entry, by_line):
    for i in range(A.rows()):
        for j in range(A.columns()):
            by_entry[i, j] = A.entry(i, j)
    for line in range(len(by_line)):
        for k in range(A.line_length(line)):
            position, a = A.at(line, k)
            by_line[line, position] += a


@pytest.mark.plain
@every_layout
def test_every_access_agrees_with_the_array(layout, values):
    A = as_matrix(LAYOUTS[layout](values))
    n, d = values.shape
    assert (A.rows(), A.columns()) == (n, d)
    assert A.is_dense() == isinstance(A, Dense)
    assert A.row_major == (layout != "dense_f" and not isinstance(A, CSC))  # memory order
    by_lines = values.T if isinstance(A, CSC) else values
    for function in (read, read.py_func):
        entries, lines = np.empty((n, d)), np.zeros(by_lines.shape)
        function(A, entries, lines)
        np.testing.assert_array_equal(entries, values)
        np.testing.assert_array_equal(lines, by_lines)


@every_layout
def test_products_are_those_of_numpy(layout, values, rng):
    A = as_matrix(LAYOUTS[layout](values))
    n, d = values.shape
    x, w = rng.standard_normal(d), rng.standard_normal(n)
    w[1] = 0.0
    close = {"rtol": 1e-14, "atol": 1e-14}  # float32 data is exact here: only sums may round
    np.testing.assert_allclose(margins(A, x), values @ x, **close)
    np.testing.assert_allclose(adjoint(A, w), values.T @ w, **close)
    np.testing.assert_allclose(squared_row_norms(A), (values**2).sum(axis=1), **close)
    of_columns = squared_row_norms(A.transposed())
    np.testing.assert_allclose(of_columns, (values**2).sum(axis=0), **close)
    stored = np.ones((n, d)) if isinstance(A, Dense) else values != 0
    assert A.stored == stored.sum()
    np.testing.assert_array_equal(stored_counts(A)[0], stored.sum(axis=1))
    np.testing.assert_array_equal(stored_counts(A)[1], stored.sum(axis=0))


@every_layout
def test_transpose_and_companions_hold_the_same_numbers(layout, values):
    A = as_matrix(LAYOUTS[layout](values))
    np.testing.assert_array_equal(dense(A.transposed()), values.T)
    rows, columns = row_access(A), column_access(A)
    assert isinstance(rows, (Dense, CSR))
    assert isinstance(columns, (Dense, CSC))
    for companion in (rows, columns):
        np.testing.assert_array_equal(dense(companion), values)
        assert companion is A or type(companion) is not type(A)


def banded(n, width):
    """A sparse matrix of n rows with `width` entries each, made without a detour."""
    indices = (np.arange(width) * 7 + np.arange(n)[:, None] % 7).astype(np.int32).ravel()
    indptr = np.arange(0, n * width + 1, width, dtype=np.int32)
    return sp.csr_array((np.ones(n * width), indices, indptr), shape=(n, 7 * width))


LARGE = {
    "dense_float64": lambda n: np.ones((n, 1000)),
    "dense_fortran": lambda n: np.ones((n, 1000), order="F"),
    "dense_float32": lambda n: np.ones((n, 2000), dtype=np.float32),
    "csr": lambda n: banded(n, 660),
}


@pytest.mark.parametrize("name", LARGE)
def test_peak_memory_is_a_fraction_of_the_data(name):
    """Half a copy would fail: 40 MB of data, 2 MB allowed to Problem and 4 MB to certify."""
    certify(np.zeros(LARGE[name](3).shape[1]), problem_on(LARGE[name](3)))  # compile first
    X = LARGE[name](5000)
    size = sum(part.nbytes for part in parts(X))
    assert size > 39e6
    tracemalloc.start()
    try:
        problem = problem_on(X)
        assert tracemalloc.get_traced_memory()[1] < 0.05 * size
        tracemalloc.reset_peak()
        certify(np.zeros(problem.d), problem)
        assert tracemalloc.get_traced_memory()[1] < 0.10 * size
    finally:
        tracemalloc.stop()


def problem_on(X):
    return Problem(X, np.ones(X.shape[0]), "squared", L2(0.1))
