"""Data on the workers of a Dask cluster: tiles stay where they are, vectors travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .engine import Dask, placed

__all__ = ["Dask", "placed"]


def __getattr__(name: str) -> Any:
    """Imported when first asked for."""
    if name in __all__:
        from . import engine

        return getattr(engine, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
