"""Copies of lines on their way from a worker: as few bytes as hold them exactly.

Counts, marks and other whole numbers take one or two bytes where their type takes eight; an index
within a tile of at most 65,536 columns takes two. Whoever unpacks gets the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data import tile_work
from ..data.matrix import CSR, Dense

__all__ = ["Packed", "packed_lines", "unpacked"]

NARROW_TYPES = (np.int8, np.int16, np.float32)
FIRST_VALUES = 1000  # values that tell soon whether a type won't do


class Packed(NamedTuple):
    """The arrays of a tile, each in a type that may be narrower than its own, and those types."""

    kind: str
    arrays: tuple[np.ndarray, ...]
    types: tuple[str, ...]
    shape: tuple[int, int]


def packed_lines(work: Any, by_columns: bool, names: np.ndarray) -> Packed:
    """Some lines of a tile, packed; see ``tile_work.some_lines``."""
    tile = tile_work.some_lines(work, by_columns, names)
    shape = (int(tile.rows()), int(tile.columns()))
    if isinstance(tile, Dense):
        return Packed("Dense", (narrow_values(tile.values),), (tile.values.dtype.str,), shape)
    arrays = tile.data, tile.indices, tile.indptr
    types = tuple(array.dtype.str for array in arrays)
    small = narrow_values(tile.data), narrow_indices(tile.indices), narrow_indices(tile.indptr)
    return Packed("CSR", small, types, shape)


def unpacked(packed: Packed) -> Any:
    """The tile again."""
    arrays = []
    for array, kind in zip(packed.arrays, packed.types, strict=True):
        own = array.astype(kind, copy=False)
        own.flags.writeable = False  # as all data: kernels are compiled once for both
        arrays.append(own)
    if packed.kind == "Dense":
        return Dense(arrays[0])
    data, indices, indptr = arrays
    return CSR(data, indices, indptr, packed.shape)


def narrow_values(values: np.ndarray) -> np.ndarray:
    """Values in the narrowest type that has every one of them, minus zero among them."""
    few = values.ravel()[:FIRST_VALUES]
    for kind in NARROW_TYPES:
        narrower = np.dtype(kind).itemsize < values.dtype.itemsize
        if narrower and exact(few, kind) and exact(values, kind):
            return values.astype(kind)
    return values


def exact(values: np.ndarray, kind: Any) -> bool:
    """Whether a type holds values to the bit."""
    with np.errstate(invalid="ignore", over="ignore"):
        there = values.astype(kind)
    same = bool(np.all(there == values))
    if same and np.dtype(kind).kind == "i":  # whole numbers have one zero
        return not np.any(np.signbit(values) & (values == 0.0))
    return same


def narrow_indices(indices: np.ndarray) -> np.ndarray:
    """Indices in two or four bytes where these hold the largest."""
    most = int(indices.max(initial=0))
    for kind in (np.uint16, np.uint32):
        if most <= np.iinfo(kind).max and np.dtype(kind).itemsize < indices.dtype.itemsize:
            return indices.astype(kind)
    return indices
