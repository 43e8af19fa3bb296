"""What the client and the holders of tiles say to each other."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..data.sums import Part

__all__ = [
    "Ask",
    "Blank",
    "Branch",
    "BranchError",
    "Echo",
    "Failed",
    "Fresh",
    "Note",
    "Place",
    "Relayed",
    "Sent",
    "StoredTile",
    "size_of",
]

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


class Branch(NamedTuple):
    """A holder, the tiles it is asked about, and those who are asked by it."""

    address: str
    key: str
    places: list[Place]
    branches: list[Branch]

    def every(self) -> list[Place]:
        """All tiles of the branch."""
        return self.places + [place for one in self.branches for place in one.every()]


class Relayed(NamedTuple):
    """Sums of a branch, and the bytes that travelled between its holders."""

    parts: dict[Part, np.ndarray]
    moved: int


class BranchError(Exception):
    """A holder could not be asked by another one."""


def size_of(value: Any) -> int:
    """Bytes of the arrays in a message."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(size_of(one) for one in value.values())
    return sum(size_of(one) for one in value) if isinstance(value, (list, tuple)) else 0
