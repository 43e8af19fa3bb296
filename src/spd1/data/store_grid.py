"""The tiles of a store as methods see them: opened when used, the next one read ahead."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..errors import IncompatibleError
from .facts import Facts, Nobody
from .grid import Grid
from .matrix import Dense
from .memory import address_space_is_capped

__all__ = ["StoreGrid", "ask_for", "touch"]

PAGE = 4096  # bytes
WORTH_A_THREAD = 2**21  # bytes of a tile: smaller ones are opened when they are needed


class OnDisk(Protocol):
    """What a store is to its grid: shapes, and tiles that are mapped when asked for."""

    path: Path
    n: int
    d: int
    stored: int
    tiles: tuple[int, int]
    row_ends: list[int]
    column_ends: list[int]
    dense: bool
    dtype: np.dtype
    copies: float

    @property
    def nbytes(self) -> int:
        """Bytes of all its files."""

    @property
    def checksums(self) -> str:
        """Those of its files, as they were written."""

    def tile(self, p: int, q: int) -> Any:
        """Map a tile."""


class StoreGrid(Grid):
    """A grid whose tiles lie on disk. Two or three of them are mapped at a time.

    Parameters
    ----------
    store : OnDisk
    """

    at_hand = False

    def __init__(self, store: OnDisk) -> None:
        self.store = store
        self.tiles: Any = [TileRow(store, p) for p in range(store.tiles[0])]
        self.shape = store.tiles
        self.row_ends, self.column_ends = store.row_ends, store.column_ends
        self.n, self.d, self.stored = store.n, store.d, store.stored
        self.dense, self.row_major = store.dense, True
        self.ledger = Nobody()
        self.facts = Facts()
        self.copies = store.copies

    @property
    def nbytes(self) -> int:
        """Bytes of the tiles, on disk."""
        return self.store.nbytes

    @property
    def dtype(self) -> np.dtype:
        """Type of an entry."""
        return self.store.dtype

    @property
    def checksums(self) -> str:
        """As they stand in the manifest."""
        return self.store.checksums

    def parts(self) -> Iterator[tuple[Any, slice, slice]]:
        """Every tile with its rows and columns; the next one is read while this one is used."""
        places = [(p, q) for p in range(self.shape[0]) for q in range(self.shape[1])]
        worth = self.nbytes >= WORTH_A_THREAD * len(places)
        if not worth:
            tiles = self._now(places)
        elif address_space_is_capped():
            tiles = self._asked(places)
        else:
            tiles = self._ahead(places)
        for (p, q), tile in zip(places, tiles, strict=True):
            rows = slice(self.row_ends[p], self.row_ends[p + 1])
            yield tile, rows, slice(self.column_ends[q], self.column_ends[q + 1])

    def _now(self, places: list[tuple[int, int]]) -> Iterator[Any]:
        for place in places:
            yield self.store.tile(*place)

    def _asked(self, places: list[tuple[int, int]]) -> Iterator[Any]:
        """The system is asked to read the next tile, and no thread waits for it.

        A thread has a stack and a heap of its own: 72 to 136 MB of address space on Linux, which
        the system may grant or not. Under a cap they are better left to tiles.
        """
        following = self._asked_for(*places[0])
        for place in [*places[1:], None]:
            tile = following
            if place is not None:
                following = self._asked_for(*place)
            yield tile
            del tile

    def _asked_for(self, p: int, q: int) -> Any:
        """A tile whose pages will soon have been read."""
        tile = self.store.tile(p, q)
        ask_for(tile)
        return tile

    def _ahead(self, places: list[tuple[int, int]]) -> Iterator[Any]:
        with ThreadPoolExecutor(1, "spd1-read-ahead") as reader:
            following: Future[Any] = reader.submit(self._touched, *places[0])
            for place in [*places[1:], None]:
                tile = following.result()
                if place is not None:
                    following = reader.submit(self._touched, *place)
                yield tile
                del tile  # else three would be mapped while the next one is waited for

    def _touched(self, p: int, q: int) -> Any:
        """A tile whose pages have been read."""
        tile = self.store.tile(p, q)
        touch(tile)
        return tile

    def stored_in(self, row: int, column: int) -> int:
        """Stored entries of a tile, counted once: the tile need not be mapped for it."""
        shape = self.shape
        counts = self.facts.get("stored in tiles", Nobody(), lambda: np.full(shape, -1))
        if counts[row, column] < 0:
            counts[row, column] = self.store.tile(row, column).stored
        return int(counts[row, column])

    def _companion(self, name: str, access: Any, converted: type) -> Grid:
        if not isinstance(self.tiles[0][0], converted):
            return self
        raise IncompatibleError(
            f"{self.store.path} holds rows, and this asks for all its columns at once, which would "
            "take as much memory as the data: use method 'newton' or 'auto'"
        )


def arrays_of(tile: Any) -> tuple[np.ndarray, ...]:
    """The arrays that a tile is made of."""
    return (tile.values,) if isinstance(tile, Dense) else tuple(tile[:3])


def ask_for(tile: Any) -> None:
    """Ask the system to read the pages of a mapped tile soon; where it can't be asked, nothing."""
    for values in arrays_of(tile):
        base: Any = values
        while base is not None and not isinstance(base, mmap.mmap):
            base = getattr(base, "base", None)
        if base is not None and hasattr(mmap, "MADV_WILLNEED"):
            base.madvise(mmap.MADV_WILLNEED)


def touch(tile: Any) -> None:
    """Read the pages of a tile, in order."""
    for values in arrays_of(tile):
        np.add.reduce(values.reshape(-1).view(np.uint8)[::PAGE])  # without Python's lock


class TileRow:
    """The tiles of one row of the grid, each opened when it is asked for."""

    def __init__(self, store: OnDisk, p: int) -> None:
        self.store, self.p = store, p

    def __len__(self) -> int:
        return self.store.tiles[1]

    def __getitem__(self, q: int) -> Any:
        if not 0 <= q < len(self):
            raise IndexError(q)
        return self.store.tile(self.p, q)
