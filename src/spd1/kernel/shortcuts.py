"""Short cuts through Numba's compiler, taken while kernels are compiled and no longer.

Numba looks for everything every time: whether a library has registered new functions meanwhile, how
the templates of a function are ordered, whether two sets of options are the same. Kernels ask the
same thousands of times. What is found here is what Numba would find.

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.binding import ffi
from numba import types
from numba.core import base, cgutils, interpreter, ir, ssa, targetconfig, utils
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.transforms import canonicalize_cfg
from numba.core.typing import context as typing_context
from numba.np import arrayobj

from .names import left_alone, listed, not_logged, only_where_named, with_fresh_names
from .stamp import inside

__all__ = ["short_cuts"]

# What registries of implementations and of types are made of: lists that only grow.
LISTS = ("functions", "getattrs", "setattrs", "casts", "constants", "attributes", "globals")

seen: dict[int, int] = {}  # contexts and how long the lists of their registries were
under_way: set[int] = set()  # contexts that look for new functions just now


def registered(context: Any) -> int:
    """How many functions and types are registered with those that a context knows."""
    known = [*context._registries, *context.typing_context._registries]
    return sum(len(getattr(one, name, ())) for one in known for name in LISTS)


def refresh_types(numbas: Callable[[Any], None]) -> Callable[[Any], None]:
    """The same for types of functions alone."""

    def renew(context: Any) -> None:
        known = [len(getattr(one, name, ())) for one in context._registries for name in LISTS]
        if seen.get(id(context)) != sum(known):
            numbas(context)
            now = [len(getattr(one, name, ())) for one in context._registries for name in LISTS]
            seen[id(context)] = sum(now)

    return renew


def refresh(numbas: Callable[[Any], None]) -> Callable[[Any], None]:
    """Look for new functions only where there are some: Numba asks for every entry of an array.

    While it looks it finds templates that ask it to look: hundreds of times, the first time.
    """

    def renew(context: Any) -> None:
        key = id(context._registries)  # contexts with other options share it
        if key in under_way:
            return
        under_way.add(key)
        try:
            while seen.get(key) != registered(context):
                known = registered(context)
                numbas(context)
                seen[key] = known
        finally:
            under_way.discard(key)

    return renew


def equal(numbas: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Compare options that are set to something else than Numba would, not all of them."""

    def changed(options: Any) -> dict[str, Any]:
        known = options.options
        return {name: to for name, to in options._values.items() if to != known[name].default}

    def compare(one: Any, other: Any) -> Any:
        if type(one) is not type(other):
            return numbas(one, other)
        return one._values == other._values or changed(one) == changed(other)

    return compare


def hashed(numbas: Callable[[Any], int]) -> Callable[[Any], int]:
    """Numba hashes the names of all options: a number of the class."""

    @cache
    def of_class(kind: Any) -> int:
        return numbas(kind())

    def of_options(options: Any) -> int:
        kind: Any = type(options)
        return of_class(kind)

    return of_options


def ordered(numbas: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Sort templates of a function once."""

    @cache
    def sort(target: Any, templates: tuple[Any, ...], fnkey: Any) -> list[Any]:
        return numbas(target, list(templates), fnkey=fnkey)

    return lambda target, templates, fnkey="": sort(target, tuple(templates), fnkey)


def processed(numbas: Callable[..., None]) -> Callable[..., None]:
    """Leave out which names live where: passes over functions of the package do not ask for it."""

    def run(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
        function = self.func_ir
        if emit_dels or function.is_generator or not inside(function.func_id.modname):
            numbas(self, emit_dels, extend_lifetimes)
            return
        function.blocks = canonicalize_cfg(function.blocks)
        function.variable_lifetime = VariableLifetime(function.blocks)
        function.generator_info = None

    return run


def called(numbas: Callable[..., Any]) -> Callable[..., Any]:
    """Compile functions of the package for numbers, not for constants.

    A loop's first count is the constant 0 until inference has seen the rest of the loop: what it is
    handed to would be compiled for 0, then for any number, and only the second is used.
    """

    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        if inside(self.dispatcher.py_func.__module__):
            args = tuple(types.unliteral(one) for one in args)
        return numbas(self, context, args, kws)

    return get_call_type


class ArrayValue:
    """An array that is only read: its fields, without a copy of it in memory."""

    def __init__(self, kind: Any, context: Any, builder: Any, value: Any) -> None:
        self._builder, self._value = builder, value
        self._datamodel = context.data_model_manager[kind]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._builder.extract_value(self._value, self._datamodel.get_field_position(name))

    def _getvalue(self) -> Any:
        return self._value


def array_maker(numbas: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Fields of arrays; Numba makes a class for every entry that is read."""

    @cache
    def proxy(kind: Any) -> Any:
        full: Any = type("ArrayStruct", (numbas(kind),), {"_make_refs": in_memory})

        def make(context: Any, builder: Any, value: Any = None, ref: Any = None) -> Any:
            if value is None or ref is not None:
                return full(context, builder, value, ref)
            return ArrayValue(kind, context, builder, value)

        return make

    return lambda kind: proxy(kind) if type(kind) is types.Array else numbas(kind)


def in_memory(self: Any, ref: Any) -> tuple[Any, Any]:
    """Room for an array of NumPy's, which is its own inner array."""
    if ref is None:
        ref = cgutils.alloca_once(self._builder, self._be_type, zfill=True)
    return ref, ref


def nobody(numbas: list[Any]) -> list[Any]:
    """Whom LLVM's lock tells that it is taken: clocks whose times nobody asks for."""
    return []


CUTS = (
    (base.BaseContext, "refresh", refresh),
    (typing_context.BaseContext, "refresh", refresh_types),
    (targetconfig.TargetConfig, "__eq__", equal),
    (targetconfig.TargetConfig, "__hash__", hashed),
    (utils, "order_by_target_specificity", ordered),
    (typing_context, "order_by_target_specificity", ordered),
    (base, "_has_loc", cache),
    (arrayobj, "make_array", array_maker),
    (PostProcessor, "run", processed),
    (types.Dispatcher, "get_call_type", called),
    (ir.Inst, "_rec_list_vars", listed),
    (ssa, "_run_ssa", with_fresh_names),
    (ssa, "_run_block_rewrite", only_where_named),
    (ssa, "_run_ssa_block_pass", not_logged),
    (ffi.lib._lock, "_cblist", nobody),
    (interpreter, "peep_hole_delete_with_exit", left_alone),
    (interpreter, "peep_hole_fuse_dict_add_updates", left_alone),
)
READY_CUTS = [
    (place, name, getattr(place, name), cut(getattr(place, name))) for place, name, cut in CUTS
]


@contextmanager
def short_cuts() -> Iterator[None]:
    """Take them. Who compiles holds Numba's lock: nobody else is under way."""
    if all(getattr(place, name) is instead for place, name, _, instead in READY_CUTS):
        yield  # taken for the caller of what is compiled now
        return
    for place, name, _, instead in READY_CUTS:
        setattr(place, name, instead)
    try:
        yield
    finally:
        for place, name, numbas, _ in READY_CUTS:
            setattr(place, name, numbas)
