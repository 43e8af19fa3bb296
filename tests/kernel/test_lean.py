"""The compiler of kernels: pieces are compiled once, and Numba is left as it was."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from numba.core import config, event
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from spd1.data.matrix import Dense
from spd1.data.products import dot_lines
from spd1.kernel.jit import by_answer, compiled, helper, kernel
from spd1.kernel.rng import shuffle_blocks
from spd1.losses import Logistic
from spd1.regularizers import ElasticNet
from spd1.terms import NO_REACH, net_terms

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


class Ruler:
    """An interface of the test's own; Numba knows methods by name, so the names are unusual."""

    def measured_edge(self, scale):
        raise NotImplementedError


@compiled(Ruler)
class Plank(NamedTuple):
    length: float

    def measured_edge(self, scale):
        return scale * self.length


@helper
def twice_the_edge(plank, scale):
    return 2.0 * plank.measured_edge(scale)


@kernel
def three_edges(plank, scale):
    return plank.measured_edge(scale) + twice_the_edge(plank, scale)


class Compilations(event.Listener):
    """Counts what is compiled, by name."""

    def __init__(self):
        self.names = Counter()

    def on_start(self, event):
        self.names[event.data["dispatcher"].py_func.__name__] += 1

    def on_end(self, event):
        pass


def test_a_piece_is_compiled_once_for_callers_with_other_options():
    seen = Compilations()
    with event.install_listener("numba:compile", seen):
        assert three_edges(Plank(1.5), 2.0) == 9.0
    assert seen.names["three_edges"] == 1
    assert seen.names["twice_the_edge"] == 1
    assert seen.names["measured_edge"] == 1


def test_a_helper_can_be_called_from_outside():
    assert twice_the_edge(Plank(1.5), 2.0) == three_edges(Plank(1.0), 2.0) == 6.0


def test_numba_is_left_as_it_was():
    three_edges(Plank(1.5), 2.0)
    assert "resolve_function_type" not in vars(cpu_target.typing_context)


def test_nets_with_the_same_numbers_have_the_same_sums_in_either_form(rng):
    x, v = rng.standard_normal(7), rng.standard_normal(7)
    for numbers in ({"l2": 0.3}, {"l1": 0.2, "l2": 0.3}, {"l1": 0.1, "l2": 0.5, "lower": -3.0}):
        shared = ElasticNet(**numbers).bind(7)
        each = ElasticNet(**{name: np.full(7, value) for name, value in numbers.items()}).bind(7)
        sums = [net_terms(x, v, NO_REACH, net) for net in (shared, each)]
        np.testing.assert_allclose(*sums, rtol=1e-12)


def test_a_choice_leaves_the_other_body_out():
    chosen = by_answer("is_shared", lambda net, j: net.l1, lambda net, j: net.table[j, 0])

    @kernel
    def first_l1(net):
        return chosen(net, 0)

    assert first_l1(ElasticNet(l1=0.25).bind(3)) == 0.25
    assert first_l1(ElasticNet(l1=np.full(3, 0.5)).bind(3)) == 0.5
    with pytest.raises(AttributeError):
        chosen(Logistic(), 0)


ORDINARY = """
import numpy as np, spd1
from spd1.kernel.pipelines import lean_is_known
rng = np.random.default_rng(0)
A = rng.standard_normal((30, 8)); b = A[:, 0]
found = spd1.certify(np.ones(8), spd1.Problem(A, b, "squared", spd1.L2(0.1)))
print(lean_is_known(), float(found.primal).hex(), float(found.dual).hex())
"""


def test_other_numbas_compile_in_the_ordinary_way(tmp_path):
    """A Numba that the lean compiler was not tried with: the same answer, up to rounding.

    The kernels of a certificate are enough here. Whole solves with such a Numba are what continuous
    integration runs with the oldest versions.
    """
    found = []
    for ordinary in ("0", "1"):
        environment = {
            **os.environ, "SPD1_ORDINARY_COMPILER": ordinary, "SPD1_QUIET": "1",
            "NUMBA_CACHE_DIR": str(tmp_path / ordinary),
        }  # fmt: skip
        run = subprocess.run(
            [sys.executable, "-c", ORDINARY], env=environment, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        found.append(run.stdout.split())
    assert [row[0] for row in found] == ["True", "False"]
    values = [[float.fromhex(word) for word in row[1:]] for row in found]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


@kernel
def larger_and_smaller(x, y):
    return max(x, y), min(x, y)


def test_max_and_min_are_pythons():
    numbers = [-1.5, 0.0, 2.0, float("inf"), float("nan")]
    for kind in (numbers, [-3, 0, 7]):
        for x, y in itertools.product(kind, repeat=2):
            np.testing.assert_array_equal(larger_and_smaller(x, y), (max(x, y), min(x, y)))


def test_a_users_function_may_allocate():
    """What is not the package's own counts references, and has all passes."""

    @kernel
    def sum_of_squares(x):
        squares = np.array([v * v for v in x])
        return squares.sum()

    x = np.arange(4.0)
    before = sys.getrefcount(x)
    assert sum_of_squares(x) == 14.0
    assert sys.getrefcount(x) == before


def test_kernels_free_what_they_allocate_and_hold_nothing():
    """One that allocates, and one that counts no references at all."""
    _nrt_python.memsys_enable_stats()
    order, x, out = np.empty(50, np.int64), np.arange(3.0), np.empty(2)
    values = np.ones((2, 3))
    values.flags.writeable = False
    shuffle_blocks(order, np.uint64(1), 0, 5)  # compiled, or found
    dot_lines(Dense(values), x, out)
    before, held = rtsys.get_allocation_stats(), [sys.getrefcount(a) for a in (order, x, out)]
    for _ in range(20):
        shuffle_blocks(order, np.uint64(1), 0, 5)
        dot_lines(Dense(values), x, out)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert [sys.getrefcount(a) for a in (order, x, out)] == held
    assert sorted(order) == list(range(50))
    np.testing.assert_array_equal(out, [3.0, 3.0])


@pytest.mark.parametrize("at_work", [True, False])
def test_the_collector_is_left_as_it_was(at_work):
    @kernel
    def nothing(x):
        return x

    was_at_work = gc.isenabled()
    try:
        (gc.enable if at_work else gc.disable)()
        assert nothing(2.0) == 2.0
        assert gc.isenabled() == at_work
    finally:
        (gc.enable if was_at_work else gc.disable)()
