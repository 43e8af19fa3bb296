"""Small problems that look for the limits of float64, one for every seed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from spd1 import ElasticNet, Problem
from spd1.losses import (
    LOSSES,
    EpsilonInsensitive,
    Huber,
    Quantile,
    SmoothedHinge,
    SquaredEpsilonInsensitive,
)

__all__ = ["Hostile", "hostile"]

PARAMETERS = [
    Huber(0.5), Huber(1e-3), Huber(1e3), Quantile(0.9), Quantile(0.1), Quantile(1 / 3),
    SmoothedHinge(0.3), SmoothedHinge(1e-3), EpsilonInsensitive(0.0), EpsilonInsensitive(0.7),
    SquaredEpsilonInsensitive(0.0), SquaredEpsilonInsensitive(0.7),
]  # fmt: skip
LAYOUTS = [
    np.ascontiguousarray,
    np.asfortranarray,
    sp.csr_array,
    sp.csc_array,
    lambda A: A.astype(np.float32),
]
SMALLEST, LARGEST = 1e-150, 1e150


class Hostile(NamedTuple):
    """A problem, its data as handed over, and how it came about."""

    problem: Problem
    A: Any
    story: str


def hostile(seed: int) -> Hostile:
    """The problem of a seed."""
    rng = np.random.default_rng([20181203, seed])
    story: list[str] = []
    loss = _loss(rng)
    n, d = _shape(rng)
    focus = rng.random() < 0.4  # on columns without penalty that are nearly alike
    A = _alike(rng, n, d, story) if focus else _data(rng, n, d, story)
    layout = int(rng.integers(len(LAYOUTS)))
    if layout == 4:
        with np.errstate(all="ignore"):
            A = A.astype(np.float32).astype(float)
        A[~np.isfinite(A) | ((A != 0) & (np.abs(A) < 1e-37))] = 1.0
    b = _targets(rng, A, loss, story)
    c = _weights(rng, n, story)
    reg = _bare_net(rng, A, story) if focus else _net(rng, A, story)
    handed = LAYOUTS[layout](A)
    story.append(f"layout {layout}")
    return Hostile(Problem(handed, b, loss, reg, c), handed, f"{seed}: " + ", ".join(story))


def _loss(rng: np.random.Generator) -> Any:
    if rng.random() < 0.25:
        return PARAMETERS[rng.integers(len(PARAMETERS))]
    return LOSSES[list(LOSSES)[rng.integers(len(LOSSES))]]()


def _shape(rng: np.random.Generator) -> tuple[int, int]:
    if rng.random() < 0.05:
        return 40, 3
    n, d = (int(t) for t in np.exp(rng.uniform(0.0, np.log(12.99), 2)))
    return n, d


def _size(rng: np.random.Generator) -> float:
    """A scale: mostly moderate, now and then extreme."""
    most = float(rng.choice([3.0, 10.0, 50.0, 75.0], p=[0.5, 0.25, 0.125, 0.125]))
    return float(10.0 ** rng.uniform(-most, most))


def _data(rng: np.random.Generator, n: int, d: int, story: list[str]) -> np.ndarray:
    A = rng.standard_normal((n, d))
    if rng.random() < 0.2:
        A = np.round(A * 2)
        story.append("integers")
    if rng.random() < 0.3:
        A[rng.random((n, d)) < rng.uniform(0.1, 0.8)] = 0.0
        story.append("sparse")
    if rng.random() < 0.3:
        A[:, rng.integers(d)] = 1.0
        story.append("constant")
    if rng.random() < 0.15:
        A += 10.0 ** rng.uniform(0, 8)
        story.append("means")
    if d > 1 and rng.random() < 0.45:
        _collinear(rng, A, story)
    if rng.random() < 0.15:
        A[rng.integers(n), rng.integers(d)] *= 10.0 ** rng.uniform(3, 14)
        story.append("outlier")
    if rng.random() < 0.15:
        A *= _size(rng)
        story.append("scaled")
    if rng.random() < 0.25:
        A *= [_size(rng) if rng.random() < 0.5 else 1.0 for _ in range(d)]
        story.append("columns scaled")
    if rng.random() < 0.1:
        A *= np.array([[_size(rng)] if rng.random() < 0.5 else [1.0] for _ in range(n)])
        story.append("rows scaled")
    if rng.random() < 0.1:
        A[rng.integers(n)] = 0.0
        story.append("empty row")
    if rng.random() < 0.1:
        A[:, rng.integers(d)] = 0.0
        story.append("empty column")
    size = np.abs(A)
    A[(size < SMALLEST) & (size > 0)] = SMALLEST
    return np.clip(A, -LARGEST, LARGEST)


def _alike(rng: np.random.Generator, n: int, d: int, story: list[str]) -> np.ndarray:
    """Columns that differ from combinations of others by about a rounding error, or a bit more."""
    A = rng.standard_normal((n, d))
    if rng.random() < 0.5:
        A[:, 0] = 1.0
    for k in range(1, d):
        if rng.random() < 0.6:
            power = rng.uniform(9, 17)
            part = np.zeros(d)
            part[:k] = rng.standard_normal(k) * (rng.random(k) < 0.6)
            noise = rng.standard_normal(n) * (rng.random(n) < rng.choice([0.2, 1.0]))
            A[:, k] = A[:, :k] @ part[:k] + 10.0**-power * noise
            story.append(f"near 1e-{power:.1f}")
    if rng.random() < 0.3:
        A[rng.integers(n), rng.integers(d)] *= 10.0 ** rng.uniform(3, 14)
        story.append("outlier")
    if rng.random() < 0.3:
        A *= 10.0 ** rng.uniform(-6, 6, d)
        story.append("columns scaled")
    if rng.random() < 0.2:
        A *= 10.0 ** rng.uniform(-6, 6, (n, 1))
        story.append("rows scaled")
    return A[:, rng.permutation(d)]


def _bare_net(rng: np.random.Generator, A: np.ndarray, story: list[str]) -> ElasticNet | None:
    """Most columns without penalty, some with next to none, some with bounds on one side."""
    d = A.shape[1]
    if rng.random() < 0.4:
        return None
    sizes = np.abs(A).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    kinds = rng.choice(["free", "l1", "l2", "faint", "up", "down", "both"], d,
                       p=[0.4, 0.14, 0.08, 0.04, 0.15, 0.15, 0.04])  # fmt: skip
    share = 10.0 ** -rng.uniform(0, float(rng.choice([3.0, 18.0])), d)
    l1 = np.where(kinds == "l1", sizes * share, 0.0)
    l2 = np.where(kinds == "l2", sizes**2 * share, 0.0)
    l2 = np.where(kinds == "faint", 10.0 ** -rng.uniform(20, 300), l2)
    wide = rng.choice([0.0, 1.0, -1.0], d) * 10.0 ** rng.uniform(-3, 5, d) / sizes
    lower = np.where(kinds == "up", wide, np.where(kinds == "both", -1.0 / sizes, -np.inf))
    upper = np.where(kinds == "down", wide, np.where(kinds == "both", 1.0 / sizes, np.inf))
    story.append("".join(kind[0] for kind in kinds.tolist()))
    return ElasticNet(l1, l2, lower, upper)


def _collinear(rng: np.random.Generator, A: np.ndarray, story: list[str]) -> None:
    """Some columns become, almost, combinations of others."""
    n, d = A.shape
    for _ in range(int(rng.integers(1, 3))):
        j, k = rng.choice(d, 2, replace=False)
        kind = rng.integers(4)
        if kind == 0:
            A[:, k] = A[:, j] * float(rng.choice([1.0, -1.0, 2.0, 3.0, 1 / 3, 0.1]))
        elif kind == 1:
            A[:, k] = A @ np.round(rng.standard_normal(d)) - A[:, k]
        else:
            power = int(rng.integers(2, 18))
            A[:, k] = A[:, j] + 10.0**-power * rng.standard_normal(n)
            story.append(f"near 1e-{power}")
    story.append("collinear")


def _targets(rng: np.random.Generator, A: np.ndarray, loss: Any, story: list[str]) -> np.ndarray:
    n, d = A.shape
    sizes = np.abs(A).max(axis=0)
    units = np.where(sizes > 0, 1.0 / np.where(sizes > 0, sizes, 1.0), 0.0)
    scores = A @ (rng.standard_normal(d) * units)
    if rng.random() < 0.7:
        scores = scores + rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 1)
    else:
        story.append("exact fit")
    if loss.label_kind == "sign":
        if rng.random() < 0.1:
            return np.ones(n)
        return np.where(scores > 0, 1.0, -1.0)
    if loss.label_kind == "count":
        b = rng.poisson(np.exp(np.clip(scores, -2, 3))).astype(float)
        return b * 10.0 ** rng.uniform(-3, 8) if rng.random() < 0.2 else b
    if rng.random() < 0.2:
        scores = scores + rng.choice([-1, 1]) * 10.0 ** rng.uniform(1, 10)
        story.append("target mean")
    if rng.random() < 0.2:
        scores = scores * _size(rng)
        story.append("targets scaled")
    if rng.random() < 0.05:
        scores = np.zeros(n)
    return scores


def _weights(rng: np.random.Generator, n: int, story: list[str]) -> np.ndarray | None:
    kind = rng.random()
    if kind < 0.6:
        return None
    story.append("weights")
    c = rng.random(n) if kind < 0.75 else 10.0 ** rng.uniform(-float(rng.choice([4, 12, 30])), 0, n)
    if rng.random() < 0.4:
        c[rng.random(n) < 0.3] = 0.0
    return c if c.sum() > 0 else None


def _net(rng: np.random.Generator, A: np.ndarray, story: list[str]) -> ElasticNet | None:
    """Penalties in the units of their columns, times a share that may be next to nothing."""
    d = A.shape[1]
    sizes = np.abs(A).max(axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    own = rng.random() < 0.5  # in each column's units; needs numbers per feature
    units = sizes if own else np.full(d, float(np.exp(np.mean(np.log(sizes)))))

    def share() -> float:
        most = float(rng.choice([2.0, 6.0, 16.0, 130.0, 300.0], p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        return float(10.0 ** -rng.uniform(0.0, most))

    kind = rng.choice(["none", "l1", "l2", "elastic", "box", "side", "mixture"])
    story.append(str(kind))
    if kind == "none":
        return None if rng.random() < 0.5 else ElasticNet()
    l1 = l2 = np.zeros(d)
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    if kind in ("l1", "elastic", "mixture") or rng.random() < 0.2:
        l1 = units * share()
    if kind in ("l2", "elastic", "mixture") or rng.random() < 0.2:
        l2 = units * units * share()
    if kind in ("box", "side") or (kind == "mixture" and rng.random() < 0.5):
        width = 10.0 ** rng.uniform(-4, 6)
        lower, upper = -width / units, width * rng.random() / units
        if rng.random() < 0.2:
            lower = np.abs(upper) * 0.5
        if kind == "side":
            sides = rng.random() < 0.5
            lower = np.where(sides, 0.0 if rng.random() < 0.7 else lower, -np.inf)
            upper = np.where(sides, np.inf, upper)
    if kind == "mixture":
        l1 = np.where(rng.random(d) < 0.5, l1, 0.0)
        l2 = np.where(rng.random(d) < 0.5, l2, 0.0)
        bare = rng.random(d) < 0.5
        lower, upper = np.where(bare, -np.inf, lower), np.where(bare, np.inf, upper)
    l2 = np.where((l2 > 0) & (l2 < 1e-306), 1e-306, np.minimum(l2, 1e306))
    l1 = np.minimum(l1, 1e306)
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    fields = (l1, l2, lower, upper)
    if not own and kind != "mixture":
        return ElasticNet(*(float(t[0]) for t in fields))
    return ElasticNet(*fields)
