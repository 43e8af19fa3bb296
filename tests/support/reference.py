"""The methods as they stand on paper: dense arrays, no lazy updates, draws given as lists.

Nothing here calls the package. ``r`` and ``k`` say how many columns a row, and how many rows a
column, is drawn with: d and n for the paper's uniform sampling, the numbers of non-zeros of the
row and of the column if only those are drawn. Sample weights enter as c, with sum c_i = 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


class Task(NamedTuple):
    """A problem in plain numbers; l1, l2, lower and upper are vectors."""

    A: np.ndarray
    b: np.ndarray
    c: np.ndarray
    loss: str
    l1: np.ndarray
    l2: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def task_of(A: Any, b: Any, c: Any, loss: str, reg: Any) -> Task:
    """Spread the regularizer's numbers over the features."""
    values = (np.broadcast_to(v, (A.shape[1],)) for v in (reg.l1, reg.l2, reg.lower, reg.upper))
    return Task(np.asarray(A, dtype=float), np.asarray(b), np.asarray(c), loss, *values)


def prox_g(task: Task, z: Any, eta: Any, j: Any = slice(None)) -> Any:
    """argmin_t eta g_j(t) + (t - z)^2 / 2."""
    soft = np.sign(z) * np.maximum(np.abs(z) - eta * task.l1[j], 0.0)
    return np.clip(soft / (1.0 + eta * task.l2[j]), task.lower[j], task.upper[j])


def slope(loss: str, u: Any, b: Any) -> Any:
    """phi'(u)."""
    return {
        "logistic": lambda: -b * expit(-b * u),
        "hinge": lambda: np.where(b * u < 1.0, -b, 0.0),
        "squared_hinge": lambda: -2.0 * b * np.maximum(0.0, 1.0 - b * u),
        "smoothed_hinge": lambda: -b * np.clip(1.0 - b * u, 0.0, 1.0),
        "squared": lambda: u - b,
        "absolute": lambda: np.sign(u - b),
    }[loss]()


def prox_dual(loss: str, v: float, b: float, sigma: float) -> float:
    """argmin_y sigma phi*(y) + (y - v)^2 / 2, each from its stationarity condition."""
    if loss == "logistic":  # y = -b S(z), where S(z) + sigma z = -b v
        reach = (abs(v) + 1.0) / sigma
        z = brentq(lambda z: expit(z) + sigma * z + b * v, -reach, reach, xtol=1e-300, rtol=1e-15)
        return -b * float(expit(z))
    return {
        "hinge": lambda: b * min(max(b * v - sigma, -1.0), 0.0),
        "squared_hinge": lambda: b * min((b * v - sigma) / (1.0 + sigma / 2.0), 0.0),
        "smoothed_hinge": lambda: b * min(max((b * v - sigma) / (1.0 + sigma), -1.0), 0.0),
        "squared": lambda: (v - sigma * b) / (1.0 + sigma),
        "absolute": lambda: min(max(v - sigma * b, -1.0), 1.0),
    }[loss]()


class Averages(NamedTuple):
    """Last iterates, and the means of all iterates before the last."""

    x: np.ndarray
    y: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray


def spd1(task: Task, x, y, draws, etas, taus, r, k) -> Averages:
    """Algorithm 1; ``draws`` holds (i, j)."""
    n, x, y, xs, ys = len(task.b), x.copy(), y.copy(), [], []
    for (i, j), eta, tau in zip(draws, etas, taus, strict=True):
        xs.append(x.copy())
        ys.append(y.copy())
        eta_j, sigma_i = eta * n / k[j], tau / r[i]
        for_x = k[j] / n * (n * task.c[i]) * task.A[i, j] * y[i]  # its mean is (A'(c y))_j
        for_y = r[i] * task.A[i, j] * x[j]  # its mean is (A x)_i
        x[j], y[i] = (
            prox_g(task, x[j] - eta_j * for_x, eta_j, j),
            prox_dual(task.loss, y[i] + sigma_i * for_y, task.b[i], sigma_i),
        )
    return Averages(x, y, np.mean(xs, axis=0), np.mean(ys, axis=0))


