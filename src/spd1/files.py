"""Opening, compressing and replacing files; what goes wrong is said with the file's name."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import math
import os
import platform
import shutil
import stat
import tempfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy

from .errors import DataError, ParameterError, suggestion

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
    ".store": "store",
}
#: What others write, and we neither read nor write.
FOREIGN_SUFFIXES = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".ods"), "a spreadsheet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), "a pickle"),
    **dict.fromkeys((".feather", ".arrow", ".orc", ".avro"), "a columnar file"),
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".nc"), "HDF"),
    **dict.fromkeys((".sas7bdat", ".dta", ".sav", ".rds", ".rdata", ".mat", ".arff"), "a data set"),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz", ".zst"), "an archive"),
    **dict.fromkeys((".html", ".xml", ".pdf", ".png", ".svg", ".jpg", ".md", ".py"), "a document"),
}
FORMATS = ("libsvm", "csv", "parquet", "npz", "npy", "store")
FOREIGN_FORMATS = {"svmlight": "libsvm", "svm": "libsvm", "tsv": "csv", "pq": "parquet"}
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PART = ".part"  # suffix of files that are being written
RESTING, FORGOTTEN = 60.0, 86400.0  # seconds without a byte: of a dead process, of any
MOST_LINKS = 40
STREAMS = ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
SPECIAL: dict[Any, str] = {
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
}
NO_ROOM = {
    errno.ENOSPC, errno.EFBIG, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM,
    getattr(errno, "EDQUOT", errno.ENOSPC),
}  # fmt: skip
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

    Examples
    --------
    >>> data = Data(np.eye(3), np.array(["no", "yes", "yes"]), ["age", "pulse", "weight"])
    >>> data.A.shape, data.b[0] == "no"
    ((3, 3), True)
    """

    A: Any
    b: np.ndarray | None
    names: list[str] | None = None
    target: str | None = None


def format_of(path: str | Path, given: str | None = None) -> str:
    """The format of a file: as given, else by its suffix, else LIBSVM text. A folder is a store.

    Suffixes of other programs are refused: LIBSVM text under such a name helps nobody.

    Examples
    --------
    >>> format_of("train.csv.gz"), format_of("a9a"), format_of("a9a", "npz")
    ('csv', 'libsvm', 'npz')
    """
    if given:
        if given not in FORMATS:
            near = suggestion(given, FORMATS, FOREIGN_FORMATS)
            raise ParameterError(
                f"unknown format {given!r}: {near}choose from {', '.join(FORMATS)}"
            )
        return given
    path = Path(path)
    if path.is_dir():
        return "store"
    if path.suffix.lower() in OPENERS:
        path = path.with_suffix("")
    suffix = path.suffix.lower()
    if suffix in FOREIGN_SUFFIXES:
        raise DataError(
            f"{path} is {FOREIGN_SUFFIXES[suffix]} by its name, and data here is "
            f"{', '.join(FORMATS)}: take CSV or Parquet, or name the format if this name misleads"
        )
    return SUFFIXES.get(suffix, "libsvm")


class ArrayHeader(NamedTuple):
    """What an NPY file says about its array."""

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype
    size: int  # bytes that the array takes after the header


def read_array_header(stream: IO[bytes]) -> ArrayHeader:
    """Read the header of an NPY file, or say in a ValueError why it is none.

    NumPy reads it as Python text, and lets through whatever that ends in.

    Examples
    --------
    >>> import io, numpy as np
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.zeros((2, 3)))
    >>> _ = stream.seek(0)
    >>> read_array_header(stream).shape
    (2, 3)
    """
    try:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"a version {version[0]}.{version[1]}, which is not known")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():  # about headers of Python 2
            warnings.simplefilter("ignore")
            shape, fortran, dtype = read(stream)
    except (ValueError, EOFError, OSError, MemoryError, zipfile.BadZipFile):
        raise
    except Exception as error:  # of the tokenizer, the parser, np.dtype
        raise ValueError(f"its header can't be read: {type(error).__name__}") from None
    if dtype.hasobject:
        raise ValueError("it holds Python objects: numbers only")
    if any(side < 0 for side in shape) or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise ValueError("its header makes no sense")
    size = math.prod(map(int, shape)) * dtype.itemsize
    return ArrayHeader(shape, "F" if fortran else "C", dtype, size)


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
        raise DataError(
            f"{path} is not UTF-8 text (byte {error.start} can't be read): save it as UTF-8"
        ) from None
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


def share_read(stream: IO[bytes], path: str | Path) -> float:
    """How much of a file has been read, as a share of its own bytes, compressed or not."""
    raw = getattr(stream, "fileobj", None) or getattr(stream, "_fp", None) or stream
    return float(raw.tell() / max(os.path.getsize(path), 1))


