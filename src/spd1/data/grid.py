"""The data cut into tiles, and what may be asked of all of them at once.

A tile is a matrix with indices from 0. Callers hold vectors of n and d numbers and small Gram
matrices; they look at the data through the bulk operations here, which visit tiles in a fixed
order, so that sums have the same bits whoever computes them. 1 x 1 is a matrix in memory: nothing
is copied, and nothing is computed in another way than by the matrix alone.

Every operation says to a ledger how many entries it reads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import DataError
from . import products, tile_work
from .blocks import Scratch, dense_gram, gram_of_tile_rows, put_together, tile_of
from .convert import as_scipy, column_access, row_access
from .crew import Crew, symmetric, work_on
from .facts import Facts, Nobody, Reads
from .matrix import CSC, CSR, Dense
from .slopes import rows_of
from .sums import Part, Sums
from .tile_work import Across, Down, part_of, product, scaled_rows

__all__ = ["Grid"]

BY_CREW = ", by a crew"

Tile = Dense | CSR | CSC


class Grid:
    """Tiles in rows and columns.

    Parameters
    ----------
    tiles : list of lists of matrices
        Tiles of one row have the same rows, those of one column the same columns.
    ledger : object with a number ``entries``

    Attributes
    ----------
    crew : Crew or None
        Who does the bulk operations, over a fixed cut of each tile; None: one thread, in one piece.
    copies : float
        Bytes that copies of its lines may take: any number of data in memory.
    """

    crew: Crew | None = None
    worker: Any = None  # what computes with the one tile of a 1 x 1 grid
    copies = math.inf
    at_hand = True  # whether reading an entry here and there costs no more than its memory does

    def __init__(self, tiles: list[list[Any]], ledger: Reads | None = None) -> None:
        first = tiles[0][0]
        self.tiles = tiles
        self.shape = len(tiles), len(tiles[0])
        if self.shape == (1, 1):  # nearly always
            self.row_ends, self.column_ends = [0, int(first.rows())], [0, int(first.columns())]
            self.stored = int(first.stored)
        else:
            self.row_ends = _ends([row[0].rows() for row in tiles])
            self.column_ends = _ends([tile.columns() for tile in tiles[0]])
            self.stored = sum(int(tile.stored) for row in tiles for tile in row)
        self.n, self.d = self.row_ends[-1], self.column_ends[-1]
        self.dense = isinstance(first, Dense)  # whether every entry is stored
        self.row_major = bool(first.row_major)  # whether rows lie in one piece
        self.ledger: Reads = Nobody() if ledger is None else ledger
        self.facts = Facts()  # norms, counts, companions: computed when first needed

    @classmethod
    def whole(cls, A: Tile, square_sum: float = math.nan) -> Grid:
        """A matrix in memory: one tile; the sum of squares of its entries may be known."""
        grid = cls([[A]])
        if math.isfinite(square_sum):
            grid._given(square_sum)
        return grid

    def _given(self, square_sum: float) -> None:
        known = self.facts.known
        known["square sum"] = known["square sum" + BY_CREW] = square_sum, 0.0

    def watched(self, ledger: Reads, crew: Crew | None = None) -> Grid:
        """The same grid, whose operations are told to this ledger; facts found are shared.

        They are done by the crew, if there is one, or by whom they were done before.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, ledger=ledger, facts=self.facts.view())
        if crew is not None and crew is not self.crew:
            other.crew, other.worker = crew, None
        return other

    def fact(self, name: str) -> str:
        """The name of a sum among the facts: a crew adds up in another order, and has its own."""
        return name if self.crew is None else name + BY_CREW

    def cut(self, rows: int, columns: int) -> Grid:
        """A matrix in memory cut into rows x columns tiles of about the same size."""
        A = self.matrix
        if not (1 <= rows <= self.n and 1 <= columns <= self.d):
            raise DataError(f"{self.n} x {self.d} data can't be cut into {rows} x {columns} tiles")
        row_ends = [self.n * k // rows for k in range(rows + 1)]
        column_ends = [self.d * k // columns for k in range(columns + 1)]
        tiles = [
            [
                tile_of(A, row_ends[p], row_ends[p + 1], column_ends[q], column_ends[q + 1])
                for q in range(columns)
            ]
            for p in range(rows)
        ]
        grid = Grid(tiles, self.ledger)
        if self.fact("square sum") in self.facts.known:
            grid._given(self.square_sum)
        return grid

    # What the data looks like

    @property
    def matrix(self) -> Any:
        """The one tile of a 1 x 1 grid."""
        if self.shape != (1, 1):
            raise DataError(f"the data is cut into {self.shape[0]} x {self.shape[1]} tiles")
        return self.tiles[0][0]

    @property
    def nbytes(self) -> int:
        """Memory that the tiles take."""
        return sum(int(tile.nbytes) for row in self.tiles for tile in row)

    @property
    def dtype(self) -> np.dtype:
        """Type of an entry."""
        one = self.tiles[0][0]
        kind: np.dtype = (one.values if self.dense else one.data).dtype
        return kind

    @property
    def checksums(self) -> str:
        """Checksums of all the data, where somebody has made them; else "" and nobody has."""
        return ""

    @property
    def kind(self) -> str:
        """What a tile is: Dense, CSR or CSC."""
        return type(self.tiles[0][0]).__name__

    @property
    def far(self) -> bool:
        """Whether products of tiles with each other would move more than may be copied."""
        return False

    def stored_in(self, row: int, column: int) -> int:
        """Stored entries of a tile."""
        return int(self.tiles[row][column].stored)

    def parts(self) -> Iterator[tuple[Any, slice, slice]]:
        """Every tile with its rows and columns, in the order in which sums are made."""
        for p, row in enumerate(self.tiles):
            rows = slice(self.row_ends[p], self.row_ends[p + 1])
            for q, tile in enumerate(row):
                yield tile, rows, slice(self.column_ends[q], self.column_ends[q + 1])

    def everywhere(self, function: Any, *arguments: Any) -> Iterator[tuple[Any, slice, slice]]:
        """What a function of ``tile_work`` says of every tile, with its rows and columns.

        In the order of ``parts``. Vectors that are ``Down`` or ``Across`` are cut to the tile.
        """
        for tile, rows, columns in self.parts():
            given = [part_of(argument, rows, columns) for argument in arguments]
            yield function(self._work(tile), *given), rows, columns

    def totals(self, function: Any, *arguments: Any, by_rows: bool) -> Sums:
        """The same, added up over each row of tiles, or over each column: in the order of ``Sums``.

        Its names are the numbers of these rows, or columns.
        """
        P, Q = self.shape
        sums = Sums(Q if by_rows else P)
        for k, (part, _, _) in enumerate(self.everywhere(function, *arguments)):
            p, q = divmod(k, Q)
            sums.add(Part(p, 0, q) if by_rows else Part(q, 0, p), part)
        return sums

    def at(self, row: int, column: int, function: Any, *arguments: Any) -> Any:
        """The same of one tile; nothing is cut."""
        return function(self._work(self.tiles[row][column]), *arguments)

    def narrowed(self, by_columns: bool, chosen: np.ndarray) -> tuple[Grid, np.ndarray]:
        """A grid at hand that has these columns, or rows, and their numbers there: this one."""
        del by_columns
        return self, chosen

    @property
    def by_rows(self) -> Grid:
        """The same data with rows at hand; CSC tiles get CSR companions, once."""
        return self._companion("by_rows", row_access, CSC)

    @property
    def by_columns(self) -> Grid:
        """The same data with columns at hand; CSR tiles get CSC companions, once."""
        return self._companion("by_columns", column_access, CSR)

    @property
    def in_one_piece(self) -> Grid:
        """The same data put together, once; only for tiles in memory."""
        if self.shape == (1, 1):
            return self

        def merged() -> Grid:
            self.ledger.entries += self.stored
            return Grid([[put_together(self.tiles)]])

        whole: Grid = self.facts.get("in one piece", self.ledger, merged)
        return whole.watched(self.ledger, self.crew)

    def _companion(self, name: str, access: Callable[[Any], Any], converted: type) -> Grid:
        if not isinstance(self.tiles[0][0], converted):
            return self

        def convert() -> Grid:
            self.ledger.entries += 2 * self.stored  # SciPy counts, then copies
            return Grid([[access(tile) for tile in row] for row in self.tiles])

        companion: Grid = self.facts.get(name, self.ledger, convert)
        return companion.watched(self.ledger, self.crew)

    def _work(self, tile: Any) -> Any:
        if self.shape != (1, 1):
            return work_on(tile, self.crew)
        if self.worker is None:
            self.worker = work_on(tile, self.crew)
        return self.worker

    # Products

    def margins(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        if not x.any():
            return np.zeros(self.n)
        self.ledger.entries += self.stored
        if self.shape == (1, 1):
            return np.asarray(self._work(self.tiles[0][0]).margins(x))
        sums = self.totals(tile_work.margins, Across(x), by_rows=True)
        return np.concatenate([sums.of(p) for p in range(self.shape[0])])

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """A' w."""
        self.ledger.entries += self.stored
        if self.shape == (1, 1):
            return np.asarray(self._work(self.tiles[0][0]).adjoint(w))
        sums = self.totals(tile_work.adjoint, Down(w), by_rows=False)
        return np.concatenate([sums.of(q) for q in range(self.shape[1])])

    def curved(self, bend: np.ndarray, p: np.ndarray) -> np.ndarray:
        """A' diag(bend) A p; whole rows are read once, others twice."""
        if not self.row_major or self.shape[1] > 1:
            return self.adjoint(bend * self.margins(p))
        self.ledger.entries += self.stored
        if self.shape == (1, 1):
            out = np.zeros(self.d)
            self._work(self.tiles[0][0]).curved(bend, p, out)
            return out
        sums = self.totals(tile_work.curved, Down(bend), p, by_rows=False)
        return np.array(sums.of(0))  # of the caller's own

    @property
    def whole_rows(self) -> bool:
        """Whether rows are at hand and no row is cut: then ``slopes`` reads them once."""
        return self.row_major and self.shape[1] == 1

    def slopes(self, rows: np.ndarray, x: np.ndarray, loss: Any) -> tuple[np.ndarray, np.ndarray]:
        """A x = u and A'(c phi'(u)) in one reading, for whole rows; ``rows``: see ``rows_of``."""
        self.ledger.entries += self.stored
        found: Any = self.totals(tile_work.slopes, Down(rows), x, loss, by_rows=False).of(0)
        return found.margins(), np.array(found.total)  # of the caller's own

    def both(self, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A x and A'w: whole rows of several tiles are asked for once, and read once."""
        if self.shape == (1, 1) or not self.whole_rows:
            return self.margins(x), self.adjoint(w)
        return self.slopes(rows_of(np.zeros(self.n), w), x, None)

    # Gram matrices

    def gram(
        self, weights: np.ndarray | None, stride: int = 1, scratch: Scratch | None = None
    ) -> np.ndarray:
        """A' diag(weights) A, every ``stride``-th row standing for all; None: weights 1/n.

        Both triangles of dense data, the lower one of sparse data.
        """
        self.ledger.entries += self.stored / stride
        if self.shape == (1, 1) and self.dense:
            return dense_gram(self.tiles[0][0].values, weights, stride, scratch, self.crew)
        full = np.full(self.n, 1.0 / self.n) if weights is None else weights
        sampled = full
        if stride > 1:
            sampled = np.zeros(self.n)
            sampled[::stride] = full[::stride] * stride
        if self.shape[1] > 1 or self.dense:
            return self._gram_by_tiles(sampled)
        out = np.zeros((self.d, self.d))
        by_rows = self.by_rows
        if self.shape == (1, 1):
            by_rows._work(by_rows.tiles[0][0]).outer_products(sampled, out)
            return out
        for part, _, _ in by_rows.everywhere(tile_work.outer_products, Down(sampled)):
            out += part
        return out

    def _gram_by_tiles(self, weights: np.ndarray) -> np.ndarray:
        """Block by block: every pair of tiles of a row of the grid."""
        out = np.zeros((self.d, self.d))
        if self.shape[1] == 1:
            for part, _, _ in self.everywhere(tile_work.gram_of_columns, Down(weights)):
                out += part
            return out
        for p, row in enumerate(self.tiles):
            w = weights[self.row_ends[p] : self.row_ends[p + 1]]
            views = [scaled_rows(tile, w) for tile in row]
            for q, right in enumerate(views):
                columns = slice(self.column_ends[q], self.column_ends[q + 1])
                for r in range(q, len(views)):
                    rows = slice(self.column_ends[r], self.column_ends[r + 1])
                    out[rows, columns] += product(views[r], right)
        lower = np.tril(out)
        return lower + np.tril(out, -1).T if self.dense else lower

    def gram_of_rows(self, l2: Any) -> np.ndarray:
        """A diag(1/l2) A', l2 a number or one a column."""
        if self.shape != (1, 1):
            pairs = 1.0 if self.dense else 0.5 * (self.shape[0] + 1)
            self.ledger.entries += pairs * self.stored
            return gram_of_tile_rows(self, l2)
        self.ledger.entries += self.stored
        scalar = np.ndim(l2) == 0
        if self.dense:
            values = np.asarray(self.matrix.values, dtype=float)
            values = values if scalar else values / np.sqrt(l2)
            gram = symmetric(self.crew, values.T)
            return np.asarray(gram / l2 if scalar else gram)
        rows = as_scipy(self.matrix)
        scaled = rows / l2 if scalar else rows.multiply(1.0 / l2)
        return np.asarray((scaled @ rows.T).toarray(), dtype=float)

    # Lines

    def dense_columns(self, which: np.ndarray) -> np.ndarray:
        """A copy of a few columns, one beside the other."""
        out = np.empty((self.n, len(which)))
        for q in range(self.shape[1]):
            left, right = self.column_ends[q], self.column_ends[q + 1]
            inside = np.flatnonzero((which >= left) & (which < right))
            if not len(inside):
                continue
            names = which[inside] - left
            for p in range(self.shape[0]):
                rows = slice(self.row_ends[p], self.row_ends[p + 1])
                self.ledger.entries += self.stored_in(p, q) * len(inside) / max(right - left, 1)
                out[rows, inside] = self.at(p, q, tile_work.dense_columns, names)
        return out

    def dense_rows(self) -> np.ndarray:
        """All of it as one dense array: for few rows."""
        self.ledger.entries += self.stored
        if self.shape == (1, 1) and self.dense:
            return np.asarray(self.matrix.values)
        out = np.zeros((self.n, self.d))
        for part, rows, columns in self.by_rows.everywhere(tile_work.dense):
            out[rows, columns] = part
        return out

    # Norms and counts

    @property
    def row_squares(self) -> np.ndarray:
        """|a_i|^2."""
        return np.asarray(
            self.facts.get(
                self.fact("row squares"), self.ledger, lambda: self._squares(by_rows=True)
            )
        )

    @property
    def column_squares(self) -> np.ndarray:
        """|a'_j|^2."""
        return np.asarray(
            self.facts.get(
                self.fact("column squares"), self.ledger, lambda: self._squares(by_rows=False)
            )
        )

    @property
    def square_sum(self) -> float:
        """Sum of squares of all entries."""
        return float(
            self.facts.get(
                self.fact("square sum"), self.ledger, lambda: float(self.row_squares.sum())
            )
        )

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """Sum over rows of w_i a_ij^2, for every column."""
        self.ledger.entries += self.stored
        if self.shape == (1, 1):
            return np.asarray(self._work(self.tiles[0][0]).squares_along(weights))
        out = np.zeros(self.d)
        for part, _, columns in self.everywhere(tile_work.squares_along, Down(weights)):
            out[columns] += part
        return out

    def weighted_squares_of_rows(self, weights: np.ndarray) -> np.ndarray:
        """Sum over columns of w_j a_ij^2, for every row; for rows at hand."""
        self.ledger.entries += self.stored
        out = np.zeros(self.n)
        for part, rows, _ in self.everywhere(tile_work.squares_across, Across(weights)):
            out[rows] += part
        return out

    @property
    def row_counts(self) -> np.ndarray:
        """Stored entries of each row, without a look at the columns where that is possible."""
        if self.shape == (1, 1) and isinstance(self.tiles[0][0], CSR):
            return products.line_lengths(self.tiles[0][0])
        return np.asarray(self._counts()[0])

    @property
    def column_counts(self) -> np.ndarray:
        """Stored entries of each column."""
        return np.asarray(self._counts()[1])

    def column_counts_where(self, rows: np.ndarray) -> np.ndarray:
        """Stored entries of each column in the rows for which ``rows`` is true."""
        if self.dense or np.all(rows):
            return self.column_counts
        self.ledger.entries += self.stored
        out = np.zeros(self.d, dtype=np.int64)
        for part, _, columns in self.everywhere(tile_work.counts_where, Down(rows)):
            out[columns] += part
        return out

    def _squares(self, by_rows: bool) -> np.ndarray:
        self.ledger.entries += self.stored
        if self.shape == (1, 1):
            return np.asarray(self._work(self.tiles[0][0]).squares(by_rows))
        out = np.zeros(self.n if by_rows else self.d)
        for part, rows, columns in self.everywhere(tile_work.squares, by_rows):
            out[rows if by_rows else columns] += part
        return out

    def _counts(self) -> Any:
        return self.facts.get("counts", self.ledger, self._count)

    def _count(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.dense:
            self.ledger.entries += self.stored
        if self.shape == (1, 1):
            counts: tuple[np.ndarray, np.ndarray] = self._work(self.tiles[0][0]).counts()
            return counts
        of_rows = np.zeros(self.n, dtype=np.int64)
        of_columns = np.zeros(self.d, dtype=np.int64)
        for counts, rows, columns in self.everywhere(tile_work.counts):
            of_rows[rows] += counts[0]
            of_columns[columns] += counts[1]
        return of_rows, of_columns


def _ends(sizes: list[int]) -> list[int]:
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + int(size))
    return ends
