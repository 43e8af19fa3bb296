"""Every inequality and identity of the proofs of docs/laboratory/family.md, one by one.

``test_family_proofs`` checks what they come to. Here each line is evaluated at random points of
small problems, all draws of a step enumerated; identities hold to rounding, inequalities with that
much to spare. Steps are plain transcriptions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spd1.kernel.rng import key_of
from spd1.solvers import method_class
from support import reference
from support.reference_family import prox_all, pull
from support.saddles import LOSSES, SHAPES, points_around, small_saddle

ROUNDING = 1e-10  # of the size of what is compared
THETA = 0.5  # of the theorem for spd1-vr-acc


def holds(smaller, larger, size):
    assert smaller <= larger + ROUNDING * size


def same(one, other, size):
    assert abs(one - other) <= ROUNDING * size


def problems(name, shape, reg, loss):
    """Small problems with the theory's steps of a method."""
    rng = np.random.default_rng([*shape, len(name)])
    for l2 in (1.0, 1e-2, 1e-4):
        saddle = small_saddle(rng, shape, reg, l2, loss)
        worker = method_class(name)(saddle.problem, "auto", key_of(1))
        worker.steps = worker.theory_steps()
        yield rng, saddle, worker


every_problem = pytest.mark.parametrize(
    ("shape", "reg", "loss"), list(itertools.product(SHAPES, ("l2", "box"), LOSSES))
)


@every_problem
def test_lines_of_the_proof_for_spd1_vr_acc(shape, reg, loss):
    n, d = shape
    for rng, saddle, worker in problems("spd1-vr-acc", shape, reg, loss):
        p, task = saddle.problem, saddle.task
        eta, sigma = worker.steps["eta"], worker.steps["tau"] / d
        A, c = task.A, task.c
        s_x, s_y, back_x, back_y = eta * p.mu, sigma * p.gamma, 1 / n, 1 / d
        R2 = float(np.max(n * c * np.sum(A**2, axis=1)))
        columns = float(np.max(c @ A**2))
        holds(eta * sigma * R2, THETA**2 * back_y, 1.0)
        holds(eta * sigma * d * columns, THETA**2 * back_x, 1.0)
        for x, y, x_old in points_around(rng, saddle):
            y_old = saddle.y + rng.standard_normal(n)
            x_bar, y_bar = x + back_x * (x_old - x), y + back_y * (y_old - y)
            G, m = pull(task, y_old), A @ x_old
            x_half = reference.prox_g(task, x_bar - eta * G, eta)
            y_half = prox_all(task, y_bar + sigma * m, sigma)

            def of_x(v, eta=eta):
                return float(v @ v) / eta

            def of_y(v, c=c, sigma=sigma):
                return float(c @ (v * v)) / sigma

            W_x, W_y, D_x, D_y, turned, ends = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for i, j in itertools.product(range(n), range(d)):
                change_x = eta * n * c[i] * A[i] * (y_half[i] - y_old[i])
                change_y = sigma * d * A[:, j] * (x_half[j] - x_old[j])
                x_new = reference.prox_g(task, x_bar - eta * G - change_x, eta)
                y_new = prox_all(task, y_bar + sigma * m + change_y, sigma)
                W_x += of_x(x_new - saddle.x) / (n * d)
                W_y += of_y(y_new - saddle.y) / (n * d)
                D_x += of_x(change_x) / (n * d)
                D_y += of_y(change_y) / (n * d)
                ends += (of_x(x_half - x_new) + of_y(y_half - y_new)) / (n * d)
                # the operator is (A'(c y), -A x): D in y has the other sign than the change of y
                met = change_x @ (x_half - x_new) / eta - (c * change_y) @ (y_half - y_new) / sigma
                turned += 2 * float(met) / (n * d)
            from_x, from_y = of_x(x_half - x_old), of_y(y_half - y_old)
            old = of_x(x_old - saddle.x), of_y(y_old - saddle.y)
            far = (1 - back_x) * of_x(x - saddle.x) + (1 - back_y) * of_y(y - saddle.y)
            far += back_x * old[0] + back_y * old[1]
            near = s_x * of_x(x_half - saddle.x) + s_y * of_y(y_half - saddle.y)
            left, size = (1 + s_x) * W_x + (1 + s_y) * W_y, far + W_x + W_y
            paid = ends + back_x * from_x + back_y * from_y
            holds(left, far - paid - near + turned, size)  # 1
            holds(D_x, eta * sigma * R2 * from_y, size)  # 2
            holds(D_y, eta * sigma * d * columns * from_x, size)
            holds(turned, (D_x + D_y) / THETA + THETA * ends, size)
            holds((D_x + D_y) / THETA, THETA * (back_x * from_x + back_y * from_y), size)
            holds(old[0], 2 * from_x + 2 * of_x(x_half - saddle.x), size)  # 3
            holds(old[1], 2 * from_y + 2 * of_y(y_half - saddle.y), size)
            C_x, C_y = min((1 - THETA) * back_x, s_x) / 2, min((1 - THETA) * back_y, s_y) / 2
            holds(left, far - C_x * old[0] - C_y * old[1], size)  # (*)


