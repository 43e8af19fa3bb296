"""Arrays and JSON in one file, checksummed, written whole or not at all. Reading runs no code.

A zip of ``about.json`` and of NPY members by number, as NumPy and unzip can read it. Its comment,
the last bytes of the file, is the checksum of all bytes before.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from .errors import DataError, ParameterError
from .files import OPENERS, check_writable, read_array_header, reading, replacing

__all__ = ["check_place", "read_archive", "write_archive"]

ABOUT = "about.json"
MARK = b"sha256:"
TRAILER = len(MARK) + 64  # bytes at the end of a file
LARGEST_TEXT = 2**30  # bytes of JSON
PIECE = 2**24  # bytes that are read and hashed at a time
NO_DATE = (1980, 1, 1, 0, 0, 0)


def check_place(path: Any, what: str) -> Path:
    """Refuse a place where no archive can be written before any work starts."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise ParameterError(f"{what} must be the name of a file, got {path!r}")
    place = Path(path)
    if place.suffix.lower() in OPENERS:
        raise ParameterError(f"{path}: {what} is not compressed, name it without {place.suffix}")
    check_writable(place)
    return place


def write_archive(
    path: Path, kind: str, version: int, about: dict[str, Any], arrays: Sequence[np.ndarray]
) -> None:
    """Write a file; one that is there before stays as it is until the new one is complete.

    Examples
    --------
    >>> import os, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers.npz"
    >>> write_archive(path, "numbers", 1, {"unit": "m"}, [np.arange(3)])
    >>> read_archive(path, "numbers", 1)
    ({'unit': 'm'}, [array([0, 1, 2])])
    """
    head = {"format": f"spd1-{kind}", "version": version, "arrays": len(arrays), "about": about}
    with replacing(path) as stream:
        with zipfile.ZipFile(stream, "w") as archive:
            archive.comment = MARK + bytes(64)
            archive.writestr(zipfile.ZipInfo(ABOUT, NO_DATE), json.dumps(head))
            for number, values in enumerate(arrays):
                member = zipfile.ZipInfo(f"{number}.npy", NO_DATE)
                with archive.open(member, "w", force_zip64=True) as out:
                    _write_array(out, values)
        digest = _digest(stream)
        stream.seek(-64, os.SEEK_END)
        stream.write(digest)


def _write_array(out: IO[bytes], values: np.ndarray) -> None:
    """Write an NPY member piece by piece: nothing is copied that lies in one."""
    if values.dtype.hasobject:
        raise DataError("an array of Python objects can't be written")
    values = values if values.flags.forc else np.ascontiguousarray(values)
    npy.write_array_header_2_0(out, npy.header_data_from_array_1_0(values))
    flat = values.reshape(-1, order="A").view(np.uint8) if values.size else np.zeros(0, np.uint8)
    for start in range(0, len(flat), PIECE):
        out.write(flat[start : start + PIECE].data)


def _digest(stream: IO[bytes]) -> bytes:
    """The checksum of all but the last bytes."""
    total, left = hashlib.sha256(), stream.seek(0, os.SEEK_END) - TRAILER
    stream.seek(0)
    while left > 0 and (piece := stream.read(min(PIECE, left))):
        total.update(piece)
        left -= len(piece)
    return total.hexdigest().encode()


def read_archive(path: Path, kind: str, version: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read a file; a foreign, newer, cut off or damaged one is refused by name."""
    with reading(path):
        try:
            with path.open("rb") as stream:
                _check_sum(path, stream, kind)
                with zipfile.ZipFile(stream) as archive:
                    return _read(path, archive, kind, version)
        except DataError:
            raise
        except (
            zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, KeyError, TypeError,
            zlib.error, EOFError, RecursionError, OverflowError,
        ) as error:  # fmt: skip
            raise DataError(f"{path} is not a spd1 {kind}, or damaged ({error})") from None
        except MemoryError:
            raise DataError(f"{path} is larger than the memory, or damaged") from None


def _check_sum(path: Path, stream: IO[bytes], kind: str) -> None:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - TRAILER, 0))
    trailer = stream.read()
    if not trailer.startswith(MARK):
        raise DataError(f"{path} is not a spd1 {kind}, or cut off or damaged: no checksum ends it")
    if trailer[len(MARK) :] != _digest(stream):
        raise DataError(f"{path} is damaged: its checksum does not match")


def _read(
    path: Path, archive: zipfile.ZipFile, kind: str, version: int
) -> tuple[dict[str, Any], list[np.ndarray]]:
    names = [info.filename for info in archive.infolist()]
    if ABOUT not in names:
        raise DataError(f"{path} is not a spd1 {kind}: it has no {ABOUT}")
    if archive.getinfo(ABOUT).file_size > LARGEST_TEXT:
        raise DataError(f"{path} is not a spd1 {kind}: {ABOUT} is too large")
    head = json.loads(archive.read(ABOUT))
    if not isinstance(head, dict) or head.get("format") != f"spd1-{kind}":
        raise DataError(f"{path} is not a spd1 {kind}: {ABOUT} says otherwise")
    if head["version"] != version:
        newer = head["version"] > version
        raise DataError(
            f"{path} is a {kind} of version {head['version']}, and this spd1 knows version "
            f"{version}: " + ("install a newer one" if newer else "it must be made anew")
        )
    members = [f"{number}.npy" for number in range(head["arrays"])]
    if sorted(names) != sorted([ABOUT, *members]):
        raise DataError(f"{path} is not a spd1 {kind}: members are missing, or do not belong there")
    return head["about"], [_array(archive, name) for name in members]


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of its own; no more memory is taken than the member has bytes."""
    size = archive.getinfo(name).file_size
    with archive.open(name) as stream:
        header = read_array_header(stream)
        if header.size != size - stream.tell():
            raise ValueError(f"{name} is not an array of its size")
        values = np.empty(math.prod(header.shape), dtype=header.dtype)
        flat, filled = values.view(np.uint8) if values.nbytes else np.zeros(0, np.uint8), 0
        while filled < len(flat) and (piece := stream.read(min(PIECE, len(flat) - filled))):
            flat[filled : filled + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            filled += len(piece)
    if filled < len(flat):
        raise ValueError(f"{name} is cut off")
    return values.reshape(header.shape, order=header.order)
