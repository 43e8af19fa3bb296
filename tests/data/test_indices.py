"""Index arrays are looked at, not believed: no matrix leads a kernel outside its data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.data.convert import as_matrix, as_scipy
from spd1.data.indices import lines_of, trusted
from spd1.data.memory import available_memory
from spd1.errors import DataError
from spd1.linear_model import Ridge

TESTS = Path(__file__).parents[1]


def csr(values, indices, indptr, shape):
    """SciPy's array with these arrays put in by hand."""
    M = sp.csr_array((max(shape[0], 1), max(shape[1], 1)))
    M.data, M.indices, M.indptr = map(np.asarray, (values, indices, indptr))
    M._shape = shape
    return M


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("last", [[-2, 2], [-2]])
def test_ends_whose_differences_wrap_around_are_refused(index, last):
    """Up to the largest number, on to -2, and back to 2: no difference is negative as it wraps."""
    ends = np.array([0, np.iinfo(index).max, *last], dtype=index)
    assert np.all(np.diff(ends) >= 0)
    M = csr([1.0, 2.0], np.array([0, 1], dtype=index), ends, (len(ends) - 1, 2))
    M.has_sorted_indices = M.has_canonical_format = True
    with pytest.raises(DataError, match="indptr"):
        as_matrix(M)


@pytest.mark.parametrize("kind", ["<i4", "<i8", "<u4", "<u8", ">i4", ">i8", "<i2", "<u1"])
def test_index_types_of_any_size_and_order_are_read(kind):
    M = csr([1.0, 2.0], np.array([2, 0]).astype(kind), np.array([0, 1, 2]).astype(kind), (2, 3))
    np.testing.assert_array_equal(as_scipy(as_matrix(M)).toarray(), [[0, 0, 1], [2, 0, 0]])
    np.testing.assert_array_equal(trusted(M).toarray(), [[0, 0, 1], [2, 0, 0]])


@pytest.mark.parametrize(
    ("indices", "wanted"), [([1, 0], [[2.0, 1.0]]), ([1, 1], [[0.0, 3.0]])], ids=["order", "twice"]
)
def test_flags_that_lie_are_not_believed(indices, wanted):
    M = csr([1.0, 2.0], np.array(indices), np.array([0, 2]), (1, 2))
    M.has_sorted_indices = M.has_canonical_format = True
    A = as_matrix(M)
    assert A.indices.tolist() == sorted(set(indices))
    np.testing.assert_array_equal(as_scipy(A).toarray(), wanted)
    np.testing.assert_array_equal(trusted(M).multiply(trusted(M)).toarray(), np.square(wanted))
    assert M.indices.tolist() == indices


def test_small_integers_that_come_twice_do_not_wrap():
    M = csr(np.array([100, 100], dtype=np.int8), np.array([0, 0]), np.array([0, 2]), (1, 1))
    assert as_scipy(as_matrix(M)).toarray().tolist() == trusted(M).toarray().tolist() == [[200]]


@pytest.mark.parametrize("length", [1, 2, 3, 64, 100])
def test_order_is_seen_everywhere(length):
    """One line, and one pair in the wrong order."""
    ends = np.array([0, length])
    M = csr(np.ones(length), np.arange(length), ends, (1, length))
    assert lines_of(M).canonical
    for place in range(length - 1):
        M.indices = np.arange(length)
        M.indices[[place, place + 1]] = M.indices[[place + 1, place]]
        assert not lines_of(M).canonical
        M.indices = np.arange(length)
        M.indices[place + 1] = place  # twice
        assert not lines_of(M).canonical
    lines = csr(np.ones(length), np.zeros(length, int), np.arange(length + 1), (length, 1))
    assert lines_of(lines).canonical


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_order_is_that_of_each_line_where_some_are_empty(kind, rng):
    """Against the definition, line by line; indices may fall where a line begins."""
    seen = set()
    for _ in range(200):
        lengths = rng.integers(0, 4, rng.integers(1, 6))
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(kind)
        indices = rng.integers(0, 5, ends[-1]).astype(kind)
        if rng.random() < 0.5:
            for i in range(len(lengths)):
                indices[ends[i] : ends[i + 1]] = rng.permutation(5)[: lengths[i]]
                indices[ends[i] : ends[i + 1]].sort()
        M = csr(np.ones(len(indices)), indices, ends, (len(lengths), 5))
        lines = [indices[ends[i] : ends[i + 1]] for i in range(len(lengths))]
        grows = all(np.all(np.diff(line) > 0) for line in lines)
        assert lines_of(M).canonical == grows
        seen.add(grows)
    assert seen == {True, False}


