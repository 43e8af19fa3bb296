"""The panels of the figures: which data, prepared how, and what runs where a file is missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..datasets import COLLECTION, OfflineError, find, load, make_synthetic
from ..problem import Problem
from ..regularizers import L2
from .settings import Settings

__all__ = ["Panel", "Source", "choose_sources", "file_name", "make_problem", "panels_of"]

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
LOSS_NAMES = {"logistic": "logistic", "squared_hinge": "squared hinge"}
QUICK_RCV1 = ("rcv1-subset", "rcv1.binary", "20news-compsci")


class Source(NamedTuple):
    """Data of a panel: its name as shown, whether it is the paper's, further draws of it.

    ``before`` is what it was thinned from, for tables.
    """

    panel: str
    name: str
    original: bool
    A: Any
    b: np.ndarray
    others: tuple[tuple[Any, np.ndarray], ...] = ()
    before: Source | None = None

    @property
    def title(self) -> str:
        """What a picture says of the data."""
        n, d = self.A.shape
        if self.panel.startswith("d"):
            return f"synthetic, n = {n}, d = {d}"
        return self.name + ("" if self.original else f" ({self.kind})") + f", {n} x {d}"

    @property
    def kind(self) -> str:
        """What data that is not the paper's is called."""
        return "reconstruction" if self.name == PAPER["colon"][0] else "stand-in"


class Panel(NamedTuple):
    """One picture of a figure: a problem and how far it is run."""

    key: str
    data: str
    title: str
    loss: str
    l2: float
    sampling: str
    horizon: int
    original: bool
    entries: int = 1  # that draws choose from: n d, or those stored
    stored: int = 1
    draws: int = 1

    @property
    def label(self) -> str:
        """What progress reports call it."""
        return f"{self.title.partition(chr(10))[0]}, {LOSS_NAMES[self.loss]}"

    def file(self, draw: int) -> str:
        """The scratch file of a draw of its data."""
        return file_name(self.key, draw)


def file_name(key: str, draw: int) -> str:
    """The scratch file of a draw of a panel's data."""
    return f"{key}-draw{draw + 1}" if draw else key


def choose_sources(
    wanted: list[str], settings: Settings, folder: str | Path | None, download: bool
) -> tuple[list[Source], list[str]]:
    """Load the data of the panels; also say what is missing and what runs instead."""
    sources: dict[str, Source] = {}
    missing: list[str] = []
    for key in wanted:
        if key.startswith("d"):
            sources[key] = _synthetic(key, settings)
            continue
        plain = key.removesuffix("-uniform")
        source = sources.get(plain) or _real(plain, settings, folder, download)
        original, note = PAPER[plain][0], f"{source.name} ({source.kind}) runs instead"
        if not source.original and not any(original in line for line in missing):
            missing.append(f"{original}: LIBSVM's file is not used, {note}")
        sources[key] = source if key == plain else uniform_part(source, settings)
    return list(sources.values()), missing


def panels_of(sources: list[Source], loss: str, settings: Settings) -> list[Panel]:
    """The panels of a figure."""
    panels = []
    for source in sources:
        key = source.panel
        l2 = 1e-3 if key.startswith("d") else PAPER[key.removesuffix("-uniform")][3]
        sampling, how = "uniform", ""
        if key.endswith("-uniform"):
            how = "\nuniform draws, as published"
        elif sp.issparse(source.A):
            sampling, how = "nonzeros", "\nnon-zero draws (ours)"
        title = f"{source.title}\n{LOSS_NAMES[loss]}, lambda = {l2:g}{how}"
        stored = source.A.nnz if sp.issparse(source.A) else source.A.size
        entries = stored if sampling == "nonzeros" else int(np.prod(source.A.shape))
        panels.append(
            Panel(
                key, source.name, title, loss, l2, sampling, settings.horizons[key],
                source.original, entries, int(stored), 1 + len(source.others),
            )
        )  # fmt: skip
    return panels


def make_problem(panel: Panel, A: Any, b: np.ndarray) -> Problem:
    """The problem of a panel on its data."""
    return Problem(A, b, panel.loss, L2(panel.l2))


def _synthetic(key: str, settings: Settings) -> Source:
    """The paper's synthetic data, drawn anew with seeds 0, 1, ...; noise of variance 1."""
    n, d = settings.wide if key == "d10000" else (1000, int(key[1:]))
    first, *others = [make_synthetic(n, d, seed=seed) for seed in range(settings.draws)]
    return Source(key, f"synthetic-{d}", d == int(key[1:]), *first, tuple(others))


def _real(key: str, settings: Settings, folder: str | Path | None, download: bool) -> Source:
    """The first data set of a panel's candidates that is there, or can be had; else made."""
    names = QUICK_RCV1 if key == "rcv1" and settings.name == "quick" else CANDIDATES[key]
    for name in names:
        try:
            data = load(name, download=download, folder=folder)
        except (OfflineError, ImportError):
            continue
        assert data.b is not None
        original = name == PAPER[key][0] and published(name, folder)
        return _prepared(key, name, original, data.A, np.where(data.b > 0, 1.0, -1.0), settings)
    name, A, b = MADE[key]()
    return _prepared(key, name, False, A, b, settings)


def published(name: str, folder: str | Path | None) -> bool:
    """Whether the file of a data set has the name that LIBSVM gives it."""
    path, remote = find(name, folder), Path(COLLECTION[name].remote).name
    return path is not None and path.name in (remote, remote.removesuffix(".bz2"))


def _prepared(
    key: str, name: str, original: bool, A: Any, b: np.ndarray, settings: Settings
) -> Source:
    if name == "gisette-like":
        A = unit_range(A)
    whole = Source(key, name, original, A, b)
    k = -(-A.shape[0] // settings.gisette_rows)
    if key != "gisette" or k == 1:
        return whole
    thinned = whole._replace(
        name=f"{name}, one row and column in {k}", original=False,
        A=np.ascontiguousarray(A[::k, ::k]), b=b[::k],
    )  # fmt: skip
    return thinned if settings.name == "quick" else thinned._replace(before=whole)


def uniform_part(source: Source, settings: Settings) -> Source:
    """As much of sparse data as uniform draws can go through, in the shape of the whole.

    Rows are taken at equal distances, of the columns those with most entries in these rows; the
    rows are scaled to norm 1 again. In a quick run it is stored with its zeros.
    """
    whole = sp.csr_array(source.A)
    n, d = whole.shape
    share = min(1.0, (settings.uniform_entries / (n * d)) ** 0.5)
    rows, columns = max(1, round(share * n)), max(1, round(share * d))
    take = np.linspace(0, n - 1, rows).round().astype(int)
    A = whole[take]
    counts = np.bincount(A.indices, minlength=d)
    A = sp.csr_array(sp.csc_array(A)[:, np.sort(np.argsort(-counts, kind="stable")[:columns])])
    norms = np.sqrt(np.asarray(A.power(2).sum(axis=1)).ravel())
    A = sp.csr_array(sp.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ A)
    key, name = f"{source.panel}-uniform", f"part of {source.name}"
    stored = A.toarray() if settings.dense_part else A
    return Source(key, name, source.original and share == 1.0, stored, source.b[take])


def unit_range(A: Any) -> np.ndarray:
    """Each feature to [-1, 1], a constant one to 0, as LIBSVM's scaled files are."""
    dense = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=float)
    low, high = dense.min(axis=0), dense.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    return np.asarray(np.where(high > low, 2.0 * (dense - low) / spread - 1.0, 0.0))


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
