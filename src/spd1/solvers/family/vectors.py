"""Proximal steps of whole vectors, and the norm that bounds the steps of whole-matrix methods."""

from __future__ import annotations

import math

import numpy as np

from ...kernel.jit import kernel
from ...problem import Problem

__all__ = ["coupling_norm", "dual_prox", "primal_prox"]


@kernel
def prox_of_rows(z, sigma, b, loss, out):
    """out_i = prox_{sigma_i phi*}(z_i); rows with sigma_i = 0 stay."""
    for i in range(len(z)):
        out[i] = loss.prox_conjugate(z[i], b[i], sigma[i]) if sigma[i] > 0.0 else z[i]


@kernel
def prox_of_columns(z, eta, net, out):
    """out_j = prox_{eta_j g_j}(z_j)."""
    for j in range(len(z)):
        out[j] = net.prox(z[j], eta[j], j)


def dual_prox(problem: Problem, z: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """prox_{sigma phi*}(z), row by row."""
    out = np.empty(problem.n)
    prox_of_rows(z, sigma, problem.b, problem.loss, out)
    return out


def primal_prox(problem: Problem, z: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """prox_{eta g}(z), column by column."""
    out = np.empty(problem.d)
    prox_of_columns(z, eta, problem.net, out)
    return out


def coupling_norm(
    problem: Problem, rows: np.ndarray, columns: np.ndarray, rounds: int = 12
) -> float:
    """|diag(rows) A diag(columns)| by power iteration: from below, by a few per cent."""
    p = problem
    x = np.sqrt(p.column_norms_squared) * columns
    x = np.where(np.arange(p.d) % 7 == 3, -1.0, 1.0) * x + 1e-3 * float(np.max(x, initial=1e-300))
    norm = 0.0
    for _ in range(rounds):
        x = x / max(float(np.linalg.norm(x)), 1e-300)
        u = rows * p.margins(columns * x)
        before, norm = norm, math.sqrt(float(u @ u))
        if norm <= 1.0001 * before:
            break
        x = columns * p.adjoint(rows * u)
    return max(norm, 1e-150)