def spd1_vr(task: Task, x, y, draws, eta, tau, r, k) -> tuple[np.ndarray, np.ndarray]:
    """One outer loop of Algorithm 2, as corrected; ``draws`` holds (i, i', j, j')."""
    A, b, c, n = task.A, task.b, task.c, len(task.b)
    x, y, x_old, y_old = x.copy(), y.copy(), x, y
    G_x, Ax = A.T @ (c * y_old), A @ x_old

    for i, i2, j, j2 in draws:
        eta_j, sigma_i = eta * n / k[j], tau / r[i]

        def move_x(row, value, j=j, eta_j=eta_j):
            for_x = k[j] * c[row] * A[row, j] * (value - y_old[row]) + G_x[j]
            return prox_g(task, x[j] - eta_j * for_x, eta_j, j)

        def move_y(column, value, i=i, sigma_i=sigma_i):
            for_y = r[i] * A[i, column] * (value - x_old[column]) + Ax[i]
            return prox_dual(task.loss, y[i] + sigma_i * for_y, b[i], sigma_i)

        x_bar, y_bar = move_x(i2, y[i2]), move_y(j2, x[j2])
        x[j], y[i] = move_x(i, y_bar), move_y(j, x_bar)
    return x, y


def psgd(task: Task, x, rows, eta) -> np.ndarray:
    """Proximal stochastic gradient descent; ``rows`` holds i."""
    n = len(task.b)
    for i in rows:
        gradient = n * task.c[i] * slope(task.loss, task.A[i] @ x, task.b[i]) * task.A[i]
        x = prox_g(task, x - eta * gradient, eta)
    return x


def svrg(task: Task, x, rows, eta) -> np.ndarray:
    """One outer loop of proximal SVRG."""
    n, snapshot = len(task.b), slope(task.loss, task.A @ x, task.b)
    mean = task.A.T @ (task.c * snapshot)
    for i in rows:
        change = slope(task.loss, task.A[i] @ x, task.b[i]) - snapshot[i]
        x = prox_g(task, x - eta * (n * task.c[i] * change * task.A[i] + mean), eta)
    return x


def saga(task: Task, x, rows, eta) -> np.ndarray:
    """SAGA, its table filled at the starting point."""
    n, table = len(task.b), slope(task.loss, task.A @ x, task.b)
    for i in rows:
        mean = task.A.T @ (task.c * table)  # afresh at every step: O(nd), and nothing to go wrong
        new = slope(task.loss, task.A[i] @ x, task.b[i])
        x = prox_g(task, x - eta * (n * task.c[i] * (new - table[i]) * task.A[i] + mean), eta)
        table[i] = new
    return x


def rows(task: Task, x, y, order, eta, stored, near) -> tuple[np.ndarray, np.ndarray]:
    """Row tiles: a row a step, the gradient afresh each time; ``stored`` masks the entries.

    The logistic prox of rows is inexact: ``near`` is the loss's own, which test_losses.py bounds.
    """

    def prox(v, b, sigma, old):
        return (
            near(v, b, sigma, old) if task.loss == "logistic" else prox_dual(task.loss, v, b, sigma)
        )

    n, x, y, k = len(task.b), x.copy(), y.copy(), stored.sum(axis=0)
    for i in order:
        squares = np.sum(task.A[i] ** 2)
        if squares == 0.0:  # its margin is 0 at any x
            y[i] = slope(task.loss, 0.0, task.b[i])
        if squares == 0.0 or task.c[i] == 0.0:
            continue
        G, sigma = task.A.T @ (task.c * y), 1.0 / (eta * n * task.c[i] * squares)
        old, j = y[i], stored[i]
        y[i] = prox(old + sigma * (task.A[i] @ x), task.b[i], sigma, old)
        ahead = k[j] * task.c[i] * task.A[i, j] * (y[i] - old)
        x[j] = prox_g(task, x[j] - eta * n / k[j] * (G[j] + ahead), eta * n / k[j], j)
    return x, y


