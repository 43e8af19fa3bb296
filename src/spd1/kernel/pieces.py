"""What kernels are made of: methods of ordinary classes, plain functions, bits.

What is decorated here is noted, and told to Numba when the first kernel is called.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from .pipelines import for_pieces

__all__ = ["bits_of", "by_answer", "by_layout", "compiled", "from_bits", "jitable", "lesson"]

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

# NaN and infinity keep their meaning; sums may be re-ordered, so that dot products vectorise.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

# Numba wraps every function, helpers too, for callers in C, of which there are none: 8 to 21 % of
# the time that kernels compiled, in three pairs of runs.
NO_WRAPPER = {"no_cfunc_wrapper": True}

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": FASTMATH, **NO_WRAPPER}

# Methods that loops over rows call: LLVM would leave larger ones as calls, one by one.
VECTORISED = {"phi", "derivative", "curvature", "conjugate", "bracket"}

# Methods whose differences are taken in the order in which they are written: (u - b) - y is a small
# number between large ones, u - (b + y) is noise.
IN_ORDER = {"bracket", "g_bracket"}

_parameters: dict[str, tuple[str, ...]] = {}  # method name -> its one parameter list
_inline: dict[str, str] = {}  # method name -> Numba's inlining policy
_overloaded: set[str] = set()  # method names that Numba knows
_jitable: list[Any] = []  # plain functions that kernels may call
_chosen: list[Any] = []  # functions of two bodies, chosen by the class of the first argument
_lessons: list[Callable[[], None]] = []  # functions that teach Numba what else there is
_taught = False


def compiled(interface: type) -> Callable[[C], C]:
    """Let kernels call the methods of a NamedTuple class, its own or inherited.

    Parameters
    ----------
    interface : type
        Class whose public functions name the methods that kernels may call. Methods that the
        decorated class lacks are copied from it, which is how defaults are inherited.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from spd1.losses import Loss
    >>> @compiled(Loss)
    ... class Tilted(NamedTuple):
    ...     slope: float = 2.0
    ...     def phi(self, u, b): return self.slope * abs(u - b)
    ...     def derivative(self, u, b): return self.slope if u > b else -self.slope
    ...     def conjugate(self, y, b): return b * y if abs(y) <= self.slope else float("inf")
    >>> round(Tilted().prox_conjugate(0.5, 0.0, 1.0), 12)  # the default: bisection
    0.5
    """

    def decorate(cls: C) -> C:
        if not hasattr(cls, "_fields"):
            raise TypeError(f"{cls.__name__} must be a typing.NamedTuple class")
        if not cls._fields:
            cls = _with_a_field(cls)
        for name, method in vars(interface).items():
            if name.startswith("_") or isinstance(method, (property, staticmethod, classmethod)):
                if name not in vars(cls) and not name.startswith("_"):
                    setattr(cls, name, method)
                continue
            if name not in vars(cls):
                setattr(cls, name, method)
            _register_method(cls, name, method, getattr(interface, "_inline", "always"))
        if _taught:
            _install_overloads()
        return cls

    return decorate


def _with_a_field(cls: Any) -> Any:
    """Numba can't pass an empty tuple to a method: rebuild the class with one hidden field."""
    from collections import namedtuple

    build: Any = namedtuple
    twin = build(cls.__name__, ["unit"], defaults=[1.0], module=cls.__module__)
    for name, value in vars(cls).items():
        if name not in vars(twin) or name == "__doc__":
            setattr(twin, name, value)
    twin.__qualname__ = cls.__qualname__
    twin.__repr__ = lambda self: f"{type(self).__name__}()"
    return twin


def _register_method(cls: type, name: str, method: Any, inline: str) -> None:
    """Numba knows a method by its name alone: one name, one parameter list."""
    wanted = _parameters.setdefault(name, _signature(method))
    found = _signature(vars(cls)[name])
    if found != wanted:
        raise TypeError(f"{cls.__name__}.{name} must take {wanted}, not {found}")
    _inline.setdefault(name, inline)


def _signature(method: Any) -> tuple[str, ...]:
    return tuple(method.__code__.co_varnames[: method.__code__.co_argcount])


def jitable(function: F) -> F:
    """Let kernels call a plain function; Numba hears of it when it is loaded."""
    _jitable.append(function)
    if _taught:
        _install_overloads()
    return function


