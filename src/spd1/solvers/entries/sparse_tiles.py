"""Kernels of SPD1 and SPD1-VR on tiles of whole sparse rows.

Neighbouring sparse rows share few columns and each lies in one piece already, so the rows of a
tile are taken one after the other; the tile only says which rows are drawn together. A column j
is met k_j times in a pass: it takes steps eta n/k_j, and k_j c_i a_ij y_i is unbiased for its
part of A'(c y). ``shares`` holds n/k_j for the columns of the tile; n, k_j and ``outside`` are
those of all the data.
"""

from __future__ import annotations

from ...kernel.jit import kernel
from ...kernel.rng import index
from .spd1 import fading
from .tile_kernels import block, blocks


@kernel
def sparse_spd1_steps(A, n, outside, tile, rows, shares, state, loss, net, steps, span, key):
    """Steps ``span[0] .. span[0] + span[1] - 1`` of Algorithm 1, a block of rows a step."""
    x, y = state.x, state.y
    B = blocks(A.rows(), tile.p)
    for t in range(span[0], span[0] + span[1]):
        first, last = block(A.rows(), tile.p, index(key, t, B))
        fade = fading(steps.kind, t - steps.origin, steps.eta_delay)
        eta, sigma = steps.eta * fade, steps.tau * fade
        now = t - steps.window + 1.0
        for i in range(first, last):
            u = 0.0
            if outside is not None:
                u += outside[i]
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                u += a * x[j]
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                state.x_sum[j] += x[j] * (now - state.x_last[j])
                state.x_last[j] = now
                eta_j = eta * shares[j]
                x[j] = net.prox(x[j] - eta * n * rows.c[i] * a * y[i], eta_j, j)
            state.y_sum[i] += y[i] * (now - state.y_last[i])
            state.y_last[i] = now
            y[i] = loss.prox_conjugate(y[i] + sigma * u, rows.b[i], sigma)


@kernel
def sparse_row_steps(A, n, outside, tile, rows, shares, state, loss, net, steps, order):
    """Visit the row blocks of ``order`` once: SPD1-VR, the snapshot moving on row by row."""
    x, y, G = state
    eta, tau = steps
    for number in order:
        first, last = block(A.rows(), tile.p, number)
        for i in range(first, last):
            sigma = tau * rows.shares[i]
            if sigma > 0.0:  # empty rows and rows without weight are solved already
                margin = 0.0
                if outside is not None:
                    margin += outside[i]
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    eta_j = eta * shares[j]
                    margin += a * net.prox(x[j] - eta_j * G[j], eta_j, j)  # x_bar_j
                y_new = loss.prox_conjugate(y[i] + sigma * margin, rows.b[i], sigma)
                move = rows.c[i] * (y_new - y[i])
                y[i] = y_new
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    eta_j = eta * shares[j]
                    x[j] = net.prox(x[j] - eta_j * G[j] - eta * n * a * move, eta_j, j)
                    G[j] += a * move