def test_what_needs_no_mending_stays_the_users_own():
    M = sp.random_array((20, 10), density=0.3, rng=np.random.default_rng(0), format="csr")
    assert trusted(M) is M
    A = np.eye(3)
    assert trusted(A) is A


@pytest.mark.parametrize("kind", ["coo", "bsr", "dia", "lil", "dok"])
def test_other_formats_are_read(kind):
    A = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    np.testing.assert_array_equal(trusted(sp.csr_array(A).asformat(kind)).toarray(), A)


def outside(kind):
    """An index far outside, where SciPy's conversion would write to it."""
    M = sp.csr_array(np.ones((3, 4))).asformat(kind)
    far = 10**8
    if kind == "coo":
        M.coords[0][0] = far
    elif kind == "bsr":
        M.indices[0] = far
    elif kind == "lil":
        M.rows[0] = [far] * 50
        M.data[0] = [1.0] * 50
    elif kind == "dok":
        M._dict[(far, 0)] = 1.0
    return M


@pytest.mark.parametrize("kind", ["coo", "bsr", "lil", "dok"])
def test_other_formats_are_looked_at_before_scipy_follows_them(kind):
    for door in (as_matrix, trusted, lambda M: Ridge().fit(M, np.ones(3))):
        with pytest.raises(DataError):
            door(outside(kind))


def test_lists_of_different_lengths_are_refused():
    M = sp.lil_array((2, 3))
    M.rows[0], M.data[0] = [0], [1.0] * 1000
    with pytest.raises(DataError, match="different lengths"):
        as_matrix(M)


def test_more_columns_than_memory_are_refused_before_anything_is_allocated():
    width = int(available_memory())
    M = csr([1.0], np.array([5]), np.array([0, 1]), (1, width))
    with pytest.raises(DataError, match=r"columns: vectors of these lengths take .* GB.*hash"):
        spd1.Problem(M, [1.0])


def hostile(count, seed):
    """Try so many malformed matrices in a process of their own; return what it says."""
    path = os.pathsep.join([str(Path(spd1.__file__).parents[1]), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-m", "support.hostile_matrices", str(count), str(seed)],
        env=os.environ | {"PYTHONPATH": path, "SPD1_QUIET": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-3000:])
    return map(int, done.stdout.split())


def test_malformed_matrices_are_refused_or_read_as_numpy_reads_them():
    refused, read = hostile(300, 1)
    assert refused > 100
    assert read > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
def test_ten_thousand_malformed_matrices(seed):
    refused, read = hostile(10_000, seed)
    assert refused > 3000
    assert read > 1000


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("order", ["back to front", "shuffled"])
def test_indices_in_any_order_are_the_same_matrix(rng, layout, order):
    """Products of SciPy's leave lines back to front; either is mended without a change."""
    X = sp.random_array((30, 20), density=0.4, rng=rng, format=layout)
    mixed = X.copy()
    for first, last in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        size = last - first
        turn = np.arange(size)[::-1] if order == "back to front" else rng.permutation(size)
        mixed.indices[first:last] = X.indices[first:last][turn]
        mixed.data[first:last] = X.data[first:last][turn]
    before = mixed.indices.copy(), mixed.data.copy()
    found = as_scipy(as_matrix(mixed))
    np.testing.assert_array_equal(found.indices, X.indices)
    np.testing.assert_array_equal(found.data, X.data)
    np.testing.assert_array_equal(mixed.indices, before[0])  # the user's own is left as it is
    np.testing.assert_array_equal(mixed.data, before[1])
