"""Kernels of row tiles: see ``row_tiles`` for what they compute and why."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...data.strides import add_line, line_dot
from ...kernel.jit import by_layout, kernel

__all__ = [
    "GRADIENT",
    "SHRINK",
    "STEP",
    "Geometry",
    "RowTileState",
    "X",
    "row_tile_steps",
    "tie",
    "tied_row_steps",
]

X, GRADIENT, STEP, SHRINK = range(4)  # columns of the table


class RowTileState(NamedTuple):
    """y, and a line of four numbers per feature: x_j, G_j, eta_j, 1/(1 + eta_j l2_j).

    ``seen`` is the y that G knows of: y itself, unless other tiles have moved it meanwhile.
    Side by side they cost one cache miss; dense rows read them in order and want them apart, so
    the table is stored by columns there.
    """

    y: np.ndarray
    table: np.ndarray
    seen: np.ndarray


class Geometry(NamedTuple):
    """What a row needs to know of the data: |a_i|^2, c_i."""

    row_norms_squared: np.ndarray
    weights: np.ndarray


def plain_row_steps(A, n, outside, b, geometry, state, loss, eta, order):
    """Dense rows where every feature has the same l2 and nothing else; returns True.

    The margin of the next row is summed up while x moves: x is read once a row instead of twice.
    """
    y, table, seen = state
    d = len(table)
    step, shrink = table[0, STEP], table[0, SHRINK]
    u = 0.0
    for j in range(d):
        u += A.entry(order[0], j) * table[j, X]
    for k in range(len(order)):
        i, after = order[k], order[min(k + 1, len(order) - 1)]
        c = geometry.weights[i]
        reach = eta * n * c * geometry.row_norms_squared[i]
        following = 0.0
        if reach > 0.0:
            if outside is not None:
                u += outside[i]
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - seen[i])
            y[i] = y_new
            seen[i] = y_new
            ahead = eta * n * move
            for j in range(d):
                a = A.entry(i, j)
                x = (table[j, X] - step * table[j, GRADIENT] - ahead * a) * shrink
                table[j, X] = x
                table[j, GRADIENT] += a * move
                following += A.entry(after, j) * x
        else:
            for j in range(d):
                following += A.entry(after, j) * table[j, X]
        u = following
    return True


def plain_tied_steps(A, outside, b, geometry, y, G, loss, scale, order):
    """The same where x = scale G, the next margin summed up while G moves."""
    d = len(G)
    u = 0.0
    for j in range(d):
        u += A.entry(order[0], j) * G[j]
    for k in range(len(order)):
        i, after = order[k], order[min(k + 1, len(order) - 1)]
        c = geometry.weights[i]
        reach = c * geometry.row_norms_squared[i]
        move = 0.0
        if reach > 0.0:
            ahead = y[i] + scale * u / reach
            if outside is not None:
                ahead += outside[i] / reach
            y_new = loss.prox_near(ahead, b[i], 1.0 / reach, y[i])
            move = c * (y_new - y[i])
            y[i] = y_new
        u = 0.0
        if move != 0.0:
            for j in range(d):
                g = G[j] + A.entry(i, j) * move
                G[j] = g
                u += A.entry(after, j) * g
        else:
            for j in range(d):
                u += A.entry(after, j) * G[j]
    return True


def not_plain(A, n, outside, b, geometry, state, loss, eta, order):
    """Sparse rows have no way of their own."""
    return False


def not_plain_tied(A, outside, b, geometry, y, G, loss, scale, order):
    """The same where x = scale G."""
    return False


plain_steps = by_layout(plain_row_steps, not_plain)
plain_tied = by_layout(plain_tied_steps, not_plain_tied)


@kernel
def row_tile_steps(A, n, outside, b, geometry, state, loss, net, eta, order):
    """Visit the rows of ``order`` once, x free.

    A is a tile: b, the geometry and the state are those of its rows and columns. n is the number of
    rows of all the data, ``outside`` what other columns add to the margins (None: nothing).
    """
    y, table, seen = state
    if net.is_plain() and plain_steps(A, n, outside, b, geometry, state, loss, eta, order):
        return
    for i in order:
        c = geometry.weights[i]
        reach = eta * n * c * geometry.row_norms_squared[i]
        if reach > 0.0:  # empty rows and rows without weight are solved already
            u = 0.0
            if outside is not None:
                u += outside[i]
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                u += a * table[j, X]
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - seen[i])
            y[i] = y_new
            seen[i] = y_new
            ahead = eta * n * move
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                eta_j = table[j, STEP]
                l1, _, lower, upper = net.numbers(j)
                z = table[j, X] - eta_j * table[j, GRADIENT] - ahead * a
                cut = eta_j * l1
                soft = max(z - cut, 0.0) + min(z + cut, 0.0)
                table[j, X] = min(max(soft * table[j, SHRINK], lower), upper)
                table[j, GRADIENT] += a * move


@kernel
def tied_row_steps(A, outside, b, geometry, y, G, loss, net, scale, order):
    """Visit the rows of ``order`` once, x tied to y; needs l2 > 0 for every feature.

    Where x = scale G, the gradient alone is read and written, and it fits into a nearer cache.
    """
    if scale != 0.0 and plain_tied(A, outside, b, geometry, y, G, loss, scale, order):
        return
    for i in order:
        c = geometry.weights[i]
        reach = c * geometry.row_norms_squared[i]
        if reach > 0.0:
            u = 0.0
            if scale != 0.0:
                u = scale * line_dot(A, i, G)
            else:
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    l1, l2, lower, upper = net.numbers(j)
                    v = -G[j]
                    soft = max(v - l1, 0.0) + min(v + l1, 0.0)
                    u += a * min(max(soft / l2, lower), upper)
            if outside is not None:
                u += outside[i]
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - y[i])
            y[i] = y_new
            if move != 0.0:
                add_line(A, i, move, G)


@kernel
def tie(G, net, x):
    """x_j = argmax_t {-G_j t - g_j(t)}."""
    for j in range(len(G)):
        x[j] = net.g_argmax(-G[j], j)
