"""The linear systems of the interior-point method.

    A'p + H dx = -g,     A dx = p / q + e          (p = c dy)

Either dx is eliminated or p, whichever leaves the smaller matrix, and conjugate gradients on the
products with A themselves, preconditioned by the factor, make up for what it lost. Where a Cholesky
factor would lose too much, an orthogonal factor of the stacked matrix takes its place.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lu_factor, lu_solve, qr, solve_triangular

from .tuning import DAMPED, LEAST_PIVOT, MOST_REFINEMENTS, REFINED, ROUNDED_PIVOT, STEP_UNIT

__all__ = ["Bordered", "Normal"]


class Normal:
    """The factored system for given weights.

    Parameters
    ----------
    A : array of shape (n, d)
    q : array of shape (n,)
        Positive.
    H : array of shape (d,)
        Not negative; zeros only if A has full column rank there.
    by_rows : bool
        Whether to eliminate dx; H must be positive.
    exact : bool
        Whether to take orthogonal factors in any case: dx would be a small difference.
    gram : array of shape (n, n), optional
        A H^-1 A', if ``by_rows`` and it is known from an earlier step.
    """

    def __init__(
        self,
        A: np.ndarray,
        q: np.ndarray,
        H: np.ndarray,
        by_rows: bool,
        exact: bool = False,
        gram: np.ndarray | None = None,
    ) -> None:
        self.by_rows = by_rows
        self.T = A.T if by_rows else A
        self.q: np.ndarray = 1.0 / H if by_rows else q
        self.H: np.ndarray = 1.0 / q if by_rows else H
        self.gram = gram
        if gram is None:
            squares = np.einsum("ij,ij->j", self.root, self.root) + self.H
        else:
            squares = np.diagonal(gram) + self.H
        self.scale = 1.0 / np.sqrt(np.maximum(squares, 1e-300))
        self.Q: np.ndarray | None = None
        self.R = self._orthogonal() if exact else self._factor()

    @cached_property
    def root(self) -> np.ndarray:
        """T with rows weighted by the square root of q."""
        return np.asarray(np.sqrt(self.q)[:, None] * self.T)

    def _factor(self) -> np.ndarray:
        """Upper triangular R with R'R = the scaled matrix."""
        if self.gram is None:
            scaled = self.root * self.scale
            M = scaled.T @ scaled
        else:
            M = self.gram * self.scale
            M *= self.scale[:, None]
        M[np.diag_indices_from(M)] = 1.0 + DAMPED
        try:
            R: Any = cholesky(M, check_finite=False)
            if float(np.min(np.diagonal(R))) > LEAST_PIVOT:
                return np.asarray(R)
        except LinAlgError:
            pass
        return self._orthogonal()

    def _orthogonal(self) -> np.ndarray:
        """The same without squares, with Q."""
        edge = np.diag(np.maximum(np.sqrt(self.H) * self.scale, ROUNDED_PIVOT))
        stacked = np.vstack([self.root * self.scale, edge])
        # Long rows first: later ones keep their digits.
        order = np.argsort(-np.abs(stacked).max(axis=1), kind="stable")
        Q, R = qr(stacked[order], mode="economic", check_finite=False, overwrite_a=True)
        self.Q = np.empty_like(Q)
        self.Q[order] = Q
        return np.asarray(R)

    def solve(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dx and p."""
        if self.by_rows:  # the same equations, with p in the place of dx and -dx in that of p
            p, dx = self._pair(e, -g)
            return -dx, p
        return self._pair(g, e)

    def _pair(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve T'p + H dx = -g, T dx = p / q + e, and again for what is left of the first.

        The second holds but for the rounding of T dx, which must not be corrected: times q it may
        be far larger than that of p.
        """
        T, H, nothing = self.T, self.H, np.zeros(len(e))
        once = self._squared if self.Q is None else self._projected
        dx, p = once(g, e)
        best, least = (dx, p), math.inf
        goal = STEP_UNIT * float(np.linalg.norm(self.scale * g))
        for _ in range(MOST_REFINEMENTS):
            left = g + T.T @ p + H * dx
            size = float(np.linalg.norm(self.scale * left))
            if not size < 0.5 * least:
                break
            best, least = (dx, p), size
            if size <= goal:
                break
            more = once(left, nothing)
            dx, p = dx + more[0], p + more[1]
        return best

    def _squared(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same by the factor of squares, once."""
        dx = self._solved(self.T.T @ (self.q * e) - g)
        return dx, self.q * (self.T @ dx - e)

    def _projected(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same by orthogonal factors."""
        assert self.Q is not None
        root, Q = np.sqrt(self.q), self.Q[: len(self.q)]
        long = root * e
        part = solve_triangular(self.R, self.scale * g, trans="T", check_finite=False)
        inner = Q.T @ long
        dx = self.scale * solve_triangular(self.R, inner - part, check_finite=False)
        return dx, root * (Q @ (inner - part) - long)

    def _times(self, z: np.ndarray) -> np.ndarray:
        if self.gram is not None:
            return np.asarray(self.gram @ z + self.H * z)
        return np.asarray(self.root.T @ (self.root @ z) + self.H * z)

    def _preconditioned(self, r: np.ndarray) -> np.ndarray:
        inner = solve_triangular(self.R, self.scale * r, trans="T", check_finite=False)
        return np.asarray(self.scale * solve_triangular(self.R, inner, check_finite=False))

    def _solved(self, rhs: np.ndarray) -> np.ndarray:
        """Preconditioned conjugate gradients: one or two steps where the factor is good."""
        z = self._preconditioned(rhs)
        r = rhs - self._times(z)
        goal = REFINED * float(np.linalg.norm(self.scale * rhs))
        best, least = z, float(np.linalg.norm(self.scale * r))
        s = self._preconditioned(r)
        direction, rs = s, float(r @ s)
        for _ in range(MOST_REFINEMENTS):
            if not (least > goal and rs > 0.0):
                break
            image = self._times(direction)
            bend = float(direction @ image)
            if not bend > 0.0:
                break
            step = rs / bend
            z, r = z + step * direction, r - step * image
            size = float(np.linalg.norm(self.scale * r))
            if size < least:
                best, least = z, size
            s = self._preconditioned(r)
            rs, before = float(r @ s), rs
            direction = s + (rs / before) * direction
        return best


class Bordered:
    """The same with columns of no H, by rows: these columns are a border of the rows' matrix.

    With F the columns of no H, dx and p of the others are linear in F's part t of dx: they solve
    their system for e - F t. What t must be follows from F'p = -g.

    Parameters
    ----------
    A : array of shape (n, d)
        The columns whose H is positive.
    F : array of shape (n, k)
        The others, few.
    free : array of shape (d + k,)
        Which columns of the whole are those of F.
    q, H, gram, exact
        See ``Normal``.
    """

    def __init__(
        self,
        A: np.ndarray,
        F: np.ndarray,
        free: np.ndarray,
        q: np.ndarray,
        H: np.ndarray,
        gram: np.ndarray | None = None,
        exact: bool = False,
    ) -> None:
        self.F, self.free, self.paid = F, free, ~free
        self.inner = Normal(A, q, H, True, exact=exact, gram=gram)
        nothing = np.zeros(A.shape[1])
        pairs = [self.inner.solve(nothing, column) for column in F.T]
        self.X = np.column_stack([x for x, _ in pairs])
        self.P = np.column_stack([p for _, p in pairs])
        self.lu = lu_factor(F.T @ self.P, check_finite=False)

    def solve(self, g: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Dx and p."""
        x, p = self.inner.solve(g[self.paid], e)
        t = np.zeros(self.F.shape[1])
        for _ in range(2):  # the second time for what rounding left
            more = lu_solve(self.lu, self.F.T @ p + g[self.free], check_finite=False)
            x, p, t = x - self.X @ more, p - self.P @ more, t + more
        dx = np.empty(len(g))
        dx[self.paid], dx[self.free] = x, t
        return dx, p
