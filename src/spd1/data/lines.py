"""Lines of the data, rows or columns, for methods that visit some of them again and again.

Lines that lie along the data (rows of row-major data, columns of column-major data) are read where
they are, if the data is one tile. Others are copied, and the copies are kept while they serve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kernel.jit import kernel
from .crew import blocks_of, each, mapped
from .grid import Grid
from .matrix import CSC, CSR, Dense
from .products import count_positions

__all__ = ["CopiedLines", "LineStore"]


@kernel
def count_across(B, position, starts):
    """Entries of the chosen positions of B: position_j is the new line of j, or -1."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, _ = B.at(i, k)
            if position[j] >= 0:
                starts[position[j] + 1] += 1


@kernel
def copy_across(B, position, first, filled, indices, data):
    """Turn the chosen positions of B into lines; line i of B is their position first + i."""
    for i in range(B.line_count()):
        for k in range(B.line_length(i)):
            j, a = B.at(i, k)
            w = position[j]
            if w >= 0:
                indices[filled[w]] = first + i
                data[filled[w]] = a
                filled[w] += 1


@kernel
def count_along(B, position, starts):
    """Entries of the chosen lines of B: position_i is the new line of i, or -1."""
    for i in range(B.line_count()):
        if position[i] >= 0:
            starts[position[i] + 1] += B.line_length(i)


@kernel
def copy_along(B, position, first, filled, indices, data):
    """Copy the chosen lines of B; its position j is their position first + j."""
    for i in range(B.line_count()):
        w = position[i]
        if w >= 0:
            for k in range(B.line_length(i)):
                j, a = B.at(i, k)
                indices[filled[w]] = first + np.int64(j)
                data[filled[w]] = a
                filled[w] += 1


@kernel
def gather(values, chosen, places, out):
    """Columns of a dense array as rows of ``out``, eight entries of a column at a time."""
    n = len(values)
    i = 0
    while i < n:
        end = min(i + 8, n)
        for w in range(len(chosen)):
            j, place = chosen[w], places[w]
            for k in range(i, end):
                out[place, k] = values[k, j]
        i = end


