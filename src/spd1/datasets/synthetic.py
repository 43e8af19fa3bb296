"""Data made on the spot, as the paper does."""

from __future__ import annotations

import numpy as np

from ..kernel.seeds import check_seed

__all__ = ["make_synthetic"]


def make_synthetic(
    n: int = 1000, d: int = 10_000, noise: float = 1.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """The paper's synthetic problem: Gaussian data, labels from a Gaussian direction.

    ``A`` and ``x`` have independent N(0, 1) entries; ``b = sign(A x + noise * N(0, 1))``.

    Examples
    --------
    >>> A, b = make_synthetic(n=5, d=3)
    >>> A.shape, sorted(set(b)) == [-1.0, 1.0] or len(set(b)) == 1
    ((5, 3), True)
    """
    check_seed(seed, "seed")
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d))
    b = np.where(A @ rng.standard_normal(d) + noise * rng.standard_normal(n) >= 0, 1.0, -1.0)
    return A, b
