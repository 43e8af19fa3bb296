"""Is it one optimum, whatever the grid and the number of workers? Gaps, values and bits.

    python benchmarks/cluster_grids.py --folder FOLDER --data 20news-compsci
    python benchmarks/cluster_grids.py --folder FOLDER --data gisette-like --workers 2,4,8

``method="auto"`` to a gap of 1e-6 on processes of this machine, for every number of workers, grid
and problem. "apart" is how far the value is from that of one process at 1e-9, relative to it; "MB"
are those moved; "bits" says whether x and y are those of the first number of workers on the same
grid. The last line counts what did not reach its gap and what has other bits. Seconds are those of
processes that share the cores of one machine.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np
from distributed import Client, LocalCluster

import spd1
from cluster import PATIENCE, PROBLEMS, Data, regularizer
from spd1.cluster import placed

GRIDS = "8x1,1x8,4x2,4x4"


class Found(NamedTuple):
    """One solve on a cluster."""

    workers: int
    grid: str
    problem: str
    result: Any
    seconds: float
    moved: float
    rounds: int


def references(A: Any, b: np.ndarray, args: Any) -> dict[str, Any]:
    """The value of each problem in one process, and its regularizer."""
    found = {}
    for name in args.problems.split(","):
        problem = spd1.Problem(A, b, PROBLEMS[name][0])
        reg = regularizer(name, problem, args)
        best = spd1.solve(problem.with_regularizer(reg), tol=1e-9, max_seconds=args.max_seconds)
        found[name] = (reg, best.primal)
        print(f"one process {name:14s} {best.primal:.12g} {best.status} at {best.rel_gap:.1e}")
    return found


def solves(client: Any, data: Data, workers: int, grid: str, known: Any, args: Any) -> list[Found]:
    """All problems on tiles that are placed once."""
    found = []
    X = data.chunked()
    with placed(spd1.Problem(X, data.b), client) as first:
        traffic = first.grid.team.traffic
        for name in args.problems.split(","):
            problem = spd1.Problem(X, data.b, PROBLEMS[name][0]).moved(first.grid)
            before = traffic.moved, traffic.rounds
            began = time.perf_counter()
            result = spd1.solve(
                problem.with_regularizer(known[name][0]), tol=1e-6, engine="dask", client=client,
                max_seconds=args.max_seconds,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            moved = traffic.moved - before[0]
            rounds = traffic.rounds - before[1]
            found.append(Found(workers, grid, name, result, seconds, moved, rounds))
    return found


def report(found: list[Found], known: dict[str, Any]) -> None:
    """A row a solve, and what is wrong."""
    first: dict[tuple[str, str], Any] = {}
    short = other = 0
    print("| workers | grid | problem | gap | apart | bits | method | rounds | MB | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in found:
        mine = one.result
        theirs = first.setdefault((one.grid, one.problem), mine)
        same = np.array_equal(mine.x, theirs.x) and np.array_equal(mine.y, theirs.y)
        best = known[one.problem][1]
        short, other = short + (not mine.rel_gap <= 1e-6), other + (not same)
        print(
            f"| {one.workers} | {one.grid} | {one.problem} | {mine.rel_gap:.1e} | "
            f"{(mine.primal - best) / abs(best):.1e} | {'same' if same else 'OTHER'} | "
            f"{mine.method} | {one.rounds} | {one.moved / 2**20:.0f} | {one.seconds:.1f} |"
        )
    print(f"{len(found)} solves, {short} without a gap of 1e-6, {other} with other bits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--data", required=True, help="20news-compsci, gisette-like, ...")
    parser.add_argument("--workers", default="2,4,8")
    parser.add_argument("--grids", default=GRIDS)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--max-seconds", type=float, default=300.0)
    parser.add_argument("--l2", type=float, default=None)
    args = parser.parse_args()
    dask.config.set(PATIENCE)
    whole = Data(args, (1, 1))
    cuts = {grid: whole.cut(tuple(map(int, grid.split("x")))) for grid in args.grids.split(",")}
    known, found = references(whole.here(), whole.b, args), []
    for workers in map(int, args.workers.split(",")):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as made,
            Client(made) as client,
        ):
            for grid, data in cuts.items():
                found += solves(client, data, workers, grid, known, args)
                for one in found[-len(known) :]:
                    gap, seconds = one.result.rel_gap, one.seconds
                    print(f"{workers} {grid} {one.problem} {gap:.1e} {seconds:.1f} s", flush=True)
    report(found, known)


if __name__ == "__main__":
    main()
