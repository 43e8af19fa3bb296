"""Theorem 2 of the paper against its exact counterexample (docs/laboratory/theorem2.md).

Prints E[G] of SPD1 with the published steps, by an exact recursion, beside the bound that the
theorem states; the same with the mended steps; and a simulation that checks the recursion.

    python benchmarks/theorem2.py [--d 20]
"""

from __future__ import annotations

import argparse

import numpy as np

from spd1.reproduce.theorem2 import (
    excess_of_x,
    excess_of_y,
    expected_gaps,
    mended_steps,
    published_steps,
    smallest_stated_bound,
)

HORIZONS = [10**4, 10**5, 10**6, 10**7]
SMALL = 200
RUNS = 20_000


def simulate(d: int, T: int, runs: int, seed: int = 0) -> tuple[float, float]:
    """Mean of G over runs of SPD1 with mu = 1, and its standard error."""
    rng = np.random.default_rng(seed)
    error, sums = np.ones((runs, d)), np.zeros((runs, d))
    every = np.arange(runs)
    for t in range(T):
        sums += error
        eta = 2.0 / (t + 4.0)
        error[every, rng.integers(d, size=runs)] /= 1.0 + eta
    gaps = 0.5 * np.sum((sums / T) ** 2, axis=1)
    return float(gaps.mean()), float(gaps.std() / np.sqrt(runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--d", type=int, default=20)
    d = parser.parse_args().d
    print(f"n = 1, phi(u) = u, a = (1, ..., 1), g = |x|^2 / 2 on the box |x_j| <= 2, d = {d}")
    print("published steps: E[G] exactly, mu/2 |E x_hat - x*|^2 below it, the stated bound")
    names = ("T", "E[G]", "below", "bound", "E[G]/bound", "below/bound")
    print("".join(f"{name:>12}" for name in names))
    for m in expected_gaps(d, HORIZONS):
        bound = smallest_stated_bound(d, m.T)
        row = (m.gap, m.lower, bound, m.gap / bound, m.lower / bound)
        print(f"{m.T:>12,}" + "".join(f"{value:>12.3g}" for value in row))
    print("mended steps: E[G] exactly")
    for m in expected_gaps(d, HORIZONS, mended=True):
        print(f"{m.T:>10,} {m.gap:>10.3g}   T E[G] = {m.T * m.gap:.4g}")
    [exact] = expected_gaps(d, [SMALL])
    mean, error = simulate(d, SMALL, RUNS)
    print(f"T = {SMALL}: exact {exact.gap:.6g}, {RUNS:,} simulated runs {mean:.6g} +- {error:.2g}")
    print(f"where the recursion does not close, t = 1 ... 999, n = 30, d = {d}:")
    t = np.arange(1000.0)
    eta, tau = published_steps(t, 30, d, 1.0, 1.0)
    for name, pair in {
        "published": (eta, tau),
        "published, eta times d": (d * eta, tau),
        "mended": mended_steps(t, 30, d, 1.0, 1.0),
    }.items():
        bad = [
            1 + np.flatnonzero(excess > 1e-9 * abs(excess).max() + 1e-12)
            for excess in (excess_of_x(pair[0], d, 1.0), excess_of_y(pair[1], 30, d, 1.0))
        ]
        x, y = (f"t = {b[0]} ... {b[-1]}" if len(b) else "nowhere" for b in bad)
        print(f"  {name}: x {x}; y {y}")


if __name__ == "__main__":
    main()
