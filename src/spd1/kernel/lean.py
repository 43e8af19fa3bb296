"""Numba's compiler without what kernels and their pieces never need.

Numba treats every function that a kernel calls as if somebody might call it alone: it optimises it,
writes machine code for it, and compiles it anew for callers with other options. Pieces of kernels
are called by kernels only: no machine code is written, and they are optimised in one go instead of
three. (Not at all is too little: dense sweeps over columns took 1.2 times as long.)

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

__all__ = ["KernelCompiler", "PieceCompiler"]

# What only concerns a function itself. Callees are the same without, and are compiled once.
OWN_OPTIONS = ("forceinline", "no_cpython_wrapper", "no_cfunc_wrapper", "release_gil", "no_compile")

PLAIN_TYPES = (types.Number, types.Boolean, types.Array)


class KernelLibrary(JITCodeLibrary):
    """The machine code of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave it to the passes over the whole module, which do the same again."""
        ll_module.data_layout = self._codegen._data_layout


class PieceLibrary(KernelLibrary):
    """A piece of kernels, to be linked into them."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def inherited(flags: Any) -> Any:
    """A context in which callees are looked for by the options that they inherit, no others."""
    shared = flags.copy()
    for name in OWN_OPTIONS:
        shared.discard(name)
    return ConfigStack().enter(shared)


SIGNATURES: dict[Any, Any] = {}  # of operators, by the types of numbers and arrays they are for


@contextmanager
def remembered(context: Any) -> Iterator[None]:
    """Let Numba look up products and sums once: it tries a dozen templates every time."""
    if "resolve_function_type" in vars(context):  # for the caller of what is compiled now
        yield
        return
    look_up = context.resolve_function_type

    def resolve(function: Any, arguments: Any, named: Any) -> Any:
        plain = getattr(function, "__module__", "") == "_operator" and not named
        if not (plain and all(isinstance(one, PLAIN_TYPES) for one in arguments)):
            return look_up(function, arguments, named)
        key = function, tuple(arguments)
        found = SIGNATURES.get(key)
        known = getattr(context._lookup_global(function), "_impl_keys", ())
        if found is None or found.args not in known:
            found = SIGNATURES[key] = look_up(function, arguments, named)
        return found

    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(NopythonTypeInference):
    """Type inference."""

    _name = "spd1_infer_types"

    def run_pass(self, state: Any) -> bool:
        with inherited(state.flags), remembered(state.typingctx):
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """Lowering, optimisation, machine code."""

    _name = "spd1_lower_kernel"
    library = KernelLibrary

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        with inherited(state.flags):  # methods are looked up again
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPiece(LowerKernel):
    """Lowering and optimisation. The entry that Numba knows a function by leads nowhere."""

    _name = "spd1_lower_piece"
    library = PieceLibrary

    def run_pass(self, state: Any) -> bool:
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        description, keep_alive = lowered.fndesc, (state.library,)
        entry = _dynfunc.make_function(
            description.lookup_module(), description.qualname.split(".")[-1],
            "a piece of kernels", 0, lowered.env, keep_alive,
        )  # fmt: skip
        state.targetctx.insert_user_function(entry, description, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    lowering: type = LowerKernel

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, two of them replaced."""
        instead = {NopythonTypeInference: InferTypes, NativeLowering: self.lowering}
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [(instead.get(one, one), about) for one, about in manager.passes]
        manager.finalize()
        return [manager]


class PieceCompiler(KernelCompiler):
    """Compiles what kernels are made of."""

    lowering = LowerPiece
