"""NPZ and NPY files. Uncompressed members are mapped into memory instead of read.

Members of the NPZ files written here start at multiples of 64 bytes, so that kernels can use
them where they lie on disk: data larger than memory is converted once and then mapped.
"""

from __future__ import annotations

import os
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from ..data.indices import trusted
from ..data.memory import NEVER_ASKED, available_memory
from ..errors import DataError
from ..files import Data, read_array_header, reading, replacing

__all__ = ["read_npy", "read_npz", "write_npy", "write_npz"]

ALIGN = 64
PADDING_ID = 0x5D1  # tag of the extra field that only fills space
LOCAL_HEADER = 30  # bytes before the name in a zip member
ZIP64_EXTRA = 20  # bytes that force_zip64 adds to the extra field
MATRIX_NAMES, LABEL_NAMES = ("A", "X", "data", "arr_0"), ("b", "y", "labels", "target", "arr_1")
WORTH_MAPPING = 2**16  # bytes
SUMMED_AT_ONCE = 2**24  # bytes of a mapped member
SPARSE_NAMES = ("data", "indices", "indptr", "shape")


def read_npz(path: str | Path, check: bool = True) -> Data:
    """Read A and b from an NPZ file: dense (A or X, b or y) or CSR/CSC as SciPy writes it.

    Parameters
    ----------
    path : str or Path
    check : bool
        Compare the checksums of all arrays: one pass over the bytes of those that are mapped.

    Examples
    --------
    >>> import os, tempfile, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "data.npz")
    >>> write_npz(path, np.eye(2), [1.0, -1.0])
    >>> read_npz(path).A.tolist(), read_npz(path).b.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    """
    data = read_npz_unmended(path, check)
    if not sp.issparse(data.A):
        return data
    try:
        return data._replace(A=trusted(data.A))  # nobody who gets it looks again
    except DataError as error:
        raise DataError(f"{path} holds a broken sparse matrix ({error})") from None


def read_npz_unmended(path: str | Path, check: bool = True) -> Data:
    """The same, but indices are as they stand in the file: whoever gets them must look at them."""
    with reading(path):
        arrays = _arrays(path, check)
    if all(name in arrays for name in SPARSE_NAMES):
        A: Any = _sparse(path, arrays)
    else:
        A = _first(arrays, MATRIX_NAMES)
        if A is None:
            raise DataError(f"{path} has no array called {' or '.join(MATRIX_NAMES[:2])}; it has "
                            f"{', '.join(arrays) or 'none'}")  # fmt: skip
        if A.ndim != 2:
            raise DataError(f"{path}: A has {A.ndim} dimensions, not 2")
        _refuse_kind(path, "A", A, "fiub", "numbers only")
    b = _first(arrays, LABEL_NAMES)
    if b is not None:
        _refuse_kind(path, "b", b, "fiubU", "numbers or text only")
        if b.shape != (A.shape[0],):
            raise DataError(f"{path}: b has shape {b.shape}, A has {A.shape[0]} rows")
    return Data(A, b)


def _arrays(path: str | Path, check: bool) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name == info.filename:
                    continue
                if name in arrays:
                    raise DataError(f"{path} has two arrays called {name}")
                arrays[name] = _member(path, archive, info, check)
    except DataError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise DataError(f"{path} is not an NPZ file ({error})") from None
    return arrays


def _refuse_kind(path: str | Path, name: str, array: np.ndarray, kinds: str, what: str) -> None:
    if array.dtype.kind not in kinds:
        raise DataError(f"{path}: {name} has dtype {array.dtype}: {what}")


def write_npz(path: str | Path, A: Any, b: Any = None) -> None:
    """Write A, dense or sparse, and b; SciPy's ``load_npz`` reads the sparse ones too."""
    if sp.issparse(A):
        A = trusted(A)
        A = A if A.format in ("csr", "csc") else A.tocsr()
        arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr,
                  "shape": np.array(A.shape), "format": np.array(A.format.encode())}  # fmt: skip
    else:
        arrays = {"A": np.asarray(A)}
    if b is not None:
        arrays["b"] = np.asarray(b)
    with replacing(path) as stream:
        write_members(stream, {name: (array, None) for name, array in arrays.items()})


def unpacked(path: str | Path, folder: Path) -> Path:
    """A file whose arrays can be mapped: the same one, or a copy without compression in a folder.

    Its members are copied some bytes at a time.
    """
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                if all(info.compress_type == zipfile.ZIP_STORED for info in members):
                    return Path(path)
                if all(info.file_size < WORTH_MAPPING for info in members):
                    return Path(path)
                copy = folder / "unpacked.npz"
                with copy.open("wb") as stream, zipfile.ZipFile(stream, "w") as new:
                    for info in members:
                        plain = _aligned(info.filename, stream.tell())
                        with (
                            archive.open(info) as old,
                            new.open(plain, "w", force_zip64=True) as to,
                        ):
                            shutil.copyfileobj(old, to, SUMMED_AT_ONCE)
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            zlib.error,
            EOFError,
        ) as error:
            raise DataError(f"{path} is not an NPZ file ({error})") from None
    return copy


