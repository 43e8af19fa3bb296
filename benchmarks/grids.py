"""Whether every grid from 1 x 1 to 8 x 8 reaches the gap asked for, and in how many passes.

    python benchmarks/grids.py                      generated data
    python benchmarks/grids.py --data FOLDER        parts of the files there (LIBSVM text)
    python benchmarks/grids.py --data FOLDER --names relathe rcv1-subset --grids 2x2 8x8
    python benchmarks/grids.py --data FOLDER --part 100x150

For each problem a line a method: passes of data in one piece, the most passes of any grid, and the
grids that did not reach it. ``auto`` takes Newton's method on cut data; who asks for ``rows`` or
``spd1-vr`` gets these and nothing else. What spd1-vr does not reach on one tile within the limit
is said, and not asked of the grids.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.io import read_libsvm

TOL = 1e-6
METHODS = ("auto", "rows", "spd1-vr")
LOSSES = ("logistic", "squared_hinge", "hinge")
PENALTIES = {"l2": lambda top: spd1.L2(1e-2), "l1": lambda top: spd1.L1(0.1 * top)}
FILES = {"gisette-like": 5000, "20news-compsci": 44120, "rcv1-subset": 47236, "relathe": 4322,
         "a9a": 123, "mushrooms": 112, "colon-cancer": 2000, "hiva": 1617, "leukemia": 7129,
         "reuters-example1": 9947, "madelon": 500, "cpusmall": 12, "riboflavin": 4088,
         "leukemia.t": 7129, "news20.multiclass": 62061}  # fmt: skip
MANY_VALUES = 10  # of labels, from which on they are measurements: above or below the median


def generated() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Dense and tall, sparse and wide."""
    rng = np.random.default_rng(0)
    for name, shape, share in (("dense", (300, 100), 1.0), ("sparse", (200, 400), 0.1)):
        A = rng.standard_normal(shape) * (rng.random(shape) < share)
        t = A @ rng.standard_normal(shape[1]) + rng.standard_normal(shape[0])
        yield name, A if share == 1.0 else sp.csr_array(A), np.where(t > 0, 1.0, -1.0)


def parts(
    folder: Path, names: list[str], rows_taken: int = 400, columns_taken: int = 600
) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Some rows, the columns that these use most, rows of length 1."""
    for name in names:
        A, b = tuple(read_libsvm(folder / f"{name}.svm.bz2", n_features=FILES[name]))[:2]
        rows = np.random.default_rng(0).permutation(A.shape[0])[:rows_taken]
        part = sp.csr_array(A)[np.sort(rows)]
        counts = np.bincount(part.indices, minlength=A.shape[1])
        columns = np.sort(np.argsort(-counts, kind="stable")[:columns_taken])
        part = sp.csr_array(part[:, columns], dtype=float)
        lengths = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
        part = sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ part)
        labels = np.asarray(b)[np.sort(rows)]
        measured = len(np.unique(labels)) >= MANY_VALUES
        upper = labels > np.median(labels) if measured else labels == labels.max()
        yield name, part, np.where(upper, 1.0, -1.0)


def sweep(problem: Any, method: str, grids: list[tuple[int, int]], limit: float) -> str:
    """Passes of one tile and of the slowest grid; grids that did not get there."""
    whole = spd1.solve(problem, method, tol=TOL, max_passes=limit)
    if not whole.converged and method == "spd1-vr":
        return f"not on one tile: {whole.rel_gap:.1e} after {limit:g} passes"
    passes, missed = [], []
    for grid in grids:
        rows, columns = min(grid[0], problem.n), min(grid[1], problem.d)
        found = spd1.solve(problem, method, tol=TOL, grid=(rows, columns), max_passes=10 * limit)
        passes.append((found.passes, grid))
        if method != "auto" and found.method != method:
            raise RuntimeError(f"{method} was asked for, and {found.method} ran")
        if not found.converged:
            missed.append(f"{grid[0]}x{grid[1]} ({found.rel_gap:.0e})")
    most, where = max(passes)
    told = f"one piece {whole.passes:.0f}" if whole.converged else f"one piece {whole.rel_gap:.0e}"
    told += f", {len(grids)} grids, most {most:.0f} ({where[0]}x{where[1]})"
    return told + (f"; NOT REACHED: {', '.join(missed)}" if missed else "; all reached")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with LIBSVM files")
    parser.add_argument("--names", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=list(LOSSES))
    parser.add_argument("--grids", nargs="+", help="such as 2x2 8x8; default: all up to 8x8")
    parser.add_argument("--passes", type=float, default=2000, help="limit of one tile")
    parser.add_argument("--part", default="400x600", help="rows and columns of a file's part")
    options = parser.parse_args()
    part = [int(size) for size in options.part.split("x")]
    named = options.grids or [f"{p}x{q}" for p in range(1, 9) for q in range(1, 9)]
    grids = [(int(p), int(q)) for p, q in (name.split("x") for name in named)]
    failed = False
    for name, A, b in parts(options.data, options.names, *part) if options.data else generated():
        top = float(np.abs(A.T @ b).max()) / len(b)
        for loss in options.losses:
            for penalty, make in PENALTIES.items():
                problem = spd1.Problem(A, b, loss, make(top))
                for method in options.methods:
                    line = sweep(problem, method, grids, options.passes)
                    failed = failed or "NOT REACHED" in line
                    print(f"{name:15s} {loss:13s} {penalty:3s} {method:8s} {line}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
