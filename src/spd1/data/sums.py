"""Sums over the tiles of a row or a column of a grid, in an order that anybody can follow in part.

Tiles are added up by halves, as the players of a tournament: 0 with 1, 2 with 3, then these two
sums, and so on; the last of an odd number goes on alone. So whoever has some of the tiles can add
up what belongs together and hand on the rest, and the bits are the same whoever adds up what.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Part", "Sums"]


class Part(NamedTuple):
    """Which sum a part belongs to, and which of its tiles: those from ``number << level`` on."""

    name: int
    level: int
    number: int


class Sums:
    """Sums that are not complete yet.

    Parameters
    ----------
    count : int
        Tiles that each sum has.

    Examples
    --------
    >>> import numpy as np
    >>> sums = Sums(3)
    >>> for k in (2, 0, 1):
    ...     sums.add(Part(0, 0, k), np.array([10.0**k]))
    >>> sums.of(0)
    array([111.])
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.parts: dict[Part, np.ndarray] = {}

    def add(self, part: Part, values: np.ndarray) -> None:
        """Take a part, and add up what belongs together."""
        name, level, index = part
        while 1 << level < self.count:
            if (index ^ 1) << level < self.count:  # it has a partner
                other = self.parts.pop(Part(name, level, index ^ 1), None)
                if other is None:
                    break
                values = other + values  # never in place: who handed it over may keep it
            level, index = level + 1, index // 2
        self.parts[Part(name, level, index)] = values

    def of(self, name: int) -> np.ndarray:
        """A sum that is complete."""
        return self.parts[Part(name, (self.count - 1).bit_length(), 0)]
