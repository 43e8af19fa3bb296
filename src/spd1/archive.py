"""Arrays and JSON in one file, checksummed, written whole or not at all. Reading runs no code.

A zip of ``about.json``, of NPY members by number, and of SHA256SUMS as the ``sha256sum`` program
writes them: NumPy and unzip can read it.
"""

from __future__ import annotations

import hashlib
import json
import math
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

ABOUT, SUMS = "about.json", "SHA256SUMS"
MOST_TEXT = 2**30  # bytes of JSON
PIECE = 2**24  # bytes that are read and hashed at a time
NO_DATE = (1980, 1, 1, 0, 0, 0)


def check_place(path: Any, what: str) -> Path:
    """Refuse a place where no archive can be written before any work starts."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise ParameterError(f"{what} must be the name of a file, got {path!r}")
    path = Path(path)
    if path.suffix.lower() in OPENERS:
        raise ParameterError(f"{path}: {what} is not compressed, name it without {path.suffix}")
    check_writable(path)
    return path


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
    sums = []
    with replacing(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        text = json.dumps(head).encode()
        archive.writestr(zipfile.ZipInfo(ABOUT, NO_DATE), text)
        sums.append(f"{hashlib.sha256(text).hexdigest()}  {ABOUT}\n")
        for number, values in enumerate(arrays):
            name = f"{number}.npy"
            member = zipfile.ZipInfo(name, NO_DATE)
            with archive.open(member, "w", force_zip64=True) as out:
                sums.append(f"{_write_array(out, values)}  {name}\n")
        archive.writestr(zipfile.ZipInfo(SUMS, NO_DATE), "".join(sums))


def _write_array(out: IO[bytes], values: np.ndarray) -> str:
    """Write an NPY member piece by piece: nothing is copied that lies in one. Its checksum."""
    if values.dtype.hasobject:
        raise DataError("an array of Python objects can't be written")
    values = values if values.flags.forc else np.ascontiguousarray(values)
    hashed = Hashed(out)
    npy.write_array_header_2_0(hashed, npy.header_data_from_array_1_0(values))
    flat = values.reshape(-1, order="A").view(np.uint8) if values.size else np.zeros(0, np.uint8)
    for start in range(0, len(flat), PIECE):
        hashed.write(memoryview(flat[start : start + PIECE]))
    return hashed.sum.hexdigest()


class Hashed:
    """A stream that adds up the checksum of what is written to it."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out, self.sum = out, hashlib.sha256()

    def write(self, content: Any) -> None:
        self.sum.update(content)
        self.out.write(content)


def read_archive(path: Path, kind: str, version: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read a file; a foreign, newer, cut off or damaged one is refused by name."""
    with reading(path):
        try:
            with zipfile.ZipFile(path) as archive:
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


def _read(
    path: Path, archive: zipfile.ZipFile, kind: str, version: int
) -> tuple[dict[str, Any], list[np.ndarray]]:
    names = [info.filename for info in archive.infolist()]
    if ABOUT not in names:
        raise DataError(f"{path} is not a spd1 {kind}: it has no {ABOUT}")
    text = _content(path, archive, ABOUT, MOST_TEXT)
    head = json.loads(text)
    if not isinstance(head, dict) or head.get("format") != f"spd1-{kind}":
        raise DataError(f"{path} is not a spd1 {kind}: {ABOUT} says otherwise")
    if head["version"] != version:
        newer = head["version"] > version
        raise DataError(
            f"{path} is a {kind} of version {head['version']}, and this spd1 knows version "
            f"{version}: " + ("install a newer one" if newer else "it must be made anew")
        )
    members = [f"{number}.npy" for number in range(head["arrays"])]
    if sorted(names) != sorted([ABOUT, SUMS, *members]):
        raise DataError(f"{path} is damaged: members are missing, or do not belong there")
    lines = _content(path, archive, SUMS, 200 * (len(members) + 1)).decode().splitlines()
    wanted = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if wanted.get(ABOUT) != hashlib.sha256(text).hexdigest():
        raise DataError(f"{path} is damaged: the checksum of {ABOUT} does not match")
    return head["about"], [_array(path, archive, name, wanted.get(name)) for name in members]


def _content(path: Path, archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    if archive.getinfo(name).file_size > most:
        raise DataError(f"{path} is damaged: {name} is larger than it may be")
    return archive.read(name)


def _array(path: Path, archive: zipfile.ZipFile, name: str, wanted: str | None) -> np.ndarray:
    """An array of its own, no larger than the member that it is in."""
    size = archive.getinfo(name).file_size
    if size > path.stat().st_size:  # members are not compressed
        raise DataError(f"{path} is damaged: {name} is larger than the file")
    content = np.empty(size, dtype=np.uint8)
    with archive.open(name) as stream:
        filled = 0
        while filled < size and (read := stream.readinto(memoryview(content)[filled:])):  # type: ignore[attr-defined]
            filled += read
        beyond = stream.read(1)
    if filled < size or beyond or hashlib.sha256(content).hexdigest() != wanted:
        raise DataError(f"{path} is damaged: the checksum of {name} does not match")
    with archive.open(name) as stream:
        header = read_array_header(stream)
        start = stream.tell()
    if header.size != size - start:
        raise DataError(f"{path} is damaged: {name} is not an array of its size")
    values = np.empty(math.prod(header.shape), dtype=header.dtype)
    if values.nbytes:
        values.view(np.uint8)[:] = content[start:]
    return values.reshape(header.shape, order=header.order)
