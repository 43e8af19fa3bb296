"""Few rows, many columns, pure l2: everything happens in the span of the rows.

x = E^-1 A'w with E = diag(l2), so the margins are K w with the small matrix K = A E^-1 A'. With
K = L L' the rows of L do all that the rows of A did: the dual face works on them. For losses whose
conjugate has no kinks, Newton's method in w is one kernel call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...certificate.points import Pair, dual_from_margins, pair_of
from ...control.steps import NoSteps
from ...errors import IncompatibleError, ParameterError
from ...kernel.jit import helper, kernel
from ...problem import Problem
from ..base import Method, Saved
from ..interior.interior import Interior
from .faces.choose import few_rows, few_rows_one_free
from .faces.parts import loss_part
from .one_free import newton_beside_rows, times_matrix
from .tuning import FEW_ROWS


@kernel
def newton_in_rows(K, part, loss, b, c, w, tol, limit):
    """Newton's method on  F(K w) + w'K w / 2;  returns the steps taken.

    With W = diag(F''), S = sqrt(W) and r = F' + w the step is  S (1 + S K S)^-1 S K r - r.
    """
    n = len(w)
    u, slope, root = np.empty(n), np.empty(n), np.empty(n)
    M = np.empty((n, n))
    rest, image, step, moved = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    times_matrix(K, w, u)
    value = total_at(part, u, w, u, 0.0, w, u)
    at_zero = 0.0
    for i in range(n):
        at_zero += part.value(0.0, i)
    if not value <= at_zero:  # zero is a better start
        for i in range(n):
            w[i], u[i] = 0.0, 0.0
        value = at_zero
    for taken in range(limit):
        conjugate, square = 0.0, 0.0
        for i in range(n):
            slope[i] = part.slope(u[i], i)
            root[i] = math.sqrt(part.bend(u[i], i))
            if c[i] > 0.0:
                conjugate += c[i] * loss.conjugate(slope[i] / c[i], b[i])
            rest[i] = slope[i] + w[i]
        times_matrix(K, slope, image)
        for i in range(n):
            square += slope[i] * image[i]
        if value + conjugate + 0.5 * square <= tol * abs(value):
            return taken
        times_matrix(K, rest, image)
        for i in range(n):
            for j in range(i + 1):
                M[i, j] = root[i] * K[i, j] * root[j]
            M[i, i] += 1.0
            step[i] = root[i] * image[i]
        solve_in_place(M, step)
        descent = 0.0
        for i in range(n):
            step[i] = root[i] * step[i] - rest[i]
            descent += step[i] * image[i]
        times_matrix(K, step, moved)
        t = 1.0
        while True:
            new = total_at(part, u, w, moved, t, w, step)
            if new <= value + 1e-4 * t * descent + 1e-15 * abs(value) or t < 1e-10:
                break
            t *= 0.5
        value = new
        for i in range(n):
            w[i] += t * step[i]
            u[i] += t * moved[i]
    return limit


@helper
def total_at(part, u, w, moved, t, base, step):
    """F(u + t moved) + (w + t step)'(u + t moved) / 2."""
    total = 0.0
    for i in range(len(u)):
        margin = u[i] + t * moved[i]
        total += part.value(margin, i) + 0.5 * (base[i] + t * step[i]) * margin
    return total


