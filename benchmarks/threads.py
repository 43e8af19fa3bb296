"""Time to a proven gap of 1e-6 with one thread and with two, beside those who have threads, too.

    SPD1_DATA=folder python benchmarks/threads.py                       0.25 GB of synthetic data
    python benchmarks/threads.py --gigabytes 2 --data folder
    python benchmarks/threads.py --only gisette --losses lasso-0.1 --peers

Runs take turns in one process; the fastest of each counts. Problems that take less than 50 ms on
one thread are left out of the means. The share that stays serial is what is left of one thread's
processor time after all work that is cut into pieces.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from race_problems import DATA_SETS, Instance, l1_max, unit_rows

TOL = 1e-6
LEAST_SECONDS = 0.05
L2S = {"20news": 1e-4, "gisette-like": 1e-2, "synthetic-10000": 1e-3, "dense": 1e-3, "sparse": 1e-4}
LOSSES = ("logistic", "squared_hinge", "hinge", "lasso-0.1", "lasso-0.01")


def dense_data(gigabytes: float, columns: int = 2500) -> tuple[Any, np.ndarray]:
    """Normal entries, and labels that half follow from them."""
    rng = np.random.default_rng(0)
    n = max(int(gigabytes * 2**30 / 8 / columns), 10)
    A = rng.standard_normal((n, columns))
    x = rng.standard_normal(columns)
    return A, np.where(A @ x + math.sqrt(columns) * rng.standard_normal(n) > 0, 1.0, -1.0)


def sparse_data(gigabytes: float, a_row: int = 100) -> tuple[Any, np.ndarray]:
    """Rows of length 1 whose columns are as popular as words are."""
    rng = np.random.default_rng(0)
    n = max(int(gigabytes * 2**30 / 12 / a_row), 10)
    d = max(n // 5, 1000)
    columns = (rng.zipf(1.3, size=n * a_row) % d).astype(np.int32)
    ends = np.arange(0, n * a_row + 1, a_row)
    A = sp.csr_matrix((rng.random(n * a_row), columns, ends), shape=(n, d))
    A.sum_duplicates()
    A = unit_rows(A)
    margins = A @ rng.standard_normal(d)
    return A, np.where(margins + margins.std() * rng.standard_normal(n) > 0, 1.0, -1.0)


def instances(folder: Path | None, gigabytes: float, only: str) -> Iterator[Instance]:
    """The problems, data set by data set."""
    for name, l2 in L2S.items():
        if only not in name:
            continue
        if name in ("dense", "sparse"):
            A, b = (dense_data if name == "dense" else sparse_data)(gigabytes)
        else:
            found = next(one for one in DATA_SETS if one.name == name)
            if found.file and folder is None:
                print(f"{name} is left out: set SPD1_DATA, or --data, to the LIBSVM files")
                continue
            A, b = found.make(folder)
        for loss in LOSSES:
            if loss.startswith("lasso"):
                l1 = float(loss.split("-")[1]) * l1_max(A, b, "squared")
                yield Instance(f"lasso/{name}/{loss}", A, b, "squared", l1, 0.0)
            else:
                family = f"l2-{loss.replace('_', '-')}"
                yield Instance(f"{family}/{name}", A, b, loss, 0.0, l2)


def timed(problem: Any, repeats: int) -> tuple[dict[str, float], float, str]:
    """Seconds of serial, one thread and two, in turns; the serial share; what auto did."""
    import spd1

    options: dict[str, dict[str, Any]] = {
        "serial": {},
        "1": {"engine": "threads", "n_threads": 1},
        "2": {"engine": "threads", "n_threads": 2},
    }
    best = dict.fromkeys(options, math.inf)
    bits = {}
    for _ in range(repeats + 1):  # the first one compiles
        for name, option in options.items():
            start = time.perf_counter()
            found = spd1.solve(problem, tol=TOL, **option)
            best[name] = min(best[name], time.perf_counter() - start)
            bits[name] = found.x.tobytes()
    if bits["1"] != bits["2"]:
        raise SystemExit(f"{problem}: one thread and two differ")
    return best, serial_share(problem), found.method


def serial_share(problem: Any) -> float:
    """Share of one thread's processor time outside of work that is cut into pieces."""
    import spd1
    from spd1.engines.threads import Threads

    spent, plain = [0.0], Threads.map

    def counted(self: Threads, function: Any, items: Any) -> list[Any]:
        start = time.thread_time()
        found = plain(self, function, items)
        if len(items) > 1:
            spent[0] += time.thread_time() - start
        return found

    Threads.map = counted  # type: ignore[method-assign]
    try:
        start = time.thread_time()
        spd1.solve(problem, tol=TOL, engine="threads", n_threads=1)
        return 1.0 - spent[0] / (time.thread_time() - start)
    finally:
        Threads.map = plain  # type: ignore[method-assign]


