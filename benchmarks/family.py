"""What the methods of the family cost a step on sparse data, and what their rates predict.

    python benchmarks/family.py --costs [FILE]     # nanoseconds an entry read; default: like rcv1
    python benchmarks/family.py --rates FILE --l2 0.01

--costs runs every method on sparse data, and on the same with nine times as many empty columns
beside it. A method whose step costs the entries it reads does not mind; one whose step costs d
takes about ten times as long. Processor time, the least of three runs of a few epochs each.

--rates prints the passes to a relative gap of 1e-6 that each method's own theorem speaks of,
ln(1e6) times what it needs for a factor e, logarithms of other things left out, and the passes that
it took with automatic steps.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import spd1
from spd1.io import read_libsvm
from spd1.kernel.rng import key_of
from spd1.solvers import FAMILY_METHODS, METHODS, method_class
from spd1.solvers.base import spectral_norm

PRIMAL = {"psgd", "svrg", "saga"}
EPOCHS = 3


def text_like(n: int = 1700, d: int = 47_000, each: int = 78) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of length one with as many words as rcv1-subset has, some words far more often."""
    rng = np.random.default_rng(0)
    columns = np.minimum((d * rng.random(n * each) ** 3).astype(int), d - 1)
    rows = np.repeat(np.arange(n), each)
    A = sp.csr_array((rng.random(n * each), (rows, columns)), shape=(n, d))
    A.sum_duplicates()
    A = sp.csr_array(sp.diags_array(1.0 / np.sqrt(A.multiply(A).sum(axis=1))) @ A)
    return A, np.where(A @ rng.standard_normal(d) > 0, 1.0, -1.0)


def read(path: Path | None) -> tuple[Any, np.ndarray]:
    """A file, dense if most of it is stored."""
    if path is None:
        return text_like()
    A, b = read_libsvm(path)[:2]
    return (A.toarray() if A.nnz > 0.5 * math.prod(A.shape) else sp.csr_array(A)), b


def nanoseconds(problem: spd1.Problem, name: str) -> float:
    """Processor time an entry read, of a few epochs without looks at the certificate."""
    best = math.inf
    for _ in range(3):
        worker = method_class(name)(problem, "auto", key_of(0))
        worker.steps = worker.default_steps()
        x = np.zeros(problem.d)
        worker.begin(x, -0.5 * problem.b)
        for _ in worker.epoch():  # compiles, and reads norms
            pass
        before, start = worker.ledger.entries, time.process_time()
        for _ in range(EPOCHS):
            for _ in worker.epoch():
                pass
        spent = time.process_time() - start
        best = min(best, 1e9 * spent / (worker.ledger.entries - before))
    return best


def costs(path: Path | None) -> None:
    A, b = read(path)
    wide = sp.csr_array((A.data, A.indices, A.indptr), shape=(A.shape[0], 10 * A.shape[1]))
    print(f"{A.shape[0]} x {A.shape[1]}, {A.nnz} entries; ns an entry\n")
    print(f"{'method':20}{'as it is':>10}{'10 d':>10}{'ratio':>8}")
    for name in [*METHODS, *FAMILY_METHODS]:
        problems = (spd1.Problem(data, b, "logistic", spd1.L2(1e-3)) for data in (A, wide))
        one, ten = (nanoseconds(problem, name) for problem in problems)
        print(f"{name:20}{one:>10.1f}{ten:>10.1f}{ten / one:>8.1f}", flush=True)


def predictions(p: spd1.Problem) -> dict[str, float]:
    """Passes for a factor e, by the theorems of docs/laboratory/family.md."""
    n, d, stored = p.n, p.d, p.stored
    R2 = float((n * p.c * p.row_norms_squared).max())
    kappa = R2 / (p.mu * p.gamma)
    whole = 1.02 * spectral_norm(p) / math.sqrt(n * p.mu * p.gamma)

    def worker(name: str) -> Any:
        return method_class(name)(p, "auto", key_of(0))

    cross = {name: worker(name) for name in ("svrg-saddle", "saga-saddle", "svrg-saddle-acc")}
    lines = {
        name: 1.0 / min(one.pi[one.pi > 0].min(), one.rho[one.rho > 0].min())
        for name, one in cross.items()
    }
    of_a_pass = {name: one.entries_a_step / stored for name, one in cross.items()}
    N = float(cross["svrg-saddle-acc"].a_pass)
    doubly = worker("dspdc")
    doubly.steps = doubly.theory_steps()
    both = (stored / n + stored / d) / stored
    acc, s2cd = worker("spd1-vr-acc"), worker("s2cd")
    root = math.sqrt(kappa / n)
    entry = 3.0 * 2.0 * max(2.0, 2.0 * math.sqrt(acc.condition() / n))
    return {
        "sdca": 1.0 + kappa / n,
        "asdca": 1.0 + root,
        "spdc": 1.0 + root,
        "katyusha": 1.0 + root,
        "svrg": 1.0 + kappa / n,
        "saga": 1.0 + kappa / n,
        "chambolle-pock": 2.0 * (0.5 + 0.5 * whole),
        "extragradient": 4.0 * whole,
        "svrg-saddle": 2.0 + 4.0 * cross["svrg-saddle"].kappa * of_a_pass["svrg-saddle"],
        "saga-saddle": of_a_pass["saga-saddle"]
        * max(1.5 * lines["saga-saddle"], 4.0 * cross["saga-saddle"].kappa),
        "svrg-saddle-acc": 3.0
        * of_a_pass["svrg-saddle-acc"]
        * (N + math.sqrt(N * cross["svrg-saddle-acc"].kappa)),
        "dspdc": both / (1.0 - doubly.contraction()),
        "s2cd": 1.0 + s2cd.total / p.mu / n,
        "spd1-vr-acc": entry,
    }


def rates(path: Path | None, l2: float, passes: float, seconds: float) -> None:
    A, b = read(path)
    p = spd1.Problem(A, b, "logistic", spd1.L2(l2))
    found = predictions(p)
    print(f"{p.n} x {p.d}, l2 = {l2:g}; passes to 1e-6\n")
    print(f"{'method':20}{'by its rate':>12}{'measured':>10}")
    for name, factor in sorted(found.items(), key=lambda pair: pair[1]):
        run: Callable[..., Any] = spd1.solve
        result = run(p, name, tol=1e-6, max_passes=passes, max_seconds=seconds, random_state=0)
        took = f"{result.passes:.0f}" if result.status == "converged" else result.status
        print(f"{name:20}{math.log(1e6) * factor:>12.0f}{took:>10}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--l2", type=float, default=1e-2)
    parser.add_argument("--max-passes", type=float, default=50_000.0)
    parser.add_argument("--max-seconds", type=float, default=60.0)
    args = parser.parse_args()
    if args.costs:
        costs(args.file)
    if args.rates:
        rates(args.file, args.l2, args.max_passes, args.max_seconds)


if __name__ == "__main__":
    main()
