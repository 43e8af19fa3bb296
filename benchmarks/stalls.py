"""Problems that make solvers stand still: how many of them ``auto`` certifies, and how fast.

    python benchmarks/stalls.py --count 2000            # the figure of docs/explanation/promises.md
    python benchmarks/stalls.py --seeds 17 401 --verbose

Each seed is one problem, n and d up to 2000: all losses; gaussian, sparse, low-rank, polynomial,
one-hot and count data; columns that are nearly or exactly alike; badly scaled columns; outliers;
no, tiny and ordinary penalties; boxes; sample weights; separable labels and exact fits. A problem
counts if its relative gap is at most tol within the seconds allowed, compilation not counted.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.losses import LOSSES

DATA = ("gaussian", "sparse", "low rank", "polynomial", "one-hot", "counts", "correlated")
TWISTS = ("", "", "", "", "scaled columns", "alike", "twins", "outlier", "scaled rows")
NETS = ("none", "l1", "l2", "elastic", "lower", "box", "some free", "one-sided l2")


def strength(rng: np.random.Generator, least: float) -> float:
    return float(10.0 ** rng.uniform(least, 0.0))


def data_of(rng: np.random.Generator, kind: str, n: int, d: int) -> np.ndarray:
    if kind == "sparse":
        A = rng.standard_normal((n, d)) * (rng.random((n, d)) < max(0.05, 3.0 / d))
    elif kind == "low rank":
        r = max(1, min(n, d) // 4)
        A = rng.standard_normal((n, r)) @ rng.standard_normal((r, d)) / math.sqrt(r)
        A += 10.0 ** rng.uniform(-12, -1) * rng.standard_normal((n, d))
    elif kind == "polynomial":
        d = min(d, 24)
        t = rng.uniform(-2, 2, (n, 2))
        powers = [(i, k - i) for k in range(d) for i in range(k + 1)][:d]
        A = np.column_stack([t[:, 0] ** i * t[:, 1] ** j for i, j in powers])
    elif kind == "one-hot":
        groups = max(1, d // 5)
        columns = [np.eye(5)[rng.integers(0, 5, n)] for _ in range(groups)]
        A = np.column_stack([*columns, np.ones(n)])
    elif kind == "counts":
        A = rng.poisson(0.5, (n, d)).astype(float)
    elif kind == "correlated":
        A = rng.standard_normal((n, d)) + 3.0 * rng.standard_normal((n, 1))
    else:
        A = rng.standard_normal((n, d))
    return A


def twisted(rng: np.random.Generator, twist: str, A: np.ndarray) -> np.ndarray:
    n, d = A.shape
    if twist == "scaled columns":
        return A * 10.0 ** rng.uniform(-5, 5, d)
    if twist == "scaled rows":
        return A * 10.0 ** rng.uniform(-3, 3, (n, 1))
    if twist == "alike" and d > 1:
        A[:, d // 2 :] = A[:, [0]] + 10.0 ** rng.uniform(-9, -2) * A[:, d // 2 :]
    if twist == "twins" and d > 1:
        A[:, d // 2 :] = A[:, : d - d // 2]
    if twist == "outlier":
        A[rng.integers(n), rng.integers(d)] = 10.0 ** rng.uniform(3, 8)
    return A


def net_of(rng: np.random.Generator, kind: str, d: int, l1_max: float, size: float) -> Any:
    """l1 relative to where everything is zero, l2 relative to the mean square of a row."""
    l1 = l1_max * strength(rng, -8.0)
    l2 = size * strength(rng, -12.0)
    if kind == "none":
        return None
    if kind == "l1":
        return spd1.L1(l1)
    if kind == "l2":
        return spd1.L2(l2)
    if kind == "elastic":
        return spd1.ElasticNet(l1=l1, l2=l2)
    if kind == "lower":
        return spd1.ElasticNet(l1=l1 if rng.random() < 0.5 else 0.0, lower=0.0)
    if kind == "box":
        return spd1.ElasticNet(l2=l2 if rng.random() < 0.5 else 0.0, lower=-1.0, upper=1.0)
    if kind == "one-sided l2":
        return spd1.ElasticNet(l2=l2, lower=0.0)
    free = rng.random(d) < 0.2
    which = np.where(free, 0.0, 1.0)
    return spd1.ElasticNet(l1=l1 * which) if rng.random() < 0.5 else spd1.ElasticNet(l2=l2 * which)


def labels_of(rng: np.random.Generator, kind: str, A: np.ndarray, noise: float) -> np.ndarray:
    n, d = A.shape
    w = rng.standard_normal(d) * (rng.random(d) < min(1.0, 10.0 / d))
    u = A @ w
    u = u / max(float(np.std(u)), 1e-300) if np.any(u) else rng.standard_normal(n)
    u = u + noise * rng.standard_normal(n)
    if kind == "sign":
        b = np.where(u > np.median(u), 1.0, -1.0)
        return b
    if kind == "count":
        return rng.poisson(np.exp(np.clip(u, -3, 3))).astype(float)
    return u * 10.0 ** rng.choice([0, 0, 0, -3, 3]) + rng.choice([0.0, 0.0, 10.0])


def problem_of(seed: int, largest: int = 2000) -> tuple[Any, dict[str, Any]]:
    """The problem of a seed, and what it is made of."""
    rng = np.random.default_rng([20261117, seed])
    loss = list(LOSSES)[int(rng.integers(len(LOSSES)))]
    kind, twist = str(rng.choice(DATA)), str(rng.choice(TWISTS))
    net = str(rng.choice(NETS))
    n, d = (int(5 * (largest / 5) ** rng.random()) for _ in range(2))
    A = twisted(rng, twist, data_of(rng, kind, n, d))
    n, d = A.shape
    instance = LOSSES[loss]()
    noise = float(rng.choice([0.0, 0.1, 1.0]))
    b = labels_of(rng, instance.label_kind, A, noise)
    weight = 10.0 ** rng.uniform(-3, 0, n) if rng.random() < 0.2 else None
    layout = str(rng.choice(["dense", "dense", "csr", "csc"]))
    X = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array}[layout](A)
    plain = spd1.Problem(X, b, loss, None, weight)
    l1_max = float(np.abs(plain.pull_at_zero).max()) or 1.0
    size = float(np.mean(np.sum(A * A, axis=1))) / d or 1.0
    reg = net_of(rng, net, d, l1_max, size)
    about = {
        "seed": seed, "loss": loss, "data": kind, "twist": twist, "net": net, "n": n, "d": d,
        "layout": layout, "noise": noise, "reg": repr(reg),
    }  # fmt: skip
    return spd1.Problem(X, b, loss, reg, weight), about


def tried(seed: int, tol: float, seconds: float, largest: int, method: str) -> dict[str, Any]:
    problem, about = problem_of(seed, largest)
    start = time.perf_counter()
    result = spd1.solve(problem, method, tol=tol, max_seconds=seconds)
    took = time.perf_counter() - start
    return {
        **about, "status": result.status, "rel_gap": result.rel_gap, "seconds": took,
        "primal": result.primal, "method": result.method, "reach": result.reach,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs="*")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--largest", type=int, default=2000)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    seeds = options.seeds or range(options.first, options.first + options.count)
    rows = []
    for seed in seeds:
        row = tried(seed, options.tol, options.seconds, options.largest, options.method)
        rows.append(row)
        if options.verbose or row["status"] != "converged":
            print(
                f"{seed:5d} {row['loss']:27s} {row['data']:10s} {row['twist']:14s} "
                f"{row['net']:12s} {row['n']:4d} x {row['d']:4d} {row['seconds']:6.2f} s "
                f"{row['rel_gap']:.1e} {row['status']:11s} {row['method']}",
                flush=True,
            )
    done = sum(row["status"] == "converged" for row in rows)
    seconds = np.array([row["seconds"] for row in rows])
    print(
        f"{done} of {len(rows)} ({100.0 * done / len(rows):.2f} %) to {options.tol:g} within "
        f"{options.seconds:g} s; median {np.median(seconds):.3f} s, "
        f"99 % {np.quantile(seconds, 0.99):.2f} s"
    )
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
