"""Newton's step on the coordinates that are free to move, as far as the kinks let it go.

The model  q(z) = gradient'step + step' H step / 2  holds on a face: a box between the kinks
(zero where l1 > 0, the bounds) around the free coordinates. Its minimiser is found by walking: go
towards it until a coordinate meets a kink, drop that one, go on towards what is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ....data.crew import multiplied, symmetric
from ....data.facts import Reads
from ....kernel.jit import helper, kernel
from ..charges import charges
from ..tuning import (
    BENT,
    CG_EXPECTED,
    DROPS,
    FACE_CG_ACCURACY,
    FACE_CG_LIMIT,
    LARGEST_FACTOR,
)
from .cg_together import gradients_by, worth_one_call
from .cholesky import damped_cholesky, solve_by
from .working_set import Lines

__all__ = ["conjugate_gradients", "face_costs", "newton_on_face", "pinned"]

NO_ROWS = np.zeros((0, 0))


@kernel
def walk(U, V, diagonal, p, z, lower, upper, limit, free, names, pivots, rows):
    """From z towards the minimiser z + p on the box, from kink to kink; returns how many were met.

    A coordinate r that meets a kink leaves. With M the inverse of H for those that are left, the
    rest of the way (1 - t) p loses M_r (1 - t) p_r / M_rr, and M itself M_r M_r' / M_rr. Only the
    rows of M that leave are ever asked for: each is computed, then updated by those before. The
    last four are made by ``scratch_for``.
    """
    size = len(z)
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


def scratch_for(size: int, limit: int) -> tuple[np.ndarray, ...]:
    """What ``walk`` works with: who is free; names, pivots and rows of those that left."""
    free, names = np.ones(size, dtype=np.bool_), np.empty(limit, dtype=np.int64)
    return free, names, np.empty(limit), np.empty((limit, size))


@helper
def row_of_factor(U, r, x):
    """Row r of (U'U)^-1, U upper triangular."""
    size = len(x)
    for k in range(size):
        x[k] = 0.0
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
    for k in range(len(x)):
        x[k] = 0.0
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


class Box(NamedTuple):
    """Free coordinates: gradient of the model, its own curvature, where they are, and the kinks."""

    gradient: np.ndarray
    l2: np.ndarray
    z: np.ndarray
    low: np.ndarray
    high: np.ndarray


def box_around(z: np.ndarray, g: np.ndarray, table: np.ndarray) -> Box:
    """The face that z is on; ``g`` is the model's gradient without the separable terms."""
    linear, l1, l2, lower, upper = table.T
    gradient = g + (linear + l1 * np.sign(z) + l2 * z)
    low = np.where((l1 > 0.0) & (z > 0.0), np.maximum(lower, 0.0), lower)
    high = np.where((l1 > 0.0) & (z < 0.0), np.minimum(upper, 0.0), upper)
    return Box(gradient, l2, z, low, high)


def newton_on_face(
    lines: Lines, table: np.ndarray, z: np.ndarray, bend: np.ndarray, slope: np.ndarray
) -> float:
    """Move the free coordinates of z, and the model's slope with them; returns the gain."""
    free = np.flatnonzero(~pinned(z, table))
    if len(free) == 0:
        return 0.0
    part = lines.part(free)
    box = box_around(z[free], part.dots(slope), table[free])
    factor, inside, gradients = face_costs(part, bool(np.all(box.l2 > 0.0)))
    if min(factor, inside) > gradients:
        new, gain = _projected_cg(part, box, bend)
    elif factor <= inside:
        new, gain = _walk_on_factor(part, box, bend)
    else:
        new, gain = _walk_in_margins(part, box, bend)
    if not (gain > 0.0 and np.all(np.isfinite(new))):
        return 0.0
    slope += bend * part.moved(new - box.z)
    z[free] = new
    return gain


def face_costs(lines: Lines, curved: bool) -> tuple[float, float, float]:
    """Seconds of three ways: a dense factor of H, one in the margins, conjugate gradients.

    H of more lines than they are long has a factor in the margins if every line is ``curved`` by
    an l2 > 0 of its own; if not, many will be dropped.
    """
    count, width, at = lines.count, lines.width, charges()
    spread = 0.0 if lines.dense else at.spread * count * width
    factor = at.flop * count * count * (0.5 * width + 0.6 * count) + spread
    if count > width:
        factor += at.drop_entry * count * count * min(count - width, DROPS)
    if count > LARGEST_FACTOR:
        factor = math.inf
    inside = at.flop * width * width * (1.5 * count + 0.6 * width) + spread
    if not curved or width > LARGEST_FACTOR:
        inside = math.inf
    if 8.0 * count * width > lines.most:  # both make a dense copy
        factor = inside = math.inf
    return factor, inside, at.cg_entry * lines.entries * CG_EXPECTED


def _bent(lines: Lines, bend: np.ndarray) -> np.ndarray:
    """Lines times the square root of the curvature at each position."""
    rows = lines.spread()
    multiplied(lines.crew, rows, np.sqrt(bend), rows)
    return rows


def _walk_on_factor(lines: Lines, box: Box, bend: np.ndarray) -> tuple[np.ndarray, float]:
    rows = _bent(lines, bend)
    factor = damped_cholesky(symmetric(lines.crew, rows.T), box.l2)
    if factor is None:
        return box.z, 0.0
    new = walked(factor.T, NO_ROWS, box, -solve_by(factor, box.gradient))
    return new, _gain(rows, box, new - box.z)


def _walk_in_margins(lines: Lines, box: Box, bend: np.ndarray) -> tuple[np.ndarray, float]:
    """The same for more lines than they are long.

    With R = D^-1/2 B W^1/2 and the factor of 1 + R'R = L L', H^-1 = D^-1/2 (1 - V'V) D^-1/2 for
    V = L^-1 R'.
    """
    root = np.sqrt(box.l2)
    rows = _bent(lines, bend)
    scaled = rows / root[:, None]
    factor = damped_cholesky(symmetric(lines.crew, scaled), 1.0, dampings=(0.0,))
    if factor is None:
        return box.z, 0.0
    V = solve_triangular(factor, scaled.T, lower=True, check_finite=False)
    image = box.gradient / root
    step = (image - (V @ image) @ V) / root
    new = walked(NO_ROWS, np.ascontiguousarray(V), box, -step)
    return new, _gain(rows, box, new - box.z)


def walked(U: np.ndarray, V: np.ndarray, box: Box, step: np.ndarray) -> np.ndarray:
    """Where a step leads: to its end, or from kink to kink."""
    new: np.ndarray = box.z + step
    if np.all(new > box.low) and np.all(new < box.high):  # the minimiser lies inside: no walk
        return new
    new = box.z.copy()
    if np.all(np.isfinite(step)):
        scratch = scratch_for(len(new), DROPS)
        walk(U, V, box.l2, step, new, box.low, box.high, DROPS, *scratch)
    return new


def _gain(rows: np.ndarray, box: Box, move: np.ndarray) -> float:
    image = move @ rows
    return -float(box.gradient @ move + 0.5 * (image @ image + move @ (box.l2 * move)))


def _projected_cg(lines: Lines, box: Box, bend: np.ndarray) -> tuple[np.ndarray, float]:
    """Preconditioned conjugate gradients, then the best of a few ways to stay on the face."""
    scale = lines.curvatures(bend)
    scale += box.l2
    scale += 1e-10 * float(scale.max()) + 1e-300

    def curved(step: np.ndarray) -> np.ndarray:
        return np.asarray(lines.dots(bend * lines.moved(step)) + box.l2 * step)

    limits = FACE_CG_ACCURACY, FACE_CG_LIMIT
    if worth_one_call(lines):
        step = gradients_by(lines, bend, box.l2, -box.gradient, scale, *limits)
    else:
        step = conjugate_gradients(curved, -box.gradient, scale, *limits, lines.ledger)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, box.high - box.z, box.low - box.z) / step
    t = float(np.min(np.where(step != 0.0, room, math.inf), initial=math.inf))
    if t >= 1.0:
        return box.z + step, -float(box.gradient @ step + 0.5 * step @ curved(step))
    best, target = 0.0, box.z
    for length in (*BENT, t * (1.0 + 1e-12)):  # the path that kinks bend; straight to the first
        bent = np.clip(box.z + length * step, box.low, box.high) - box.z
        slope = float(box.gradient @ bent)
        if slope >= 0.0:
            continue
        bow = float(bent @ curved(bent))
        share = min(1.0, -slope / bow) if bow > 0.0 else 1.0
        gain = -share * (slope + 0.5 * share * bow)
        if gain > best:
            best, target = gain, np.clip(box.z + share * bent, box.low, box.high)
    return target, best


def conjugate_gradients(
    curved: Any,
    right: np.ndarray,
    scale: np.ndarray | float,
    accuracy: float,
    limit: int,
    ledger: Reads | None = None,
    solve: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Solve H step = right to a relative residual, with a diagonal preconditioner or another.

    Every product reads the data: a ledger that is spent ends it with what there is.
    """
    step = np.zeros_like(right)
    rest = right.copy()
    scaled = rest / scale if solve is None else solve(rest)
    direction = scaled.copy()
    size = float(rest @ scaled)
    goal = accuracy * accuracy * size
    for _ in range(limit):
        if size <= goal or size == 0.0 or (ledger is not None and ledger.spent):
            break
        image = curved(direction)
        bent = float(direction @ image)
        if not bent > 0.0:
            break
        t = size / bent
        step += t * direction
        rest -= t * image
        scaled = rest / scale if solve is None else solve(rest)
        before, size = size, float(rest @ scaled)
        direction = scaled + (size / before) * direction
    return step
