"""Finished runs on disk: a reproduction that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..io.files import replacing

__all__ = ["Store"]


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

    def path(self, task: dict[str, Any]) -> Path:
        """Where the result of a task lies."""
        text = json.dumps(task, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        return self.folder / f"{task.get('kind', 'task')}-{digest}.json"

    def get(self, task: dict[str, Any]) -> Any:
        """The result of a task, or None if it has none, or not a readable one."""
        try:
            kept = json.loads(self.path(task).read_text(encoding="utf-8"))
            return kept["result"] if kept["task"] == json.loads(json.dumps(task)) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, task: dict[str, Any], result: Any) -> None:
        """Keep a result, whole or not at all."""
        with replacing(self.path(task)) as stream:
            stream.write(json.dumps({"task": task, "result": result}).encode())
