"""A real task by the default, beside scikit-learn; then the paper's methods, and a picture.

Run it with ``make demo``, or ``python examples/demo.py --help``.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import spd1

LABELS = {
    "auto": "auto",
    "spd1-vr": "SPD1-VR",
    "spd1": "SPD1",
    "svrg": "SVRG",
    "saga": "SAGA",
    "psgd": "PSGD",
}
REPEATS = 5
L2 = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the picture"
    )
    parser.add_argument("--passes", type=float, default=100.0, help="passes of each method")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()

    print("1. The default, on a real task")
    X_train, X_test, y_train, y_test = breast_cancer()
    n, d = X_train.shape
    print(f"   Tell malignant from benign tumours: {n} patients to learn from, {len(y_test)} to")
    print(
        f"   judge by; {d} features, the 30 measured ones and their products (scikit-learn's data)."
    )
    print("   The first fit compiles kernels, once on this machine.")
    beside_scikit_learn(X_train, X_test, y_train, y_test)

    print("\n2. The paper's methods, on the same problem")
    print(
        "   SPD1 and SPD1-VR read one entry of the data per step, where SVRG and SAGA read a row."
    )
    print("   Expect SPD1-VR to come close to SVRG by passes over the data, and to be slower by")
    print("   seconds: single entries lie all over the memory. SPD1 and PSGD, without variance")
    print("   reduction, come to a coarse answer and stay there. auto is what solve() takes.")
    problem = spd1.Problem(X_train, y_train, loss="logistic", reg=spd1.L2(L2))
    path = draw(problem, options.out / "convergence.png", options.passes)
    print(f"\n   Picture: {path}")
    print(f"   All of it took {time.perf_counter() - began:.0f} s, compilation included.")
    print("   Next: spd1 --help, or README.md.")


def breast_cancer() -> tuple[Any, Any, Any, Any]:
    """30 standardised features and their 465 products, a third of the patients held out."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.33, random_state=0)
    prepare = make_pipeline(
        StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler()
    )
    return prepare.fit_transform(X_train), prepare.transform(X_test), y_train, y_test


def beside_scikit_learn(X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> None:
    """The same estimator of both packages: accuracy, what is proven, seconds."""
    from sklearn.linear_model import LogisticRegression as Theirs

    from spd1.linear_model import LogisticRegression as Ours

    strength = 1.0 / (L2 * len(y_train))  # scikit-learn's C for this l2
    models = {
        "spd1": Ours(C=strength),
        "spd1, tol=1e-5": Ours(C=strength, tol=1e-5),
        "scikit-learn": Theirs(C=strength, max_iter=1000),
    }
    print(f"\n   {'':14s} {'held-out':>9s} {'left to gain,':>15s} {'median s':>9s}")
    print(f"   {'':14s} {'accuracy':>9s} {'at most':>15s} {f'(of {REPEATS})':>9s}")
    for name, model in models.items():
        model.fit(X_train, y_train)  # compiles, or loads what is compiled
        seconds = []
        for _ in range(REPEATS):
            clock = time.perf_counter()
            model.fit(X_train, y_train)
            seconds.append(time.perf_counter() - clock)
        proof = spd1.certify(model, X_train, y_train)
        print(
            f"   {name:14s} {model.score(X_test, y_test):9.3f} {proof.rel_gap:15.1e} "
            f"{median(seconds):9.4f}"
        )
    print("\n   By default fits as small as this go on to rounding; tol=1e-5 ends about where")
    print("   scikit-learn's default does. What spd1 has proven:")
    print(f"   {models['spd1'].certificate_}")


def draw(problem: spd1.Problem, path: Path, passes: float) -> Path:
    """Run every method for the same number of passes and compare them by pass and by second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from spd1.plotting import compare

    optimum = spd1.solve(problem, tol=1e-13).dual
    results = {}
    print(
        f"\n   {'method':9s} {'passes':>6s} {'seconds':>9s} {'P(x) - P*':>10s} {'proven gap':>11s}"
    )
    for name, label in LABELS.items():
        result = spd1.solve(problem, name, tol=1e-9, max_passes=passes, verbose=False)
        results[label] = result
        left = max(float(np.min(result.trace.primal)) - optimum, 0.0)
        print(
            f"   {label:9s} {result.passes:6.0f} {result.seconds:9.4f} {left:10.1e} "
            f"{result.rel_gap:11.1e}"
        )
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
    compare(results, x="passes", optimum=optimum, ax=axes[0])
    compare(results, x="seconds", optimum=optimum, ax=axes[1])
    axes[1].set_xscale("symlog", linthresh=1e-3)
    axes[1].set_ylabel("")
    axes[0].get_legend().remove()
    figure.suptitle(
        f"Logistic regression, breast cancer with products, {problem.n} x {problem.d}, l2 = {L2}"
    )
    figure.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    main()
