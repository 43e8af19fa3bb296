"""Where the time of small fits goes: checks of the data, Python, the kernel; its passes and looks.

    python benchmarks/small_fits.py --seeds 0-59 --most 1.5e5          problems of random_race.py
    python benchmarks/small_fits.py --seeds 0-59 --tol 1e-3 --only l2-

Microseconds of processor time, the shortest of many fits. "checked" is ``Problem(...)``, "kernel"
what whole solves in one kernel (docs/laboratory/engine.md) take, "rest" all else of ``solve``.
Fits that other methods take, or finish, have their name instead.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

from race import one_thread
from race_problems import Instance
from random_race import Seed, instance_of, numbers, stored_in

REPEATS, SECONDS = 200, 0.3  # at most


def shortest(work: Callable[[], Any]) -> float:
    """Microseconds."""
    best, spent = math.inf, 0.0
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds = time.process_time() - start
        best, spent = min(best, seconds), spent + seconds
        if spent > SECONDS:
            break
    return 1e6 * best


def line_of(one: Instance, tol: float) -> str:
    """A row of the table."""
    import spd1
    from spd1.solvers.sprint.workers import AscentWorker, DescentWorker, NewtonCGWorker

    A, inside = one.columns if one.l1 > 0 else one.A, [0.0]

    def problem() -> Any:
        return spd1.Problem(A, one.b, one.loss, spd1.ElasticNet(one.l1, one.l2))

    def fit() -> Any:
        return spd1.solve(problem(), tol=tol)

    result = fit()
    total, checked = shortest(fit), shortest(problem)
    if "in one kernel" not in result.method:
        return f"{total:9.0f} {checked:8.0f} {result.method}"
    kinds = {"ascent": AscentWorker, "descent": DescentWorker, "newton": NewtonCGWorker}
    kernel: Any = next(kinds[name] for name in kinds if name in result.method)
    call = kernel.run

    def clocked(self: Any, *arguments: Any) -> Any:
        start = time.process_time()
        found = call(self, *arguments)
        inside[0] += time.process_time() - start
        return found

    def kernel_alone() -> float:
        inside[0] = 0.0
        fit()
        return inside[0]

    kernel.run = clocked  # type: ignore[method-assign]
    try:
        in_kernel = 1e6 * min(kernel_alone() for _ in range(50))
    finally:
        kernel.run = call  # type: ignore[method-assign]
    rest = total - checked - in_kernel
    looks = len(result.trace)
    return (
        f"{total:9.0f} {checked:8.0f} {in_kernel:8.0f} {rest:8.0f} {result.passes:8.1f} {looks:6d} "
        f"{1e3 * in_kernel / max(result.passes, 1.0) / stored_in(one):6.2f}"
    )


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", default="0-59", help="such as 0-59 or 3,7,12-14 (default 0-59)")
    add("--most", type=float, default=1.5e5, help="skip problems with more stored entries")
    add("--tol", type=float, default=1e-6, help="relative gap (default 1e-6)")
    add("--only", default="l2-", help="beginning of the kind of problem (default l2-)")
    options = parser.parse_args()
    print(f"{'':62s}    total  checked   kernel     rest   passes  looks ns/entry")
    for number in numbers(options.seeds):
        seed = Seed(number)
        if not seed.name.startswith(options.only):
            continue
        one = instance_of(seed)
        if stored_in(one) <= options.most:
            kind = "sparse" if one.sparse else "dense"
            name = f"{seed.name} {kind} {one.n} x {one.d}, {stored_in(one)} stored"
            print(f"{name:62s}{line_of(one, options.tol)}", flush=True)


if __name__ == "__main__":
    main()
