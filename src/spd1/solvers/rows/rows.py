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
from typing import Any

import numpy as np

from ...certificate.gap import DualPoint, Pair, pair_of
from ...data.matrix import Dense
from ...data.products import adjoint, margins
from ...errors import IncompatibleError, ParameterError
from ...problem import Problem
from ..base import Method, gradient_drift, size_of, typical_labels
from .kernels import (
    GRADIENT,
    SHRINK,
    STEP,
    Geometry,
    RowTileState,
    X,
    row_tile_steps,
    shuffle_blocks,
    tie,
    tied_row_steps,
)

BLOCK = 16  # sparse rows are shuffled in blocks of this many: the prefetcher keeps its stride
ENTRIES_A_CHUNK = 5_000_000


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
