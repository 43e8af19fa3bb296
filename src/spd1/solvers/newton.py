"""Newton's method with active sets, on the primal or on the dual.

Each epoch looks at every coordinate once (the full gradient, which is also the certificate), picks
those that can move, and minimises a quadratic model over them: coordinate descent finds out which
kinks to sit at, Newton's step on the free ones does the rest. See ``composite`` for the two faces.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..certificate import DualPoint, Pair
from ..errors import IncompatibleError, ParameterError
from ..matrix import CSR, Dense
from ..problem import Problem
from .base import EPS, Method, gradient_drift, size_of
from .choice import NEAR, Choice
from .composite import fill_terms, follow_slope
from .costs import entries_of, sweep_of
from .faces import DualFace, GramFace, PrimalFace, TallFace, face_of
from .gram import FACTOR, GramOfLines, minimise_on_gram
from .smooth import SmoothDirection
from .subspace import CG_EXPECTED, face_costs, newton_on_face, pinned
from .working_set import curvatures, descend, forces, line_dots, move_margins

SWEEPS = 4  # of coordinate descent before the next decision, ...
LEAST_SWEEPS = 2  # on the dual
MOST_SWEEPS = 20  # ... up to so many over a small working set
ENOUGH = 0.01  # sweeps that gain less than this share of the goal end early
ROUNDS = 40
MOST_INSIDE = 10  # epochs on a small matrix, without a look at the data
STEPS = 6  # of Newton's without a look, where nothing has a kink
INNER = 0.1  # how far an epoch solves its model, relative to the gap
LEAST_INNER = 1e-10  # the same after epochs that did not help
SHARP = 0.3  # the same of a model on a Gram matrix, at first: it costs little to be sharper
SHARPEST = 1e-12
LARGE_GRAM = 1000  # lines; the sweeps over fewer cost next to nothing, and sharper is better
FAST = 0.1  # an epoch that shrinks the gap by less asks for a sharper minimiser of such a model
LITTLE = 1e-3  # seconds of a Gram matrix that need no thought
FORESEEN = 4  # epochs: no pace is kept for longer
KEEPS_PACE = 0.9  # epochs of sweeps that leave more of the gap will not reach tol
SLOW = 0.5  # an epoch that shrinks the gap by less asks for Newton's step
FAINTEST_BEND = 1e-12  # of the largest curvature: what stands in for none where models hold well
CROWDED = 1.2  # free lines, as a multiple of their length, beyond which Newton's step waits
MOST_FUTILE = 7
ARMIJO = 1e-2
SHORTEST = 1e-10  # of a step


class Newton(Method):
    """Working sets, coordinate descent and Newton's steps."""

    name = "newton"
    step_names = ()

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        return problem.newton_face != "primal"  # the primal face starts from x alone

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        if not problem.newton_face:
            raise IncompatibleError(
                "newton needs a smooth loss, or a piecewise linear one with l2 > 0 for every "
                "feature: use method 'rows'"
            )

    def prepare(self, sampling: str) -> None:
        p = self.problem
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to newton")
        self.face: Any = face_of(p)
        self.maintains = self.face.maintains
        self.pair: Pair
        smooth = type(self.face) is PrimalFace and p.reg.plain
        self.everywhere = SmoothDirection(p) if smooth else None
        self.spent = 0.0
        self.sharpness = 1e-2
        self.promised = math.inf
        self.sharp = SHARP
        self.begun = False
        self.settled = False
        self.stale = False
        self.inside = False  # whether the pair is one of a small matrix, and none of the data
        self.gap = math.inf
        self.eps = 0.0
        self.inner = INNER
        self.lazy = 0
        self.futile = 0  # Newton's steps in a row that gained less than sweeps would have
        self.patience = 2
        self.last_gap = math.inf
        self.pace = 1.0  # what the last epoch left of the gap
        self.look = sweep_of(p.A, float(p.A.stored))  # seconds, roughly, ...
        self.swept = 0.0  # ... those of sweeps of this epoch, ...
        self.effort = 0.0  # ... and of all of the last one
        self.set_size = 0
        if not isinstance(self.face, TallFace):
            self.prepare_sets()

    def prepare_sets(self) -> None:
        """Allocate what working sets need."""
        p, face = self.problem, self.face
        self.choice = Choice(face, self.key)
        self.curvature = np.full(len(face.full), math.nan)
        self.gram: Any = None  # rows come and go too fast for theirs
        if isinstance(face, PrimalFace):
            rows = p.A if isinstance(p.A, CSR) else None
            self.gram = GramOfLines(p.d, face.quadratic, rows, not isinstance(p.A, Dense))
            self.gram.smooth = getattr(p.loss, "conjugate_net", None) is None

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        if isinstance(self.face, TallFace) and self.begun:
            self.face = PrimalFace(self.problem)  # the Gram matrix was not accurate enough
            self.maintains = self.face.maintains
            self.prepare_sets()
        self.begun, self.stale = True, False
        self.face.tol = self.tol
        self.face.start(x, y, v)
        self.pair = self.face.pair()
        if isinstance(self.face, TallFace):
            return
        self.largest = max(self.largest, size_of(self.face.m))
        self._set_goal()
        self.settled = False
        self.choice.move(self.face)

    def _set_goal(self) -> None:
        """How far the next epoch solves its model."""
        gap = self.pair.gap
        grown = len(self.choice.chosen) > 1.1 * self.set_size
        self.settled = not grown
        self.set_size = len(self.choice.chosen)
        if gap > FAST * self.last_gap and not grown:
            self.sharp = max(0.03 * self.sharp, SHARPEST)
        if gap > SLOW * self.last_gap and not grown:
            self.lazy += 1
            self.inner = max(0.05 * self.inner, LEAST_INNER)
        elif gap <= FAST * self.last_gap:
            self.inner = min(2.0 * self.inner, INNER)
        self.pace = gap / self.last_gap if 0.0 < self.last_gap < math.inf else 1.0
        self.last_gap = gap
        self.eps = self.inner * gap
        self.gap = min(gap, self.gap)

    def evaluated(self) -> Pair:
        """The pair that the last epoch has evaluated, or was about to."""
        if self.stale:
            self.face.gradient = self.face.gradient_of(self.face.slope)
        if self.stale or self.inside:
            self.stale = self.inside = False
            self.pair = self.face.pair()
            self.entries_read += 2 * self.problem.A.stored
        return self.pair

    def epoch(self) -> Iterator[None]:
        if self.everywhere is not None:
            self.step_everywhere(self.everywhere)
            yield
            return
        face = self.face
        if isinstance(face, TallFace):
            self.step_on_gram(face)
            yield
            return
        for _ in range(MOST_INSIDE if type(face) is GramFace else 1):
            yield from self.step_on_set(face)
            if self.pair.gap <= 0.5 * self.tol * abs(self.pair.point.value):
                break

    def step_on_set(self, face: Any) -> Iterator[None]:
        """Choose a working set and minimise over it; then look at every coordinate."""
        chosen = self.choice.next()
        B, ids = self.choice.lines(chosen)
        table = face.full[chosen]
        self.effort, self.swept = self.swept + self.look, 0.0
        last = math.inf
        for _ in range(ROUNDS):
            gain = self.improve(chosen, B, ids, table)
            if face.quadratic or gain <= self.eps:
                break
            if self.gram is not None:
                self.gram.sample.doubt(gain / last)
            last = gain
            self.stale = True  # until the look: the run may end here
            yield
        self.stale = False
        before, face.gradient = face.gradient, face.gradient_of(face.slope)
        self.choice.watch(before)
        self.inside = type(face) is GramFace
        self.pair = face.pair_inside() if self.inside else face.pair()
        self._set_goal()
        self.entries_read += 0 if self.inside else 2 * self.problem.A.stored
        if hasattr(face, "advance"):
            face.advance()
            self.entries_read += self.problem.A.stored
        yield

    def step_on_gram(self, face: TallFace) -> None:
        """All there is to know of the loss is in a small matrix: go as far as the run wants.

        The gap of a lasso falls with the square root of what is left to gain.
        """
        goal = self.sharpness * self.tol * self.tol * abs(self.pair.point.value)
        minimise_on_gram(face.G, face.full, face.z, face.gradient, goal)
        self.sharpness *= 1e-3
        before, self.pair = self.pair.gap, face.pair()
        self.entries_read += 2 * self.problem.A.stored
        if self.pair.gap > max(SLOW * before, self.tol * abs(self.pair.point.value)):
            self.begin(face.z, self.pair.dual.y)

    def step_everywhere(self, direction: SmoothDirection) -> None:
        """No kinks: Newton's steps on all coordinates, until one promises what the run wants."""
        face = self.face
        everything = slice(None)
        size = max(abs(self.pair.point.value), 1e-300)
        error = max(self.gap, 0.0) / size
        before = direction.passes
        for _ in range(STEPS):
            gradient = face.gradient + face.full[:, 2] * face.z
            step = direction.solve(face.bend, gradient, min(0.2, math.sqrt(error)))
            promised = -0.5 * float(gradient @ step) / size
            self.search(everything, face.full, face.z, step, face.margins_of(step))
            self.updates += 1
            face.gradient = face.gradient_of(face.slope)
            self.entries_read += 2 * self.problem.A.stored
            rate = promised / self.promised
            self.promised = max(promised, 1e-300)
            direction.sample.doubt(rate)
            error = promised * min(rate, 1.0 if direction.coarse else promised)
            if error <= 0.1 * self.tol or rate > 1.0:
                break
        self.pair = face.pair()
        self._set_goal()
        self.entries_read += (direction.passes - before) * self.problem.A.stored

    def curvatures_of(self, chosen: np.ndarray, B: Any, ids: np.ndarray) -> np.ndarray:
        """Second derivatives of the model; those of a quadratic are computed once."""
        face = self.face
        if not face.quadratic:
            out = np.empty(len(ids))
            curvatures(B, ids, face.bend, out)
            return out
        unknown = np.isnan(self.curvature[chosen])
        if np.any(unknown):
            self.curvature[chosen[unknown]] = self.constant_curvatures(chosen, B, ids, unknown)
        return np.asarray(self.curvature[chosen])

    def constant_curvatures(
        self, chosen: np.ndarray, B: Any, ids: np.ndarray, unknown: np.ndarray
    ) -> np.ndarray:
        """Those of a quadratic; its bend times the squared norms of rows, where it is the same."""
        face = self.face
        if type(face) is DualFace and face.flat and self.problem.A.row_major:
            return np.asarray(face.bend[0] * self.problem.row_norms_squared[chosen[unknown]])
        out = np.empty(int(unknown.sum()))
        curvatures(B, ids[unknown], face.bend, out)
        return out

    def sweeps_for(self, lines: int) -> int:
        """Sweeps over a small working set cost little beside the look at all coordinates."""
        return int(min(max(SWEEPS * len(self.face.z) / max(lines, 1), SWEEPS), MOST_SWEEPS))

    def improve(self, chosen: np.ndarray, B: Any, ids: np.ndarray, table: np.ndarray) -> float:
        """Minimise the model at the current point, then search the line to its minimiser."""
        face = self.face
        old = face.z[chosen]
        z, slope = old.copy(), face.slope.copy()
        on_gram = self.gram is not None and self.gram_pays(chosen, B, ids, table)
        if not on_gram:
            curvature = self.curvatures_of(chosen, B, ids)
            on_gram = self.minimise_model(B, ids, table, z, slope, curvature)
            if face.quadratic and not on_gram:  # the model is exact; its slope tells the margins
                follow_slope(face.m, face.slope, slope, face.bend, face.flat)
                face.z[chosen], face.slope = z, slope
                return 0.0
        if on_gram:
            self.minimise_on_gram(chosen, B, ids, table, z, slope)
        self.updates += len(ids)
        move = np.zeros(len(face.m))
        move_margins(B, ids, z - old, move)
        if not face.quadratic:
            return self.search(chosen, table, old, z - old, move)
        face.z[chosen] = z
        face.m += move
        face.slope += face.bend * move
        return 0.0

    def able(self, z: np.ndarray, gradient: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Which coordinates can move, or may soon: the further from the optimum, the more."""
        near = math.sqrt(max(self.last_gap, 0.0) / max(abs(self.pair.point.value), 1e-300))
        force = np.empty(len(z))
        forces(z, gradient, table, min(max(near, NEAR), 1.0), 0.0, force)
        return force > -math.inf

    def gram_pays(self, chosen: np.ndarray, B: Any, ids: np.ndarray, table: np.ndarray) -> bool:
        """Whether to go over to the Gram matrix of what moves without further sweeps."""
        face, gram = self.face, self.gram
        part = gram.part(chosen, self.able(face.z[chosen], face.gradient[chosen], table))
        width = len(face.m)
        sweep = sweep_of(B, entries_of(B, ids, width))
        if not gram.pays(B, ids[part], chosen[part], width, sweep):
            return False
        return gram.cost <= LITTLE or not self.sweeps_will_do(gram.cost)

    def minimise_on_gram(
        self,
        chosen: np.ndarray,
        B: Any,
        ids: np.ndarray,
        table: np.ndarray,
        z: np.ndarray,
        slope: np.ndarray,
    ) -> None:
        """Minimise the model over what can move, through the products of its lines."""
        face = self.face
        g = np.empty(len(ids))
        line_dots(B, ids, slope, g)
        part = self.gram.part(chosen, self.able(z, g, table))
        if len(part) == 0:
            return
        G = self.gram.of(B, ids[part], chosen[part], face.bend)
        goal = self.sharp * self.eps
        if self.settled or 2 * len(ids) > len(face.z):
            goal *= min(1.0, (len(ids) / LARGE_GRAM) ** 2)
        # The gap of a lasso falls with the square root of what is left to gain.
        goal = max(goal, self.sharpness * self.tol * self.tol * abs(self.pair.point.value))
        self.sharpness *= 0.03
        moving, g = z[part], g[part]
        self.spent = minimise_on_gram(G, table[part], moving, g, goal, self.spent)
        z[part] = moving

    def minimise_model(
        self,
        B: Any,
        ids: np.ndarray,
        table: np.ndarray,
        z: np.ndarray,
        slope: np.ndarray,
        curvature: np.ndarray,
    ) -> bool:
        """Sweeps of coordinate descent, and Newton's step on the free ones when they cost more.

        The pace of the sweeps predicts what is left to gain and how many more it takes. Returns
        whether it is time to go on with a Gram matrix.
        """
        face, goal = self.face, 0.3 * self.eps
        few = sweeps = self.sweeps_for(len(ids))
        seconds = sweep_of(B, entries_of(B, ids, len(slope)))
        # On the dual what is left to gain tells little of the gap: a look must be worth its price.
        least = 1 if self.gram is not None else LEAST_SWEEPS
        total = 0.0
        for _ in range(ROUNDS):
            gain, before = descend(
                B,
                ids,
                table,
                z,
                curvature,
                face.bend,
                face.flat,
                slope,
                least,
                sweeps,
                ENOUGH * goal,
            )
            rate = min(gain / before, 0.999) if before > 0.0 else 0.0
            left = gain * rate / (1.0 - rate)
            self.updates += sweeps * len(ids)
            self.swept += sweeps * seconds
            if self.gram is not None:
                self.gram.swept(sweeps)
            if goal <= 0.0 or (left <= goal and self.lazy < self.patience):
                return False
            total += gain * sweeps
            if total > self.pair.gap and not face.quadratic:
                return False  # more than there is to gain: the model does not hold so far out
            sweeps = few
            free = np.flatnonzero(~pinned(z, table))
            crowded = len(free) > CROWDED * len(slope) and table[0, 2] == 0.0
            if crowded and self.lazy < 3 * self.patience:  # H is singular: sweep on
                if left <= goal:
                    return False
                sweeps = 5 * few
                continue
            curved = bool(np.all(table[free, 2] > 0.0))
            costs = face_costs(B, ids[free], len(slope), curved)
            cost = min(costs) / (costs[-1] + 1e-300) * CG_EXPECTED  # in sweeps
            if self.lazy < self.patience:
                more = 1 + math.log(goal / left) / math.log(rate)
                if more < cost:
                    sweeps = min(int(more) + 2, 5 * few)
                    continue
            if self.sweeps_will_do(min(costs)):
                return False
            self.lazy = 0
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

    def sweeps_will_do(self, seconds: float) -> bool:
        """Whether epochs of sweeps, at their pace, reach tol before a step of so many seconds."""
        target = self.tol * abs(self.pair.point.value)
        if not 0.0 < self.pace < KEEPS_PACE or target <= 0.0:
            return False
        epochs = max(math.log(self.last_gap / target) / -math.log(self.pace), 0.0)
        return epochs <= FORESEEN and epochs * self.effort < seconds

    def gram_is_cheaper(self, free: int, seconds: float) -> bool:
        """Whether Newton's step had better be taken on a Gram matrix, which serves again."""
        gram = self.gram
        return gram is not None and gram.possible and gram.cost + FACTOR * free**3 < 2.0 * seconds

    def trust(self, t: float) -> None:
        """A model whose minimiser was too far off has too little curvature in its flat places."""
        if t < 1.0 and self.gram is not None:
            self.gram.renew()
        part = self.face.part
        least = (10.0 if t > 1e-3 else 1e3) * part.least if t < 0.5 else 0.2 * part.least
        self.face.part = part._replace(least=min(max(least, FAINTEST_BEND), 1.0))

    @np.errstate(over="ignore", invalid="ignore")
    def search(self, chosen: Any, table: Any, old: Any, step: Any, move: Any) -> float:
        face = self.face
        linear, l1, l2 = table[:, 0], table[:, 1], table[:, 2]

        def separable(z: np.ndarray) -> float:
            return float(linear @ z + l1 @ np.abs(z) + 0.5 * (l2 @ (z * z)))

        before = separable(old)
        total = face.value + before
        promised = float(face.slope @ move) + separable(old + step) - before
        t = 1.0 if math.isfinite(promised) else 0.0
        while t > SHORTEST:
            z, m = old + t * step, face.m + t * move
            if face.bounded:
                z = np.clip(z, table[:, 3], table[:, 4])  # rounding must not leave the box
            value = fill_terms(face.part, m, face.slope, face.bend)
            now = value + separable(z)
            if now <= total + ARMIJO * t * promised + 1e-15 * abs(total):
                break
            t *= 0.5
        self.trust(t)
        if t <= SHORTEST:  # a model that promised what is not there: stay
            fill_terms(face.part, face.m, face.slope, face.bend)
            return math.inf if self.face.part.least < 1.0 else 0.0  # and try a stiffer one
        face.z[chosen], face.m, face.value = z, m, value
        return float(total - now)

    def drift(self, dual: DualPoint) -> float:
        """Every update rounds the margins by eps |m|; the loss moves by its slope times that."""
        face, p = self.face, self.problem
        if isinstance(face, DualFace):
            return gradient_drift(p, dual.v, self.updates, self.largest)
        size = max(size_of(face.m), self.largest)
        lost = EPS * (self.updates + p.n) * size
        return 2.0 * size_of(face.slope) * lost + float(face.bend.max()) * lost * lost

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.pair.point.x, self.pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("newton has no step sizes: use steps='auto'")
