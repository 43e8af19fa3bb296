"""Who holds tiles: an object on a worker that is asked about them, one message an operation.

It never raises: an error of a tile comes back as a value, so that whatever is raised means that
the worker is gone.
"""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np

from ..data.convert import with_square_sum
from ..data.crew import Cut
from ..data.matrix import Dense
from ..data.store import open_store
from ..data.tile_work import row_access_of
from ..engines.blas import one_thread
from ..engines.threads import Threads
from ..engines.work import resolved
from ..errors import DataError
from ..version import __version__

__all__ = ["Ask", "Blank", "Echo", "Failed", "Fresh", "Holder", "Note", "Sent", "StoredTile"]

Place = tuple[int, int]


class StoredTile(NamedTuple):
    """A tile of a store that every worker can open."""

    path: str
    unit: float | None  # the constant of a further column
    place: Place


class Note(NamedTuple):
    """What a holder found when it took a tile, or what is wrong with it."""

    shape: tuple[int, int]
    kind: str
    dtype: str
    stored: int
    nbytes: int
    square_sum: float = math.nan  # of all entries, where it is known
    wrong: str = ""


class Failed(NamedTuple):
    """An error that an operation raised, on its way to the caller."""

    error: Exception


class Sent(NamedTuple):
    """An argument that the holder has: sent once, kept under a name."""

    name: str


class Fresh(NamedTuple):
    """An argument that the holder is to keep under a name, or to make of its tile and keep."""

    name: str
    value: Any


class Echo(NamedTuple):
    """An array that goes to and fro: None stands for what both sides have had before."""

    name: str
    value: np.ndarray | None


class Blank(NamedTuple):
    """Room for an answer."""

    shape: tuple[int, ...]
    dtype: str


class Ask(NamedTuple):
    """A task on a tile: which of its arguments are written, and come back."""

    place: Place
    function: Any
    arguments: tuple[Any, ...]
    written: tuple[int, ...]


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
