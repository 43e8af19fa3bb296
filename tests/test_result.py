"""One run from the outside: its history, its status, how to stop it, how to look at it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1 import (
    METHODS,
    Certificate,
    DataError,
    ParameterError,
    Progress,
    Result,
    Trace,
    solve,
)
from spd1.archive import write_archive
from spd1.solvers import SPECIAL_METHODS, method_class
from support import cases, oracle
from support.cases import EVERY_METHOD

COLUMNS = ("passes", "paper_passes", "seconds", "primal", "dual", "gap", "rel_gap")


# The history.


@pytest.mark.parametrize("method", EVERY_METHOD)
def test_columns_of_a_trace(method):
    special = method in SPECIAL_METHODS  # few steps take them as far as rounding lets them
    tol = 1e-300 if special else 1e-12
    found = solve(cases.suited(method).problem(), method, max_passes=60, tol=tol)
    trace = found.trace
    assert len(trace) >= 3  # Newton's method makes a dozen steps between two looks
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


# Why a run stops.


# What it leaves alone.


# Looking at it.


def test_a_result_comes_back_from_its_file(finished, tmp_path):
    path = tmp_path / "answer.npz"
    finished.save(path)
    again = Result.load(path)
    for name in Result.__dataclass_fields__:
        if name != "trace":
            np.testing.assert_array_equal(getattr(again, name), getattr(finished, name), name)
    assert again.trace.rows == finished.trace.rows
    assert str(again.certificate) == str(finished.certificate)
    assert repr(again) == repr(finished)
    again.save(path)  # over itself
    assert Result.load(path).rel_gap == finished.rel_gap


def test_files_that_are_no_results_are_refused_by_name(finished, tmp_path):
    path = tmp_path / "answer.npz"
    with pytest.raises(DataError, match="no such file"):
        Result.load(path)
    finished.save(path)
    good = path.read_bytes()
    for content in (b"", b"hello", good[:-1], good[:100], good.replace(b"spd1-vr", b"spd1-VR")):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"answer\.npz is (damaged|not a spd1 result)"):
            Result.load(path)
    write_archive(path, "result", 1, {}, [np.zeros(2)])
    with pytest.raises(DataError, match=r"answer\.npz is damaged"):
        Result.load(path)
    with pytest.raises(ParameterError, match=r"name it without \.gz"):
        finished.save(tmp_path / "answer.gz")
    with pytest.raises(DataError, match="does not exist"):
        finished.save(tmp_path / "no" / "answer")
