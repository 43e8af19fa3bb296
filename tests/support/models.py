"""Quadratic models of working sets in plain NumPy, and the lines that they are made of."""

from __future__ import annotations

import math

import numpy as np

from spd1.data.convert import as_matrix
from spd1.data.facts import Nobody
from spd1.data.grid import Grid
from spd1.solvers.newton.linalg.working_set import Lines

from . import oracle

LAYOUTS = ("dense_c", "csr", "csc", "csr_float32", "csr_int64")
TABLES = ("plain", "l1", "l2", "bounds", "all")


def data(rng, n=7, d=5):
    A = rng.standard_normal((n, d)).astype(np.float32).astype(float)
    A[rng.random((n, d)) < 0.3] = 0.0
    return A


def lines(B):
    """Every line of B as a dense row, read as kernels read it."""
    width = B.columns() if B.row_major else B.rows()
    out = np.zeros((int(B.line_count()), width))
    for i in range(len(out)):
        for k in range(int(B.line_length(i))):
            j, a = B.at(i, k)
            out[i, int(j)] = a
    return out


def make_table(kind, count, rng):
    """linear, l1, l2, lower, upper of each coordinate."""
    table = np.zeros((count, 5))
    table[:, 3], table[:, 4] = -math.inf, math.inf
    if kind in ("l1", "all"):
        table[:, 1] = rng.uniform(0.0, 1.0, count)
    if kind in ("l2", "all"):
        table[:, 2] = rng.uniform(0.0, 1.0, count)
    if kind in ("bounds", "all"):
        table[:, 3], table[:, 4] = -rng.uniform(0.0, 0.4, count), rng.uniform(0.0, 0.4, count)
        table[:2, 3:] = [[0.1, 0.5], [-0.6, -0.1]]  # boxes without zero
    table[:, 0] = 0.3 * rng.standard_normal(count)
    if kind in ("plain", "l1"):  # bounded below on singular data too
        table[:, 0] = np.clip(table[:, 0], -table[:, 1], table[:, 1])
    return table


def separable(table, z):
    """h(z), coordinate by coordinate; infinite outside the box."""
    value = table[:, 0] * z + table[:, 1] * np.abs(z) + table[:, 2] / 2 * z**2
    return np.where((z < table[:, 3]) | (z > table[:, 4]), math.inf, value)


def start(table, rng):
    """A point of the box: some coordinates at a bound, some at zero."""
    z = rng.standard_normal(len(table))
    z[rng.random(len(z)) < 0.3] = 0.0
    return np.clip(z, table[:, 3], table[:, 4])


class Model:
    """q(z) = slope'B'(z - z0) + sum_j bend_j (B'(z - z0))_j^2 / 2 + h(z) for dense lines."""

    def __init__(self, dense, table, bend, slope, z0):
        self.dense, self.table, self.bend, self.slope, self.z0 = dense, table, bend, slope, z0

    def value(self, z):
        dm = (z - self.z0) @ self.dense
        return self.slope @ dm + self.bend @ dm**2 / 2 + separable(self.table, z).sum()

    def best_of(self, w, z):
        """Least value along coordinate w."""
        h = self.dense[w] ** 2 @ self.bend + self.table[w, 2]
        gradient = self.dense[w] @ (self.slope + self.bend * ((z - self.z0) @ self.dense))
        _, l1, _, lower, upper = self.table[w]
        smooth = h * z[w] - (gradient + self.table[w, 0] + self.table[w, 2] * z[w])
        t = np.clip(np.sign(smooth) * max(abs(smooth) - l1, 0.0) / h, lower, upper)
        moved = z.copy()
        moved[w] = t
        return self.value(moved)


def make_model(kind, layout, flat, rng):
    A = data(rng, 9, 6)
    A[:, 0] = A[0] = 1.0
    B = as_matrix(oracle.LAYOUTS[layout](A))
    dense = lines(B)
    ids = rng.permutation(len(dense))
    table = make_table(kind, len(ids), rng)
    width = dense.shape[1]
    bend = np.full(width, 0.7) if flat else rng.random(width)
    model = Model(dense[ids], table, bend, rng.standard_normal(width), start(table, rng))
    part = Lines(B, ids, width, Nobody())
    return part, part.curvatures(bend), model


def grid_of(B):
    """The grid whose columns are the lines of B."""
    return Grid.whole(B.transposed() if B.row_major else B)
