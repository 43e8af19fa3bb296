"""What a sweep over columns is made of: visits, and the objective where it ends.

See ``descent`` for what is visited, and why.
"""

from __future__ import annotations

import math

from ...data.strides import add_line, line_dot, pull_and_bend, shift_along
from ...kernel.jit import helper
from .momentum import leap, leap_back
from .tuning import (
    ALL_MEAN,
    BALANCED,
    CLIMB,
    LEAST_CURVATURE,
    LONG_MOVE,
    MODEL_LEFT,
    MOST_BALANCING,
    MOST_HALVES,
    SLOW_START,
    SWEEPS_A_MODEL,
)

__all__ = [
    "LEVEL_BEFORE",
    "LEVEL_LAST",
    "LEVEL_NOW",
    "anew",
    "balanced",
    "centred",
    "curved_step",
    "dual_value",
    "flat_step",
    "level",
    "margins_of",
    "penalty_of",
    "raised",
    "settle_level",
]

# What an intercept adds to margins: as they are now, before the last step, after the last sweep
LEVEL_NOW, LEVEL_BEFORE, LEVEL_LAST = range(3)


@helper
def dual_value(theta, y, b, c, loss, G, alive, count, l1, l2):
    """D(theta y): all columns that are not alive are below l1."""
    total = 0.0
    for i in range(len(y)):
        star = loss.conjugate(theta * y[i], b[i])
        total += c[i] * star if c[i] > 0.0 else 0.0
    if l2 > 0.0:
        beyond = 0.0
        for k in range(count):
            over = max(theta * abs(G[alive[k]]) - l1, 0.0)
            beyond += over * over
        total += 0.5 * beyond / l2
    return -total


@helper
def flat_sweep(L, which, count, x, bends, sums, l1, l2, flat, free, m):
    """Visit some columns once, least squares.

    Returns the largest pull, the sum of their squares, and what the objective has lost at least.
    """
    largest, squares, gain, off = 0.0, 0.0, 0.0, 0.0
    for k in range(count):
        j = which[k]
        h = bends[j]
        z = h * x[j] - line_dot(L, j, m)
        if free >= 0:
            z -= off * sums[j] / flat
        x_new = (max(z - l1, 0.0) + min(z + l1, 0.0)) / (h + l2)
        step = x_new - x[j]
        if step != 0.0:
            x[j] = x_new
            pull = (h + l2) * abs(step)
            largest = max(largest, pull)
            squares += pull * pull
            gain += 0.5 * pull * abs(step)
            add_line(L, j, flat * step, m)
            if free >= 0:
                off -= flat * step * sums[j]
    if free >= 0:
        centre(m)
    return largest, squares, gain


@helper
def centre(m):
    """Less its mean."""
    total = 0.0
    for i in range(len(m)):
        total += m[i]
    for i in range(len(m)):
        m[i] -= total / len(m)


@helper
def raised(u, by):
    """Margins where the intercept has moved."""
    for i in range(len(u)):
        u[i] += by


@helper
def level(u, b):
    """The best intercept of least squares, which margins get and which is returned."""
    total = 0.0
    for i in range(len(u)):
        total += b[i] - u[i]
    raised(u, total / len(u))
    return total / len(u)


@helper
def centred(square, mean):
    """The mean square of a column less that of its mean; nothing, if what is left is rounding."""
    left = square - mean * mean
    return left if left > ALL_MEAN * square else 0.0


@helper
def intercept_step(m, W, growth):
    """The sum of bends, Newton's step of an intercept, and how far slopes are off balance.

    A long step is shortened to what never climbs, see ``descent``.
    """
    mass, off, size = 0.0, 0.0, 0.0
    for i in range(len(m)):
        mass += W[i]
        off += m[i]
        size += abs(m[i])
    step = -off / mass
    r = growth * abs(step) if growth < math.inf else 0.0
    if r > LONG_MOVE:
        step *= math.log1p(r) / r
    return mass, step, abs(off) / max(size, 1e-300)


