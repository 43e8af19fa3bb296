"""What a run is about, in a few words each: two runs with the same words are the same run."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from ..data.grid import Grid
from ..problem import Problem

__all__ = ["data_arrays", "differences", "fingerprint"]

HASHED_BYTES = 2**20  # bytes
MOST_HASHED = 2**10  # more data is looked at in as many blocks, evenly spread: 1 GB


def fingerprint(problem: Problem, settings: dict[str, Any]) -> dict[str, str]:
    """Words by name, those of the settings included.

    Examples
    --------
    >>> import spd1
    >>> about = fingerprint(spd1.Problem(np.eye(2), [1.0, 2.0], "squared"), {"method": "rows"})
    >>> about["rows"], about["loss"], about["method"]
    ('2', 'Squared()', 'rows')
    """
    p, arrays, on_disk = problem, data_arrays(problem.grid), problem.grid.checksums
    words = {
        "rows": str(p.n),
        "columns": str(p.d),
        "stored entries": str(p.stored),
        "layout of the data": layout_of(p, arrays),
        "data": digest_of(*arrays.values()) if not on_disk else digest_of_text(on_disk),
        "labels": digest_of(p.b),
        "sample weights": digest_of(p.c),
        "loss": str(p.loss),
        "regularizer": str(p.reg) if p.reg.scalar else digest_of(*numbers(p.reg)),
    }
    return words | {name: in_words(value) for name, value in settings.items()}


def numbers(reg: Any) -> list[np.ndarray]:
    return [np.atleast_1d(np.asarray(v, float)) for v in (reg.l1, reg.l2, reg.lower, reg.upper)]


def data_arrays(grid: Grid) -> dict[str, np.ndarray]:
    """The arrays of every tile of the data, by name; none of a store, which may not fit."""
    if grid.checksums:
        return {}
    return {
        f"tile {p} {q} {name}": value
        for p, row in enumerate(grid.tiles)
        for q, tile in enumerate(row)
        for name, value in tile._asdict().items()
        if isinstance(value, np.ndarray)
    }


def layout_of(problem: Problem, arrays: dict[str, np.ndarray]) -> str:
    """The kind of the matrix, its types and how its numbers lie: sums depend on it."""
    grid = problem.grid
    kinds = sorted({f"{a.dtype} by {a.strides}" for a in arrays.values()}) or [str(grid.dtype)]
    rows, columns = grid.shape
    return f"{grid.kind}, {rows} x {columns} tiles, {', '.join(kinds)}"


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What is not the same, and how where that can be said in a few words."""
    found = []
    for name in [*new, *(name for name in old if name not in new)]:
        before, now = old.get(name, "nothing"), new.get(name, "nothing")
        if before != now:
            short = max(len(before), len(now)) <= 60 and not (is_digest(before) or is_digest(now))
            found.append(f"{name} ({before} there, {now} here)" if short else name)
    return found


def is_digest(word: str) -> bool:
    return word.startswith("sha256:")


def in_words(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return digest_of(value)
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def digest_of(*arrays: np.ndarray) -> str:
    """A checksum; of much data, of blocks of it."""
    total = hashlib.sha256()
    for values in arrays:
        total.update(f"{values.shape} {values.dtype.str}".encode())
        add_values(total, values)
    return f"sha256:{total.hexdigest()}"


def digest_of_text(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def add_values(total: Any, values: np.ndarray) -> None:
    """Add an array line by line, as far as it is looked at; nothing of it is copied whole."""
    if values.flags.forc:
        lines = values.reshape(-1, order="A")
        step = max(1, HASHED_BYTES // max(values.itemsize, 1))
    else:
        lines = values if abs(values.strides[0]) >= abs(values.strides[-1]) else values.T
        step = max(1, HASHED_BYTES // max(values.itemsize * lines[:1].size, 1))
    starts = range(0, len(lines), step)
    skip = -(-len(starts) // MOST_HASHED)
    for start in sorted({*starts[::skip], *starts[-1:]}):
        total.update(np.ascontiguousarray(lines[start : start + step]).data)
