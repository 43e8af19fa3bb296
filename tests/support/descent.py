"""Good points in 60 digits: whatever they reach, an optimum is not above it."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.optimize import linprog

from spd1 import ElasticNet, Problem, solve

from .exact import INF, ONE, ZERO, Exact, bend, exact, kinks, slope

__all__ = ["good_points", "polished"]

NEAR = Decimal("1e-7")
NOTHING = Decimal("1e-45")


def good_points(truth: Exact, starts: list[Any], passes: float) -> list[tuple[Decimal, Any]]:
    """(P(x), x) of many x, the best first; starts are given as decimals."""
    found: list[tuple[Decimal, Any]] = []

    def add(x: Any) -> None:
        value = truth.primal(x)
        if value.is_finite():
            found.append((value, x))

    for x in [*starts, *_of_twin(truth, passes)]:
        add(x)
    if not found:
        return found
    found.sort(key=lambda one: one[0])
    add(polished(truth, found[0][1]))
    found.sort(key=lambda one: one[0])
    best = found[0][1]
    if truth.loss.label_kind != "real" and any(best):
        for power in (-3, -1, 1, 2, 4, 8, 16):
            add(best * Decimal(2) ** power)
        found.sort(key=lambda one: one[0])
    return found


# The same problem in better units.


def _of_twin(truth: Exact, passes: float) -> list[Any]:
    """Solutions where columns without penalty are orthonormal and others have about unit size."""
    bare = [j for j, net in enumerate(truth.nets) if net == (ZERO, ZERO, -INF, INF)]
    T = np.full((truth.d, truth.d), ZERO, dtype=object)
    for j in range(truth.d):
        largest = max(truth.size[:, j])
        T[j, j] = ONE if largest == 0 else Decimal(2) ** -_exponent(largest)
    basis = truth.A @ T
    kept = _orthonormal(basis, T, bare)
    columns = [j for j in range(truth.d) if j not in bare] + kept
    if not columns:
        return []
    M = basis[:, columns].astype(float)
    nets = np.array([[float(t) for t in _scaled(truth.nets[j], T[j, j])] for j in columns])
    nets[np.isin(columns, bare)] = (0.0, 0.0, -np.inf, np.inf)
    b, c = truth.b.astype(float), truth.c.astype(float)
    points = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            nets[:, 1] = np.where(nets[:, 1] < 1e-300, 0.0, nets[:, 1])
            twin = Problem(M, b, truth.loss, ElasticNet(*nets.T), c)
            points.append(solve(twin, tol=1e-12, max_passes=passes, max_seconds=2.0).x)
        except Exception:  # hostile to the solver too; other points remain
            pass
        w = _by_linear_program(truth.loss, M, b, c, nets)
        if w is not None:
            points.append(w)
    out = []
    for w in points:
        if np.all(np.isfinite(w)):
            x = T[:, columns] @ exact(w)
            out.append(_clipped(truth, x))
    return out


def _exponent(t: Decimal) -> int:
    return int(np.floor(t.adjusted() * np.log2(10.0)))


def _scaled(net: Any, unit: Decimal) -> tuple[Decimal, ...]:
    """Penalty of w where x = unit w."""
    l1, l2, lower, upper = net
    return l1 * unit, l2 * unit * unit, lower / unit, upper / unit


def _orthonormal(basis: Any, T: Any, bare: list[int]) -> list[int]:
    """Make these columns orthonormal, in place, T with them; those that depend on others drop."""
    kept: list[int] = []
    for j in bare:
        before = basis[:, j] @ basis[:, j]
        for k in kept + kept:
            along = basis[:, k] @ basis[:, j]
            basis[:, j] = basis[:, j] - along * basis[:, k]
            T[:, j] = T[:, j] - along * T[:, k]
        after = basis[:, j] @ basis[:, j]
        if after > Decimal("1e-70") * before:
            length = after.sqrt()
            basis[:, j], T[:, j] = basis[:, j] / length, T[:, j] / length
            kept.append(j)
    return kept


def _clipped(truth: Exact, x: Any) -> Any:
    ends = zip(x, truth.nets, strict=True)
    return np.array([min(max(t, net[2]), net[3]) for t, net in ends], dtype=object)


def _by_linear_program(loss: Any, M: Any, b: Any, c: Any, nets: Any) -> Any:
    """Piecewise linear losses with l1 and bounds: HiGHS."""
    name = type(loss).__name__
    if name not in ("Hinge", "Absolute", "Quantile", "EpsilonInsensitive") or nets[:, 1].any():
        return None
    n, d = M.shape
    eye, zero = np.eye(n), np.zeros((d, n))
    # Variables: w = p - m, and t_i >= each linear piece of phi_i.
    if name == "Hinge":
        rows, right = [-b[:, None] * M], [-np.ones(n)]
    elif name == "Quantile":
        rows, right = [-loss.q * M, (1 - loss.q) * M], [-loss.q * b, (1 - loss.q) * b]
    else:
        eps = getattr(loss, "eps", 0.0)
        rows, right = [M, -M], [b + eps, eps - b]
    upper = np.block([[R, -R, -eye] for R in rows])
    l1, _, low, high = nets.T
    G, h = [upper], [np.concatenate(right)]
    for sign, end in ((-1.0, low), (1.0, high)):
        some = np.isfinite(end)
        if some.any():
            G.append(sign * np.hstack([np.eye(d), -np.eye(d), zero])[some])
            h.append(sign * end[some])
    cost = np.concatenate([l1, l1, c])
    try:
        found = linprog(cost, np.vstack(G), np.concatenate(h), bounds=(0, None), method="highs")
    except ValueError:
        return None
    return None if found.x is None else found.x[:d] - found.x[d : 2 * d]


# Newton's method on the active set.


def polished(truth: Exact, x: Any, rounds: int = 5) -> Any:
    """Newton steps in 60 digits from x; rows at a kink of their loss are held there."""
    value = truth.primal(x)
    for _ in range(rounds):
        better, least = x, value
        for candidate in _steps(truth, x):
            new = truth.primal(candidate)
            if new < least:
                better, least = candidate, new
                break
        gained = value - least
        x, value = better, least
        if gained <= Decimal("1e-25") * abs(value):
            break
    return x


def _steps(truth: Exact, x: Any) -> Any:
    """Points along the step, the full one first."""
    step = _newton_step(truth, x)
    if step is None:
        return
    for share in ("1", "0.5", "0.1", "0.01", "1e-4"):
        moved = _clipped(truth, x + Decimal(share) * step)
        yield moved
        crossed = [net[0] > 0 and t * s < 0 for net, t, s in zip(truth.nets, x, moved, strict=True)]
        if any(crossed):
            yield np.where(crossed, ZERO, moved)


def _newton_step(truth: Exact, x: Any) -> Any:
    u, sizes = truth.margins(x), truth.size @ np.abs(x)
    gradient, bends, tied = [], [], []
    for i in range(truth.n):
        b, c = truth.b[i], truth.c[i]
        off = [k - u[i] for k in kinks(truth.loss, b)]
        near = min(off, key=abs) if off else None
        if near is not None and abs(near) <= NEAR * (sizes[i] + abs(b)):
            tied.append((i, near))
            gradient.append(ZERO)
            bends.append(ZERO)
        else:
            gradient.append(c * slope(truth.loss, u[i], b))
            bends.append(c * bend(truth.loss, u[i], b))
    gradient, bends = np.array(gradient, dtype=object), np.array(bends, dtype=object)
    pull = truth.A.T @ gradient
    moving = []
    for j, (l1, l2, lower, upper) in enumerate(truth.nets):
        t = x[j]
        slopes = [pull[j] + l2 * t + l1 * (1 if t > 0 else -1)]
        if l1 > 0 and t == 0:
            if abs(pull[j]) <= l1:
                continue
            slopes = [pull[j] - l1 if pull[j] > 0 else pull[j] + l1]
        if (t <= lower and slopes[0] >= 0) or (t >= upper and slopes[0] <= 0):
            continue
        if not truth.largest[j]:
            continue
        moving.append((j, slopes[0]))
    if not moving:
        return None
    which = [j for j, _ in moving]
    B = truth.A[:, which]
    unit = [max(truth.size[:, j]) or ONE for j in which]
    B = B / np.array(unit, dtype=object)
    m, k = len(which), len(tied)
    K = np.full((m + k, m + k + 1), ZERO, dtype=object)
    K[:m, :m] = B.T @ (bends[:, None] * B)
    for p, (j, rise) in enumerate(moving):
        K[p, p] += truth.nets[j][1] / (unit[p] * unit[p])
        K[p, -1] = -rise / unit[p]
    for q, (i, off) in enumerate(tied):
        size = max(np.abs(B[i])) or ONE
        K[m + q, :m] = K[:m, m + q] = B[i] / size
        K[m + q, -1] = off / size
    found = _solved(K)
    step = np.full(truth.d, ZERO, dtype=object)
    for p, j in enumerate(which):
        step[j] = found[p] / unit[p]
    return step


def _solved(K: Any) -> list[Decimal]:
    """Gauss with complete pivoting; what has no pivot left stays zero."""
    size = len(K)
    left, order = list(range(size)), []
    first = None
    for _ in range(size):
        pivot, row, column = ZERO, -1, -1
        taken = {c for _, c in order}
        for r in left:
            for c in range(size):
                if c not in taken and abs(K[r, c]) > pivot:
                    pivot, row, column = abs(K[r, c]), r, c
        first = pivot if first is None else first
        if pivot <= NOTHING * first:
            break
        left.remove(row)
        order.append((row, column))
        for r in left:
            if K[r, column]:
                K[r] = K[r] - (K[r, column] / K[row, column]) * K[row]
    out = [ZERO] * size
    for row, column in reversed(order):
        rest = sum((K[row, c] * out[c] for _, c in order if c != column), ZERO)
        out[column] = (K[row, -1] - rest) / K[row, column]
    return out
