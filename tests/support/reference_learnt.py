"""Curvature learnt from steps, as it stands on paper: H is a matrix. Nothing calls the package."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def bends(task, u, least):
    """c phi''(u), or a share of the largest there can be where that is more."""
    if task.loss == "logistic":
        return task.c * np.maximum(expit(u) * expit(-u), 0.25 * least)
    return task.c * np.where(task.b * u < 1.0, 2.0, 2.0 * least)


class Sample:
    """Rows that bend most stand for all: taken anew where others bend much more."""

    def __init__(self, count, still_bends, stale):
        self.count, self.still_bends, self.stale = count, still_bends, stale
        self.which, self.level, self.middle = None, 0.0, 0.0

    def curvature(self, task, bend):
        """The matrix that stands in for A' diag(bend) A + diag(l2)."""
        spread = np.arange(len(bend)) * GOLDEN % 1.0
        best = sorted(range(len(bend)), key=lambda i: (-bend[i], spread[i]))[: self.count]
        fresh = self.which is None or bend[self.which].sum() < self.still_bends * bend[best].sum()
        if fresh:
            self.which = best
        A, squares = task.A[self.which], np.sum(task.A**2, axis=0)
        w = bend[self.which] * bend.sum() / bend[self.which].sum()
        if fresh or not w.mean() / self.stale < self.level < w.mean() * self.stale:
            scaled = np.sqrt(w)[:, None] * A / np.sqrt(squares)
            self.level = w.mean()
            self.middle = np.sort(np.linalg.eigvalsh(scaled @ scaled.T))[len(w) // 2]
        return np.diag(task.l2 + self.middle * squares) + A.T @ (w[:, None] * A)


def learnt(task, slope, count, pairs, least, sample=None, again=1):
    """The points of so many steps from zero, all of them whole ones."""
    d = task.A.shape[1]
    x, kept, points = np.zeros(d), [], []

    def gradient(x):
        u = task.A @ x
        return task.A.T @ (task.c * slope(task.loss, u, task.b)) + task.l2 * x

    for k in range(count):
        bend = bends(task, task.A @ x, least)
        if sample is None:
            M = np.diag(task.l2 + bend.mean() * np.sum(task.A**2, axis=0))
        elif k % again == 0:
            M = sample.curvature(task, bend)
        H = np.linalg.inv(M)
        if kept:
            s, z = kept[-1]
            H *= (s @ z) / (z @ H @ z)
        for s, z in kept[-pairs:]:
            V = np.eye(d) - np.outer(z, s) / (s @ z)
            H = V.T @ H @ V + np.outer(s, s) / (s @ z)
        step = -H @ gradient(x)
        kept.append((step, gradient(x + step) - gradient(x)))
        x = x + step
        points.append(x)
    return points
