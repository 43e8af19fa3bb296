"""Kernels of SPD1 and SPD1-VR on tiles: blocks of consecutive rows by blocks of columns.

A kernel gets a tile of the grid as a matrix of its own, and the parts of the state that belong to
its rows and columns; it reads and writes nothing else. Two things it is told of the rest: n, the
rows of all the data, and ``outside``, what other columns add to the margins of its rows (None:
nothing). Inside, the tile is cut into blocks of at most p x q entries. The unbiased factors are
the numbers of blocks: B row blocks, each drawn as often as the others, so that B A_IJ'(c y)_I is
unbiased for A'(c y) whatever the sizes of the blocks at the edges, and C column blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernel.jit import helper, kernel
from ...kernel.rng import index
from .spd1 import fading
from .tuning import STRIP


class Tile(NamedTuple):
    """Rows and columns of a block, and whether the data lie row by row."""

    p: int
    q: int
    row_major: bool


class Whole(NamedTuple):
    """State of whole-row tiles: iterates, and A'(c y), kept up to date."""

    x: np.ndarray
    y: np.ndarray
    gradient: np.ndarray


class RowData(NamedTuple):
    """What a row brings along: b_i, c_i, its share of tau, and its products with its tile."""

    b: np.ndarray
    c: np.ndarray
    shares: np.ndarray
    gram: np.ndarray  # a_i'a_k for the rows k of the tile before i


@helper
def blocks(count, size):
    """Number of blocks of ``size`` in 0 .. count-1; the last one may be smaller."""
    return (count + size - 1) // size


@helper
def block(count, size, number):
    """First and last + 1 of a block."""
    first = np.int64(number) * size
    return first, min(first + size, count)


@helper
def tile_margins(A, row_major, first, last, low, high, x, out):
    """A_IJ x into ``out``, I = first .. last-1, J = low .. high-1; x and out start at the tile."""
    width = high - low
    x = x[:width]
    i = first
    if not row_major:
        out[: last - first] = 0.0
        for k in range(width):
            column, x_k = A.values[first:last, low + k], x[k]
            for r in range(last - first):
                out[r] += column[r] * x_k
        i = last
    while i + 4 <= last:  # four rows to one reading of x
        row_0, row_1 = A.values[i, low:high], A.values[i + 1, low:high]
        row_2, row_3 = A.values[i + 2, low:high], A.values[i + 3, low:high]
        sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
        for k in range(width):
            x_k = x[k]
            sum_0 += row_0[k] * x_k
            sum_1 += row_1[k] * x_k
            sum_2 += row_2[k] * x_k
            sum_3 += row_3[k] * x_k
        r = i - first
        out[r], out[r + 1], out[r + 2], out[r + 3] = sum_0, sum_1, sum_2, sum_3
        i += 4
    while i < last:
        row = A.values[i, low:high]
        sum_0 = 0.0
        for k in range(width):
            sum_0 += row[k] * x[k]
        out[i - first] = sum_0
        i += 1


@helper
def tile_adjoint(A, row_major, first, last, low, high, w, out):
    """A_IJ' w into ``out``, I = first .. last-1, J = low .. high-1; w and out start at the tile."""
    width = high - low
    out = out[:width]
    out[:] = 0.0
    i = first
    if not row_major:
        w = w[: last - first]
        for k in range(width):
            column = A.values[first:last, low + k]
            total = 0.0
            for r in range(len(w)):
                total += column[r] * w[r]
            out[k] = total
        i = last
    while i + 4 <= last:
        row_0, row_1 = A.values[i, low:high], A.values[i + 1, low:high]
        row_2, row_3 = A.values[i + 2, low:high], A.values[i + 3, low:high]
        r = i - first
        w_0, w_1, w_2, w_3 = w[r], w[r + 1], w[r + 2], w[r + 3]
        for k in range(width):
            out[k] += (row_0[k] * w_0 + row_1[k] * w_1) + (row_2[k] * w_2 + row_3[k] * w_3)
        i += 4
    while i < last:
        row, w_0 = A.values[i, low:high], w[i - first]
        for k in range(width):
            out[k] += row[k] * w_0
        i += 1


