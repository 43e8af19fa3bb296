"""Certificates against the truth in 60 digits: what they promise, tried on hostile problems."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from spd1 import certify, solve
from spd1.certificate.points import TINY
from spd1.certificate.tuning import HELD, UNIT

from .descent import good_points
from .exact import Exact, digits, exact
from .hostile import Hostile, hostile

__all__ = ["Flag", "attack", "checked"]

MORE = Decimal("1.01")


class Flag(NamedTuple):
    """A promise that was broken."""

    seed: int
    check: str
    point: str
    excess: float  # by how much, in bounds of rounding
    what: str


def attack(seed: int, passes: float = 200) -> tuple[list[Flag], int]:
    """The flags of a seed's problem, and how many points were certified."""
    with digits():
        return _attack(hostile(seed), seed, passes)


def _attack(case: Hostile, seed: int, passes: float) -> tuple[list[Flag], int]:
    problem, truth = case.problem, Exact(case.A, case.problem)
    rng = np.random.default_rng([7, seed])
    tol = 10.0 ** -rng.uniform(3, 10)
    flags: list[Flag] = []
    claims: list[tuple[str, Any, Any]] = []
    starts = [exact(problem.reg.minimiser(problem.d))]
    x, y = problem.reg.minimiser(problem.d), np.zeros(problem.n)
    try:
        found = solve(problem, tol=tol, max_passes=passes, max_seconds=2.0)
    except (ValueError, ArithmeticError, RuntimeWarning):
        pass  # a run may fail; what is promised is that none claims too much
    else:
        x, y = found.x, found.y
        claims.append(("solve", x, found))
        starts.append(exact(x))
        if found.converged and not found.rel_gap <= tol:
            flags.append(Flag(seed, "e", "solve", math.inf, f"{found.rel_gap} > {tol}"))
    good = good_points(truth, starts, passes)
    for name, point, dual in _points(rng, case, x, y, good):
        claims.append((name, point, certify(point, problem, dual)))
    for name, point, claim in claims:
        for check, excess, what in checked(truth, point, claim, good, name):
            flags.append(Flag(seed, check, name, excess, what))
    return flags, len(claims)


def _points(rng: Any, case: Hostile, x: Any, y: Any, good: list[Any]) -> Any:
    """Points to certify, each with a dual point or None."""
    p = case.problem
    low, high = np.broadcast_to(p.reg.lower, (p.d,)), np.broadcast_to(p.reg.upper, (p.d,))
    sizes = np.sqrt(p.column_norms_squared)
    units = np.where((sizes > 0) & (sizes < np.inf), 1.0 / np.where(sizes > 0, sizes, 1.0), 1.0)

    def inside(t: Any) -> Any:
        return np.clip(t, low, high)

    noise = rng.standard_normal(p.d)
    yield "zero", inside(np.zeros(p.d)), None
    yield "random", inside(noise * units * 10.0 ** rng.uniform(-3, 3)), None
    yield "random, y", inside(noise * units), _random_dual(rng, case)
    yield "answer", x, None
    yield "answer, y", x, y
    near = x * (1.0 + noise * 10.0 ** -rng.uniform(1, 15))
    yield "near answer, y", inside(near), y
    if good:
        with np.errstate(all="ignore"):
            best = np.clip(good[0][1].astype(float), -1e300, 1e300)
        yield "best", inside(best), None
        yield "best, y", inside(best), y
    extreme = 10.0 ** float(rng.choice([-150, -20, 8, 20, 150]))
    yield "extreme", inside(noise * np.minimum(units, 1e150) * extreme), y


def _random_dual(rng: Any, case: Hostile) -> Any:
    p = case.problem
    ends = np.array([p.loss.domain(b) for b in p.b.tolist()])
    size = max(1.0, float(np.abs(p.b).max())) * 10.0 ** rng.uniform(-3, 1)
    low, high = np.clip(ends, -size, size).T
    return low + rng.random(p.n) * (high - low)


def checked(truth: Exact, x: Any, claim: Any, good: list[Any], name: str = "") -> Any:
    """What is wrong with a certificate of x: (check, excess in bounds, words)."""
    primal, dual, gap, rel_gap = claim.primal, claim.dual, claim.gap, claim.rel_gap
    if any(math.isnan(t) for t in (primal, dual, gap, rel_gap, claim.floor, claim.reach)):
        yield "d", math.inf, "not a number"
        return
    if gap < 0.0 or np.any(np.isnan(claim.y)):
        yield "d", math.inf, f"gap {gap}, y {claim.y}"
    expected = gap / max(abs(primal), abs(dual), claim.floor, TINY) if gap < math.inf else gap
    if not abs(rel_gap - expected) <= 4 * UNIT * expected and rel_gap != expected:
        yield "d", math.inf, f"rel_gap {rel_gap}, not {expected}"
    x = exact(x)
    value, bound = truth.primal(x), truth.bound(x, claim.y)
    if primal < math.inf and not abs(exact(primal) - value) <= bound:
        yield "c", _excess(abs(exact(primal) - value), bound), f"primal {primal}, not {value:.17}"
    if gap == math.inf:
        return
    short = exact(primal) - exact(dual) - exact(gap)
    if (
        truth.flat or name == "solve"
    ):  # each is the worst of a vicinity of dual points, not at the same one
        short -= exact(HELD) * (abs(exact(primal)) + abs(exact(dual)))
    if not short <= bound:
        yield "c", _excess(short, bound), f"gap {gap}, primal - dual {primal - dual}"
    for other_value in _rivals(truth, x, claim.reach, good):
        short = value - other_value - exact(gap)
        if not short <= bound:
            what = f"gap {gap}, but {float(value - other_value)} is to gain"
            yield "a", _excess(short, bound), f"{what}, reach {claim.reach}, bound {float(bound)}"
        over = exact(dual) - other_value
        if not over <= bound:
            what = f"dual {dual}, but a point has {float(other_value)}"
            yield "b", _excess(over, bound), f"{what}, reach {claim.reach}, bound {float(bound)}"
    if not truth.flat:
        known = truth.dual(claim.y)
        off = exact(dual) - known
        if name != "solve":  # a run takes what rounding may have done from its bound
            off = abs(off)
        if not off <= bound:
            excess = _excess(off, bound) if off.is_finite() else math.inf
            yield "f", excess, f"dual {dual}, not {known:.17}"


def _rivals(truth: Exact, x: Any, reach: float, good: list[Any]) -> Any:
    """P at the best point that counts against a certificate, and on the way to better ones."""
    if reach == math.inf:
        yield from (value for value, _ in good[:1])
        return
    for value, other in good:
        if truth.within(other, reach):
            yield value
            break
    if good and truth.within(x, reach):
        share, limit = Decimal(1), exact(reach)
        for j in truth.free:
            step = abs(good[0][1][j] - x[j]) * truth.largest[j]
            if step:
                share = min(share, (limit - abs(x[j]) * truth.largest[j]) / (step * MORE))
        point = x + share * (good[0][1] - x)
        if share > 0 and truth.within(point, reach):
            yield truth.primal(point)


def _excess(short: Decimal, bound: Decimal) -> float:
    return float(short / bound) if bound > 0 else math.inf


def run(seeds: Any, passes: float = 200) -> tuple[list[Flag], int]:
    """The flags of many seeds; warnings are errors, as in the tests."""
    flags, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in seeds:
            found, points = attack(seed, passes)
            flags += found
            count += points
    return flags, count
