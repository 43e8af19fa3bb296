"""Passes that SPD1-VR takes with uniform draws and with draws of stored entries, tuned alike.

    SPD1_DATA=FOLDER python benchmarks/nonzero_draws.py [--entries 1e6] [--loss logistic]

The data is a part of rcv1-subset with at most so many entries, zeros too, in the shape of the
whole: a pass of uniform draws takes a step for each of them. ``--entries 1e9`` is all of it, with
draws of stored entries only. Steps are tuned by the rule of ``spd1 reproduce``; for each accuracy
the best of all tries counts, with seed 0.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import spd1
from spd1.datasets import load
from spd1.reproduce.grids import COARSE, at_edge, best_point, fine, steps_at, units
from spd1.reproduce.problems import Source, uniform_part
from spd1.reproduce.runs import Curve, run_method
from spd1.reproduce.settings import FULL

METHOD = "spd1-vr"
ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MOST_UNIFORM = 2e7  # entries: more take hours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=float, default=1e6)
    parser.add_argument("--loss", default="logistic", choices=["logistic", "squared_hinge"])
    parser.add_argument("--l2", type=float, default=1e-3)
    parser.add_argument("--passes", type=int, default=30)
    asked = parser.parse_args()
    problem = part_of_rcv1(asked.entries, asked.loss, asked.l2)
    optimum = spd1.solve(problem, tol=1e-11).dual
    n, d = problem.n, problem.d
    print(f"{n} x {d}, {problem.stored} stored, {asked.loss}, l2 = {asked.l2:g}")
    print(f"{'passes to':<10}" + "".join(f"{a:>8.0e}" for a in ACCURACIES) + "  steps, tries")
    for sampling in ("uniform", "nonzeros"):
        if sampling == "nonzeros" or n * d <= MOST_UNIFORM:
            report(problem, sampling, asked.passes, optimum)


def part_of_rcv1(entries: float, loss: str, l2: float) -> spd1.Problem:
    data = load("rcv1-subset")
    source = Source("rcv1", "rcv1-subset", False, data.A, np.where(data.b > 0, 1.0, -1.0))
    part = uniform_part(source, FULL._replace(uniform_entries=int(entries)))
    return spd1.Problem(part.A, part.b, loss, spd1.L2(l2))


def report(problem: spd1.Problem, sampling: str, passes: int, optimum: float) -> None:
    curves = tuned(problem, sampling, passes)
    shown = []
    for accuracy in ACCURACIES:
        reached = [c.paper_passes[c.primal - optimum <= accuracy] for c in curves.values()]
        shown.append(min((float(r[0]) for r in reached if len(r)), default=math.inf))
    finals = {point: final(curve, passes) for point, curve in curves.items()}
    best = best_point(finals)
    steps = steps_at(METHOD, best, units(problem))
    text = " ".join(f"{name}={value:.2g}" for name, value in steps.items())
    print(f"{sampling:<10}" + "".join(f"{p:>8.3g}" for p in shown) + f"  {text}, {len(curves)}")


def tuned(problem: spd1.Problem, sampling: str, passes: int) -> dict[tuple[float, ...], Curve]:
    """Every try of one sampling, by the rule of ``reproduce.grids``."""
    unit = units(problem)
    curves: dict[tuple[float, ...], Curve] = {}

    def value(point: tuple[float, ...]) -> float:
        steps = steps_at(METHOD, point, unit)
        curves[point] = run_method(problem, METHOD, steps, 0, passes, sampling)
        return final(curves[point], passes)

    found = {point: value(point) for point in COARSE[METHOD]}
    search = fine(METHOD, found)
    point = next(search)
    while len(found) < FULL.tries or (
        len(found) < FULL.most_tries and at_edge(METHOD, best_point(found), found)
    ):
        found[point] = value(point)
        point = search.send(found[point])
    return curves


def final(curve: Curve, passes: int) -> float:
    """The objective at the end; infinite if the run stopped early."""
    reached = curve.paper_passes[-1] >= passes - 1e-9
    return float(curve.primal[-1]) if reached else math.inf


if __name__ == "__main__":
    main()
