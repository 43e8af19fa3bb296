"""Figure 5, our own: what SPD1 and SPD1-VR do with the steps of Theorems 1, 2 and 3.

Theorem 1's bound is three times the one the paper states: its own last inequality with its own
steps gives 3 sqrt(2d) L D (R + R') / sqrt(T) (docs/laboratory/method.md).

Theorem 2 does not hold with the steps it states. It is drawn with them, and with the steps and the
bound of ``theorem2``, with which its proof holds (docs/laboratory/theorem2.md).

The proofs of both write E[sup] = sup E. What they bound is sup E[F(x_hat, y) - F(x, y_hat)] over x
and y, not E[G], which is at least as large. Both are drawn; the first is estimated from the means
of the runs, which makes it a little too large.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..control.steps import Proposal
from ..datasets import make_synthetic
from ..files import replacing
from ..kernel.rng import key_of
from ..problem import Problem
from ..regularizers import L2, Box, ElasticNet
from ..solve import solve, starting_point
from ..solvers import method_class
from .drawing import new_figure, save, styled
from .theorem2 import mended_bound, stated_bound

__all__ = ["CAPTION", "Rate", "draw", "measure_rates", "write_csv"]

SEEDS = range(8)
SHAPE = (40, 20)
HORIZONS = (1, 3, 10, 30, 100, 300, 1000, 3000)  # passes of n d steps
LOOPS = 8
HALF_WIDTH, RATE_LAMBDA = 0.2, 0.5
ROUNDING = 1e-14  # distances below this share of the first are rounding
CAPTION = (
    "Figure 5. Measured against proven, n = 40, d = 20, eight seeds. Theorems 1 and 2: the mean "
    "gap E[G] of the averaged pair, and sup E[F(x_hat, y) - F(x, y_hat)], which is what the proofs "
    "bound. Theorem 3: the distance Delta_K to the saddle point. Theorem 2 fails with the steps it "
    "states; with mended steps its proof holds."
)


class Rate(NamedTuple):
    """Measured values and what a theorem proves."""

    key: str
    title: str
    unit: str
    across: np.ndarray
    measured: np.ndarray  # E[G], or Delta_K
    proven: np.ndarray  # what the proof bounds
    bound: np.ndarray

    @property
    def holds(self) -> bool:
        """Whether no measured value, E[G] included, is above the bound."""
        return bool(np.all(self.measured <= self.bound))

    @property
    def summary(self) -> str:
        """The measured rate beside the proven one."""
        if self.key == "Theorem 3":
            last = int(np.flatnonzero(self.measured > ROUNDING * self.measured[0])[-1])
            factor = (self.measured[last] / self.measured[0]) ** (1.0 / self.across[last])
            return f"factor {factor:.2g} a loop, proven 0.6"
        half = len(self.across) // 2
        slope = np.polyfit(np.log(self.across[half:]), np.log(self.measured[half:]), 1)[0]
        rate = "T^-0.5, bound x 3" if self.key == "Theorem 1" else "ln T / T"
        return f"T^{slope:.2f}, {'stated' if self.key == 'Theorem 2' else 'proven'} {rate}"


def measure_rates(longest: int = HORIZONS[-1]) -> list[Rate]:
    """Run all three, SPD1 for at most so many passes: some seconds."""
    A, b = make_synthetic(*SHAPE, seed=3)
    one = Problem(A, b, "hinge", Box(-HALF_WIDTH, HALF_WIDTH))
    two = Problem(A, b, "logistic", ElasticNet(l2=RATE_LAMBDA, lower=-HALF_WIDTH, upper=HALF_WIDTH))
    three = Problem(A, b, "logistic", L2(RATE_LAMBDA))
    passes = [horizon for horizon in HORIZONS if horizon <= longest]
    return [
        _spd1(one, "Theorem 1", theorem_1, "theory", passes),
        _spd1(two, "Theorem 2", stated_bound, "published", passes),
        _spd1(two, "Theorem 2, mended", mended_bound, "theory", passes),
        _vr(three),
    ]


def theorem_1(p: Problem, T: np.ndarray) -> np.ndarray:
    """3 sqrt(2d) L D (R + R') / sqrt(T)."""
    return np.asarray(3.0 * math.sqrt(2 * p.d) * p.L * p.D * (p.R + p.R_prime) / np.sqrt(T))


def _worker(problem: Problem, method: str, seed: int, source: str = "theory") -> Any:
    """The method at the theorem's start, with the theorem's steps, mended or as published."""
    worker = method_class(method)(problem, "uniform", key_of(seed))
    steps = worker.theory_steps() if source == "theory" else worker.published_steps()
    worker.adopt(Proposal(steps, source))
    worker.begin(*starting_point(problem, None, None))
    return worker


def _spd1(problem: Problem, key: str, bound: Any, source: str, passes: list[int]) -> Rate:
    T = np.array(passes, dtype=float) * problem.n * problem.d
    workers = [_worker(problem, "spd1", seed, source) for seed in SEEDS]
    measured, proven = [], []
    for steps in T:
        pairs = []
        for worker in workers:
            while worker.t < steps:
                for _ in worker.epoch():
                    pass
            pairs += worker.iterates()
        measured.append(np.mean([problem.primal(x) - problem.dual(y) for x, y in pairs]))
        proven.append(gap_of_means(problem, pairs))
    title = f"{key}: SPD1\n{_about(problem)}"
    return Rate(key, title, "steps T", T, np.array(measured), np.array(proven),
                bound(problem, T))  # fmt: skip


def _about(problem: Problem) -> str:
    """Loss, lambda and feasible set, as far as there are any."""
    parts = [type(problem.loss).__name__.lower()]
    if problem.mu > 0:
        parts.append(f"lambda = {problem.mu:g}")
    if math.isfinite(problem.D):
        parts.append(f"|x_j| <= {HALF_WIDTH:g}")
    return ", ".join(parts)


def gap_of_means(problem: Problem, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Take the sup over (x, y) of the mean of F(x_hat, y) - F(x, y_hat) over pairs (x_hat, y_hat).

    F is linear in x_hat but for g, and in y_hat but for phi*: only these keep their own means.
    """
    means = [np.mean(part, axis=0) for part in zip(*pairs, strict=True)]
    of_g = [_g(problem, x) for x, _ in pairs]
    of_phi = [_conjugates(problem, y) for _, y in pairs]
    above = problem.primal(means[0]) - _g(problem, means[0]) + np.mean(of_g)
    below = problem.dual(means[1]) + _conjugates(problem, means[1]) - np.mean(of_phi)
    return float(above - below)


def _g(problem: Problem, x: np.ndarray) -> float:
    reg = problem.reg
    return float(np.sum(reg.l1 * np.abs(x) + 0.5 * reg.l2 * x * x))


def _conjugates(problem: Problem, y: np.ndarray) -> float:
    """sum_i c_i phi*(y_i) = - D(y) - g*(v)."""
    reg, v = problem.reg, -problem.adjoint(problem.c * y)
    pull = np.sign(v) * np.maximum(np.abs(v) - reg.l1, 0.0)
    x = np.clip(pull / np.maximum(reg.l2, 1e-300), reg.lower, reg.upper)
    return float(-problem.dual(y) - (v @ x - _g(problem, x)))


def _vr(problem: Problem) -> Rate:
    best = solve(problem, "newton", tol=1e-15, max_seconds=20)
    x_star, y_star = best.x, best.y
    distances = np.zeros((len(SEEDS), LOOPS + 1))
    for seed in SEEDS:
        worker = _worker(problem, "spd1-vr", seed)
        eta, tau = worker.steps["eta"], worker.steps["tau"]
        for loop in range(LOOPS + 1):
            if loop:
                for _ in worker.epoch():
                    pass
            [(x, y)] = worker.iterates()
            parts = np.sum((x - x_star) ** 2) / eta, np.sum((y - y_star) ** 2) / tau
            distances[seed, loop] = sum(parts)
    across = np.arange(LOOPS + 1.0)
    mean = distances.mean(axis=0)
    title = f"Theorem 3: SPD1-VR\n{_about(problem)}"
    return Rate("Theorem 3", title, "outer loops K", across, mean, mean,
                mean[0] * 0.6**across)  # fmt: skip


def draw(folder: Path, rates: list[Rate]) -> list[Path]:
    """One panel a theorem."""
    figure, axes = new_figure(1, len(rates), title_lines=3)
    for ax, rate in zip(axes[0], rates, strict=True):
        _draw_rate(ax, rate)
    return save(figure, folder, "figure5", legend_from=axes[0, 0])


@styled
def _draw_rate(ax: Any, rate: Rate) -> None:
    ax.plot(rate.across, rate.bound, color="#000000", linestyle="--", label="bound")
    ax.plot(
        rate.across,
        rate.measured,
        color="#0072B2",
        marker="o",
        label="measured: mean of G, or of Delta_K",
    )
    if rate.key != "Theorem 3":
        ax.plot(rate.across, rate.proven, color="#D55E00", marker="v", linestyle=":",
                label="sup over x, y of the mean: what the proof bounds")  # fmt: skip
    ax.set(yscale="log", xlabel=rate.unit, title=f"{rate.title}\n{rate.summary}")
    if rate.key != "Theorem 3":
        ax.set_xscale("log")
        ax.set_ylabel("duality gap")
    else:
        ax.set_ylabel("Delta_K")
        ax.xaxis.get_major_locator().set_params(integer=True)


def write_csv(path: Path, rates: list[Rate]) -> None:
    """Every point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["theorem", "steps_or_loops", "measured", "sup_of_means", "bound"])
    for rate in rates:
        for row in zip(rate.across, rate.measured, rate.proven, rate.bound, strict=True):
            writer.writerow([rate.key, *(repr(float(v)) for v in row)])
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())
