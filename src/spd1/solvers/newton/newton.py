"""Newton's method with active sets, on the primal or on the dual.

Each epoch looks at every coordinate once (the full gradient, which is also the certificate), picks
those that can move, and minimises a quadratic model over them: coordinate descent finds out which
kinks to sit at, Newton's step on the free ones does the rest. See ``faces`` for what is minimised,
``choice`` for the working set, ``models`` for the model and ``pace`` for how far it is solved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...certificate.free_columns import out_of_reach
from ...certificate.points import DualPoint, Pair, paired, primal_of, zero_dual
from ...control.steps import NoSteps
from ...errors import IncompatibleError, ParameterError
from ...problem import Problem
from ..base import Method, size_of
from ..interior.interior import Interior
from ..tuning import WELL_WITHIN
from .charges import entry_of
from .choice import Choice
from .faces.base import Face, FaceState
from .faces.choose import best_face, face_of, rows_out_of_reach
from .faces.parts import follow_slope
from .linalg.gram import minimise_on_gram
from .line_search import search
from .models import Models, WorkingSet
from .pace import Pace
from .smooth import SmoothDirection
from .tuning import MODELS, SLOW_EPOCH, SMOOTH_STEPS

__all__ = ["Newton"]


class Newton(Method):
    """Working sets, coordinate descent and Newton's steps.

    Beside its state it remembers working sets, Gram matrices and its pace, which make the next
    epoch faster; a run that goes on from a saved state without them finds its own.
    """

    name = "newton"
    step_names = ()
    rule = NoSteps
    most_passes = 1e6  # sweeps over a few lines are many and cost little: looks are what to limit
    most_looks = 500
    takes_cuts = True
    fallback = Interior

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        return best_face(problem) != "primal"  # the primal face starts from x alone

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        if not best_face(problem):
            raise IncompatibleError(
                "newton needs a smooth loss, or a piecewise linear one with l2 > 0 for every "
                "feature: use method 'rows'"
            )
        if out_of_reach(problem):
            raise IncompatibleError(
                f"{len(problem.free_columns):,} columns without penalty are too large to copy, and "
                "no gap can be proven without: give them an l2, or the store more copies_mb"
            )
        if rows_out_of_reach(problem):
            raise IncompatibleError(
                f"newton visits whole rows for {problem.loss} with {problem.reg}, and the rows of "
                f"this data are cut into {problem.grid.shape[1]} tiles, too large to copy: write "
                "the store with tiles of whole rows (tiles=(rows, 1), or tile_mb), rechunk the "
                "dask array, or take a smooth loss"
            )

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to newton")
        grid = self.problem.grid
        look = entry_of(grid.dense) * 2.0 * grid.stored  # seconds
        self.pair: Pair
        self.begun = False
        self.stale = False  # whether the pair is older than the point
        self.inside = False  # whether the pair is one of a small matrix, and none of the data
        self.promised = math.inf
        face = face_of(self.problem)
        self.pace = Pace(look, face.inner)
        self.everywhere = SmoothDirection(self.problem) if face.smooth else None
        self.use(face)

    def use(self, face: Face) -> None:
        """Work on a face, with what working sets need."""
        self.face: Any = face
        self.maintains = face.maintains
        if not face.on_gram:
            self.choice = Choice(face, self.key)
            self.models = Models(face, self.pace, self.ledger)

    @property
    def state(self) -> FaceState:
        """Where its face stands."""
        state: FaceState = self.face.state
        return state

    @state.setter
    def state(self, value: FaceState) -> None:
        if self.face.on_gram and len(value.m):  # saved after the Gram matrix had to give way
            self.use(self.face.successor())
        self.begun, self.stale, self.inside = True, False, False
        self.face.tol = self.pace.tol = self.tol
        self.face.resume(value)
        self.take_up()

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        other = self.face.successor() if self.begun else None
        if other is not None:  # the Gram matrix was not accurate enough
            self.use(other)
        face = self.face
        self.begun, self.stale, self.inside = True, False, False
        face.tol = self.pace.tol = self.tol
        face.start(x, y, v)
        self.take_up()

    def aim(self, tol: float) -> None:
        super().aim(tol)
        self.face.tol = self.pace.tol = tol

    def take_up(self) -> None:
        """Look at the point that the face was put at."""
        face = self.face
        self.pair = face.pair() if self.everywhere is None else self.first_pair()
        if face.on_gram:
            return
        self.largest = max(self.largest, size_of(face.m))
        self.pace.after_look(self.pair, len(self.choice.chosen))
        self.pace.settled = False
        self.choice.move(face)

    def first_pair(self) -> Pair:
        """The pair of a start where nothing has a kink: a better bound will soon be there."""
        p, face = self.problem, self.face
        dual = zero_dual(p) if len(p.free_columns) else None
        if dual is None or not math.isfinite(dual.value):
            pair: Pair = face.pair()
            return pair
        return paired(p, primal_of(p, face.z.copy(), face.m.copy()), dual)

    def evaluated(self) -> Pair:
        """The pair that the last epoch has evaluated, or was about to."""
        if self.stale:
            self.face.gradient = self.face.gradient_of(self.face.slope)
        if self.stale or self.inside:
            self.stale = self.inside = False
            self.pair = self.face.pair()
        return self.pair

    def epoch(self) -> Iterator[None]:
        face = self.face
        if self.everywhere is not None:
            self.step_everywhere(self.everywhere)
            yield
        elif face.on_gram:
            self.step_on_gram()
            yield
        else:
            for _ in range(face.epochs_a_look):
                yield from self.step_on_set(face)
                if self.pair.gap <= 0.5 * self.tol * abs(self.pair.point.value):
                    break

    def step_on_set(self, face: Any) -> Iterator[None]:
        """Choose a working set and minimise over it; then look at every coordinate."""
        chosen = self.choice.next()
        size = float(min(len(chosen), self.problem.n, self.problem.d))
        self.ledger.products += size**3 / 3.0 + 100.0 * size * len(chosen)
        work = WorkingSet(chosen, self.choice.lines(chosen), face.numbers(chosen))
        self.pace.begin_epoch()
        last = math.inf
        for _ in range(MODELS):
            gain = self.improve(work)
            if face.quadratic or gain <= self.pace.eps:
                break
            if self.models.gram is not None:
                self.models.gram.sample.doubt(gain / last)
            last = gain
            self.stale = True  # until the look: the run may end here
            yield
        self.stale = False
        self.largest = max(self.largest, size_of(face.m))
        before, face.gradient = face.gradient, face.gradient_of(face.slope)
        self.choice.watch(before)
        self.pair, self.inside = face.look()
        self.pace.after_look(self.pair, len(chosen))
        face.advance()
        yield

    def step_on_gram(self) -> None:
        """All there is to know of the loss is in a small matrix: go as far as the run wants."""
        face = self.face
        goal = self.pace.sharp_goal(self.pair.point.value, 1e-3)
        minimise_on_gram(face.G, face.table, face.z, face.gradient, goal)
        before, self.pair = self.pair.gap, face.pair()
        if self.pair.gap > max(SLOW_EPOCH * before, self.tol * abs(self.pair.point.value)):
            self.begin(face.z, self.pair.dual.y)

    def step_everywhere(self, direction: SmoothDirection) -> None:
        """No kinks: Newton's steps on all coordinates, until the gap is what the run wants.

        It is known without a look: rows have y = phi'(A x), and the columns' part is in the
        gradient.
        """
        face = self.face
        everything = slice(None)
        size = max(abs(self.pair.point.value), 1e-300)
        error = gap = max(self.pace.smallest, 0.0) / size
        for _ in range(SMOOTH_STEPS):
            self.ledger.products += float(min(self.problem.n, self.problem.d)) ** 3 / 3.0
            gradient = face.gradient + face.table[:, 2] * face.z
            # The gap falls with the square of what is left of the equations: no more than needed.
            needed = WELL_WITHIN * math.sqrt(self.tol / gap) if gap > 0.0 else 0.0
            step = direction.solve(face.bend, gradient, min(0.2, max(math.sqrt(error), needed)))
            promised = -0.5 * float(gradient @ step) / size
            search(face, everything, face.table, face.z, step, face.margins_of(step))
            self.updates += 1
            face.gradient = face.gradient_of(face.slope)
            rate = promised / self.promised  # below 1 while steps keep what they promise
            self.promised = max(promised, 1e-300)
            if direction.coarse:
                direction.sample.doubt(rate)
            # Exact curvature squares the error, a sample of rows shrinks it at its own rate.
            error = promised * min(rate or 1.0, 1.0 if direction.coarse else promised)
            value = abs(face.value + 0.5 * float(face.table[:, 2] @ (face.z * face.z)))
            gap = direction.left(face.gradient, face.z, face.bend) / max(value, 1e-300)
            if gap <= WELL_WITHIN * self.tol:
                break
            if rate > 1.0 or self.ledger.spent:
                break
        self.pair = face.pair()
        self.pace.after_look(self.pair, 0)

    def improve(self, work: WorkingSet) -> float:
        """Minimise the model at the current point, then search the line to its minimiser."""
        face, (chosen, lines, table) = self.face, work
        old = face.z[chosen]
        z, slope = old.copy(), face.slope.copy()
        followed = self.models.minimise(work, z, slope)
        if face.quadratic and followed:  # the model is exact; its slope tells the margins
            follow_slope(face.m, face.slope, slope, face.bend, face.flat)
            face.z[chosen], face.slope = z, slope
            return 0.0
        self.models.updates += lines.count
        move = lines.moved(z - old)
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
        """Bound of what rounding can have moved the gap by, see the face."""
        updates = self.updates + self.models.updates
        return float(self.face.drift(dual, updates, self.largest))

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.pair.point.x, self.pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("newton has no step sizes: use steps='auto'")
