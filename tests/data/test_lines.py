"""Copies of lines, and the store that hands them out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1.data import crew as crew_module
from spd1.data.convert import as_matrix, with_square_sum
from spd1.data.grid import Grid
from spd1.data.lines import CopiedLines, LineStore
from spd1.engines.ledger import Ledger
from spd1.engines.threads import Threads
from spd1.solvers.newton.linalg.working_set import line_dots
from support import oracle
from support.models import LAYOUTS, data, lines


@pytest.mark.parametrize("chosen", [[2, 0], [3], [], [0, 1, 2, 3, 4]], ids=len)
@pytest.mark.parametrize("layout", [*LAYOUTS, "dense_f", "dense_strided", "dense_float32"])
def test_lines_across_are_copied_as_they_are(layout, chosen, rng):
    """Columns of row-major data, rows of column-major data."""
    A = data(rng)
    M = as_matrix(oracle.LAYOUTS[layout](A))
    copies = CopiedLines(Grid.whole(M), bool(M.row_major), np.array(chosen, dtype=int))
    B, ids = copies.lines, np.arange(copies.count)
    expected = A.T[chosen] if M.row_major else A[chosen]
    lengths = [B.line_length(w) for w in range(copies.count)]
    if sp.issparse(oracle.LAYOUTS[layout](A)):  # nothing of the other lines, and no zeros
        assert B.line_count() == len(chosen)
        assert lengths == np.count_nonzero(expected, axis=1).tolist()
        assert len(B.data) == np.count_nonzero(expected)
    else:  # room for a quarter more
        assert len(chosen) <= B.line_count() <= 1.25 * len(chosen)
        assert lengths == [expected.shape[1]] * len(chosen)
        assert not np.shares_memory(B.values, M.values)
    out = np.zeros(len(chosen))
    weights = rng.standard_normal(expected.shape[1])
    line_dots(B, ids, weights, out)
    np.testing.assert_allclose(out, expected @ weights, rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(lines(B)[ids], expected)


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "dense_float32"])
def test_lines_that_join_are_added_to_the_copies(layout, rng):
    A = data(rng)
    M = as_matrix(oracle.LAYOUTS[layout](A))
    copies = CopiedLines(Grid.whole(M), bool(M.row_major), np.array([2]))
    places = copies.add(np.array([0, 3, 1]))
    expected = A.T if M.row_major else A
    np.testing.assert_array_equal(copies.lines.values[0], expected[2])
    np.testing.assert_array_equal(copies.lines.values[places], expected[[0, 3, 1]])


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 2), (3, 2), (7, 5)])
@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "dense_float32", "csr", "csc"])
@pytest.mark.parametrize("by_columns", [False, True])
def test_a_store_of_lines_hands_out_the_lines_asked_for(layout, by_columns, shape, rng):
    """Whole, or put together from tiles; lines that lie along one tile are not copied."""
    A = data(rng)
    whole = Grid.whole(as_matrix(oracle.LAYOUTS[layout](A)))
    grid = (whole if shape == (1, 1) else whole.cut(*shape)).watched(ledger := Ledger(A.size))
    store, truth = LineStore(grid, by_columns), A.T if by_columns else A
    for chosen in ([], [3, 1], [3, 1, 0], [2], [0, 1, 2, 3, 4], [1]):
        chosen = np.array(chosen, dtype=int)
        B, ids = store.of(chosen)
        assert B.row_major != by_columns or grid.dense
        np.testing.assert_array_equal(lines(B)[ids], truth[chosen])
    assert store.copied == (ledger.entries > 0) == (store.across or shape != (1, 1))


def test_lines_from_tiles_are_read_as_often_as_they_are_counted(rng):
    """Dense lines once; sparse ones twice, and all the data where they lie across it."""
    A = data(rng)
    for layout, by_columns, read in (
        ("dense_c", True, 2 * 7),
        ("csc", True, 2 * np.count_nonzero(A[:, [3, 1]])),
        ("csr", True, 2 * np.count_nonzero(A)),
    ):
        whole = Grid.whole(as_matrix(oracle.LAYOUTS[layout](A)))
        grid = whole.cut(3, 2).watched(ledger := Ledger(A.size))
        LineStore(grid, by_columns).of(np.array([3, 1]))
        assert ledger.entries == read


@pytest.mark.parametrize("by_columns", [False, True])
def test_a_store_of_lines_lets_go_of_some_where_copies_are_few(by_columns, rng):
    """What is chosen again is not copied again, and never more is held than may be."""
    A = data(rng)
    grid = Grid.whole(as_matrix(A)).cut(2, 2).watched(ledger := Ledger(A.size))
    width = A.shape[0] if by_columns else A.shape[1]
    grid.copies = 3 * 1.25 * 8 * width
    store, truth = LineStore(grid, by_columns), A.T if by_columns else A
    held = set()
    for chosen in ([3, 1], [1, 0, 3], [0, 2], [2, 4, 0], [4, 1]):
        before = ledger.entries
        B, ids = store.of(np.array(chosen))
        np.testing.assert_array_equal(lines(B)[ids], truth[chosen])
        assert store.copies.count <= 3
        assert ledger.entries - before == width * len(set(chosen) - held)
        held = set(np.flatnonzero(store.position >= 0).tolist())
        assert set(chosen) <= held


@pytest.mark.parametrize("crew", [False, True])
def test_entries_of_columns_are_counted_once(crew, rng, monkeypatch):
    """Copies of other columns of the same rows read the data once more, to copy them."""
    monkeypatch.setattr(crew_module, "ALONE", 20)
    monkeypatch.setattr(crew_module, "ENTRIES_A_SUM", 1)
    A = sp.random_array((60, 9), density=0.4, rng=rng, format="csr")
    with Threads(2) as engine:
        ledger = Ledger(stored=A.nnz)
        grid = Grid.whole(*with_square_sum(A)).watched(ledger, engine if crew else None)
        store, before = LineStore(grid, by_columns=True), []
        for chosen in (np.array([7, 1, 4]), np.array([0, 8]), np.array([2, 3, 5, 6])):
            B, ids = store.of(chosen)
            for column, line in zip(chosen, ids, strict=True):
                found = np.zeros(60)
                found[B.indices[B.indptr[line] : B.indptr[line + 1]]] = B.data[
                    B.indptr[line] : B.indptr[line + 1]
                ]
                np.testing.assert_array_equal(found, A.toarray()[:, column])
            before.append(ledger.entries)
    assert np.diff(before).tolist() == [A.nnz, A.nnz]
