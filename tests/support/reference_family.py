"""The methods of ``solvers/family`` as they stand on paper: see ``reference``.

Nothing is lazy and no sum is kept up to date: gradients and margins are computed afresh at every
step. Nothing here calls the package.
"""

from __future__ import annotations

import math

import numpy as np

from .reference import GAMMA, Task, prox_dual, prox_g, slope


def prox_all(task: Task, v, sigma) -> np.ndarray:
    """The prox of every row's conjugate; ``sigma`` is a number or one a row."""
    sigma = np.broadcast_to(sigma, (len(v),))
    rows = zip(v, task.b, sigma, strict=True)
    return np.array([prox_dual(task.loss, a, b, s) if s > 0 else a for a, b, s in rows])


def pull(task: Task, y) -> np.ndarray:
    """A'(c y)."""
    return task.A.T @ (task.c * y)


def follow(task: Task, y, l2=0.0, z=0.0) -> np.ndarray:
    """argmin_x <A'(c y), x> + g(x) + l2/2 |x - z|^2."""
    size = task.l2 + l2
    v = l2 * z - pull(task, y)
    soft = np.sign(v) * np.maximum(np.abs(v) - task.l1, 0.0)
    return np.clip(soft / size, task.lower, task.upper)


def inner_gap(task: Task, rows, x, y, kappa, z):
    """P(x) - D(y) with kappa/2 |x - z|^2 added; ``rows`` are phi(a_i'x) + phi*(y_i)."""
    v = -pull(task, y)
    reg = np.sum(task.l1 * np.abs(x) + task.l2 / 2 * x**2) + kappa / 2 * np.sum((x - z) ** 2)
    best = follow(task, y, kappa, z)  # argmax_t {v t - g(t) - kappa/2 |t - z|^2}
    star = v @ best - np.sum(task.l1 * np.abs(best) + task.l2 / 2 * best**2)
    return task.c @ rows + reg + star - kappa / 2 * np.sum((best - z) ** 2)


def spd1_vr_acc(task: Task, x, y, draws, eta, tau, back, r, k):
    """One outer loop; ``draws`` holds (i, j), ``r`` and ``k`` as in ``reference``."""
    A, b, c, n = task.A, task.b, task.c, len(task.b)
    x, y, x_old, y_old = x.copy(), y.copy(), x, y
    G, m = pull(task, y_old), A @ x_old
    for i, j in draws:
        eta_j, sigma_i = eta * n / k[j], tau / r[i]
        x_j = x[j] + back / k[j] * (x_old[j] - x[j])
        y_i = y[i] + back / r[i] * (y_old[i] - y[i])
        x_bar = prox_g(task, x_j - eta_j * G[j], eta_j, j)
        y_bar = prox_dual(task.loss, y_i + sigma_i * m[i], b[i], sigma_i)
        for_x = G[j] + k[j] * c[i] * A[i, j] * (y_bar - y_old[i])
        for_y = m[i] + r[i] * A[i, j] * (x_bar - x_old[j])
        x[j] = prox_g(task, x_j - eta_j * for_x, eta_j, j)
        y[i] = prox_dual(task.loss, y_i + sigma_i * for_y, b[i], sigma_i)
    return x, y


def chambolle_pock(task: Task, x, y, iterations, eta, tau, variant="plain", norm=1.0):
    """Algorithms 1, 2 (``variant`` "primal" or "dual") and 3 ("both") of Chambolle & Pock."""
    mu, gamma, x_bar, theta = task.l2.min(), GAMMA.get(task.loss, 0.0), x, 1.0
    for _ in range(iterations):
        y = prox_all(task, y + tau * (task.A @ x_bar), tau)
        new = prox_g(task, x - eta * pull(task, y), eta)
        if variant == "both":
            theta = 1.0 / (1.0 + 2.0 * math.sqrt(mu * gamma) / norm)
        elif variant == "primal":
            theta = 1.0 / math.sqrt(1.0 + 2.0 * mu * eta)
            eta, tau = eta * theta, tau / theta
        elif variant == "dual":
            theta = 1.0 / math.sqrt(1.0 + 2.0 * gamma * tau)
            eta, tau = eta / theta, tau * theta
        x, x_bar = new, new + theta * (new - x)
    return x, y


