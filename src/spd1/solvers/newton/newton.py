"""Newton's method with active sets, on the primal or on the dual.

Each epoch looks at every coordinate once (the full gradient, which is also the certificate), picks
those that can move, and minimises a quadratic model over them: coordinate descent finds out which
kinks to sit at, Newton's step on the free ones does the rest. See ``composite`` for the two faces,
``choice`` for the working set, ``models`` for the model and ``pace`` for how far it is solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.gap import DualPoint, Pair
from ...data.matrix import Dense
from ...errors import IncompatibleError, ParameterError
from ...problem import Problem
from ..base import EPS, Method, gradient_drift, size_of
from .choice import Choice
from .faces.base import DualFace, GramFace, PrimalFace, ProximalFace, TallFace, face_of
from .faces.parts import follow_slope
from .linalg.costs import sweep_of
from .linalg.gram import minimise_on_gram
from .linalg.working_set import move_margins
from .line_search import search
from .models import Models, WorkingSet
from .pace import INNER, INNER_DENSE, SLOW, Pace
from .smooth import SmoothDirection

ROUNDS = 40  # models of one working set
MOST_INSIDE = 10  # epochs on a small matrix, without a look at the data
STEPS = 6  # of Newton's without a look, where nothing has a kink


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
        sharp = isinstance(self.face, DualFace) and isinstance(p.A, Dense)
        sharp = sharp and type(self.face) is not ProximalFace  # whose problem changes every epoch
        look = sweep_of(p.A, float(p.A.stored))
        self.pace = Pace(look, INNER_DENSE if sharp else INNER)
        self.promised = math.inf
        self.begun = False
        self.stale = False  # whether the pair is older than the point
        self.inside = False  # whether the pair is one of a small matrix, and none of the data
        if not isinstance(self.face, TallFace):
            self.prepare_sets()

    def prepare_sets(self) -> None:
        """Allocate what working sets need."""
        self.choice = Choice(self.face, self.key)
        self.models = Models(self.face, self.pace)

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        if isinstance(self.face, TallFace) and self.begun:
            self.face = PrimalFace(self.problem)  # the Gram matrix was not accurate enough
            self.maintains = self.face.maintains
            self.prepare_sets()
        self.begun, self.stale, self.inside = True, False, False
        self.face.tol = self.pace.tol = self.tol
        self.face.start(x, y, v)
        self.pair = self.face.pair()
        if isinstance(self.face, TallFace):
            return
        self.largest = max(self.largest, size_of(self.face.m))
        self.pace.after_look(self.pair, len(self.choice.chosen))
        self.pace.settled = False
        self.choice.move(self.face)

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
        work = WorkingSet(chosen, *self.choice.lines(chosen), face.numbers(chosen))
        self.pace.begin_epoch()
        last = math.inf
        for _ in range(ROUNDS):
            gain = self.improve(work)
            if face.quadratic or gain <= self.pace.eps:
                break
            if self.models.gram is not None:
                self.models.gram.sample.doubt(gain / last)
            last = gain
            self.stale = True  # until the look: the run may end here
            yield
        self.stale = False
        before, face.gradient = face.gradient, face.gradient_of(face.slope)
        self.choice.watch(before)
        self.inside = type(face) is GramFace
        self.pair = face.pair_inside() if self.inside else face.pair()
        self.pace.after_look(self.pair, len(chosen))
        self.entries_read += 0 if self.inside else 2 * self.problem.A.stored
        if hasattr(face, "advance"):
            face.advance()
            self.entries_read += self.problem.A.stored
        yield

    def step_on_gram(self, face: TallFace) -> None:
        """All there is to know of the loss is in a small matrix: go as far as the run wants."""
        goal = self.pace.sharp_goal(self.pair.point.value, 1e-3)
        minimise_on_gram(face.G, face.table, face.z, face.gradient, goal)
        before, self.pair = self.pair.gap, face.pair()
        self.entries_read += 2 * self.problem.A.stored
        if self.pair.gap > max(SLOW * before, self.tol * abs(self.pair.point.value)):
            self.begin(face.z, self.pair.dual.y)

    def step_everywhere(self, direction: SmoothDirection) -> None:
        """No kinks: Newton's steps on all coordinates, until one promises what the run wants."""
        face = self.face
        everything = slice(None)
        size = max(abs(self.pair.point.value), 1e-300)
        error = max(self.pace.smallest, 0.0) / size
        before = direction.passes
        for _ in range(STEPS):
            gradient = face.gradient + face.table[:, 2] * face.z
            step = direction.solve(face.bend, gradient, min(0.2, math.sqrt(error)))
            promised = -0.5 * float(gradient @ step) / size
            search(face, everything, face.table, face.z, step, face.margins_of(step))
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
        self.pace.after_look(self.pair, 0)
        self.entries_read += (direction.passes - before) * self.problem.A.stored

    def improve(self, work: WorkingSet) -> float:
        """Minimise the model at the current point, then search the line to its minimiser."""
        face, (chosen, B, ids, table) = self.face, work
        old = face.z[chosen]
        z, slope = old.copy(), face.slope.copy()
        followed = self.models.minimise(work, z, slope)
        if face.quadratic and followed:  # the model is exact; its slope tells the margins
            follow_slope(face.m, face.slope, slope, face.bend, face.flat)
            face.z[chosen], face.slope = z, slope
            return 0.0
        self.models.updates += len(ids)
        move = np.zeros(len(face.m))
        move_margins(B, ids, z - old, move)
        if not face.quadratic:
            gain, t = search(face, chosen, table, old, z - old, move)
            if t < 1.0 and self.models.gram is not None:
                self.models.gram.renew()
            return gain
        face.z[chosen] = z
        face.m += move
        face.slope += face.bend * move
        return 0.0

    def drift(self, dual: DualPoint) -> float:
        """Every update rounds the margins by eps |m|; the loss moves by its slope times that."""
        face, p = self.face, self.problem
        updates = self.updates + self.models.updates
        if isinstance(face, DualFace):
            return gradient_drift(p, dual.v, updates, self.largest)
        size = max(size_of(face.m), self.largest)
        lost = EPS * (updates + p.n) * size
        return 2.0 * size_of(face.slope) * lost + float(face.bend.max()) * lost * lost

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.pair.point.x, self.pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("newton has no step sizes: use steps='auto'")
