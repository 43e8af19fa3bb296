"""The tiles of a cluster as methods see them: asked where they lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..data import tile_work
from ..data.facts import Facts, Nobody
from ..data.grid import Grid
from ..data.sums import Sums
from ..data.tile_work import Across, Down
from ..errors import DataError, IncompatibleError
from . import tuning
from .messages import Echo, Place
from .packing import packed_lines, unpacked
from .seats import Seat
from .team import Team

__all__ = ["ClusterGrid"]

# Conjugate gradients ask with the same bend again and again, and rows keep their labels.
ASKED_AGAIN = (tile_work.curved, tile_work.slopes)


class ClusterGrid(Grid):
    """A grid whose tiles lie on workers.

    Bits are those of ``engine="threads"`` on the same cut: holders compute as its threads do, and
    sums over tiles are made here, in the order of the tiles, whoever holds them.

    Parameters
    ----------
    team : Team
    row_ends, column_ends : list of int
    """

    at_hand = True  # entries are read on the workers, where tiles are in memory

    def __init__(self, team: Team, row_ends: list[int], column_ends: list[int]) -> None:
        self.team = team
        self.row_ends, self.column_ends = row_ends, column_ends
        self.shape = len(row_ends) - 1, len(column_ends) - 1
        self.n, self.d = row_ends[-1], column_ends[-1]
        self.places = [(p, q) for p in range(self.shape[0]) for q in range(self.shape[1])]
        notes = [team.notes[place] for place in self.places]
        for (p, q), note in zip(self.places, notes, strict=True):
            wanted = row_ends[p + 1] - row_ends[p], column_ends[q + 1] - column_ends[q]
            if note.shape != wanted:
                raise DataError(f"tile {(p, q)} has shape {note.shape}, not {wanted}")
            for name in ("kind", "dtype"):
                one, first = getattr(note, name), getattr(notes[0], name)
                if one != first:
                    raise DataError(
                        f"tiles must be alike: tile {(p, q)} is {one}, tile (0, 0) {first}"
                    )
        self._kind, self._dtype = notes[0].kind, np.dtype(notes[0].dtype)
        self.dense, self.row_major = self._kind == "Dense", True
        self.stored = sum(note.stored for note in notes)
        self.ledger, self.facts = Nobody(), Facts()
        self.copies = tuning.CLUSTER_COPIES_MB * 2**20
        square_sum = math.fsum(note.square_sum for note in notes)
        if math.isfinite(square_sum):
            self._given(square_sum)
        self.tiles: Any = [TileRow(self, p) for p in range(self.shape[0])]

    @property
    def kind(self) -> str:
        """What a tile is."""
        return self._kind

    @property
    def dtype(self) -> np.dtype:
        """Type of an entry."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """Memory that the tiles take, on all workers."""
        return sum(note.nbytes for note in self.team.notes.values())

    @property
    def far(self) -> bool:
        """Whether all tiles are too much to move: two of one row may lie on two machines."""
        return self.nbytes > self.copies

    @property
    def checksums(self) -> str:
        """Of every tile: made on the workers, when first asked for."""

        def find() -> str:
            found = self.team.ask(self.places, "checksums", lambda _, some: (some,))
            return " ".join(found[place] for place in self.places)

        if "checksums" not in self.facts.known:
            self.facts.known["checksums"] = find(), 0.0
        return str(self.facts.known["checksums"][0])

    def stored_in(self, row: int, column: int) -> int:
        """Stored entries of a tile."""
        return self.team.notes[row, column].stored

    def cut(self, rows: int, columns: int) -> Grid:
        """Refused: tiles are where they are."""
        raise DataError(
            f"the data lies on a cluster in {self.shape[0]} x {self.shape[1]} tiles already: "
            "rechunk the dask array, or pass grid= to solve with the array itself"
        )

    def everywhere(self, function: Any, *arguments: Any) -> Iterator[tuple[Any, slice, slice]]:
        """What a function says of every tile: one message a worker, answers in order."""

        def message(seat: Seat, places: list[Place]) -> tuple[Any, ...]:
            return places, *self._message([seat], places, function, arguments)

        found = self.team.ask(self.places, "everywhere", message)
        for p, rows in enumerate(pairwise(self.row_ends)):
            for q, columns in enumerate(pairwise(self.column_ends)):
                yield found.pop((p, q)), slice(*rows), slice(*columns)

    def totals(self, function: Any, *arguments: Any, by_rows: bool) -> Sums:
        """The same, added up where tiles lie, as far as that goes, and here."""

        def message(seats: list[Seat], places: list[Place]) -> tuple[Any, ...]:
            return self._message(seats, places, function, arguments)

        count = self.shape[1] if by_rows else self.shape[0]
        return self.team.totals(self.places, message, by_rows, count)

    def _message(
        self, seats: list[Seat], places: list[Place], function: Any, arguments: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """A function with the parts of its arguments that these tiles of these holders need."""
        parts = [self._cut(one, places) for one in arguments]
        if function in ASKED_AGAIN:
            how, rows = parts[0]
            parts[0] = how, {p: repeated(seats, p, f"{function.__name__} {p}", part)
                             for p, part in rows.items()}  # fmt: skip
        return function, parts

    def _cut(self, argument: Any, places: list[Place]) -> tuple[str, Any]:
        """How an argument is cut, and the parts that some tiles need of it, each once."""
        if isinstance(argument, Down):
            ends = self.row_ends
            rows = {p: argument.values[ends[p] : ends[p + 1]] for p in {p for p, _ in places}}
            return "down", rows
        if isinstance(argument, Across):
            ends = self.column_ends
            columns = {q: argument.values[ends[q] : ends[q + 1]] for q in {q for _, q in places}}
            return "across", columns
        return "same", argument

    def at(self, row: int, column: int, function: Any, *arguments: Any) -> Any:
        """The same of one tile."""
        given = [("same", argument) for argument in arguments]
        place = row, column
        return self.team.ask([place], "everywhere", lambda *_: ([place], function, given))[place]

    def narrowed(self, by_columns: bool, chosen: np.ndarray) -> tuple[Grid, np.ndarray]:
        """A grid here with these columns, or rows, alone, and their numbers there."""
        order = np.sort(chosen)
        ends = self.column_ends if by_columns else self.row_ends
        parts = [order[(order >= a) & (order < b)] - a for a, b in pairwise(ends)]
        side = 1 if by_columns else 0
        places = [place for place in self.places if len(parts[place[side]])]

        def message(seat: Seat, some: list[Place]) -> tuple[Any, ...]:
            del seat
            names = {k: parts[k] for k in {place[side] for place in some}}
            cut = "across" if by_columns else "down"
            return some, packed_lines, [("same", by_columns), (cut, names)]

        found = self.team.ask(places, "everywhere", message)
        rows, columns = (sorted({place[k] for place in places}) for k in (0, 1))
        grid = Grid([[unpacked(found[p, q]) for q in columns] for p in rows], self.ledger)
        grid.crew = self.crew
        return grid, np.searchsorted(order, chosen)

    def dense_columns(self, which: np.ndarray) -> np.ndarray:
        """A copy of a few columns, one beside the other."""
        for q, (left, right) in enumerate(pairwise(self.column_ends)):
            inside = int(np.count_nonzero((which >= left) & (which < right)))
            for p in range(self.shape[0]):
                self.ledger.entries += self.stored_in(p, q) * inside / max(right - left, 1)
        if not len(which):
            return np.empty((self.n, 0))
        grid, names = self.narrowed(True, which)
        return grid.watched(Nobody()).dense_columns(names)

    def _companion(self, name: str, access: Any, converted: type) -> Grid:
        if self._kind != converted.__name__:
            return self
        raise IncompatibleError(
            "tiles on a cluster hold rows, and this asks for all their columns at once: use "
            "method 'newton', 'auto', 'rows', 'spd1' or 'spd1-vr'"
        )

    def parts(self) -> Iterator[tuple[Any, slice, slice]]:
        """Every tile, fetched one by one: for what can't be asked of it where it lies."""
        for p, rows in enumerate(pairwise(self.row_ends)):
            for q, columns in enumerate(pairwise(self.column_ends)):
                yield self.tiles[p][q], slice(*rows), slice(*columns)


def repeated(seats: list[Seat], row: int, name: str, values: np.ndarray) -> Echo:
    """A vector of a row of tiles that is often the one before: then it is not sent."""
    seats = [seat for seat in seats if any(p == row for p, _ in seat.places)]
    if all(seat.echo(name, values).value is None for seat in seats):
        return Echo(name, None)
    kept = values.copy()  # the caller may write to his
    for seat in seats:
        seat.heard[name] = kept
    return Echo(name, values)


class TileRow:
    """The tiles of one row of the grid, each fetched when it is asked for."""

    def __init__(self, grid: ClusterGrid, p: int) -> None:
        self.grid, self.p = grid, p

    def __len__(self) -> int:
        return self.grid.shape[1]

    def __getitem__(self, q: int) -> Any:
        if not 0 <= q < len(self):
            raise IndexError(q)
        grid, place = self.grid, (self.p, q)
        size = grid.team.notes[place].nbytes
        if size > grid.copies:
            raise IncompatibleError(
                f"this needs tile {place} itself, of {size / 2**20:,.0f} MB, where "
                f"{grid.copies / 2**20:,.0f} MB may be copied: cut the data into smaller tiles"
            )
        return grid.at(*place, tile_work.whole)