@kernel
def tile_spd1_steps(A, n, outside, tile, rows, state, loss, net, steps, first, count, key):
    """Steps ``first .. first + count - 1`` of Algorithm 1, a tile a step, from the old values."""
    x, y = state.x, state.y
    B = blocks(A.rows(), tile.p)
    C = blocks(A.columns(), tile.q)
    share = n / A.rows()
    pull, u, w = np.empty(tile.q), np.empty(tile.p), np.empty(tile.p)
    for t in range(first, first + count):
        i0, i1 = block(A.rows(), tile.p, index(key, 2 * t, B))
        j0, j1 = block(A.columns(), tile.q, index(key, 2 * t + 1, C))
        fade = fading(steps.kind, t - steps.origin, steps.eta_delay)
        eta = steps.eta * fade * A.rows() / B
        sigma = steps.tau * fade / C
        for i in range(i0, i1):
            w[i - i0] = B * rows.c[i] * y[i]
        if share != 1.0:  # the tile's rows stand for those of all the data
            for k in range(i1 - i0):
                w[k] *= share
        tile_adjoint(A, tile.row_major, i0, i1, j0, j1, w, pull)
        tile_margins(A, tile.row_major, i0, i1, j0, j1, x[j0:j1], u)
        now = t - steps.window + 1.0
        for j in range(j0, j1):  # the output averages x^0 .. x^(T-1), as in spd1_steps
            state.x_sum[j] += x[j] * (now - state.x_last[j])
            state.x_last[j] = now
            x[j] = net.prox(x[j] - eta * pull[j - j0], eta, j)
        for i in range(i0, i1):
            state.y_sum[i] += y[i] * (now - state.y_last[i])
            state.y_last[i] = now
            ahead = y[i] + sigma * C * u[i - i0]
            if outside is not None:
                ahead += sigma * outside[i]
            y[i] = loss.prox_conjugate(ahead, rows.b[i], sigma)


@kernel
def tile_vr_steps(A, n, tile, rows, state, loss, net, steps, first, count, key):
    """Inner steps of Algorithm 2 with tiles (I, J), (I', J) and (I, J') for the three entries."""
    x, y, x_snap, y_snap, G, m = state
    B = blocks(A.rows(), tile.p)
    C = blocks(A.columns(), tile.q)
    eta = steps[0] * A.rows() / B
    sigma = steps[1] / C
    everywhere = B * (n / A.rows())
    pull, ahead, moved = np.empty(tile.q), np.empty(tile.q), np.empty(tile.q)
    u, w, y_bar = np.empty(tile.p), np.empty(tile.p), np.empty(tile.p)
    for t in range(first, first + count):
        i0, i1 = block(A.rows(), tile.p, index(key, 4 * t, B))
        j0, j1 = block(A.columns(), tile.q, index(key, 4 * t + 1, C))
        k0, k1 = block(A.rows(), tile.p, index(key, 4 * t + 2, B))
        l0, l1 = block(A.columns(), tile.q, index(key, 4 * t + 3, C))
        for i in range(k0, k1):  # x_bar_J from the rows I'
            w[i - k0] = everywhere * rows.c[i] * (y[i] - y_snap[i])
        tile_adjoint(A, tile.row_major, k0, k1, j0, j1, w, pull)
        for j in range(j0, j1):
            x_bar = net.prox(x[j] - eta * (pull[j - j0] + G[j]), eta, j)
            ahead[j - j0] = C * (x_bar - x_snap[j])
        for j in range(l0, l1):  # y_bar_I from the columns J'
            moved[j - l0] = C * (x[j] - x_snap[j])
        tile_margins(A, tile.row_major, i0, i1, l0, l1, moved, u)
        for i in range(i0, i1):
            y_bar[i - i0] = loss.prox_conjugate(y[i] + sigma * (u[i - i0] + m[i]), rows.b[i], sigma)
            w[i - i0] = everywhere * rows.c[i] * (y_bar[i - i0] - y_snap[i])
        tile_adjoint(A, tile.row_major, i0, i1, j0, j1, w, pull)
        tile_margins(A, tile.row_major, i0, i1, j0, j1, ahead, u)
        for j in range(j0, j1):
            x[j] = net.prox(x[j] - eta * (pull[j - j0] + G[j]), eta, j)
        for i in range(i0, i1):
            y[i] = loss.prox_conjugate(y[i] + sigma * (u[i - i0] + m[i]), rows.b[i], sigma)


