"""Peak memory that a fit adds, as a share of the data's own size.

    SPD1_DATA=folder python benchmarks/memory.py [--name 20news-compsci --columns 44120]

NumPy reports its allocations to tracemalloc, so this counts every array the fit makes.
"""

from __future__ import annotations

import argparse
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

import spd1

FAMILIES = {
    "l2 logistic": ("logistic", 0.0, 1e-4),
    "l2 squared hinge": ("squared_hinge", 0.0, 1e-4),
    "l2 hinge": ("hinge", 0.0, 1e-4),
    "l1 logistic, 0.1 of its maximum": ("logistic", 0.1, 0.0),
    "lasso, 0.1 of its maximum": ("squared", 0.1, 0.0),
    "lasso, 0.01 of its maximum": ("squared", 0.01, 0.0),
}


def peak_share(A: Any, b: np.ndarray, loss: str, l1: float, l2: float) -> tuple[float, str]:
    """Peak of a second, compiled run over the bytes of A."""
    slope = -0.5 * b if loss == "logistic" else -b
    largest = float(np.abs(A.T @ slope).max()) / len(b)
    reg = spd1.ElasticNet(l1=l1 * largest, l2=l2)
    spd1.solve(spd1.Problem(A, b, loss, reg))
    tracemalloc.start()
    result = spd1.solve(spd1.Problem(A, b, loss, reg))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    return peak / size, result.method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", default="20news-compsci")
    parser.add_argument("--columns", type=int, default=44120)
    options = parser.parse_args()
    folder = os.environ.get("SPD1_DATA")
    path = Path(folder or ".") / f"{options.name}.svm.bz2"
    if not path.exists():
        raise SystemExit(f"{path.name} is not there: set SPD1_DATA to the folder that has it")
    A, b = load_svmlight_file(str(path), n_features=options.columns)
    for name, family in FAMILIES.items():
        share, method = peak_share(A, b, *family)
        print(f"{name:32s} peak {100 * share:5.1f} % of the data   {method}")


if __name__ == "__main__":
    main()
