"""A path against a loop of fits: seconds of each and their ratio, same run, same tolerance.

python benchmarks/paths.py [--alphas 100] [--repeats 3]
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import lasso_path

from spd1.linear_model import ERMClassifier, Lasso, path

TOL = 1e-6


def wide(rng):
    X = rng.normal(size=(200, 5000))
    return X, X[:, :10].sum(axis=1) + rng.normal(size=200)


def tall(rng):
    X = rng.normal(size=(5000, 200)) + 0.5
    return X, X[:, :10].sum(axis=1) + rng.normal(size=5000)


def text(rng):
    X = sp.random_array((3000, 10000), density=0.005, rng=rng, format="csc")
    return X, np.asarray(X[:, :50].sum(axis=1)).ravel() + 0.1 * rng.normal(size=3000)


def seconds(work, repeats):
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def fits(X, y, loss, alphas):
    for alpha in alphas:
        if loss == "squared":
            Lasso(alpha=alpha, tol=TOL).fit(X, y)
        else:
            ERMClassifier("logistic", l1=alpha, l2=0.0, tol=TOL).fit(X, y)


def peer(X, y, alphas):
    """scikit-learn's path, its data centred before the clock starts; sparse data is not."""
    X = X if sp.issparse(X) else np.asfortranarray(X - X.mean(axis=0))
    work = partial(lasso_path, X, y - y.mean(), alphas=alphas, tol=TOL, max_iter=100_000)
    return seconds(work, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--alphas", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{'data':8s} {'loss':9s} {'path':>8s} {'loop':>8s} {'peer':>8s} loop/path peer/path")
    for make in (wide, tall, text):
        X, t = make(np.random.default_rng(0))
        for loss in ("squared", "logistic"):
            y = t if loss == "squared" else np.where(t > np.median(t), 1.0, -1.0)
            alphas = path(X, y, loss=loss, n_alphas=options.alphas, eps=0.01, tol=TOL).alphas
            walk = seconds(partial(path, X, y, loss=loss, alphas=alphas, tol=TOL), options.repeats)
            fits(X, y, loss, alphas[:2])  # compiles
            loop = seconds(partial(fits, X, y, loss, alphas), 1)
            theirs = peer(X, y, alphas) if loss == "squared" else np.nan
            print(
                f"{make.__name__:8s} {loss:9s} {walk:8.3f} {loop:8.3f} {theirs:8.3f} "
                f"{loop / walk:9.2f} {theirs / walk:9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
