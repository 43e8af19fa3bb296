"""The manifest of a store: a small JSON file that says what the tiles are."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError

__all__ = ["STORE_MANIFEST", "Entry", "Manifest", "file_names", "read_manifest"]

STORE_FORMAT, STORE_VERSION = "spd1-store", 1
STORE_MANIFEST = "manifest.json"
LABELS_FILE, NAMES_FILE = "labels.npy", "names.npy"
TILE_LAYOUTS, ENTRY_TYPES, INDEX_TYPES = (
    ("dense", "csr"),
    ("float32", "float64"),
    ("int32", "int64"),
)
LARGEST_MANIFEST = 2**28  # of a manifest: larger ones are none


class Entry(NamedTuple):
    """What a file should be."""

    bytes: int
    crc32: int
    shape: tuple[int, ...]
    dtype: str


class Manifest(NamedTuple):
    """What a store holds.

    Attributes
    ----------
    rows, columns, stored : int
    layout : "dense" or "csr"
    dtype : "float32" or "float64"
    index_dtype : "int32", "int64", or None for dense tiles
    row_ends, column_ends : list of int
        Where tiles begin and end, from 0 to ``rows`` and ``columns``.
    square_sum : float
        Sum of squares of all entries.
    target : str or None
    files : dict
        Name -> Entry.
    """

    rows: int
    columns: int
    stored: int
    layout: str
    dtype: str
    index_dtype: str | None
    row_ends: list[int]
    column_ends: list[int]
    square_sum: float
    target: str | None
    files: dict[str, Entry]

    @property
    def tiles(self) -> tuple[int, int]:
        """How many there are, in rows and in columns."""
        return len(self.row_ends) - 1, len(self.column_ends) - 1

    def text(self, written_by: str) -> str:
        """As it stands in the file."""
        values = self._asdict()
        values["files"] = {name: entry._asdict() for name, entry in self.files.items()}
        head = {"format": STORE_FORMAT, "version": STORE_VERSION, "written_by": written_by}
        return json.dumps(head | values, indent=1, allow_nan=False) + "\n"


def file_names(layout: str, p: int, q: int) -> tuple[str, ...]:
    """Names of the files of a tile.

    Examples
    --------
    >>> file_names("dense", 3, 0)
    ('tile-00003-000.npy',)
    """
    stem = f"tile-{p:05d}-{q:03d}"
    if layout == "dense":
        return (f"{stem}.npy",)
    return tuple(f"{stem}.{part}.npy" for part in ("data", "indices", "indptr"))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a store, or say why the folder is none."""
    path = folder / STORE_MANIFEST
    try:
        if folder.is_file():
            raise DataError(f"{folder} is a file and no store: spd1 convert {folder} NAME.store")
        if not folder.exists():
            raise DataError(f"{folder}: no such store")
        if path.stat().st_size > LARGEST_MANIFEST:
            raise ValueError
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{folder} is a folder and no store: it has no {STORE_MANIFEST}; spd1 convert "
            "makes stores"
        ) from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is damaged: it is no JSON; write the store again") from None
    if not isinstance(content, dict) or content.get("format") != STORE_FORMAT:
        raise DataError(f"{path} is not the manifest of a store")
    version = content.get("version")
    if isinstance(version, int) and version > STORE_VERSION:
        raise DataError(
            f"{folder} has version {version} of the format, and this spd1 reads up to "
            f"{STORE_VERSION}: upgrade spd1, or write the store again from its source"
        )
    try:
        found = _manifest(content)
        sound = version == STORE_VERSION and _makes_sense(found)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        sound = False
    if not sound:
        raise DataError(f"{path} is damaged: it contradicts itself; write the store again")
    return found


def _manifest(content: dict[str, Any]) -> Manifest:
    values = {name: content[name] for name in Manifest._fields}
    files = {
        str(name): Entry(
            _whole(entry["bytes"]), _whole(entry["crc32"]),
            tuple(_whole(side) for side in entry["shape"]), str(entry["dtype"]),
        )
        for name, entry in values["files"].items()
    }  # fmt: skip
    for name in ("rows", "columns", "stored"):
        values[name] = _whole(values[name])
    for name in ("row_ends", "column_ends"):
        values[name] = [_whole(end) for end in values[name]]
    return Manifest(**{**values, "files": files, "square_sum": float(values["square_sum"])})


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


def _makes_sense(m: Manifest) -> bool:
    """Whether files are those of the layout, with shapes and types that fit together."""
    types = m.layout in TILE_LAYOUTS and m.dtype in ENTRY_TYPES
    index = m.index_dtype is None if m.layout == "dense" else m.index_dtype in INDEX_TYPES
    ends = all(
        given[0] == 0 and given[-1] == size > 0 and all(np.diff(given) > 0)
        for given, size in ((m.row_ends, m.rows), (m.column_ends, m.columns))
    )
    text = m.target is None or isinstance(m.target, str)
    if not (types and index and ends and text and math.isfinite(m.square_sum)):
        return False
    expected = _expected(m)
    given = {name: (entry.shape, entry.dtype) for name, entry in m.files.items()}
    for name, size in ((LABELS_FILE, m.rows), (NAMES_FILE, m.columns)):
        if name in given:
            shape, kind = given.pop(name)
            if shape != (size,) or np.dtype(kind).kind not in ("fiubU" if size == m.rows else "U"):
                return False
    stored = sum(
        math.prod(given[file_names(m.layout, p, q)[0]][0])
        for p in range(m.tiles[0])
        for q in range(m.tiles[1])
    )
    return given == expected and stored == m.stored


def _expected(m: Manifest) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of every file but labels and names."""
    found: dict[str, tuple[tuple[int, ...], str]] = {
        "row_squares.npy": ((m.rows,), "float64"),
        "column_squares.npy": ((m.columns,), "float64"),
    }
    if m.layout == "csr":
        found |= {
            "row_counts.npy": ((m.rows,), "int64"), "column_counts.npy": ((m.columns,), "int64"),
        }  # fmt: skip
    for p in range(m.tiles[0]):
        for q in range(m.tiles[1]):
            names = file_names(m.layout, p, q)
            rows = m.row_ends[p + 1] - m.row_ends[p]
            if m.layout == "dense":
                found[names[0]] = (rows, m.column_ends[q + 1] - m.column_ends[q]), m.dtype
                continue
            entries = m.files[names[0]].shape
            if len(entries) != 1:
                raise ValueError(entries)
            found[names[0]] = entries, m.dtype
            found[names[1]] = entries, str(m.index_dtype)
            found[names[2]] = (rows + 1,), str(m.index_dtype)
    return found
