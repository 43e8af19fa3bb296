"""Seconds to a relative gap of 1e-6 while n, d or both double: dense and sparse.

    python benchmarks/growth.py [--doublings 4]

Close to linear growth in the stored entries is the aim; the last column is the exponent between
neighbouring sizes, log(seconds ratio) / log(entries ratio).
"""

from __future__ import annotations

import argparse
import math
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.datasets import make_synthetic

REPEATS = 3


def dense(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The paper's synthetic data."""
    return make_synthetic(n=n, d=d)


def sparse(n: int, d: int) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of 80 entries whose columns follow Zipf's law, as words do; rows of norm 1."""
    rng = np.random.default_rng(0)
    columns = (d ** rng.random((n, 80)) - 1.0).astype(np.int32)
    rows = np.repeat(np.arange(n), 80)
    A = sp.csr_array((rng.random(n * 80), (rows, columns.ravel())), shape=(n, d))
    A.sum_duplicates()
    norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    A = sp.csr_array(sp.diags_array(1.0 / norms) @ A)
    b = np.sign(A @ rng.normal(size=d) + 0.1 * rng.normal(size=n))
    return A, b


def seconds(A: object, b: np.ndarray, loss: str, reg: spd1.ElasticNet) -> tuple[float, str]:
    """Median time of Problem and solve, after one run that compiles."""
    spd1.solve(spd1.Problem(A, b, loss, reg))
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = spd1.solve(spd1.Problem(A, b, loss, reg))
        times.append(time.perf_counter() - start)
    return float(np.median(times)), result.status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--doublings", type=int, default=4)
    options = parser.parse_args()
    families = [
        ("l2 logistic", "logistic", spd1.L2(1e-3)),
        ("l2 hinge", "hinge", spd1.L2(1e-3)),
        ("lasso", "squared", spd1.L1(3e-3)),
    ]
    makers = [
        ("dense, d doubles", dense, (500, 500), (1, 2)),
        ("dense, n doubles", dense, (500, 500), (2, 1)),
        ("sparse, both double", sparse, (2000, 4000), (2, 2)),
    ]
    for name, loss, reg in families:
        for title, make, (n, d), (grow_n, grow_d) in makers:
            print(f"\n{name}, {title}")
            before: tuple[int, float] | None = None
            for step in range(options.doublings):
                A, b = make(n * grow_n**step, d * grow_d**step)
                entries = A.size if isinstance(A, np.ndarray) else A.nnz
                took, status = seconds(A, b, loss, reg)
                power = ""
                if before:
                    ratio = math.log(took / before[1]) / math.log(entries / before[0])
                    power = f"{ratio:5.2f}"
                shape = f"{A.shape[0]} x {A.shape[1]}"
                print(
                    f"  {shape:15s} {entries:9d} entries {1e3 * took:9.2f} ms {status:10s} {power}"
                )
                before = entries, took


if __name__ == "__main__":
    main()
