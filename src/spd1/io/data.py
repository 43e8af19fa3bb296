"""Read and write data by the name of the file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from ..data.indices import trusted
from ..data.store import Store, open_store
from ..errors import DataError, ParameterError
from ..files import Data, check_writable, format_of, replacing
from .arrays import read_npy, read_npz, write_members, write_npy, write_npz
from .libsvm import CHUNK_BYTES, iter_libsvm, read_libsvm, write_libsvm
from .split_target import split_target
from .store import write_store
from .tables import read_csv, read_parquet, write_csv, write_parquet

__all__ = ["libsvm_to_npz", "read_data", "write_data"]


def read_data(
    path: str | Path,
    *,
    format: str | None = None,
    target: str | int | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    features: list[str] | None = None,
    check: bool = True,
) -> Data:
    r"""Read features and labels from a file.

    Parameters
    ----------
    path : str or Path
        LIBSVM text and CSV may be compressed (.gz, .bz2, .xz). A folder is a store: its A is a
        ``Store``, which stays on disk.
    format : {"libsvm", "csv", "parquet", "npz", "npy", "store"}, optional
        Default: by the suffix; LIBSVM text where it says nothing.
    target : str or int, optional
        For CSV, Parquet and NPY: the column with the target, by name or number; default: the last.
    n_features : int, optional
        Number of features expected, such as a model's. A table with exactly as many columns has
        no target; LIBSVM text with a larger index is refused.
    zero_based : bool or "auto"
        For LIBSVM text.
    features : list of str, optional
        For tables with names: the columns to take, in this order.
    check : bool
        For NPZ: compare checksums, which takes a pass over the file. Without it a damaged file may
        be read with other numbers.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "data.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("a,b,label\n1,2,0\n3,4,1\n")
    >>> data = read_data(path)
    >>> data.A.tolist(), data.b.tolist(), data.names
    ([[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0], ['a', 'b'])
    """
    kind = format_of(path, format)
    if kind == "libsvm":
        return read_libsvm(path, n_features, zero_based)
    if kind == "store":
        return _read_store(path, features)
    if kind == "npz":
        return read_npz(path, check)
    if kind == "npy":
        columns = read_npy(path)
        if n_features is not None and columns.shape[1] == n_features:
            return Data(columns, None)
        return split_target(path, None, list(columns.T), target)
    names, fields = read_csv(path) if kind == "csv" else read_parquet(path)
    return split_target(path, names, fields, target, features, n_features)


def _read_store(path: str | Path, features: list[str] | None) -> Data:
    store = open_store(path)
    if features and store.names and features != store.names:
        raise DataError(
            f"{path} has other columns than the model was trained on, or in another order: write "
            "the store again from a table with these columns"
        )
    return Data(store, store.labels, store.names, store.target)


def write_data(
    path: str | Path, data: Data, *, format: str | None = None, dense: bool = False
) -> None:
    """Write data in the format that the suffix names.

    Sparse data is not blown up without ``dense=True``; text labels only go into tables.

    Examples
    --------
    >>> import os, tempfile, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "out.npz")
    >>> write_data(path, Data(np.eye(2), np.array([1.0, -1.0])))
    >>> read_data(path).b.tolist()
    [1.0, -1.0]
    """
    kind = format_of(path, format)
    A: Any = data.A
    if kind == "store":
        write_store(path, A, data.b, names=data.names, target=data.target, overwrite=True)
        return
    check_writable(path)
    if isinstance(A, Store):
        raise ParameterError(f"{A.path} is a store: it can only be written as another store")
    if kind in ("csv", "parquet", "npy") and sp.issparse(A):
        if not dense:
            size = 8 * A.shape[0] * A.shape[1] / 2**20
            raise ParameterError(
                f"{kind} files are dense, {A.shape[0]} x {A.shape[1]} here ({size:.0f} MB): use "
                "npz or libsvm, or allow it with --dense"
            )
        A = trusted(A).toarray()
    text = data.b is not None and data.b.dtype.kind not in "fiub"
    if text and kind not in ("csv", "parquet"):
        raise DataError(
            f"the labels are text, {str(np.asarray(data.b)[0])!r} for one, and {kind} files hold "
            "numbers: write .csv or .parquet"
        )
    data = data._replace(A=A)
    if kind == "libsvm":
        write_libsvm(path, A, np.zeros(A.shape[0]) if data.b is None else data.b)
    elif kind == "npz":
        write_npz(path, A, data.b)
    elif kind == "csv":
        write_csv(path, data)
    elif kind == "parquet":
        write_parquet(path, data)
    else:
        write_npy(path, A if data.b is None else np.column_stack([A, data.b]))


def libsvm_to_npz(
    source: str | Path,
    path: str | Path,
    n_features: int | None = None,
    zero_based: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
) -> tuple[int, int, int]:
    r"""Convert LIBSVM text of any size to NPZ, some rows in memory at a time.

    The result is mapped, not read, by ``read_data``: data larger than memory can be used.
    Returns rows, columns and stored entries.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> source, path = os.path.join(folder, "in.svm"), os.path.join(folder, "out.npz")
    >>> with open(source, "w") as file:
    ...     _ = file.write("1 1:1 3:2\n-1 2:5\n")
    >>> libsvm_to_npz(source, path)
    (2, 3, 3)
    """
    check_writable(path)
    counts = [np.zeros(1, dtype=np.int64)]
    labels: list[np.ndarray] = []
    width = n_features or 0
    with (
        tempfile.TemporaryFile(dir=Path(path).parent) as values,
        tempfile.TemporaryFile(dir=Path(path).parent) as indices,
    ):
        for block in iter_libsvm(source, n_features, zero_based, chunk_bytes):
            width = max(width, block.A.shape[1])
            values.write(block.A.data.data)
            indices.write(block.A.indices.astype(np.int64).data)
            counts.append(np.diff(block.A.indptr).astype(np.int64))
            labels.append(block.b if block.b is not None else np.zeros(0))
        indptr = np.cumsum(np.concatenate(counts))
        if len(indptr) == 1:
            raise DataError(f"{source} has no rows")
        if width == 0:
            raise DataError(f"{source} has no features: every line is a label alone")
        rows, stored = len(indptr) - 1, int(indptr[-1])
        small = max(rows, width, stored) < 2**31
        index = np.dtype(np.int32 if small else np.int64)
        length = np.lib.stride_tricks.as_strided
        members: dict[str, Any] = {
            "indptr": (indptr.astype(index), None),
            "shape": (np.array([rows, width]), None),
            "format": (np.array(b"csr"), None),
            "b": (np.concatenate(labels), None),
            "data": (length(np.zeros(1), (stored,), (0,)), _pieces(values, np.float64)),
            "indices": (
                length(np.zeros(1, index), (stored,), (0,)),
                _pieces(indices, np.int64),
            ),
        }
        with replacing(path) as stream:
            write_members(stream, members)
    return rows, width, stored


def _pieces(stream: IO[bytes], dtype: Any) -> Iterator[np.ndarray]:
    stream.seek(0)
    while piece := stream.read(CHUNK_BYTES):
        yield np.frombuffer(piece, dtype)
