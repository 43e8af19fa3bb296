"""The race on problems that nobody can learn by heart: each seed is one, from realistic data.

    python benchmarks/random_race.py --seeds 0-59                 what may be tuned on
    python benchmarks/random_race.py --seeds 60-119               what is reported
    python benchmarks/random_race.py --seeds 0-59 --no-peers      only spd1, peers as kept
    python benchmarks/regret.py --seeds 0-59                      auto against our own methods

Shapes from 100 x 100 to 100,000 x 1,000 and 1,000 x 100,000, dense and sparse; row lengths and the
popularity of columns from uniform to Zipf; binary, tf-idf and Gaussian values; correlated columns,
common directions, label noise, empty rows and columns; l2 from 1e-1 to 1e-6, l1 from 0.3 to 0.003
of its maximum; the six kinds of race.py, whose clock, peers and report are used.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from race import Race, one_thread, say, shared_arguments
from race_problems import FAMILY_LOSS, Instance, l1_max, narrow
from race_report import report

MOST_DENSE = 2e7  # entries
MOST_STORED = 4e6


@dataclass(frozen=True)
class Seed:
    """A problem before it is drawn."""

    number: int

    @property
    def name(self) -> str:
        family = tuple(FAMILY_LOSS)[self.number % len(FAMILY_LOSS)]
        return f"{family}/random-{self.number}"


def shape_of(rng: np.random.Generator) -> tuple[int, int]:
    """Log-uniform, within 100 x 100 to 1e5 x 1e3 and 1e3 x 1e5."""
    while True:
        n, d = (int(10.0 ** rng.uniform(2, 5)) for _ in range(2))
        if min(n, d) <= 1000 or (n <= 20_000 and d <= 40_000):
            return n, d


def dense_data(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    A = rng.standard_normal((n, d))
    kind = rng.choice(["independent", "chain", "factors", "common"])
    if kind == "chain":
        rho = rng.uniform(0.3, 0.95)
        for j in range(1, d):
            A[:, j] = rho * A[:, j - 1] + math.sqrt(1 - rho * rho) * A[:, j]
    elif kind == "factors":
        r = int(rng.integers(2, 20))
        A += rng.uniform(0.5, 3.0) * rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
    elif kind == "common":
        A += rng.uniform(0.5, 3.0) * rng.standard_normal((n, 1))
    if rng.random() < 0.3:
        A *= 10.0 ** rng.uniform(-1, 1, d)
    if rng.random() < 0.7:
        A = (A - A.mean(axis=0)) / A.std(axis=0)
    return A


def sparse_data(rng: np.random.Generator, n: int, d: int) -> sp.csr_matrix:
    mean = min(10.0 ** rng.uniform(0.7, 2.5), 0.3 * d, MOST_STORED / n)
    lengths = rng.poisson(mean, n) if rng.random() < 0.5 else rng.geometric(1.0 / mean, n)
    lengths = np.minimum(np.maximum(lengths, 0), d // 2)
    popularity = np.arange(1, d + 1, dtype=float) ** -rng.choice([0.0, 0.5, 1.0, 1.3])
    columns = rng.choice(d, int(lengths.sum()), p=popularity / popularity.sum())
    rows = np.repeat(np.arange(n), lengths)
    A = sp.coo_matrix((np.ones(len(rows)), (rows, columns)), (n, d)).tocsr()
    kind = rng.choice(["binary", "tf-idf", "gaussian"])
    if kind == "binary":
        A.data[:] = 1.0
    elif kind == "gaussian":
        A.data = rng.standard_normal(A.nnz)
    else:
        seen = np.bincount(A.indices, minlength=d)
        A.data = (1.0 + np.log(A.data)) * np.log((1.0 + n) / (1.0 + seen[A.indices]))
        length = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
        A = sp.diags(1.0 / np.where(length > 0, length, 1.0)) @ A
    return narrow(sp.csr_matrix(A))


def instance_of(seed: Seed) -> Instance:
    """Draw the data, a sparse truth, noisy labels or targets, and the penalties."""
    rng = np.random.default_rng([14, seed.number])
    family = seed.name.split("/")[0]
    loss = FAMILY_LOSS[family]
    n, d = shape_of(rng)
    dense = n * d <= MOST_DENSE and rng.random() < 0.45
    A = dense_data(rng, n, d) if dense else sparse_data(rng, n, d)
    truth = rng.standard_normal(d) * (rng.random(d) < 10.0 ** rng.uniform(-2.5, 0))
    signal = A @ truth
    signal = signal / max(float(signal.std()), 1e-12)
    b = signal + rng.choice([0.1, 0.5, 2.0]) * rng.standard_normal(n)
    if loss != "squared":
        b = np.where(b > np.quantile(b, rng.uniform(0.2, 0.8)), 1.0, -1.0)
    size = float(sp.csr_matrix(A).power(2).sum() if sp.issparse(A) else (A * A).sum()) / n
    l2 = 0.0 if family in ("l1-logistic", "lasso") else size * 10.0 ** rng.uniform(-6, -1)
    fraction = 0.0 if family.startswith("l2-") else 10.0 ** rng.uniform(math.log10(0.003), -0.52)
    l1 = fraction * l1_max(A, b, loss)
    return Instance(seed.name, A, b, loss, l1, l2)


def stored_in(one: Instance) -> int:
    """Stored entries."""
    return int(one.A.nnz if one.sparse else one.A.size)


class RandomShelf:
    """Stands for the data sets of the race."""

    def __init__(self, most: float) -> None:
        self.most = most

    def instance(self, seed: Any) -> Instance:
        one = instance_of(seed)
        stored = stored_in(one)
        if stored > self.most:
            raise FileNotFoundError(f"{stored} stored entries, more than --most")
        kind = "sparse" if one.sparse else "dense"
        say(f"  {kind} {one.n} x {one.d}, {stored} stored, l1 {one.l1:.2g}, l2 {one.l2:.2g}")
        return one


def numbers(text: str) -> list[int]:
    """Seeds as in 0-59 or 3,7,12-14."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seeds", default="60-119", help="such as 0-59 or 3,7,12-14 (default 60-119)")
    add("--most", type=float, default=math.inf, help="skip problems with more stored entries")
    shared_arguments(parser, 5.0, 20.0)
    parser.set_defaults(data=None, cache=None)
    return parser.parse_args()


def main() -> None:
    one_thread()
    options = arguments()
    seeds = [Seed(number) for number in numbers(options.seeds)]
    race = Race(options)
    race.shelf = RandomShelf(options.most)  # type: ignore[assignment]
    if not options.report:
        race.go(seeds)  # type: ignore[arg-type]
    report(race.store, [seed.name for seed in seeds], options.method)


if __name__ == "__main__":
    main()
