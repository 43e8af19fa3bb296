"""Functions as the package's own are compiled: entries of arrays are where NumPy says they are."""

from __future__ import annotations

from collections import Counter

import numba
import numpy as np
import pytest
from numba.core import base, config, event
from numba.core.postproc import PostProcessor
from numba.core.runtime import _nrt_python, rtsys
from numba.np import arrayobj

from spd1.kernel.pieces import OPTIONS
from spd1.kernel.pipelines import for_kernels, for_pieces

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def own(function, **how):
    """Compile a function as if it stood in the package."""
    function.__module__ = "spd1.kernel.elementary"
    return numba.njit(**(how or for_kernels()), **OPTIONS)(function)


ARRAYS = {
    "rows": np.arange(12.0).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": np.arange(48.0).reshape(6, 8)[::2, ::-2],
    "integers": np.arange(12).reshape(3, 4),
    "float32": np.arange(12, dtype=np.float32).reshape(3, 4),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64])
def test_entries_are_where_numpy_has_them(name, kind):
    @own
    def read(A, i, j, v):
        v[i] = A[i, j]
        return A[i, j], A[i][j], v[i]

    A = ARRAYS[name]
    for i in range(-3 if kind != np.uint64 else 0, 3):
        for j in range(-4 if kind != np.uint64 else 0, 4):
            assert read(A, kind(i), kind(j), np.zeros(3)) == (A[i, j],) * 3


@pytest.mark.parametrize("name", ARRAYS)
def test_entries_are_written_where_numpy_writes_them(name):
    @own
    def write(A, i, j):
        A[i, j] += 3
        A[-1, 0] = 7

    got, wanted = ARRAYS[name].copy(order="K"), ARRAYS[name].copy(order="K")
    write(got, -2, 1)
    wanted[-2, 1] += 3
    wanted[-1, 0] = 7
    np.testing.assert_array_equal(got, wanted)


def test_names_that_loops_change_are_not_taken_for_constants():
    def steps(x):
        last, best, count = 0.0, -1.0, 0
        for k in range(len(x)):
            now = x[k]
            if k > 0 and now < last:
                before = last - now
                best = max(best, before)
                continue
            count += 1
            last = now
        while count > 2:
            count -= 2
        return last, best, count

    for x in ([3.0, 1.0, 2.0, 5.0, 4.0], [1.0], [2.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0]):
        assert own(steps)(np.array(x)) == steps(np.array(x))


def test_kernels_that_make_arrays_give_them_back():
    @own
    def total(n):
        whole = 0.0
        for k in range(n):
            room = np.empty(k + 1)
            for j in range(k + 1):
                room[j] = j
            whole += room[k]
        return whole

    assert total(10) == 45.0  # compiled before anybody counts
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        total(10)
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free == 10


class Compilations(event.Listener):
    """Counts what is compiled, by name."""

    def __init__(self):
        self.names = Counter()

    def on_start(self, event):
        self.names[event.data["dispatcher"].py_func.__name__] += 1

    def on_end(self, event):
        pass


def test_branches_for_none_are_left_out_where_something_is_given():
    missing = object()  # what Numba has no type for

    @own
    def first(x, y):
        return y[0] if x is None else x[0]

    @own
    def never(x):
        return missing if x is None else x[0]

    assert first(np.ones(1), None) == first(None, np.ones(1)) == never(np.ones(1)) == 1.0


def test_a_helper_is_not_compiled_for_a_constant_that_a_loop_begins_with():
    def counted(x, k):
        return x + k

    piece = own(counted, **for_pieces())

    @own
    def count_up(n):
        k, total = 0, 0.0
        while k < n:
            total = piece(total, k)
            k += 1
        return total

    seen = Compilations()
    with event.install_listener("numba:compile", seen):
        assert count_up(4) == 6.0
    assert seen.names["counted"] == 1


def test_numba_has_its_own_ways_back():
    before = base.BaseContext.refresh, base._has_loc, arrayobj.make_array, PostProcessor.run

    @own
    def nothing(x):
        return x

    assert nothing(1.0) == 1.0
    with pytest.raises(numba.core.errors.NumbaError):
        own(lambda x: x.no_such_name)(1.0)
    after = base.BaseContext.refresh, base._has_loc, arrayobj.make_array, PostProcessor.run
    assert after == before
