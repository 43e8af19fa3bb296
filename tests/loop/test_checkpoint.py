"""Runs that are stopped and go on: the same bits as one that was never stopped; refusals."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, DataError, ElasticNet, IncompatibleError, ParameterError, Problem, solve
from spd1.archive import read_archive, write_archive
from spd1.control.prospect import Prospect
from spd1.solvers.newton.newton import Newton
from spd1.solvers.sprint import workers
from support import cases, checkpoints
from support.checkpoints import assert_same, in_parts, small
from support.custom_loss import LogCosh


def labelled(n, d, loss, reg, layout=np.asarray):
    rng = np.random.default_rng([n, d])
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    b = np.arange(n) % 3 if loss == "poisson" else np.where(A[:, 0] + 0.1 > 0, 1.0, -1.0)
    return Problem(layout(A), b, loss, reg)


@pytest.fixture
def kept(tmp_path):
    """A run stopped after three looks, and its file."""
    path = tmp_path / "run.npz"
    stopped = solve(small(), "rows", tol=1e-9, checkpoint=path, callback=checkpoints.after(2))
    assert stopped.status == "interrupted"
    return path


# The same bits


KERNELS = ["ascent", "descent", "newton-cg", "newton-gram"]


@pytest.mark.parametrize("method", [*cases.EVERY_METHOD, *KERNELS, "direct"])
def test_stopped_at_every_look_it_ends_with_the_same_bits(method, tmp_path):
    def problem():
        if method == "descent":
            return labelled(40, 12, "logistic", L1(0.01))
        if method == "direct":
            return labelled(40, 12, "squared", None)
        return cases.suited(method, weighted=method == "rows").problem()

    options = {"method": method, "tol": 1e-11, "max_passes": 40}
    whole = solve(problem(), checkpoint=tmp_path / "whole", **options)
    if whole.converged:  # else an epoch may have been cut off by the limit
        assert_same(whole, solve(problem(), **options))
    parts, stops = in_parts(problem, tmp_path / "run", **options)
    assert_same(whole, parts)
    assert stops == len(whole.trace) - (2 if whole.converged else 1)
    assert_same(parts, solve(problem(), checkpoint=tmp_path / "run", **options))


FACES = {  # loss, regularizer, shape, layout
    "primal": ("logistic", L1(0.02), (40, 12), np.asarray),
    "dual": ("hinge", L2(0.01), (40, 30), np.asarray),
    "free": ("hinge", L2(np.append(np.full(29, 0.01), 0.0)), (40, 30), np.asarray),
}
MORE_FACES = {
    "tall": ("squared", L1(0.02), (60, 10), np.asarray),
    "span": ("hinge", L2(0.01), (12, 40), np.asarray),
    "free-span": ("hinge", L2(np.append(np.full(39, 0.01), 0.0)), (12, 40), np.asarray),
    "proximal": ("absolute", L1(0.02), (40, 12), np.asarray),
    "box": ("logistic", ElasticNet(0.01, lower=-0.2, upper=0.1), (40, 30), np.asfortranarray),
    "strided": ("squared", L1(0.02), (20, 30), lambda A: np.repeat(A, 2, axis=1)[:, ::2]),
    "csr": ("logistic", L1(0.005), (200, 80), sp.csr_array),
    "csc": ("logistic", L1(0.005), (200, 80), sp.csc_array),
    "csc-dual": ("hinge", L2(0.001), (200, 80), sp.csc_array),
    "csr-lasso": ("squared", L1(0.003), (60, 400), sp.csr_array),
    "net": ("squared_hinge", ElasticNet(0.003, 0.001), (200, 80), sp.csr_array),
    "poisson": ("poisson", L1(0.01), (40, 12), np.asarray),
}


@pytest.mark.parametrize(
    "key", [*FACES, *(pytest.param(key, marks=pytest.mark.slow) for key in MORE_FACES)]
)
@pytest.mark.parametrize("cut", [None, pytest.param((3, 2), marks=pytest.mark.slow)])
def test_newton_keeps_its_working_sets(key, cut, tmp_path):
    loss, reg, shape, layout = (FACES | MORE_FACES)[key]

    def problem():
        made = labelled(*shape, loss, reg, layout)
        return made if cut is None else made.with_grid(made.grid.cut(*cut))

    whole = solve(problem(), "newton", tol=1e-9)
    parts, _ = in_parts(problem, tmp_path / "run", method="newton", tol=1e-9)
    assert_same(whole, parts)


@pytest.mark.slow
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize(
    ("method", "tile"),
    [("rows", None), ("columns", None), ("spd1", None), ("spd1-vr", None), ("psgd", None),
     ("spd1", "auto"), ("spd1-vr", "auto"), ("auto", None)],
)  # fmt: skip
def test_every_layout_goes_on(layout, loss, method, tile, tmp_path):
    for shape in ((60, 20), (20, 60)):
        for reg in (L2(0.01), ElasticNet(0.01, 0.001)):

            def problem(shape=shape, reg=reg):
                return labelled(*shape, loss, reg, layout)

            options = {"method": method, "tile": tile, "tol": 1e-8, "max_passes": 60}
            parts, _ = in_parts(problem, tmp_path / "run", **options)
            assert_same(solve(problem(), checkpoint=tmp_path / "whole", **options), parts)
            os.remove(tmp_path / "run")
            os.remove(tmp_path / "whole")


def test_auto_goes_on_inside_a_sprint_and_after_it(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "LITTLE_SPARSE_ASCENT", 6e6)  # or it comes to the end itself

    def problem():
        return labelled(240, 150, "hinge", L2(1e-6), sp.csr_array)

    whole = solve(problem(), tol=1e-9)
    assert whole.method.startswith("auto: ascent, then newton")
    parts, stops = in_parts(problem, tmp_path / "run", tol=1e-9)
    assert_same(whole, parts)
    assert stops >= 3


def test_a_sprint_that_converged_is_kept_and_goes_on_for_a_smaller_gap(tmp_path):
    path, problem = tmp_path / "run", labelled(20, 90, "logistic", L2(0.1), sp.csr_array)
    first = solve(problem, tol=1e-3, checkpoint=path)
    assert first.converged
    assert "ascent" in first.method
    assert_same(first, solve(problem, tol=1e-3, checkpoint=path))
    better = solve(problem, tol=1e-10, checkpoint=path)
    assert better.converged
    assert better.rel_gap <= 1e-10
    assert len(better.trace) > len(first.trace)


def test_a_method_that_gave_way_is_kept_too(tmp_path, monkeypatch):
    def problem():
        return labelled(40, 12, "logistic", ElasticNet(l1=0.02, lower=-3.0))  # no kernel's

    monkeypatch.setattr(Prospect, "bleak", bleak_after_two)
    options = {"tol": 1e-9, "x0": np.full(12, 0.1)}
    whole = solve(problem(), **options)
    assert "newton, then interior" in whole.method
    parts, _ = in_parts(problem, tmp_path / "run", **options)
    assert_same(whole, parts)


def bleak_after_two(self, seconds, rel_gap, price):
    self.seconds = seconds
    self.seen.append((seconds, rel_gap))
    return len(self.seen) > 2


def test_a_run_that_has_ended_returns_at_once(tmp_path, monkeypatch):
    path, problem = tmp_path / "run", labelled(40, 12, "logistic", L1(0.02))
    first = solve(problem, "newton", tol=1e-6, checkpoint=path)

    def epoch(self):
        raise AssertionError("nothing is left to do")

    with monkeypatch.context() as patch:
        patch.setattr(Newton, "epoch", epoch)
        assert_same(first, solve(problem, "newton", tol=1e-6, checkpoint=path))
    better = solve(problem, "newton", tol=1e-11, checkpoint=path)
    assert better.converged
    assert better.rel_gap <= 1e-11
    assert better.trace.primal[: len(first.trace)].tolist() == first.trace.primal.tolist()


def test_limits_wait_for_the_end_of_an_epoch_and_may_be_raised(tmp_path):
    path, options = tmp_path / "run", {"method": "spd1-vr", "tol": 1e-5}
    for limit in (10, 20, 25):
        found = solve(small(), max_passes=limit, checkpoint=path, **options)
        assert found.status == "max_passes"
        assert found.passes >= limit
    assert_same(solve(small(), **options), solve(small(), checkpoint=path, **options))


def test_seconds_and_passes_go_on(kept):
    before = solve(small(), "rows", tol=1e-9, max_passes=1e-3, checkpoint=kept)
    after = solve(small(), "rows", tol=1e-9, checkpoint=kept)
    assert after.seconds > before.seconds
    assert np.all(np.diff(after.trace.seconds) >= 0.0)
    assert np.all(np.diff(after.trace.passes) >= 0.0)


def test_every_says_how_often(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("spd1.loop.checkpoint.write_archive", lambda *args: written.append(args))
    options = {"method": "rows", "tol": 1e-9, "checkpoint": tmp_path / "run"}
    looks = len(solve(small(), every=0.0, **options).trace)
    assert len(written) == looks  # before every epoch, and at the end
    written.clear()
    solve(small(), every=3600.0, **options)
    assert len(written) == 1


def test_a_random_seed_is_kept(tmp_path):
    """Without a seed a run that goes on draws on, where it was."""
    path, options = tmp_path / "run", {"method": "rows", "tol": 1e-9, "random_state": None}
    stopped = solve(small(), checkpoint=path, callback=checkpoints.after(2), **options)
    found = solve(small(), checkpoint=path, **options)
    assert found.converged
    assert found.trace.primal[: len(stopped.trace)].tolist() == stopped.trace.primal.tolist()


@pytest.mark.slow  # a kernel of its own
def test_a_loss_of_the_users_can_be_kept(tmp_path):
    def problem():
        return labelled(30, 12, LogCosh(), L2(0.1))

    options = {"method": "rows", "tol": 1e-6}
    parts, _ = in_parts(problem, tmp_path / "run", **options)
    assert_same(solve(problem(), **options), parts)


# Refusals


@pytest.mark.parametrize("every", [-1.0, "often", True, float("nan")])
def test_every_must_be_seconds(every, tmp_path):
    with pytest.raises(ParameterError, match="every must be a number of seconds"):
        solve(small(), checkpoint=tmp_path / "run", every=every)


def changed(A):
    A = A.copy()
    A[3, 1] += 1e-12
    return A


OTHERS = {
    "data": lambda A, b: Problem(changed(A), b, "logistic", L2(0.1)),
    "rows": lambda A, b: Problem(A[1:], b[1:], "logistic", L2(0.1)),
    "columns": lambda A, b: Problem(A[:, 1:], b, "logistic", L2(0.1)),
    "layout of the data": lambda A, b: Problem(np.asfortranarray(A), b, "logistic", L2(0.1)),
    "labels": lambda A, b: Problem(A, -b, "logistic", L2(0.1)),
    "sample weights": lambda A, b: Problem(A, b, "logistic", L2(0.1), np.arange(1, 31)),
    "loss": lambda A, b: Problem(A, b, "squared_hinge", L2(0.1)),
    "regularizer": lambda A, b: Problem(A, b, "logistic", L2(0.2)),
}
SETTINGS = {
    "method": {"method": "svrg"},
    "steps": {"steps": {"eta": 0.1}},
    "sampling": {"sampling": "uniform"},
    "random_state": {"random_state": 1},
    "x0": {"x0": np.ones(12)},
    "y0": {"y0": np.zeros(30)},
}


@pytest.mark.parametrize("what", [*OTHERS, *SETTINGS])
def test_a_checkpoint_of_another_run_is_refused_by_name(what, tmp_path):
    path, problem = tmp_path / "run", labelled(30, 12, "logistic", L2(0.1))
    options = {"method": "saga", "tol": 1e-9}
    solve(problem, checkpoint=path, callback=checkpoints.after(1), **options)
    before = path.read_bytes()
    if what in OTHERS:
        problem = OTHERS[what](problem.A.values, problem.b)
    options |= SETTINGS.get(what, {})
    with pytest.raises(IncompatibleError, match=f"of another run. What differs: .*{what}"):
        solve(problem, checkpoint=path, **options)
    assert path.read_bytes() == before


def test_files_of_other_versions_are_refused(kept):
    about, arrays = read_archive(kept, "checkpoint", 1)
    write_archive(kept, "checkpoint", 2, about, arrays)
    with pytest.raises(DataError, match="a checkpoint of version 2, and this spd1 knows version 1"):
        solve(small(), "rows", checkpoint=kept)
    write_archive(kept, "checkpoint", 1, about | {"spd1": "9.9"}, arrays)
    with pytest.raises(IncompatibleError, match=r"written by spd1 9\.9"):
        solve(small(), "rows", checkpoint=kept)
    write_archive(kept, "result", 1, about, arrays)
    with pytest.raises(DataError, match="is not a spd1 checkpoint"):
        solve(small(), "rows", checkpoint=kept)


def test_a_run_that_cannot_be_kept_is_refused_by_name(tmp_path, monkeypatch):
    begin = Newton.begin

    def with_a_lock(self, *args):
        begin(self, *args)
        self.lock = threading.Lock()

    monkeypatch.setattr(Newton, "begin", with_a_lock)
    problem = labelled(40, 12, "logistic", L1(0.02))
    with pytest.raises(IncompatibleError, match=r"can't be kept.*method\.lock is a _thread\.lock"):
        solve(problem, "newton", checkpoint=tmp_path / "run", every=0.0)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("grid", [None, (2, 2)])
def test_averages_and_tiles_that_were_put_together_go_on(grid, tmp_path, rng):
    """Stopped before, in the middle of a stretch of averages, and after: the same bits."""
    A = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.2)
    b = np.where(A[:, 0] + rng.standard_normal(60) > 0, 1.0, -1.0)
    problem = Problem(sp.csr_array(A), b, "hinge", L1(0.02))
    options = {"method": "rows", "grid": grid, "tol": 1e-5}
    whole = solve(problem, **options, checkpoint=tmp_path / "a.npz", max_passes=10_000)
    assert whole.converged
    assert whole.passes > 400  # averages were needed
    for passes in (50, 150, 300, 400, 10_000):
        found = solve(problem, **options, checkpoint=tmp_path / "b.npz", max_passes=passes)
    np.testing.assert_array_equal(found.x, whole.x)
    np.testing.assert_array_equal(found.y, whole.y)
    np.testing.assert_array_equal(found.trace.gap, whole.trace.gap)
