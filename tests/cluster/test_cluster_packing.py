"""Copies of lines that travel in narrow types: the same bits come out, and fewer bytes go in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1.cluster.messages import size_of
from spd1.cluster.packing import packed_lines, unpacked
from spd1.data.convert import as_matrix
from spd1.data.crew import work_on
from spd1.data.tile_work import row_access_of, some_lines

VALUES = {  # what is in the data, and bytes that a value takes
    "counts": (lambda rng: rng.integers(0, 100, (30, 9)).astype(float), 1),
    "thousands": (lambda rng: rng.integers(-9999, 9999, (30, 9)).astype(float), 2),
    "float32": (lambda rng: rng.standard_normal((30, 9)).astype(np.float32).astype(float), 4),
    "float64": (lambda rng: rng.standard_normal((30, 9)), 8),
    "minus zero": (lambda rng: np.full((30, 9), -0.0), 4),
    "large": (lambda rng: rng.integers(2**53, 2**60, (30, 9)).astype(float) * 1e30, 8),
    "float32 itself": (lambda rng: rng.standard_normal((30, 9)).astype(np.float32), 4),
}


def arrays_of(tile):
    return [array for array in tile if isinstance(array, np.ndarray)]


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("key", VALUES)
def test_the_same_bits_in_fewer_bytes(key, sparse, by_columns, rng):
    values, width = VALUES[key]
    A = values(rng)
    given = A
    if sparse:  # every entry is stored, zeros, too
        rows = np.repeat(np.arange(30), 9), np.tile(np.arange(9), 30)
        given = sp.csr_array(sp.coo_array((A.ravel(), rows), shape=A.shape))
    work = work_on(row_access_of(as_matrix(given)), None)
    names = np.array([1, 4, 5])
    expected = some_lines(work, by_columns, names)
    packed = packed_lines(work, by_columns, names)
    found = unpacked(packed)
    assert type(found) is type(expected)
    for mine, theirs in zip(arrays_of(found), arrays_of(expected), strict=True):
        assert mine.dtype == theirs.dtype
        assert not mine.flags.writeable
        assert mine.tobytes() == theirs.tobytes()
    assert (found.rows(), found.columns()) == (expected.rows(), expected.columns())
    stored = 3 * (30 if by_columns else 9)
    assert packed.arrays[0].nbytes == width * stored
    assert size_of(packed) <= (width + (2 if sparse else 0)) * stored + (2 * 31 if sparse else 0)


def test_a_sample_that_misleads(rng):
    """Values that seem whole numbers at first."""
    A = np.ones((400, 5))
    A[-1, -1] = 0.1
    work = work_on(row_access_of(as_matrix(A)), None)
    found = unpacked(packed_lines(work, False, np.arange(400)))
    np.testing.assert_array_equal(found.values, A)
