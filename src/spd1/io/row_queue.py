"""Blocks of rows of any size in, tiles of the size wanted out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["RowQueue"]

END_BYTES = 8  # of the end of a row


class RowQueue:
    """Rows that wait until they make up a tile.

    Parameters
    ----------
    tile_bytes : int
        A tile takes no more, but for a single row that does.
    ends : list of int, optional
        Where tiles end instead, from 0 to the number of rows.

    Examples
    --------
    >>> queue = RowQueue(tile_bytes=48)  # two rows of three numbers
    >>> queue.add(np.zeros((5, 3)))
    >>> [len(piece) for piece in queue.full()], [len(piece) for piece in queue.rest()]
    ([2, 2], [1])
    """

    def __init__(self, tile_bytes: int, ends: list[int] | None = None) -> None:
        self.tile_bytes, self.ends = tile_bytes, ends
        self.blocks: list[Any] = []
        self.waiting, self.done = 0, 0  # tiles

    def add(self, block: Any) -> None:
        """Let a block of rows wait, dense or CSR."""
        if block.shape[0]:
            self.blocks.append(block)
            self.waiting += block.shape[0]

    def full(self) -> Iterator[Any]:
        """The tiles that are complete."""
        while self.waiting and (count := self._count()):
            yield self._take(count)

    def rest(self) -> Iterator[Any]:
        """And what is left at the end."""
        yield from self.full()
        if self.waiting:
            yield self._take(self.waiting)

    def _count(self) -> int:
        """Rows of the next tile, 0 if more must come first."""
        if self.ends is not None:
            if self.done + 1 >= len(self.ends):
                return 0
            count = self.ends[self.done + 1] - self.ends[self.done]
            return count if self.waiting >= count else 0
        one = self.blocks[0]
        if not sp.issparse(one):
            count = max(1, self.tile_bytes // max(one.shape[1] * one.itemsize, 1))
            return count if self.waiting >= count else 0
        lengths = np.concatenate([np.diff(block.indptr) for block in self.blocks])
        sizes = lengths * (one.data.itemsize + one.indices.itemsize) + END_BYTES
        total = np.cumsum(sizes, dtype=np.int64)
        if total[-1] < self.tile_bytes:
            return 0
        return max(1, int(np.searchsorted(total, self.tile_bytes, side="right")))

    def _take(self, count: int) -> Any:
        """The first rows, as one piece."""
        taken: list[Any] = []
        missing = count
        while missing:
            block = self.blocks[0]
            size = block.shape[0]
            if size <= missing:
                taken.append(self.blocks.pop(0))
            else:
                taken.append(block[:missing])
                self.blocks[0] = block[missing:]
            missing -= min(size, missing)
        self.waiting -= count
        self.done += 1
        if len(taken) == 1:
            return taken[0]
        if not sp.issparse(taken[0]):
            return np.concatenate(taken)
        width = max(block.shape[1] for block in taken)
        for block in taken:
            block.resize((block.shape[0], width))
        return sp.vstack(taken, format="csr")
