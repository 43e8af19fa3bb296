"""S2CD: semi-stochastic coordinate descent (Konecny, Qu & Richtarik 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...certificate.points import dual_from_margins
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import kernel
from ...kernel.rng import units
from ...problem import Problem
from ..base import Method
from ..tuning import ENTRIES_A_CHUNK
from .cross import drawn

__all__ = ["S2CD"]


class SemiStochastic(NamedTuple):
    """x, the snapshot's gradient of the loss, and its derivatives."""

    x: np.ndarray
    gradient: np.ndarray
    table: np.ndarray


@kernel
def s2cd_steps(A, b, state, loss, net, rows, columns, scales, lengths):
    """x_j -= length_j (G_j + l2_j x_j + scale (phi'(a_i'x) - table_i)) for each (i, j) drawn.

    Returns the entries read.
    """
    x, gradient, table = state
    read = 0
    for t in range(len(rows)):
        i, j = rows[t], columns[t]
        u = 0.0
        for k in range(A.line_length(i)):
            q, a = A.at(i, k)
            u += a * x[q]
        l2 = net.numbers(j)[1]
        change = scales[t] * (loss.derivative(u, b[i]) - table[i])
        x[j] -= lengths[j] * (gradient[j] + l2 * x[j] + change)
        read += A.line_length(i)
    return read


class S2CD(Method):
    """SVRG's gradient, of which a step takes one coordinate: a row is read, one x_j moves.

    An entry (i, j) is drawn with probability p_j q_ij ~ r_i L_ij, where r_i counts the entries of
    its row and L_ij = n c_i a_ij^2 / gamma + l2_j; x_j moves by h / p_j times the estimate. With L
    the sum of r_i L_ij over n, the theory asks for h < 1 / (2 L); we take 1 / (10 L), as SVRG does.
    The paper has l2 in every row's loss; here it is taken exactly, so that empty entries are never
    drawn.
    """

    name = "s2cd"
    step_names = ("eta",)
    needs_smooth_loss = True
    rebuilt = ("values", "ends", "of_row", "of_column")

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        if not (problem.mu > 0 and problem.reg.plain):
            raise IncompatibleError(
                f"{cls.name} takes a plain l2 > 0 and nothing else, as its paper does: use method "
                "'katyusha', 'svrg' or 'columns'"
            )

    def prepare(self, sampling: str) -> None:
        if sampling not in ("auto", "importance"):
            raise ParameterError(
                f"sampling={sampling!r} means nothing to {self.name}: it draws by importance"
            )
        self.A = self.problem.grid.by_rows.matrix
        self.rebuild()

    def rebuild(self) -> None:
        """Which entries there are, and how often each is drawn."""
        p, A = self.problem, self.A
        if A.is_dense():
            self.values = np.asarray(A.values, dtype=float).ravel()
            self.of_row, self.of_column = np.divmod(np.arange(p.n * p.d), p.d)
        else:
            self.values = np.asarray(A.data, dtype=float)
            self.of_row = np.repeat(np.arange(p.n), np.diff(A.indptr.astype(np.int64)))
            self.of_column = np.asarray(A.indices).astype(np.int64)
        l2 = np.broadcast_to(p.reg.l2, (p.d,))[self.of_column]
        L = self.weights[self.of_row] * self.values**2 / p.gamma + l2
        sizes = p.grid.row_counts[self.of_row] * L
        self.ends = np.cumsum(sizes)
        by_column = np.bincount(self.of_column, sizes, p.d)
        total = max(float(by_column.sum()), 1e-300)
        self.total = total / p.n  # L of the theorem
        self.chances = by_column / total  # p_j
        # 1 / (n q_ij) times n c_i a_ij, where q_ij = sizes / by_column
        weight = self.weights[self.of_row] / p.n * self.values
        self.scales = weight * by_column[self.of_column] / np.maximum(sizes, 1e-300)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        self.state = SemiStochastic(x.copy(), np.zeros(p.d), np.zeros(p.n))

    def epoch(self) -> Iterator[None]:
        p, s = self.problem, self.state
        s.table[:] = dual_from_margins(p, p.margins(s.x))
        s.gradient[:] = p.adjoint(p.c * s.table)
        self.ledger.paper_passes += 1
        used = self.chances > 0
        lengths = np.where(used, self.steps["eta"] / np.where(used, self.chances, 1.0), 0.0)
        rows_a_chunk = max(1, int(ENTRIES_A_CHUNK * p.n / max(p.stored, p.n)))
        for first, count in self.chunks(2 * max(p.n, p.d), rows_a_chunk):
            which = drawn(self.ends, units(self.key, first, count))
            read = s2cd_steps(
                self.A, p.b, s, p.loss, p.net, self.of_row[which], self.of_column[which],
                self.scales[which], lengths,
            )  # fmt: skip
            self.t = first + count
            self.ledger.entries += read
            self.ledger.paper_passes += count / p.n
            yield

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.state.x.copy(), None)]

    def default_steps(self) -> dict[str, float]:
        return {"eta": 0.5 / self.total}

    def theory_steps(self) -> dict[str, Any]:
        return {"eta": 0.1 / self.total}