def peer_seconds(one: Instance, optimum: float, name: str) -> float | None:
    """The fastest setting of a peer with two threads that comes within 1e-6 of the optimum."""
    best = None
    for setting in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
        model = peer_model(one, setting, name)
        if model is None:
            return None
        start = time.perf_counter()
        model.fit(one.A, one.b)
        seconds = time.perf_counter() - start
        if one.objective(model.coef_) - optimum <= TOL * abs(optimum):
            best = seconds if best is None else min(best, seconds)
            break
    return best


def peer_model(one: Instance, setting: float, name: str) -> Any:
    """An estimator with two threads, or None where it has none for the loss."""
    if name == "snapml":
        try:
            import snapml
        except ImportError:
            return None
        shared = {"fit_intercept": False, "tol": setting, "n_jobs": 2, "max_iter": 10_000}
        if one.loss == "logistic":
            return snapml.LogisticRegression(regularizer=one.n * one.l2, dual=True, **shared)
        if one.loss == "hinge":
            return snapml.SupportVectorMachine(loss="hinge", regularizer=one.n * one.l2, **shared)
        if one.loss == "squared" and one.l1 > 0:
            return snapml.LinearRegression(
                penalty="l1", regularizer=one.n * one.l1, dual=False, **shared
            )
        return None
    if one.loss != "logistic":
        return None  # scikit-learn's other solvers have one thread
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(
        C=1.0 / (one.n * one.l2), fit_intercept=False, tol=setting, max_iter=10_000
    )  # lbfgs: BLAS has the threads


def main() -> None:
    import spd1

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default=os.environ.get("SPD1_DATA", ""), help="LIBSVM files")
    parser.add_argument("--gigabytes", type=float, default=0.25, help="of each synthetic set")
    parser.add_argument("--only", default="", help="data sets whose name has this")
    parser.add_argument("--losses", default="", help="losses, by comma")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="snapml and scikit-learn, too")
    given = parser.parse_args()
    wanted = [loss for loss in given.losses.split(",") if loss]
    print(f"{'problem':44} serial ms  1 thread  2 threads  speed-up  serial share  method")
    gains = []
    folder = Path(given.data) if given.data else None
    for one in instances(folder, given.gigabytes, given.only):
        if wanted and not any(loss.replace("_", "-") in one.name for loss in wanted):
            continue
        problem = spd1.Problem(one.A, one.b, one.loss, spd1.ElasticNet(one.l1, one.l2))
        best, share, method = timed(problem, given.repeats)
        gain = best["1"] / best["2"]
        counts = best["1"] > LEAST_SECONDS
        gains += [gain] if counts else []
        line = f"{one.name:44} {1e3 * best['serial']:9.0f} {1e3 * best['1']:9.0f}"
        line += f" {1e3 * best['2']:10.0f} {gain:9.2f} {share:13.2f}  {method}"
        print(line if counts else f"{line} (too small to count)", flush=True)
        if given.peers:
            optimum = spd1.solve(problem, tol=1e-9).dual
            for name in ("snapml", "scikit-learn"):
                seconds = peer_seconds(one, optimum, name)
                if seconds is not None:
                    print(f"    {name} with two threads: {1e3 * seconds:.0f} ms", flush=True)
    if gains:
        mean = math.exp(np.mean(np.log(gains)))
        print(f"{len(gains)} problems: geometric mean {mean:.2f}, least {min(gains):.2f}")


if __name__ == "__main__":
    sys.exit(main())
