"""The panels of the figures: which data, prepared how, and what runs where a file is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..datasets import OfflineError, load, make_synthetic
from ..problem import Problem
from ..regularizers import L2
from .settings import Settings

__all__ = ["Panel", "Source", "choose_sources", "make_problem", "panels_of"]

PAPER = {  # panel -> name, rows, columns and lambda in the paper's Table 1
    "colon": ("colon-cancer", 62, 2000, 1.0),
    "gisette": ("gisette", 6000, 5000, 1e-2),
    "rcv1": ("rcv1.binary", 20_242, 47_236, 1e-3),
}
# Panel -> what runs, the first that is there; made on the spot if none is.
CANDIDATES = {
    "colon": ("colon-cancer",),
    "gisette": ("gisette", "gisette-like"),
    "rcv1": ("rcv1.binary", "20news-compsci", "rcv1-subset"),
}
QUICK_RCV1 = ("rcv1-subset", "rcv1.binary", "20news-compsci")


class Source(NamedTuple):
    """Data of a panel: its name as shown, and whether it is the paper's."""

    panel: str
    name: str
    title: str
    original: bool
    A: Any
    b: np.ndarray


class Panel(NamedTuple):
    """One picture of a figure: a problem and how far it is run."""

    key: str
    data: str
    title: str
    loss: str
    l2: float
    sampling: str
    horizon: int
    tuning: int
    original: bool

    @property
    def name(self) -> str:
        """A name for files."""
        return f"{self.key}-{self.loss}"


def choose_sources(
    wanted: list[str], settings: Settings, folder: str | Path | None, download: bool
) -> tuple[list[Source], list[str]]:
    """Load the data of the panels; also say what is missing and what runs instead."""
    sources, missing = [], []
    for key in wanted:
        if key.startswith("d"):
            d = int(key[1:])
            A, b = make_synthetic(1000, d)
            title = f"synthetic, n = 1000, d = {d}"
            sources.append(Source(key, f"synthetic-{d}", title, True, A, b))
            continue
        if key == "rcv1-uniform":
            extra = _first(("rcv1-subset",), folder, False)
            if extra:
                name, A, b = extra[0], full_columns(extra[1]), extra[2]
                source = _source(key, f"{name}, non-empty columns", A, b, settings)
                title = f"{name}, uniform draws, {A.shape[0]} x {A.shape[1]}"
                sources.append(source._replace(title=title))
            continue
        names = QUICK_RCV1 if key == "rcv1" and settings.name == "quick" else CANDIDATES[key]
        found = _first(names, folder, download) or MADE[key]()
        source = _source(key, *found, settings)
        sources.append(source)
        original = PAPER[key][0]
        if found[0] != original:
            missing.append(f"{original} (LIBSVM) is not used: {source.name} runs instead, under "
                           "its own name")  # fmt: skip
    return sources, missing


def panels_of(sources: list[Source], loss: str, settings: Settings) -> list[Panel]:
    """The panels of a figure."""
    panels = []
    for source in sources:
        key = source.panel
        l2 = 1e-3 if key.startswith("d") else PAPER[key.removesuffix("-uniform")][3]
        drawn = sp.issparse(source.A) and key != "rcv1-uniform"
        sampling = "nonzeros" if drawn else "uniform"
        panels.append(
            Panel(
                key, source.name, source.title, loss, l2, sampling, settings.horizons[key],
                settings.tuning[key], source.original,
            )
        )  # fmt: skip
    return panels


def make_problem(panel: Panel, A: Any, b: np.ndarray) -> Problem:
    """The problem of a panel on its data."""
    return Problem(A, b, panel.loss, L2(panel.l2))


def _first(
    names: tuple[str, ...], folder: str | Path | None, download: bool
) -> tuple[str, Any, np.ndarray] | None:
    """The first data set of several that is there, or can be had."""
    for name in names:
        try:
            data = load(name, download=download, folder=folder)
        except (OfflineError, ImportError):
            continue
        assert data.b is not None
        return name, data.A, np.where(data.b > 0, 1.0, -1.0)
    return None


def _source(key: str, name: str, A: Any, b: np.ndarray, settings: Settings) -> Source:
    """Prepare the data of a panel."""
    original = name == PAPER.get(key, ("",))[0]
    if name == "gisette-like":
        A = unit_range(A)
    if key == "gisette" and settings.thin > 1 and A.shape[0] > 3000:
        k = settings.thin
        A, b, original = np.ascontiguousarray(A[::k, ::k]), b[::k], False
        name = f"{name}, every {k}th row and column"
    title = f"{name}, {A.shape[0]} x {A.shape[1]}"
    return Source(key, name, title, original, A, b)


def unit_range(A: Any) -> np.ndarray:
    """Each feature to [-1, 1], a constant one to 0, as LIBSVM's scaled files are."""
    dense = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float)
    low, high = dense.min(axis=0), dense.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.asarray(np.where(high > low, 2.0 * (dense - low) / spread - 1.0, 0.0))


def full_columns(A: Any) -> Any:
    """The columns with stored entries: the others do not matter, but cost uniform draws."""
    columns = sp.csc_array(A)
    return sp.csr_array(columns[:, np.diff(columns.indptr) > 0])


def _gaussian(n: int, d: int) -> tuple[str, Any, np.ndarray]:
    A, b = make_synthetic(n, d, seed=1)
    return f"gaussian {n} x {d}", A, b


def _digits() -> tuple[str, Any, np.ndarray]:
    """scikit-learn's handwritten digits, even or odd: pixels and products, as gisette has."""
    from sklearn.datasets import load_digits

    pixels, digit = load_digits(return_X_y=True)
    left, right = np.triu_indices(pixels.shape[1])
    products = pixels[:, left] * pixels[:, right]
    keep = np.argsort(-products.var(axis=0), kind="stable")[:1500]  # n slightly above d
    return "digits-products", unit_range(products[:, keep]), np.where(digit % 2 == 0, 1.0, -1.0)


def _words() -> tuple[str, Any, np.ndarray]:
    """Sparse data with the popularity of words: column j is stored with a share near 1/j."""
    rng = np.random.default_rng(2)
    n, d, length = 2000, 5000, 60
    share = 1.0 / np.arange(1, d + 1)
    columns = rng.choice(d, size=(n, length), p=share / share.sum())
    rows = np.repeat(np.arange(n), length)
    A = sp.csr_array((np.ones(n * length), (rows, columns.ravel())), shape=(n, d))
    A.sum_duplicates()
    A.data = 1.0 + np.log(A.data)
    A = sp.csr_array(A.multiply(1.0 / np.sqrt(A.power(2).sum(axis=1))[:, None]))
    truth = rng.standard_normal(d)
    score = A @ truth
    b = np.where(score + 0.1 * rng.standard_normal(n) >= np.median(score), 1.0, -1.0)
    return "random-words", A, b


MADE: dict[str, Callable[[], tuple[str, Any, np.ndarray]]] = {
    "colon": partial(_gaussian, 62, 2000),
    "gisette": _digits,
    "rcv1": _words,
}
