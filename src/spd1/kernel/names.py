"""Which names a statement is about: asked of each, for every name that is assigned twice.

Numba takes statements apart anew each time, and writes to a log that nobody reads. What is found
here is what Numba would find; ``shortcuts`` puts it in place while kernels are compiled.

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numba.core import ir

from .stamp import inside

__all__ = ["left_alone", "listed", "not_logged", "only_where_named", "with_fresh_names"]

LEAVES = {ir.Loc, ir.Const, ir.Global, ir.Arg, str, int, float, bool, type(None)}  # no names inside

names_of: dict[int, tuple[Any, frozenset[str]]] = {}  # statements of a function, by identity


def collect(value: Any, found: list[Any]) -> None:
    """Append the variables of a part of a statement, in Numba's order."""
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind in LEAVES:
        return
    elif kind is dict:
        for part in value.values():
            collect(part, found)
    elif kind is list or kind is tuple:
        for part in value:
            collect(part, found)
    elif kind is ir.Expr:
        collect(value._kws, found)
    elif isinstance(value, ir.Inst):
        found.extend(value.list_vars())


def listed(numbas: Callable[[Any, Any], list[Any]]) -> Callable[[Any, Any], list[Any]]:
    """The variables of a statement."""

    def list_variables(self: Any, value: Any) -> list[Any]:
        if type(value) not in (dict, list, tuple):
            return numbas(self, value)
        found: list[Any] = []
        collect(value, found)
        return found

    return list_variables


def named_in(statement: Any) -> frozenset[str]:
    """Names of a statement, its target's included."""
    known = names_of.get(id(statement))
    if known is None:
        names = frozenset(one.name for one in statement.list_vars())
        known = names_of[id(statement)] = statement, names  # as long as it lives, the id is its own
    return known[1]


def with_fresh_names(numbas: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Begin and end with no statement known: the next function has others."""

    def run(blocks: Any) -> Any:
        names_of.clear()
        try:
            return numbas(blocks)
        finally:
            names_of.clear()

    return run


def only_where_named(numbas: Callable[..., Any]) -> Callable[..., Any]:
    """Rewrite the statements that a name is in; Numba looks into all of them."""

    def rewrite(blocks: Any, states: Any, handler: Any) -> dict[Any, Any]:
        name, rewritten = states["varname"], {}
        for label, block in blocks.items():
            states["label"], states["block"] = label, block
            body = []
            for one in block.body:
                if name not in named_in(one):
                    body.append(one)
                elif isinstance(one, ir.Assign):
                    body.append(handler.on_assign(states, one))
                else:
                    body.append(handler.on_other(states, one))
            rewritten[label] = ir.Block(scope=block.scope, loc=block.loc)
            rewritten[label].body = body
        return rewritten

    return rewrite


def not_logged(numbas: Callable[..., Any]) -> Callable[..., Any]:
    """The same for looks at all statements."""

    def look(states: Any, block: Any, handler: Any) -> Iterator[Any]:
        for one in block.body:
            yield (handler.on_assign if isinstance(one, ir.Assign) else handler.on_other)(
                states, one
            )

    return look


def left_alone(numbas: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Leave out what is about contexts and dictionaries: functions of the package have none."""
    return lambda found: found if inside(found.func_id.modname) else numbas(found)
