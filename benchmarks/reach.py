"""Which methods reach a certified gap of 1e-6, problem by problem: docs/laboratory/family.md.

    python benchmarks/reach.py                                   # all of them, automatic steps
    python benchmarks/reach.py --steps theory --methods spdhg rpd --losses hinge --layouts sparse

Every loss with every regularizer, dense and sparse, 30 x 12 with about half of the entries stored.
A method that refuses a problem by name does not count for it. One line a method: on how many of
the problems it takes it was there, and the most passes; then those where it was not, with the gap
at the end. A problem ends at --max-passes. With NUMBA_DISABLE_JIT=1 nothing is compiled, which is
faster for a few problems of many kinds.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.errors import IncompatibleError
from spd1.losses import LOSSES
from spd1.solvers import FAMILY_METHODS, METHODS

NO_LINEAR_RATE = ("spd1", "psgd")  # the paper's own rates are 1/sqrt(N) and 1/N
REGULARIZERS = {
    "l2": spd1.L2(0.1),
    "l2 small": spd1.L2(0.003),
    "elastic": spd1.ElasticNet(l1=0.02, l2=0.1),
    "elastic box": spd1.ElasticNet(l1=0.02, l2=0.05, lower=-0.2, upper=0.3),
    "l1": spd1.L1(0.05),
    "box": spd1.Box(-0.5, 0.5),
    "l1 box": spd1.ElasticNet(l1=0.02, lower=-0.2, upper=0.3),
    "some l2": spd1.ElasticNet(l2=[0.0, *[0.1] * 11]),
}


class Outcome(NamedTuple):
    """What became of a method on a problem."""

    of: str
    status: str
    rel_gap: float
    passes: float


def problems(loss_name: str, layouts: list[str]) -> Iterator[tuple[str, spd1.Problem]]:
    """All regularizers with one loss, on the same data; the first column is an intercept."""
    rng = np.random.default_rng(7)
    n, d = 30, 12
    A = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    A[:, 0] = 1.0
    loss = LOSSES[loss_name]()
    scores = A @ rng.standard_normal(d) + rng.standard_normal(n)
    b = {
        "sign": np.where(scores > 0, 1.0, -1.0),
        "count": rng.poisson(np.exp(np.clip(scores, -2.0, 2.0))).astype(float),
        "real": scores,
    }[loss.label_kind]
    weights = rng.uniform(0.5, 2.0, n)
    for name, layout in itertools.product(REGULARIZERS, layouts):
        data = sp.csr_array(A) if layout == "sparse" else A
        yield (
            f"{loss_name}, {name}, {layout}",
            spd1.Problem(data, b, loss, REGULARIZERS[name], weights),
        )


def outcome(name: str, of: str, problem: spd1.Problem, steps: str, passes: float) -> Outcome | None:
    """One run; None where the method refuses the problem."""
    run: Any = spd1.solve
    try:
        found = run(problem, name, tol=1e-6, steps=steps, max_passes=passes, random_state=0)
    except IncompatibleError:
        return None
    return Outcome(of, found.status, found.rel_gap, found.passes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", choices=("auto", "theory"), default="auto")
    parser.add_argument("--max-passes", type=float, default=20_000.0)
    every = [name for name in (*METHODS, *FAMILY_METHODS) if name not in NO_LINEAR_RATE]
    parser.add_argument("--methods", nargs="+", default=every)
    parser.add_argument("--losses", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--layouts", nargs="+", default=["dense", "sparse"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for method in args.methods:
        start, found = time.process_time(), list[Outcome]()
        for loss in args.losses:
            for of, problem in problems(loss, args.layouts):
                one = outcome(method, of, problem, args.steps, args.max_passes)
                if one is not None:
                    found.append(one)
        there = [one for one in found if one.status == "converged"]
        most = max((one.passes for one in there), default=0.0)
        spent = time.process_time() - start
        print(
            f"{method:18} {len(there)} of {len(found)}, at most {most:,.0f} passes, {spent:.0f} s"
        )
        for one in found:
            if one.status != "converged":
                print(
                    f"    {one.of}: {one.status}, {one.rel_gap:.1e}, {one.passes:,.0f}", flush=True
                )


if __name__ == "__main__":
    main()
