"""Lines of data too large to copy: every question about them is a pass over the tiles.

Rows are swept tile by tile, where they lie. Columns can't be, because every tile has a part of
each: their models are minimised on a Gram matrix, which is a sum over tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ....data.convert import as_scipy
from ....data.grid import Grid
from ....data.lines import CopiedLines
from ....data.matrix import Dense
from ....data.products import line_lengths
from ....data.tile_work import Down, gram_of_some_columns
from ..charges import entry_of
from .gram_kernels import sum_outer_products_of_rows
from .working_set import Lines, descend

__all__ = ["TileLines"]


def sweep_of_tile(
    work: Any, names: np.ndarray, table: np.ndarray, z: np.ndarray, curvature: np.ndarray,
    bend: np.ndarray, flat: bool, slope: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray]:  # fmt: skip
    """One sweep over rows of a tile: what it gained, and z and the slope afterwards."""
    z, slope = z.copy(), slope.copy()
    gain = descend(work.A, names, table, z, curvature, bend, flat, slope, 1, 1, 0.0)[0]
    return float(gain), z, slope


def outer_products_of(
    work: Any, place: np.ndarray, size: int, weights: np.ndarray, stride: int
) -> np.ndarray:
    """Products of columns, which ``place`` gives numbers, with each other: compressed rows."""
    G = np.zeros((size, size))
    longest = int(np.max(line_lengths(work.A), initial=0))
    sum_outer_products_of_rows(work.A, place, weights, stride, longest, G)
    return G


def some_columns(work: Any, names: np.ndarray, stride: int) -> Any:
    """A copy of some columns, of every ``stride``-th row: an array, or SciPy's."""
    if isinstance(work.A, Dense):
        return work.A.values[::stride][:, names].astype(float)
    return as_scipy(work.A)[::stride][:, names]


class TileLines(Lines):
    """Lines ``chosen`` of a grid: what ``Lines`` can be asked, by passes over its tiles.

    Parameters
    ----------
    grid : Grid
        Its operations are told to its ledger.
    by_columns : bool
        Whether the lines are columns.
    chosen : ndarray
    """

    copied = False

    def __init__(self, grid: Grid, by_columns: bool, chosen: np.ndarray) -> None:
        self.grid, self.by_columns, self.ids = grid, by_columns, chosen
        self.width = grid.n if by_columns else grid.d
        self.count, self.dense = len(chosen), grid.dense
        self.ledger, self.crew, self.most = grid.ledger, grid.crew, grid.copies
        counts = grid.column_counts if by_columns else grid.row_counts
        self.entries = float(np.sum(counts[chosen]))

    def part(self, which: np.ndarray) -> TileLines:
        """Some of the lines."""
        return TileLines(self.grid, self.by_columns, self.ids[which])

    @property
    def sweep(self) -> float:
        """Seconds of a sweep: a pass, and what it does with the lines."""
        return entry_of(self.dense) * 2.0 * self.entries

    def dots(self, vector: np.ndarray) -> np.ndarray:
        """The product of every line with a vector."""
        every = self.grid.adjoint(vector) if self.by_columns else self.grid.margins(vector)
        return np.asarray(every[self.ids])

    def moved(self, step: np.ndarray) -> np.ndarray:
        """Sum of step_w times line w."""
        every = np.zeros(self.grid.d if self.by_columns else self.grid.n)
        every[self.ids] = step
        return self.grid.margins(every) if self.by_columns else self.grid.adjoint(every)

    def curvatures(self, bend: np.ndarray) -> np.ndarray:
        """Sum over each line of bend_j a_j^2."""
        if self.by_columns:
            return np.asarray(self.grid.weighted_squares(bend)[self.ids])
        return np.asarray(self.grid.weighted_squares_of_rows(bend)[self.ids])

    def spread(self) -> np.ndarray:
        """A dense copy, one line a row; asked for only where ``most`` allows it."""
        self.ledger.entries += self.grid.stored
        copied = CopiedLines(self.grid, self.by_columns, self.ids)
        if self.dense:  # what callers may write to: the view in ``copied.lines`` is read-only
            return np.asarray(copied.store[: self.count], dtype=float)
        every = as_scipy(copied.lines)
        return np.asarray((every.T if self.by_columns else every).toarray(), dtype=float)

    # Rows: sweeps

    def descend(
        self,
        table: np.ndarray,
        z: np.ndarray,
        curvature: np.ndarray,
        slope: np.ndarray,
        bend: np.ndarray,
        flat: bool,
        least: int,
        sweeps: int,
        enough: float,
    ) -> tuple[float, float]:
        """Sweeps of coordinate descent over rows, a pass each; what the last two gained."""
        gain = before = 0.0
        for sweep in range(sweeps):
            before, gain = gain, 0.0
            for p, mine, names in self._rows_by_tiles():
                found, z[mine], slope[:] = self.grid.at(
                    p, 0, sweep_of_tile, names, table[mine], z[mine], curvature[mine], bend, flat,
                    slope,
                )  # fmt: skip
                gain += found
            self.ledger.entries += self.entries
            if (gain <= enough and sweep + 1 >= least) or self.ledger.spent:
                break
        return gain, before

    def _rows_by_tiles(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Every row of tiles, which of the lines are its rows, and their numbers within it."""
        home = np.searchsorted(self.grid.row_ends, self.ids, side="right") - 1
        order = np.argsort(home, kind="stable")
        ends = np.searchsorted(home[order], np.arange(self.grid.shape[0] + 1))
        for p in range(self.grid.shape[0]):
            mine = order[ends[p] : ends[p + 1]]
            if len(mine):
                yield p, mine, self.ids[mine] - self.grid.row_ends[p]

    # Columns: a Gram matrix

    def gram(self, weights: np.ndarray, stride: int) -> np.ndarray:
        """Products of the columns with each other, every ``stride``-th row standing for all."""
        grid, k = self.grid, self.count
        self.ledger.entries += self.entries / stride
        G = np.zeros((k, k))
        if grid.shape[1] > 1:
            for p in range(grid.shape[0]):
                sampled = weights[grid.row_ends[p] : grid.row_ends[p + 1]][::stride] * stride
                X = self._columns_of(p, stride)
                if isinstance(X, np.ndarray):
                    X *= np.sqrt(sampled)[:, None]
                    G += X.T @ X
                else:
                    G += (X.T.multiply(sampled) @ X).toarray()
            return G
        if grid.dense:
            for part, _, _ in grid.everywhere(
                gram_of_some_columns, self.ids, Down(weights), stride
            ):
                G += part
            return G
        place = np.full(grid.d, -1, dtype=np.int32)
        place[self.ids] = np.arange(k)
        for part, _, _ in grid.everywhere(outer_products_of, place, k, Down(weights), stride):
            G += part
        return G

    def _columns_of(self, p: int, stride: int) -> Any:
        """A copy of the columns in a row of tiles: an array, or SciPy's."""
        grid, parts, order = self.grid, [], []
        for q in range(grid.shape[1]):
            left, right = grid.column_ends[q], grid.column_ends[q + 1]
            inside = np.flatnonzero((self.ids >= left) & (self.ids < right))
            names = self.ids[inside] - left
            order.append(inside)
            parts.append(grid.at(p, q, some_columns, names, stride))
        if len(parts) == 1:
            return parts[0]
        back = np.argsort(np.concatenate(order), kind="stable")
        whole: Any = np.hstack(parts) if grid.dense else sp.hstack(parts, format="csr")
        return whole[:, back]
