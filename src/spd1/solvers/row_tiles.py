"""Row tiles with a maintained gradient: the paper's idea with a whole row for a tile.

A one-entry step of SPD1 misses the cache at every turn. A row lies in one piece, and while it is
visited the full gradient G = A'(c y) can be kept up to date, so no estimate is noisy:

    u = a_i'x;   y_i+ = prox_{sigma_i phi*}(y_i + sigma_i u);   delta = y_i+ - y_i
    x_j = prox_{eta_j g_j}( x_j - eta_j (G_j + k_j c_i a_ij delta) );   G_j += c_i a_ij delta

for j in row i, with eta_j = eta n/k_j and sigma_i = 1/(eta n c_i |a_i|^2). The term k_j c_i a_ij
delta looks ahead: it is what G_j would become if all k_j rows of the column moved alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..errors import IncompatibleError, ParameterError
from ..jit import kernel
from ..matrix import Dense
from ..products import adjoint
from ..rng import index
from .base import Method, typical_labels

BLOCK = 16  # sparse rows are shuffled in blocks of this many: the prefetcher keeps its stride
ENTRIES_A_CHUNK = 5_000_000


class RowTileState(NamedTuple):
    """Iterates and the gradient G = A'(c y)."""

    x: np.ndarray
    y: np.ndarray
    gradient: np.ndarray


class Geometry(NamedTuple):
    """What a row needs to know of the data: |a_i|^2, n/k_j, c_i."""

    row_norms_squared: np.ndarray
    column_shares: np.ndarray
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
    """Visit the rows of ``order`` once."""
    x, y, G = state
    n = len(b)
    for i in order:
        c = geometry.weights[i]
        reach = eta * n * c * geometry.row_norms_squared[i]
        if reach > 0.0:  # empty rows and rows without weight are solved already
            u = 0.0
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                u += a * x[j]
            y_new = loss.prox_conjugate(y[i] + u / reach, b[i], 1.0 / reach)
            move = c * (y_new - y[i])
            y[i] = y_new
            for k in range(A.line_length(i)):
                j, a = A.at(i, k)
                eta_j = eta * geometry.column_shares[j]
                x[j] = net.prox(x[j] - eta_j * G[j] - eta * n * a * move, eta_j, j)
                G[j] += a * move


class RowTiles(Method):
    """Rows in fresh random order, each a small exact saddle-point step."""

    name = "rows"
    step_names = ("eta",)

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "uniform"):
            raise ParameterError(f"sampling={sampling!r} means nothing to rows: it visits them all")
        p = self.problem
        self.A = p.by_rows
        shares = p.n / np.maximum(p.stored_counts[1], 1)
        self.geometry = Geometry(p.row_norms_squared, shares, p.c)
        self.order = np.arange(p.n)
        self.block = 1 if isinstance(self.A, Dense) else BLOCK

    def begin(self, x: np.ndarray, y: np.ndarray) -> None:
        p = self.problem
        self.state = RowTileState(x.copy(), y.copy(), adjoint(p.A, p.c * y))
        self.entries_read += p.A.stored

    def epoch(self) -> Iterator[None]:
        p = self.problem
        shuffle_blocks(self.order, self.key, self.t, self.block)
        first, rows = self.t, max(1, int(ENTRIES_A_CHUNK * p.n / max(p.A.stored, p.n)))
        for start in range(0, p.n, rows):
            part = self.order[start : start + rows]
            self._run(part)
            self.t = first + start + len(part)
            self.entries_read += len(part) / p.n * p.A.stored
            self.paper_passes += len(part) / p.n
            yield

    def _run(self, part: np.ndarray) -> None:
        p = self.problem
        row_tile_steps(
            self.A, p.b, self.geometry, self.state, p.loss, p.net, self.steps["eta"], part
        )

    def compile(self) -> None:
        shuffle_blocks(self.order[:0], self.key, 0, self.block)
        self._run(self.order[:0])

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), self.state.y.copy())]

    def default_steps(self) -> dict[str, float]:
        """SDCA's eta = 1/(mu n), but not so large that y could not follow the margins."""
        p = self.problem
        size, L = typical_labels(p)
        eta = size / (L * max(float(p.row_norms_squared.mean()), 1e-300))
        return {"eta": min(eta, 1.0 / (p.mu * p.n)) if p.mu > 0 else eta}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("the paper has no theorem for rows: use steps='auto' or a dict")
