"""Views of arrays as values: where in the memory of another array they lie."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Memory", "layout", "marked", "viewed"]


class Memory(NamedTuple):
    """Addresses of the first byte of an array and of the one behind the last."""

    first: int
    end: int

    @classmethod
    def of(cls, values: np.ndarray) -> Memory:
        first = end = int(values.ctypes.data)
        for size, stride in zip(values.shape, values.strides, strict=True):
            first += min((size - 1) * stride, 0)
            end += max((size - 1) * stride, 0)
        return cls(first, end + values.itemsize)

    def holds(self, other: Memory) -> bool:
        return self.first <= other.first and other.end <= self.end


def layout(values: np.ndarray, offset: int) -> dict[str, Any]:
    """How a view lies, so many bytes behind the first one of the other array."""
    return {
        "offset": int(offset), "shape": list(values.shape), "strides": list(values.strides),
        "dtype": values.dtype.str, "writeable": bool(values.flags.writeable),
    }  # fmt: skip


def marked(values: np.ndarray, node: dict[str, Any]) -> np.ndarray:
    """The array, read-only if it was."""
    if not node["writeable"]:
        values.flags.writeable = False
    return values


class Bytes:
    """The memory of an array, wherever its entries lie in it."""

    def __init__(self, owner: np.ndarray) -> None:
        self.owner, memory = owner, Memory.of(owner)
        self.__array_interface__ = {
            "data": (memory.first, not owner.flags.writeable),
            "shape": (memory.end - memory.first,),
            "typestr": "|u1",
            "version": 3,
        }


def viewed(owner: np.ndarray, node: dict[str, Any]) -> np.ndarray:
    """A view of memory that begins where another array does, and stays within its bounds."""
    if owner.flags.forc:  # the base of the view is the owner then, and is found again
        whole = owner.reshape(-1, order="A").view(np.uint8)
    else:
        whole = np.asarray(Bytes(owner))
    shape, strides = tuple(node["shape"]), tuple(node["strides"])
    values: np.ndarray = np.ndarray(shape, node["dtype"], whole, node["offset"], strides)
    return marked(values, node)