def rows_in_rounds(
    task: Task, x, y, visits, eta, stored, near, left, known
) -> tuple[np.ndarray, np.ndarray]:
    """Row tiles of cut data: ``visits`` has (rows, columns, number of the columns, order).

    ``left`` has the margins that every column of tiles has left, ``known`` the y that its columns
    know of; both are moved in place. All else is computed afresh at every step. A row is visited
    once in every column of tiles: steps of y are so many times shorter. x looks ahead along all
    that y_i has moved since these columns last knew of it.
    """
    n, x, y, k = len(task.b), x.copy(), y.copy(), stored.sum(axis=0)
    for rows, columns, number, order in visits:
        for i in order:
            squares = np.sum(task.A[i] ** 2)
            if squares == 0.0:  # its margin is 0 at any x
                y[i] = slope(task.loss, 0.0, task.b[i])
            if squares == 0.0 or task.c[i] == 0.0:
                continue
            G = task.A.T @ (task.c * known[:, number])
            sigma = 1.0 / (eta * n * task.c[i] * squares * left.shape[1])
            others = np.delete(left[i], number).sum()
            margin = others + task.A[i, columns] @ x[columns]
            old, j = y[i], np.flatnonzero(stored[i])
            j = j[(j >= columns.start) & (j < columns.stop)]
            if task.loss == "logistic":
                y[i] = near(old + sigma * margin, task.b[i], sigma, old)
            else:
                y[i] = prox_dual(task.loss, old + sigma * margin, task.b[i], sigma)
            ahead = k[j] * task.c[i] * task.A[i, j] * (y[i] - known[i, number])
            x[j] = prox_g(task, x[j] - eta * n / k[j] * (G[j] + ahead), eta * n / k[j], j)
            known[i, number] = y[i]
        left[rows, number] = task.A[rows, columns] @ x[columns]
    return x, y


#: phi' is Lipschitz with constant 1/gamma; the losses that are not here have corners.
GAMMA = {"logistic": 4.0, "squared_hinge": 0.5, "smoothed_hinge": 1.0, "squared": 1.0}


def tied_columns(task: Task, x, order) -> tuple[np.ndarray, np.ndarray]:
    """Column tiles, y tied to x: a column a step, margins and y afresh each time."""
    x, gamma = x.copy(), GAMMA[task.loss]
    for j in order:
        squares = task.c @ task.A[:, j] ** 2
        if squares > 0.0:
            y = slope(task.loss, task.A @ x, task.b)
            eta_j = gamma / squares
            x[j] = prox_g(task, x[j] - eta_j * (task.A[:, j] @ (task.c * y)), eta_j, j)
    return x, slope(task.loss, task.A @ x, task.b)


def free_columns(task: Task, x, y, order, sigma, stored) -> tuple[np.ndarray, np.ndarray]:
    """Column tiles, y free: the rows that a column has an entry in move with it."""
    d, x, y, r = task.A.shape[1], x.copy(), y.copy(), stored.sum(axis=1)
    for j in order:
        squares = task.c @ task.A[:, j] ** 2
        if squares > 0.0:
            m, old, eta_j = task.A @ x, x[j], 1.0 / (sigma * d * squares)
            x[j] = prox_g(task, old - eta_j * (task.A[:, j] @ (task.c * y)), eta_j, j)
            for i in np.flatnonzero(stored[:, j]):
                ahead, sigma_i = r[i] * task.A[i, j] * (x[j] - old), sigma * d / r[i]
                y[i] = prox_dual(task.loss, y[i] + sigma_i * (m[i] + ahead), task.b[i], sigma_i)
    return x, y


