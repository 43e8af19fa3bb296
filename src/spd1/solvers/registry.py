"""The methods by name. Modules are imported when a method is asked for: they hold kernels."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError

if TYPE_CHECKING:
    from .base import Method

__all__ = ["METHODS", "build", "builder", "method_class"]

#: Name -> module and class. A new method is one file and one line here; the tests pick it up.
METHODS = {
    "rows": ("rows.rows", "RowTiles"),
    "columns": ("columns", "ColumnTiles"),
    "spd1-vr": ("entries.spd1_vr", "SPD1VR"),
    "spd1": ("entries.spd1", "SPD1"),
    "psgd": ("gradient.psgd", "PSGD"),
    "svrg": ("gradient.svrg", "SVRG"),
    "saga": ("gradient.saga", "SAGA"),
}

#: Methods for some problems only; they refuse the others by name. ``auto`` knows when to call them.
SPECIAL_METHODS = {
    "newton": ("newton.newton", "Newton"),
    "few-rows": ("newton.few_rows", "FewRows"),
    "interior": ("interior.interior", "Interior"),
}

#: Methods for one kind of problem each.
DIRECT_METHODS = {
    "direct": ("direct", "Direct"),
    "ascent": ("sprint.methods", "Ascent"),
    "descent": ("sprint.methods", "Descent"),
    "multipliers": ("multipliers", "Multipliers"),
}

#: Methods that take the ``tile`` argument of ``solve``.
TILED = ("spd1", "spd1-vr")


def method_class(name: str) -> type[Method]:
    """Return the class of a method, or say which names there are."""
    known = METHODS | SPECIAL_METHODS | DIRECT_METHODS
    if name not in known:
        raise ParameterError(f"unknown method {name!r}: choose from auto, {', '.join(known)}")
    module, cls = known[name]
    found: type[Method] = getattr(import_module(f".{module}", __package__), cls)
    return found


def builder(name: str, problem: Any, tile: Any) -> Callable[..., Method]:
    """What builds the method for a problem, on tiles if these are asked for; or a refusal."""
    kind = method_class(name)
    kind.refuse(problem)
    if tile is None:
        return kind
    if name not in TILED:
        raise ParameterError(f"method {name!r} has no tiles: use 'spd1-vr' or 'spd1'")
    from .entries.tile_shapes import on_tiles

    return on_tiles(name, problem, tile)


def build(name: str, problem: Any, tile: Any, sampling: str, key: Any) -> Method:
    """The method on its own, with an account of its own."""
    return builder(name, problem, tile)(problem, sampling, key)
