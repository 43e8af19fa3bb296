"""The contenders: for each one, how a user calls it on  (1/n) sum phi + l1 |x|_1 + l2/2 |x|^2.

A ``Peer`` prepares its input once, outside the clock, and hands back ``run(setting)``, the timed
call; the setting is its own stopping tolerance (or number of epochs). Packages are imported when
a peer prepares: one that is not installed is left out by name.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from race_problems import Instance

Run = Callable[[float], np.ndarray]
# Half decades from loose to tight: what a user would turn to get more digits.
TOLERANCES = tuple(10.0 ** (-k / 2) for k in range(31))
EPOCHS = tuple(float(round(2 ** (k / 2))) for k in range(2, 29))
MANY = 1_000_000


@dataclass(frozen=True)
class Peer:
    """A solver of another package: what it can solve and how it is called."""

    name: str
    package: str
    families: tuple[str, ...]
    prepare: Callable[[Instance], Run]
    settings: tuple[float, ...] = TOLERANCES
    # Just-in-time compilers are warmed up on a toy: in the "parent", once for all problems, or in
    # the "child" where kernels come from disk and threads must not be alive at the fork.
    warm: str = ""
    dense_only: bool = False

    def solves(self, one: Instance) -> bool:
        return one.family in self.families and not (self.dense_only and one.sparse)

    def missing(self) -> str:
        """Why the peer cannot run here, or ''."""
        if importlib.util.find_spec(self.package) is None:
            return f"{self.package}: not installed"
        try:
            importlib.import_module(self.package)
        except Exception as problem:
            return f"{self.package}: does not import ({problem!r})"
        return ""


def toy_of(one: Instance) -> Instance:
    """A tiny problem of the same types, for compilers."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 6))
    b = np.where(A[:, 0] + rng.standard_normal(40) > 0, 1.0, -1.0)
    l1, l2 = 0.01 if one.l1 else 0.0, 0.1 if one.l2 else 0.0
    return Instance(one.name, sp.csr_matrix(A) if one.sparse else A, b, one.loss, l1, l2)


def l1_ratio(one: Instance) -> float:
    return one.l1 / (one.l1 + one.l2)


def estimator(make: Callable[[Instance, float], Any], data: str = "rows") -> Any:
    """Prepare for a scikit-learn style estimator: fit, then read ``coef_``.

    ``data`` is how the peer likes the matrix, "rows" or "columns".
    """

    def prepare(one: Instance) -> Run:
        A = one.columns if data == "columns" else one.A
        return lambda setting: np.ravel(make(one, setting).fit(A, one.b).coef_)

    return prepare


def all_peers() -> list[Peer]:
    from race_peers_more import more_peers
    from race_peers_sklearn import sklearn_peers

    return [*sklearn_peers(), *more_peers()]
