"""All Numba ceremony: kernels whose pieces are ordinary Python classes.

A loss, a regularizer, a matrix or a sampler is a plain ``NamedTuple`` class decorated with
``@compiled(Interface)``. A kernel is a module-level function decorated with ``@kernel`` that
calls their methods. Each kernel compiles once per combination of classes and finds its machine
code on disk in every later process.

Nothing here imports Numba until the first kernel is called: this keeps ``import spd1`` light, and
lets every module import the kernels it needs where imports belong, at its top.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, update_wrapper
from pathlib import Path
from typing import Any, TypeVar

from .patience import SIGNALS_HELD, uninterrupted

__all__ = [
    "bits_of",
    "by_layout",
    "clock",
    "compiled",
    "compiling",
    "from_bits",
    "helper",
    "jitable",
    "kernel",
]

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = __name__.partition(".")[0]

# NaN and infinity keep their meaning; sums may be re-ordered, so that dot products vectorise.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": FASTMATH}

# Methods that loops over rows call: LLVM would leave larger ones as calls, one by one.
VECTORISED = {"phi", "derivative", "curvature", "conjugate", "bracket"}

# Methods whose differences are taken in the order in which they are written: (u - b) - y is a small
# number between large ones, u - (b + y) is noise.
IN_ORDER = {"bracket", "g_bracket"}

_parameters: dict[str, tuple[str, ...]] = {}  # method name -> its one parameter list
_inline: dict[str, str] = {}  # method name -> Numba's inlining policy
_overloaded: set[str] = set()  # method names that Numba knows
_jitable: list[Any] = []  # plain functions that kernels may call
_chosen: list[Any] = []  # functions of two bodies, one for dense data
_numba_ready = False
_compilation: Any = None
_announced = False


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
        if _numba_ready:
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


def _load_numba() -> Any:
    """Import Numba and teach it the methods registered so far."""
    global _numba_ready
    if not _numba_ready:
        with uninterrupted():  # half taught, it could not be taught again
            _install_bit_casts()
            _install_kernels()
            _install_overloads()
            _time_compilation()
            _put_interrupts_off()
            _numba_ready = True
    import numba

    return numba


def _time_compilation() -> None:
    """Numba holds this lock while it compiles a kernel or loads one from disk."""
    global _compilation
    from numba.core import event

    _compilation = event.TimingListener()
    event.register("numba:compiler_lock", _compilation)


@cache
def _waiting() -> Any:
    """What lets Ctrl-C wait while Numba compiles."""
    from numba.core import event

    class Waiting(event.Listener):
        def on_start(self, event: Any) -> None:
            SIGNALS_HELD.begin()

        def on_end(self, event: Any) -> None:
            SIGNALS_HELD.end()

    return Waiting()


def _put_interrupts_off() -> None:
    """Listen to Numba's lock as the last: what is put off is raised there, past nobody."""
    from numba.core import event

    with suppress(ValueError):
        event.unregister("numba:compiler_lock", _waiting())
    event.register("numba:compiler_lock", _waiting())


def clock() -> float:
    """Seconds that pass while nothing is being compiled: what runs are timed and limited by."""
    spent = _compilation.duration if _compilation is not None and _compilation.done else 0.0
    return time.perf_counter() - spent


@cache
def compiling() -> Any:
    """Processor time of compiling, ``spent`` since the first call of this function."""
    from numba.core import event

    class Compiling(event.Listener):
        depth, began, spent = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.began = time.process_time()
            self.depth += 1

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.spent += time.process_time() - self.began

    listener = Compiling()
    event.register("numba:compiler_lock", listener)
    _put_interrupts_off()
    return listener


def jitable(function: F) -> F:
    """Let kernels call a plain function; Numba hears of it when it is loaded."""
    _jitable.append(function)
    if _numba_ready:
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

    def choose(*arguments: Any) -> Any:
        return (dense if arguments[0].is_dense() else other)(*arguments)

    _chosen.append((choose, dense, other))
    if _numba_ready:
        _install_overloads()
    return choose  # type: ignore[return-value]


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

    extending.overload(bits_of)(lambda x: lambda x: to_integer(x))
    extending.overload(from_bits)(lambda bits: lambda bits: to_float(bits))


def _install_kernels() -> None:
    """Teach Numba that a kernel named by another kernel is its dispatcher."""
    from numba import extending, types

    extending.typeof_impl.register(Kernel, lambda found, _: types.Dispatcher(found.dispatcher))