@helper
def balanced(u, b, c, loss, growth, free, levels, y, m, W):
    """``anew``, where the intercept, if there is one, is the best one for these x."""
    value, now, step = math.inf, math.inf, 0.0
    for k in range(MOST_BALANCING):
        now = anew(u, b, c, loss, y, m, W)
        if free < 0:
            break
        if now <= value + CLIMB * abs(value):
            value = now
            _, step, off = intercept_step(m, W, growth)
            by = step
            if off <= BALANCED:
                break
        else:  # half of the way back
            step *= 0.5
            by = -step
        if k + 1 < MOST_BALANCING:
            raised(u, by)
            levels[LEVEL_NOW] += by
    return now


@helper
def settle_level(levels, trade):
    """What ``settle`` is to x and margins."""
    at = levels[LEVEL_NOW]
    if trade:
        levels[LEVEL_NOW] = levels[LEVEL_LAST]
    levels[LEVEL_LAST] = at


@helper
def curved_sweep(
    L, which, count, x, peaks, bends, sums, known, l1, l2, growth, mass, by, m, W
):  # fmt: skip
    """The same for other losses, as far as their bends tell.

    ``known``: whether an earlier sweep has found the bends of these columns. ``mass``: the sum of
    the bends of all rows where there is an intercept, which moves margins ``by`` so much; zero
    where there is none. Returns whether a step was shortened, and ``by``, too.
    """
    largest, squares, long = 0.0, 0.0, False
    for k in range(count):
        j = which[k]
        if known:
            g, h = line_dot(L, j, m), bends[j]
        else:
            g, h = pull_and_bend(L, j, m, W)
            if mass > 0.0:
                sums[j] = line_dot(L, j, W)
                h = max(h - sums[j] * sums[j] / mass, ALL_MEAN * h)
            bends[j] = h
        if mass > 0.0:
            g += by * sums[j]
        z = h * x[j] - g
        step = (max(z - l1, 0.0) + min(z + l1, 0.0)) / (h + l2) - x[j]
        if step != 0.0:
            pull = (h + l2) * abs(step)
            largest = max(largest, pull)
            squares += pull * pull
            peak = peaks[j] + abs(sums[j]) / mass if mass > 0.0 else peaks[j]
            r = growth * peak * abs(step)
            if LONG_MOVE < r < math.inf:
                step *= math.log1p(r) / r
                long = True
            shift_along(L, j, step, m, W)
            x[j] += step
            if mass > 0.0:
                by -= step * sums[j] / mass
    return largest, squares, long, by


@helper
def anew(u, b, c, loss, y, m, W):
    """Slopes and bends at these margins; returns the sum of the losses."""
    total = 0.0
    for i in range(len(u)):
        total += c[i] * loss.phi(u[i], b[i]) if c[i] > 0.0 else 0.0
        y[i] = loss.derivative(u[i], b[i])
        m[i] = c[i] * y[i]
        W[i] = c[i] * max(loss.curvature(u[i], b[i]), LEAST_CURVATURE)
    return total


@helper
def flat_loss(m, flat):
    """Sum of the losses of least squares, from m = flat (u - b)."""
    total = 0.0
    for i in range(len(m)):
        total += m[i] * m[i]
    return 0.5 * total / flat


@helper
def margins_of(L, which, count, x, u):
    """A x, where other columns are zero; returns how many entries were read."""
    read = 0
    for i in range(len(u)):  # slices would take seconds to compile
        u[i] = 0.0
    for k in range(count):
        if x[which[k]] != 0.0:
            add_line(L, which[k], x[which[k]], u)
            read += L.line_length(which[k])
    return read


@helper
def penalty_of(x, which, count, l1, l2):
    """The regularizer of some columns."""
    total = 0.0
    for k in range(count):
        z = x[which[k]]
        total += l1 * abs(z) + 0.5 * l2 * z * z
    return total


