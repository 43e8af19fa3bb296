"""Data on disk: a folder of tiles as plain NPY files, and a small manifest that says what they are.

Tiles are mapped into memory when they are used and let go again, so that data may be larger than
memory. What a run would have to look at everything for (that entries are finite, norms, counts) was
found out when the store was written.
"""

from __future__ import annotations

import math
import os
import zlib
from errno import ENOMEM
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from .blocks import with_constant
from .grid import Grid
from .manifest import LABELS_FILE, NAMES_FILE, Manifest, file_names, read_manifest
from .matrix import CSR, Dense
from .memory import refuse_too_long
from .store_files import AGAIN, Place, place_of
from .store_grid import StoreGrid

__all__ = ["Store", "open_store"]

CHECKED_AT_ONCE = 2**24  # bytes
COPIES_MB = 64.0


class Store:
    """Data on disk, as ``open_store`` finds it; ``Problem(store)`` takes it as data.

    Attributes
    ----------
    path : Path
    n, d, stored : int
        Rows, columns, stored entries.
    shape : (int, int)
        (n, d), as arrays have it.
    tiles : (int, int)
        How many tiles there are, in rows and in columns.
    dense : bool
        Whether every entry is stored; else tiles are compressed rows.
    dtype : numpy.dtype
    copies : float
        Bytes that copies of rows or columns may take in a fit.
    names : list of str or None
        Names of the columns, where the source had them.
    target : str or None
        Name of the column that the labels came from.
    """

    def __init__(
        self, path: Path, manifest: Manifest, places: dict[str, Place], copies: float
    ) -> None:
        self.path, self.manifest, self.places, self.copies = path, manifest, places, copies
        self.n, self.d, self.stored = manifest.rows, manifest.columns, manifest.stored
        self.shape = self.n, self.d
        self.tiles = manifest.tiles
        self.row_ends, self.column_ends = manifest.row_ends, manifest.column_ends
        self.dense = manifest.layout == "dense"
        self.dtype = np.dtype(manifest.dtype)
        self.target = manifest.target

    def __repr__(self) -> str:
        kind = "dense" if self.dense else "CSR"
        labels = "" if LABELS_FILE in self.places else ", no labels"
        return (
            f"Store({str(self.path)!r}: {self.n} x {self.d} {kind} {self.dtype}, "
            f"{self.tiles[0]} x {self.tiles[1]} tiles, {self.nbytes / 2**20:.1f} MB{labels})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (str(self.path), False, self.copies / 2**20)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise DataError(
            f"{self.path} is a store, which may be larger than memory: use spd1.Problem(store) "
            "and spd1.solve, or spd1 fit; other functions take arrays"
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all its files."""
        return sum(entry.bytes for entry in self.manifest.files.values())

    @property
    def checksums(self) -> str:
        """Those of all its files, by name."""
        files = sorted(self.manifest.files.items())
        return " ".join(f"{name}:{entry.bytes}:{entry.crc32:08x}" for name, entry in files)

    @cached_property
    def labels(self) -> np.ndarray | None:
        """Labels or targets, numbers or text; None if the store was written without."""
        return self.array(LABELS_FILE) if LABELS_FILE in self.places else None

    @cached_property
    def names(self) -> list[str] | None:
        """Names of the columns, or None."""
        return self.array(NAMES_FILE).tolist() if NAMES_FILE in self.places else None

    @cached_property
    def grid(self) -> Grid:
        """The tiles as methods see them; one tile alone is a matrix like any other."""
        refuse_too_long(self.n, self.d)
        grid = Grid.whole(self.tile(0, 0)) if self.tiles == (1, 1) else StoreGrid(self)
        # Runs are charged as if they had looked themselves: the same run has the same count.
        free = ("square sum", "counts") if self.dense else ("square sum",)
        for name, value in self.facts().items():
            grid.facts.known[name] = value, 0.0 if name in free else float(self.stored)
        return grid

    def facts(self) -> dict[str, Any]:
        """What was found out when it was written, by the names that grids have for it."""
        if self.dense:
            counts = (self.d, self.n), (self.n, self.d)
            rows, columns = (np.full(size, value, dtype=np.int64) for value, size in counts)
        else:
            rows, columns = self.mapped("row_counts.npy"), self.mapped("column_counts.npy")
        return {
            "square sum": self.manifest.square_sum,
            "row squares": self.mapped("row_squares.npy"),
            "column squares": self.mapped("column_squares.npy"),
            "counts": (rows, columns),
        }

    def with_constant(self, unit: float) -> Store:
        """The same data with a further column of a constant, last."""
        return WithConstant(self, unit)

    def tile(self, p: int, q: int) -> Dense | CSR:
        """Map a tile: a matrix with indices from 0. What it lies in is let go with it."""
        m = self.manifest
        names = file_names(m.layout, p, q)
        if self.dense:
            return Dense(self.mapped(names[0]))
        data, indices, indptr = (self.mapped(name) for name in names)
        shape = m.row_ends[p + 1] - m.row_ends[p], m.column_ends[q + 1] - m.column_ends[q]
        indices, indptr = (part.view(f"u{part.itemsize}") for part in (indices, indptr))
        return CSR(data, indices, indptr, shape)

    def mapped(self, name: str) -> np.ndarray:
        """One of its arrays, mapped, read-only."""
        offset, shape, dtype = self.places[name]
        if math.prod(shape) == 0:  # nothing to map
            values = np.zeros(shape, dtype)
        else:
            try:
                values = np.memmap(self.path / name, dtype, "r", offset, shape).view(np.ndarray)
            except FileNotFoundError:
                raise DataError(f"{self.path / name} is missing: {AGAIN}") from None
            except ValueError:  # shorter than that
                raise DataError(f"{self.path / name} is cut off: {AGAIN}") from None
            except OSError as error:
                reason = error.strerror or error
                hint = "; take smaller tiles or more memory" if error.errno == ENOMEM else ""
                raise DataError(f"{self.path / name} can't be mapped: {reason}{hint}") from None
        values.flags.writeable = False
        return values

    def array(self, name: str) -> np.ndarray:
        """One of its arrays, in memory."""
        return np.array(self.mapped(name))

    def verify(self) -> None:
        """Compare all checksums: a pass over every byte.

        Raises
        ------
        DataError
            With the name of the first file whose bytes are not those that were written.
        """
        for name, entry in self.manifest.files.items():
            found = 0
            with (self.path / name).open("rb") as stream:
                while piece := stream.read(CHECKED_AT_ONCE):
                    found = zlib.crc32(piece, found)
            if found != entry.crc32:
                raise DataError(
                    f"{self.path / name} is damaged: its checksum is {found:08x}, not "
                    f"{entry.crc32:08x}; {AGAIN}"
                )


class WithConstant(Store):
    """A store with one more column, of a constant: an intercept. Tiles are copied to hold it."""

    def __init__(self, store: Store, unit: float) -> None:
        super().__init__(store.path, store.manifest, store.places, store.copies)
        self.unit, self.d, self.stored = unit, self.d + 1, self.stored + self.n
        self.shape = self.n, self.d
        self.column_ends = [*self.column_ends[:-1], self.d]

    def __reduce__(self) -> tuple[Any, ...]:
        return _with_constant, (str(self.path), self.copies / 2**20, self.unit)

    @property
    def checksums(self) -> str:
        """Those of the data, and the constant."""
        return f"{super().checksums} and {self.unit!r}"

    @cached_property
    def names(self) -> None:
        """None: the constant has no name."""

    def facts(self) -> dict[str, Any]:
        square, known = self.unit * self.unit, super().facts()
        rows, columns = known["counts"]
        return {
            "square sum": known["square sum"] + self.n * square,
            "row squares": known["row squares"] + square,
            "column squares": np.append(known["column squares"], self.n * square),
            "counts": (rows if self.dense else rows + 1, np.append(columns, self.n)),
        }

    def tile(self, p: int, q: int) -> Dense | CSR:
        found = super().tile(p, q)
        return with_constant(found, self.unit) if q == self.tiles[1] - 1 else found


def _with_constant(path: str, copies_mb: float, unit: float) -> Store:
    return open_store(path, False, copies_mb).with_constant(unit)


def open_store(
    path: str | os.PathLike[str], verify: bool = False, copies_mb: float = COPIES_MB
) -> Store:
    """Open data on disk that ``write_store`` or ``spd1 convert`` has written.

    That every file is there, as long as it was, with the header that it had, is always looked at.

    Parameters
    ----------
    path : str or Path
        The folder.
    verify : bool
        Whether to compare checksums too, which takes a pass over every byte.
    copies_mb : float
        Megabytes that methods may copy of rows or columns they visit often. More is faster for
        problems with l1 or with corners; 0 copies nothing.

    Returns
    -------
    Store
        For ``Problem(store, loss=..., reg=...)``; labels are those of the store unless given.

    Examples
    --------
    >>> import os, tempfile, numpy as np, spd1
    >>> path = os.path.join(tempfile.mkdtemp(), "data.store")
    >>> _ = spd1.write_store(path, np.arange(12.0).reshape(4, 3), [1.0, -1.0, 1.0, 1.0])
    >>> store = spd1.open_store(path)
    >>> store.shape, store.labels.tolist()
    ((4, 3), [1.0, -1.0, 1.0, 1.0])
    >>> problem = spd1.Problem(store, loss="logistic", reg=spd1.L2(0.1))
    >>> spd1.solve(problem).status
    'converged'
    """
    if not (isinstance(copies_mb, (int, float)) and copies_mb >= 0):
        raise ParameterError(f"copies_mb must be a number, not negative, got {copies_mb!r}")
    folder = Path(path)
    manifest = read_manifest(folder)
    places = {name: place_of(folder / name, entry) for name, entry in manifest.files.items()}
    store = Store(folder, manifest, places, float(copies_mb) * 2**20)
    if verify:
        store.verify()
    return store