@kernel
def whole_row_steps(A, n, outside, tile, rows, state, loss, net, steps, mu, order):
    """Visit the row blocks of ``order`` once: SPD1-VR with blocks as wide as the tile.

    No estimate is noisy: margins are exact, and the snapshot of a tile's rows moves on with
    them (G follows), so that x_bar = prox(x - eta G). Rows see the tile's earlier rows move
    through the products of the rows with each other; y+ serves as y_bar.
    """
    x, y, G = state
    d = A.columns()
    B = blocks(A.rows(), tile.p)
    eta = steps[0] * A.rows() / B
    everywhere = B * (n / A.rows())
    response = eta * everywhere / (1.0 + eta * mu)  # how far x follows G + B A_I'(c delta)
    ahead, pull = np.empty(d), np.empty(STRIP)
    u, move = np.empty(tile.p), np.empty(tile.p)
    for j in range(d):
        ahead[j] = net.prox(x[j] - eta * G[j], eta, j)
    for number in order:
        first, last = block(A.rows(), tile.p, number)
        tile_margins(A, tile.row_major, first, last, 0, d, ahead, u)
        for i in range(first, last):
            r, move_i = i - first, 0.0
            sigma = steps[1] * rows.shares[i]
            if sigma > 0.0:  # empty rows and rows without weight are solved already
                margin = u[r]
                if outside is not None:
                    margin += outside[i]
                for k in range(r):
                    margin -= response * rows.gram[i, k] * move[k]
                y_new = loss.prox_conjugate(y[i] + sigma * margin, rows.b[i], sigma)
                move_i = rows.c[i] * (y_new - y[i])
                y[i] = y_new
            move[r] = move_i
        for start in range(0, d, STRIP):
            stop = min(start + STRIP, d)
            tile_adjoint(A, tile.row_major, first, last, start, stop, move, pull)
            x_part, G_part, ahead_part = x[start:stop], G[start:stop], ahead[start:]
            for k in range(stop - start):
                x_new = net.prox(
                    x_part[k] - eta * (G_part[k] + everywhere * pull[k]), eta, start + k
                )
                gradient = G_part[k] + pull[k]
                x_part[k], G_part[k] = x_new, gradient
                ahead_part[k] = net.prox(x_new - eta * gradient, eta, start + k)


@kernel
def gram_of_tiles(A, tile, from_block, to_block, out):
    """Fill in a_i'a_k for all rows i of some blocks and the rows k before i in its block."""
    d = A.columns()
    line = np.empty(d if tile.row_major else tile.p)
    for number in range(from_block, to_block):
        first, last = block(A.rows(), tile.p, number)
        if tile.row_major:
            for i in range(first + 1, last):
                for k in range(d):
                    line[k] = A.values[i, k]
                tile_margins(A, True, first, i, 0, d, line, out[i])
        else:  # the sum of the columns' outer products
            out[first:last] = 0.0
            for j in range(d):
                for i in range(first, last):
                    line[i - first] = A.values[i, j]
                for i in range(first + 1, last):
                    row, a = out[i], line[i - first]
                    for k in range(i - first):
                        row[k] += line[k] * a