def theorem_1(L: float, D: float, R: float, R_prime: float, n: int, d: int, T: int) -> Any:
    """Steps eta_t and tau_t, t = 0 .. T-1, and the bound.

    The bound is what the proof's last inequality gives with these steps: 3 times the one printed.
    It bounds sup E[F(x_hat, y) - F(x, y_hat)], not E[G].
    """
    root, fade = math.sqrt(2 * d), np.sqrt(np.arange(T) + 1.0)
    bound = 3 * root * L * D * (R + R_prime) / math.sqrt(T)
    return root * D / (L * R * fade), root * L * n / (D * R_prime * fade), bound


def theorem_2(L, D, R, R_prime, n, d, T, mu, gamma) -> Any:
    """The same for strongly convex g and smooth phi, with the steps that close the recursion."""
    t = np.arange(T)
    bound = 4 * d * D**2 * mu + 4 * n * L**2 * gamma
    bound += 2 * d * L**2 * R**2 / mu * math.log(1 + T / (4 * d - 1))
    bound += 2 * d * D**2 * R_prime**2 / gamma * math.log(1 + T / (4 * n - 1))
    return 2 * d / (mu * (t + 4 * d)), 2 * n * d / (gamma * (t + 4 * n)), bound / T


def theorem_2_published(L, D, R, R_prime, n, d, T, mu, gamma) -> Any:
    """Theorem 2 as printed; its bound does not hold."""
    fade, log = np.arange(T) + 4.0, math.log(T + 4)
    bound = 4 * d * D**2 * mu + 4 * L**2 * gamma
    bound += 2 * L**2 * R**2 / mu * log + 2 * d * D**2 * R_prime**2 / gamma * log
    return 2 / (mu * fade), 2 * n * d / (gamma * fade), bound / T


def theorem_3(R, R_prime, n, d, mu, gamma) -> tuple[float, float, int]:
    """eta, tau and the number T of inner steps; kappa and kappa' must be at least 1."""
    kappa, kappa_prime = R**2 / (mu * gamma), d * R_prime**2 / (n * mu * gamma)
    rows, columns = d * kappa, n * kappa_prime
    eta = gamma / (128 * R**2) * min(rows / columns, 1.0)
    tau = n * mu / (128 * R_prime**2) * min(columns / rows, 1.0)
    return eta, tau, math.ceil(4096 / 5 * math.log(5) * max(rows, columns))


# Tiles. Blocks are slices; B and C are the numbers of row and of column blocks.


def spd1_tiles(task: Task, x, y, draws, eta, tau, B, C) -> Averages:
    """Algorithm 1 with a tile a step; ``draws`` holds (I, J)."""
    n, x, y, xs, ys = len(task.b), x.copy(), y.copy(), [], []
    eta_J, sigma_I = eta * n / B, tau / C
    for I, J in draws:
        xs.append(x.copy())
        ys.append(y.copy())
        for_x = B * task.A[I, J].T @ (task.c * y)[I]
        for_y = C * task.A[I, J] @ x[J]
        x[J], y[I] = (
            prox_g(task, x[J] - eta_J * for_x, eta_J, J),
            prox_rows(task, y[I] + sigma_I * for_y, sigma_I, I),
        )
    return Averages(x, y, np.mean(xs, axis=0), np.mean(ys, axis=0))


def spd1_vr_tiles(task: Task, x, y, draws, eta, tau, B, C) -> tuple[np.ndarray, np.ndarray]:
    """One outer loop of Algorithm 2 with tiles; ``draws`` holds (I, I', J, J')."""
    A, c, n = task.A, task.c, len(task.b)
    x, y, x_old, y_old = x.copy(), y.copy(), x, y
    G_x, Ax = A.T @ (c * y_old), A @ x_old
    eta, sigma = eta * n / B, tau / C

    for I, I2, J, J2 in draws:

        def move_x(rows, values, J=J):
            for_x = B * A[rows, J].T @ (c[rows] * (values - y_old[rows])) + G_x[J]
            return prox_g(task, x[J] - eta * for_x, eta, J)

        def move_y(columns, values, I=I):
            for_y = C * A[I, columns] @ (values - x_old[columns]) + Ax[I]
            return prox_rows(task, y[I] + sigma * for_y, sigma, I)

        x_bar, y_bar = move_x(I2, y[I2]), move_y(J2, x[J2])
        x[J], y[I] = move_x(I, y_bar), move_y(J, x_bar)
    return x, y


