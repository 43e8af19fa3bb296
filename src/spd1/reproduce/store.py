"""Finished runs on disk: a reproduction that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from ..files import replacing

__all__ = ["Store", "WallClock"]

CLOCK = {"kind": "clock"}


class Store:
    """A folder with one JSON file a result, named after what it is the result of.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> store.get({"task": 1}) is None
    True
    >>> store.put({"task": 1}, {"value": 2.5})
    >>> store.get({"task": 1})
    {'value': 2.5}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.used: dict[Path, float] = {}  # results handed out or put in, and what they took

    @property
    def processor(self) -> float:
        """Seconds of processor time that all results used so far took, whenever that was."""
        return sum(self.used.values())

    def path(self, task: dict[str, Any]) -> Path:
        """Where the result of a task lies."""
        text = json.dumps(task, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        return self.folder / f"{task.get('kind', 'task')}-{digest}.json"

    def get(self, task: dict[str, Any]) -> Any:
        """The result of a task, or None if it has none, or not a readable one."""
        path = self.path(task)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if kept["task"] != json.loads(json.dumps(task)):
                return None
            self.used[path] = float(kept["processor"])
            return kept["result"]
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, task: dict[str, Any], result: Any, processor: float = 0.0) -> None:
        """Keep a result, whole or not at all, with the processor time that it took."""
        path = self.path(task)
        self.used[path] = processor
        with replacing(path) as stream:
            kept = {"task": task, "result": result, "processor": processor}
            stream.write(json.dumps(kept).encode())


class WallClock:
    """Time of this call and of all that it goes on from, stopped ones too.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> first = WallClock(store).tick()
    >>> WallClock(store).tick() > first
    True
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.before = float(store.get(CLOCK) or 0.0)
        self.began = time.perf_counter()

    def tick(self) -> float:
        """Seconds so far, kept on disk."""
        seconds = self.before + time.perf_counter() - self.began
        self.store.put(CLOCK, seconds)
        return seconds
