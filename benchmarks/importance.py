"""Draws by importance on badly scaled data: passes of spd1-vr and spd1-vr-acc to a gap of 1e-6.

    python benchmarks/importance.py [--sparse]

Normal data whose rows, columns, or both are multiplied by factors from 1 to ``--spread`` (default
10); logistic loss and l2. The median of three seeds. With --sparse one entry in twenty of 600 x 400
is kept, and what importance is compared with are draws of stored entries, each once a pass.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import scipy.sparse as sp

import spd1

METHODS = ("spd1-vr", "spd1-vr-acc")


def data_of(which: str, spread: float, n: int = 150, d: int = 100) -> np.ndarray:
    """Rows of length about one, before they are scaled."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d)) / math.sqrt(d)
    rows, columns = (spread ** (rng.random(size) ** 4) for size in (n, d))  # few are long
    if which in ("rows", "both"):
        A *= rows[:, None]
    if which in ("columns", "both"):
        A *= columns
    return A


def sparse_data_of(which: str, spread: float) -> sp.csr_array:
    """The same with one entry in twenty."""
    A = data_of(which, spread, 600, 400)
    kept = np.random.default_rng(2).random(A.shape) < 0.05
    return sp.csr_array(np.where(kept, A / math.sqrt(0.05), 0.0))


def passes_of(problem: spd1.Problem, method: str, sampling: str, limit: float) -> float:
    """The median of three seeds; infinite beyond the limit."""
    runs = []
    for seed in range(3):
        found = spd1.solve(
            problem, method, sampling=sampling, max_passes=limit, random_state=seed, tol=1e-6
        )
        runs.append(found.passes if found.status == "converged" else math.inf)
    return float(np.median(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spread", type=float, default=10.0)
    parser.add_argument("--limit", type=float, default=5000.0)
    parser.add_argument("--sparse", action="store_true")
    args = parser.parse_args()
    make, plain = (sparse_data_of, "nonzeros") if args.sparse else (data_of, "uniform")
    print(f"{'scaled':10}{'method':14}{plain:>10}{'importance':>12}{'ratio':>8}")
    for which in ("nothing", "rows", "columns", "both"):
        A = make(which, args.spread)
        b = np.where(A @ np.random.default_rng(1).standard_normal(A.shape[1]) > 0, 1.0, -1.0)
        problem = spd1.Problem(A, b, "logistic", spd1.L2(1e-3))
        for method in METHODS:
            alike, by_norm = (
                passes_of(problem, method, sampling, args.limit)
                for sampling in (plain, "importance")
            )
            ratio = alike / by_norm
            print(f"{which:10}{method:14}{alike:>10.0f}{by_norm:>12.0f}{ratio:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