@helper
def solve_in_place(M, x):
    """Replace x by M^-1 x; the lower triangle of M becomes its Cholesky factor."""
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += M[i, k] * M[j, k]
            if i == j:
                M[i, i] = math.sqrt(M[i, i] - total)
            else:
                M[i, j] = (M[i, j] - total) / M[j, j]
    for i in range(n):
        total = 0.0
        for k in range(i):
            total += M[i, k] * x[k]
        x[i] = (x[i] - total) / M[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= M[i, i]
        for k in range(i):
            x[k] -= M[i, k] * x[i]


class FewRowsState(NamedTuple):
    """w, with x = E^-1 A'w, and the coefficient of a column without penalty, if there is one."""

    w: np.ndarray
    level: np.ndarray


class FewRows(Method):
    """Newton's method in the span of the rows."""

    name = "few-rows"
    fallback = Interior
    step_names = ()
    rule = NoSteps
    takes_cuts = True
    steps_an_epoch = 20

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        smooth = problem.gamma > 0 or problem.label_kind == "count"
        if not (few_rows(problem) and smooth) and not few_rows_one_free(problem):
            raise IncompatibleError(
                f"few-rows needs at most {FEW_ROWS} rows, twice as many columns, a smooth loss and "
                "a regularizer that is l2 alone; logistic losses may leave one column without"
            )

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to few-rows")
        p = self.problem
        self.part = loss_part(p)
        self.first: Pair | None = None
        self.l2 = p.reg.l2
        self.free, self.column = -1, np.zeros(0)
        self.epochs = 0
        if few_rows_one_free(p):
            self.free = int(p.free_columns[0])
            self.l2 = np.where(np.arange(p.d) == self.free, math.inf, np.asarray(p.reg.l2))
            self.column = p.grid.dense_columns(p.free_columns)[:, 0].copy()

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        level = x[self.free :][:1].copy() if self.free >= 0 else np.zeros(0)
        self.state = FewRowsState(-p.c * y, level)
        u = p.margins(x)
        # Nothing is known of the optimum yet: y = 0 bounds it without a product.
        first = pair_of(p, x.copy(), u, np.zeros(p.n), np.zeros(p.d))
        if not math.isfinite(first.dual.value):
            v = -p.adjoint(p.c * y) if v is None else v
            first = pair_of(p, x.copy(), u, y.copy(), v)
        self.first = first
        if np.any(x):  # the best w for this x may not exist: take that of its margins
            self.state = FewRowsState(-p.c * dual_from_margins(p, u), level)

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.first = None

    @cached_property
    def K(self) -> np.ndarray:
        """A E^-1 A', without the column that has no penalty."""
        grid, rest = self.problem.grid, np.asarray(self.l2)
        if self.free < 0:
            return grid.gram_of_rows(self.problem.reg.l2)
        usual = float(np.min(rest))
        if not np.all((rest == usual) | np.isinf(rest)):
            return grid.gram_of_rows(self.l2)
        return grid.gram_of_rows(usual) - np.outer(self.column, self.column / usual)

    def epoch(self) -> Iterator[None]:
        p = self.problem
        self.first = None
        if self.free < 0:
            newton_in_rows(
                self.K, self.part, p.loss, p.b, p.c, self.state.w, 0.5 * self.tol,
                self.steps_an_epoch,
            )  # fmt: skip
        else:  # what it lacks of balance is proven elsewhere: an epoch is a step at least
            least, self.epochs = min(self.epochs, 1), self.epochs + 1
            newton_beside_rows(
                self.K, self.column, self.part, self.state.w, self.state.level, 0.25 * self.tol,
                least, self.steps_an_epoch,
            )  # fmt: skip
        yield

    def evaluated(self) -> Pair:
        if self.first is not None:
            return self.first
        p = self.problem
        v = p.adjoint(self.state.w)
        x = v / self.l2
        if self.free >= 0:
            x[self.free] = self.state.level[0]
        u = p.margins(x)
        pair = pair_of(p, x, u, self.dual_point(), v)
        if pair.gap <= self.tol * abs(pair.point.value):
            return pair
        # Newton's w may be outside of the domain of phi*, or further behind x than phi'(u).
        y = dual_from_margins(p, u)
        other = pair_of(p, x, u, y, -p.adjoint(p.c * y))
        return pair if pair.dual.value > other.dual.value else other

    def dual_point(self) -> np.ndarray:
        """The y of w, for which v = A'w is known already: c y = -w."""
        c = self.problem.c
        return np.asarray(np.divide(-self.state.w, c, out=np.zeros(len(c)), where=c > 0))

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        pair = self.evaluated()
        return [(pair.point.x, pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("few-rows has no step sizes: use steps='auto'")
