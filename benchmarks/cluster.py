"""Time, rounds and bytes of a cluster on this machine, beside one process.

    python benchmarks/cluster.py                                  small data: some minutes
    python benchmarks/cluster.py --gigabytes 4 --columns 5000     made on the workers, never here
    python benchmarks/cluster.py --data gisette-like --folder FOLDER
    python benchmarks/cluster.py --data 20news-compsci --folder FOLDER --grids 2x1,1x2,2x2
    python benchmarks/cluster.py --peers                          dask-ml, where it is installed

Every way runs once to compile and is then timed; the fastest of ``--repeats`` counts. "rounds" are
waits for the cluster, "moved" all bytes of arrays that travelled, "least" those of x and y once
in a pass: 8 (n + d). Wall-clock time on a machine that others use is noisy.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

import spd1
from spd1.cluster import placed
from spd1.data.chunked import sizes
from spd1.io import read_data

PROBLEMS = {
    "logistic": ("logistic", 0.0, 1e-3),
    "squared_hinge": ("squared_hinge", 0.0, 1e-3),
    "hinge": ("hinge", 0.0, 1e-3),
    "lasso": ("squared", 0.1, 0.0),
}


def block(_: np.ndarray, columns: int, block_info: Any = None) -> np.ndarray:
    """A chunk of normal entries, the same whoever makes it."""
    place = block_info[None]["chunk-location"]
    shape = block_info[None]["chunk-shape"]
    return np.random.default_rng((7, *place)).standard_normal(shape)


def synthetic(gigabytes: float, columns: int, grid: tuple[int, int]) -> tuple[Any, np.ndarray]:
    """Dense data that only workers hold, and labels that half follow from it."""
    n = max(int(gigabytes * 2**30 / 8 / columns), 100)
    chunks = sizes(n, grid[0]), sizes(columns, grid[1])
    X = da.map_blocks(block, da.zeros((n, columns), chunks=chunks), columns, dtype=float)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(columns)
    return X, (X @ x, math.sqrt(columns) * rng.standard_normal(n))


def from_file(folder: Path, name: str, grid: tuple[int, int]) -> tuple[Any, np.ndarray]:
    data = read_data(folder / f"{name}.svm.bz2")
    A = data.A.toarray() if data.A.nnz > 0.3 * np.prod(data.A.shape) else sp.csr_array(data.A)
    labels = np.where(data.b == np.unique(data.b)[-1], 1.0, -1.0)
    chunks = sizes(A.shape[0], grid[0]), sizes(A.shape[1], grid[1])
    if isinstance(A, np.ndarray):
        return da.from_array(A, chunks=chunks), labels
    rows, parts = np.cumsum([0, *chunks[0]]), np.cumsum([0, *chunks[1]])
    blocks = [
        [
            da.from_array(A[a:b, c:e], chunks=(b - a, e - c), asarray=False)
            for c, e in pairwise(parts)
        ]
        for a, b in pairwise(rows)
    ]
    return da.block(blocks), labels


def regularizer(name: str, problem: Any) -> Any:
    _, share, l2 = PROBLEMS[name]
    l1 = share * float(np.abs(problem.pull_at_zero).max())
    return spd1.ElasticNet(l1=l1, l2=l2)


def best_of(repeats: int, run: Any) -> tuple[float, Any]:
    """Seconds of the fastest run, and its result; a first one compiles."""
    run()
    found = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = run()
        found.append((time.perf_counter() - began, result))
    return min(found, key=lambda pair: pair[0])


def one_process(A: Any, b: np.ndarray, name: str, args: Any) -> None:
    problem = spd1.Problem(A, b, PROBLEMS[name][0])
    problem = problem.with_regularizer(regularizer(name, problem))
    for tol in args.tols:
        seconds, result = best_of(args.repeats, lambda tol=tol: spd1.solve(problem, tol=tol))
        say(name, "one process", tol, seconds, result)


def on_cluster(client: Any, X: Any, b: np.ndarray, name: str, grid: str, args: Any) -> None:
    problem = spd1.Problem(X, b, PROBLEMS[name][0])
    with placed(problem, client) as here:
        here = here.with_regularizer(regularizer(name, here))
        traffic = here.grid.team.traffic
        for method in args.methods.split(","):
            for tol in args.tols:
                before: list[Any] = []

                def run(method=method, tol=tol, before=before):
                    before[:] = [traffic.rounds, traffic.sent + traffic.received]
                    return spd1.solve(
                        here, method, tol=tol, engine="dask", client=client,
                        max_seconds=args.max_seconds,
                    )  # fmt: skip

                seconds, result = best_of(args.repeats, run)
                rounds = traffic.rounds - before[0]
                moved = traffic.sent + traffic.received - before[1]
                way = f"dask {grid} {method}"
                say(name, way, tol, seconds, result, rounds, moved, 8 * (here.n + here.d))


def dask_ml(X: Any, b: np.ndarray, args: Any) -> None:
    """Their own stopping rule: how near they come is measured by ours."""
    try:
        from dask_ml.linear_model import LogisticRegression
    except ImportError as error:
        print(f"dask-ml is left out: {error}")
        return
    X = X.rechunk((X.chunks[0], -1))
    y = da.from_array((b > 0).astype(int), chunks=X.chunks[0])
    _, _, l2 = PROBLEMS["logistic"]
    problem = spd1.Problem(X, b, "logistic", spd1.L2(l2))
    for solver in ("lbfgs", "admm"):
        model = LogisticRegression(
            solver=solver, C=1.0 / (l2 * len(b)), fit_intercept=False, max_iter=200, tol=1e-8
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        gap = spd1.certify(np.ravel(model.coef_), problem).rel_gap
        print(f"{'logistic':14s} dask-ml {solver:17s} {seconds:8.2f} s  ends at {gap:.1e}")


def say(name: str, way: str, tol: float, seconds: float, result: Any, rounds: float = 0,
        moved: float = 0, least: float = 0) -> None:  # fmt: skip
    text = f"{name:14s} {way:24s} {tol:7.0e} {seconds:8.2f} s {result.passes:8.1f} passes"
    if rounds:
        passes = max(result.passes, 1e-9)
        text += f" {rounds:6d} rounds {moved / 2**20:9.1f} MB moved, {moved / passes / least:6.1f}"
        text += " times the least a pass"
    ended = "" if result.converged else f"  {result.status} at {result.rel_gap:.1e}"
    print(text + ended + f"  [{result.method}]", flush=True)


def parse() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.05)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--data", default="")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--grids", default="2x1")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--methods", default="auto,rows")
    parser.add_argument("--problems", default="logistic,squared_hinge,hinge,lasso")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--max-seconds", type=float, default=120.0)
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--no-single", action="store_true", help="leave one process out")
    return parser.parse_args()


def main() -> None:
    args = parse()
    with (
        LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        for number, grid in enumerate(args.grids.split(",")):
            cut = tuple(int(size) for size in grid.split("x"))
            if args.data:
                X, b = from_file(args.folder, args.data, cut)
            else:
                X, (margins, noise) = synthetic(args.gigabytes, args.columns, cut)
                b = np.where(margins.compute() + noise > 0, 1.0, -1.0)
            print(f"{X.shape[0]} x {X.shape[1]}, {args.workers} workers, grid {grid}", flush=True)
            A = None if args.no_single or number else X.compute()
            for name in args.problems.split(","):
                if A is not None:
                    one_process(A, b, name, args)
                on_cluster(client, X, b, name, grid, args)
            if args.peers:
                dask_ml(X, b, args)


if __name__ == "__main__":
    main()
