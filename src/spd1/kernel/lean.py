"""Numba's compiler without what kernels and their pieces never need.

Numba treats every function that a kernel calls as if somebody might call it alone: it optimises it,
writes machine code for it, and compiles it anew for callers with other options. Pieces of kernels
are called by kernels only: no machine code is written, and no loop is unrolled or vectorised before
the kernel is. They are only brought into the form in which passes over the kernel expect them.
(Not at all is too little: dense sweeps over columns took 1.2 times as long.)

Functions of the package that allocate nothing count no references: callers hold the arrays. That
halves what Numba writes for LLVM to read. And they leave out passes over what they do not contain.
Users' functions may contain anything, and get all of it.

Imported with Numba, when the first kernel is called.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite.binding import create_new_function_pass_manager
from numba import _dynfunc, types  # type: ignore[attr-defined]
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _make_subtarget
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import enforce_no_phis
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

from .lookups import remembered
from .lowering import LowerValues
from .patience import collector_at_rest
from .shortcuts import short_cuts
from .stamp import PACKAGE, inside

__all__ = ["KernelCompiler", "PieceCompiler"]

# What only concerns a function itself. Callees are the same without, and are compiled once.
OWN_OPTIONS = (
    "forceinline",
    "no_cpython_wrapper",
    "no_cfunc_wrapper",
    "release_gil",
    "no_compile",
)

# Names under which functions of the package make arrays.
MAKE_ARRAYS = {"empty", "zeros", "ones", "full", "array", "copy", "empty_like", "zeros_like"}

# Passes over closures, contexts, expressions of arrays and calls to be unrolled or inlined by
# Numba: functions of the package have none of these.
LEFT_OUT = (
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.DumpParforDiagnostics,
)

WALKS = f"{PACKAGE}.data.strides"  # whose loops are where kernels spend their time

MAYBE_NONE = (types.NoneType, types.Optional, types.Omitted)


class KernelLibrary(JITCodeLibrary):
    """The machine code of a kernel."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave it to the passes over the whole module, which do the same again."""
        ll_module.data_layout = self._codegen._data_layout


class PieceLibrary(KernelLibrary):
    """A piece of kernels, to be linked into them."""

    walks = False  # whether it is a loop along a line of the data

    def _optimize_final_module(self) -> None:
        """Values instead of memory, joined blocks, simpler instructions; walks get everything."""
        if self.walks:
            everything, builder = self._codegen._module_pass_manager()
            everything.run(self._final_module, builder)
            return
        builder = self._codegen._pass_builder(opt=0, loop_vectorize=False, slp_vectorize=False)
        passes = create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        for function in self._final_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def inherited(flags: Any) -> Any:
    """A context in which callees are looked for by the options that they inherit, no others."""
    shared = flags.copy()
    for name in OWN_OPTIONS:
        shared.discard(name)
    shared.nrt = True  # for Numba's own; functions of the package decide for themselves
    return ConfigStack().enter(shared)


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(NopythonTypeInference):
    """Type inference."""

    _name = "spd1_infer_types"

    def run_pass(self, state: Any) -> bool:
        with inherited(state.flags), remembered(state.typingctx):
            return bool(super().run_pass(state))


class Given(NamedTuple):
    """The type of an argument, in a form that branches on None are decided by."""

    literal_type: Any


@register_pass(mutates_CFG=True, analysis_only=False)
class PruneByType(untyped_passes.DeadBranchPrune):
    """Leave out branches for None where there is none; Numba leaves out the others."""

    _name = "spd1_prune_by_type"

    def run_pass(self, state: Any) -> bool:
        known = state.args
        state.args = tuple(
            one if isinstance(one, MAYBE_NONE) else Given(types.unliteral(one)) for one in known
        )
        try:
            return bool(super().run_pass(state))
        finally:
            state.args = known


@register_pass(mutates_CFG=True, analysis_only=False)
class Legalise(typed_passes.IRLegalization):
    """Mark where names end, unless nobody counts references."""

    _name = "spd1_legalise"

    def run_pass(self, state: Any) -> bool:
        if state.flags.nrt:
            return bool(super().run_pass(state))
        enforce_no_phis(state.func_ir)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(NativeLowering):
    """Lowering, optimisation, machine code."""

    _name = "spd1_lower_kernel"
    library = KernelLibrary
    own = False  # whether the function is the package's

    @property
    def lowering_class(self) -> Any:
        """Who writes it for LLVM."""
        return LowerValues if self.own else super().lowering_class

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        self.own = inside(state.func_id.modname)
        state.library.walks = state.func_id.modname == WALKS
        with inherited(state.flags):  # methods are looked up again
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPiece(LowerKernel):
    """Lowering and optimisation. The entry that Numba knows a function by leads nowhere."""

    _name = "spd1_lower_piece"
    library = PieceLibrary

    def run_pass(self, state: Any) -> bool:
        if holds_arrays(state.return_type) and inside(state.func_id.modname):
            raise TypeError(f"{state.func_id.func_name} returns arrays: nobody would count them")
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


def holds_arrays(kind: Any) -> bool:
    """Whether values of a Numba type can be arrays, or tuples of them."""
    members = getattr(kind, "types", None) or ()
    return isinstance(kind, types.Array) or any(holds_arrays(one) for one in members)


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    lowering: type = LowerKernel

    def __init__(self, typingctx: Any, targetctx: Any, *rest: Any) -> None:
        super().__init__(typingctx, targetctx, *rest)
        self.target, self.own = targetctx, False

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.own = inside(func.__module__)
        if self.own:
            self.state.flags.nrt = not MAKE_ARRAYS.isdisjoint(func.__code__.co_names)
            self.state.targetctx = _make_subtarget(self.target, self.state.flags)
        with collector_at_rest(), short_cuts():
            return super().compile_extra(func)

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, some of them replaced."""
        instead = {NopythonTypeInference: InferTypes, NativeLowering: self.lowering}
        if self.own:
            instead |= {
                untyped_passes.DeadBranchPrune: PruneByType,
                typed_passes.IRLegalization: Legalise,
            }
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [one for one in manager.passes if not (self.own and one[0] in LEFT_OUT)]
        manager.passes = [(instead.get(one, one), about) for one, about in kept]
        manager.finalize()
        return [manager]


class PieceCompiler(KernelCompiler):
    """Compiles what kernels are made of."""

    lowering = LowerPiece