def _install_overloads() -> None:
    from numba import extending, types

    while _jitable:
        extending.register_jitable(_jitable.pop())
    while _chosen:
        choose, *bodies = _chosen.pop()
        options: Any = {**OPTIONS, "forceinline": True}
        extending.overload(choose, jit_options=options)(_choice(*bodies))
    overload_method: Any = extending.overload_method
    for name in _parameters.keys() - _overloaded:
        _overloaded.add(name)
        options = {"forceinline": True} if name in VECTORISED else {}
        if name in IN_ORDER:
            options["fastmath"] = False
        overload_method(
            types.BaseNamedTuple, name, jit_options=options, strict=False, inline=_inline[name]
        )(_lookup(name, _parameters[name]))


def _choice(dense: Any, other: Any) -> Any:
    """Return a function with the parameters of both bodies that finds the right one by type."""
    parameters = _signature(dense)
    namespace: dict[str, Any] = {"dense": dense, "other": other}
    exec(
        f"def choice({', '.join(parameters)}):\n"
        f"    return dense if {parameters[0]}.instance_class.is_dense(None) else other",
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


class Kernel:
    """A function that Numba compiles; Numba itself is imported when it is first called.

    Kernels call each other by name: Numba sees a ``Kernel`` as the dispatcher it stands for.
    """

    def __init__(self, function: Callable[..., Any], on_disk: bool) -> None:
        update_wrapper(self, function)
        self.function, self.on_disk = function, on_disk
        self.made: Any = None
        self.aside = False  # whether the package has the dispatcher by name

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function; under NUMBA_DISABLE_JIT=1 the function itself."""
        if self.made is None:
            numba = _load_numba()
            options: dict[str, Any] = {"nogil": True, **OPTIONS}
            if not self.on_disk:
                options["forceinline"] = True  # see helper
            made = numba.njit(**options)(self.function)
            if self.on_disk and hasattr(made, "_cache"):
                made._cache = _package_cache(self.function)
            self.made = made
        return self.made

    def __call__(self, *arguments: Any) -> Any:
        if not self.aside:
            self._step_aside()
        return self.dispatcher(*arguments)

    def _step_aside(self) -> None:
        """Put the dispatcher in place of this object wherever the package has it by name.

        The next call is then Numba's own: small fits are made of calls. Others, who hold this
        object, go on through it.
        """
        self.aside = True
        for name, module in list(sys.modules.items()):
            if name.startswith(PACKAGE + "."):
                names = [key for key, value in vars(module).items() if value is self]
                for key in names:
                    setattr(module, key, self.dispatcher)

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function as it was written."""
        return self.function

    def __getattr__(self, name: str) -> Any:
        """What else Numba's dispatchers offer."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)


def kernel(function: F) -> F:
    """Compile without the GIL; cache on disk until any file of the package changes."""
    return Kernel(function, on_disk=True)  # type: ignore[return-value]


def helper(function: F) -> F:
    """Compile a small function that kernels call; it lives in their machine code.

    It is always inlined. A copy of its own would be optimised apart from the kernel: the process
    that compiles would call that copy, and those that load the kernel from disk another, with
    other last bits. For the same reason no kernel calls a kernel.
    """
    return Kernel(function, on_disk=False)  # type: ignore[return-value]


def _package_cache(function: Callable[..., Any]) -> Any:
    """A disk cache that dates by the whole package and leaves users' classes out.

    Numba dates a cached kernel by its own file alone, so an edited loss would go unnoticed; and
    an index that names a user's class can't be read by a process that lacks the user's module.
    """
    from numba.core.caching import NullCache

    from .cache import CheckedCache

    class PackageCache(CheckedCache):
        def load_overload(self, sig: Any, target_context: Any) -> Any:
            foreign = _foreign_class(sig)
            found = None if foreign else super().load_overload(sig, target_context)
            if found is None:
                _announce(foreign)
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            if not _foreign_class(sig):
                super().save_overload(sig, data)

    try:
        return PackageCache(function, _stamp())
    except (RuntimeError, OSError):  # written at the prompt, or no folder can be written to
        return NullCache()


@lru_cache(1)
def _stamp() -> list[tuple[str, int]]:
    """Every file of the package with its time."""
    root = Path(__file__).parents[1]
    return sorted((str(p.relative_to(root)), p.stat().st_mtime_ns) for p in root.rglob("*.py"))


def _foreign_class(types: Any) -> str:
    """Name the first class from outside the package among Numba types, or return ''."""
    for t in types:
        cls = getattr(t, "instance_class", None)
        if cls is not None:
            module = cls.__module__
            if module != PACKAGE and not module.startswith(PACKAGE + "."):
                return str(cls.__name__)
            nested = _foreign_class(t)
            if nested:
                return nested
    return ""


def _announce(foreign: str) -> None:
    global _announced
    if _announced or os.environ.get("SPD1_QUIET"):
        return
    _announced = True
    if foreign:
        text = f"compiling kernels for {foreign} (a class of yours: once in every process)"
    else:
        text = "compiling kernels, once on this machine: a few seconds"
    print(f"spd1: {text}", file=sys.stderr, flush=True)
