"""Problems of the race of paths: what may be tuned on, and what is reported.

Generators draw with even seeds for tuning and with odd seeds for reports; real sets are split by
name. A problem is data, targets and a family: lasso, elastic net (l1_ratio 0.9) or l1-logistic.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

RATIO = {"lasso": 1.0, "enet": 0.9, "logistic": 1.0}
Made = tuple[Any, np.ndarray]


def wide(rng: np.random.Generator) -> Made:
    X = rng.normal(size=(200, 5000))
    return X, X[:, :10].sum(axis=1) + rng.normal(size=200)


def tall(rng: np.random.Generator) -> Made:
    X = rng.normal(size=(5000, 200)) + 0.5
    return X, X[:, :10].sum(axis=1) + rng.normal(size=5000)


def square(rng: np.random.Generator) -> Made:
    X = rng.normal(size=(1000, 1000))
    return X, X[:, :30].sum(axis=1) + 2.0 * rng.normal(size=1000)


def correlated(rng: np.random.Generator) -> Made:
    """Neighbours correlate by 0.9."""
    X = rng.normal(size=(500, 2000))
    for j in range(1, X.shape[1]):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1 - 0.81) * X[:, j]
    return X, X[:, ::100].sum(axis=1) + rng.normal(size=500)


def text(rng: np.random.Generator) -> Made:
    X = sp.random_array((3000, 10000), density=0.005, rng=rng, format="csc")
    return narrow(X), np.asarray(X[:, :50].sum(axis=1)).ravel() + 0.1 * rng.normal(size=3000)


def zipf(rng: np.random.Generator) -> Made:
    """Words by popularity, tf-idf, rows of length one; the target depends on some of them."""
    n, d = 3000, 10000
    popularity = 1.0 / np.arange(1, d + 1)
    lengths = np.minimum(rng.geometric(1 / 60, n), 1000)
    words = rng.choice(d, lengths.sum(), p=popularity / popularity.sum())
    X = sp.csr_array((np.ones(len(words)), (np.repeat(np.arange(n), lengths), words)), (n, d))
    X.sum_duplicates()
    seen = np.bincount(X.indices, minlength=d)
    X.data *= np.log(n / np.maximum(seen, 1))[X.indices]
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    X = narrow(sp.diags_array(1.0 / np.maximum(norms, 1e-12)) @ X)
    x = np.where(rng.random(d) < 0.02, rng.normal(size=d), 0.0)
    target = X @ x
    return X, target + 0.3 * target.std() * rng.normal(size=n)


def narrow(X: Any) -> sp.csc_matrix:
    """Columns with 32-bit indices, which is all that several peers accept."""
    X = sp.csc_matrix(X)
    X.sort_indices()
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csc_matrix((X.data, indices, indptr), shape=X.shape)


def from_file(name: str) -> Callable[[np.random.Generator], Made]:
    def make(rng: np.random.Generator) -> Made:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(Path(os.environ["SPD1_DATA"]) / f"{name}.svm.bz2"))
        y = np.asarray(y, dtype=float)
        if X.nnz > 0.2 * X.shape[0] * X.shape[1]:
            X = X.toarray()
            X = np.asfortranarray((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12))
            return X, y - y.mean() if len(np.unique(y)) > 2 else y
        return narrow(X), y

    return make


GENERATORS = (wide, tall, square, correlated, text, zipf)
REAL = {  # name: (whether it is held out, families)
    "leukemia": (False, ("lasso", "enet", "logistic")),
    "rcv1-subset": (False, ("lasso", "enet", "logistic")),
    "riboflavin": (True, ("lasso", "enet")),
    "20news-compsci": (True, ("lasso", "enet", "logistic")),
}


@dataclass(frozen=True)
class Task:
    """One path to walk."""

    family: str
    data: str
    seed: int
    make: Callable[[np.random.Generator], Made]
    held_out: bool

    @property
    def name(self) -> str:
        return f"{self.family}/{self.data}" + (f"-{self.seed}" if self.seed >= 0 else "")

    @property
    def loss(self) -> str:
        return "logistic" if self.family == "logistic" else "squared"

    @property
    def ratio(self) -> float:
        return RATIO[self.family]

    @cached_property
    def drawn(self) -> Made:
        X, y = self.make(np.random.default_rng(max(self.seed, 0)))
        if self.loss == "logistic":
            y = np.where(y > np.median(y), 1.0, -1.0) if len(np.unique(y)) > 2 else np.sign(y - 0.1)
        return (X if sp.issparse(X) else np.asfortranarray(X)), y

    def alphas(self, count: int, eps: float) -> np.ndarray:
        X, y = self.drawn
        pull = X.T @ (y if self.loss == "squared" else 0.5 * y)
        largest = float(np.abs(pull).max()) / len(y) / self.ratio
        return np.geomspace(largest, largest * eps, count)


def tasks(seeds: tuple[int, ...]) -> list[Task]:
    """All problems: generators with these seeds, and real sets if SPD1_DATA says where they are."""
    found = [
        Task(family, make.__name__, seed, make, bool(seed % 2))
        for family in RATIO
        for make in GENERATORS
        for seed in seeds
    ]
    if "SPD1_DATA" in os.environ:
        found += [
            Task(family, name, -1, from_file(name), held_out)
            for name, (held_out, families) in REAL.items()
            for family in families
        ]
    return found
