"""Sweeps over the columns that can move: a whole solve for smooth losses, looks included.

A look computes margins and slopes of the loss anew, the gradient of every column that is not
screened, a feasible dual point and with it the gap. Between looks columns are visited that are not
zero or pull beyond l1:

    x_j+ = soft(h_j x_j - a_j'm, l1) / (h_j + l2)
    m = c phi'(u),  W = c phi''(u),  h_j = a_j'W a_j

Within a sweep slopes follow as far as bends tell. After it both are computed anew, all rows at a
time, and the objective with them: where it has climbed, the sweep is taken back by halves. For
least squares nothing but m = c (u - b) has to follow. Where |phi'''| <= growth phi'', bends grow by
e^r at most along a step that moves no margin by more than r / growth, and a step that is
log(1 + r) / r as long never climbs: long steps are shortened so.

One column may be a constant without penalty, as an intercept is. After every visit it is the best
one for the model, without a walk over the rows: the others are seen less their means, by W, which
costs a number each,

    a_j'm + t a_j'W,  h_j = a_j'W a_j - (a_j'W)^2 / sum(W),  t -= step a_j'W / sum(W)

and where sweeps end margins move by t. Before a look it is made the best one for the loss itself,
so that y is balanced: sum_i c_i y_i = 0.

Slow sweeps have momentum, see ``momentum``. A look is taken where the last sweep ended.
"""

from __future__ import annotations

import math

from ...data.strides import largest_entry, line_dot, line_square
from ...kernel.jit import kernel
from ...kernel.rng import index
from .ascent import LOOKS, PATIENT, entries_of, hopeless
from .momentum import settle
from .sweeps import (
    LEVEL_BEFORE,
    LEVEL_LAST,
    LEVEL_NOW,
    anew,
    balanced,
    centred,
    curved_step,
    dual_value,
    flat_step,
    level,
    margins_of,
    penalty_of,
    raised,
    settle_level,
)
from .tuning import (
    FIRST_JOINING,
    FIRST_SWEEPS,
    GOOD,
    LITTLE_GAIN,
    LOOK_SHARE,
    MANY_LOOKS,
    MOST_OF_THEM,
    MUCH_TO_SWEEP,
    NEARLY_THERE,
    NEXT_JOINING,
    SHARPER_SWEEPS,
    SLOW_LOOK,
    SLOW_SWEEP,
    SLOW_SWEEPS,
    SMALL_SHARE,
    SWEEPS_A_LOOK,
    UNJUDGED_SWEEPS,
    UNTIL_ALL_AGAIN,
    UNTIL_PACE_COUNTS,
    WITHIN_SIGHT,
)

__all__ = ["descend"]


