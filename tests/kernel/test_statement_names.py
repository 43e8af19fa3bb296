"""Names in statements: what Numba finds by itself."""

from __future__ import annotations

from typing import ClassVar

import pytest
from numba.core import compiler, config, ir, ssa

from spd1.kernel import names
from spd1.kernel.shortcuts import refresh
from spd1.solvers.sprint.newton_cg import newton_steps
from spd1.terms import free_terms, net_terms

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
FUNCTIONS = [newton_steps.py_func, net_terms.py_func, free_terms.py_func]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_variables_of_statements_are_those_that_numba_lists(function):
    ours = names.listed(ir.Inst._rec_list_vars)
    blocks = compiler.run_frontend(function).blocks
    for statement in (one for block in blocks.values() for one in block.body):
        assert ours(statement, vars(statement)) == statement.list_vars()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_that_are_assigned_twice_are_told_apart_as_numba_does(function, monkeypatch):
    numbas = ssa.reconstruct_ssa(compiler.run_frontend(function))
    monkeypatch.setattr(ssa, "_run_ssa", names.with_fresh_names(ssa._run_ssa))
    rewrite = names.only_where_named(ssa._run_block_rewrite)
    monkeypatch.setattr(ssa, "_run_block_rewrite", rewrite)
    look = names.not_logged(ssa._run_ssa_block_pass)
    monkeypatch.setattr(ssa, "_run_ssa_block_pass", look)
    ours = ssa.reconstruct_ssa(compiler.run_frontend(function))
    assert ours.dump_to_string() == numbas.dump_to_string()
    assert not names.names_of


def test_looking_for_functions_goes_on_until_there_is_no_new_one():
    class Registry:
        functions: ClassVar[list[int]] = []

    class Context:
        _registries = (Registry,)

        class typing_context:
            _registries = ()

    looks = []

    def look(context):
        looks.append(len(Registry.functions))
        if len(Registry.functions) < 2:
            Registry.functions.append(0)
        renew(context)  # asked meanwhile: it is under way

    renew = refresh(look)
    renew(Context)
    assert looks == [0, 1, 2]
    renew(Context)
    assert looks == [0, 1, 2]