@helper
def taken_back(
    value, u, u_before, levels, x, x_before, ws, wanted, b, c, l1, l2, loss, y, m, W
):  # fmt: skip
    """Halve a sweep's moves until the objective has not climbed; returns it, infinite if it never.

    Slopes and bends are those of where it ends.
    """
    for _ in range(MOST_HALVES):
        now = anew(u, b, c, loss, y, m, W) + penalty_of(x, ws, wanted, l1, l2)
        if now <= value + CLIMB * abs(value):
            return now
        for i in range(len(u)):
            u[i] = 0.5 * (u[i] + u_before[i])
        for k in range(wanted):
            j = ws[k]
            x[j] = 0.5 * (x[j] + x_before[j])
        levels[LEVEL_NOW] = 0.5 * (levels[LEVEL_NOW] + levels[LEVEL_BEFORE])
    return math.inf


@helper
def flat_step(
    L, active, among, ws, wanted, x, x_last, m, m_last, norms, sums, l1, l2, flat, free, fast,
    speed, value,
):  # fmt: skip
    """A sweep of least squares, and the momentum after it, if there is any.

    Returns the largest pull, the sum of their squares, the objective and the sweeps since momentum
    began; without momentum the last two as they were.
    """
    largest, squares, gain = flat_sweep(L, active, among, x, norms, sums, l1, l2, flat, free, m)
    if fast:
        share = speed / (speed + SLOW_START)
        leap(L, active, among, share, x, x_last, m, m_last, flat)
        if free >= 0:
            centre(m)
        now = flat_loss(m, flat) + penalty_of(x, ws, wanted, l1, l2)
        speed += 1.0
        if now > value and share > 0.0:
            leap_back(active, among, x, x_last, m, m_last)
            now = flat_loss(m, flat) + penalty_of(x, ws, wanted, l1, l2)
            speed = 0.0
        value = now
    return largest, squares, gain, value, speed


@helper
def curved_step(
    L, active, among, ws, wanted, x, x_last, x_before, u, u_last, u_before, levels, y, m, W, peaks,
    bends, sums, b, c, l1, l2, growth, loss, free, fast, speed, value, room,
):  # fmt: skip
    """The same for other losses: sweeps on one model, taken back if the objective has climbed.

    The model has the bends of where the step begins. Losses whose bends jump have one sweep a
    model: their slopes cost next to nothing. There is ``room`` for so many, at least for one.
    Returns how many there were, too.
    """
    largest, squares, sweeps, left, long = 0.0, 0.0, 0, math.inf, False
    most = SWEEPS_A_MODEL if growth < math.inf and not fast else 1
    mass, by = 0.0, 0.0
    if free >= 0:
        mass, by, _ = intercept_step(m, W, growth)
    while sweeps == 0 or (
        sweeps < most and sweeps + 1 <= room and not long and left > MODEL_LEFT * squares
    ):
        pull, left, long, by = curved_sweep(
            L, active, among, x, peaks, bends, sums, sweeps > 0, l1, l2, growth, mass, by, m, W
        )
        if sweeps == 0:
            largest, squares = pull, left
        sweeps += 1
    for i in range(len(u)):  # slopes tell how far margins have moved
        if W[i] > 0.0:
            u[i] += (m[i] - c[i] * y[i]) / W[i] + by
    levels[LEVEL_NOW] += by
    descends = False
    if fast:
        share = speed / (speed + SLOW_START)
        leap(L, active, among, share, x, x_last, u, u_last, 1.0)
        at = levels[LEVEL_NOW]
        levels[LEVEL_NOW], levels[LEVEL_LAST] = at + share * (at - levels[LEVEL_LAST]), at
        now = anew(u, b, c, loss, y, m, W) + penalty_of(x, ws, wanted, l1, l2)
        descends, speed = now <= value, speed + 1.0
        if descends:
            value = now
        else:
            leap_back(active, among, x, x_last, u, u_last)
            levels[LEVEL_NOW] = levels[LEVEL_LAST]
            speed = 0.0
    if not descends:
        value = taken_back(
            value, u, u_before, levels, x, x_before, ws, wanted, b, c, l1, l2, loss, y, m, W
        )
    levels[LEVEL_BEFORE] = levels[LEVEL_NOW]
    for i in range(len(u)):
        u_before[i] = u[i]
    for k in range(among):
        x_before[active[k]] = x[active[k]]
    return largest, squares, value, speed, sweeps