@contextmanager
def replacing(path: str | Path, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """Write a file whole or not at all: into a temporary file beside it, renamed at the end.

    A symbolic link stays, and what it leads to is replaced. The mode of a file that is replaced
    is kept. What killed processes have left of the same file is removed.

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
    place = Path(os.path.realpath(path))
    with saying_why(path):
        remove_stale(place)
        handle, name = tempfile.mkstemp(prefix=part_prefix(place), suffix=PART, dir=place.parent)
    temporary = Path(name)
    try:
        with saying_why(path):
            with os.fdopen(handle, "w+b") as raw:
                compress = OPENERS.get(path.suffix.lower())
                if compress:
                    with compress(raw, "wb") as stream:
                        yield stream
                else:
                    yield raw
                raw.flush()
                os.fsync(raw.fileno())
            _take_mode(temporary, place)
            temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path, overwrite: bool = True, reads: Sequence[Path] = ()) -> None:
    """Refuse a place that can't be written to before any work starts.

    ``reads`` are files that the work needs: none of them is replaced, whatever ``overwrite`` says.
    """
    path = Path(path)
    _refuse_streams(path)
    try:
        found: os.stat_result | None = path.stat()
    except FileNotFoundError:
        found = None
    except OSError as error:  # a circle of links, a file for a folder, a name too long
        raise DataError(f"{path} can't be written: {error.strerror or error}") from None
    if found is not None:
        if any(source.exists() and source.samefile(path) for source in reads):
            raise DataError(f"{path} is what this command reads: name another file to write to")
        _refuse_existing(path, found.st_mode, overwrite)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        shown = path.parent if not path.is_symlink() else folder
        raise DataError(f"{path} can't be written: the folder {shown} does not exist")
    if not os.access(folder, os.W_OK):
        raise DataError(f"{path} can't be written: permission denied")


def _refuse_existing(path: Path, mode: int, overwrite: bool) -> None:
    if stat.S_ISDIR(mode):
        raise DataError(f"{path} is a folder: name a file")
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in SPECIAL.items() if test(mode)), "something else")
        raise DataError(f"{path} is no regular file but {kind}: name a file")
    if not overwrite:
        raise DataError(f"{path} exists: name another file, or allow overwriting with --force")
    # the folder's permission would be enough to rename over it, and root may do anything
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise DataError(f"{path} can't be overwritten: it is write-protected")


def _refuse_streams(path: Path) -> None:
    """Refuse names of open streams: renaming would replace the file that a shell writes to."""
    place = os.path.abspath(path)
    for _ in range(MOST_LINKS):
        if place.startswith(STREAMS):
            raise DataError(f"{path} is no regular file but an open stream: name a file")
        if not os.path.islink(place):
            return
        place = os.path.abspath(os.path.join(os.path.dirname(place), os.readlink(place)))


@contextmanager
def saying_why(path: Path) -> Iterator[None]:
    """Turn a full disk and its like into one sentence with the name of the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DataError(
            f"{path} can't be written: {os.strerror(error.errno or 0)}; what was there before is "
            "as it was"
        ) from None


def _take_mode(temporary: Path, place: Path) -> None:
    """Give a new file the mode and owner of the one it replaces, or those that new files get."""
    try:
        old = place.stat()
    except FileNotFoundError:
        temporary.chmod(0o666 & ~_umask())
        return
    new = temporary.stat()
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(OSError):  # only root can, as a rule
            os.chown(temporary, old.st_uid, old.st_gid)
    temporary.chmod(stat.S_IMODE(old.st_mode))


def remove_stale(place: Path) -> None:
    """Remove what processes that no longer live have left of a file or folder they were writing."""
    start = f".{place.name[:40]}."
    names: list[str] = []
    with suppress(OSError):  # a folder may be written to and not be listed
        names = os.listdir(place.parent)
    for name in names:
        if name.startswith(start) and name.endswith(PART):
            left, words = place.parent / name, name[len(start) : -len(PART)].split(".")
            with suppress(OSError):
                idle = time.time() - left.stat().st_mtime
                if idle > FORGOTTEN or (idle > RESTING and _is_dead(words)):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()


def part_prefix(place: Path) -> str:
    """How the names of what this process is writing begin."""
    return f".{place.name[:40]}.{_machine()}.{os.getpid()}."


def _is_dead(words: list[str]) -> bool:
    """Whether the process that a temporary file is named after has ended, on this machine."""
    if os.name != "posix" or len(words) != 3 or words[0] != _machine() or not words[1].isdigit():
        return False
    try:
        os.kill(int(words[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
