"""The contraction that docs/laboratory/family.md proves, by exact expectations over all draws.

Phi of the proof is computed from its definition, with plain transcriptions of the steps, at random
points of small problems whose saddle point is known to many digits.
"""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L2, Problem, solve
from spd1.kernel.rng import key_of, units
from spd1.solvers import method_class
from spd1.solvers.rounds import stream_of
from support import reference, reference_family
from support.saddles import LOSSES, SHAPES, points_around, small_saddle

SHARE = 0.5  # sqrt(eta tau) times the longest line: the steps of the theorem


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reg", ["l2", "box"])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_a_step_of_spd1_vr_acc_contracts_as_proved(n, d, reg, loss):
    rng = np.random.default_rng([n, d])
    for l2 in (1.0, 1e-2, 1e-4):
        problem, task, x_best, y_best = small_saddle(rng, (n, d), reg, l2, loss)
        worker = method_class("spd1-vr-acc")(problem, "auto", key_of(1))
        steps = worker.theory_steps()
        eta, tau = steps["eta"], steps["tau"]
        sigma, mu, gamma = tau / d, problem.mu, problem.gamma
        assert max(eta * mu, sigma * gamma) <= 1.0
        r = 1.0 / (n * d)  # momentum 1: the chance of a snapshot, too
        S = eta * mu / d
        assert pytest.approx(sigma * gamma / n) == S
        delta = 0.5 * min((1.0 - SHARE) * r, S)

        def apart(x, y, at=(x_best, y_best), eta=eta, sigma=sigma, c=task.c):
            return np.sum((x - at[0]) ** 2) / eta, np.sum(c * (y - at[1]) ** 2) / sigma

        def phi(z, w, s_x=eta * mu, s_y=sigma * gamma, r=r, apart=apart):
            (zx, zy), (wx, wy) = apart(*z), apart(*w)
            near = (1 + s_x - r) * d * zx + (1 + s_y - r) * n * zy
            return near + d * wx + n * wy

        for _ in range(20):
            size = 10.0 ** rng.uniform(-3, 1)
            z, w = (
                (
                    np.clip(
                        x_best + size * rng.standard_normal(d), problem.reg.lower, problem.reg.upper
                    ),
                    y_best + size * rng.standard_normal(n),
                )
                for _ in range(2)
            )
            mean = 0.0
            for i in range(n):
                for j in range(d):
                    new = one_step(task, z, w, i, j, eta, tau)
                    mean += r * (r * phi(new, new) + (1 - r) * phi(new, w))
            assert mean <= (1.0 - delta) * phi(z, w) * (1 + 1e-12)


def one_step(task, z, w, i, j, eta, tau):
    """A step of the transcription from z, with the snapshot w."""
    n, d = task.A.shape
    (x, y), (x_old, y_old) = (z[0].copy(), z[1].copy()), w
    G, m, sigma = reference_family.pull(task, y_old), task.A @ x_old, tau / d
    x_j = x[j] + (x_old[j] - x[j]) / n
    y_i = y[i] + (y_old[i] - y[i]) / d
    x_bar = reference.prox_g(task, x_j - eta * G[j], eta, j)
    y_bar = reference.prox_dual(task.loss, y_i + sigma * m[i], task.b[i], sigma)
    for_x = G[j] + n * task.c[i] * task.A[i, j] * (y_bar - y_old[i])
    for_y = m[i] + d * task.A[i, j] * (x_bar - x_old[j])
    x[j] = reference.prox_g(task, x_j - eta * for_x, eta, j)
    y[i] = reference.prox_dual(task.loss, y_i + sigma * for_y, task.b[i], sigma)
    return x, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("n", "d"), [(4, 3), (2, 6)])
