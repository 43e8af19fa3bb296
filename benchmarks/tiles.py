"""What tiles give: seconds a pass, and seconds to a certified gap.

Table 1: a pass of SPD1-VR on tiles (entries read / entries stored = 1, steps and prox included)
against ``A @ x`` plus ``A.T @ y`` by single-threaded BLAS and by our own kernels.
Table 2: seconds and passes to a certified relative gap of 1e-6 and to a relative sub-optimality
of 1e-6, against svrg, saga and rows; all with automatic steps, evaluation not counted.
Table 3: shapes of tiles on one problem.

Real data are read from the folder in SPD1_DATA (LIBSVM files, bz2); what is missing is skipped.
Run: SPD1_DATA=/path/to/data python benchmarks/tiles.py [--tables 1,2,3]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import spd1
import spd1.datasets
from spd1.kernel.rng import key_of
from spd1.solvers.registry import build

COLUMNS = {
    "colon-cancer": 2000,
    "leukemia": 7129,
    "gisette-like": 5000,
    "rcv1-subset": 47_236,
    "20news-compsci": 44_120,
    "relathe": 4322,
}
WIDE = [
    ("colon-cancer", 1.0),
    ("leukemia", 1.0),
    ("synthetic-1000", 1e-3),
    ("synthetic-10000", 1e-3),
    ("rcv1-subset", 1e-3),
    ("20news-compsci", 1e-3),
    ("relathe", 1e-3),
]
LOSSES = ("logistic", "squared_hinge")
PEERS = ("svrg", "saga", "rows")
TOL = 1e-6


def load(name: str) -> tuple[Any, np.ndarray] | None:
    """Data as the paper scales them, or None if the file is not there."""
    if name.startswith("synthetic-"):
        return spd1.datasets.make_synthetic(1000, int(name.split("-")[1]))
    path = Path(os.environ.get("SPD1_DATA", "")) / f"{name}.svm.bz2"
    if not path.is_file():
        print(f"{name}: not found, skipped (set SPD1_DATA)")
        return None
    from sklearn.datasets import load_svmlight_file
    from sklearn.preprocessing import minmax_scale, normalize

    A, b = load_svmlight_file(str(path), n_features=COLUMNS[name])
    if name in ("colon-cancer", "leukemia"):
        A = A.toarray()
    elif name == "gisette-like":
        A = minmax_scale(A.toarray(), (-1, 1))
    elif name == "relathe":
        A = normalize(A)
    return A, b


def best(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        clock = time.perf_counter()
        run()
        times.append(time.perf_counter() - clock)
    return min(times)


def seconds_a_pass(problem: spd1.Problem, tile: Any, repeats: int) -> float:
    """Seconds an epoch over passes an epoch, away from the start and with the tuned steps."""
    tuned = spd1.solve(problem, "spd1-vr", tile=tile, tol=1e-12, max_passes=10)
    method = build("spd1-vr", problem, tile, "auto", key_of(0))
    method.steps = tuned.steps
    method.begin(tuned.x, tuned.y)
    list(method.epoch())  # the products of a tile's rows are computed once
    before = method.entries_read
    list(method.epoch())
    passes = (method.entries_read - before) / problem.stored
    return best(lambda: list(method.epoch()), repeats) / passes


def table_1(repeats: int) -> None:
    print("\n1. milliseconds a pass; in brackets over A @ x plus A.T @ y by BLAS")
    print("data              A@x + A.T@y   own kernels   tile auto       (16, 256)       one entry")
    for name, l2 in (("gisette-like", 1e-2), ("synthetic-1000", 1e-3), ("synthetic-10000", 1e-3)):
        data = load(name)
        if data is None:
            continue
        A, b = np.ascontiguousarray(data[0]), data[1]
        problem = spd1.Problem(A, b, "logistic", spd1.L2(l2))
        x, y = np.ones(problem.d), np.ones(problem.n)
        with threadpool_limits(1):
            blas = best(lambda A=A, x=x, y=y: (A @ x, A.T @ y), repeats)  # type: ignore[misc]
        own = best(
            lambda p=problem, x=x, y=y: (p.margins(x), p.adjoint(y)),  # type: ignore[misc]
            repeats,
        )
        shown = f"{name:17s}{1e3 * blas:10.2f} {1e3 * own:13.2f}   "
        for tile in ("auto", (16, 256), None):
            cost = seconds_a_pass(problem, tile, repeats if tile else 1)
            shown += f"{1e3 * cost:9.2f} ({cost / blas:.2f})"
        print(shown, flush=True)


def reached(result: spd1.Result, gap: float, optimum: float) -> tuple[float, float]:
    """Seconds and passes until the trace has both, or infinity."""
    trace = result.trace
    low = np.minimum.accumulate(trace.primal) - np.maximum.accumulate(trace.dual)
    fine = (low <= gap * abs(optimum)) & (
        np.minimum.accumulate(trace.primal) - optimum <= TOL * abs(optimum)
    )
    k = int(np.argmax(fine))
    return (trace.seconds[k], trace.passes[k]) if fine[k] else (np.inf, np.inf)


def table_2(repeats: int, limit: float) -> None:
    print(f"\n2. milliseconds (passes) to relative gap and sub-optimality {TOL:g}; d >= n")
    print("data              loss          " + "".join(f"{p:>18s}" for p in ("tiles", *PEERS)))
    for name, l2 in WIDE:
        data = load(name)
        for loss in LOSSES if data is not None else ():
            problem = spd1.Problem(*data, loss, spd1.L2(l2))
            fine = spd1.solve(problem, "spd1-vr", tile="auto", tol=1e-9, max_passes=2000)
            shown = f"{name:18s}{loss:14s}"
            for method in ("tiles", *PEERS):
                arguments: dict[str, Any] = {"tol": TOL, "max_passes": 1e6, "max_seconds": limit}
                if method == "tiles":
                    runs = [
                        spd1.solve(problem, "spd1-vr", tile="auto", **arguments)
                        for _ in range(repeats)
                    ]
                else:
                    runs = [spd1.solve(problem, method, **arguments)]
                    while runs[0].status == "converged" and len(runs) < repeats:
                        runs.append(spd1.solve(problem, method, **arguments))
                seconds, passes = min(reached(one, TOL, fine.dual) for one in runs)
                if np.isfinite(seconds):
                    shown += f"{1e3 * seconds:11.1f} ({passes:4.0f})"
                else:
                    shown += f"      gap {runs[0].rel_gap:.0e}  "
            print(shown, flush=True)


def table_3() -> None:
    print("\n3. shapes: relative gap of spd1-vr after 50 passes and its milliseconds a pass, and")
    print("   relative gap of spd1 after 0.2 s; logistic, Gaussian 1000 x 1000, l2 = 1e-3")
    A, b = spd1.datasets.make_synthetic(1000, 1000)
    problem = spd1.Problem(A, b, "logistic", spd1.L2(1e-3))
    for tile in (None, (4, 16), (8, 64), (64, 64), (8, 250), (1, 1000), (8, 1000), (32, 1000)):
        reduced = spd1.solve(problem, "spd1-vr", tile=tile, tol=1e-12, max_passes=50)
        plain = spd1.solve(problem, "spd1", tile=tile, tol=1e-12, max_passes=1e6, max_seconds=0.2)
        cost = 1e3 * reduced.seconds / reduced.passes
        shown = f"   {tile!s:12s}{reduced.rel_gap:10.1e}{cost:10.2f} ms"
        print(f"{shown}{plain.rel_gap:12.1e} ({plain.passes:.0f} passes)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds a run")
    parser.add_argument("--tables", default="1,2,3")
    options = parser.parse_args()
    tables = options.tables.split(",")
    if "1" in tables:
        table_1(options.repeats)
    if "2" in tables:
        table_2(options.repeats, options.limit)
    if "3" in tables:
        table_3()


if __name__ == "__main__":
    main()
