"""A folder of files, or a zarr array, as a dask array: workers read, nothing passes here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..cluster.tuning import LONGEST_WAIT
from ..errors import ClusterError, DataError, ParameterError, install
from ..files import format_of
from .data import read_data

__all__ = ["Parts", "read_parts"]

SKIPPED = (".", "_")  # names of files that writers of folders leave beside the parts


class Parts(NamedTuple):
    """Chunked data, for ``Problem(parts.X, parts.y)``: X and y are dask arrays."""

    X: Any
    y: Any
    names: list[str] | None
    target: str | None


class Size(NamedTuple):
    """What a worker says about a part: how large it is, and what is in it."""

    rows: int
    columns: int
    names: list[str] | None
    target: str | None
    kind: str  # of the labels
    dtype: str


def read_parts(
    path: str | Path,
    y: Any = None,
    *,
    format: str | None = None,
    target: str | int | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    client: Any = None,
) -> Parts:
    r"""A folder of files as one chunked array: a chunk of rows a file, by the order of their names.

    Every part is read twice by a worker: once now, for its size, and once when it is used. All
    workers must see the folder under the same name.

    Parameters
    ----------
    path : str or Path
        A folder of files that ``read_data`` reads, all of one kind; or a zarr array of numbers
        (``*.zarr``), whose own chunks are kept.
    y : array, optional
        For a zarr array, which has no labels.
    format, target
        As for ``read_data``.
    n_features : int, optional
        For LIBSVM text; default: the largest index in any part.
    zero_based : bool
        For LIBSVM text: whether indices begin with 0. It is not guessed: parts may differ.
    client : distributed.Client, optional
        Who reads the sizes. Default: dask's own choice, such as the client that is there.

    Examples
    --------
    >>> import os, tempfile, numpy as np, spd1
    >>> folder = tempfile.mkdtemp()
    >>> for k in range(2):
    ...     with open(os.path.join(folder, f"part-{k}.csv"), "w") as file:
    ...         _ = file.write("a,b,label\n1,2,0\n3,4,1\n")
    >>> parts = spd1.io.read_parts(folder)
    >>> parts.X.chunks, parts.y.compute().tolist(), parts.names
    (((2, 2), (2,)), [0.0, 1.0, 0.0, 1.0], ['a', 'b'])
    """
    try:
        import dask.array as da
        from dask.base import compute as compute_here
        from dask.delayed import delayed
    except ImportError:
        raise ImportError(install("read_parts needs dask", "dask")) from None
    path = Path(path)
    if path.suffix == ".zarr" or (path / ".zarray").exists() or (path / "zarr.json").exists():
        if any(given is not None for given in (format, target, n_features)) or zero_based:
            raise ParameterError("a zarr array is numbers alone: of the options it takes y")
        return _of_zarr(path, y)
    if y is not None:
        raise ParameterError("labels of a folder of files come with them: y is for zarr arrays")
    files = files_of(path)
    kind = one_kind(files, format)
    options = {"format": kind, "target": target, "n_features": n_features}
    if kind == "libsvm":
        options["zero_based"] = zero_based
    pieces = [delayed(_read)(str(file), options) for file in files]
    asked = [delayed(_size)(piece) for piece in pieces]
    compute: Any = compute_here if client is None else _computed_by(client)
    found = [Size(*size) for size in compute(*asked)]
    width = agreed(files, found, kind, n_features)
    rows, labels = [], []
    for piece, size in zip(pieces, found, strict=True):
        shape = size.rows, width
        rows.append(da.from_delayed(delayed(_features)(piece, width), shape, size.dtype))
        labels.append(da.from_delayed(delayed(_labels)(piece), (size.rows,), np.dtype(size.kind)))
    X, y = da.concatenate(rows), da.concatenate(labels)
    return Parts(X, y, found[0].names, found[0].target)


def files_of(folder: Path) -> list[Path]:
    """The parts in a folder, by name, or a refusal."""
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder")
    files = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith(SKIPPED)
    )
    inner = sorted(
        part.name for part in folder.iterdir()
        if part.is_dir() and not part.name.startswith(SKIPPED)
    )  # fmt: skip
    if inner:  # rows in there would be missing without a word
        raise DataError(
            f"{folder} has folders inside ({', '.join(inner[:3])}), which are not read: put all "
            "parts into one folder, or read each of these by itself"
        )
    if not files:
        raise DataError(f"{folder} has no files")
    return files


def one_kind(files: list[Path], given: str | None) -> str:
    """The format of all parts, or a refusal with the name of one that has another."""
    kind = format_of(files[0], given)
    for file in files:
        if format_of(file, given) != kind:
            raise DataError(
                f"parts must be of one kind: {file} is {format_of(file, given)}, {files[0]} {kind}"
            )
    return kind


def agreed(files: list[Path], sizes: list[Size], kind: str, n_features: int | None) -> int:
    """The number of columns of all parts, or a refusal with the name of one that differs."""
    full = [k for k, size in enumerate(sizes) if size.rows]
    if not full:
        raise DataError(f"{files[0].parent} has no rows: all its parts are empty")
    for k in full:
        if (sizes[k].kind[1] == "U") != (sizes[full[0]].kind[1] == "U"):
            raise DataError(
                f"labels must be of one kind: {files[k]} has "
                f"{'text' if sizes[k].kind[1] == 'U' else 'numbers'}, {files[full[0]]} has not"
            )
    if kind == "libsvm":
        return n_features or max(size.columns for size in sizes)
    for file, size in zip(files, sizes, strict=True):
        if (size.columns, size.names, size.target) != (
            sizes[0].columns, sizes[0].names, sizes[0].target,
        ):  # fmt: skip
            raise DataError(f"{file} has other columns than {files[0]}")
    return sizes[0].columns


def _computed_by(client: Any) -> Any:
    def compute(*asked: Any) -> list[Any]:
        from distributed import wait

        futures = client.compute(list(asked))
        try:
            wait(futures, timeout=LONGEST_WAIT)
        except TimeoutError:
            late = sum(not future.done() for future in futures)
            raise ClusterError(
                f"the sizes of {late} of {len(futures)} parts did not come within "
                f"{LONGEST_WAIT:.0f} s: are there workers, and do they see the folder?"
            ) from None
        found: list[Any] = client.gather(futures)
        return found

    return compute


def _read(file: str, options: dict[str, Any]) -> Any:
    return read_data(file, **options)


def _size(data: Any) -> tuple[Any, ...]:
    if data.b is None:
        raise DataError("a part has no labels")
    kind = data.b.dtype.str if data.b.dtype.kind in "fiub" else "<U64"
    return (*data.A.shape, data.names, data.target, kind, str(data.A.dtype))


def _features(data: Any, width: int) -> Any:
    """The rows of a part; LIBSVM parts may end at different columns."""
    if not sp.issparse(data.A):
        return np.ascontiguousarray(data.A)
    A = sp.csr_array(data.A)
    return sp.csr_array((A.data, A.indices, A.indptr), shape=(A.shape[0], width))


def _labels(data: Any) -> np.ndarray:
    return np.asarray(data.b)


def _of_zarr(path: Path, y: Any) -> Parts:
    import dask.array as da

    try:
        X = da.from_zarr(str(path))
    except ImportError:
        raise ImportError("zarr arrays need zarr: pip install zarr") from None
    except (ValueError, OSError) as error:  # all of zarr's own errors are one of these
        raise DataError(f"{path} is not a zarr array ({error})") from None
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise DataError(f"{path} must be a table of numbers, not {X.ndim} dimensions of {X.dtype}")
    if y is not None and len(y) != X.shape[0]:
        raise DataError(f"{path} has {X.shape[0]:,} rows, and there are {len(y):,} labels")
    return Parts(X, y, None, None)
