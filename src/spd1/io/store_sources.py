"""What a store can be written from: each as blocks of rows, so many bytes in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.convert import as_scipy, plain_array
from ..data.indices import lines_of
from ..data.store import Store, open_store
from ..errors import DataError, ParameterError
from ..files import Data, format_of
from .arrays import read_npy, read_npz_unmended, unpacked
from .libsvm import iter_libsvm, survey
from .split_target import target_position
from .table_chunks import iter_csv, iter_parquet

__all__ = ["Source", "source_of_array", "source_of_file"]

BLOCK_BYTES = 2**24
TEXT_BYTES = 2**22  # of LIBSVM text at a time: its numbers take ten times as much while read

Told = Callable[[float], object]


@dataclass
class Source:
    """Blocks of rows, and what is known before the first of them.

    Attributes
    ----------
    blocks : iterator of Data
    rows, width : int or None
    """

    blocks: Iterator[Data]
    rows: int | None = None
    width: int | None = None


def source_of_array(X: Any, y: Any, told: Told, names: Any = None, target: Any = None) -> Source:
    """Blocks of an array, a sparse matrix, a dask array, a store, or of pairs (rows, labels)."""
    if isinstance(X, Store):
        labels = X.labels if y is None else y
        given = names or X.names, target or X.target
        return _labelled(_of_store(X), labels, X.n, X.d, told, *given)
    if names is not None and hasattr(X, "shape") and len(names) != X.shape[-1]:
        raise DataError(f"there are {len(names)} names, and A has {X.shape[-1]} columns")
    if hasattr(X, "blocks") and hasattr(X, "chunks"):
        return _of_dask(X, y, told, names, target)
    if sp.issparse(X):
        return _labelled(_of_sparse(X), y, X.shape[0], X.shape[1], told, names, target)
    if isinstance(X, Iterator):
        if y is not None:
            raise ParameterError("labels come in pairs with the rows: an iterator takes no y")
        return Source(_of_pairs(X))
    values = plain_array(X, "A")
    if values.ndim != 2:
        hint = "; use A.reshape(-1, 1) for one feature" if values.ndim == 1 else ""
        raise DataError(f"A must have two dimensions, not {values.ndim}{hint}")
    return _labelled(_of_dense(values), y, len(values), values.shape[1], told, names, target)


def _labelled(
    parts: Iterator[Any], y: Any, n: int, d: int, told: Told, names: Any = None, target: Any = None
) -> Source:
    """The blocks with their labels."""
    labels = None if y is None else _vector(y, n)

    def blocks() -> Iterator[Data]:
        row = 0
        for part in parts:
            last = row + part.shape[0]
            yield Data(part, None if labels is None else labels[row:last], names, target)
            row = last
            told(row / max(n, 1))

    return Source(blocks(), int(n), int(d))


def _vector(y: Any, n: int) -> np.ndarray:
    labels = plain_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape}, A has {n} rows")
    return labels


def _of_dense(values: np.ndarray) -> Iterator[Any]:
    n, d = values.shape
    step = max(1, BLOCK_BYTES // max(d * values.itemsize, 1))
    for first in range(0, n, step):
        yield values[first : first + step]


def _of_sparse(X: Any) -> Iterator[Any]:
    """Rows of sparse data, of CSR without a copy of it; indices are looked at before."""
    lines = lines_of(X)
    n, _ = lines.shape
    rows = max(1, int(n * BLOCK_BYTES / max(lines.data.nbytes + lines.indices.nbytes, 1)))
    whole = lines.as_scipy()
    if lines.format == "csc":  # every slice goes through all columns: few large ones
        rows = max(rows, -(-n // 64))
        for first in range(0, n, rows):
            yield whole[first : first + rows].tocsr()
        return
    for first in range(0, n, rows):
        ends = whole.indptr[first : first + rows + 1]
        inside = slice(int(ends[0]), int(ends[-1]))
        parts = (whole.data[inside], whole.indices[inside], ends - ends[0])
        yield sp.csr_array(parts, shape=(len(ends) - 1, lines.shape[1]))


def _of_store(store: Store) -> Iterator[Any]:
    for p in range(store.tiles[0]):
        row = [store.tile(p, q) for q in range(store.tiles[1])]
        if store.dense:
            yield np.hstack([tile.values for tile in row])  # type: ignore[union-attr]
        else:
            yield sp.hstack([as_scipy(tile) for tile in row], format="csr")  # type: ignore[arg-type]


def _of_dask(X: Any, y: Any, told: Told, names: Any, target: Any) -> Source:
    """One row of chunks at a time, each computed when its turn comes."""
    if len(X.shape) != 2:
        raise DataError(f"A must have two dimensions, not {len(X.shape)}")
    if any(size != size for size in X.shape):  # NaN
        raise DataError("the chunks of A have unknown sizes: call A.compute_chunk_sizes() first")
    labels = y.compute() if hasattr(y, "compute") else y

    def parts() -> Iterator[Any]:
        for i in range(len(X.chunks[0])):
            row = [X.blocks[i, j].compute() for j in range(len(X.chunks[1]))]
            sparse = sp.issparse(row[0])
            yield sp.hstack(row, format="csr") if sparse else np.hstack(row)

    n, d = (int(size) for size in X.shape)
    return _labelled(parts(), labels, n, d, told, names, target)


def _of_pairs(pairs: Iterable[Any]) -> Iterator[Data]:
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise DataError("an iterator must yield pairs (rows, labels); labels may be None")
        rows, labels = pair
        yield Data(rows, None if labels is None else _vector(labels, rows.shape[0]))


def source_of_file(
    path: Path,
    told: Told,
    scratch: Path,
    *,
    format: str | None,
    target: str | int | None,
    n_features: int | None,
    zero_based: bool | str,
    check: bool,
    count_rows: bool,
    as_text: bool,
) -> Source:
    """Blocks of a file of any format; ``scratch`` is a folder for what must be unpacked first."""
    kind = format_of(path, format)
    if kind == "libsvm":
        return _of_libsvm(path, told, n_features, zero_based, count_rows)
    if kind == "store":
        return source_of_array(open_store(path, verify=check), None, told)
    if kind == "npz":
        data = read_npz_unmended(unpacked(path, scratch), check)
        return source_of_array(data.A, data.b, told)
    if kind == "npy":
        return _of_npy(path, told, target, n_features)
    if count_rows:
        raise ParameterError(f"the rows of {kind} files are not known before: say how many MB a "
                             "tile has, instead of how many tiles there are")  # fmt: skip
    if kind == "csv":
        return Source(iter_csv(path, target, n_features, as_text, told=told))
    return Source(iter_parquet(path, target, n_features, told=told))


def _of_libsvm(
    path: Path, told: Told, n_features: int | None, zero_based: bool | str, count_rows: bool
) -> Source:
    rows, width, done = None, n_features, 0.0
    if zero_based == "auto" or count_rows:
        found = survey(path, lambda share: told(0.5 * share))
        rows, done = found.rows, 0.5
        if zero_based == "auto":
            zero_based = found.smallest == 0
        if width is None and found.largest >= 0:
            width = found.largest + (1 if zero_based else 0)
    blocks = iter_libsvm(
        path, width, bool(zero_based), TEXT_BYTES, lambda share: told(done + (1.0 - done) * share)
    )
    return Source(blocks, rows, width)


def _of_npy(path: Path, told: Told, target: str | int | None, n_features: int | None) -> Source:
    """A table with the target in one of its columns, or none if it has as many as asked for."""
    table = read_npy(path)
    n, width = table.shape
    if n_features == width:
        return source_of_array(table, None, told)
    where = target_position(path, None, width, target)
    if width == 1:
        raise DataError(f"{path} has one column: there is nothing beside the target")
    rest = np.delete(np.arange(width), where)
    parts = (part[:, rest] for part in _of_dense(table))
    return _labelled(parts, np.array(table[:, where]), n, width - 1, told)