def whole_rows(task: Task, x, y, blocks, eta, tau, mu) -> tuple[np.ndarray, np.ndarray]:
    """SPD1-VR with tiles of whole rows, one visit each; the gradient afresh each time."""
    A, c, n, B = task.A, task.c, len(task.b), len(blocks)
    x, y, eta_I = x.copy(), y.copy(), eta * n / B
    sigma, response = tau * shares_of(task), eta_I * B / (1.0 + eta_I * mu)
    for I in blocks:
        G = A.T @ (c * y)
        x_bar, move = prox_g(task, x - eta_I * G, eta_I), np.zeros(n)
        for i in range(n)[I]:
            if sigma[i] > 0:
                u = A[i] @ (x_bar - response * A.T @ move)
                new = prox_dual(task.loss, y[i] + sigma[i] * u, task.b[i], sigma[i])
                move[i], y[i] = c[i] * (new - y[i]), new
        x = prox_g(task, x - eta_I * (G + B * A.T @ move), eta_I)
    return x, y


def sparse_whole_rows(task: Task, x, y, rows, eta, tau, stored) -> tuple[np.ndarray, np.ndarray]:
    """The same a row at a time, only stored entries moving; ``stored`` masks them."""
    n, x, y, k = len(task.b), x.copy(), y.copy(), stored.sum(axis=0)
    sigma = tau * shares_of(task)
    for i in rows:
        if sigma[i] > 0:
            G, j = task.A.T @ (task.c * y), stored[i]
            eta_j, old = eta * n / k[j], y[i]
            x_bar = prox_g(task, x[j] - eta_j * G[j], eta_j, j)
            v = old + sigma[i] * task.A[i, j] @ x_bar
            y[i] = prox_dual(task.loss, v, task.b[i], sigma[i])
            ahead = k[j] * task.c[i] * task.A[i, j] * (y[i] - old)
            x[j] = prox_g(task, x[j] - eta_j * (G[j] + ahead), eta_j, j)
    return x, y


def sparse_spd1_rows(task: Task, x, y, tiles, eta, tau, stored) -> Averages:
    """Algorithm 1 a sparse row at a time; ``tiles`` lists the rows of each step."""
    n, x, y, k, xs, ys = len(task.b), x.copy(), y.copy(), stored.sum(axis=0), [], []
    for tile in tiles:
        xs.append(x.copy())
        ys.append(y.copy())
        for i in tile:
            j = stored[i]
            u, eta_j = task.A[i] @ x, eta * n / k[j]
            x[j] = prox_g(task, x[j] - eta_j * k[j] * task.c[i] * task.A[i, j] * y[i], eta_j, j)
            y[i] = prox_dual(task.loss, y[i] + tau * u, task.b[i], tau)
    return Averages(x, y, np.mean(xs, axis=0), np.mean(ys, axis=0))


def prox_rows(task: Task, v, sigma, rows) -> np.ndarray:
    """prox_dual for a block of rows."""
    return np.array(
        [prox_dual(task.loss, a, b, sigma) for a, b in zip(v, task.b[rows], strict=True)]
    )


def shares_of(task: Task) -> np.ndarray:
    """Mean |a_i|^2 over |a_i|^2, weighted by n c_i; 0 for rows that have none."""
    norms = np.sum(task.A**2, axis=1) * task.c * len(task.b)
    return np.divide(norms[norms > 0].mean(), norms, out=np.zeros(len(norms)), where=norms > 0)
