from __future__ import annotations
from typing import NamedTuple
import numpy as np, math
from ..jit import kernel, helper

class State(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    x_sum: np.ndarray
    y_sum: np.ndarray
    x_last: np.ndarray
    y_last: np.ndarray

class Steps(NamedTuple):
    eta: float
    tau: float
    schedule: int

@helper
def fade(schedule, t):
    if schedule == 0:
        return 1.0
    if schedule == 1:
        return 1.0 / math.sqrt(t + 1.0)
    return 1.0 / (t + 4.0)

@kernel
def spd1_steps(S, b, w, state, loss, net, steps, start, count, key):
    x, y = state.x, state.y
    for t in range(start, start + count):
        i, j, a = S.pair(key, 2 * t)
        f = fade(steps.schedule, t)
        eta, tau = steps.eta * f, steps.tau * f
        x_j, y_i = x[j], y[i]
        x[j] = net.prox(x_j - eta * w[i] * a * y_i, eta * S.column_share(j), j)
        y[i] = loss.prox_conjugate(y_i + tau * a * x_j, b[i], tau * S.row_share(i))
        state.x_sum[j] += x_j * (t + 1 - state.x_last[j])
        state.x_last[j] = t + 1
        state.y_sum[i] += y_i * (t + 1 - state.y_last[i])
        state.y_last[i] = t + 1

class VR(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    xs: np.ndarray
    ys: np.ndarray
    G: np.ndarray
    u: np.ndarray

@kernel
def spd1_vr_steps(S, b, w, state, loss, net, eta, tau, start, count, key):
    x, y = state.x, state.y
    for t in range(start, start + count):
        i, j, a = S.pair(key, 4 * t)
        i2, a2 = S.in_column(key, 4 * t + 2, j)
        j2, a3 = S.in_row(key, 4 * t + 3, i)
        eta_j = eta * S.column_share(j)
        sigma_i = tau * S.row_share(i)
        p = x[j] - eta_j * state.G[j]
        q = y[i] + sigma_i * state.u[i]
        x_bar = net.prox(p - eta * w[i2] * a2 * (y[i2] - state.ys[i2]), eta_j, j)
        y_bar = loss.prox_conjugate(q + tau * a3 * (x[j2] - state.xs[j2]), b[i], sigma_i)
        x[j] = net.prox(p - eta * w[i] * a * (y_bar - state.ys[i]), eta_j, j)
        y[i] = loss.prox_conjugate(q + tau * a * (x_bar - state.xs[j]), b[i], sigma_i)
