"""Which entry a step of SPD1 and SPD1-VR looks at.

``Uniform`` is the paper's sampling: row and column drawn independently; by their norms:
``importance.py``. ``Nonzeros`` draws stored entries of sparse data, each once a pass, in random
order; the shares keep the estimators unbiased and give every coordinate the same total step per
pass (docs/laboratory/method.md). It is ours. Drawn with replacement instead, a third of the
columns with one entry would not move in a pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ...data.grid import Grid
from ...data.store_grid import touch
from ...engines.work import Made
from ...errors import DataError, IncompatibleError, ParameterError
from ...kernel.jit import compiled
from ...kernel.rng import index, shuffled, widths

__all__ = [
    "SAMPLINGS",
    "Nonzeros",
    "Sampler",
    "TileSampler",
    "Uniform",
    "choose_sampling",
    "make_sampler",
    "tile_samplers",
]

SAMPLINGS = ("auto", "uniform", "nonzeros", "importance")
NOTHING_STORED = "A has no stored entries: nothing to sample; x = argmin g is the solution"


class Sampler:
    """What kernels ask: entries by draw number, and how often each line is drawn."""

    def pair(self, key, counter):
        """Draw (i, j) and return i, j, a_ij; uses draws ``counter`` and ``counter + 1``."""
        raise NotImplementedError

    def in_column(self, key, counter, j):
        """Draw a row i given the column j; return i, a_ij."""
        raise NotImplementedError

    def in_row(self, key, counter, i):
        """Draw a column j given the row i; return j, a_ij."""
        raise NotImplementedError

    def column_share(self, j):
        """N / k_j: the reciprocal of the share of rows that column j is drawn with."""
        raise NotImplementedError

    def row_share(self, i):
        """1 / r_i: the reciprocal of the number of columns that row i is drawn with."""
        raise NotImplementedError


@compiled(Sampler)
class Uniform(NamedTuple):
    """Row and column independent and uniform, as published."""

    A: Any
    n: int
    d: int
    share: float  # 1 / d

    def pair(self, key, counter):
        i = index(key, counter, self.n)
        j = index(key, counter + 1, self.d)
        return i, j, self.A.entry(i, j)

    def in_column(self, key, counter, j):
        i = index(key, counter, self.n)
        return i, self.A.entry(i, j)

    def in_row(self, key, counter, i):
        j = index(key, counter, self.d)
        return j, self.A.entry(i, j)

    def column_share(self, j):
        return 1.0

    def row_share(self, i):
        return self.share


@compiled(Sampler)
class Nonzeros(NamedTuple):
    """Stored entries, each once a pass: row i is drawn r_i times in a pass, column j k_j times."""

    by_rows: Any  # CSR
    by_columns: Any  # CSC
    guide: np.ndarray  # row that holds stored entry number (q << shift)
    shift: int
    stored: np.uint64
    mask: np.uint64  # see ``shuffled``
    half: np.uint64
    draws: np.uint64  # numbers of draws that a step uses up
    row_shares: np.ndarray
    column_shares: np.ndarray

    def pair(self, key, counter):
        step = np.uint64(counter) // self.draws
        p = shuffled(key, step, self.stored, self.mask, self.half)
        i = np.uint64(self.guide[p >> np.uint64(self.shift)])
        while np.uint64(self.by_rows.indptr[i + np.uint64(1)]) <= p:
            i += np.uint64(1)
        return i, np.uint64(self.by_rows.indices[p]), self.by_rows.data[p]

    def in_column(self, key, counter, j):
        k = index(key, counter, self.by_columns.line_length(j))
        return self.by_columns.at(j, k)

    def in_row(self, key, counter, i):
        k = index(key, counter, self.by_rows.line_length(i))
        return self.by_rows.at(i, k)

    def column_share(self, j):
        return self.column_shares[j]

    def row_share(self, i):
        return self.row_shares[i]


def choose_sampling(grid: Grid, sampling: str) -> str:
    """Resolve "auto": uniform for dense data, non-zeros for sparse data."""
    if sampling not in SAMPLINGS:
        raise ParameterError(f"unknown sampling {sampling!r}: choose from {', '.join(SAMPLINGS)}")
    if sampling == "auto":
        return "uniform" if grid.dense else "nonzeros"
    return sampling


def make_sampler(grid: Grid, sampling: str, draws: int = 2) -> Uniform | Nonzeros:
    """Build the compiled sampler of one tile: ``Grid.whole(tile)``, or all the data.

    In dense data every entry is stored: both kinds are uniform. A step of the method uses up
    ``draws`` numbers of draws.
    """
    if choose_sampling(grid, sampling) == "uniform" or grid.dense:
        return Uniform(grid.matrix, grid.n, grid.d, 1.0 / grid.d)
    rows = grid.by_rows.matrix
    if rows.stored == 0:
        raise DataError(NOTHING_STORED)
    r, k = grid.row_counts, grid.column_counts
    shift = max(0, (rows.stored // grid.n).bit_length() - 1)
    starts = np.arange(0, rows.stored, 1 << shift)
    guide = np.searchsorted(rows.indptr.astype(np.int64), starts, side="right") - 1
    return Nonzeros(
        rows,
        grid.by_columns.matrix,
        guide.astype(np.uint32 if grid.n < 2**32 else np.uint64),
        shift,
        *widths(rows.stored),
        np.uint64(draws),
        1.0 / np.maximum(r, 1),
        grid.n / np.maximum(k, 1),
    )


class TileSampler(Made):
    """The sampler of a tile, with the shares of all the data; made where the tile lies.

    A tile on disk is read in order first: draws would fetch its pages one by one.
    """

    def __init__(
        self, name: str, kind: str, draws: int, d: int, shares: tuple[Any, Any], on_disk: bool
    ) -> None:
        super().__init__(name)
        self.kind, self.draws, self.d, self.on_disk = kind, draws, d, on_disk
        self.row_shares, self.column_shares = shares

    def make(self, tile: Any) -> Uniform | Nonzeros:
        """The compiled sampler."""
        if self.on_disk:
            touch(tile)
        sampler = make_sampler(Grid([[tile]]), self.kind, self.draws)
        if isinstance(sampler, Uniform):
            return sampler._replace(share=1.0 / self.d)
        return sampler._replace(row_shares=self.row_shares, column_shares=self.column_shares)


def tile_samplers(grid: Grid, sampling: str, draws: int = 2) -> list[list[TileSampler | None]]:
    """Samplers of every tile, with the shares of all the data; None where nothing is stored."""
    rows, columns = grid.shape
    found: list[list[TileSampler | None]] = [[None] * columns for _ in range(rows)]
    kind, owner = choose_sampling(grid, sampling), uuid4().hex
    if kind == "importance":
        raise IncompatibleError(
            "sampling='importance' takes data in one piece: use sampling='uniform' or 'nonzeros'"
        )
    nonzeros = kind == "nonzeros" and not grid.dense
    if grid.stored == 0 and kind == "nonzeros":
        raise DataError(NOTHING_STORED)
    if nonzeros:  # once: tiles have views of them
        row_shares = 1.0 / np.maximum(grid.row_counts, 1)
        column_shares = grid.n / np.maximum(grid.column_counts, 1)
    for row in range(rows):
        part = slice(grid.row_ends[row], grid.row_ends[row + 1])
        for column in range(columns):
            if kind == "nonzeros" and grid.stored_in(row, column) == 0:
                continue
            across = slice(grid.column_ends[column], grid.column_ends[column + 1])
            shares: tuple[Any, Any] = None, None
            if nonzeros:
                shares = row_shares[part], column_shares[across]
                # the tile in the other order, and its counts
                grid.ledger.entries += 3 * grid.stored_in(row, column)
            found[row][column] = TileSampler(
                f"{owner} sampler", kind, draws, grid.d, shares, not grid.at_hand
            )
    return found