def test_a_step_of_svrg_saddle_acc_contracts_as_proved(n, d, loss):
    rng = np.random.default_rng([n, d])
    for l2 in (1.0, 1e-2, 1e-4):
        problem, task, x_best, y_best = small_saddle(rng, (n, d), "box", l2, loss)
        worker = method_class("svrg-saddle-acc")(problem, "auto", key_of(1))
        worker.steps = worker.theory_steps()
        p, s = worker.chance, worker.steps["eta"] * problem.mu
        delta = 0.5 * min((1.0 - 0.99) * p, s, 1.0)
        steps = (worker.steps["eta"], worker.steps["tau"], worker.pi, worker.rho, p)

        def apart(point, at=(x_best, y_best), mu=problem.mu, c=problem.gamma * task.c):
            x, y = point
            return mu * np.sum((x - at[0]) ** 2) + np.sum(c * (y - at[1]) ** 2)

        for _ in range(20):
            size = 10.0 ** rng.uniform(-3, 1)
            z, w = (
                (x_best + size * rng.standard_normal(d), y_best + size * rng.standard_normal(n))
                for _ in range(2)
            )
            mean = 0.0
            for i in range(n):
                for j in range(d):
                    new = reference_family.vr_step(task, z, w, i, j, *steps)
                    chance = worker.pi[i] * worker.rho[j]
                    here, old = (1 - p + s) * apart(new), apart(w)
                    mean += chance * (here + p * apart(new) + (1 - p) * old)
            assert mean <= (1.0 - delta) * ((1 - p + s) * apart(z) + apart(w)) * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reg", ["l2", "box"])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_a_step_of_dspdc_contracts_as_proved(n, d, reg, loss):
    rng = np.random.default_rng([n, d])
    for l2 in (1.0, 1e-2, 1e-4):
        saddle = small_saddle(rng, (n, d), reg, l2, loss)
        problem, task = saddle.problem, saddle.task
        worker = method_class("dspdc")(problem, "auto", key_of(1))
        worker.steps = worker.theory_steps()
        (eta, tau), theta, A, c = worker.steps.values(), worker.contraction(), task.A, task.c

        def phi(x, y, move, eta=eta, tau=tau, A=A, c=c, saddle=saddle):
            dx, dy, p = x - saddle.x, y - saddle.y, saddle.problem
            near = n * (1 / tau + 2 * p.gamma) * np.sum(c * dy**2)
            near += d * (1 / eta + 2 * p.mu) * np.sum(dx**2)
            return near + 2 * d * (c * dy) @ (A @ move) + d / (2 * eta) * np.sum(move**2)

        for x, y, before in points_around(rng, saddle):
            k = rng.integers(d)  # a step moves one coordinate
            before = np.where(np.arange(d) == k, before, x)
            mean = 0.0
            for i in range(n):
                for j in range(d):
                    x_new, y_new = reference_family.dspdc(
                        task, x, y, [(i, j)], eta, tau, d * theta, before
                    )
                    mean += phi(x_new, y_new, x_new - x) / (n * d)
            here = phi(x, y, x - before)
            assert here > 0.0
            assert mean <= theta * here * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("reg", ["l2", "box"])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_a_step_of_rpd_contracts_as_proved(n, d, reg, loss):
    rng = np.random.default_rng([n, d])
    for l2 in (1.0, 1e-2, 1e-4):
        saddle = small_saddle(rng, (n, d), reg, l2, loss)
        problem, task = saddle.problem, saddle.task
        worker = method_class("rpd")(problem, "auto", key_of(1))
        worker.steps = worker.theory_steps()
        eta, theta, A, c = worker.steps["eta"], worker.contraction(), task.A, task.c
        sigmas = worker.steps["tau"] * worker.shares

        def phi(x, y, move, eta=eta, s=sigmas, A=A, c=c, saddle=saddle):
            dx, dy, p = x - saddle.x, y - saddle.y, saddle.problem
            near = n * np.sum(c * (1 / s + 2 * p.gamma) * dy**2)
            near += (1 / eta + 2 * p.mu) * np.sum(dx**2)
            turn = 2 * n * (c * dy) @ (A @ move) - 2 * (n - 1) * (c * dy) @ (A @ dx)
            return near + turn + np.sum(move**2) / eta

        for x, y, before in points_around(rng, saddle):
            mean = 0.0
            for i in range(n):
                x_new, y_new = reference_family.row_saddle(
                    task, x, y, [i], eta, sigmas, n * theta, 1 / n, before
                )
                mean += phi(x_new, y_new, x_new - x) / n
            here = phi(x, y, x - before)
            assert here > 0.0
            assert mean <= theta * here * (1 + 1e-12)


def test_snapshots_come_after_random_numbers_of_steps():
    """Geometric with mean n d, by the draws of a stream of their own; the same after a restore."""
    rng = np.random.default_rng(0)
    problem = Problem(rng.standard_normal((6, 5)), rng.standard_normal(6), "squared", L2(0.1))
    worker = method_class("spd1-vr-acc")(problem, "auto", key_of(1))
    lengths = []
    for t in range(4000):
        worker.t = t
        lengths.append(worker.theory_inner_steps())
    coins = units(stream_of(key_of(1), 0, 1), 0, 4000)
    # P(length > k) = (1 - 1/30)^k, the share of coins that are at least that far
    for k in (0, 1, 10, 30, 100):
        assert np.mean(np.array(lengths) > k) == np.mean(1 - coins <= (1 - 1 / 30) ** k)
    assert abs(np.mean(lengths) - 30.0) < 3 * 30.0 / np.sqrt(4000)


def test_the_proved_steps_of_spd1_vr_acc_reach_a_small_gap():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 30))
    problem = Problem(A, np.sign(A[:, 0]), "logistic", L2(0.1))
    found = solve(problem, "spd1-vr-acc", steps="theory", max_passes=3000, tol=1e-6)
    assert found.status == "converged"
