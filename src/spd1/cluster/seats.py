"""Where tiles come from, who holds them and what it has been sent, and what has travelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .messages import Echo, Place, StoredTile

__all__ = ["Seat", "Source", "Traffic"]


class Source(NamedTuple):
    """Where tiles come from: pieces of a dask array's graph, or names of tiles of a store."""

    chunks: dict[Place, Any]
    lazy: bool  # whether chunks are dask's

    @classmethod
    def of_array(cls, array: Any) -> Source:
        """The chunks of a dask array, each with its lineage."""
        blocks = array.to_delayed()
        places = [(p, q) for p in range(blocks.shape[0]) for q in range(blocks.shape[1])]
        return cls({place: blocks[place] for place in places}, True)

    @classmethod
    def of_store(cls, store: Any) -> Source:
        """The tiles of a store."""
        path, unit = str(store.path.resolve()), getattr(store, "unit", None)
        rows, columns = store.tiles
        places = [(p, q) for p in range(rows) for q in range(columns)]
        return cls({place: StoredTile(path, unit, place) for place in places}, False)


class Seat:
    """A holder on a worker, and what it was sent to keep."""

    def __init__(self, address: str, key: str, future: Any, places: list[Place]) -> None:
        self.address, self.key, self.future, self.places = address, key, future, places
        self.sent: set[str] = set()
        self.heard: dict[str, np.ndarray] = {}  # arrays that both sides have

    def echo(self, name: str, value: np.ndarray) -> Echo:
        """An array as it is sent: not at all, if it is what the holder has under this name."""
        if name in self.heard and np.array_equal(self.heard[name], value):
            return Echo(name, None)
        return Echo(name, value)

    def forget(self) -> None:
        """Believe no longer that the holder has what it was sent."""
        self.sent, self.heard = set(), {}


class Traffic:
    """Bytes of arrays that went through the client, or from worker to worker, and messages."""

    def __init__(self) -> None:
        self.sent = self.received = self.relayed = self.messages = self.rounds = 0

    @property
    def moved(self) -> int:
        """All bytes."""
        return self.sent + self.received + self.relayed
