"""Nanoseconds a step of SPD1 and SPD1-VR, and the same in units of one ``A @ x`` pass.

The paper's claim is O(1): flat in d while the data fits the cache. Its Julia code took about 97 ns
(SPD1) and 105 ns (SPD1-VR) a step on 62 x 2000. Best of repeats, one thread, compilation apart.
Run: python benchmarks/iteration_cost.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import spd1
import spd1.datasets
from spd1.control.steps import Proposal
from spd1.kernel.rng import key_of
from spd1.solvers import method_class

SHAPES = [(62, 2000, 1.0), (1000, 100, 1e-3), (1000, 1000, 1e-3), (1000, 10_000, 1e-3)]
STEPS = 1_000_000


def best(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        clock = time.perf_counter()
        run()
        times.append(time.perf_counter() - clock)
    return min(times)


def step_cost(problem: spd1.Problem, name: str, repeats: int) -> float:
    """Seconds a step, with the steps and at the point that two epochs of automatic tuning reach."""
    tuned = spd1.solve(problem, name, tol=1e-12, callback=lambda row: row.paper_passes >= 2)
    method: Any = method_class(name)(problem, "auto", key_of(0))
    method.adopt(Proposal(tuned.steps))
    method.begin(tuned.x, tuned.y)
    list(method.epoch())
    return best(lambda: method.steps_on(problem.A, method.t, STEPS), repeats) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print("     n x d      loss           A @ x ns/entry   SPD1 ns  (A@x)   SPD1-VR ns  (A@x)")
    for n, d, l2 in SHAPES:
        A, b = spd1.datasets.make_synthetic(n, d)
        x = np.ones(d)
        with threadpool_limits(1):
            a_pass = best(lambda A=A, x=x: A @ x, 20) / (n * d)  # type: ignore[misc]
        for loss in ("logistic", "squared_hinge"):
            problem = spd1.Problem(A, b, loss, spd1.L2(l2))
            costs = [step_cost(problem, name, options.repeats) for name in ("spd1", "spd1-vr")]
            shown = "".join(f"{1e9 * c:12.1f}{c / a_pass:8.0f}" for c in costs)
            print(f"{n:6d} x {d:<6d} {loss:14s}{1e9 * a_pass:12.3f}{shown}", flush=True)


if __name__ == "__main__":
    main()
