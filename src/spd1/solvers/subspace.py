"""Newton's step on the coordinates that are free to move, as far as the kinks let it go.

The model  q(z) = gradient'step + step' H step / 2  holds on a face: a box between the kinks
(zero where l1 > 0, the bounds) around the free coordinates. Its minimiser is found by walking: go
towards it until a coordinate meets a kink, drop that one, update the inverse of H, go on.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..jit import kernel
from ..matrix import Dense
from .working_set import curvatures, line_dots, move_margins

__all__ = ["newton_on_face", "pinned"]

LARGEST_FACTOR = 2000  # free coordinates for which a dense factor is made
DAMPING = 1e-10  # relative to the largest diagonal entry: H may be singular
CG_LIMIT = 100
CG_ACCURACY = 1e-2
CG_EXPECTED = 30
WALK_ENTRY = 1e-9  # seconds an entry of H costs a coordinate that is dropped,
CG_ENTRY = 1.5e-9  # seconds an entry of a line costs in a conjugate gradient step, and
FLOP = 2.5e-11  # seconds a multiplication and addition costs in a dense factorisation, roughly


@kernel
def walk(inverse, gradient, z, lower, upper, damping):
    """Minimise the model on the box; returns how much it fell.

    After a step t along p = -inverse gradient the gradient of the coordinates that are left is
    (1 - t) gradient - t damping p; dropping one is a rank-one update of the inverse.
    """
    size = len(z)
    free = np.ones(size, dtype=np.bool_)
    p = np.zeros(size)
    gained = 0.0
    for _ in range(size + 1):
        slope = 0.0
        for r in range(size):
            if free[r]:
                total = 0.0
                for s in range(size):
                    total += inverse[r, s] * gradient[s]
                p[r] = -total
                slope += p[r] * gradient[r]
        t, first = 1.0, -1
        for r in range(size):
            if free[r] and p[r] != 0.0:
                room = ((upper[r] if p[r] > 0.0 else lower[r]) - z[r]) / p[r]
                if room < t:
                    t, first = max(room, 0.0), r
        gained -= t * (1.0 - 0.5 * t) * slope
        for r in range(size):
            if free[r]:
                z[r] += t * p[r]
                gradient[r] = (1.0 - t) * gradient[r] - t * damping * p[r]
        if first < 0:
            break
        z[first] = upper[first] if p[first] > 0.0 else lower[first]
        for r in range(size):
            if free[r] and (r == first or z[r] <= lower[r] or z[r] >= upper[r]):
                z[r] = min(max(z[r], lower[r]), upper[r])
                drop(inverse, free, r)
                gradient[r] = 0.0
    return gained


@kernel
def drop(inverse, free, r):
    """Make coordinate r leave: the inverse of the smaller matrix, in place."""
    size = len(free)
    free[r] = False
    pivot = inverse[r, r]
    for s in range(size):
        if free[s]:
            scale = inverse[s, r] / pivot
            for q in range(size):
                inverse[s, q] -= scale * inverse[r, q]
    for s in range(size):
        inverse[s, r] = 0.0
        inverse[r, s] = 0.0


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
    factor, gradients = face_costs(B, lines, len(bend))
    if factor <= gradients:
        gain = _walk_on_factor(B, lines, l2, bend, gradient, new, low, high)
    else:
        gain = _projected_cg(B, lines, l2, bend, gradient, new, low, high)
    if not (gain > 0.0 and np.all(np.isfinite(new))):
        return 0.0
    move = np.zeros(len(bend))
    move_margins(B, lines, new - old, move)
    slope += bend * move
    z[free] = new
    return gain


def face_costs(B: Any, lines: np.ndarray, width: int) -> tuple[float, float]:
    """Seconds that a dense factor of H and that conjugate gradients would cost, roughly.

    More lines than they are long have no more room: many will be dropped, each a look at H.
    """
    count = len(lines)
    if isinstance(B, Dense):
        entries = float(count * width)
    else:
        entries = float(np.sum(B.indptr[lines + 1] - B.indptr[lines]))
    factor = FLOP * count * count * (width + 2.0 * count) + 1e-9 * count * width
    if count > width:
        factor += WALK_ENTRY * count * count * (count - width)
    if count > LARGEST_FACTOR:
        factor = math.inf
    return factor, CG_ENTRY * entries * CG_EXPECTED


def _hessian(B: Any, lines: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """H = B_F diag(bend) B_F', through BLAS."""
    if isinstance(B, Dense):
        rows = np.asarray(B.values[lines], dtype=float)
    else:
        rows = np.zeros((len(lines), len(bend)))
        spread_lines(B, lines, rows)
    rows = rows * np.sqrt(bend)
    return np.asarray(rows @ rows.T)


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

    H = _hessian(B, lines, bend)
    count = len(lines)
    diagonal = H.reshape(-1)[:: count + 1]
    diagonal += l2
    damping = DAMPING * float(diagonal.max())
    diagonal += damping
    factor, failed = lapack.dpotrf(H, lower=1, clean=0, overwrite_a=1)
    if failed:
        return 0.0
    step, _ = lapack.dpotrs(factor, gradient, lower=1)
    target = new - step
    if np.all(target > low) and np.all(target < high):  # the minimiser lies inside: no walk
        new[:] = target
        return 0.5 * float(gradient @ step)
    inverse, failed = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        return 0.0
    inverse = np.ascontiguousarray(np.tril(inverse) + np.tril(inverse, -1).T)
    return float(walk(inverse, gradient, new, low, high, damping))


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
    """Preconditioned conjugate gradients, then the better of two ways to stay on the face."""
    count = len(lines)
    scale = np.empty(count)
    curvatures(B, lines, bend, scale)
    scale += l2
    scale += DAMPING * float(scale.max()) + 1e-300

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
    short = np.clip(new + step, low, high) - new
    gain = -float(gradient @ short + 0.5 * short @ curved(short))
    straight = t * step
    gain_straight = -float(gradient @ straight + 0.5 * straight @ curved(straight))
    if gain > gain_straight:
        new[:] = np.clip(new + step, low, high)
        return gain
    new[:] = np.where(room <= t, np.where(step > 0, high, low), new + straight)
    return gain_straight


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
