"""Regret of ``auto``: its time over the best of our own methods, on the problems of random_race.py.

    python benchmarks/regret.py --seeds 0-59                  every problem, then percentiles
    python benchmarks/regret.py --seeds 0-59 --most 1.5e5     those of at most so many entries
    python benchmarks/regret.py --seeds 0-59 --tols 1e-3,1e-9
    python benchmarks/regret.py --seeds 0-59 --loss huber     elastic nets with that loss and no l1

Whole fits, data validated inside the clock, in the layout that race.py hands over. Processor time,
methods in turns, the shortest of several: other processes on the machine matter little. A method
that takes three times as long as the best in its first run is not run again.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import replace
from typing import Any

import numpy as np

from race import one_thread
from race_problems import Instance
from random_race import Seed, instance_of, numbers, stored_in

METHODS = (
    "ascent",
    "descent",
    "newton-cg",
    "newton-gram",
    "rows",
    "columns",
    "newton",
    "multipliers",
    "few-rows",
    "learnt",
    "interior",
)
TOLS = "1e-3,1e-6"
MOST_SECONDS = 5.0  # of a run
MOST_ROUNDS, SECONDS_OF_ROUNDS = 15, 1.0
FAR_BEHIND = 3.0  # times the best
LIMITS = (1.15, 1.5)
MOST_GRAM_COLUMNS = 1500  # of newton-gram, whose matrix has as many rows


def run_once(one: Instance, method: str, tol: float, limit: float) -> tuple[float, Any]:
    """Processor seconds of a fit and its result; None if the method does not take the problem."""
    import spd1
    from spd1.errors import IncompatibleError

    if method == "newton-gram" and one.d > MOST_GRAM_COLUMNS:
        return math.inf, None
    A = one.columns if one.l1 > 0 else one.A
    start = time.process_time()
    try:
        problem = spd1.Problem(A, one.b, one.loss, spd1.ElasticNet(one.l1, one.l2))
        result = spd1.solve(problem, method, tol=tol, max_seconds=limit)
    except IncompatibleError:
        return math.inf, None
    return time.process_time() - start, result


def times_of(one: Instance, tol: float) -> tuple[dict[str, float], str]:
    """Best seconds of auto and of each method that comes to its end, and what auto says it did."""
    found: dict[str, float] = {}
    said = ""
    for method in ("auto", *METHODS):
        limit = min(MOST_SECONDS, 0.05 + 20.0 * min(found.values(), default=math.inf))
        seconds = math.inf
        for _ in range(2):  # the first compiles, or loads what was compiled
            seconds, result = run_once(one, method, tol, limit)
            if result is None or result.status != "converged":
                seconds = math.inf
                break
        if method == "auto":
            said = "" if result is None else result.method
        if method == "auto" or seconds < math.inf:
            found[method] = seconds
    best, spent = min(found.values()), 0.0
    close = [method for method, seconds in found.items() if seconds <= FAR_BEHIND * best]
    close = sorted({*close, "auto"}) if found["auto"] < math.inf else close
    for _ in range(MOST_ROUNDS):
        for method in close:
            seconds, _ = run_once(one, method, tol, MOST_SECONDS)
            found[method] = min(found[method], seconds)
            spent += seconds
        if spent > SECONDS_OF_ROUNDS:
            break
    return found, said


def summary(tol: float, values: list[float]) -> str:
    """Percentiles of the regrets, and how many are above the limits."""
    above = ", ".join(
        f"above {limit:g} in {100 * sum(value > limit for value in values) / len(values):.0f} %"
        for limit in LIMITS
    )
    ninth = float(np.quantile(values, 0.9))
    return (
        f"tol {tol:.0e}, {len(values)} problems: median {statistics.median(values):.2f}, "
        f"90 % below {ninth:.2f}, worst {max(values):.2f}, {above}"
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", default="0-59", help="such as 0-59 or 3,7,12-14 (default 0-59)")
    add("--most", type=float, default=math.inf, help="skip problems with more stored entries")
    add("--least", type=float, default=0, help="skip problems with fewer stored entries")
    add("--tols", default=TOLS, help=f"relative gaps, with commas (default {TOLS})")
    add("--loss", default="", help="take elastic nets, without their l1, with this loss instead")
    add("--only", default="", help="beginning of the kind of problem, such as l2-hinge")
    return parser.parse_args()


def main() -> None:
    one_thread()
    options = arguments()
    tols = [float(tol) for tol in options.tols.split(",")]
    regrets: dict[float, list[float]] = {tol: [] for tol in tols}
    for number in numbers(options.seeds):
        seed = Seed(number)
        if not seed.name.startswith("elastic-net" if options.loss else options.only):
            continue
        one = instance_of(seed)
        if options.loss:
            one = replace(one, loss=options.loss, l1=0.0)
        if not options.least <= stored_in(one) <= options.most:
            continue
        kind = "sparse" if one.sparse else "dense"
        print(f"{seed.name}: {kind} {one.n} x {one.d}, {stored_in(one)} stored", flush=True)
        for tol in tols:
            times, said = times_of(one, tol)
            best = min(times, key=lambda name: times[name])
            ratio = times["auto"] / times[best] if times[best] < math.inf else 1.0
            regrets[tol].append(ratio)
            shown = "  ".join(f"{name} {1e3 * s:.2f}" for name, s in times.items())
            print(f"  {tol:.0e} {ratio:5.2f} {best:11s} {shown}  [{said[6:40]}]", flush=True)
    for tol, values in regrets.items():
        if values:
            print(summary(tol, values))


if __name__ == "__main__":
    main()