def by_layout(dense: F, other: F) -> F:
    """A function that kernels call: ``dense`` if its first argument is dense data, else ``other``.

    Types decide it when the kernel is compiled, and the other body is left out: dense loops over
    sparse data would never run and took most of the time that sparse kernels compiled.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.data.matrix import Dense
    >>> by_layout(lambda A: "in order", lambda A: "by index")(Dense(np.eye(2)))
    'in order'
    """
    return by_answer("is_dense", dense, other)


def by_answer(question: str, yes: F, no: F) -> F:
    """The same for any method of the first argument whose answer follows from its class.

    Examples
    --------
    >>> from spd1.regularizers import L1
    >>> by_answer("is_shared", lambda net: "alike", lambda net: "one by one")(L1(0.1).bind(3))
    'alike'
    """

    def choose(*arguments: Any) -> Any:
        return (yes if getattr(arguments[0], question)() else no)(*arguments)

    _chosen.append((choose, question, yes, no))
    if _taught:
        _install_overloads()
    return choose  # type: ignore[return-value]


def lesson(teach: F) -> F:
    """Note a function that teaches Numba something when it is loaded."""
    _lessons.append(teach)
    if _taught:
        _install_overloads()
    return teach


def bits_of(x: float) -> int:
    """The 64 bits of a float, as an integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def from_bits(bits: int) -> float:
    """The float with these 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def _install_bit_casts() -> None:
    """Teach Numba ``bits_of`` and ``from_bits``: no instruction at all."""
    from llvmlite import ir
    from numba import extending, types

    intrinsic: Any = extending.intrinsic

    @intrinsic
    def to_integer(context, x):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], ir.IntType(64))

        return types.int64(types.float64), generate

    @intrinsic
    def to_float(context, bits):
        def generate(context, builder, signature, arguments):
            return builder.bitcast(arguments[0], ir.DoubleType())

        return types.float64(types.int64), generate

    options: Any = {**NO_WRAPPER, **for_pieces()}
    extending.overload(bits_of, jit_options=options)(lambda x: lambda x: to_integer(x))
    extending.overload(from_bits, jit_options=options)(lambda bits: lambda bits: to_float(bits))


def teach_numba() -> None:
    """Tell Numba of all that was noted; what is noted from now on is told at once."""
    global _taught
    _install_bit_casts()
    _install_overloads()
    _taught = True


def _install_overloads() -> None:
    from numba import extending, types

    while _lessons:
        _lessons.pop()()
    unfinished: dict[str, Any] = {**NO_WRAPPER, **for_pieces()}
    options: Any
    while _jitable:  # elementary functions: every digit counts, and they are written in order
        options = {**OPTIONS, **unfinished, "forceinline": True, "fastmath": FASTMATH - {"reassoc"}}
        extending.register_jitable(**options)(_jitable.pop())
    while _chosen:
        choose, question, *bodies = _chosen.pop()
        options = {**OPTIONS, **unfinished, "forceinline": True}
        extending.overload(choose, jit_options=options)(_choice(question, *bodies))
    overload_method: Any = extending.overload_method
    for name in _parameters.keys() - _overloaded:
        _overloaded.add(name)
        options = dict(unfinished)
        if _inline[name] == "always":  # by LLVM: Numba would type them anew wherever they stand
            options = {**OPTIONS, **unfinished, "forceinline": True}
        elif name in VECTORISED:
            options["forceinline"] = True
        if name in IN_ORDER:
            options["fastmath"] = False
        overload_method(
            types.BaseNamedTuple, name, jit_options=options, strict=False, inline="never"
        )(_lookup(name, _parameters[name]))


def _choice(question: str, yes: Any, no: Any) -> Any:
    """Return a function with the parameters of both bodies that finds the right one by type."""
    parameters = _signature(yes)
    namespace: dict[str, Any] = {"yes": yes, "no": no}
    exec(
        f"def choice({', '.join(parameters)}):\n"
        f"    return yes if {parameters[0]}.instance_class.{question}(None) else no",
        namespace,
    )
    return namespace["choice"]


def _lookup(name: str, parameters: tuple[str, ...]) -> Any:
    """Return a function with exactly these parameters that finds the class's own method."""
    namespace: dict[str, Any] = {}
    exec(  # Numba compares parameter names, so the look-up must carry the real ones
        f"def lookup({', '.join(parameters)}):\n"
        f"    return getattr({parameters[0]}.instance_class, {name!r}, None)",
        namespace,
    )
    return namespace["lookup"]