def _aligned(name: str, place: int) -> zipfile.ZipInfo:
    """A member that begins at a multiple of 64 bytes, if it is written at this place."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    before = place + LOCAL_HEADER + len(info.filename) + ZIP64_EXTRA + 4
    info.extra = struct.pack("<HH", PADDING_ID, -before % ALIGN) + bytes(-before % ALIGN)
    return info


def read_npy(path: str | Path) -> np.ndarray:
    """Map a two-dimensional array of numbers. The format has no checksum: lengths are checked.

    Examples
    --------
    >>> import os, tempfile, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "data.npy")
    >>> write_npy(path, np.eye(2))
    >>> read_npy(path).shape
    (2, 2)
    """
    with reading(path), open(path, "rb") as stream:
        try:
            header = read_array_header(stream)
        except (ValueError, EOFError) as error:
            raise DataError(f"{path} is not an NPY file of numbers ({error})") from None
        start, end = stream.tell(), stream.seek(0, os.SEEK_END)
        if len(header.shape) != 2:
            raise DataError(f"{path} does not hold a two-dimensional array")
        if header.dtype.kind not in "fiub":
            raise DataError(f"{path} has dtype {header.dtype}: numbers only")
        if start + header.size != end:
            raise DataError(f"{path} is not as long as its header says")
        if header.size == 0:  # nothing to map
            return np.zeros(header.shape, header.dtype)
        return np.memmap(path, header.dtype, "r", start, header.shape, header.order)


def write_npy(path: str | Path, A: np.ndarray) -> None:
    """Write one array, whole or not at all."""
    with replacing(path) as stream:
        np.save(stream, A, allow_pickle=False)


Chunks = Iterable[np.ndarray]


def write_members(
    stream: IO[bytes], arrays: Mapping[str, tuple[np.ndarray, Chunks | None]]
) -> None:
    """Write aligned, uncompressed NPY members.

    Each is an array, or an array of length and type alone with the chunks that make it up.
    """
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, (array, chunks) in arrays.items():
            info = _aligned(f"{name}.npy", stream.tell())
            with archive.open(info, "w", force_zip64=True) as member:
                if chunks is None:
                    npy.write_array(member, array, allow_pickle=False)
                    continue
                npy.write_array_header_1_0(member, npy.header_data_from_array_1_0(array))
                for chunk in chunks:
                    member.write(np.ascontiguousarray(chunk, dtype=array.dtype).data)


def _member(
    path: str | Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, check: bool
) -> np.ndarray:
    """Map a member that lies uncompressed and aligned; read any other."""
    try:
        with archive.open(info) as member:
            header = read_array_header(member)
            shape, dtype, begins = header.shape, header.dtype, member.tell()
            if begins + header.size != info.file_size:
                raise ValueError("it is not as long as its header says")
            place = _data_start(path, info)
            stored = info.compress_type == zipfile.ZIP_STORED
            aligned = (place + begins) % dtype.alignment == 0
            if stored and aligned and header.size >= WORTH_MAPPING:
                if check:
                    _check_mapped(path, place, info)
                return np.memmap(path, dtype, "r", place + begins, shape, header.order)
            _refuse_unless_it_fits(header.size)
            content = member.read()  # to the end: there the checksum is compared
            return np.frombuffer(content, dtype).reshape(shape, order=header.order)
    except (ValueError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise DataError(f"{path}: {info.filename} is damaged ({error})") from None


def _check_mapped(path: str | Path, place: int, info: zipfile.ZipInfo) -> None:
    """Compare the checksum of a member with its bytes where they are mapped."""
    content = np.memmap(path, np.uint8, "r", place, (info.file_size,))
    found = 0
    for start in range(0, info.file_size, SUMMED_AT_ONCE):
        found = zlib.crc32(content[start : start + SUMMED_AT_ONCE].data, found)
    if found != info.CRC:
        raise ValueError(f"its checksum is {found:08x}, not {info.CRC:08x}")


def _refuse_unless_it_fits(size: int) -> None:
    if size > NEVER_ASKED and size > available_memory():
        raise ValueError(f"it takes {size / 2**30:,.1f} GB of memory, more than there is")


def _data_start(path: str | Path, info: zipfile.ZipInfo) -> int:
    """Where a member's bytes begin: after its local header, name and extra field."""
    with open(path, "rb") as stream:
        stream.seek(info.header_offset)
        header = stream.read(LOCAL_HEADER)
    if len(header) != LOCAL_HEADER:
        raise ValueError("it begins behind the end of the file")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    return int(info.header_offset + LOCAL_HEADER + name_length + extra_length)


def _first(arrays: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _sparse(path: str | Path, arrays: dict[str, np.ndarray]) -> Any:
    named = arrays.get("format", np.array(b"csr"))
    if named.size != 1:
        raise DataError(f"{path}: format is no name")
    kind = named.item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
    if kind not in ("csr", "csc"):
        raise DataError(f"{path} holds a sparse matrix in {kind} form: use CSR or CSC")
    build = sp.csr_array if kind == "csr" else sp.csc_array
    for name in SPARSE_NAMES[1:]:  # SciPy would cut fractions off
        if arrays[name].dtype.kind not in "iu":
            raise DataError(f"{path}: {name} has type {arrays[name].dtype}: whole numbers only")
    _refuse_kind(path, "data", arrays["data"], "fiub", "numbers only")
    shape = tuple(int(v) for v in np.ravel(arrays["shape"]))
    try:
        return build(tuple(arrays[name] for name in SPARSE_NAMES[:3]), shape=shape, copy=False)
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise DataError(f"{path} holds a broken sparse matrix ({error})") from None
