"""Proximal steps of whole vectors, the norm that bounds steps, and their leeway."""

from __future__ import annotations

import math

import numpy as np

from ...kernel.jit import kernel
from ...problem import Problem
from .tuning import KNOWN_RATIO, UNKNOWN_RATIO

__all__ = ["coupling_norm", "dual_prox", "leeway_of", "primal_prox"]


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


def leeway_of(problem: Problem) -> float:
    """By which factor the first steps may be off, while their product is right.

    With mu and gamma the ratio is known. Where y is scaled before it is certified, as under an l1
    alone, the certificate says little about it: it stays as it is.
    """
    p = problem
    if p.dual_bounds[0] is not None:
        return 1.0
    return KNOWN_RATIO if p.mu > 0 and p.gamma > 0 else UNKNOWN_RATIO
