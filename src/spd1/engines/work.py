"""Work on a tile that can be sent to whoever holds it: a function, and views of the state.

A task gets its tile where the tile lies. What it may need besides travels: parts of x, y and sums,
which are small. Those that it writes come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Kept", "Made", "Room", "TileWork"]


class Kept(NamedTuple):
    """An argument that never changes in a run: whoever holds the tile is sent it once."""

    name: str
    value: Any


class Room(NamedTuple):
    """An argument that is written and never read: nothing of it travels to the tile."""

    values: Any


class Made:
    """An argument that follows from the tile, and is large: made where the tile lies, once.

    Parameters
    ----------
    name : str
        No two of a run may have the same for one tile.
    """

    rebuilt = ("value",)  # left out of checkpoints
    value: Any = None

    def __init__(self, name: str) -> None:
        self.name = name

    def rebuild(self) -> None:
        """Make it again when it is needed."""
        self.value = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: held for name, held in vars(self).items() if name != "value"}

    def make(self, tile: Any) -> Any:
        """The argument."""
        raise NotImplementedError

    def of(self, tile: Any) -> Any:
        """The argument, made now if it was not before."""
        if self.value is None:
            self.value = self.make(tile)
        return self.value


@dataclass(frozen=True, slots=True)
class TileWork:
    """``function(tile, *arguments)``, which returns how many entries it has read.

    ``written`` numbers the arguments that it writes to: views of the state.
    """

    function: Any
    arguments: tuple[Any, ...]
    written: tuple[int, ...]

    def __call__(self, tile: Any) -> float:
        """Do it here."""
        given = [resolved(argument, tile) for argument in self.arguments]
        return float(self.function(tile, *given))


def resolved(argument: Any, tile: Any) -> Any:
    """What the function gets for an argument."""
    if isinstance(argument, Kept):
        return argument.value
    if isinstance(argument, Room):
        return argument.values
    return argument.of(tile) if isinstance(argument, Made) else argument
