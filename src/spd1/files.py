"""Opening, compressing and replacing files; what goes wrong is said with the file's name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .errors import DataError, ParameterError

__all__ = ["FORMATS", "Data", "format_of", "open_bytes", "reading", "replacing"]

#: Suffix -> format. A compression suffix after it (.gz, .bz2, .xz) is taken off first.
SUFFIXES = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".dat": "libsvm",
    ".t": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
}
FORMATS = ("libsvm", "csv", "parquet", "npz", "npy")
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
BROKEN = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)


class Data(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    A : array or scipy.sparse.csr_array, shape (n, d)
    b : array of shape (n,) or None
        Labels or targets, numbers or text, as they stand in the file.
    names : list of str or None
        Names of the columns of A, where the file has them.
    target : str or None
        Name of the column that b came from.
    """

    A: Any
    b: np.ndarray | None
    names: list[str] | None = None
    target: str | None = None


def format_of(path: str | Path, given: str | None = None) -> str:
    """The format of a file: as given, else by its suffix, else LIBSVM text.

    Examples
    --------
    >>> format_of("train.csv.gz"), format_of("a9a"), format_of("a9a", "npz")
    ('csv', 'libsvm', 'npz')
    """
    if given:
        if given not in FORMATS:
            raise ParameterError(f"unknown format {given!r}: choose from {', '.join(FORMATS)}")
        return given
    path = Path(path)
    if path.suffix.lower() in OPENERS:
        path = path.with_suffix("")
    return SUFFIXES.get(path.suffix.lower(), "libsvm")


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turn what the system says about a file into one sentence with its name."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file") from None
    except PermissionError:
        raise DataError(f"{path} can't be read: permission denied") from None
    except BROKEN as error:
        raise DataError(f"{path} is cut off or corrupted ({error})") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start} can't be read)") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}") from None


def open_bytes(path: str | Path) -> IO[bytes]:
    """Open a file, plain, .gz, .bz2 or .xz, as bytes."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(path)
    opener = OPENERS.get(path.suffix.lower())
    stream: IO[bytes] = opener(path, "rb") if opener else path.open("rb")
    return stream


@contextmanager
def replacing(path: str | Path, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Write a file whole or not at all: into a temporary file beside it, renamed at the end.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "note.txt")
    >>> with replacing(path) as stream:
    ...     _ = stream.write(b"all of it")
    >>> os.listdir(os.path.dirname(path))
    ['note.txt']
    """
    path = Path(path)
    check_writable(path, overwrite)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w+b") as raw:
            compress = OPENERS.get(path.suffix.lower())
            if compress:
                with compress(raw, "wb") as stream:
                    yield stream
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path, overwrite: bool = True) -> None:
    """Refuse a place that can't be written to before any work starts."""
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder: name a file")
    if path.exists() and not overwrite:
        raise DataError(f"{path} exists: name another file, or allow overwriting with --force")
    if not path.parent.is_dir():
        raise DataError(f"{path} can't be written: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path} can't be written: permission denied")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
