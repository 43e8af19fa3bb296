"""write_store: data from anywhere into a folder of tiles, in bounded memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..data.manifest import ENTRY_TYPES, INDEX_TYPES
from ..data.store import Store, open_store
from ..errors import DataError, ParameterError
from ..files import PART
from .folders import replacing_folder
from .row_queue import RowQueue
from .store_sources import Source, source_of_array, source_of_file
from .store_writer import StoreWriter
from .table_chunks import TextTargetError

__all__ = ["write_store"]

TILE_MB = 64.0


def write_store(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    tile_mb: float = TILE_MB,
    tiles: tuple[int, int] | None = None,
    dtype: Any = None,
    index: Any = None,
    overwrite: bool = False,
    progress: Callable[[float], object] | None = None,
    format: str | None = None,
    target: str | int | None = None,
    names: list[str] | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    check: bool = True,
) -> Store:
    """Write data into a folder of tiles, some rows in memory at a time; returns it, opened.

    The folder appears when all of it is written, and not before. If anything goes wrong, or Ctrl-C
    ends it, what was there before stays as it was and nothing else is left.

    Parameters
    ----------
    path : str or Path
        The new folder.
    X : array, sparse matrix, dask array, file name, Store, or iterator of pairs (rows, labels)
        Files are those that ``spd1.io.read_data`` reads. A dask array is computed one row of
        chunks at a time.
    y : array of shape (n,), optional
        Labels or targets, numbers or text. Those of files and iterators come with them.
    tile_mb : float
        Size of a tile: whole rows, as many as fit.
    tiles : (int, int), optional
        Instead of it, how many tiles in rows and in columns.
    dtype : "float32" or "float64", optional
        Default: float32 data stays that, everything else becomes float64.
    index : "int32" or "int64", optional
        Type of the indices of sparse data; default: int32 where that is enough.
    overwrite : bool
        Whether a store that exists may be replaced.
    progress : callable, optional
        Called with the share that is done.
    names : list of str, optional
        Names of the columns of X; tables have their own.
    format, target, n_features, zero_based, check
        For files, as for ``spd1.io.read_data``; ``target`` of an array is the name of y.

    Examples
    --------
    >>> import os, tempfile, scipy.sparse as sp, spd1
    >>> path = os.path.join(tempfile.mkdtemp(), "data.store")
    >>> store = spd1.write_store(path, sp.eye_array(5).tocsr(), [1, 2, 3, 4, 5], tiles=(2, 1))
    >>> store.tiles, store.stored, store.labels.tolist()
    ((2, 1), 5, [1, 2, 3, 4, 5])
    """
    _check(tile_mb, tiles, dtype, index)
    told = progress if progress is not None else _nobody
    file = isinstance(X, (str, os.PathLike))
    if file and y is not None:
        raise ParameterError("labels of a file come with it: y is for arrays")
    if file and Path(path).exists() and os.path.realpath(path) == os.path.realpath(X):
        raise DataError(f"{path} can't be written onto itself")
    with (
        replacing_folder(Path(path), overwrite) as folder,
        tempfile.TemporaryDirectory(PART, f"{folder.name}.", folder.parent) as scratch,
    ):

        def source(as_text: bool) -> Source:
            if not file:
                return source_of_array(X, y, told, names, target)
            return source_of_file(
                Path(X), told, Path(scratch), format=format, target=target, n_features=n_features,
                zero_based=zero_based, check=check, count_rows=tiles is not None, as_text=as_text,
            )  # fmt: skip

        try:
            _fill(folder, source(False), tile_mb, tiles, dtype, index)
        except TextTargetError:
            for written in folder.iterdir():
                written.unlink()
            _fill(folder, source(True), tile_mb, tiles, dtype, index)
    return open_store(path)


def _fill(
    folder: Path,
    source: Source,
    tile_mb: float,
    tiles: tuple[int, int] | None,
    dtype: Any,
    index: Any,
) -> None:
    ends = None
    if tiles is not None:
        if source.rows is None:
            raise ParameterError("how many rows there are is not known: say tile_mb, not tiles")
        n, count = source.rows, tiles[0]
        if not 1 <= count <= n:
            raise ParameterError(f"{n} rows can't be cut into {count} tiles")
        ends = [n * k // count for k in range(count + 1)]
    queue, across = RowQueue(int(tile_mb * 2**20), ends), 1 if tiles is None else tiles[1]
    dtype, index = (None if given is None else np.dtype(given).name for given in (dtype, index))
    writer = StoreWriter(folder, queue, dtype, index, source.width, across)
    names, target = None, None
    for block in source.blocks:
        writer.add(block.A, block.b)
        names, target = block.names, block.target
    writer.finish(names, target)


def _check(tile_mb: Any, tiles: Any, dtype: Any, index: Any) -> None:
    if not (isinstance(tile_mb, (int, float)) and 0 < tile_mb < 2**40):
        raise ParameterError(f"tile_mb must be a positive number, got {tile_mb!r}")
    if tiles is not None and not (
        isinstance(tiles, tuple)
        and len(tiles) == 2
        and all(isinstance(count, int) and count > 0 for count in tiles)
    ):
        raise ParameterError(f"tiles must be a pair of positive whole numbers, got {tiles!r}")
    for name, given, known in (("dtype", dtype, ENTRY_TYPES), ("index", index, INDEX_TYPES)):
        try:
            fits = given is None or np.dtype(given).name in known
        except TypeError:
            fits = False
        if not fits:
            raise ParameterError(f"{name} must be {' or '.join(known)}, got {given!r}")


def _nobody(share: float) -> None:
    del share
