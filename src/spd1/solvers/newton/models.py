"""The quadratic model of a working set, minimised: by sweeps, by Newton's step, on a Gram matrix.

q(z) = slope'dm + dm' diag(bend) dm / 2 + h(z),    dm = sum_l (z_l - z0_l) b_l
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ...engines.ledger import Ledger
from .charges import charges
from .linalg.gram import GramOfLines, minimise_on_gram, sweeps_until
from .linalg.subspace import face_costs, newton_on_face, pinned
from .linalg.working_set import Lines, forces
from .pace import Pace
from .tuning import (
    CG_EXPECTED,
    CROWDED,
    DECISIONS,
    ENOUGH,
    LEAST_SWEEPS,
    LITTLE,
    MOST_FUTILE,
    MOST_PATIENCE,
    MOST_SWEEPS,
    NEAR,
    SWEEP_GOAL,
    SWEEPS,
    WELL_CURVED,
    WORTHWHILE,
)

__all__ = ["Models", "WorkingSet"]


class WorkingSet(NamedTuple):
    """Coordinates, their lines, and their numbers: linear, l1, l2, lower, upper."""

    chosen: np.ndarray
    lines: Lines
    table: np.ndarray


class Next(Enum):
    """What to do after some sweeps."""

    ENOUGH = "the model is minimised as far as it need be"
    SWEEP = "sweep on"
    NEWTON = "Newton's step on the free coordinates"
    GRAM = "go on with a Gram matrix"


class Progress(NamedTuple):
    """What sweeps have shown: the gain of the last, its share of the one before, what is left."""

    gain: float
    rate: float
    left: float

    @classmethod
    def after(cls, gain: float, before: float) -> Progress:
        """Sweeps gain in a geometric progression, roughly: its sum is what is left to gain."""
        rate = min(gain / before, 0.999) if 0.0 < before < math.inf else 0.0
        return cls(gain, rate, gain * rate / (1.0 - rate))

    def sweeps_to(self, goal: float) -> float:
        """Sweeps until no more than the goal is left."""
        return sweeps_until(goal, self.left, self.rate)


class Models:
    """What the models of a face share from epoch to epoch."""

    def __init__(self, face: Any, pace: Pace, ledger: Ledger) -> None:
        p = face.problem
        self.face, self.pace, self.ledger = face, pace, ledger
        self.updates = 0  # of the slope
        self.spent = 0.0  # seconds of sweeps over a Gram matrix since Newton's last step there
        self.patience = 2  # slow epochs before Newton's step is tried again
        self.futile = 0  # Newton's steps in a row that gained less than sweeps would have
        self.curvature = np.full(face.coordinates, math.nan)
        self.gram: GramOfLines | None = None
        if face.has_gram:
            self.gram = GramOfLines(p.grid, face.quadratic, p.loss.conjugate_net is None)

    def minimise(self, work: WorkingSet, z: np.ndarray, slope: np.ndarray) -> bool:
        """Move z; returns whether ``slope``, the model's derivative in the margins, followed it."""
        if not len(work.chosen):  # nothing can move where what overflows is no number
            return True
        if self.gram is None or (work.lines.copied and not self.gram_pays(self.gram, work)):
            outcome = self.sweep(work, z, slope, self.curvatures_of(work))
            if outcome is not Next.GRAM or self.gram is None:
                return True
        self.solve_on_gram(self.gram, work, z, slope)
        return False

    # Curvatures

    def curvatures_of(self, work: WorkingSet) -> np.ndarray:
        """Second derivatives of the model; those of a quadratic are computed once."""
        face, chosen = self.face, work.chosen
        if not face.quadratic:
            return work.lines.curvatures(face.bend)
        unknown = np.isnan(self.curvature[chosen])
        if np.any(unknown):
            known = face.constant_curvatures(chosen[unknown])
            if known is None:
                known = work.lines.part(np.flatnonzero(unknown)).curvatures(face.bend)
            self.curvature[chosen[unknown]] = known
        return np.asarray(self.curvature[chosen])

    # On a Gram matrix

    def able(self, z: np.ndarray, gradient: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Which coordinates can move, or may soon: the further from the optimum, the more."""
        force = np.empty(len(z))
        forces(z, gradient, table, min(max(self.pace.nearness(), NEAR), 1.0), 0.0, force)
        return force > -math.inf

    def gram_pays(self, gram: GramOfLines, work: WorkingSet) -> bool:
        """Whether to go over to the Gram matrix of what moves without further sweeps."""
        face, (chosen, lines, table) = self.face, work
        if face.quadratic and self.pace.lazy == 0 and self.strongly_curved(work):
            return False
        part = gram.part(chosen, self.able(face.z[chosen], face.gradient[chosen], table))
        if not gram.pays(lines.part(part), chosen[part], lines.sweep):
            return False
        return gram.cost <= LITTLE or not self.pace.sweeps_will_do(gram.cost)

    def strongly_curved(self, work: WorkingSet) -> bool:
        """Whether l2 is a good part of the curvature of dense lines: a few sweeps may do."""
        l2 = float(np.mean(work.table[:, 2]))
        if not (work.lines.dense and l2 > 0.0 and len(self.face.z) <= work.lines.width):
            return False
        return float(np.mean(self.curvatures_of(work))) <= WELL_CURVED * l2

    def gram_is_cheaper(self, free: int, seconds: float) -> bool:
        """Whether Newton's step had better be taken on a Gram matrix, which serves again."""
        gram = self.gram
        return (
            gram is not None
            and gram.possible
            and (gram.cost + charges().factor * free**3 < 2.0 * seconds)
        )

    def solve_on_gram(
        self, gram: GramOfLines, work: WorkingSet, z: np.ndarray, slope: np.ndarray
    ) -> None:
        """Minimise the model over what can move, through the products of its lines."""
        chosen, lines, table = work
        g = lines.dots(slope)
        part = gram.part(chosen, self.able(z, g, table))
        if len(part) == 0:
            return
        G = gram.of(lines.part(part), chosen[part], self.face.bend)
        goal = self.pace.goal_on_gram(lines.count, len(self.face.z))
        moving, g = z[part], g[part]
        self.spent = minimise_on_gram(G, table[part], moving, g, goal, self.spent)
        z[part] = moving

    # On lines

    def sweeps_for(self, lines: int) -> int:
        """Sweeps over a small working set cost little beside the look at all coordinates."""
        return int(min(max(SWEEPS * len(self.face.z) / max(lines, 1), SWEEPS), MOST_SWEEPS))

    def sweep(
        self, work: WorkingSet, z: np.ndarray, slope: np.ndarray, curvature: np.ndarray
    ) -> Next:
        """Sweeps of coordinate descent, and Newton's step on the free ones when they cost more.

        Returns ``Next.ENOUGH``, or ``Next.GRAM`` if it is time to go on with a Gram matrix.
        """
        face, goal = self.face, SWEEP_GOAL * self.pace.eps
        _, lines, table = work
        few = sweeps = self.sweeps_for(lines.count)
        # On the dual what is left to gain tells little of the gap: a look must be worth its price.
        least = 1 if face.has_gram else LEAST_SWEEPS
        total = 0.0
        for _ in range(DECISIONS):
            progress = Progress.after(
                *lines.descend(
                    table, z, curvature, slope, face.bend, face.flat, least, sweeps, ENOUGH * goal
                )
            )
            self.count(lines, sweeps)
            total += progress.gain * sweeps
            step, sweeps, cost = self.decide(work, z, progress, goal, total, few)
            if step is Next.SWEEP:
                continue
            if step is not Next.NEWTON:
                return step
            gained = newton_on_face(lines, table, z, face.bend, slope)
            if self.judge(gained, progress, cost, goal):
                return Next.ENOUGH
            total += gained
            # A step that kinks stop may gain less than as many sweeps: sweep on, twice as long.
            sweeps = few << min(self.futile, MOST_FUTILE)
        return Next.ENOUGH

    def count(self, lines: Lines, sweeps: int) -> None:
        """Keep account of sweeps: roundings of the slope, and seconds."""
        self.updates += sweeps * lines.count
        self.pace.swept += sweeps * lines.sweep
        if self.gram is not None:
            self.gram.swept(sweeps)

    def decide(
        self,
        work: WorkingSet,
        z: np.ndarray,
        progress: Progress,
        goal: float,
        total: float,
        few: int,
    ) -> tuple[Next, int, float]:
        """What comes next, how many sweeps if it is sweeps, and what Newton's step costs in sweeps.

        The pace of the sweeps predicts what is left to gain and how many more it takes.
        """
        pace, patient = self.pace, self.pace.lazy < self.patience
        there = progress.left <= goal
        if goal <= 0.0 or (there and patient) or self.ledger.spent:
            return Next.ENOUGH, few, 0.0
        if total > pace.gap and not self.face.quadratic:
            return Next.ENOUGH, few, 0.0  # more than there is: the model does not hold so far out
        lines, table = work.lines, work.table
        free = np.flatnonzero(~pinned(z, table))
        crowded = len(free) > CROWDED * lines.width and table[0, 2] == 0.0
        if crowded and pace.lazy < 3 * self.patience:  # H is singular: sweep on
            return (Next.ENOUGH if there else Next.SWEEP), 5 * few, 0.0
        costs = face_costs(lines.part(free), bool(np.all(table[free, 2] > 0.0)))
        cost = min(costs) / (costs[-1] + 1e-300) * CG_EXPECTED
        if patient and (more := progress.sweeps_to(goal)) < cost:
            return Next.SWEEP, min(int(more) + 2, 5 * few), cost
        if pace.sweeps_will_do(min(costs)):
            return Next.ENOUGH, few, cost
        pace.lazy = 0
        self.updates += lines.count
        return (
            (Next.GRAM if self.gram_is_cheaper(len(free), min(costs)) else Next.NEWTON), few, cost,
        )  # fmt: skip

    def judge(self, gained: float, progress: Progress, cost: float, goal: float) -> bool:
        """Learn from what Newton's step gained; returns whether the model is good enough now."""
        by_sweeps = cost * progress.gain
        worthwhile = gained > WORTHWHILE * by_sweeps
        self.patience = 1 if worthwhile else min(2 * self.patience, MOST_PATIENCE)
        if gained <= goal and progress.gain <= goal:
            return True
        futile = gained < WORTHWHILE * min(by_sweeps, progress.left)
        self.futile = self.futile + 1 if futile else 0
        return False
