"""Bulk operations on one tile by a crew: several threads, over a fixed cut of the data.

The data is cut into blocks of lines, a *line* being a row of row-major data or a column of
column-major data. Where the cut lies follows from the data alone, and sums of blocks are added in
their order: whoever does the work, and however many, the bits are the same.

Blocks are views. A line of sparse data is found by ``indptr`` alone, so that a block is a piece of
that array: nothing is copied, and kernels are the ones that work on all of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from . import products
from .matrix import Dense
from .slopes import slopes_of_lines

__all__ = [
    "Crew",
    "Cut",
    "Whole",
    "block_of",
    "blocks_of",
    "each",
    "line_ends",
    "mapped",
    "multiplied",
    "slices",
    "summed",
    "symmetric",
    "total",
    "work_on",
]

ALONE = 100_000  # entries, up to which one thread does it all: 30 to 100 us
BLOCKS = 16  # of lines, at most: enough for eight threads that are not equally fast
PRIVATE_SUMS = 8  # private sums, at most: each is as long as a line
ENTRIES_A_SUM = 4  # entries of a block for each number of its private sum, at least
FOURS = 4  # kernels take dense lines four at a time
LONG_SUM = 100_000  # numbers of a vector, beyond which sums of vectors are worth a second thread
ALONE_PRODUCT = 2e7  # multiplications of a product of matrices, up to which one thread does it
SIDES = 4  # blocks of rows, and of columns, that the result of a larger one is cut into


class Crew(Protocol):
    """Who does independent pieces of work, in any order, at the same time or not."""

    n_threads: int

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """The function of every item, in the order of the items."""


def slices(length: int, pieces: int, step: int = 1) -> list[slice]:
    """About equal slices of so many things, at multiples of ``step``; none is empty."""
    ends = [length * k // pieces // step * step for k in range(pieces)] + [length]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def line_ends(B: Any, pieces: int) -> list[slice]:
    """Blocks of lines with about as many entries each."""
    if isinstance(B, Dense):
        return slices(B.line_count(), pieces, FOURS)
    goals = np.array([B.stored * k // pieces for k in range(1, pieces)], dtype=B.indptr.dtype)
    ends = [0, *np.searchsorted(B.indptr, goals).tolist(), B.line_count()]
    return [slice(a, b) for a, b in pairwise(ends) if a < b]


def block_of(B: Any, lines: slice) -> Any:
    """A view of some lines."""
    if isinstance(B, Dense):
        return Dense(B.values[lines])
    count = lines.stop - lines.start
    shape = (count, B.columns()) if B.row_major else (B.rows(), count)
    return type(B)(B.data, B.indices, B.indptr[lines.start : lines.stop + 1], shape)


def blocks_of(A: Any, size: int, crew: Crew | None) -> list[tuple[Any, slice]]:
    """A sparse tile in blocks of lines, for private sums of so many numbers; whole for nobody."""
    pieces = min(PRIVATE_SUMS, A.stored // ALONE, A.stored // (ENTRIES_A_SUM * max(size, 1)))
    if crew is None or pieces <= 1:
        return [(A, slice(0, A.line_count()))]
    return [(block_of(A, lines), lines) for lines in line_ends(A, pieces)]


def mapped(crew: Crew | None, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """What a crew makes of some items, or nobody one after the other."""
    return [work(item) for item in items] if crew is None else crew.map(work, items)


def total(crew: Crew, parts: list[np.ndarray]) -> np.ndarray:
    """The sum of arrays, added in their order; the first becomes it."""
    out, others = parts[0], parts[1:]

    def add(piece: slice) -> None:
        for part in others:
            out[piece] += part[piece]

    if others:
        crew.map(add, slices(len(out), min(BLOCKS, 1 + len(parts) * out.size // LONG_SUM)))
    return out


def each(crew: Crew | None, count: int, entries: float, work: Callable[[slice], Any]) -> None:
    """Do so many things, which read so many entries in all, by slices: nothing to add up."""
    if crew is None or entries <= ALONE:
        work(slice(0, count))
    else:
        crew.map(work, slices(count, int(min(BLOCKS, 1 + entries // ALONE)), FOURS))


def summed(
    crew: Crew | None,
    count: int,
    entries: float,
    size: int,
    work: Callable[[slice], np.ndarray],
    step: int = FOURS,
) -> np.ndarray:
    """The same where every slice has a private sum of so many numbers."""
    pieces = int(min(PRIVATE_SUMS, entries // ALONE, entries // (ENTRIES_A_SUM * max(size, 1))))
    if crew is None or pieces <= 1:
        return work(slice(0, count))
    return total(crew, crew.map(work, slices(count, pieces, step)))


def symmetric(crew: Crew | None, S: np.ndarray) -> np.ndarray:
    """S'S, by blocks of the result where a crew is to do it: nothing to add up."""
    size = S.shape[1]
    if crew is None or S.size * size <= ALONE_PRODUCT:
        return np.asarray(S.T @ S)
    sides = slices(size, SIDES)
    pairs = [(rows, columns) for rows in sides for columns in sides if rows.start >= columns.start]
    out = np.empty((size, size))

    def work(pair: tuple[slice, slice]) -> None:
        rows, columns = pair
        block = S[:, rows].T @ S[:, columns]
        out[rows, columns] = block
        out[columns, rows] = block.T

    crew.map(work, pairs)
    return out


