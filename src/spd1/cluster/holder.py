"""Who holds tiles: an object on a worker that is asked about them, one message an operation.

It never raises: an error of a tile comes back as a value, so that whatever is raised means that
the worker is gone.
"""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np

from ..data.convert import with_square_sum
from ..data.crew import Cut
from ..data.matrix import Dense
from ..data.store import open_store
from ..data.sums import Part, Sums
from ..data.tile_work import row_access_of
from ..engines.blas import one_thread
from ..engines.threads import Threads
from ..engines.work import resolved
from ..errors import DataError
from ..version import __version__
from .messages import (
    Ask,
    Blank,
    Branch,
    BranchError,
    Echo,
    Failed,
    Fresh,
    Note,
    Place,
    Relayed,
    Sent,
    StoredTile,
)
from .relays import ask_branch

__all__ = ["Holder"]


class Holder:
    """Tiles on a worker.

    Parameters
    ----------
    places : list of (row, column)
    chunks : list
        What lies there: arrays, SciPy sparse, or ``StoredTile``.
    n_threads : int
        Threads that work on a tile; the bits do not depend on it.
    """

    def __init__(self, places: list[Place], chunks: list[Any], n_threads: int = 1) -> None:
        self.crew = Threads(n_threads)
        self.tiles: dict[Place, Any] = {}
        self.kept: dict[str, Any] = {}
        self.notes: list[Note] = []
        with one_thread():
            for place, chunk in zip(places, chunks, strict=True):
                self.notes.append(self.take(place, chunk))

    def take(self, place: Place, chunk: Any) -> Note:
        """Look at a chunk and keep it, in rows."""
        try:
            found, square_sum = tile_of(chunk)
            tile = row_access_of(found)
        except (DataError, OSError) as error:
            return Note((0, 0), "", "", 0, 0, wrong=str(error))
        self.tiles[place] = Cut(tile, self.crew)
        values = tile.values if isinstance(tile, Dense) else tile.data
        shape = (tile.rows(), tile.columns())
        kind, stored = type(tile).__name__, int(tile.stored)
        return Note(shape, kind, values.dtype.str, stored, int(tile.nbytes), square_sum)

    def introduce(self) -> tuple[str, list[Note]]:
        """The version of the package here, and what was found."""
        return __version__, self.notes

    def everywhere(
        self, places: list[Place], function: Any, arguments: list[tuple[str, Any]]
    ) -> list[Any] | Failed:
        """What a function of ``tile_work`` says of some tiles.

        Arguments come with how they are cut: "down", by the row of the tile, "across", by its
        column, or "same".
        """
        try:
            with one_thread():
                return [self._one(place, function, arguments) for place in places]
        except Exception as error:
            return Failed(error)

    def totals(
        self, places: list[Place], function: Any, arguments: list[tuple[str, Any]], by_rows: bool,
        count: int,
    ) -> dict[Part, np.ndarray] | Failed:  # fmt: skip
        """The same, added up over rows or columns of tiles as far as they are here."""
        sums = Sums(count)
        try:
            with one_thread():
                for p, q in places:
                    part = Part(p, 0, q) if by_rows else Part(q, 0, p)
                    sums.add(part, self._one((p, q), function, arguments))
            return sums.parts
        except Exception as error:
            return Failed(error)

    async def relay(
        self, branch: Branch, function: Any, arguments: list[tuple[str, Any]], by_rows: bool,
        count: int,
    ) -> Relayed | Failed:  # fmt: skip
        """The same of all tiles of a branch: other holders are asked from here, not by the caller.

        Whatever goes wrong on the way is ``Failed`` with a ``BranchError``, and the caller asks
        everybody itself: it knows what to do about those that are lost.
        """
        import asyncio

        from distributed import get_worker

        worker = get_worker()
        options = function, by_rows, count
        asked = [asyncio.ensure_future(ask_branch(worker, one, arguments, *options))
                 for one in branch.branches]  # fmt: skip
        own = [branch.places, function, arguments, by_rows, count]
        work = worker.executors["actor"]
        try:
            found = await asyncio.get_running_loop().run_in_executor(work, self.totals, *own)
            replies = [found, *await asyncio.gather(*asked)]
        except Exception as error:
            return Failed(BranchError(f"{branch.address}: {error!r}"))
        finally:
            for one in asked:
                one.cancel()
        sums, moved = Sums(count), 0
        for reply in replies:
            if isinstance(reply, Failed):
                return reply
            parts = reply.parts if isinstance(reply, Relayed) else reply
            moved += reply.moved if isinstance(reply, Relayed) else 0
            for part, values in parts.items():
                sums.add(part, values)
        return Relayed(sums.parts, moved)

    def _one(self, place: Place, function: Any, arguments: list[tuple[str, Any]]) -> Any:
        row, column = place
        keys = {"down": row, "across": column}
        given = [held[keys[how]] if how in keys else held for how, held in arguments]
        given = [self._heard(value) if isinstance(value, Echo) else value for value in given]
        return function(self.tiles[place], *given)

    def _heard(self, echo: Echo) -> np.ndarray:
        """An array as it was sent, now or before."""
        if echo.value is not None:
            self.kept[echo.name] = echo.value
        return np.asarray(self.kept[echo.name])

    def run(self, asks: list[Ask]) -> list[tuple[float, list[np.ndarray]]] | Failed:
        """Tasks on tiles: the entries that each read, and the arrays that it wrote."""
        try:
            with one_thread():
                return [self._run(ask) for ask in asks]
        except Exception as error:
            return Failed(error)

    def _run(self, ask: Ask) -> tuple[float, list[np.ndarray]]:
        given: list[Any] = []
        for k, argument in enumerate(ask.arguments):
            value = argument
            if isinstance(argument, Blank):
                given.append(np.empty(argument.shape, argument.dtype))
                continue
            if isinstance(argument, Echo):
                value = self._heard(argument)
            elif isinstance(argument, Sent):
                value = self.kept[argument.name]
            elif isinstance(argument, Fresh):
                value = resolved(argument.value, self.tiles[ask.place].A)
                self.kept[argument.name] = value
            given.append(value.copy(order="K") if k in ask.written else value)
        read = ask.function(self.tiles[ask.place].A, *given)
        for k, argument in enumerate(ask.arguments):
            if isinstance(argument, Echo):
                self.kept[argument.name] = given[k]
        return float(read), [given[k] for k in ask.written]

    def checksums(self, places: list[Place]) -> list[str] | Failed:
        """A checksum of the bytes of some tiles."""
        try:
            return [checksum(self.tiles[place].A) for place in places]
        except Exception as error:
            return Failed(error)


def tile_of(chunk: Any) -> tuple[Any, float]:
    """A chunk as a matrix whose entries are finite and the sum of their squares, or a refusal."""
    if not isinstance(chunk, StoredTile):
        return with_square_sum(chunk)
    store = open_store(chunk.path)
    store = store if chunk.unit is None else store.with_constant(chunk.unit)
    return store.tile(*chunk.place), math.nan


def checksum(tile: Any) -> str:
    """Of all bytes of a tile."""
    found = 0
    for array in tile:
        if isinstance(array, np.ndarray):
            found = zlib.crc32(np.ascontiguousarray(array).data.cast("B"), found)
    return f"{found:08x}"
