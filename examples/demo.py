"""Solve the paper's synthetic problem and a real one, certify both, and draw the convergence.

Run it with ``make demo``, or ``python examples/demo.py --help``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import spd1
from spd1.datasets import make_synthetic

LABELS = {
    "spd1": "SPD1",
    "spd1-vr": "SPD1-VR",
    "psgd": "PSGD",
    "svrg": "SVRG",
    "saga": "SAGA",
    "rows": "row tiles",
    "auto": "auto",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the picture"
    )
    parser.add_argument("--seconds", type=float, default=50.0, help="time limit of a problem")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    synthetic = paper_problem()
    print(f"\n1. The paper's synthetic problem: {synthetic}")
    solve_aloud(synthetic, "auto", tol=1e-6, max_seconds=options.seconds)
    print("   The same by the paper's SPD1-VR, one entry a step, then a few whole rows a step:")
    solve_aloud(synthetic, "spd1-vr", tol=0.05, max_seconds=options.seconds)
    solve_aloud(synthetic, "spd1-vr", tol=1e-6, max_seconds=options.seconds, tile="auto")

    real = breast_cancer()
    print(f"\n2. Breast cancer data (scikit-learn): {real}")
    solve_aloud(real, "auto", tol=1e-9, max_seconds=options.seconds)

    print("\n3. The methods side by side (automatic steps, same seed)")
    path = draw(real, options.out / "convergence.png")
    print(f"\nPicture: {path}")


def paper_problem() -> spd1.Problem:
    """Gaussian data, n = 1000, d = 10000, logistic loss, l2 = 1e-3."""
    A, b = make_synthetic(n=1000, d=10_000)
    return spd1.Problem(A, b, loss="logistic", reg=spd1.L2(1e-3))


def breast_cancer() -> spd1.Problem:
    """569 patients, 30 standardised features and their 465 products: d close to n."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X = StandardScaler().fit_transform(PolynomialFeatures(2, include_bias=False).fit_transform(X))
    return spd1.Problem(X, 2.0 * y - 1.0, loss="logistic", reg=spd1.L2(0.1))


def solve_aloud(
    problem: spd1.Problem, method: str, tol: float, max_seconds: float, tile: str | None = None
) -> None:
    """Solve under a live progress line; say what is proven."""
    limits = {"max_passes": 10_000, "max_seconds": max_seconds}
    result = spd1.solve(problem, method, tol=tol, tile=tile, verbose=True, **limits)
    print(f"   {result}")
    print(f"   {result.certificate}")


def draw(problem: spd1.Problem, path: Path) -> Path:
    """Run every method for the same number of passes and compare them by pass and by second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from spd1.plotting import compare

    optimum = spd1.solve(problem, tol=1e-13).dual
    results = {}
    for name, label in LABELS.items():
        clock = time.perf_counter()
        result = spd1.solve(problem, name, tol=1e-10, max_passes=150)
        results[label] = result
        left = max(float(np.min(result.trace.primal)) - optimum, 0.0)
        print(
            f"   {label:9s} {result.passes:5.0f} passes  {result.seconds:6.3f} s  "
            f"P(x) - P* = {left:.1e}  certified gap {result.rel_gap:.1e}  "
            f"({time.perf_counter() - clock:.1f} s with compilation)"
        )
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
    compare(results, x="passes", optimum=optimum, ax=axes[0])
    compare(results, x="seconds", optimum=optimum, ax=axes[1])
    axes[1].set_xscale("symlog", linthresh=1e-3)
    axes[1].set_ylabel("")
    axes[0].get_legend().remove()
    figure.suptitle(
        f"Logistic regression, breast cancer with products, {problem.n} x {problem.d}, l2 = 0.1"
    )
    figure.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    main()