def extragradient(task: Task, x, y, iterations, eta, tau):
    """Korpelevich's method; also the means of its trial points."""
    trials = []
    for _ in range(iterations):
        x_bar = prox_g(task, x - eta * pull(task, y), eta)
        y_bar = prox_all(task, y + tau * (task.A @ x), tau)
        trials.append((x_bar, y_bar))
        x = prox_g(task, x - eta * pull(task, y_bar), eta)
        y = prox_all(task, y + tau * (task.A @ x_bar), tau)
    means = [np.mean(part, axis=0) for part in zip(*trials, strict=True)]
    return x, y, *means


def pdlp_steps(task: Task, x, y, iterations, step, weight, stored):
    """PDLP's adaptive steps until a restart: x first, then y at 2 x+ - x."""
    rows = task.c * np.sum(task.A**2, axis=1)
    S = np.where(rows > 0, 1.0 / np.where(rows > 0, rows, 1.0), 0.0)
    T = 1.0 / np.maximum(stored.sum(axis=0), 1)
    used = S > 0
    for t in range(iterations):
        while True:
            eta, sigma = step / weight * T, step * weight * S
            new_x = prox_g(task, x - eta * pull(task, y), eta)
            new_y = prox_all(task, y + sigma * (task.A @ (2 * new_x - x)), sigma)
            dx, dy = new_x - x, new_y - y
            size = weight * np.sum(dx**2 / T)
            size += np.sum((task.c * dy**2)[used] / S[used]) / weight
            met = 2 * abs((task.c * dy) @ (task.A @ dx))
            limit = size / met if met > 0 else math.inf
            tried, k = step, t + 1.0
            step = min((1 - (k + 1) ** -0.3) * limit, (1 + (k + 1) ** -0.6) * step)
            if tried <= limit:
                break
        x, y = new_x, new_y
    return x, y, step


def sdca(task: Task, y, rows, near, kappa=0.0, z=0.0):
    """Dual coordinate ascent, on P + kappa/2 |x - z|^2; x afresh each time."""
    y, mu = y.copy(), task.l2.min() + kappa
    for i in rows:
        reach = task.c[i] * np.sum(task.A[i] ** 2) / mu
        if reach > 0:
            u = task.A[i] @ follow(task, y, kappa, z)
            y[i] = near(y[i] + u / reach, task.b[i], 1.0 / reach, y[i])
    return follow(task, y, kappa, z), y


def row_saddle(task: Task, x, y, rows, eta, sigmas, theta, ahead, before=None):
    """SPDC (theta < 1, ahead = 1), SPDHG (0, 1 + 1/n), RPD (n theta, 1/n)."""
    n, before, y = len(task.b), x if before is None else before, y.copy()
    for i in rows:
        G, old = pull(task, y), y[i]
        if sigmas[i] > 0:
            u = task.A[i] @ (x + theta * (x - before))
            y[i] = prox_dual(task.loss, old + sigmas[i] * u, task.b[i], sigmas[i])
        for_x = G + ahead * n * task.c[i] * (y[i] - old) * task.A[i]
        x, before = prox_g(task, x - eta * for_x, eta), x
    return x, y


def saddle_estimates(task: Task, i, j, y_i, x_j, x_old, y_old, pi, rho):
    """Gradients in x and y from a row and a column, against remembered x and y."""
    for_x = pull(task, y_old) + task.c[i] / pi[i] * (y_i - y_old[i]) * task.A[i]
    for_y = task.A @ x_old + (x_j - x_old[j]) / rho[j] * task.A[:, j]
    return for_x, for_y


def svrg_saddle(task: Task, x, y, draws, eta, tau, pi, rho):
    """One outer loop of Palaniappan & Bach's SVRG; ``draws`` holds (i, j, coin)."""
    x_old, y_old = x, y
    for i, j, _ in draws:
        for_x, for_y = saddle_estimates(task, i, j, y[i], x[j], x_old, y_old, pi, rho)
        x, y = prox_g(task, x - eta * for_x, eta), prox_all(task, y + tau * for_y, tau)
    return x, y


