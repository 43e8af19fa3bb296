"""Data in chunks, clusters in this process and in others, and the answers that they must match."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import pairwise

import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from spd1 import Problem
from spd1.data.chunked import sizes
from spd1.data.grid import Grid
from spd1.data.matrix import Dense


def labelled(rng, n=90, d=20, zeros=0.5):
    """Entries that float32 can hold, and labels."""
    A = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    A[rng.random((n, d)) < zeros] = 0.0
    return A, np.where(A @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)


def chunked(A, grid, sparse=False):
    """A dask array cut as ``Grid.cut`` cuts."""
    chunks = sizes(A.shape[0], grid[0]), sizes(A.shape[1], grid[1])
    if not sp.issparse(A):
        X = da.from_array(A, chunks=chunks)
        return X.map_blocks(sp.csr_array) if sparse else X
    rows, columns = (np.cumsum([0, *sides]) for sides in chunks)
    return da.block(
        [
            [
                da.from_array(A[a:b, c:e], chunks=(b - a, e - c), asarray=False)
                for c, e in pairwise(columns)
            ]
            for a, b in pairwise(rows)
        ]
    )


def cut_problem(A, b, loss, reg, grid, sparse=False):
    """The same in memory, dense tiles in one piece each, as chunks are."""
    problem = Problem(sp.csr_array(A) if sparse else A, b, loss, reg)
    found = problem.grid.cut(*grid)
    if not sparse:
        tiles = [[Dense(np.ascontiguousarray(t.values)) for t in row] for row in found.tiles]
        for tile in (tile for row in tiles for tile in row):
            tile.values.flags.writeable = False
        found = Grid(tiles)
        found._given(problem.grid.square_sum)
    return problem.with_grid(found)


@contextmanager
def cluster_of(workers, processes=False):
    """A client of a cluster on this machine."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=processes,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def same_run(found, expected):
    """The same bits, after as many passes."""
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.gap == expected.gap
    np.testing.assert_array_equal(found.trace.passes, expected.trace.passes)
