"""The methods by name. Modules are imported when a method is asked for: they hold kernels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    from .base import Method

__all__ = ["METHODS", "method_class"]

#: Name -> module and class. A new method is one file and one line here; the tests pick it up.
METHODS = {
    "rows": ("row_tiles", "RowTiles"),
    "columns": ("column_tiles", "ColumnTiles"),
    "spd1-vr": ("spd1_vr", "SPD1VR"),
    "spd1": ("spd1", "SPD1"),
    "psgd": ("psgd", "PSGD"),
    "svrg": ("svrg", "SVRG"),
    "saga": ("saga", "SAGA"),
}

#: Methods for some problems only; they refuse the others by name. ``auto`` knows when to call them.
SPECIAL_METHODS = {
    "newton": ("newton", "Newton"),
    "few-rows": ("few_rows", "FewRows"),
}


def method_class(name: str) -> type[Method]:
    """Return the class of a method, or say which names there are."""
    known = METHODS | SPECIAL_METHODS
    if name not in known:
        raise ParameterError(f"unknown method {name!r}: choose from auto, {', '.join(known)}")
    module, cls = known[name]
    found: type[Method] = getattr(import_module(f".{module}", __name__), cls)
    return found
