"""How a run of ``solve(problem)`` behaves: limits, callbacks, warm starts, inputs left alone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import Loss, Problem, compiled, solve
from spd1.solvers import method_class
from support import cases, oracle
from support.custom_loss import LogCosh

#: One problem for each engine that auto may pick, and each face of Newton's method.
ENGINES = {
    "few rows": ("logistic", "l2", "wide"),
    "gram of few rows": ("hinge", "l2", "wide"),
    "primal, all columns": ("logistic", "l2", "tall"),
    "primal, working set": ("logistic", "l1", "square"),
    "primal, quadratic": ("squared", "elastic", "weights"),
    "dual": ("hinge", "elastic", "tall"),
    "neither": ("absolute", "l1", "tall"),
}
every_engine = pytest.mark.parametrize("key", ENGINES.values(), ids=list(ENGINES))


@every_engine
def test_the_method_says_what_ran_and_why(key):
    found = solve(cases.make(*key).problem())
    assert found.method.startswith("auto: ")
    name, reason = found.method.removeprefix("auto: ").rstrip(")").split(" (", 1)
    name = name.split(",")[0]  # one may have given way to another
    assert method_class(name).name == name
    assert len(reason.split()) >= 3
    assert found.method in repr(found)
    assert solve(cases.make(*key).problem(), name, max_passes=3).method == name


@every_engine
def test_same_seed_same_bits(key):
    """The reported times apart, everything repeats."""
    runs = [solve(cases.make(*key).problem("csr"), random_state=7, tol=1e-8) for _ in range(2)]
    one, two = runs
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.y, two.y)
    for name in ("primal", "dual", "gap", "passes"):
        assert getattr(one, name) == getattr(two, name)
    for column in ("passes", "primal", "dual", "gap"):
        np.testing.assert_array_equal(getattr(one.trace, column), getattr(two.trace, column))


@every_engine
def test_a_start_at_the_solution_ends_at_once(key):
    problem = cases.make(*key).problem()
    exact = solve(problem, tol=1e-7)
    again = solve(problem, tol=1e-6, x0=exact.x, y0=exact.y)
    assert again.status == "converged"
    assert again.passes <= 16
    assert len(again.trace) <= 2
    assert again.primal == pytest.approx(exact.primal, rel=1e-6)


@every_engine
def test_a_run_never_hands_back_less_than_it_was_given(key):
    """However early it stops: x0 and y0 are points seen, too."""
    problem = cases.make(*key).problem()
    exact = solve(problem, tol=1e-6)
    size = 1e-12 * (1.0 + abs(exact.primal))
    found = solve(problem, tol=1e-300, x0=exact.x, max_passes=0.1)
    assert found.primal <= exact.primal + size
    found = solve(problem, tol=1e-300, y0=exact.y, max_passes=0.1)
    assert found.dual >= exact.dual - size


@every_engine
def test_a_start_anywhere_reaches_the_same_optimum(key, rng):
    case = cases.make(*key)
    _, _, lower, upper = oracle.net(case.reg, case.A.shape[1])
    x0 = np.clip(rng.standard_normal(case.A.shape[1]), lower, upper)
    kept = x0.copy()
    found = solve(case.problem(), x0=x0)
    np.testing.assert_array_equal(x0, kept)
    assert found.status == "converged"
    best = cases.best(*key)
    assert abs(found.primal - best) <= found.gap + 1e-8 * (1.0 + abs(best))


@every_engine
def test_the_trace_ends_with_the_result(key):
    found = solve(cases.make(*key).problem(), tol=1e-7)
    trace = found.trace
    assert np.all(np.diff(trace.passes) >= 0)
    assert np.all(np.diff(trace.seconds) >= 0)
    assert np.all(np.diff(trace.dual) >= 0)  # the best bound so far
    # the certificate is confirmed in the end, by products of its own
    assert found.dual == pytest.approx(trace.dual[-1], rel=1e-12)
    assert found.primal == pytest.approx(trace.primal.min(), rel=1e-12)
    assert trace.passes[-1] <= found.passes <= trace.passes[-1] + 2
    assert found.gap <= trace.gap.min() + 1e-12 * (1.0 + abs(found.primal))
    assert np.all(trace.gap >= trace.primal - found.primal - 1e-12 * (1.0 + abs(found.primal)))
    assert trace.rel_gap[0] > 1e-7 or found.passes > 2  # it had something to do
    assert found.certificate.gap == found.gap


#: Passes that may follow the limit: the operation under way, and the last look at the certificate.
AFTERWARDS = 12


def check_stopped(found, limit):
    """It was this limit that ended the run, not the other, generous one.

    Its tol is out of reach: only an exact solution ends it early.
    """
    if found.status == "converged":
        assert found.rel_gap <= 1e-300
    else:
        assert found.status == limit


@every_engine
@pytest.mark.parametrize("most", [1, 10, 40])
def test_max_passes_is_kept(key, most):
    found = solve(cases.make(*key).problem(), tol=1e-300, max_passes=most, max_seconds=5.0)
    check_stopped(found, "max_passes")
    assert found.passes <= most + AFTERWARDS
    assert found.passes >= most or found.status == "converged"
    best = cases.best(*key)
    assert found.gap >= found.primal - best - 1e-12
    assert found.dual <= best + 1e-12


@every_engine
def test_max_seconds_is_kept(key):
    problem, best = cases.make(*key).problem(), cases.best(*key)
    found = solve(problem, tol=1e-300, max_passes=1e5, max_seconds=0.05)
    check_stopped(found, "max_seconds")
    assert found.gap >= found.primal - best - 1e-12
    assert found.dual <= best + 1e-12


@every_engine
@pytest.mark.parametrize("stop", ["return", "raise"])
def test_callbacks_stop_a_run_with_its_best_point(key, stop):
    seen = []

    def callback(row):
        seen.append(row)
        if len(seen) == 2:
            if stop == "raise":
                raise KeyboardInterrupt
            return True
        return False

    found = solve(cases.make(*key).problem(), tol=1e-300, callback=callback, max_passes=1e6)
    if len(seen) == 2:
        assert found.status == "interrupted"
    else:  # an exact solution leaves nothing to interrupt
        assert (found.status, found.gap) == ("converged", 0.0)
    # a kernel that was told afterwards may have gone further than what was heard
    slack = 1e-12 * (1.0 + abs(found.primal))
    assert found.primal <= min(row.primal for row in seen) + slack
    assert found.dual >= max(row.dual for row in seen) - slack
    assert math.isfinite(found.gap)
    assert found.gap >= found.primal - cases.best(*key) - 1e-12


def test_an_error_in_a_callback_is_the_users():
    def callback(row):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        solve(cases.make("logistic", "l1", "tall").problem(), callback=callback)


@pytest.mark.parametrize("layout", ["dense_c", "dense_f", "csr", "csc", "dense_float32"])
@pytest.mark.parametrize("key", list(ENGINES.values())[::2], ids=list(ENGINES)[::2])
def test_inputs_are_left_alone_and_may_be_read_only(key, layout):
    case = cases.make(*key)
    A, b, weights = oracle.LAYOUTS[layout](case.A), case.b.copy(), case.c.copy()
    arrays = [b, weights, *((A.data, A.indices, A.indptr) if sp.issparse(A) else (A,))]
    kept = [array.copy() for array in arrays]
    loose = solve(Problem(A, b, case.loss, case.reg, weights))
    for array, before in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(array, before)
        array.flags.writeable = False
    frozen = solve(Problem(A, b, case.loss, case.reg, weights))
    np.testing.assert_array_equal(loose.x, frozen.x)
    assert loose.status == "converged"


@pytest.mark.parametrize("key", list(ENGINES.values())[::2], ids=list(ENGINES)[::2])
def test_memory_mapped_data(key, tmp_path):
    case = cases.make(*key)
    np.save(tmp_path / "A.npy", case.A)
    mapped = np.load(tmp_path / "A.npy", mmap_mode="r")
    found = solve(Problem(mapped, case.b, case.loss, case.reg, case.c))
    plain = solve(Problem(case.A, case.b, case.loss, case.reg, case.c))
    assert found.status == "converged"
    np.testing.assert_array_equal(found.x, plain.x)


@compiled(Loss)
class BentLogCosh(NamedTuple):
    """The user's loss of ``custom_loss``, with a curvature of its own."""

    s: float = 0.5

    phi = LogCosh.phi
    derivative = LogCosh.derivative
    conjugate = LogCosh.conjugate
    domain = LogCosh.domain
    L = LogCosh.L
    gamma = LogCosh.gamma

    def curvature(self, u, b):
        t = math.tanh((u - b) / self.s)
        return (1.0 - t * t) / self.s


@pytest.mark.parametrize("reg", ["l1", "l2", "elastic_box"])
@pytest.mark.parametrize("loss", [LogCosh(0.5), BentLogCosh(0.5)], ids=["difference", "own"])
def test_a_loss_of_the_users(loss, reg):
    """With and without a curvature; the optimum is where no direction descends."""
    case = cases.make("huber", reg, "tall")
    problem = Problem(case.A, case.b, loss, case.reg, case.c)
    found = solve(problem, tol=1e-8)
    assert found.status == "converged"
    assert found.method.startswith("auto: newton")
    t = (case.A @ found.x - case.b) / 0.5
    plain = case.c @ (0.5 * (np.logaddexp(t, -t) - math.log(2.0)))
    plain += oracle.g(case.reg, found.x).sum()
    assert found.primal == pytest.approx(plain, rel=1e-12)
    other = solve(problem, "saga", tol=1e-6, max_passes=5000)  # another road to the same P*
    assert abs(found.primal - other.primal) <= other.gap + found.gap
    assert other.primal >= found.dual