def multiplied(crew: Crew | None, rows: np.ndarray, by: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with ``rows`` times ``by``, which is broadcast."""
    by = np.broadcast_to(by, out.shape)
    each(crew, len(out), out.size, lambda part: np.multiply(rows[part], by[part], out=out[part]))


def work_on(A: Any, crew: Crew | None) -> Any:
    """A tile and what computes with it: at once, or by a crew over a fixed cut."""
    return Whole(A) if crew is None else Cut(A, crew)


def sloped(
    A: Any, x: np.ndarray, b: np.ndarray, c: np.ndarray, loss: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A x = u and A'(c phi'(u)) of some rows."""
    u, out = np.empty(len(b)), np.zeros(len(x))
    slopes_of_lines(A, x, b, c, loss, u, np.empty(len(b)), out)
    return u, out


class Whole:
    """One tile in one piece: every operation is one call of a kernel."""

    def __init__(self, A: Any) -> None:
        self.A = A

    def margins(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        return products.margins(self.A, x)

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """A' w."""
        return products.adjoint(self.A, w)

    def curved(self, bend: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
        """Add A' diag(bend) A p to ``out``, for rows at hand."""
        products.curved_lines(self.A, bend, p, out)

    def slopes(
        self, x: np.ndarray, b: np.ndarray, c: np.ndarray, loss: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """A x = u and A'(c phi'(u)), for rows at hand."""
        return sloped(self.A, x, b, c, loss)

    def squares(self, by_rows: bool) -> np.ndarray:
        """Squared norms of the rows, or of the columns."""
        return products.squared_row_norms(self.A if by_rows else self.A.transposed())

    def squares_along(self, weights: np.ndarray) -> np.ndarray:
        """Sum over rows of w_i a_ij^2, for every column."""
        return products.squares_along(self.A, weights)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Stored entries of each row, and of each column."""
        return products.stored_counts(self.A)

    def outer_products(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add A' diag(weights) A to the lower triangle of ``out``, for rows at hand."""
        products.add_outer_products(self.A, weights, out)


class Cut:
    """One tile in blocks of lines, and what a crew computes of it.

    Parameters
    ----------
    A : matrix
    crew : Crew
    """

    def __init__(self, A: Any, crew: Crew) -> None:
        self.A, self.crew = A, crew
        self.B = B = A if A.row_major else A.transposed()
        self.width = B.columns()
        count = min(BLOCKS, max(1, A.stored // ALONE))
        few = min(PRIVATE_SUMS, count, max(1, A.stored // (ENTRIES_A_SUM * max(self.width, 1))))
        self.blocks = [(block_of(B, lines), lines) for lines in line_ends(B, count)]
        self.coarse = [(block_of(B, lines), lines) for lines in line_ends(B, few)]

    def margins(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        return self._dots(x) if self.A.row_major else self._sums(products.add_lines, x)

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """A' w."""
        return self._sums(products.add_lines, w) if self.A.row_major else self._dots(w)

    def curved(self, bend: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
        """Add A' diag(bend) A p to ``out``, for rows at hand."""

        def work(block: tuple[Any, slice]) -> np.ndarray:
            part = np.zeros(self.width)
            products.curved_lines(block[0], bend[block[1]], p, part)
            return part

        out += total(self.crew, self.crew.map(work, self.coarse))

    def slopes(
        self, x: np.ndarray, b: np.ndarray, c: np.ndarray, loss: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """A x = u and A'(c phi'(u)), for rows at hand."""

        def work(block: tuple[Any, slice]) -> tuple[np.ndarray, np.ndarray]:
            return sloped(block[0], x, b[block[1]], c[block[1]], loss)

        found = self.crew.map(work, self.coarse)
        return np.concatenate([u for u, _ in found]), total(self.crew, [part for _, part in found])

    def squares(self, by_rows: bool) -> np.ndarray:
        """Squared norms of the rows, or of the columns."""
        if by_rows == self.A.row_major:
            return self._each(products.squares_of_lines, self.B.line_count())
        return self._sums(products.add_weighted_squares, np.ones(self.B.line_count()))

    def squares_along(self, weights: np.ndarray) -> np.ndarray:
        """Sum over rows of w_i a_ij^2, for every column."""
        if self.A.row_major:
            return self._sums(products.add_weighted_squares, weights)
        return self._each(products.dot_weighted_squares, self.B.line_count(), weights)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Stored entries of each row, and of each column."""
        if isinstance(self.A, Dense):
            return products.stored_counts(self.A)

        def work(block: tuple[Any, slice]) -> np.ndarray:
            out = np.zeros(self.width, dtype=np.int64)
            products.count_positions(block[0], out)
            return out

        of_positions = total(self.crew, self.crew.map(work, self.coarse))
        of_lines = products.line_lengths(self.A)
        return (of_lines, of_positions) if self.A.row_major else (of_positions, of_lines)

    def outer_products(self, weights: np.ndarray, out: np.ndarray) -> None:
        """Add A' diag(weights) A to the lower triangle of ``out``, for rows at hand."""
        size = self.width * self.width
        pairs = self.A.stored * (self.A.stored / max(self.B.line_count(), 1))
        pieces = int(min(PRIVATE_SUMS, len(self.blocks), max(1.0, pairs / (ENTRIES_A_SUM * size))))
        blocks = [(block_of(self.B, lines), lines) for lines in line_ends(self.B, pieces)]

        def work(block: tuple[Any, slice]) -> np.ndarray:
            part = np.zeros((self.width, self.width))
            products.add_outer_products(block[0], weights[block[1]], part)
            return part

        out += total(self.crew, self.crew.map(work, blocks))

    def _dots(self, vector: np.ndarray) -> np.ndarray:
        return self._each(products.dot_lines, self.B.line_count(), vector)

    def _each(self, kernel: Any, count: int, *vectors: np.ndarray) -> np.ndarray:
        """A number of every line: nothing to add up."""
        out = np.zeros(count)
        self.crew.map(lambda block: kernel(block[0], *vectors, out[block[1]]), self.blocks)
        return out

    def _sums(self, kernel: Any, weights: np.ndarray) -> np.ndarray:
        """A sum over lines at every position: a private one of each block, added in order."""

        def work(block: tuple[Any, slice]) -> np.ndarray:
            out = np.zeros(self.width)
            kernel(block[0], weights[block[1]], out)
            return out

        return total(self.crew, self.crew.map(work, self.coarse))