def dual_line(saddle, y, y_new, u, sigmas):
    """(Y), row by row; returns its products, weighted and summed."""
    task, gamma, at = saddle.task, saddle.problem.gamma, saddle.y
    products = 2 * (y_new - at) * (u - task.A @ saddle.x)
    left = (1 / sigmas + 2 * gamma) * (y_new - at) ** 2
    right = ((y - at) ** 2 - (y_new - y) ** 2) / sigmas + products
    size = left + np.abs(products) + (y - at) ** 2 / sigmas
    assert np.all(left <= right + ROUNDING * size)
    return float(task.c @ products)


def primal_line(saddle, x, x_new, w, eta):
    """(X); returns its products."""
    at = saddle.x
    products = -2 * float((w - pull(saddle.task, saddle.y)) @ (x_new - at))
    left = (1 / eta + 2 * saddle.problem.mu) * float(np.sum((x_new - at) ** 2))
    before, moved = float(np.sum((x - at) ** 2)), float(np.sum((x_new - x) ** 2))
    holds(left, (before - moved) / eta + products, left + before / eta + abs(products))
    return products


@every_problem
def test_lines_of_the_proof_for_dspdc(shape, reg, loss):
    n, d = shape
    for rng, saddle, worker in problems("dspdc", shape, reg, loss):
        task, A, c = saddle.task, saddle.task.A, saddle.task.c
        eta, tau, theta = worker.steps["eta"], worker.steps["tau"], worker.contraction()
        r2 = float(np.max(n * c[:, None] * A**2))
        holds(eta * tau * d * r2, 0.25, 1.0)
        for x, y, elsewhere in points_around(rng, saddle):
            D = np.where(np.arange(d) == rng.integers(d), x - elsewhere, 0.0)
            AD, away = A @ D, c * (y - saddle.y)
            u = A @ (x + d * theta * D)
            y_all = prox_all(task, y + tau * u, tau)
            products = dual_line(saddle, y, y_all, u, np.full(n, tau))
            third, fourth, next_turn, moves, D_squares = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                one = np.where(np.arange(n) == i, y_all - y, 0.0)
                moved = float(c @ one**2)
                w = pull(task, y + n * one)
                x_all = reference.prox_g(task, x - eta * w, eta)
                products += primal_line(saddle, x, x_all, w, eta) / n
                third += 2 * d * n * theta * (c * one) @ AD / n
                own = 2 * d * n * abs((c * one) @ AD)
                limit = n / (2 * tau) * moved + d / (2 * eta) * (D @ D)
                holds(own, limit, limit)
                for j in range(d):
                    step = np.where(np.arange(d) == j, x_all - x, 0.0)
                    met = (c * one) @ (A @ step)
                    fourth -= 2 * d * (n - 1) * met / (n * d)
                    next_turn -= 2 * d * (away + c * one) @ (A @ step) / (n * d)
                    limit = n / (2 * tau) * moved + d / (2 * eta) * (step @ step)
                    holds(2 * d * n * abs(met), limit, limit)
                    D_squares += float(step @ step) / (n * d)
                moves += moved / n
            turn = 2 * d * theta * away @ AD
            terms = (turn, next_turn, third, fourth)
            size = sum(map(abs, terms)) + abs(products)
            size += float(c @ (y_all - y) ** 2) / tau + float(D @ D) * d / eta
            # the products of (Y) and (X), and that <y' - y*, A (x - x*)> has gone
            same(products, sum(terms), size + abs(2 * (c * (y_all - saddle.y)) @ (A @ x)))
            paid = n / tau * moves + d / (2 * eta) * (D_squares + theta * (D @ D))
            holds(third + fourth, paid, size)
            bound = n / (2 * tau) * float(c @ (y - saddle.y) ** 2) + d / (2 * eta * n) * (D @ D)
            holds(2 * d * abs(away @ AD), bound, bound)  # Phi bounds the distances


