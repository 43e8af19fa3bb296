"""The quadratic model of a working set, minimised: by sweeps, by Newton's step, on a Gram matrix.

q(z) = slope'dm + dm' diag(bend) dm / 2 + h(z),    dm = sum_l (z_l - z0_l) b_l
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...data.matrix import CSR, Dense
from .choice import NEAR
from .faces.base import DualFace, PrimalFace
from .linalg.costs import entries_of, sweep_of
from .linalg.gram import FACTOR, GramOfLines, minimise_on_gram
from .linalg.subspace import CG_EXPECTED, face_costs, newton_on_face, pinned
from .linalg.working_set import curvatures, descend, forces, line_dots
from .pace import Pace

__all__ = ["Models", "WorkingSet"]

SWEEPS = 4  # of coordinate descent before the next decision, ...
LEAST_SWEEPS = 2  # on the dual
MOST_SWEEPS = 20  # ... up to so many over a small working set
ENOUGH = 0.01  # sweeps that gain less than this share of the goal end early
ROUNDS = 40
LITTLE = 1e-3  # seconds of a Gram matrix that need no thought
CROWDED = 1.2  # free lines, as a multiple of their length, beyond which Newton's step waits
MOST_FUTILE = 7


class WorkingSet(NamedTuple):
    """Coordinates, their lines (``ids`` of B), and their numbers: linear, l1, l2, lower, upper."""

    chosen: np.ndarray
    B: Any
    ids: np.ndarray
    table: np.ndarray


class Models:
    """What the models of a face share from epoch to epoch."""

    def __init__(self, face: Any, pace: Pace) -> None:
        p = face.problem
        self.face, self.pace = face, pace
        self.updates = 0  # of the slope
        self.spent = 0.0  # seconds of sweeps over a Gram matrix since Newton's last step there
        self.patience = 2  # slow epochs before Newton's step is tried again
        self.futile = 0  # Newton's steps in a row that gained less than sweeps would have
        self.curvature = np.full(face.coordinates, math.nan)
        self.gram: Any = None  # rows come and go too fast for theirs
        if isinstance(face, PrimalFace):
            rows = p.A if isinstance(p.A, CSR) else None
            self.gram = GramOfLines(p.d, face.quadratic, rows, not isinstance(p.A, Dense))
            self.gram.smooth = getattr(p.loss, "conjugate_net", None) is None

    def minimise(self, work: WorkingSet, z: np.ndarray, slope: np.ndarray) -> bool:
        """Move z; returns whether ``slope``, the model's derivative in the margins, followed it."""
        if self.gram is None or not self.gram_pays(work):
            curvature = self.curvatures_of(work)
            if not self.sweep(work, z, slope, curvature):
                return True
        self.solve_on_gram(work, z, slope)
        return False

    # Curvatures

    def curvatures_of(self, work: WorkingSet) -> np.ndarray:
        """Second derivatives of the model; those of a quadratic are computed once."""
        face, chosen = self.face, work.chosen
        if not face.quadratic:
            out = np.empty(len(work.ids))
            curvatures(work.B, work.ids, face.bend, out)
            return out
        unknown = np.isnan(self.curvature[chosen])
        if np.any(unknown):
            self.curvature[chosen[unknown]] = self.constant_curvatures(work, unknown)
        return np.asarray(self.curvature[chosen])

    def constant_curvatures(self, work: WorkingSet, unknown: np.ndarray) -> np.ndarray:
        """Those of a quadratic; its bend times the squared norms of rows, where it is the same."""
        face = self.face
        if type(face) is DualFace and face.flat and face.problem.A.row_major:
            norms = face.problem.row_norms_squared
            return np.asarray(face.bend[0] * norms[work.chosen[unknown]])
        out = np.empty(int(unknown.sum()))
        curvatures(work.B, work.ids[unknown], face.bend, out)
        return out

    # On a Gram matrix

    def able(self, z: np.ndarray, gradient: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Which coordinates can move, or may soon: the further from the optimum, the more."""
        force = np.empty(len(z))
        forces(z, gradient, table, min(max(self.pace.nearness(), NEAR), 1.0), 0.0, force)
        return force > -math.inf

    def gram_pays(self, work: WorkingSet) -> bool:
        """Whether to go over to the Gram matrix of what moves without further sweeps."""
        face, gram, (chosen, B, ids, table) = self.face, self.gram, work
        part = gram.part(chosen, self.able(face.z[chosen], face.gradient[chosen], table))
        width = len(face.m)
        sweep = sweep_of(B, entries_of(B, ids, width))
        if not gram.pays(B, ids[part], chosen[part], width, sweep):
            return False
        return gram.cost <= LITTLE or not self.pace.sweeps_will_do(gram.cost)

    def gram_is_cheaper(self, free: int, seconds: float) -> bool:
        """Whether Newton's step had better be taken on a Gram matrix, which serves again."""
        gram = self.gram
        return gram is not None and gram.possible and gram.cost + FACTOR * free**3 < 2.0 * seconds

    def solve_on_gram(self, work: WorkingSet, z: np.ndarray, slope: np.ndarray) -> None:
        """Minimise the model over what can move, through the products of its lines."""
        chosen, B, ids, table = work
        g = np.empty(len(ids))
        line_dots(B, ids, slope, g)
        part = self.gram.part(chosen, self.able(z, g, table))
        if len(part) == 0:
            return
        G = self.gram.of(B, ids[part], chosen[part], self.face.bend)
        goal = self.pace.goal_on_gram(len(ids), len(self.face.z))
        moving, g = z[part], g[part]
        self.spent = minimise_on_gram(G, table[part], moving, g, goal, self.spent)
        z[part] = moving

    # On lines

    def sweeps_for(self, lines: int) -> int:
        """Sweeps over a small working set cost little beside the look at all coordinates."""
        return int(min(max(SWEEPS * len(self.face.z) / max(lines, 1), SWEEPS), MOST_SWEEPS))

    def sweep(
        self, work: WorkingSet, z: np.ndarray, slope: np.ndarray, curvature: np.ndarray
    ) -> bool:
        """Sweeps of coordinate descent, and Newton's step on the free ones when they cost more.

        The pace of the sweeps predicts what is left to gain and how many more it takes. Returns
        whether it is time to go on with a Gram matrix.
        """
        face, pace, goal = self.face, self.pace, 0.3 * self.pace.eps
        _, B, ids, table = work
        few = sweeps = self.sweeps_for(len(ids))
        seconds = sweep_of(B, entries_of(B, ids, len(slope)))
        # On the dual what is left to gain tells little of the gap: a look must be worth its price.
        least = 1 if self.gram is not None else LEAST_SWEEPS
        total = 0.0
        for _ in range(ROUNDS):
            gain, before = descend(
                B, ids, table, z, curvature, face.bend, face.flat, slope, least, sweeps,
                ENOUGH * goal,
            )  # fmt: skip
            rate = min(gain / before, 0.999) if before > 0.0 else 0.0
            left = gain * rate / (1.0 - rate)
            self.updates += sweeps * len(ids)
            pace.swept += sweeps * seconds
            if self.gram is not None:
                self.gram.swept(sweeps)
            if goal <= 0.0 or (left <= goal and pace.lazy < self.patience):
                return False
            total += gain * sweeps
            if total > pace.gap and not face.quadratic:
                return False  # more than there is to gain: the model does not hold so far out
            sweeps = few
            free = np.flatnonzero(~pinned(z, table))
            crowded = len(free) > CROWDED * len(slope) and table[0, 2] == 0.0
            if crowded and pace.lazy < 3 * self.patience:  # H is singular: sweep on
                if left <= goal:
                    return False
                sweeps = 5 * few
                continue
            curved = bool(np.all(table[free, 2] > 0.0))
            costs = face_costs(B, ids[free], len(slope), curved)
            cost = min(costs) / (costs[-1] + 1e-300) * CG_EXPECTED  # in sweeps
            if pace.lazy < self.patience:
                more = 1 + math.log(goal / left) / math.log(rate)
                if more < cost:
                    sweeps = min(int(more) + 2, 5 * few)
                    continue
            if pace.sweeps_will_do(min(costs)):
                return False
            pace.lazy = 0
            self.updates += len(ids)
            if self.gram_is_cheaper(len(free), min(costs)):
                return True
            newton = newton_on_face(B, ids, table, z, face.bend, slope)
            self.patience = 1 if newton > 0.3 * cost * gain else min(2 * self.patience, 16)
            if newton <= goal and gain <= goal:
                return False
            # A step that kinks stop may gain less than as many sweeps: sweep on, twice as long.
            total += newton
            self.futile = self.futile + 1 if newton < 0.3 * min(cost * gain, left) else 0
            sweeps = few << min(self.futile, MOST_FUTILE)
        return False
