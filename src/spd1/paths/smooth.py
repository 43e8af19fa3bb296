"""Losses with curvature: Newton's steps on a set of columns, in one kernel call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..data.facts import Nobody
from ..kernel.jit import helper, kernel
from ..problem import Problem
from ..solvers.newton.linalg.working_set import Lines
from .sets import Set
from .tuning import INEXACT, MODEL_SWEEPS, NEWTON_STEPS

__all__ = ["SmoothSet"]

FLAT_BEND = 1e-12  # curvature of a row counts as so much at least
HALVINGS = 30
DESCENT = 1e-2  # of what a model promises that a step must keep


@helper
def bracket_sum(theta, u, slope, b, c, loss):
    """Sum of c (phi(u) + phi*(y) - u y) for y = theta slope / c."""
    total = 0.0
    for i in range(len(u)):
        if c[i] > 0.0:
            y = theta * slope[i] / c[i]
            star = loss.conjugate(y, b[i])
            total += c[i] * max(loss.phi(u[i], b[i]) + star - u[i] * y, 0.0)
    return total


@helper
def look_at_lines(B, ids, z, slope, bend, l1, l2, signed, gradient, curvature):
    """Gradient and curvature of every column; how far they are from rest.

    Returns the strongest pull, the squares of what is beyond l1, the sum of brackets for the
    pull at theta = 1, and the largest distance from rest.
    """
    strongest, over, worst = 0.0, 0.0, 0.0
    for w in range(len(ids)):
        line = ids[w]
        g, h = 0.0, 0.0
        for k in range(B.line_length(line)):
            i, a = B.at(line, k)
            g += a * slope[i]
            h += a * a * bend[i]
        gradient[w], curvature[w] = g, h
        pull = -g if signed else abs(g)
        strongest = max(strongest, pull)
        apart = max(pull - l1, 0.0)
        if z[w] != 0.0:
            apart = abs(g + l2 * z[w] + (l1 if z[w] > 0.0 else -l1))
        over += apart * apart
        worst = max(worst, apart)
    return strongest, over, worst


@helper
def sweep_model(B, ids, z, model, bend, curvature, l1, l2, signed, everything):
    """One sweep over the model; returns the largest distance from rest that it found."""
    worst = 0.0
    for w in range(len(ids)):
        old, h = z[w], curvature[w]
        if (old == 0.0 and not everything) or h + l2 <= 0.0:
            continue
        line = ids[w]
        g = 0.0
        for k in range(B.line_length(line)):
            i, a = B.at(line, k)
            g += a * model[i]
        wish = h * old - g
        new = (max(wish - l1, 0.0) + min(wish + l1, 0.0)) / (h + l2)
        if signed:
            new = max(new, 0.0)
        if new != old:
            step = new - old
            z[w] = new
            worst = max(worst, abs(step) * (h + l2))
            for k in range(B.line_length(line)):
                i, a = B.at(line, k)
                model[i] += bend[i] * (a * step)
    return worst


@helper
def objective(u, du, t, b, c, loss, old, new, l1, l2):
    """The objective t of the way."""
    total = 0.0
    for i in range(len(u)):
        total += c[i] * loss.phi(u[i] + t * du[i], b[i])
    for w in range(len(old)):
        z = old[w] + t * (new[w] - old[w])
        total += l1 * abs(z) + 0.5 * l2 * z * z
    return total


@kernel
def settle_smooth(
    B, ids, z, u, b, c, loss, l1, l2, signed, enough, steps, sweeps, inexact, scratch
):
    """Newton's steps until the gap of the columns is ``enough`` of the objective.

    z and the margins u follow. Every step minimises a quadratic model by sweeps, as far as it is
    worth, and searches the line to its minimiser. Returns the steps.
    """
    slope, bend, model, du = scratch[0], scratch[1], scratch[2], scratch[3]
    k = len(ids)
    gradient, curvature, old = np.empty(k), np.empty(k), np.empty(k)
    for step in range(steps):
        value = 0.0
        for i in range(len(u)):
            value += c[i] * loss.phi(u[i], b[i])
            slope[i] = c[i] * loss.derivative(u[i], b[i])
            bend[i] = c[i] * max(loss.curvature(u[i], b[i]), FLAT_BEND)
        size, squares = 0.0, 0.0
        for w in range(k):
            size += abs(z[w])
            squares += z[w] * z[w]
            old[w] = z[w]
        value += l1 * size + 0.5 * l2 * squares
        strongest, over, worst = look_at_lines(
            B, ids, z, slope, bend, l1, l2, signed, gradient, curvature
        )
        theta = l1 / strongest if strongest > l1 else 1.0
        inner = 0.0
        for w in range(k):
            inner += z[w] * gradient[w]
        gap = max(l1 * size + 0.5 * l2 * squares + theta * inner, 0.0)
        if theta < 1.0:
            gap += bracket_sum(theta, u, slope, b, c, loss)
        if l2 > 0.0:
            gap = min(gap, 0.5 * over / l2)
        if gap <= enough * value:
            return step
        for i in range(len(u)):
            model[i] = slope[i]
            du[i] = 0.0
        everything = True
        for _ in range(sweeps):
            left = sweep_model(B, ids, z, model, bend, curvature, l1, l2, signed, everything)
            if left <= inexact * worst:
                if everything:
                    break
                everything = True
            else:
                everything = False
        promised = 0.0
        for w in range(k):
            dz = z[w] - old[w]
            if dz != 0.0:
                promised += gradient[w] * dz + l1 * (abs(z[w]) - abs(old[w]))
                promised += 0.5 * l2 * (z[w] * z[w] - old[w] * old[w])
                for m in range(B.line_length(ids[w])):
                    i, a = B.at(ids[w], m)
                    du[i] += a * dz
        t = 1.0
        for _ in range(HALVINGS):
            if objective(u, du, t, b, c, loss, old, z, l1, l2) <= value + DESCENT * t * promised:
                break
            t *= 0.5
        for i in range(len(u)):
            u[i] += t * du[i]
        if t < 1.0:
            for w in range(k):
                z[w] = old[w] + t * (z[w] - old[w])
    return steps


class SmoothSet(Set):
    """Any smooth loss: Newton's steps whose models are minimised by sweeps over columns."""

    def __init__(self, problem: Problem, B: Any, lower: float) -> None:
        super().__init__(problem, B, lower)
        self.u = np.zeros(problem.n)
        self.scratch = np.empty((4, problem.n))
        self.steps = 0

    def shift(self, dz: np.ndarray) -> None:
        live = np.flatnonzero(dz)
        self.z += dz
        self.u += Lines(self.B, self.ids[live], self.problem.n, Nobody()).moved(dz[live])

    def margins(self) -> np.ndarray:
        self.u = super().margins()
        return self.u.copy()

    def minimise(self, l1: float, l2: float, goal: float) -> None:
        """Move z until the gap of the columns here is what a look may find."""
        p = self.problem
        self.steps += settle_smooth(
            self.B, self.ids, self.z, self.u, p.b, p.c, p.loss, l1, l2, self.lower == 0.0,
            goal, NEWTON_STEPS, MODEL_SWEEPS, INEXACT, self.scratch,
        )  # fmt: skip
