"""Time, rounds and bytes of a cluster on this machine, beside one process.

    python benchmarks/cluster.py                                  small data: some minutes
    python benchmarks/cluster.py --gigabytes 4 --columns 5000 --once
    python benchmarks/cluster.py --data gisette-like --folder FOLDER
    python benchmarks/cluster.py --data 20news-compsci --folder FOLDER --grids 2x1,1x2,2x2
    python benchmarks/cluster.py --methods newton,rows,ascent     ways to do it, beside each other
    python benchmarks/cluster.py --peers lbfgs,admm               dask-ml, where it is installed
    python benchmarks/cluster.py --rounds                         what each round took

gisette-like is scaled to [-1, 1], as LIBSVM does it: dense, 240 MB. Synthetic data is normal; its
chunks are made on the workers. One process makes the same for itself, and has let go of it when the
cluster starts. Every way runs once to compile and is then timed, unless ``--once``; the fastest of
``--repeats`` counts. "rounds" are waits for the cluster, "moved" all bytes of arrays that
travelled, "least" those of x and y once in a pass: 8 (n + d). "plain newton" is Newton's method
without its preconditioner, "plain ascent" has no momentum. Wall-clock time on a
machine that others use is noisy.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

import spd1
from race_problems import unit_range
from spd1.cluster import placed, tuning
from spd1.data.chunked import sizes
from spd1.io import read_data
from spd1.solvers.newton import smooth
from spd1.solvers.newton.tuning import MANY_PRODUCTS
from spd1.solvers.sprint import cut
from spd1.solvers.sprint.tuning import SLOW_START

PROBLEMS = {  # loss, l1 as a share of the smallest that leaves all at zero, whether l2
    "logistic": ("logistic", 0.0, True),
    "squared_hinge": ("squared_hinge", 0.0, True),
    "hinge": ("hinge", 0.0, True),
    "lasso": ("squared", 0.1, False),
}
L2S = {"gisette-like": 1e-2, "20news-compsci": 1e-4}  # else 1e-3
PATIENCE = {  # others may stop this machine's processes for minutes
    "distributed.scheduler.worker-ttl": "1 hour",
    "distributed.comm.timeouts.tcp": "600s",
    "distributed.comm.timeouts.connect": "600s",
}


def normal(place: Any, shape: Any) -> np.ndarray:
    """A chunk of normal entries, the same whoever makes it."""
    return np.random.default_rng((7, *place)).standard_normal(shape)


def block(_: np.ndarray, block_info: Any = None) -> np.ndarray:
    return normal(block_info[None]["chunk-location"], block_info[None]["chunk-shape"])


class Data:
    """Where a matrix comes from: a file, or nowhere."""

    def __init__(self, args: Any, grid: tuple[int, int]) -> None:
        self.args, self.grid, self.A = args, grid, None
        if args.data:
            self.A, self.b = from_file(args.folder, args.data)
            self.shape = self.A.shape
        else:
            n = max(int(args.gigabytes * 2**30 / 8 / args.columns), 100)
            self.shape, self.b = (n, args.columns), None
        self.chunks = sizes(self.shape[0], grid[0]), sizes(self.shape[1], grid[1])

    def cut(self, grid: tuple[int, int]) -> Data:
        """A file in other chunks, read once."""
        other = copy(self)
        other.grid = grid
        other.chunks = sizes(self.shape[0], grid[0]), sizes(self.shape[1], grid[1])
        return other

    def here(self) -> Any:
        """In this process."""
        if self.A is not None:
            return self.A
        rows, columns = (np.cumsum([0, *sides]) for sides in self.chunks)
        A = np.empty(self.shape)
        for p, (top, end) in enumerate(pairwise(rows)):
            for q, (left, right) in enumerate(pairwise(columns)):
                A[top:end, left:right] = normal((p, q), (end - top, right - left))
        return A

    def chunked(self) -> Any:
        """As a dask array."""
        if self.A is None:
            return da.map_blocks(block, da.zeros(self.shape, chunks=self.chunks), dtype=float)
        if isinstance(self.A, np.ndarray):
            return da.from_array(self.A, chunks=self.chunks)
        rows, parts = (np.cumsum([0, *sides]) for sides in self.chunks)
        return da.block(
            [
                [
                    da.from_array(self.A[a:b, c:e], chunks=(b - a, e - c), asarray=False)
                    for c, e in pairwise(parts)
                ]
                for a, b in pairwise(rows)
            ]
        )

    def labels(self, A: Any) -> np.ndarray:
        """Those of the file, or ones that half follow from the data."""
        if self.b is None:
            n, d = self.shape
            rng = np.random.default_rng(0)
            margins = np.asarray(A @ rng.standard_normal(d))
            self.b = np.where(margins + math.sqrt(d) * rng.standard_normal(n) > 0, 1.0, -1.0)
        return self.b


def from_file(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    data = read_data(folder / f"{name}.svm.bz2")
    labels = np.where(data.b == np.unique(data.b)[-1], 1.0, -1.0)
    return (unit_range(data.A) if name == "gisette-like" else sp.csr_array(data.A)), labels


def l2_of(args: Any) -> float:
    return L2S.get(args.data, 1e-3) if args.l2 is None else args.l2


def regularizer(name: str, problem: Any, args: Any) -> Any:
    _, share, curved = PROBLEMS[name]
    l2 = l2_of(args) if curved else 0.0
    l1 = share * float(np.abs(problem.pull_at_zero).max())
    return spd1.ElasticNet(l1=l1, l2=l2)


def best_of(args: Any, run: Any) -> tuple[float, Any]:
    """Seconds of the fastest run, and its result; a first one compiles."""
    if not args.once:
        run()
    found = []
    for _ in range(args.repeats):
        began = time.perf_counter()
        result = run()
        found.append((time.perf_counter() - began, result))
    return min(found, key=lambda pair: pair[0])


def one_process(A: Any, b: np.ndarray, name: str, args: Any) -> None:
    problem = spd1.Problem(A, b, PROBLEMS[name][0])
    problem = problem.with_regularizer(regularizer(name, problem, args))
    for tol in args.tols:
        seconds, result = best_of(
            args, lambda tol=tol: spd1.solve(problem, tol=tol, max_seconds=args.max_seconds)
        )
        say(name, "one process", tol, seconds, result)


def on_cluster(client: Any, X: Any, b: np.ndarray, grid: str, args: Any) -> None:
    """All problems on data that is placed once."""
    with placed(spd1.Problem(X, b), client) as first:
        for name in args.problems.split(","):
            here = spd1.Problem(X, b, PROBLEMS[name][0]).moved(first.grid)
            here = here.with_regularizer(regularizer(name, here, args))
            for method in args.methods.split(","):
                for tol in args.tols:
                    try:
                        time_it(client, here, name, grid, method, tol, args)
                    except spd1.IncompatibleError as error:
                        print(f"{name:14s} dask {grid} {method} refuses: {error}")


def time_it(
    client: Any, here: Any, name: str, grid: str, method: str, tol: float, args: Any
) -> None:
    traffic = here.grid.team.traffic
    before: list[Any] = []

    def run() -> Any:
        before[:] = [traffic.rounds, traffic.moved]
        smooth.MANY_PRODUCTS = math.inf if "plain" in method else MANY_PRODUCTS
        cut.SLOW_START = math.inf if "plain" in method else SLOW_START
        return spd1.solve(
            here, method.split()[-1], tol=tol, engine="dask", client=client,
            max_seconds=args.max_seconds,
        )  # fmt: skip

    with each_round(here.grid.team, args.rounds):
        seconds, result = best_of(args, run)
    rounds = traffic.rounds - before[0]
    moved = traffic.moved - before[1]
    say(name, f"dask {grid} {method}", tol, seconds, result, rounds, moved, 8 * (here.n + here.d))


@contextmanager
def each_round(team: Any, said: bool) -> Iterator[None]:
    """Print what every round asked for, how long it took, and when it began."""
    replies, start = team._replies, time.perf_counter()

    def timed(asked: Any) -> Any:
        began = time.perf_counter()
        found = replies(asked)
        what = " ".join([getattr(one, "__name__", "") for one in asked[0][2]])
        print(f"    {what:24s} {time.perf_counter() - began:7.3f} s, at {began - start:.3f}")
        return found

    team._replies = timed if said else replies
    yield
    team._replies = replies


def dask_ml(X: Any, b: np.ndarray, args: Any) -> None:
    """Their own stopping rule: how near they come is measured by ours."""
    try:
        from dask_ml.linear_model import LogisticRegression
    except ImportError as error:
        print(f"dask-ml is left out: {error}")
        return
    X = X.rechunk((X.chunks[0], -1)).persist()
    y = da.from_array((b > 0).astype(int), chunks=X.chunks[0])
    l2 = l2_of(args)
    problem = spd1.Problem(X, b, "logistic", spd1.L2(l2))
    for solver in args.peers.split(","):
        for rounds in (20, 200):
            model = LogisticRegression(
                solver=solver, C=1.0 / (l2 * len(b)), fit_intercept=False, max_iter=rounds,
                tol=1e-12,
            )  # fmt: skip
            began = time.perf_counter()
            try:
                model.fit(X, y)
            except Exception as error:
                print(f"logistic dask-ml {solver}: {type(error).__name__}: {error}"[:300])
                break
            seconds = time.perf_counter() - began
            gap = spd1.certify(np.ravel(model.coef_), problem).rel_gap
            way = f"dask-ml {solver} {rounds}"
            print(f"{'logistic':14s} {way:26s} {seconds:8.2f} s  ends at {gap:.1e}", flush=True)


def say(name: str, way: str, tol: float, seconds: float, result: Any, rounds: float = 0,
        moved: float = 0, least: float = 0) -> None:  # fmt: skip
    text = f"{name:14s} {way:24s} {tol:7.0e} {seconds:8.3f} s {result.passes:8.1f} passes"
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
    parser.add_argument("--l2", type=float, default=None)
    parser.add_argument("--copies", type=float, default=None, help="MB of rows that may be copied")
    parser.add_argument("--data", default="")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--grids", default="2x1")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--methods", default="auto,rows")
    parser.add_argument("--problems", default="logistic,squared_hinge,hinge,lasso")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--max-seconds", type=float, default=120.0)
    parser.add_argument("--tols", type=float, nargs="+", default=[1e-3, 1e-6])
    parser.add_argument("--once", action="store_true", help="no run before the one that is timed")
    parser.add_argument("--peers", default="", help="solvers of dask-ml, such as lbfgs,admm")
    parser.add_argument("--rounds", action="store_true", help="what each round took")
    parser.add_argument("--no-single", action="store_true", help="leave one process out")
    return parser.parse_args()


def main() -> None:
    args = parse()
    dask.config.set(PATIENCE)
    if args.copies is not None:
        tuning.CLUSTER_COPIES_MB = args.copies
    for number, grid in enumerate(args.grids.split(",")):
        data = Data(args, tuple(int(size) for size in grid.split("x")))
        print(f"{data.shape[0]} x {data.shape[1]}, {args.workers} workers, grid {grid}", flush=True)
        if not (args.no_single or number):
            A = data.here()
            for name in args.problems.split(","):
                one_process(A, data.labels(A), name, args)
            del A
        here = LocalCluster(n_workers=args.workers, threads_per_worker=1, dashboard_address=":0")
        with here as made, Client(made) as client:
            X = data.chunked()
            b = data.labels(X)
            on_cluster(client, X, b, grid, args)
            if args.peers:
                dask_ml(X, b, args)


if __name__ == "__main__":
    main()
