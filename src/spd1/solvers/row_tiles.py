"""Row tiles with a maintained gradient: the paper's idea with a whole row for a tile.

A one-entry step of SPD1 misses the cache at every turn. A row lies in one piece, and while it is
visited the full gradient G = A'(c y) can be kept up to date, so no estimate is noisy:

    u = a_i'x;   y_i+ = prox_{sigma_i phi*}(y_i + sigma_i u);   delta = y_i+ - y_i
    x_j = prox_{eta_j g_j}( x_j - eta_j (G_j + k_j c_i a_ij delta) );   G_j += c_i a_ij delta

for j in row i, with eta_j = eta n/k_j and sigma_i = 1/(eta n c_i |a_i|^2). The term k_j c_i a_ij
delta looks ahead: it is what G_j would become if all k_j rows of the column moved alike.

Where every feature has l2 > 0, x can be *tied* to y instead, x_j = argmax_t {-G_j t - g_j(t)}, with
sigma_i = l2 / (c_i |a_i|^2): SDCA's exact step. It wins while the rows are nearly orthogonal, as
they are for d >> n, and gives way to the free x when it slows down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..certificate import DualPoint, Pair, pair_of
from ..errors import IncompatibleError, ParameterError
from ..jit import helper, kernel
from ..matrix import Dense
from ..problem import Problem
from ..products import adjoint, margins
from ..rng import index
from .base import Method, gradient_drift, size_of, typical_labels

BLOCK = 16  # sparse rows are shuffled in blocks of this many: the prefetcher keeps its stride
ENTRIES_A_CHUNK = 5_000_000
X, GRADIENT, STEP, SHRINK = range(4)  # columns of the table


class RowTileState(NamedTuple):
    """y, and a line of four numbers per feature: x_j, G_j, eta_j, 1/(1 + eta_j l2_j).

    Side by side they cost one cache miss; dense rows read them in order and want them apart, so
    the table is stored by columns there.
    """

    y: np.ndarray
    table: np.ndarray


class Geometry(NamedTuple):
    """What a row needs to know of the data: |a_i|^2, c_i."""

    row_norms_squared: np.ndarray
    weights: np.ndarray


@kernel
def shuffle_blocks(order, key, counter, block):
    """Fill ``order`` with 0 .. n-1, blocks of consecutive rows in random order."""
    n = len(order)
    count = (n + block - 1) // block
    blocks = np.arange(count)
    for k in range(count - 1, 0, -1):
        other = index(key, counter + k, k + 1)
        blocks[k], blocks[other] = blocks[other], blocks[k]
    at = 0
    for k in range(count):
        for i in range(blocks[k] * block, min(n, (blocks[k] + 1) * block)):
            order[at] = i
            at += 1


@kernel
def row_tile_steps(A, b, geometry, state, loss, net, eta, order):
    """Visit the rows of ``order`` once, x free."""
    y, table = state
    n = len(b)
    if A.is_dense() and net.is_plain():
        plain_row_steps(A, b, geometry, state, loss, eta, order)
        return
    for i in order:
        c = geometry.weights[i]
        reach = eta * n * c * geometry.row_norms_squared[i]
        if reach > 0.0:  # empty rows and rows without weight are solved already
            u = 0.0
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                u += a * table[j, X]
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - y[i])
            y[i] = y_new
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


@helper
def plain_row_steps(A, b, geometry, state, loss, eta, order):
    """The same for dense rows where every feature has the same l2 and nothing else.

    The margin of the next row is summed up while x moves: x is read once a row instead of twice.
    """
    y, table = state
    n, d = len(b), len(table)
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
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - y[i])
            y[i] = y_new
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


@kernel
def tied_row_steps(A, b, geometry, y, G, loss, net, scale, order):
    """Visit the rows of ``order`` once, x tied to y; needs l2 > 0 for every feature.

    Where x = scale G, the gradient alone is read and written, and it fits into a nearer cache.
    """
    if A.is_dense() and scale != 0.0:
        plain_tied_steps(A, b, geometry, y, G, loss, scale, order)
        return
    for i in order:
        c = geometry.weights[i]
        reach = c * geometry.row_norms_squared[i]
        if reach > 0.0:
            u = 0.0
            if scale != 0.0:
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    u += a * G[j]
                u *= scale
            else:
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    l1, l2, lower, upper = net.numbers(j)
                    v = -G[j]
                    soft = max(v - l1, 0.0) + min(v + l1, 0.0)
                    u += a * min(max(soft / l2, lower), upper)
            y_new = loss.prox_near(y[i] + u / reach, b[i], 1.0 / reach, y[i])
            move = c * (y_new - y[i])
            y[i] = y_new
            if move != 0.0:
                for k in range(A.line_length(i)):
                    j, a = A.at(i, k)
                    G[j] += a * move


@helper
def plain_tied_steps(A, b, geometry, y, G, loss, scale, order):
    """The same for dense rows and x = scale G, the next margin summed up while G moves."""
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
            y_new = loss.prox_near(y[i] + scale * u / reach, b[i], 1.0 / reach, y[i])
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


@kernel
def tie(G, net, x):
    """x_j = argmax_t {-G_j t - g_j(t)}."""
    for j in range(len(G)):
        x[j] = net.g_argmax(-G[j], j)


class RowTiles(Method):
    """Rows in fresh random order, each a small exact saddle-point step."""

    name = "rows"
    step_names = ("eta",)
    reads_norms = True
    maintains = "gradient"

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        del problem
        return True

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to rows: it visits them all")
        p = self.problem
        self.A = p.by_rows
        self.dense = isinstance(self.A, Dense)
        self.geometry = Geometry(p.row_norms_squared, p.c)
        self.order = np.arange(p.n)
        self.block = 1 if self.dense else BLOCK
        self.tied = p.mu > 0 and p.d >= p.n
        if self.tied:  # |a_i|^2 / l2, or a bound of it where l2 differs
            self.tied_geometry = Geometry(p.row_norms_squared / p.mu, p.c)
            simple = p.reg.scalar and p.reg.plain
            self.scale = -1.0 / p.mu if simple else 0.0  # x = scale G
        self.passes_ahead = 2 if self.tied else 1  # before the next look at the certificate
        self._pair: Pair | None = None
        self.loose = False  # whether x and G are in the table, or only in G, where x is tied to it

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        if v is None:
            v = -adjoint(p.A, p.c * y) if np.any(y) else np.zeros(p.d)
        self.x, self.y, self.G = x, y.copy(), -v
        self.loose = False
        self.entries_read += p.A.stored
        self.largest = max(self.largest, size_of(self.G))
        self._pair = None

    def loosen(self) -> None:
        """Put x and G side by side: x goes its own way from here."""
        self.table = np.empty((self.problem.d, 4), order="F" if self.dense else "C")
        self.table[:, X], self.table[:, GRADIENT] = self.x, self.G
        self.state = RowTileState(self.y, self.table)
        self.loose = True

    def set_steps(self) -> None:
        """eta_j = eta n/k_j and what the prox of l2 divides by."""
        p = self.problem
        eta = self.steps["eta"]
        self.table[:, STEP] = eta if self.dense else eta * p.n / np.maximum(p.stored_counts[1], 1)
        self.table[:, SHRINK] = 1.0 / (1.0 + self.table[:, STEP] * p.reg.l2)

    def epoch(self) -> Iterator[None]:
        p = self.problem
        self._pair = None
        if not self.tied:
            if not self.loose:
                self.loosen()
            self.set_steps()
        rows = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.A.stored, p.n)))
        for _ in range(self.passes_ahead):
            first = self.t
            shuffle_blocks(self.order, self.key, first, self.block)
            for start in range(0, p.n, rows):
                part = self.order[start : start + rows]
                self._run(part)
                self.t = first + start + len(part)
                self.updates += len(part)
                self.entries_read += len(part) / p.n * p.A.stored
                self.paper_passes += len(part) / p.n
                yield
        if self.tied:
            self.x = self._tied_x()

    def _tied_x(self) -> np.ndarray:
        if self.scale != 0.0:
            return self.scale * self.G
        x = np.empty(self.problem.d)
        tie(self.G, self.problem.net, x)
        return x

    def _run(self, part: np.ndarray) -> None:
        p = self.problem
        y = self.y
        if self.tied:
            tied_row_steps(
                self.A, p.b, self.tied_geometry, y, self.G, p.loss, p.net, self.scale, part
            )
        else:
            eta = self.steps["eta"]
            row_tile_steps(self.A, p.b, self.geometry, self.state, p.loss, p.net, eta, part)

    def evaluated(self) -> Pair:
        """The pair (x, y), with v = -G at hand: one product is left to compute, the margins."""
        if self._pair is None:
            p = self.problem
            if self.loose:
                self.x, self.G = self.table[:, X].copy(), self.table[:, GRADIENT].copy()
                if not np.all(np.isfinite(self.x)):
                    self.x = np.full(p.d, math.inf)
            self._pair = pair_of(p, self.x, margins(p.A, self.x), self.y.copy(), -self.G)
        return self._pair

    def drift(self, dual: DualPoint) -> float:
        return gradient_drift(self.problem, dual.v, self.updates, self.largest)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        x = self.table[:, X] if self.loose else self.x
        return [(x.copy(), self.y.copy())]

    def default_steps(self) -> dict[str, float]:
        """SDCA's eta = 1/(mu n), but not so large that y could not follow the margins."""
        p = self.problem
        if self.tied:
            return {"eta": 1.0 / (p.mu * p.n)}
        size, L = typical_labels(p)
        eta = size / (L * max(float(p.row_norms_squared.mean()), 1e-300))
        return {"eta": min(eta, 1.0 / (p.mu * p.n)) if p.mu > 0 else eta}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("the paper has no theorem for rows: use steps='auto' or a dict")