@kernel
def descend(
    L,
    b,
    c,
    l1,
    l2,
    loss,
    gamma,
    growth,
    flat,
    free,
    levels,
    cheap,
    key,
    limits,
    x,
    u,
    y,
    G,
    best_y,
    best_G,
    record,
    places,
    of_columns,
    of_rows,
):
    """Run until the gap is reached, the budget is spent or the pace is hopeless.

    Parameters
    ----------
    L : matrix
        Its lines are the columns of the data.
    growth : float
        Such that |phi'''| <= growth phi''; infinite if there is none.
    flat : float, or None
        The weight of all rows if the loss is (u - b)^2 / 2; None for other losses and weights. Its
        type decides which of two sweeps is compiled.
    free : int
        The column of a constant without penalty; -1 if there is none.
    levels : array of 3
        To work with: what it adds to margins now, before the last step, and after the last sweep.
    cheap : bool
        Whether so little is stored that slow sweeps take less than what others begin with.
    limits : (tol, floor, most passes of this call, most passes in all)
    x, u, y, G : arrays
        Where to start, and the end: x, A x; phi'(A x), A'(c y).
    best_y, best_G : arrays
        The best dual point, before it is scaled, and A'(c y) there.
    record : array of LOOKS x 4
        Passes, primal, dual and gap of each look.
    places, of_columns, of_rows : arrays of 3 x d (int64), 6 x d and 4 x n
        To work with: a kernel that allocates nothing compiles sooner.

    Returns
    -------
    looks, passes
    """
    tol, floor, budget, left = limits
    n, d = len(u), len(x)
    alive, ws, active = places[0], places[1], places[2]
    norms, peaks, x_before, x_last = of_columns[0], of_columns[1], of_columns[2], of_columns[3]
    bends, sums = of_columns[4], of_columns[5]
    W, m, u_before, v_last = of_rows[0], of_rows[1], of_rows[2], of_rows[3]
    count, stored = 0, 0
    for j in range(d):
        length = L.line_length(j)
        stored += length
        if length > 0 and j != free:
            alive[count] = j
            count += 1
    looks, best, latest, whole, drawn, sharp = 0, -math.inf, False, count, 0, GOOD
    per_entry, alive_entries = 1.0 / max(stored, 1), stored
    joining, wide, size_of_columns = FIRST_JOINING, stored > MUCH_TO_SWEEP and n < d, 0.0
    share, sooner, extra, judged = LOOK_SHARE, False, 0, 0  # of looks where little is gained
    ended = 0.0  # the largest pull of the last step
    fast, speed = False, 0.0  # whether there is momentum, and sweeps since it began
    passes = per_entry * margins_of(L, alive, count, x, u)
    if free >= 0 and flat is not None:
        level(u, b)
    elif free >= 0:
        levels[LEVEL_NOW] = x[free] * L.at(free, 0)[1]
        raised(u, levels[LEVEL_NOW])
    swapped, primal, value, wanted = False, math.inf, math.inf, 0
    while looks < LOOKS:
        more = True
        while more:  # where the last sweep ended; if that is higher, what momentum has made of it
            if flat is not None and looks > 0:
                for i in range(n):
                    u[i] = m[i] / flat + b[i]
            primal = penalty_of(x, alive, count, l1, l2)
            if flat is None:
                primal += balanced(u, b, c, loss, growth, free, levels, y, m, W)
            else:
                primal += anew(u, b, c, loss, y, m, W)
            more = swapped and not primal <= value
            if swapped:
                settle(ws, wanted, x, x_last, u if flat is None else m, v_last, more)
                settle_level(levels, more)
            swapped = False
        top, pulling = 0.0, 0
        for k in range(count):
            j = alive[k]
            if looks == 0:  # once, while the column is at hand
                norms[j] = line_square(L, j, c)
                if free >= 0:
                    sums[j] = line_dot(L, j, c)
                    norms[j] = centred(norms[j], sums[j])
                peaks[j] = largest_entry(L, j) if 0.0 < growth < math.inf else 1.0
                size_of_columns += norms[j]
            G[j] = line_dot(L, j, m)
            top = max(top, abs(G[j]))
            pulling += abs(G[j]) > l1
        passes += per_entry * alive_entries
        theta, dual = 1.0, -math.inf
        inside = min(1.0, l1 / top) if l1 > 0.0 and top > 0.0 else 1.0
        scale, more = inside, True
        while more:  # inside, and where l2 allows it as it is; one call, as it compiles long
            value = dual_value(scale, y, b, c, loss, G, alive, count, l1, l2)
            if value > dual:
                theta, dual = scale, value
            more = l2 > 0.0 and scale < 1.0
            scale = 1.0
        latest = dual > best
        if latest:
            best = dual
            for i in range(n):
                best_y[i] = y[i]
        gap = primal - best
        record[looks, 0], record[looks, 1] = passes, primal
        record[looks, 2], record[looks, 3] = best, gap
        looks += 1
        size = max(max(abs(primal), abs(best)), floor)
        if gap <= tol * size or not gap < math.inf or passes >= budget:
            break
        patience = PATIENT if cheap or flat is not None else UNTIL_PACE_COUNTS
        if looks > 1 and not sooner and gap > SLOW_LOOK * record[looks - 2, 3]:
            sharp *= SHARPER_SWEEPS  # such sweeps gain little: longer ones before the next look
        # there is time to wait for a pace that lasts, and with momentum one look tells little
        back = looks // 2 if cheap or fast else 1 + extra - judged
        early = flat is not None and fast and passes < UNJUDGED_SWEEPS * left
        judged = judged if sooner else extra  # an extra look says nothing of the pace
        counts = looks - extra > patience and not early and not sooner
        if counts and hopeless(record, looks, tol * size, left, back):
            break
        # columns that are zero at the optimum, by the gap of this very y; no more than n are not,
        # unless l2 counts, and where more pull those that pull most come first
        few_join = wide and pulling > n and l2 * d <= SMALL_SHARE * size_of_columns
        radius = math.sqrt(2.0 * max(primal - dual, 0.0) / gamma)
        kept, wanted, alive_entries, wanted_entries = 0, 0, 0, 0
        joins = l1 + (joining * (top - l1) if few_join else 0.0)
        joining *= NEXT_JOINING
        for k in range(count):
            j, length = alive[k], L.line_length(alive[k])
            if x[j] != 0.0 or theta * abs(G[j]) + math.sqrt(norms[j]) * radius >= l1:
                alive[kept] = j
                kept += 1
                alive_entries += length
                if x[j] != 0.0 or abs(G[j]) > joins:
                    ws[wanted] = j
                    wanted += 1
                    wanted_entries += length
        count = kept
        if not few_join and wanted_entries >= MOST_OF_THEM * alive_entries:
            # those that do not pull yet soon may, and a visit to one that stays is half of one
            for k in range(count):
                ws[k] = alive[k]
            wanted, wanted_entries = count, alive_entries
        # Pulls that are small beside the gap are no reason to go on: it grows with l1 by the
        # largest of them, and with l2 by their squares.
        slack = max(sharp * gap, NEARLY_THERE * tol * size)
        enough, enough_squares = l1 * slack / size, l2 * NEARLY_THERE * tol * size
        if gap <= WITHIN_SIGHT * tol * size:  # pulls have ended with this gap: so small will do
            enough = max(enough, ended * NEARLY_THERE * tol * size / gap)
        most = max(SWEEPS_A_LOOK * wanted_entries, 2 * alive_entries)
        most = FIRST_SWEEPS * wanted_entries if looks == 1 else most
        most *= 1 + looks // MANY_LOOKS
        most = min(most, (budget - passes) / per_entry)
        visited, settled, among, value, sooner = 0.0, False, wanted, primal, False
        for k in range(wanted):
            x_before[ws[k]] = x[ws[k]]
        for i in range(n):
            u_before[i] = u[i]
        levels[LEVEL_BEFORE] = levels[LEVEL_NOW]
        since = 0  # steps since all columns were visited
        slow_ones, last = 0, 1  # sweeps in a row, and how many the last step had
        due = math.inf  # what pulls of the next one are if sweeps are not slow
        while visited < most and not settled:
            everything = among == wanted
            for k in range(among):
                active[k] = ws[k] if everything else active[k]
            for k in range(among - 1, 0, -1):  # in a fixed order long columns can take ten times
                other = index(key, drawn + k, k + 1)
                active[k], active[other] = active[other], active[k]
            drawn += among
            sweeps, start, ahead = 1, value, entries_of(L, active, among)
            if flat is not None:
                largest, squares, gain, value, speed = flat_step(
                    L, active, among, ws, wanted, x, x_last, m, v_last, norms, sums, l1, l2, flat,
                    free, fast, speed, value,
                )  # fmt: skip
            else:
                largest, squares, value, speed, sweeps = curved_step(
                    L, active, among, ws, wanted, x, x_last, x_before, u, v_last, u_before, levels,
                    y, m, W, peaks, bends, sums, b, c, l1, l2, growth, loss, free, fast, speed,
                    value, (most - visited) / max(ahead, 1),
                )  # fmt: skip
                settled, gain = not value < math.inf, start - value
            ended = largest
            visited += sweeps * ahead
            if gain <= LITTLE_GAIN * tol * size and visited >= share * alive_entries:
                settled, share, sooner, extra = True, 2.0 * share, True, extra + 1
            slow_ones = slow_ones + last if squares > due else 0
            last, due = sweeps, squares
            for _ in range(sweeps):
                due *= SLOW_SWEEP
            if slow_ones >= SLOW_SWEEPS and not fast:
                fast = True
                for j in range(d):
                    x_last[j] = x[j]
                for i in range(n):
                    v_last[i] = u[i] if flat is None else m[i]
                levels[LEVEL_LAST] = levels[LEVEL_NOW]
            since = 0 if everything else since + 1
            if largest <= enough or squares <= enough_squares or since >= UNTIL_ALL_AGAIN:
                settled = settled or everything
                among = wanted
            elif everything:  # between whole sweeps, over what is not zero
                among = 0
                for k in range(wanted):
                    if x[ws[k]] != 0.0:
                        active[among] = ws[k]
                        among += 1
                settled = settled or among == 0
        swapped = speed > 0.0
        if swapped:  # most sweeps end lower than what momentum makes of them
            settle(ws, wanted, x, x_last, u if flat is None else m, v_last, True)
            settle_level(levels, True)
        passes += per_entry * visited
    passes += per_entry * margins_of(L, alive, count, x, u)  # without the rounding of all the moves
    if free >= 0 and flat is not None:
        x[free] = level(u, b) / L.at(free, 0)[1]
    elif free >= 0:
        x[free] = levels[LEVEL_NOW] / L.at(free, 0)[1]
        raised(u, levels[LEVEL_NOW])
    if latest and count == whole:
        for j in range(d):
            best_G[j] = G[j]
    else:  # the screened ones, too: a bound for all of the problem
        for i in range(n):
            m[i] = c[i] * best_y[i]
        for j in range(d):
            best_G[j] = line_dot(L, j, m)
        passes += 1.0
    return looks, passes
