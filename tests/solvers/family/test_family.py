"""What is promised of every method of the family: certified answers, refusals, bits, tiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L1, L2, ElasticNet, Problem, solve
from spd1.certificate.points import dual_from_margins
from spd1.errors import IncompatibleError, ParameterError
from spd1.kernel.rng import key_of
from spd1.losses import LOSSES
from spd1.solvers import FAMILY_METHODS, method_class
from support import oracle, reference, reference_family
from support.checks import SMOOTH, STRONGLY_CONVEX, check_certificate

FAMILY = list(FAMILY_METHODS)
WHOLE = ("chambolle-pock", "extragradient", "pdlp")
ANY_LOSS = (*WHOLE, "spdhg", "rpd", "sdca")
ANY_NET = (*WHOLE, "spdhg", "rpd")
NO_THEORY = ("spd1-vr-acc", "pdlp", "sdca")  # spd1-vr-acc: not for draws of stored entries
SLOWLY = ("spd1-vr-catalyst", "s2cd")  # their theory's steps are far from what one would take


def case_of(method, loss="logistic", weighted=True, reg="elastic"):
    """A small problem that the method takes, and its optimum."""
    reg = "l2" if method == "s2cd" else reg
    case, best = oracle.make_case(loss, reg, weighted), oracle.optimum(loss, reg, weighted).best
    return case, best


@pytest.mark.parametrize("method", FAMILY)
def test_automatic_steps_reach_a_certified_gap(method):
    case, best = case_of(method)
    found = solve(case.problem("csr"), method, tol=1e-6, max_passes=3000)
    assert found.status == "converged"
    check_certificate(case, found, best)


# Every loss with some regularizers, every regularizer with two losses.
SOME = [
    (loss, reg)
    for loss, reg in oracle.combinations()
    if reg in ("l2", "elastic_box") or loss in ("logistic", "hinge")
]


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "reg"), SOME)
@pytest.mark.parametrize("method", FAMILY)
def test_many_combinations(method, loss, reg):
    case, best = oracle.make_case(loss, reg, False), oracle.optimum(loss, reg, False).best
    problem = case.problem("dense_c")
    strong = problem.mu > 0
    taken = (loss in SMOOTH or method in ANY_LOSS) and (strong or method in ANY_NET)
    if method == "s2cd":
        taken = taken and problem.reg.plain
    if not taken:
        with pytest.raises(IncompatibleError, match=f"{method} .*: use|use method"):
            solve(problem, method)
        return
    found = solve(problem, method, tol=1e-6, max_passes=4000)
    check_certificate(case, found, best)
    if loss in SMOOTH and reg in STRONGLY_CONVEX:
        assert found.status == "converged"
    start = oracle.primal(case, case.reg.minimiser(oracle.D))
    assert found.primal - best <= max(0.5 * (start - best), 1e-6)


@pytest.mark.parametrize("method", sorted(set(FAMILY) - set(NO_THEORY) - set(SLOWLY)))
def test_the_steps_of_the_papers_converge(method):
    case, best = case_of(method)
    found = solve(case.problem("csr"), method, steps="theory", tol=1e-6, max_passes=20_000)
    assert found.status == "converged"
    check_certificate(case, found, best)


@pytest.mark.parametrize("method", NO_THEORY)
def test_methods_without_a_theorem_say_so(method):
    case, _ = case_of(method)
    with pytest.raises(IncompatibleError, match=f"{method}.*(use|steps)"):
        solve(case.problem("csr"), method, steps="theory")


@pytest.mark.parametrize("method", sorted(set(FAMILY) - set(ANY_LOSS)))
def test_a_loss_with_a_corner_is_refused(method):
    problem = Problem(np.eye(3), [1, -1, 1], "hinge", L2(0.1))
    with pytest.raises(IncompatibleError, match=f"{method} needs a smooth loss"):
        solve(problem, method)


@pytest.mark.parametrize("method", sorted(set(FAMILY) - set(ANY_NET)))
def test_a_regularizer_without_l2_is_refused(method):
    problem = Problem(np.eye(3), [1, -1, 1], "logistic", L1(0.1))
    with pytest.raises(IncompatibleError, match=rf"{method}.*use method '"):
        solve(problem, method)


def test_s2cd_takes_no_corners_of_the_regularizer():
    problem = Problem(np.eye(3), [1, -1, 1], "logistic", ElasticNet(l1=0.1, l2=0.1))
    with pytest.raises(IncompatibleError, match="plain l2"):
        solve(problem, "s2cd")


@pytest.mark.parametrize("method", FAMILY)
def test_unknown_samplings_are_refused(method):
    case, _ = case_of(method)
    with pytest.raises(ParameterError, match="sampling"):
        solve(case.problem("csr"), method, sampling="by length")


@pytest.mark.parametrize("method", FAMILY)
def test_same_seed_same_bits(method):
    case, _ = case_of(method)
    problem = case.problem("csr")
    one, same, other = (
        solve(problem, method, max_passes=60, tol=1e-13, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.x, same.x)
    np.testing.assert_array_equal(one.y, same.y)
    np.testing.assert_array_equal(one.trace.gap, same.trace.gap)
    assert np.array_equal(one.x, other.x) == (method in WHOLE)


@pytest.mark.parametrize("method", FAMILY)
def test_passes_and_bounds_of_a_trace(method):
    case, _ = case_of(method)
    trace = solve(case.problem("csr"), method, max_passes=100, tol=1e-13).trace
    assert len(trace) > 2
    assert np.all(np.diff(trace.passes) > 0)
    assert np.all(np.diff(trace.paper_passes) > 0)
    assert np.all(np.diff(trace.dual) >= 0)


@pytest.mark.parametrize("method", FAMILY)
def test_data_in_tiles(method):
    case, best = case_of(method)
    problem = case.problem("csr")
    if method not in WHOLE:
        with pytest.raises(IncompatibleError, match="one piece"):
            solve(problem, method, grid=(2, 2))
        return
    found = solve(problem, method, grid=(3, 2), tol=1e-6)
    assert found.status == "converged"
    check_certificate(case, found, best)


@pytest.mark.parametrize("method", ["spdc", "katyusha", "dspdc", "svrg-saddle", "sdca"])
def test_chunks_of_an_epoch_change_nothing(method):
    """Lazy coordinates are caught up at the end of a chunk: other roundings, nothing else."""
    case, _ = case_of(method)
    ends = []
    for chunk in (10**6, 3):
        worker = method_class(method)(case.problem("csr"), "auto", key_of(1))
        worker.steps = dict.fromkeys(worker.step_names, 0.1)
        worker.begin(np.zeros(oracle.D), np.zeros(oracle.N))
        kind = type(worker)
        worker.chunks = lambda count, size=0, w=worker, k=kind, c=chunk: k.chunks(w, count, c)
        for _ in range(2):
            for _ in worker.epoch():
                pass
        ends.append(worker.iterates()[0][0])
    np.testing.assert_allclose(*ends, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("method", FAMILY)
def test_another_worker_goes_on_with_the_same_bits(method):
    case, _ = case_of(method)

    def new():
        worker = method_class(method)(case.problem("csr"), "auto", key_of(1))
        worker.steps = dict.fromkeys(worker.step_names, 0.05)
        worker.begin(np.zeros(oracle.D), np.zeros(oracle.N))
        return worker

    def run(worker):
        for _ in worker.epoch():
            pass

    first, second = new(), new()
    run(first)
    saved = first.save()
    run(first)
    second.restore(saved)
    run(second)
    np.testing.assert_array_equal(first.iterates()[0][0], second.iterates()[0][0])
    assert first.t == second.t


@pytest.mark.slow
@pytest.mark.parametrize("method", WHOLE)
def test_any_number_of_threads_gives_the_same_bits(method):
    case, _ = case_of(method)
    one, two = (
        solve(case.problem("csr"), method, engine="threads", n_threads=count) for count in (1, 2)
    )
    assert one.status == "converged"
    np.testing.assert_array_equal(one.x, two.x)
    np.testing.assert_array_equal(one.y, two.y)


@pytest.mark.slow
@pytest.mark.parametrize("method", FAMILY)
def test_a_run_goes_on_from_its_checkpoint(method, tmp_path):
    case, _ = case_of(method)
    problem, tol = case.problem("csr"), 1e-13
    solve(problem, method, tol=tol, max_passes=40, checkpoint=tmp_path / "cut")
    cut = solve(problem, method, tol=tol, max_passes=100, checkpoint=tmp_path / "cut")
    whole = solve(problem, method, tol=tol, max_passes=100, checkpoint=tmp_path / "whole")
    np.testing.assert_array_equal(cut.x, whole.x)
    np.testing.assert_array_equal(cut.trace.gap, whole.trace.gap)


# Estimates are unbiased: the sum over all draws, weighted by their probabilities.


@pytest.mark.parametrize("sampling", ["importance", "uniform"])
@pytest.mark.parametrize("method", ["svrg-saddle", "saga-saddle"])
def test_estimates_from_a_row_and_a_column_are_unbiased(method, sampling, rng):
    """With the method's probabilities; that its kernel uses them is the transcriptions' test."""
    case, _ = case_of(method)
    worker = method_class(method)(case.problem("csr"), sampling, key_of(1))
    x_old, y_old = rng.standard_normal(oracle.D), -case.b * rng.random(oracle.N)
    x, y = rng.standard_normal(oracle.D), -case.b * rng.random(oracle.N)
    task = reference.task_of(case.A, case.b, case.c, "logistic", case.reg)
    for_x, for_y = np.zeros(oracle.D), np.zeros(oracle.N)
    for i in range(oracle.N):
        for j in range(oracle.D):
            chance = worker.pi[i] * worker.rho[j]
            if chance > 0:
                one, other = reference_family.saddle_estimates(
                    task, i, j, y[i], x[j], x_old, y_old, worker.pi, worker.rho
                )
                for_x, for_y = for_x + chance * one, for_y + chance * other
    np.testing.assert_allclose(for_x, case.A.T @ (case.c * y), atol=1e-12)
    np.testing.assert_allclose(for_y, case.A @ x, atol=1e-12)


def test_estimates_of_s2cd_are_unbiased():
    case, _ = case_of("s2cd")
    worker = method_class("s2cd")(case.problem("csr"), "auto", key_of(1))
    chances = np.diff(worker.ends, prepend=0.0) / worker.ends[-1]
    change = np.arange(1.0, oracle.N + 1)  # phi'(a_i'x) - table_i
    found = np.zeros(oracle.D)  # mean of the estimate given its column
    np.add.at(
        found,
        worker.of_column,
        chances / worker.chances[worker.of_column] * worker.scales * change[worker.of_row],
    )
    np.testing.assert_allclose(found, case.A.T @ (case.c * change), atol=1e-12)


# Acceleration.


@pytest.mark.slow
def test_tiles_of_the_accelerated_method(rng):
    A = rng.standard_normal((60, 40))
    problem = Problem(A, np.sign(A[:, 0]), "logistic", L2(1e-2))
    for tile in ((4, 8), (2, 40), "auto"):
        found = solve(problem, "spd1-vr-acc", tile=tile, max_passes=4000)
        assert found.status == "converged"
    sparse = Problem(sp.csr_array(A), problem.b, "logistic", L2(1e-2))
    with pytest.raises(IncompatibleError, match="dense"):
        solve(sparse, "spd1-vr-acc", tile=(4, 40))


@pytest.mark.slow
def test_acceleration_pays_where_the_condition_number_is_large():
    """A spectrum from 1 to 1e-3: with l2 a hundred times smaller, about ten times the passes.

    The root of 100 is 10; the condition number itself would be 100.
    """
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((60, 60)))[0] for _ in range(2))
    A = U @ np.diag(np.logspace(0, -3, 60)) @ V.T
    A /= np.sqrt((A**2).sum(axis=1).max())
    b = A @ rng.standard_normal(60)
    b = b / b.std() + 0.1 * rng.standard_normal(60)
    passes = {}
    for method in ("spd1-vr-acc", "svrg-saddle-acc"):
        for l2 in (1e-3, 1e-5):
            problem = Problem(A, b, "squared", L2(l2))
            found = solve(problem, method, tol=1e-6, max_passes=50_000)
            assert found.status == "converged"
            passes[method, l2] = found.passes
        assert passes[method, 1e-5] <= 30 * passes[method, 1e-3]


@pytest.mark.parametrize(
    "loss",
    [
        "logistic",
        *(pytest.param(name, marks=pytest.mark.slow) for name in SMOOTH if name != "logistic"),
    ],
)
def test_catalyst_checks_the_accuracy_of_its_inner_problem(loss):
    """The gap that it looks at is P_z(x) - D_z(y) of the problem with the proximal term."""
    assert LOSSES[loss]().gamma > 0
    case = oracle.make_case(loss, "l2", True)
    worker = method_class("spd1-vr-catalyst")(case.problem("csr"), "auto", key_of(1))
    worker.steps = {"eta": 0.05, "tau": 0.05}
    worker.begin(np.zeros(oracle.D), dual_from_margins(worker.problem, np.zeros(oracle.N)))
    l2 = float(case.reg.l2)
    for _ in range(3):
        for _ in worker.epoch():
            pass
        assert not worker.failed  # an epoch that is undone leaves the gap it was undone for
        kappa = worker.momentum.kappa  # it may have become weaker
        x, y, z = worker.state.x, worker.state.y, worker.centre
        primal = oracle.primal(case, x) + kappa / 2 * np.sum((x - z) ** 2)
        v = kappa * z - case.A.T @ (case.c * y)
        star = np.sum(case.c * oracle.phi_star(case.loss, y, case.b))
        dual = -star - (v @ v) / (2 * (l2 + kappa)) + kappa / 2 * (z @ z)
        assert worker.inner[1] == pytest.approx(primal - dual, rel=1e-6, abs=1e-12)
