"""Kernels whose pieces are ordinary Python classes.

A loss, a regularizer, a matrix or a sampler is a plain ``NamedTuple`` class decorated with
``@compiled(Interface)``. A kernel is a module-level function decorated with ``@kernel`` that
calls their methods. Each kernel compiles once per combination of classes and finds its machine
code on disk in every later process.

Nothing here imports Numba until the first kernel is called: this keeps ``import spd1`` light, and
lets every module import the kernels it needs where imports belong, at its top.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

from .patience import collector_at_rest, uninterrupted
from .pieces import (
    OPTIONS,
    F,
    bits_of,
    by_answer,
    by_layout,
    compiled,
    from_bits,
    jitable,
    teach_numba,
)
from .pipelines import for_kernels, for_pieces
from .stamp import PACKAGE
from .watch import clock, compiling, put_interrupts_off, time_compilation

__all__ = [
    "bits_of",
    "by_answer",
    "by_layout",
    "clock",
    "compiled",
    "compiling",
    "from_bits",
    "helper",
    "jitable",
    "kernel",
]

_numba_ready = False
_teaching = threading.RLock()


def _load_numba() -> Any:
    """Import Numba and teach it what was noted so far."""
    global _numba_ready
    if not _numba_ready:
        # half taught, it could not be taught again
        with uninterrupted(), _teaching, collector_at_rest():
            if not _numba_ready:
                _install_kernels()
                teach_numba()
                time_compilation()
                put_interrupts_off()
                _numba_ready = True
    import numba

    return numba


def _install_kernels() -> None:
    """Teach Numba that a kernel named by another kernel is its dispatcher."""
    from numba import extending, types

    extending.typeof_impl.register(Kernel, lambda found, _: types.Dispatcher(found.dispatcher))


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
            with numba.core.compiler_lock.global_compiler_lock:  # threads share one
                if self.made is None:
                    self.made = self._make(numba)
        return self.made

    def _make(self, numba: Any) -> Any:
        if not self.on_disk:
            options = {**OPTIONS, "no_cpython_wrapper": True, "forceinline": True}  # see helper
            return numba.njit(**for_pieces(), **options)(self.function)
        made = numba.njit(nogil=True, **for_kernels(), **OPTIONS)(self.function)
        if hasattr(made, "_cache"):
            from .cache import PackageCache

            made._cache = PackageCache(self.function)
        return made

    def __call__(self, *arguments: Any) -> Any:
        if not self.on_disk:
            return self.alone(*arguments)
        if not self.aside:
            self._step_aside()
        return self.dispatcher(*arguments)

    @cached_property
    def alone(self) -> Any:
        """What Python calls if a helper is called from outside of kernels."""
        return _load_numba().njit(**OPTIONS)(self.function)

    def _step_aside(self) -> None:
        """Put the dispatcher in place of this object wherever the package has it by name.

        The next call is then Numba's own: small fits are made of calls. Others, who hold this
        object, go on through it.
        """
        self.aside = True
        for name, module in sys.modules.copy().items():  # others may import meanwhile
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
    """Compile without the GIL; keep on disk until a file that it is made of changes."""
    return Kernel(function, on_disk=True)  # type: ignore[return-value]


def helper(function: F) -> F:
    """Compile a small function that kernels call; it lives in their machine code.

    It is always inlined. A copy of its own would be optimised apart from the kernel: the process
    that compiles would call that copy, and those that load the kernel from disk another, with
    other last bits. For the same reason no kernel calls a kernel.
    """
    return Kernel(function, on_disk=False)  # type: ignore[return-value]
