"""Estimators against scikit-learn's, each at its own defaults: milliseconds of one warm fit.

    python benchmarks/estimators.py [--only REGEX]

Not a race to equal accuracy: scikit-learn's tol is no duality gap. Synthetic data, an intercept,
one thread; the gap that ours proves is printed beside its time.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model as peers
from sklearn.svm import LinearSVC, LinearSVR

import spd1.linear_model as ours
from race import one_thread

SHAPES = {
    "square": (1000, 1000, False),
    "wide": (150, 5000, False),
    "tall": (5000, 50, False),
    "sparse": (3000, 8000, True),
}
PAIRS = {
    "LogisticRegression": (ours.LogisticRegression(), peers.LogisticRegression(max_iter=1000)),
    "LinearSVC": (ours.LinearSVC(), LinearSVC(max_iter=20000)),
    "LinearSVR": (ours.LinearSVR(epsilon=0.1), LinearSVR(epsilon=0.1, max_iter=20000)),
    "Lasso": (ours.Lasso(alpha=0.01), peers.Lasso(alpha=0.01)),
    "Ridge": (ours.Ridge(), peers.Ridge()),
    "QuantileRegressor": (ours.QuantileRegressor(alpha=0.01), None),
    "HuberRegressor": (ours.HuberRegressor(), peers.HuberRegressor(max_iter=1000)),
}


def make(n: int, d: int, sparse: bool, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    X: Any = rng.normal(size=(n, d))
    if sparse:
        X = sp.random_array((n, d), density=0.01, rng=rng, format="csr")
    weights = rng.normal(size=d) / np.sqrt(d) * (10.0 if sparse else 1.0)
    return X, np.asarray(X @ weights).ravel() + 0.3 * rng.normal(size=n)


def milliseconds(model: Any, X: Any, y: np.ndarray) -> float:
    clock = time.perf_counter()
    model.fit(X, y)
    return 1e3 * (time.perf_counter() - clock)


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=".", help="on shape/estimator")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    for shape, sizes in SHAPES.items():
        X, target = make(*sizes, rng)
        for name, (mine, theirs) in PAIRS.items():
            if not re.search(options.only, f"{shape}/{name}"):
                continue
            y = (target > 0).astype(int) if "Log" in name or "SVC" in name else target
            mine.fit(X, y)  # compiles, or loads from disk
            took, gap = milliseconds(mine, X, y), float(np.max(mine.rel_gap_))
            peer = f"{milliseconds(theirs, X, y):8.1f}" if theirs is not None else "       -"
            print(f"{shape:7s} {name:19s} {took:8.1f} ms, gap {gap:.0e}   scikit-learn {peer} ms")


if __name__ == "__main__":
    main()
