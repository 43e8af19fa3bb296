"""Which compiler kernels and their pieces go through: the lean one, or Numba's own.

The lean one leaves out what kernels never need, and reaches into Numba to do so. With a Numba that
it was not tried with everything is compiled in the ordinary way: more slowly, to the same effect.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

__all__ = ["cuts_if_known", "for_kernels", "for_pieces", "lean_is_known"]

TRIED = ((0, 68),)  # versions of Numba
WITHOUT_LEAN = "SPD1_ORDINARY_COMPILER"  # set to 1 to do without the lean one


@cache
def lean_is_known() -> bool:
    """Whether the lean compiler was tried with this Numba, and nobody asked to do without."""
    import numba

    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    return version in TRIED and os.environ.get(WITHOUT_LEAN, "0") != "1"


def cuts_if_known() -> AbstractContextManager[None]:
    """Short cuts through Numba, with a Numba that they were tried with."""
    if not lean_is_known():
        return nullcontext()
    from .shortcuts import short_cuts

    return short_cuts()


def for_kernels() -> dict[str, Any]:
    """Options of ``njit`` for a kernel."""
    if not lean_is_known():
        return {}
    from .lean import KernelCompiler

    return {"pipeline_class": KernelCompiler}


def for_pieces() -> dict[str, Any]:
    """Options of ``njit`` for what kernels are made of."""
    if not lean_is_known():
        return {}
    from .lean import PieceCompiler

    return {"pipeline_class": PieceCompiler}
