"""One run from the outside: its history, its status, how to stop it, how to look at it."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, METHODS, Certificate, Problem, Progress, Result, Trace, solve
from spd1.solvers import SPECIAL_METHODS, method_class
from support import cases, oracle
from support.cases import EVERY_METHOD

COLUMNS = ("passes", "paper_passes", "seconds", "primal", "dual", "gap", "rel_gap")


@pytest.fixture
def problem():
    return oracle.make_case("logistic", "l2", False).problem()


def endless(problem, **arguments):
    """A run that only its limits end: fading steps never bring the gap to zero."""
    defaults = {"method": "spd1", "tol": 1e-300, "max_passes": 1e12, "max_seconds": 60.0}
    return solve(problem, **{**defaults, **arguments})


@pytest.fixture
def finished(problem):
    return solve(problem, "spd1-vr", max_passes=100, tol=1e-9)


# The history.


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_columns_of_a_trace(method):
    special = method in SPECIAL_METHODS  # few steps take them as far as rounding lets them
    tol = 1e-300 if special else 1e-12
    found = solve(cases.suited(method).problem(), method, max_passes=60, tol=tol)
    trace = found.trace
    assert len(trace) > 3
    columns = {name: getattr(trace, name) for name in COLUMNS}
    assert {len(column) for column in columns.values()} == {len(trace)}
    assert all(isinstance(column, np.ndarray) for column in columns.values())
    assert np.all(np.diff(trace.passes) > 0)
    assert special or np.all(np.diff(trace.paper_passes) > 0)  # the paper has no count for them
    assert np.all(np.diff(trace.seconds) >= 0)
    assert trace.seconds[0] == 0.0
    assert np.all(np.diff(trace.dual) >= 0)  # the best bound so far
    np.testing.assert_allclose(trace.gap, trace.primal - trace.dual, rtol=1e-9, atol=1e-14)
    size = np.maximum(np.abs(trace.primal), np.abs(trace.dual))
    np.testing.assert_allclose(trace.rel_gap, trace.gap / size, rtol=1e-14)
    # the result is the best point seen, the trace the point of each moment
    # (up to rounding: what a method kept up to date is computed anew in the end)
    assert found.primal == pytest.approx(trace.primal.min(), rel=1e-13)
    assert found.dual == pytest.approx(trace.dual[-1], rel=1e-13)
    assert found.seconds == trace.seconds[-1]
    assert 0.0 <= found.passes - trace.passes[-1] <= 2.0  # a restart may follow the last row


def test_first_row_of_a_trace_is_the_starting_point(problem):
    row = solve(problem, "spd1-vr", max_passes=1).trace.rows[0]
    assert (row.paper_passes, row.seconds) == (0.0, 0.0)
    assert row.primal == pytest.approx(math.log(2.0))  # x = 0, margins 0
    given = solve(problem, "spd1-vr", steps={"eta": 1.0, "tau": 1.0}, max_passes=1).trace.rows[0]
    assert given.passes == 2.0  # the dual points of x and of y; A x is known for x = 0


#: Passes of an epoch, those of the look that follows, and passes as the paper counts them.
PASSES_AN_EPOCH = {
    "rows": (1, 1, 1),
    "columns": (1, 1, 1),
    "spd1": (1, 3, 1),
    "spd1-vr": (5, 3, 2),
    "psgd": (1, 4, 1),  # the last iterate, and the mean of the epochs' ends
    "svrg": (3, 2, 2),
    "saga": (1, 2, 1),
}


@pytest.mark.parametrize(("method", "passes"), PASSES_AN_EPOCH.items())
@pytest.mark.parametrize("layout", ["dense_c", "csr"])
def test_passes_are_counted_honestly(method, passes, layout):
    """Entries read: 1 a step, 3 with variance reduction; a snapshot is A x and A'y, 2 passes.

    A look reads what the method has not at hand: A x, and A'y for each dual point offered. The
    paper's count has a snapshot and nd steps (or n rows) at one pass each, and no looks.
    """
    problem = oracle.make_case("logistic", "l2", False).problem(layout)
    steps = dict.fromkeys(method_class(method).step_names, 1e-3)
    trace = solve(problem, method, steps=steps, max_passes=60, tol=1e-12).trace
    epoch, look, paper = passes
    np.testing.assert_allclose(np.diff(trace.passes)[1:], epoch + look)  # the first starts at zero
    np.testing.assert_allclose(np.diff(trace.paper_passes), paper)


def test_every_method_has_its_count():
    assert PASSES_AN_EPOCH.keys() == METHODS.keys()


def test_to_frame_has_the_same_numbers(finished):
    frame = finished.trace.to_frame()
    assert tuple(frame.columns) == COLUMNS == Progress._fields
    for name in COLUMNS:
        np.testing.assert_array_equal(frame[name].to_numpy(), getattr(finished.trace, name))


def test_unknown_columns_are_refused_by_name():
    with pytest.raises(AttributeError, match=r"no column 'objective'.*rel_gap"):
        Trace().objective


# The result.


def test_result_says_what_it_is(finished):
    text = repr(finished)
    for piece in ("spd1-vr", finished.status, f"{finished.primal:.8g}", f"{finished.passes:.1f}"):
        assert piece in text
    assert finished.converged == (finished.status == "converged")
    with pytest.raises(AttributeError):
        finished.primal = 0.0
    certificate = finished.certificate
    assert isinstance(certificate, Certificate)
    assert (certificate.gap, certificate.dual) == (finished.gap, finished.dual)
    assert certificate.y is finished.y


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_same_seed_same_bits(method):
    problem = cases.suited(method).problem()
    runs = [
        solve(problem, method, max_passes=60, tol=1e-12, random_state=seed) for seed in (3, 3, 4)
    ]
    one, same, other = runs
    np.testing.assert_array_equal(one.x, same.x)
    np.testing.assert_array_equal(one.y, same.y)
    for name in set(COLUMNS) - {"seconds"}:
        np.testing.assert_array_equal(getattr(one.trace, name), getattr(same.trace, name))
    assert one.steps == same.steps
    if method in METHODS:  # the others draw nothing at random that shows here
        assert not np.array_equal(one.x, other.x)


def test_random_state_may_be_a_generator(problem):
    one, same = (
        solve(problem, "spd1", max_passes=60, random_state=np.random.default_rng(1))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.x, same.x)
    generator = np.random.default_rng(1)
    runs = [solve(problem, "spd1", max_passes=60, random_state=generator) for _ in range(2)]
    assert not np.array_equal(runs[0].x, runs[1].x)  # it has moved on
    with pytest.raises(ValueError, match="random_state must not be negative"):
        solve(problem, random_state=-1)


# Why a run stops.


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_max_passes(method):
    found = solve(cases.suited(method).problem(), method, tol=1e-300, max_passes=20)
    assert found.status == "max_passes"
    # the epoch that passes the limit is finished
    assert 20 <= found.passes <= 32


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_max_seconds_of_every_method(method):
    found = endless(cases.suited(method).problem(), method=method, max_seconds=0.05, max_passes=1e6)
    exact = found.status == "converged" and found.gap == 0.0
    assert found.status == "max_seconds" or exact
    assert found.gap <= found.trace.gap[0]


def test_max_seconds(problem):
    found = endless(problem, max_seconds=1e-9)
    assert (found.status, found.trace.paper_passes[-1]) == ("max_seconds", 0.0)
    assert math.isfinite(found.gap)
    found = endless(problem, max_seconds=0.2)
    assert found.status == "max_seconds"
    assert found.trace.paper_passes[-1] > 0


def test_max_seconds_stops_inside_an_epoch():
    """An epoch has 3e6 steps here; a look at the clock comes every 2e6."""
    A = np.random.default_rng(0).standard_normal((1000, 3000))
    big = Problem(A, np.where(A[:, 0] > 0, 1.0, -1.0), "logistic", L2(1.0))
    found = endless(big, method="spd1-vr", max_seconds=0.02)
    assert found.status == "max_seconds"
    assert found.trace.paper_passes[-1] < 1.9


def test_tol_alone_decides_what_is_converged(problem):
    for tol in (1e-1, 1e-3, 1e-6):
        found = solve(problem, "spd1-vr", tol=tol, max_passes=2000)
        assert (found.status, found.rel_gap <= tol) == ("converged", True)
        assert np.all(found.trace.rel_gap[:-1] > tol)  # and no later than that
    limited = solve(problem, "spd1-vr", tol=1e-6, max_passes=1)
    assert (limited.status, limited.rel_gap > 1e-6) == ("max_passes", True)


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_callback_sees_every_row_and_may_stop(method):
    rows = []
    found = endless(
        cases.suited(method).problem(),
        method=method,
        callback=lambda row: rows.append(row) or len(rows) == 5,
    )
    assert found.status == "interrupted"
    assert all(type(row) is Progress for row in rows)
    assert rows == found.trace.rows
    assert len(rows) == 5


def test_errors_of_a_callback_are_not_swallowed(problem):
    with pytest.raises(ZeroDivisionError):
        solve(problem, callback=lambda row: 1 / 0)


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("how", ["raised", "pressed"])
@pytest.mark.parametrize("method", ["spd1", "psgd", *SPECIAL_METHODS])
def test_ctrl_c_returns_the_best_point(how, method):
    rows, problem = [], cases.suited(method).problem()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it

    def callback(row):
        rows.append(row)
        if len(rows) == 2 and how == "pressed":
            threading.Timer(0.05, press_ctrl_c).start()  # in the middle of something later
        if len(rows) == 4 and how == "raised":
            raise KeyboardInterrupt

    try:
        found = endless(problem, method=method, callback=callback)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found.status == "interrupted"
    assert math.isfinite(found.gap)
    assert found.primal <= min(row.primal for row in found.trace.rows)
    assert found.gap <= rows[0].gap
    assert problem.primal(found.x) == pytest.approx(found.primal, rel=1e-12)


# What it leaves alone.


@pytest.mark.parametrize("layout", ["dense_c", "csr"])
@pytest.mark.parametrize("method", EVERY_METHOD)
def test_inputs_are_left_alone_and_may_be_read_only(method, layout, rng):
    case = cases.suited(method, weighted=True)
    A, (n, d) = oracle.LAYOUTS[layout](case.A), case.A.shape
    x0, y0 = rng.standard_normal(d), -case.b * rng.random(n)
    arrays = [case.b.copy(), case.c.copy(), x0, y0]
    entries = (A.data, A.indices, A.indptr) if sp.issparse(A) else (A,)
    kept = [array.copy() for array in (*arrays, *entries)]

    def run():
        b, c, x0, y0 = arrays
        return solve(Problem(A, b, "logistic", L2(0.1), c), method, x0=x0, y0=y0, max_passes=30)

    loose = run()
    for array, before in zip((*arrays, *entries), kept, strict=True):
        np.testing.assert_array_equal(array, before)
        array.flags.writeable = False
    np.testing.assert_array_equal(run().x, loose.x)
    assert not np.shares_memory(loose.x, x0)


# Looking at it.


def test_verbose_writes_lines_to_a_pipe(problem, capsys):
    found = solve(problem, "spd1", verbose=True, max_passes=60)
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("spd1 ")]
    assert 2 <= len(lines) <= len(found.trace) + 1  # the first, the last, and some between
    assert out == ""
    for word in ("pass ", "primal ", "dual ", "gap ", " s"):
        assert word in lines[0]
    assert f"pass {found.trace.passes[0]:7.1f}" in lines[0]
    assert f"{found.passes:.1f}" in lines[-1]
    assert f"{found.dual:.8g}" in lines[-1]
    assert f"{found.rel_gap:.1e}" in lines[-1]
    solve(problem, max_passes=5)
    assert "pass" not in capsys.readouterr().err


def test_verbose_rewrites_one_line_of_a_terminal(problem, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    solve(problem, "spd1", verbose=True, max_passes=20)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert err.count("\r") == err.count("spd1 ") >= 2


@pytest.fixture
def pyplot():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("x", ["passes", "paper_passes", "seconds"])
def test_plot_of_a_result(x, finished, pyplot):
    axes = finished.plot(x=x)
    [line] = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), getattr(finished.trace, x))
    np.testing.assert_allclose(line.get_ydata(), finished.trace.rel_gap)
    assert axes.get_yscale() == "log"
    assert ("seconds" if x == "seconds" else "passes") in axes.get_xlabel()
    assert "gap" in axes.get_ylabel()
    assert finished.status in axes.get_title()
    own = pyplot.subplots()[1]
    assert finished.plot(ax=own) is own


def test_comparison_of_results(problem, finished, pyplot):
    from spd1.plotting import compare

    results = {"ours": finished, "saga": solve(problem, "saga", max_passes=20, tol=1e-12)}
    axes = compare(results, title="two runs")
    assert [line.get_label() for line in axes.get_lines()] == ["ours", "saga"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ours", "saga"]
    assert axes.get_title() == "two runs"
    best = oracle.optimum("logistic", "l2", False).best
    axes = compare(results, x="seconds", optimum=best)
    heights = axes.get_lines()[1].get_ydata()
    np.testing.assert_allclose(heights, np.maximum(results["saga"].trace.primal - best, 1e-16))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("seconds", "P(x) - P*")


def test_runs_that_blew_up_can_be_drawn(problem, pyplot):
    from spd1.plotting import compare

    rows = [Progress(k, k, k, p, 0.1, p - 0.1, 1.0) for k, p in enumerate((1.0, math.inf))]
    trace = Trace()
    trace.rows.extend(rows)
    lost = Result(np.zeros(1), np.zeros(1), 1.0, 0.1, 0.9, 0.9, "diverged", 1.0, 1.0, trace, "psgd")
    axes = compare({"lost": lost}, optimum=0.0)
    assert len(axes.get_lines()[0].get_xdata()) == 1  # what is not finite is left out


def test_unknown_axes_are_refused_by_name(finished, pyplot):
    from spd1.plotting import compare

    for draw in (lambda: finished.plot(x="time"), lambda: compare({"a": finished}, x="time")):
        with pytest.raises(ValueError, match=r"passes, paper_passes, seconds, not 'time'"):
            draw()
