"""The files of a store: each is looked at before anything is believed of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ..errors import DataError
from .manifest import Entry

__all__ = ["AGAIN", "Place", "place_of"]

AGAIN = "put it back from a copy, or write the store again from its source"


class Place(NamedTuple):
    """Where an array lies: after the header of its file."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype


def place_of(path: Path, entry: Entry) -> Place:
    """Where an array lies, if its file is what the manifest says."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size != entry.bytes:
                raise DataError(
                    f"{path} is {'cut off' if size < entry.bytes else 'too long'}: it has {size:,} "
                    f"bytes, not {entry.bytes:,}; {AGAIN}"
                )
            shape, dtype = _header(stream)
            offset = stream.tell()
    except FileNotFoundError:
        raise DataError(f"{path} is missing: {AGAIN}") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or error}") from None
    if (shape, dtype) != (entry.shape, np.dtype(entry.dtype)):
        raise DataError(f"{path} is damaged: its header is not the one that was written; {AGAIN}")
    return Place(offset, shape, dtype)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that an NPY file says; anything strange is nothing the manifest agrees to."""
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read(stream)
    except OSError:
        raise
    except Exception:  # of the tokenizer, the parser, np.dtype
        return (-1,), np.dtype(float)
    return ((-1,) if fortran and len(shape) > 1 else shape), dtype
