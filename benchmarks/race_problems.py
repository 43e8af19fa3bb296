"""The problems of the race: data sets, families of objectives, and the objective itself.

Every family is  P(x) = (1/n) sum_i phi(b_i, a_i'x) + l1 |x|_1 + l2/2 |x|_2^2  without intercept.
P is evaluated here with NumPy alone, so that no contender is judged by its own code.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

FAMILY_LOSS = {
    "l2-logistic": "logistic",
    "l2-squared-hinge": "squared_hinge",
    "l2-hinge": "hinge",
    "l1-logistic": "logistic",
    "lasso": "squared",
    "elastic-net": "squared",
}
L1_FRACTIONS = (0.1, 0.01)  # of the smallest l1 that makes x = 0 optimal


def loss_values(loss: str, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    if loss == "logistic":
        return np.logaddexp(0.0, -b * u)
    if loss == "squared":
        return 0.5 * (u - b) ** 2
    short = np.maximum(0.0, 1.0 - b * u)
    return short if loss == "hinge" else short * short


def loss_slopes(loss: str, u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """phi'(u), the steeper side at a kink."""
    if loss == "logistic":
        from scipy.special import expit

        return -b * expit(-b * u)
    if loss == "squared":
        return u - b
    short = np.maximum(0.0, 1.0 - b * u)
    return -b * (short > 0) if loss == "hinge" else -2.0 * b * short


@dataclass(frozen=True, eq=False)
class Instance:
    """One objective: data, loss and the two penalties."""

    name: str
    A: Any
    b: np.ndarray
    loss: str
    l1: float
    l2: float

    @property
    def n(self) -> int:
        return self.A.shape[0]

    @property
    def d(self) -> int:
        return self.A.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.A)

    @property
    def family(self) -> str:
        return self.name.split("/")[0]

    @cached_property
    def at_zero(self) -> float:
        """P(0), the start of everyone."""
        return float(loss_values(self.loss, np.zeros(self.n), self.b).mean())

    @cached_property
    def columns(self) -> Any:
        """The data column by column, as coordinate descent wants it."""
        return sp.csc_matrix(self.A) if self.sparse else np.asfortranarray(self.A)

    def objective(self, x: np.ndarray) -> float:
        """P(x) in float64; infinite for a point that is none."""
        x = np.asarray(x, dtype=float).ravel()
        if x.size != self.d or not np.all(np.isfinite(x)):
            return float("inf")
        with np.errstate(over="ignore"):
            fit = loss_values(self.loss, self.A @ x, self.b).mean()
            return float(fit + self.l1 * np.abs(x).sum() + 0.5 * self.l2 * (x @ x))


def l1_max(A: Any, b: np.ndarray, loss: str) -> float:
    """The smallest l1 for which x = 0 is optimal: |A' phi'(0)|_inf / n."""
    slopes = loss_slopes(loss, np.zeros(A.shape[0]), b)
    return float(np.abs(A.T @ slopes).max() / A.shape[0])


@dataclass(frozen=True)
class DataSet:
    """A file (or a recipe) and what is done to it before anyone is timed."""

    name: str
    shape: tuple[int, int]
    file: str = ""
    prepare: str = ""
    l2s: tuple[float, ...] = (1e-3,)
    real_targets: bool = False
    size: str = "small"

    def make(self, folder: Path | None) -> tuple[Any, np.ndarray]:
        if not self.file:
            from spd1.datasets import make_synthetic

            return make_synthetic(*self.shape)
        if folder is None:
            raise FileNotFoundError(f"{self.file}: no data folder; set SPD1_DATA or --data")
        from sklearn.datasets import load_svmlight_file

        path = folder / self.file
        A, b = load_svmlight_file(str(path), n_features=self.shape[1], zero_based=False)
        return PREPARATIONS[self.prepare](narrow(A)), b


def narrow(A: Any) -> sp.csr_matrix:
    """32-bit indices, which is all that several peers accept."""
    indices, indptr = A.indices.astype(np.int32), A.indptr.astype(np.int32)
    return sp.csr_matrix((A.data, indices, indptr), shape=A.shape)


def unit_rows(A: sp.csr_matrix) -> sp.csr_matrix:
    from sklearn.preprocessing import normalize

    return sp.csr_matrix(normalize(A))


def unit_range(A: sp.csr_matrix) -> np.ndarray:
    """Each feature to [-1, 1], a constant one to 0."""
    dense = A.toarray()
    low, high = dense.min(axis=0), dense.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.where(high > low, 2.0 * (dense - low) / spread - 1.0, 0.0)


