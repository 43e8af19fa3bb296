"""The way of one ``solve`` through the house: Python calls, modules, changes of module.

The second run of each problem is walked, kernels compiled. A call counts if it enters a Python
function of the package; a change is a call from another module of the package.

    python benchmarks/walk.py
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.linear_model import LogisticRegression

PACKAGE = str(Path(spd1.__file__).parent)


class Walk:
    """A profile function that follows one call."""

    def __init__(self) -> None:
        self.calls = self.changes = 0
        self.modules: set[str] = set()
        self.here = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call":
            return
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            return
        self.calls += 1
        self.modules.add(file)
        if file != self.here:
            self.changes += 1
            self.here = file


def follow(action: Callable[[], Any]) -> Walk:
    action()
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def problems() -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 50))
    b = np.sign(A @ rng.normal(size=50) + rng.normal(size=200))
    S = sp.random_array((3000, 2000), density=0.02, rng=rng, format="csr")
    t = np.sign(S @ rng.normal(size=2000) + 0.1 * rng.normal(size=3000))
    L = rng.normal(size=(100, 400))
    y = L[:, :5].sum(axis=1) + 0.1 * rng.normal(size=100)
    l1 = 0.1 * float(np.abs(L.T @ y).max()) / 100
    return {
        "dense logistic": lambda: spd1.solve(spd1.Problem(A, b, "logistic", spd1.L2(1e-2))),
        "sparse rows": lambda: spd1.solve(spd1.Problem(S, t, "logistic", spd1.L2(1e-3))),
        "lasso": lambda: spd1.solve(spd1.Problem(L, y, "squared", spd1.L1(l1))),
        "hinge": lambda: spd1.solve(spd1.Problem(A, b, "hinge", spd1.L2(1e-2))),
        "LogisticRegression": lambda: LogisticRegression().fit(A, b),
    }


def main() -> None:
    print(f"{'':20s}{'calls':>7s}{'modules':>9s}{'changes':>9s}")
    for name, action in problems().items():
        walk = follow(action)
        print(f"{name:20s}{walk.calls:7d}{len(walk.modules):9d}{walk.changes:9d}")


if __name__ == "__main__":
    main()
