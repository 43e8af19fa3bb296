"""Writing a store: blocks of rows come in, tiles go out."""

from __future__ import annotations

import io
import os
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from ..data.convert import as_matrix, as_real, as_scipy, plain_array
from ..data.indices import lines_of
from ..data.manifest import (
    LABELS_FILE,
    NAMES_FILE,
    STORE_MANIFEST,
    Entry,
    Manifest,
    file_names,
)
from ..data.matrix import Dense
from ..data.products import squared_row_norms, stored_counts
from ..errors import DataError, ParameterError
from ..version import __version__
from .row_queue import RowQueue

__all__ = ["StoreWriter"]

WRITTEN_AT_ONCE = 2**24  # bytes


class StoreWriter:
    """Turns blocks of rows into the files of a store.

    Parameters
    ----------
    folder : Path
        Where the files go; it is there, and empty.
    queue : RowQueue
        Says where tiles end.
    dtype, index : str, optional
        Type of entries and of indices; default: the source's own, and int32 where it is enough.
    width : int, optional
        Number of columns, if that is known.
    column_tiles : int
        Tiles that rows are cut into; more than one needs ``width``.
    """

    def __init__(
        self,
        folder: Path,
        queue: RowQueue,
        dtype: str | None = None,
        index: str | None = None,
        width: int | None = None,
        column_tiles: int = 1,
    ) -> None:
        self.folder, self.queue = folder, queue
        self.dtype, self.told = None if dtype is None else np.dtype(dtype), dtype is not None
        self.index, self.width, self.fixed = index, width or 0, width is not None
        if column_tiles > 1 and width is None:
            raise ParameterError(
                "columns can't be cut before their number is known: say n_features"
            )
        if width is not None and not 1 <= column_tiles <= width:
            raise ParameterError(f"{width} columns can't be cut into {column_tiles} tiles")
        self.column_tiles = column_tiles
        self.layout = ""
        self.row_ends, self.stored = [0], 0
        self.files: dict[str, Entry] = {}
        self.row_squares: list[np.ndarray] = []
        self.row_counts: list[np.ndarray] = []
        self.column_squares = np.zeros(self.width)
        self.column_counts = np.zeros(self.width, dtype=np.int64)
        self.labels: list[np.ndarray] = []

    def add(self, rows: Any, labels: Any = None) -> None:
        """Take a block of rows, dense or sparse; tiles that are full are written."""
        block = self._fitting(rows)
        if labels is not None:
            self.labels.append(np.asarray(labels))
        self.queue.add(block)
        for piece in self.queue.full():
            self._write_tile(piece)

    def _fitting(self, rows: Any) -> Any:
        """The block in the layout and type of the store."""
        sparse = sp.issparse(rows)
        if not self.layout:
            self.layout = "csr" if sparse else "dense"
        elif sparse and self.layout == "dense":
            raise DataError("dense rows are followed by sparse ones: make all of them sparse")
        if sparse:
            lines = lines_of(rows)  # SciPy may follow its indices from here on
            block = lines._replace(data=as_real(lines.data, "A")).as_scipy().tocsr()
        else:
            block = as_real(plain_array(rows, "A"), "A")
            if block.ndim != 2:
                raise DataError(f"rows must come in two dimensions, not {block.ndim}")
            block = block if self.layout == "dense" else sp.csr_array(block)
        if self.dtype is None:
            self.dtype = block.dtype
        elif block.dtype.itemsize > self.dtype.itemsize and not self.told:
            raise DataError("float32 rows are followed by float64 ones: say dtype='float64'")
        self._widen(block.shape[1])
        with np.errstate(over="ignore"):  # what is too large for float32 is refused with its row
            return block.astype(self.dtype, copy=False)

    def _widen(self, width: int) -> None:
        """Take note of further columns; dense rows must all have the same."""
        if width > self.width and not self.fixed:
            grown = (0, width - self.width)
            self.column_squares = np.pad(self.column_squares, grown)
            self.column_counts = np.pad(self.column_counts, grown)
            self.width, self.fixed = width, self.layout == "dense"
        if width > self.width or (width < self.width and self.layout == "dense"):
            raise DataError(f"rows of {width} columns follow rows of {self.width}")

    def _write_tile(self, piece: Any) -> None:
        first = self.row_ends[-1]
        p, last = len(self.row_ends) - 1, first + piece.shape[0]
        if self.layout == "csr":
            piece.resize((piece.shape[0], max(self.width, 1)))
        try:
            whole = as_matrix(piece)  # finite, sorted, inside
        except DataError as error:
            raise DataError(f"rows {first:,} to {last - 1:,} of the source: {error}") from None
        ends = self._column_ends()
        squares = np.zeros(piece.shape[0])
        for q, (left, right) in enumerate(pairwise(ends)):
            tile = whole if len(ends) == 2 else self._part(whole, left, right)
            squares += squared_row_norms(tile)
            mine, size = slice(left, right), right - left
            self.column_squares[mine] += squared_row_norms(tile.transposed())[:size]
            if isinstance(tile, Dense):
                arrays = [np.ascontiguousarray(tile.values)]
            else:
                of_rows, of_columns = stored_counts(tile)
                self.column_counts[mine] += of_columns[:size]
                if q == 0:
                    self.row_counts.append(np.zeros_like(of_rows))
                self.row_counts[-1] += of_rows
                arrays = [tile.data, *self._indices(tile)]
            self.stored += int(tile.stored)
            for name, array in zip(file_names(self.layout, p, q), arrays, strict=True):
                self.write(name, array)
        self.row_squares.append(squares)
        self.row_ends.append(last)

    def _column_ends(self) -> list[int]:
        return [self.width * k // self.column_tiles for k in range(self.column_tiles + 1)]

    def _part(self, whole: Any, left: int, right: int) -> Any:
        if isinstance(whole, Dense):
            return Dense(whole.values[:, left:right])
        return as_matrix(as_scipy(whole)[:, left:right])

    def _indices(self, tile: Any) -> list[np.ndarray]:
        """Indices and ends of rows in the type of the store."""
        if self.index is None:
            self.index = "int32" if self.width < 2**31 else "int64"
        if self.index == "int32" and max(tile.stored, tile.columns()) >= 2**31:
            raise ParameterError(
                "a tile of more than 2**31 entries or columns needs int64 indices: take smaller "
                "tiles, or say index='int64'"
            )
        return [part.astype(self.index) for part in (tile.indices, tile.indptr)]

    def write(self, name: str, array: np.ndarray) -> None:
        """Write an array as an NPY file, and note its length and checksum."""
        head = io.BytesIO()
        npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(array))
        pieces = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        with (self.folder / name).open("wb") as stream:
            stream.write(head.getvalue())
            crc32 = zlib.crc32(head.getvalue())
            for start in range(0, len(pieces), WRITTEN_AT_ONCE):
                piece = pieces[start : start + WRITTEN_AT_ONCE]
                stream.write(piece)
                crc32 = zlib.crc32(piece, crc32)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        kind = array.dtype.str if array.dtype.kind == "U" else array.dtype.name
        self.files[name] = Entry(size, crc32, array.shape, kind)

    def finish(self, names: list[str] | None = None, target: str | None = None) -> Manifest:
        """Write what is left, what was found out on the way, and the manifest, last."""
        for piece in self.queue.rest():
            self._write_tile(piece)
        rows = self.row_ends[-1]
        if rows == 0:
            raise DataError("the source has no rows")
        if self.width == 0:
            raise DataError("the source has no features: every line is a label alone")
        row_squares = np.concatenate(self.row_squares)
        self.write("row_squares.npy", row_squares)
        self.write("column_squares.npy", self.column_squares)
        if self.layout == "csr":
            self.write("row_counts.npy", np.concatenate(self.row_counts))
            self.write("column_counts.npy", self.column_counts)
        if self.labels:
            self.write(LABELS_FILE, self._all_labels(rows))
        if names is not None:
            self.write(NAMES_FILE, np.array(names, dtype=str))
        assert self.dtype is not None
        manifest = Manifest(
            rows, self.width, self.stored, self.layout, self.dtype.name,
            self.index if self.layout == "csr" else None, self.row_ends, self._column_ends(),
            float(row_squares.sum()), target, self.files,
        )  # fmt: skip
        with (self.folder / STORE_MANIFEST).open("w", encoding="utf-8") as stream:
            stream.write(manifest.text(__version__))
            stream.flush()
            os.fsync(stream.fileno())
        return manifest

    def _all_labels(self, rows: int) -> np.ndarray:
        labels = np.concatenate([np.atleast_1d(part) for part in self.labels])
        if labels.shape != (rows,):
            raise DataError(f"there are {len(labels)} labels and {rows} rows")
        if labels.dtype.kind == "O":
            labels = labels.astype(str)
        if labels.dtype.kind not in "fiubU":
            raise DataError(f"labels have dtype {labels.dtype}: numbers or text only")
        if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
            raise DataError("the labels have NaN or infinite values")
        return labels
