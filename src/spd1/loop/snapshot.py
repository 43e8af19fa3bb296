"""A run as values: every object that it is made of, as JSON and arrays, and back.

``freeze`` follows all references from a root, so that nothing can be forgotten: what it does not
know how to keep is refused by name. What belongs to the problem is kept by name alone, arrays that
lie in its memory included. Objects that are met twice are one object again afterwards, and arrays
that share memory share it again. ``thaw`` calls no code but that of classes of the package which
say that they rebuild something:

- ``rebuilt``, a class attribute, names attributes that follow from others and are large;
- ``rebuild()`` makes them anew when all else is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError, IncompatibleError
from ..kernel.stamp import PACKAGE
from .views import Memory, layout, marked, viewed

__all__ = ["Frozen", "Given", "freeze", "thaw"]

ATOMS = (bool, int, float, str)
SHORT_LIST = 8  # lists of more numbered tuples are kept as one array


class Given(NamedTuple):
    """What is there when a run begins, by name: objects, and arrays of their memory."""

    objects: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Frozen(NamedTuple):
    """Nodes as JSON can hold them, and the arrays that they number."""

    nodes: list[Any]
    arrays: list[np.ndarray]


def freeze(root: Any, given: Given) -> Frozen:
    """The graph of a root; arrays are not copied.

    Examples
    --------
    >>> given = Given({}, {})
    >>> shared = np.arange(3.0)
    >>> one, two = thaw(freeze([shared, {"again": shared[1:]}], given), given)
    >>> one[1] = 7.0
    >>> two["again"]
    array([7., 2.])
    """
    return Freezer(given).frozen(root)


class Freezer:
    """Numbers the objects of a graph."""

    def __init__(self, given: Given) -> None:
        self.names = {id(value): name for name, value in given.objects.items()}
        self.memory = [
            (Memory.of(values), name) for name, values in given.arrays.items() if values.size
        ]
        self.nodes: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []  # so that no number of an object is used twice
        self.todo: list[tuple[int, Any, str]] = []

    def frozen(self, root: Any) -> Frozen:
        self.value(root, "the run")
        while self.todo:  # one by one: a graph may be deeper than Python's stack
            number, value, place = self.todo.pop()
            self.nodes[number] = self.node(value, place)
        return Frozen(self.nodes, self.arrays)

    def value(self, value: Any, place: str) -> Any:
        """What stands for a value: itself, or the number of a node."""
        if value is None or type(value) in ATOMS:
            return value
        if isinstance(value, np.generic):
            return {"scalar": [value.dtype.str, value.tobytes().hex()]}
        if id(value) not in self.seen:
            self.seen[id(value)] = len(self.nodes)
            self.alive.append(value)
            self.todo.append((len(self.nodes), value, place))
            self.nodes.append(None)
        return {"node": self.seen[id(value)]}

    def values(self, values: Any, place: str) -> list[Any]:
        return [self.value(one, place) for one in values]

    def node(self, value: Any, place: str) -> dict[str, Any]:
        if id(value) in self.names:
            return {"given": self.names[id(value)]}
        if isinstance(value, np.ndarray):
            return self.array(value, place)
        kind = type(value)
        if kind is list and len(value) > SHORT_LIST and alike(value):
            self.arrays.append(np.array(value, dtype=float))
            return {"rows": len(self.arrays) - 1, "class": self.name_of(value[0], place)}
        if kind in (list, tuple, set):
            return {kind.__name__: self.values(value, place)}
        if kind is dict:
            pairs = [self.values(pair, f"{place}[{pair[0]!r}]") for pair in value.items()]
            return {"dict": pairs}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"fields": self.values(value, place), "class": self.name_of(value, place)}
        name = self.name_of(value, place)
        if not hasattr(value, "__dict__"):
            raise refusal(value, place)
        left_out = {k for k in getattr(kind, "rebuilt", ()) if vars(value).get(k) is not None}
        kept = {k: v for k, v in vars(value).items() if k not in left_out}
        attributes = {k: self.value(v, f"{place}.{k}") for k, v in kept.items()}
        return {"object": attributes, "class": name, "rebuild": bool(left_out)}

    def name_of(self, value: Any, place: str) -> str:
        kind = type(value)
        if kind.__module__.partition(".")[0] != PACKAGE or "." in kind.__qualname__:
            raise refusal(value, place)
        if kind.__name__ == "Problem":  # another than the run's
            raise refusal(value, place)
        return f"{kind.__module__}:{kind.__name__}"

    def array(self, values: np.ndarray, place: str) -> dict[str, Any]:
        """An array of the problem, an array of its own, or a view of one."""
        if values.dtype.hasobject:
            raise refusal(values, place)
        here = Memory.of(values) if values.size else Memory(0, -1)
        for memory, name in self.memory:
            if values.size and memory.holds(here):
                return {"part": name, **layout(values, values.ctypes.data - memory.first)}
        owner = values
        while isinstance(owner.base, np.ndarray) and values.size:
            owner = owner.base
        if owner is values or not owner.flags.forc:
            self.arrays.append(values)
            return {"array": len(self.arrays) - 1, "writeable": bool(values.flags.writeable)}
        offset = values.ctypes.data - owner.ctypes.data
        return {"of": self.value(owner, place), **layout(values, offset)}


def alike(values: list[Any]) -> bool:
    """Whether all are tuples of one class with fields that are floats."""
    kind = type(values[0])
    return hasattr(kind, "_fields") and all(
        type(one) is kind and all(isinstance(v, float) for v in one) for one in values
    )


def refusal(value: Any, place: str) -> IncompatibleError:
    kind = type(value)
    return IncompatibleError(
        f"this run can't be kept in a checkpoint: {place} is a {kind.__module__}."
        f"{kind.__qualname__}; leave checkpoint out, or take another method or loss"
    )


def thaw(frozen: Frozen, given: Given) -> Any:
    """The root again; raises DataError where nodes make no sense."""
    try:
        return Thawer(frozen, given).thawed()
    except (KeyError, IndexError, TypeError, AttributeError, ImportError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"its parts do not fit together ({error})") from None


class Thawer:
    """Makes objects first and fills them afterwards: they may refer to each other."""

    def __init__(self, frozen: Frozen, given: Given) -> None:
        self.nodes, self.arrays = frozen
        self.given = given
        self.made: dict[int, Any] = {}
        self.todo: list[tuple[Any, Any]] = []
        self.to_rebuild: list[Any] = []

    def thawed(self) -> Any:
        root = self.made_of(0)
        while self.todo:
            value, content = self.todo.pop()
            if isinstance(value, list):
                value.extend(self.values(content))
            elif isinstance(value, dict):
                value.update([tuple(self.values(pair)) for pair in content])
            elif isinstance(value, set):
                value.update(self.values(content))
            else:
                vars(value).update({k: self.value(v) for k, v in content.items()})
        for value in self.to_rebuild:
            value.rebuild()
        return root

    def value(self, held: Any) -> Any:
        if not isinstance(held, dict):
            return held
        if "scalar" in held:
            dtype, content = held["scalar"]
            return np.frombuffer(bytes.fromhex(content), dtype=dtype)[0]
        return self.made_of(held["node"])

    def values(self, held: Sequence[Any]) -> list[Any]:
        return [self.value(one) for one in held]

    def made_of(self, number: int) -> Any:
        if number not in self.made:
            node = self.nodes[number]
            self.made[number] = self.shell(node)
            if isinstance(self.made[number], tuple) or "given" in node:
                return self.made[number]
            for kind in ("list", "dict", "set", "object"):
                if kind in node:
                    self.todo.append((self.made[number], node[kind]))
        return self.made[number]

    def shell(self, node: dict[str, Any]) -> Any:
        """A value, empty if it can be filled later."""
        if "given" in node:
            return self.given.objects[node["given"]]
        if "array" in node:
            return marked(self.arrays[node["array"]], node)
        if "part" in node:
            return viewed(self.given.arrays[node["part"]], node)
        if "of" in node:
            return viewed(self.value(node["of"]), node)
        if "tuple" in node:
            return tuple(self.values(node["tuple"]))
        if "rows" in node:
            kind = class_of(node["class"])
            return [kind(*row) for row in self.arrays[node["rows"]].tolist()]
        if "fields" in node:
            return class_of(node["class"])._make(self.values(node["fields"]))
        for name, kind in (("list", list), ("dict", dict), ("set", set)):
            if name in node:
                return kind()
        cls = class_of(node["class"])
        value = cls.__new__(cls)
        if node["rebuild"]:
            self.to_rebuild.append(value)
        return value


def class_of(name: str) -> Any:
    """A class of the package."""
    module, _, kind = name.partition(":")
    if module.partition(".")[0] != PACKAGE:
        raise DataError(f"it names a class {name!r} that is none of {PACKAGE}")
    found = getattr(import_module(module), kind)
    if not isinstance(found, type) or found.__module__ != module:
        raise DataError(f"it names a class {name!r} that is none")
    return found