@every_problem
def test_lines_of_the_proof_for_rpd(shape, reg, loss):
    n, _ = shape
    for rng, saddle, worker in problems("rpd", shape, reg, loss):
        p, task, A, c = saddle.problem, saddle.task, saddle.task.A, saddle.task.c
        eta, theta = worker.steps["eta"], worker.contraction()
        sigmas = worker.steps["tau"] * worker.shares
        norm = np.linalg.norm(np.sqrt(c)[:, None] * A, 2)
        holds(np.max(eta * sigmas * n * c * np.sum(A**2, axis=1)), 1 / n**2, 1.0)
        assert (1 - theta) * n * norm <= np.sqrt(p.gamma * p.mu / n) * (1 + ROUNDING)
        for x, y, before in points_around(rng, saddle):
            D = x - before
            AD, away, dx = A @ D, c * (y - saddle.y), x - saddle.x
            u = A @ (x + n * theta * D)
            y_all = prox_all(task, y + sigmas * u, sigmas)
            products = dual_line(saddle, y, y_all, u, sigmas)
            T, T_new, next_turn = away @ (A @ dx), 0.0, 0.0
            for i in range(n):
                y_new = np.where(np.arange(n) == i, y_all, y)
                w = pull(task, y_new)
                x_new = reference.prox_g(task, x - eta * w, eta)
                products += primal_line(saddle, x, x_new, w, eta) / n
                T_new += (c * (y_new - saddle.y)) @ (A @ (x_new - saddle.x)) / n
                next_turn -= 2 * n * (c * (y_new - saddle.y)) @ (A @ (x_new - x)) / n
            last = 2 * n * theta * (c * (y_all - y)) @ AD
            turn = 2 * n * theta * away @ AD
            size = abs(products) + abs(turn) + abs(next_turn) + abs(last) + 2 * n * (T_new + abs(T))
            same(products, 2 * (n - 1) * (T_new - T) + turn + next_turn + last, size)
            ahead = n**2 * theta**2 * float((c * sigmas) @ AD**2)
            holds(last, float((c / sigmas) @ (y_all - y) ** 2) + ahead, size)
            limit = theta**2 * (D @ D) / eta
            holds(ahead, limit, limit)
            left = p.gamma * float(c @ (y - saddle.y) ** 2) + p.mu * float(dx @ dx)
            holds(2 * (n - 1) * (1 - theta) * abs(T), left, left)
            for_y, for_x = float((c / sigmas) @ (y - saddle.y) ** 2), float(dx @ dx) / eta
            phi = n * for_y + for_x + 2 * n * away @ AD - 2 * (n - 1) * T + (D @ D) / eta
            holds((n - 1) / 2 * for_y + for_x / 2, phi, n * for_y + for_x + (D @ D) / eta)
