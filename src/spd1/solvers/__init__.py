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
    "few-rows": ("few_rows", "FewRows"),
    "newton": ("newton", "Newton"),
    "rows": ("row_tiles", "RowTiles"),
    "spd1-vr": ("spd1_vr", "SPD1VR"),
    "spd1": ("spd1", "SPD1"),
    "psgd": ("psgd", "PSGD"),
    "svrg": ("svrg", "SVRG"),
    "saga": ("saga", "SAGA"),
}


def method_class(name: str) -> type[Method]:
    """Return the class of a method, or say which names there are."""
    if name not in METHODS:
        raise ParameterError(f"unknown method {name!r}: choose from {', '.join(METHODS)}")
    module, cls = METHODS[name]
    found: type[Method] = getattr(import_module(f".{module}", __name__), cls)
    return found