class CopiedLines:
    """Copies of some lines of a grid, put together from its tiles.

    Parameters
    ----------
    grid : Grid
    by_columns : bool
        Whether the lines are columns.
    chosen : ndarray
    """

    def __init__(self, grid: Grid, by_columns: bool, chosen: np.ndarray) -> None:
        self.grid, self.by_columns = grid, by_columns
        self.width = grid.n if by_columns else grid.d
        self.readings = 1  # of the data, to make them
        self.lines: Any
        if not grid.dense:
            self.count = len(chosen)
            self.lines = self._sparse(chosen)
            return
        self.count = 0
        self.store = np.empty((len(chosen) + len(chosen) // 4, self.width), dtype=grid.dtype)
        self.add(chosen)

    def pieces(self, grid: Grid) -> Iterator[tuple[Any, slice, slice]]:
        """Every tile with the lines and the positions that it has a part of, in order."""
        for tile, rows, columns in grid.parts():
            yield (tile, columns, rows) if self.by_columns else (tile, rows, columns)

    def add(self, chosen: np.ndarray) -> np.ndarray:
        """Copy more lines of dense data; returns where they are."""
        first, self.count = self.count, self.count + len(chosen)
        if self.count > len(self.store):
            larger = np.empty((self.count + self.count // 2, self.width), dtype=self.store.dtype)
            before, self.store = self.store, larger
            each(
                self.grid.crew,
                first,
                first * self.width,
                lambda part: np.copyto(larger[part], before[part]),
            )
        self.lines = Dense(_read_only(self.store))
        places = np.arange(first, self.count)
        grid, chosen = self.grid.narrowed(self.by_columns, chosen)
        for tile, lines, positions in self.pieces(grid):
            inside = (chosen >= lines.start) & (chosen < lines.stop)
            values = tile.values if self.by_columns else tile.values.T
            names = chosen[inside] - lines.start
            self._gather(values, names, places[inside], self.store[:, positions])
        return places

    def keep(self, places: np.ndarray) -> None:
        """Let go of all lines of dense data but these, in this order; ``places`` must ascend."""
        for place, before in enumerate(places):  # in its place: never two copies at a time
            self.store[place] = self.store[before]
        self.count = len(places)

    def _gather(
        self, values: np.ndarray, names: np.ndarray, places: np.ndarray, out: np.ndarray
    ) -> None:
        each(
            self.grid.crew,
            len(names),
            len(names) * len(values),
            lambda part: gather(values, names[part], places[part], out),
        )

    def _rounds(
        self, grid: Grid, across: bool, count: int
    ) -> Iterator[list[tuple[Any, slice, int]]]:
        """Tiles, or blocks of their lines for a crew: which lines are asked for, and where from.

        Those of data at hand all at once. Those of a store tile by tile, so that few are mapped.
        """
        everything = []
        for tile, lines, positions in self.pieces(grid):
            blocks = [
                (block, lines, positions.start + part.start)
                for block, part in blocks_of(tile, count, grid.crew if across else None)
            ]
            if grid.at_hand:
                everything += blocks
            else:
                yield blocks
        if everything:
            yield everything

    def _known(self, grid: Grid, chosen: np.ndarray) -> list[np.ndarray]:
        """Entries of the chosen lines in each block of one tile: counted for all of them once."""
        blocks = [block for block, _ in blocks_of(grid.tiles[0][0], self.all_lines, grid.crew)]
        if len(blocks) == 1:
            counts = [grid.column_counts if self.by_columns else grid.row_counts]
        else:
            name = grid.fact(f"counts of {len(blocks)} blocks")
            counts = grid.facts.get(name, grid.ledger, lambda: counts_across(blocks, grid))
        return [np.concatenate([[0], one[chosen]]) for one in counts]

    @property
    def all_lines(self) -> int:
        """How many there are to choose from."""
        return self.grid.d if self.by_columns else self.grid.n

    def _sparse(self, chosen: np.ndarray) -> Any:
        count = len(chosen)
        grid, chosen = self.grid.narrowed(self.by_columns, chosen)
        position = np.full(grid.d if self.by_columns else grid.n, -1, dtype=np.int32)
        position[chosen] = np.arange(count)
        across = grid.row_major == self.by_columns
        counts, copies = (count_across, copy_across) if across else (count_along, copy_along)
        once = across and grid is self.grid and grid.shape == (1, 1) and grid.at_hand
        self.readings = 1 if once else 2
        size = self.all_lines if once else count

        def rounds() -> Iterator[list[tuple[Any, slice, int]]]:
            return self._rounds(grid, across, size) if count else iter(())

        def counted(piece: tuple[Any, slice, int]) -> np.ndarray:
            starts = np.zeros(count + 1, dtype=np.int64)
            counts(piece[0], position[piece[1]], starts)
            return starts

        if once and count:
            found = self._known(grid, chosen)
        else:
            found = [one for pieces in rounds() for one in mapped(grid.crew, counted, pieces)]
        starts = np.cumsum(sum(found, np.zeros(count + 1, dtype=np.int64)))
        one = grid.tiles[0][0]
        narrow = np.uint16 if self.width <= 2**16 else one.indices.dtype
        indices, data = np.empty(starts[-1], dtype=narrow), np.empty(starts[-1], dtype=grid.dtype)
        filled, sizes = starts[:-1].copy(), iter(found)

        def copied(item: tuple[tuple[Any, slice, int], np.ndarray]) -> None:
            (block, lines, first), places = item
            copies(block, position[lines], first, places, indices, data)

        for pieces in rounds():
            work = []
            for piece in pieces:  # each knows where it begins
                work.append((piece, filled.copy()))
                filled += next(sizes)[1:]
            mapped(grid.crew, copied, work)
        kind, shape = (CSC, (self.width, count)) if self.by_columns else (CSR, (count, self.width))
        return kind(data, indices, starts.view(np.uint64), shape)


def counts_across(blocks: list[Any], grid: Grid) -> list[np.ndarray]:
    """Entries at each position, block by block."""
    positions = grid.d if grid.row_major else grid.n

    def count(block: Any) -> np.ndarray:
        out = np.zeros(positions, dtype=np.int64)
        count_positions(block, out)
        return out

    grid.ledger.entries += grid.stored
    return [one.astype(np.int32) for one in mapped(grid.crew, count, blocks)]


def _read_only(values: np.ndarray) -> np.ndarray:
    view = values.view()
    view.flags.writeable = False
    return view


class LineStore:
    """The rows, or the columns, of a grid: a matrix whose lines they are, and which.

    Parameters
    ----------
    grid : Grid
    by_columns : bool
        Whether the lines wanted are columns.

    Attributes
    ----------
    copied : bool
        Whether lines are copied: those of one tile that lie along it are read where they are.
    """

    rebuilt = ("copies",)  # left out of checkpoints: positions say which lines they are of

    def __init__(self, grid: Grid, by_columns: bool) -> None:
        self.grid, self.by_columns, self.dense = grid, by_columns, grid.dense
        self.across = grid.row_major == by_columns
        self.copied = self.across or grid.shape != (1, 1)
        self.width = grid.n if by_columns else grid.d
        self.position = np.full(grid.d if by_columns else grid.n, -1, dtype=np.int32)
        self.copies: CopiedLines | None = None
        if not self.copied:
            A = grid.matrix
            self.data = A.transposed() if self.dense and by_columns else A  # lines are its rows

    def rebuild(self) -> None:
        """Copy the lines again, each to its place."""
        chosen = np.flatnonzero(self.position >= 0)
        self.copies = CopiedLines(
            self.grid, self.by_columns, chosen[np.argsort(self.position[chosen])]
        )

    def bytes_of(self, chosen: np.ndarray) -> np.ndarray:
        """Bytes that copies of these lines take, line by line."""
        grid = self.grid
        if self.dense:
            return np.full(len(chosen), 1.25 * self.width * grid.dtype.itemsize)
        counts = grid.column_counts if self.by_columns else grid.row_counts
        return np.asarray(counts[chosen] * (grid.dtype.itemsize + 4.0))

    def fits(self, chosen: np.ndarray) -> bool:
        """Whether copies of these lines may be made, see ``Grid.copies``."""
        most = self.grid.copies
        return not self.copied or most == math.inf or float(self.bytes_of(chosen).sum()) <= most

    def of(self, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
        """A matrix B, and which of its lines are those chosen."""
        if not self.copied:
            return self.data, chosen
        ledger = self.grid.ledger
        fresh = chosen[self.position[chosen] < 0]
        if self.dense and self.copies is not None and 0 < len(fresh) < len(chosen):
            self._make_room(chosen, fresh)
            ledger.entries += len(fresh) * self.width
            self.position[fresh] = self.copies.add(fresh)
        elif len(fresh) or self.copies is None:
            self.copies = None  # never two copies at a time
            self.copies = CopiedLines(self.grid, self.by_columns, chosen)
            if self.dense:
                ledger.entries += len(chosen) * self.width
            elif len(chosen):  # to copy, and before that to count the entries of each line
                stored = (self.grid if self.across else self.copies.lines).stored
                ledger.entries += self.copies.readings * stored
            self.position[:] = -1
            self.position[chosen] = np.arange(len(chosen))
        return self.copies.lines, self.position[chosen]

    def _make_room(self, chosen: np.ndarray, fresh: np.ndarray) -> None:
        """Let go of lines that nobody has chosen, if others would take more than copies may."""
        assert self.copies is not None
        count = self.copies.count + len(fresh)
        if count * 1.25 * self.width * self.grid.dtype.itemsize <= self.grid.copies:
            return
        held = self.position[chosen]
        places = np.sort(held[held >= 0])
        moved = np.full(self.copies.count, -1, dtype=self.position.dtype)
        moved[places] = np.arange(len(places))
        known = self.position >= 0
        self.position[known] = moved[self.position[known]]
        self.copies.keep(places)
