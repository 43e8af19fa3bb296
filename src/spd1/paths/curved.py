"""Losses with curvature on dense data: Newton's steps on a Gram matrix that is renewed rarely.

G = A' diag(bend) A of the columns in hand is made with the curvature of some point of the path and
kept while steps with it gain well: a neighbour on the path has nearly the same, up to a factor.
Gradients are those of the point, so only the pace suffers from an old G.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel.jit import kernel
from ..problem import Problem
from ..solvers.newton.linalg.gram import newton_on_gram
from .sets import Set
from .smooth import DESCENT, FLAT_BEND, HALVINGS, bracket_sum, objective
from .tuning import INEXACT, MODEL_PATIENCE, NEWTON_STEPS, ROOM, STALE

__all__ = ["CurvedSet"]


@kernel
def bend_at(u, b, c, loss, slope, bend):
    """Slopes and curvatures of the rows; returns the loss and the sum of the curvatures."""
    value, total = 0.0, 0.0
    for i in range(len(u)):
        value += c[i] * loss.phi(u[i], b[i])
        slope[i] = c[i] * loss.derivative(u[i], b[i])
        bend[i] = c[i] * max(loss.curvature(u[i], b[i]), FLAT_BEND)
        total += bend[i]
    return value, total


@kernel
def gap_of_set(g, z, u, slope, b, c, loss, l1, l2, signed):
    """Gap of the columns with gradient g, and how far the farthest is from rest; the penalty."""
    strongest, over, worst, inner, size, squares = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for w in range(len(z)):
        pull = -g[w] if signed else abs(g[w])
        strongest = max(strongest, pull)
        apart = max(pull - l1, 0.0)
        if z[w] != 0.0:
            apart = abs(g[w] + l2 * z[w] + (l1 if z[w] > 0.0 else -l1))
        over += apart * apart
        worst = max(worst, apart)
        inner += z[w] * g[w]
        size += abs(z[w])
        squares += z[w] * z[w]
    theta = l1 / strongest if strongest > l1 else 1.0
    gap = max(l1 * size + 0.5 * l2 * squares + theta * inner, 0.0)
    if theta < 1.0:
        gap += bracket_sum(theta, u, slope, b, c, loss)
    if l2 > 0.0:
        gap = min(gap, 0.5 * over / l2)
    return gap, worst, l1 * size + 0.5 * l2 * squares


@kernel
def sweep_gram(G, z, g, l1, l2, signed, enough, most):
    """Sweeps over the model until no column moves by ``enough``; returns whether that is so."""
    size = len(z)
    for _ in range(most):
        worst = 0.0
        for w in range(size):
            curvature = G[w, w] + l2
            if curvature <= 0.0:
                continue
            old = z[w]
            wish = G[w, w] * old - g[w]
            new = (max(wish - l1, 0.0) + min(wish + l1, 0.0)) / curvature
            if signed:
                new = max(new, 0.0)
            if new != old:
                step = new - old
                z[w] = new
                worst = max(worst, abs(step) * curvature)
                row = G[w]
                for k in range(size):
                    g[k] += step * row[k]
        if worst <= enough:
            return True
    return False


@kernel
def step_along(u, du, b, c, loss, old, z, l1, l2, value, promised):
    """Go as far as the objective keeps a part of what was promised; u and z follow."""
    t = 1.0
    for _ in range(HALVINGS):
        if objective(u, du, t, b, c, loss, old, z, l1, l2) <= value + DESCENT * t * promised:
            break
        t *= 0.5
    for i in range(len(u)):
        u[i] += t * du[i]
    if t < 1.0:
        for w in range(len(z)):
            z[w] = old[w] + t * (z[w] - old[w])
    return t


class CurvedSet(Set):
    """Any smooth loss on dense data."""

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        super().__init__(problem, B, lower)
        n = problem.n
        self.u, self.slope, self.bend = np.zeros(n), np.empty(n), np.empty(n)
        self.lines = np.empty((ROOM, n))
        self.G = np.zeros((ROOM, ROOM))
        self.known = 0  # columns that G has
        self.weights = np.zeros(n)  # curvature that it was made with
        self.total = 0.0  # sum of the curvature that it stands for
        self.steps = self.renewed = 0

    def admit(self, ids: np.ndarray) -> np.ndarray:
        old, new = len(self.ids), super().admit(ids)
        size = len(self.ids)
        if size > len(self.lines):
            room = size + size // 2
            self.lines, kept = np.empty((room, self.problem.n)), self.lines
            self.lines[:old] = kept[:old]
            self.G, before = np.zeros((room, room)), self.G
            self.G[:old, :old] = before[:old, :old]
        if len(new):
            self.lines[old:size] = self.B.values[new]
        return new

    def shift(self, dz: np.ndarray) -> None:
        self.z += dz
        self.u += dz @ self.lines[: len(dz)]

    def margins(self) -> np.ndarray:
        self.u = self.z @ self.lines[: len(self.z)]
        return self.u.copy()

    def renew(self, total: float) -> None:
        """Make G from the curvature here."""
        size = len(self.ids)
        self.weights, self.total, self.known = np.sqrt(self.bend), total, size
        lines = self.lines[:size] * self.weights
        self.G[:size, :size] = lines @ lines.T
        self.renewed += 1

    def extend(self) -> None:
        """Add the columns that have joined, with the curvature that G has."""
        old, size = self.known, len(self.ids)
        if size > old:
            scale = self.total / float(self.weights @ self.weights)
            part = (self.lines[old:size] * (scale * self.weights**2)) @ self.lines[:size].T
            self.G[old:size, :size] = part
            self.G[:old, old:size] = part[:, :old].T
            self.known = size

    def minimise(self, l1: float, l2: float, goal: float) -> None:
        """Move z until the gap of the columns here is what a look may find."""
        p, signed = self.problem, self.lower == 0.0
        size = len(self.ids)
        self.table[:, 1], self.table[:, 2] = l1, l2
        last, fresh = np.inf, False
        for _ in range(NEWTON_STEPS):
            loss, total = bend_at(self.u, p.b, p.c, p.loss, self.slope, self.bend)
            g = self.lines[:size] @ self.slope
            gap, worst, penalty = gap_of_set(
                g, self.z, self.u, self.slope, p.b, p.c, p.loss, l1, l2, signed
            )
            if gap <= goal * (loss + penalty):
                return
            if self.known == 0 or (gap > STALE * last and not fresh):
                self.renew(total)
                fresh = True
            else:
                self.extend()
                self.G[:size, :size] *= total / self.total
                self.total, fresh = total, False
            last = gap
            old, model = self.z.copy(), g.copy()
            self.descend(model, l1, l2, worst)
            dz = self.z - old
            du = dz @ self.lines[:size]
            change = l1 * (np.abs(self.z).sum() - np.abs(old).sum())
            promised = float(g @ dz + change + 0.5 * l2 * (self.z @ self.z - old @ old))
            args = self.u, du, p.b, p.c, p.loss, old, self.z, l1, l2
            step_along(*args, loss + penalty, promised)
            self.steps += 1

    def descend(self, model: np.ndarray, l1: float, l2: float, worst: float) -> None:
        """Minimise the model: sweeps, and Newton's step where they are slow."""
        G, signed = self.G[: len(self.z), : len(self.z)], self.lower == 0.0
        for _ in range(4):
            if sweep_gram(
                self.G, self.z, model, l1, l2, signed, INEXACT * worst, MODEL_PATIENCE
            ):
                return
            if newton_on_gram(G, self.table, self.z, model) <= 0.0:
                return
