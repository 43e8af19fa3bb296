"""Newton's step on the coordinates that are free to move, as far as the kinks let it go.

The model  q(z) = gradient'step + step' H step / 2  holds on a face: a box between the kinks
(zero where l1 > 0, the bounds) around the free coordinates. Its minimiser is found by walking: go
towards it until a coordinate meets a kink, drop that one, go on towards what is left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....data.matrix import Dense
from ....kernel.jit import helper, kernel
from .costs import FLOP, entries_of
from .working_set import curvatures, line_dots, move_margins

__all__ = ["newton_on_face", "pinned"]

LARGEST_FACTOR = 2000  # free coordinates for which a dense factor is made
DAMPING = 1e-12  # of each diagonal entry: H may be singular
DROPS = 100  # kinks that one step of Newton's walks to
CG_LIMIT = 100
CG_ACCURACY = 1e-2
BENT = (1.0, 0.3, 0.1, 0.03)  # parts of a step that are tried where kinks are in its way
CG_EXPECTED = 30
DROP_ENTRY = 3e-10  # seconds an entry of H costs a coordinate that is dropped, and
CG_ENTRY = 1.5e-9  # seconds an entry of a line costs in a conjugate gradient step
NO_ROWS = np.zeros((0, 0))


@kernel
def walk(U, V, diagonal, p, z, lower, upper, limit):
    """From z towards the minimiser z + p on the box, from kink to kink; returns how many were met.

    A coordinate r that meets a kink leaves. With M the inverse of H for those that are left, the
    rest of the way (1 - t) p loses M_r (1 - t) p_r / M_rr, and M itself M_r M_r' / M_rr. Only the
    rows of M that leave are ever asked for: each is computed, then updated by those before.
    """
    size = len(z)
    free = np.ones(size, dtype=np.bool_)
    rows = np.empty((limit, size))
    pivots, names = np.empty(limit), np.empty(limit, dtype=np.int64)
    for drops in range(limit):
        t, first = 1.0, -1
        for r in range(size):
            if free[r] and p[r] != 0.0:
                room = ((upper[r] if p[r] > 0.0 else lower[r]) - z[r]) / p[r]
                if room < t:
                    t, first = max(room, 0.0), r
        for r in range(size):
            if free[r]:
                z[r] += t * p[r]
        if first < 0:
            return drops
        z[first] = upper[first] if p[first] > 0.0 else lower[first]
        free[first] = False
        row = rows[drops]
        if len(V) > 0:
            row_in_margins(V, diagonal, first, row)
        else:
            row_of_factor(U, first, row)
        for k in range(drops):
            other = rows[k]
            scale = other[first] / pivots[k]
            for s in range(size):
                row[s] -= scale * other[s]
        pivots[drops], names[drops] = row[first], first
        share = (1.0 - t) * p[first] / row[first]
        for s in range(size):
            p[s] = (1.0 - t) * p[s] - share * row[s]
        for k in range(drops + 1):
            p[names[k]] = 0.0
    return limit


@helper
def row_of_factor(U, r, x):
    """Row r of (U'U)^-1, U upper triangular."""
    size = len(x)
    x[:] = 0.0
    x[r] = 1.0
    for i in range(r, size):
        value = x[i] / U[i, i]
        x[i] = value
        for k in range(i + 1, size):
            x[k] -= value * U[i, k]
    for i in range(size - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, size):
            total -= U[i, k] * x[k]
        x[i] = total / U[i, i]


@helper
def row_in_margins(V, diagonal, r, x):
    """Row r of D^-1/2 (1 - V'V) D^-1/2."""
    x[:] = 0.0
    for i in range(len(V)):
        value, line = V[i, r], V[i]
        for k in range(len(x)):
            x[k] -= value * line[k]
    x[r] += 1.0
    scale = 1.0 / math.sqrt(diagonal[r])
    for k in range(len(x)):
        x[k] *= scale / math.sqrt(diagonal[k])


def pinned(z: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Which coordinates sit at a kink: a bound, or zero under an l1 term."""
    held = (z == table[:, 3]) | (z == table[:, 4]) | ((z == 0.0) & (table[:, 1] > 0.0))
    return np.asarray(held)


def newton_on_face(
    B: Any, ids: np.ndarray, table: np.ndarray, z: np.ndarray, bend: np.ndarray, slope: np.ndarray
) -> float:
    """Move the free coordinates of z, and the model's slope with them; returns the gain."""
    free = np.flatnonzero(~pinned(z, table))
    if len(free) == 0:
        return 0.0
    lines, numbers, old = ids[free], table[free], z[free]
    linear, l1, l2, lower, upper = numbers.T
    gradient = np.empty(len(free))
    line_dots(B, lines, slope, gradient)
    gradient += linear + l1 * np.sign(old) + l2 * old
    low = np.where((l1 > 0.0) & (old > 0.0), np.maximum(lower, 0.0), lower)
    high = np.where((l1 > 0.0) & (old < 0.0), np.minimum(upper, 0.0), upper)
    new = old.copy()
    factor, inside, gradients = face_costs(B, lines, len(bend), bool(np.all(l2 > 0.0)))
    box = gradient, new, low, high
    if min(factor, inside) > gradients:
        gain = _projected_cg(B, lines, l2, bend, *box)
    elif factor <= inside:
        gain = _walk_on_factor(B, lines, l2, bend, *box)
    else:
        gain = _walk_in_margins(B, lines, l2, bend, *box)
    if not (gain > 0.0 and np.all(np.isfinite(new))):
        return 0.0
    move = np.zeros(len(bend))
    move_margins(B, lines, new - old, move)
    slope += bend * move
    z[free] = new
    return gain


def face_costs(B: Any, lines: np.ndarray, width: int, curved: bool) -> tuple[float, float, float]:
    """Seconds of three ways: a dense factor of H, one in the margins, conjugate gradients.

    H of more lines than they are long has a factor in the margins if every line is ``curved`` by
    an l2 > 0 of its own; if not, many will be dropped.
    """
    count = len(lines)
    entries = entries_of(B, lines, width)
    spread = 0.0 if isinstance(B, Dense) else 1e-9 * count * width
    factor = FLOP * count * count * (0.5 * width + 0.6 * count) + spread
    if count > width:
        factor += DROP_ENTRY * count * count * min(count - width, DROPS)
    if count > LARGEST_FACTOR:
        factor = math.inf
    inside = FLOP * width * width * (1.5 * count + 0.6 * width) + spread
    if not curved or width > LARGEST_FACTOR:
        inside = math.inf
    return factor, inside, CG_ENTRY * entries * CG_EXPECTED


def dense_lines(B: Any, lines: np.ndarray, width: int) -> np.ndarray:
    """Copy lines into a dense array."""
    if isinstance(B, Dense):
        return np.asarray(B.values[lines], dtype=float)
    rows = np.zeros((len(lines), width))
    spread_lines(B, lines, rows)
    return rows


@kernel
def spread_lines(B, lines, out):
    """Write sparse lines into a dense array of zeros."""
    for w in range(len(lines)):
        for k in range(B.line_length(lines[w])):
            j, a = B.at(lines[w], k)
            out[w, j] = a


def _walk_on_factor(
    B: Any,
    lines: np.ndarray,
    l2: np.ndarray,
    bend: np.ndarray,
    gradient: np.ndarray,
    new: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> float:
    from scipy.linalg import lapack

    rows = dense_lines(B, lines, len(bend)) * np.sqrt(bend)
    H = rows @ rows.T
    count = len(lines)
    diagonal = H.reshape(-1)[:: count + 1]
    diagonal += l2
    diagonal += DAMPING * diagonal + 1e-300
    factor, failed = lapack.dpotrf(H.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return 0.0
    step, _ = lapack.dpotrs(factor, gradient, lower=1)
    old = new.copy()
    _go(factor.T, NO_ROWS, l2, -step, new, low, high)
    return _gain(rows, l2, gradient, new - old)


def _walk_in_margins(
    B: Any,
    lines: np.ndarray,
    l2: np.ndarray,
    bend: np.ndarray,
    gradient: np.ndarray,
    new: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> float:
    """The same for more lines than they are long.

    With R = D^-1/2 B W^1/2 and the factor of 1 + R'R = L L', H^-1 = D^-1/2 (1 - V'V) D^-1/2 for
    V = L^-1 R'.
    """
    from scipy.linalg import lapack, solve_triangular

    root = np.sqrt(l2)
    rows = dense_lines(B, lines, len(bend)) * np.sqrt(bend)
    scaled = rows / root[:, None]
    S = scaled.T @ scaled
    S.reshape(-1)[:: len(bend) + 1] += 1.0
    factor, failed = lapack.dpotrf(S.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        return 0.0
    V = solve_triangular(factor, scaled.T, lower=True, check_finite=False)
    image = gradient / root
    step = (image - (V @ image) @ V) / root
    old = new.copy()
    _go(NO_ROWS, np.ascontiguousarray(V), l2, -step, new, low, high)
    return _gain(rows, l2, gradient, new - old)


def _go(
    U: np.ndarray,
    V: np.ndarray,
    l2: np.ndarray,
    step: np.ndarray,
    new: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    target = new + step
    if np.all(target > low) and np.all(target < high):  # the minimiser lies inside: no walk
        new[:] = target
    elif np.all(np.isfinite(step)):
        walk(U, V, l2, step, new, low, high, DROPS)


def _gain(rows: np.ndarray, l2: np.ndarray, gradient: np.ndarray, move: np.ndarray) -> float:
    image = move @ rows
    return -float(gradient @ move + 0.5 * (image @ image + move @ (l2 * move)))


def _projected_cg(
    B: Any,
    lines: np.ndarray,
    l2: np.ndarray,
    bend: np.ndarray,
    gradient: np.ndarray,
    new: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> float:
    """Preconditioned conjugate gradients, then the best of a few ways to stay on the face."""
    count = len(lines)
    scale = np.empty(count)
    curvatures(B, lines, bend, scale)
    scale += l2
    scale += 1e-10 * float(scale.max()) + 1e-300

    def curved(step: np.ndarray) -> np.ndarray:
        move = np.zeros(len(bend))
        move_margins(B, lines, step, move)
        move *= bend
        out = np.empty(count)
        line_dots(B, lines, move, out)
        out += l2 * step
        return out

    step = conjugate_gradients(curved, -gradient, scale, CG_ACCURACY, CG_LIMIT)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, high - new, low - new) / step
    t = float(np.min(np.where(step != 0.0, room, math.inf), initial=math.inf))
    if t >= 1.0:
        gain = -float(gradient @ step + 0.5 * step @ curved(step))
        new += step
        return gain
    best, target = 0.0, new
    for length in (*BENT, t * (1.0 + 1e-12)):  # the path that kinks bend; straight to the first
        bent = np.clip(new + length * step, low, high) - new
        slope = float(gradient @ bent)
        if slope >= 0.0:
            continue
        bow = float(bent @ curved(bent))
        share = min(1.0, -slope / bow) if bow > 0.0 else 1.0
        gain = -share * (slope + 0.5 * share * bow)
        if gain > best:
            best, target = gain, np.clip(new + share * bent, low, high)
    new[:] = target
    return best


def conjugate_gradients(
    curved: Any, right: np.ndarray, scale: np.ndarray | float, accuracy: float, limit: int
) -> np.ndarray:
    """Solve H step = right to a relative residual, with a diagonal preconditioner."""
    step = np.zeros_like(right)
    rest = right.copy()
    scaled = rest / scale
    direction = scaled.copy()
    size = float(rest @ scaled)
    goal = accuracy * accuracy * size
    for _ in range(limit):
        if size <= goal or size == 0.0:
            break
        image = curved(direction)
        bent = float(direction @ image)
        if not bent > 0.0:
            break
        t = size / bent
        step += t * direction
        rest -= t * image
        scaled = rest / scale
        before, size = size, float(rest @ scaled)
        direction = scaled + (size / before) * direction
    return step
