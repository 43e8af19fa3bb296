"""The step sizes tried: one rule and the same number of tries for every method.

A try is a point. Its coordinates are powers of two, and a rung of a ladder for the decay:

* PSGD, SVRG, SAGA: eta = u 2^size, u = gamma / mean |a_i|^2;
* SPD1, SPD1-VR: eta = eta0 2^(size - tilt), tau = tau0 2^(size + tilt), (eta0, tau0) being the
  balanced pair that would turn the saddle point by two radians a pass if |A| were r + r', the
  root mean squares of row and of column norms: what it is for entries without structure. (One
  strong direction makes |A| many times larger, and steps that follow |A| too small for all others.)
* PSGD, SPD1: after epoch k the steps are divided by 1 + decay k, decay being 0, 0.1, 0.3, 1, 3 or
  10 (rungs 0 to 5).

Coarse: 6 tries, neighbours a factor 4 (or two rungs) apart.

=========  =============================================================
SVRG SAGA  size -6, -4, -2, 0, 2, 4
PSGD       size -2, 0, 2 with rung 0, 2
SPD1-VR    size -1, 1, 3 with tilt -2, 0
SPD1       size -4, -2 with rung 0, size 0 with rung 2, each with tilt 0, 2
=========  =============================================================

Fine: 6 more tries, one after the other, at neighbours of the best point so far, now a factor 2 (or
one rung) apart, in the order size up, size down, tilt up, tilt down, rung up, rung down; known
points are not tried again. A better point takes the place of the best one, and the search goes on
in its direction, twice as far with each success in a row (at most a factor 256), beyond the coarse
points if it leads there; then with the coordinate that comes next. When all neighbours are known,
their distance is halved.

A try runs as many passes as are shown. Best is the lowest objective at their end; a run that
diverged is worst. The best point is *at the edge* if in some coordinate nothing was tried beyond
it, below or above, that is near it in the others: within a factor 2, or a rung. (There is nothing
beyond the ends of the ladder.)

More: while a method of the panel has its best point at the edge, *every* tuned method of the panel
gets one more try, at the next point of its own fine search; so all have the same number of tries.
This ends after 24 tries; who is at the edge even then is marked. (A quick run has the coarse tries
only, and marks.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator
from itertools import product

from ..problem import Problem
from ..solvers.base import saddle_steps, spectral_norm

__all__ = ["COARSE", "COORDINATES", "at_edge", "best_point", "fine", "steps_at", "units"]

Point = tuple[float, ...]

FARTHEST = 8.0  # that a search goes at once: a factor 256
DECAYS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
COORDINATES = {
    "psgd": ("size", "rung"),
    "spd1": ("size", "tilt", "rung"),
    "svrg": ("size",),
    "saga": ("size",),
    "spd1-vr": ("size", "tilt"),
}
COARSE: dict[str, tuple[Point, ...]] = {
    "psgd": tuple(product((-2.0, 0.0, 2.0), (0.0, 2.0))),
    "spd1": tuple(
        (size, tilt, rung)
        for (size, rung), tilt in product(((-4.0, 0.0), (-2.0, 0.0), (0.0, 2.0)), (0.0, 2.0))
    ),
    "svrg": tuple(product((-6.0, -4.0, -2.0, 0.0, 2.0, 4.0))),
    "saga": tuple(product((-6.0, -4.0, -2.0, 0.0, 2.0, 4.0))),
    "spd1-vr": tuple(product((-1.0, 1.0, 3.0), (-2.0, 0.0))),
}


def units(problem: Problem) -> dict[str, float]:
    """What the steps of a problem are measured in.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(np.eye(4), [1, -1, 1, -1], "logistic", spd1.L2(0.1))
    >>> units(problem)["row"]
    4.0
    """
    rows, columns = problem.row_norms_squared.mean(), problem.column_norms_squared.mean()
    larger = spectral_norm(problem) / (math.sqrt(rows) + math.sqrt(columns))
    pair = {name: larger * step for name, step in saddle_steps(problem).items()}
    return {"row": problem.gamma / float(rows), **pair}


def steps_at(method: str, point: Point, unit: dict[str, float]) -> dict[str, float]:
    """The steps of a point.

    Examples
    --------
    >>> steps_at("psgd", (1.0, 2.0), {"row": 4.0})
    {'eta': 8.0, 'decay': 0.3}
    >>> steps_at("spd1-vr", (1.0, -1.0), {"eta": 1.0, "tau": 0.5})
    {'eta': 4.0, 'tau': 0.5}
    """
    at = dict(zip(COORDINATES[method], point, strict=True))
    if "tilt" in at:
        steps = {
            "eta": unit["eta"] * 2.0 ** (at["size"] - at["tilt"]),
            "tau": unit["tau"] * 2.0 ** (at["size"] + at["tilt"]),
        }
    else:
        steps = {"eta": unit["row"] * 2.0 ** at["size"]}
    decay = DECAYS[int(at.get("rung", 0.0))]
    return steps | {"decay": decay} if decay else steps


def best_point(found: dict[Point, float]) -> Point:
    """The point with the lowest objective, the first of several."""
    return min(found, key=lambda point: found[point])


def fine(method: str, found: dict[Point, float]) -> Generator[Point, float, None]:
    """Points to try after the coarse ones: send the objective that each of them led to.

    Examples
    --------
    >>> value = lambda point: abs(point[0] - 7.2)  # beyond the coarse points
    >>> search = fine("svrg", {point: value(point) for point in COARSE["svrg"]})
    >>> point, shown = next(search), []
    >>> for _ in range(6):
    ...     shown.append(point[0])
    ...     point = search.send(value(point))
    >>> shown
    [5.0, 7.0, 11.0, 8.0, 6.0, 7.5]
    """
    found = dict(found)
    best, distance, ahead = best_point(found), 1.0, None
    turn = 0  # the coordinate that comes first
    while True:
        for place, move in _moves(method, distance, turn, ahead):
            point = tuple(a + b for a, b in zip(best, move, strict=True))
            if point in found or not _exists(method, point):
                continue
            found[point] = yield point
            if found[point] < found[best]:
                stride = min(2.0, FARTHEST / max(map(abs, move)))
                best, turn, ahead = point, place + 1, tuple(stride * change for change in move)
                break
        else:
            distance *= 0.5
            ahead = None


def _moves(
    method: str, distance: float, turn: int, ahead: Point | None
) -> Iterator[tuple[int, Point]]:
    """Coordinate and move: twice the last success, then up and down in each coordinate."""
    names = COORDINATES[method]
    if ahead is not None:
        yield turn - 1, ahead
    for place in (k % len(names) for k in range(turn, turn + len(names))):
        size = 1.0 if names[place] == "rung" else distance
        for change in (size, -size):
            yield place, tuple(change if k == place else 0.0 for k in range(len(names)))


def _exists(method: str, point: Point) -> bool:
    at = dict(zip(COORDINATES[method], point, strict=True))
    return 0.0 <= at.get("rung", 0.0) < len(DECAYS)


def at_edge(method: str, point: Point, tried: Collection[Point]) -> bool:
    """Whether on some side of the point nothing was tried beyond it and near it otherwise.

    Examples
    --------
    >>> [at_edge("saga", (size,), [(1.0,), (2.0,), (4.0,)]) for size in (1.0, 2.0, 4.0)]
    [True, False, True]
    >>> at_edge("psgd", (1.0, 0.0), [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (1.0, 1.0)])
    False
    """
    for place, (name, value) in enumerate(zip(COORDINATES[method], point, strict=True)):
        line = [other[place] for other in tried if _near(other, point, place)]
        low, high = min(line, default=value), max(line, default=value)
        if name == "rung":  # the ladder has ends
            low = -1.0 if value == 0.0 else low
            high = len(DECAYS) if value == len(DECAYS) - 1.0 else high
        if not low < value < high:
            return True
    return False


def _near(other: Point, point: Point, place: int) -> bool:
    """Whether two points differ by at most 1 in each coordinate but that at ``place``."""
    pairs = enumerate(zip(other, point, strict=True))
    return all(abs(a - b) <= 1.0 for k, (a, b) in pairs if k != place)