def saga_saddle(task: Task, x, y, draws, eta, tau, pi, rho):
    """Their SAGA."""
    x_old, y_old = x.copy(), y.copy()
    for i, j, _ in draws:
        for_x, for_y = saddle_estimates(task, i, j, y[i], x[j], x_old, y_old, pi, rho)
        x_old[j], y_old[i] = x[j], y[i]
        x, y = prox_g(task, x - eta * for_x, eta), prox_all(task, y + tau * for_y, tau)
    return x, y


def vr_step(task: Task, z, w, i, j, eta, tau, pi, rho, chance):
    """One step of Alacaoglu & Malitsky's from z = (x, y), with the snapshot w."""
    (x, y), (x_old, y_old) = z, w
    x_bar, y_bar = x + chance * (x_old - x), y + chance * (y_old - y)
    x_half = prox_g(task, x_bar - eta * pull(task, y_old), eta)
    y_half = prox_all(task, y_bar + tau * (task.A @ x_old), tau)
    for_x, for_y = saddle_estimates(task, i, j, y_half[i], x_half[j], x_old, y_old, pi, rho)
    return prox_g(task, x_bar - eta * for_x, eta), prox_all(task, y_bar + tau * for_y, tau)


def vr_extragradient(task: Task, x, y, draws, eta, tau, pi, rho, chance):
    """Alacaoglu & Malitsky's method with loopless snapshots."""
    x_old, y_old = x, y
    for i, j, coin in draws:
        x, y = vr_step(task, (x, y), (x_old, y_old), i, j, eta, tau, pi, rho, chance)
        if coin < chance:
            x_old, y_old = x, y
    return x, y


def katyusha(task: Task, snap, y, z, rows, eta):
    """One outer loop of Algorithm 1, Option II; eta = 1 / (3 L)."""
    n, mu = len(task.b), task.l2.min()
    tau = min(math.sqrt(len(rows) * mu * eta), 0.5)
    alpha = eta / tau
    table = slope(task.loss, task.A @ snap, task.b)
    mean, weights, total = pull(task, table), 0.0, np.zeros_like(snap)
    for j, i in enumerate(rows):
        x = tau * z + 0.5 * snap + (0.5 - tau) * y
        change = slope(task.loss, task.A[i] @ x, task.b[i]) - table[i]
        gradient = n * task.c[i] * change * task.A[i] + mean
        z, old = prox_g(task, z - alpha * gradient, alpha), z
        y = x + tau * (z - old)
        weight = (1.0 + alpha * mu) ** j
        weights, total = weights + weight, total + weight * y
    return total / weights, y, z


def dspdc(task: Task, x, y, draws, eta, tau, beyond, before=None):
    """A dual and a primal coordinate a step; ``beyond`` is d theta."""
    n, before, y = len(task.b), x if before is None else before, y.copy()
    for i, j in draws:
        G, old = pull(task, y), y[i]
        u = task.A[i] @ (x + beyond * (x - before))
        y[i] = prox_dual(task.loss, old + tau * u, task.b[i], tau)
        for_x = G[j] + n * task.c[i] * task.A[i, j] * (y[i] - old)
        before, x = x, x.copy()
        x[j] = prox_g(task, x[j] - eta * for_x, eta, j)
    return x, y


def s2cd_chances(task: Task, gamma) -> np.ndarray:
    """P_ij ~ r_i (n c_i a_ij^2 / gamma + l2_j) over the non-zeros."""
    n, used = len(task.b), task.A != 0
    L = n * task.c[:, None] * task.A**2 / gamma + task.l2
    sizes = used.sum(axis=1)[:, None] * np.where(used, L, 0.0)
    return sizes / sizes.sum()


def s2cd(task: Task, x, draws, h, P):
    """One outer loop; ``draws`` holds (i, j)."""
    n, x = len(task.b), x.copy()
    table = slope(task.loss, task.A @ x, task.b)
    mean, p = pull(task, table), P.sum(axis=0)
    for i, j in draws:
        change = slope(task.loss, task.A[i] @ x, task.b[i]) - table[i]
        own = n * task.c[i] * task.A[i, j] * change / (n * P[i, j] / p[j])
        x[j] -= h / p[j] * (mean[j] + task.l2[j] * x[j] + own)
    return x