PREPARATIONS: dict[str, Callable[[sp.csr_matrix], Any]] = {
    "": lambda A: A,
    "dense": lambda A: A.toarray(),
    "unit rows": unit_rows,
    "unit range": unit_range,
}
DATA_SETS = (
    DataSet("colon", (62, 2000), "colon-cancer.svm.bz2", "dense", (1.0,)),
    DataSet("leukemia", (38, 7129), "leukemia.svm.bz2", "dense", (1.0,)),
    DataSet("synthetic-100", (1000, 100)),
    DataSet("synthetic-1000", (1000, 1000)),
    DataSet("synthetic-10000", (1000, 10_000)),
    DataSet("riboflavin", (71, 4088), "riboflavin.svm.bz2", "dense", real_targets=True),
    DataSet("rcv1-subset", (1747, 47_236), "rcv1-subset.svm.bz2"),
    DataSet("relathe", (1427, 4322), "relathe.svm.bz2", "unit rows"),
    DataSet("a9a", (32_561, 123), "a9a.svm.bz2"),
    DataSet("20news", (18_846, 44_120), "20news-compsci.svm.bz2", "", (1e-3, 1e-4, 1e-5),
            size="medium"),
    DataSet("gisette-like", (6000, 5000), "gisette-like.svm.bz2", "unit range", (1e-2,),
            size="large"),
)  # fmt: skip


@dataclass(frozen=True)
class Spec:
    """A problem before its data is loaded."""

    family: str
    data: DataSet
    l2: float
    l1_fraction: float

    @property
    def name(self) -> str:
        several = len(self.data.l2s) > 1 and self.l2 > 0
        l2 = f"/l2={self.l2:g}" if several else ""
        l1 = f"/l1={self.l1_fraction:g}max" if self.l1_fraction else ""
        return f"{self.family}/{self.data.name}{l2}{l1}"


def all_specs() -> Iterator[Spec]:
    """Every problem, data set by data set, so that each is loaded once."""
    for data in DATA_SETS:
        for family, loss in FAMILY_LOSS.items():
            if data.real_targets and loss != "squared":
                continue
            l2s = (0.0,) if family in ("l1-logistic", "lasso") else data.l2s
            fractions = (0.0,) if family.startswith("l2-") else L1_FRACTIONS
            for l2 in l2s:
                for fraction in fractions:
                    yield Spec(family, data, l2, fraction)


class Shelf:
    """Loads data sets once: from the cache folder, else from the data folder."""

    def __init__(self, folder: str | None, cache: Path) -> None:
        chosen = folder or os.environ.get("SPD1_DATA")
        self.folder = Path(chosen) if chosen else None
        self.cache = cache
        self.last: tuple[str, Any, np.ndarray] | None = None

    def load(self, data: DataSet) -> tuple[Any, np.ndarray]:
        if self.last is None or self.last[0] != data.name:
            self.last = None  # one large data set in memory at a time
            self.last = (data.name, *self._read(data))
        return self.last[1], self.last[2]

    def _read(self, data: DataSet) -> tuple[Any, np.ndarray]:
        path = self.cache / f"{data.name}.npz"
        if data.file and path.exists():
            return read_npz(path)
        A, b = data.make(self.folder)
        if data.file:
            self.cache.mkdir(parents=True, exist_ok=True)
            write_npz(path, A, b)
        return A, b

    def instance(self, spec: Spec) -> Instance:
        A, b = self.load(spec.data)
        loss = FAMILY_LOSS[spec.family]
        l1 = spec.l1_fraction * l1_max(A, b, loss) if spec.l1_fraction else 0.0
        return Instance(spec.name, A, b, loss, l1, spec.l2)


def write_npz(path: Path, A: Any, b: np.ndarray) -> None:
    if sp.issparse(A):
        np.savez(path, data=A.data, indices=A.indices, indptr=A.indptr, shape=A.shape, b=b)
    else:
        np.savez(path, A=A, b=b)


def read_npz(path: Path) -> tuple[Any, np.ndarray]:
    with np.load(path) as kept:
        if "A" in kept:
            return kept["A"], kept["b"]
        parts = (kept["data"], kept["indices"], kept["indptr"])
        return narrow(sp.csr_matrix(parts, shape=tuple(kept["shape"]))), kept["b"]
