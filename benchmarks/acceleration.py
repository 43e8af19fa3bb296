"""Does the condition number count by its root? Passes to a gap of 1e-8 against kappa.

    python benchmarks/acceleration.py [--size 100] [--picture docs/laboratory/acceleration.png]

Least squares with l2 on data whose singular values fall from 1 to 1e-3: whatever l2 is, there are
directions of its size, so that the condition number R^2 / (mu gamma) is felt. On data with a gap in
its spectrum every method looks better than its rate. Prints passes, and the slope in log-log.

What is proved: slope 1 for spd1-vr with the steps of Theorem 3 (Tan et al. 2018; its inner loop is
that long by definition); 1/2 for spd1-vr-acc with steps="theory" and for svrg-saddle-acc
(docs/laboratory/family.md; the latter: Alacaoglu & Malitsky 2022), for spd1-vr-catalyst up to
logarithms (Lin, Mairal & Harchaoui 2018, with Theorem 3 inside), for spdc (Zhang & Xiao 2017) and
katyusha (Allen-Zhu 2016). Automatic steps are only measured. "spd1-vr x128" takes Theorem 3's steps
times 128: eta tau R^2 = n / kappa, which makes the slope one; automatic steps become longer than
that.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

import spd1
from spd1.kernel.rng import key_of
from spd1.solvers import method_class

METHODS: dict[str, tuple[str, tuple[int, int] | None]] = {  # label -> method, tile
    "spd1-vr": ("spd1-vr", None),
    "spd1-vr x128": ("spd1-vr", None),
    "spd1-vr-acc": ("spd1-vr-acc", None),
    "spd1-vr-acc theory": ("spd1-vr-acc", None),
    "spd1-vr-acc 10x10": ("spd1-vr-acc", (10, 10)),
    "spd1-vr-catalyst": ("spd1-vr-catalyst", None),
    "svrg-saddle-acc": ("svrg-saddle-acc", None),
    "spdc": ("spdc", None),
    "katyusha": ("katyusha", None),
}
LEVELS = (1e-2, 1e-3, 1e-4, 1e-5)


def problem_of(size: int, l2: float, seed: int = 0) -> spd1.Problem:
    """Square data, the largest row of length 1: kappa = 1 / l2."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    A = U @ np.diag(np.logspace(0, -3, size)) @ V.T
    A /= math.sqrt(float((A**2).sum(axis=1).max()))
    b = A @ rng.standard_normal(size)
    return spd1.Problem(A, b / b.std() + 0.1 * rng.standard_normal(size), "squared", spd1.L2(l2))


def theorem_3(problem: spd1.Problem, factors: float) -> float:
    """Passes that Theorem 3's inner loops take for so many factors of five: 3 entries a step."""
    worker = method_class("spd1-vr")(problem, "auto", key_of(0))
    worker.theory_steps()
    return factors * (2.0 + 3.0 * worker.theory_inner_steps() / problem.stored)


def steps_of(label: str, problem: spd1.Problem) -> str | dict[str, float]:
    """What a label says of the steps."""
    if label.endswith("x128"):
        worker = method_class("spd1-vr")(problem, "auto", key_of(0))
        return {name: 128.0 * value for name, value in worker.theory_steps().items()}
    return "theory" if label.endswith("theory") else "auto"


def slopes(passes: dict[float, float]) -> tuple[float, float]:
    """Least-squares slope of log passes against log kappa, all of it and its last part."""
    known = [(math.log(1.0 / l2), math.log(p)) for l2, p in passes.items() if math.isfinite(p)]
    if len(known) < 2:
        return math.nan, math.nan
    across, up = np.array(known).T
    return float(np.polyfit(across, up, 1)[0]), float((up[-1] - up[-2]) / (across[-1] - across[-2]))


def measure(labels: list[str], size: int, limit: float) -> dict[str, dict[float, float]]:
    """Passes by method and l2, the median of three seeds; infinite beyond the limit."""
    found: dict[str, dict[float, float]] = {}
    for name in labels:
        found[name], (method, tile) = {}, METHODS[name]
        for l2 in LEVELS:
            problem, runs = problem_of(size, l2), []
            for seed in range(3):
                result = spd1.solve(
                    problem, method, tol=1e-8, max_passes=limit, random_state=seed, tile=tile,
                    steps=steps_of(name, problem),
                )  # fmt: skip
                runs.append(result.passes if result.status == "converged" else math.inf)
            found[name][l2] = float(np.median(runs))
            print(f"{name:18} kappa {1 / l2:9.0f}  passes {found[name][l2]:9.0f}", flush=True)
    return found


def draw(found: dict[str, dict[float, float]], path: Path) -> None:
    """Passes against kappa, with lines of slope 1/2 and 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")
    kappa = np.array([1.0 / l2 for l2 in LEVELS])
    for marker, (name, passes) in zip("os^vDPX<>", found.items(), strict=False):
        ax.loglog(kappa, list(passes.values()), marker=marker, label=name)
    low = min(next(iter(p.values())) for p in found.values())
    ax.loglog(kappa, low * np.sqrt(kappa / kappa[0]), "k:", linewidth=1, label="slope 1/2")
    ax.loglog(kappa, low * kappa / kappa[0], "k--", linewidth=1, label="slope 1")
    ax.set(xlabel="condition number R^2 / (mu gamma)", ylabel="passes to a gap of 1e-8")
    ax.grid(True, alpha=0.3)
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--limit", type=float, default=60_000.0, help="passes of a run")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--only", choices=METHODS, action="append", help="one of these")
    args = parser.parse_args()
    found = measure(args.only or list(METHODS), args.size, args.limit)
    factors = math.log(1e8) / math.log(5.0)
    print(f"\n{'':18}" + "".join(f"{1 / l2:>10.0f}" for l2 in LEVELS) + "     slope  last")
    for name, passes in found.items():
        whole, last = slopes(passes)
        line = "".join(f"{p:>10.0f}" for p in passes.values())
        print(f"{name:18}{line}{whole:>10.2f}{last:>6.2f}")
    theory = {l2: theorem_3(problem_of(args.size, l2), factors) for l2 in LEVELS}
    line = "".join(f"{p:>10.0f}" for p in theory.values())
    print(f"{'Theorem 3':18}{line}{slopes(theory)[0]:>10.2f}{slopes(theory)[1]:>6.2f}  (by its T)")
    if args.picture:
        draw(found, args.picture)


if __name__ == "__main__":
    main()
