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

from ..certificate import Pair, dual_from_margins, pair_of
from ..errors import IncompatibleError, ParameterError
from ..matrix import Dense
from ..problem import Problem
from ..products import adjoint, margins
from ..regularizers import ElasticNet, SharedNet
from .base import Method, typical_labels
from .composite import (
    LEAST_BEND,
    ConjugatePart,
    LossPart,
    ShiftedConjugatePart,
    fill_terms,
    loss_part,
)
from .few_rows import column_gram, few_columns, root_of, row_gram, suits
from .row_tiles import BLOCK, shuffle_blocks
from .smooth import SmoothDirection
from .subspace import CG_EXPECTED, face_costs, newton_on_face, pinned
from .working_set import curvatures, descend, forces, lines_of, move_margins

SMALLEST_SET = 100
NEAR = 0.1  # zero coordinates whose gradient is this close to l1 join the working set
SWEEPS = 4
MOST_SWEEPS = 20
ENOUGH = 0.01
ROUNDS = 40
INNER = 0.1  # how far an epoch solves its model, relative to the gap
LEAST_INNER = 1e-4
SLOW = 0.5  # an epoch that shrinks the gap by less asks for Newton's step
FAINTEST_BEND = 1e-12
FADE = 0.7  # of the proximal term, an epoch
FAINTEST = 1e-4
CROWDED = 1.2
ARMIJO = 1e-2


def best_face(problem: Problem) -> str:
    """Which face Newton's method works on: 'primal', 'dual', 'proximal', or '' if none will do."""
    smooth_primal = problem.gamma > 0 or problem.label_kind == "count"
    net = getattr(problem.loss, "conjugate_net", None)
    smooth_dual = problem.mu > 0 and net is not None
    if not smooth_primal:
        if smooth_dual:
            return "dual"
        return "proximal" if net is not None else ""
    if smooth_dual and net is not None and problem.reg.plain and problem.n <= 5 * problem.d:
        low, high = problem.loss.domain(float(problem.b[0]))
        if net[0] > 0.0 or low > -math.inf or high < math.inf:  # the loss has corners
            return "dual"
    return "primal"


class Face:
    """min_z F(m) + h(z): state of either face of the problem."""

    quadratic: bool
    across: bool

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.data: Any = problem.A

    def restart(self, z: np.ndarray) -> None:
        self.z = z
        self.m = self.margins_of(z)
        self.slope, self.bend = np.empty(len(self.m)), np.empty(len(self.m))
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)
        self.flat = self.quadratic and bool(np.all(self.bend == self.bend[0]))
        self.gradient = self.gradient_of(self.slope)

    part: Any
    full: np.ndarray  # a line of five numbers per coordinate: linear, l1, l2, lower, upper

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def table(self, chosen: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def pair(self) -> Pair:
        raise NotImplementedError


class PrimalFace(Face):
    """z = x, lines are columns of A, the smooth part is the loss."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.part = loss_part(problem)
        self.quadratic = type(problem.loss).__name__ == "Squared"
        self.across = problem.A.row_major
        if isinstance(problem.A, Dense) and not self.across:
            self.data = problem.A.transposed()  # its rows are the columns
        reg = problem.reg
        fields = (0.0, reg.l1, reg.l2, reg.lower, reg.upper)
        self.full = np.empty((problem.d, 5))
        for column, value in enumerate(fields):
            self.full[:, column] = value

    def start(self, x: np.ndarray, y: np.ndarray) -> None:
        del y
        self.restart(x.copy())

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return margins(self.problem.A, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return adjoint(self.problem.A, slope)

    def pair(self) -> Pair:
        p = self.problem
        return pair_of(
            p, self.z.copy(), self.m.copy(), dual_from_margins(p, self.m), -self.gradient
        )


class TallFace(PrimalFace):
    """Least squares with few columns: with A'CA = R'R the rows of R do what the rows of A did.

    sum_i c_i (a_i'x - b_i)^2 / 2 = |R x - q|^2 / 2 + const, q = R^-T A'C b.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        p = problem
        L, q = root_of(column_gram(p), adjoint(p.A, p.c * p.b))
        self.data = Dense(L)
        self.part = LossPart(p.loss, q, np.ones(p.d), LEAST_BEND, 1.0)
        self.across = False

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return adjoint(self.data, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return margins(self.data, slope)

    def pair(self) -> Pair:
        p = self.problem
        u = margins(p.A, self.z)
        return pair_of(p, self.z.copy(), u, dual_from_margins(p, u), -self.gradient)


class DualFace(Face):
    """z = -c y, lines are rows of A, the smooth part is the conjugate of the regularizer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.part = ConjugatePart(problem.net, LEAST_BEND)
        self.quadratic = problem.reg.plain
        self.across = not problem.A.row_major
        self.full = self._table()

    def _table(self) -> np.ndarray:
        from ..evaluation import loss_domain

        p = self.problem
        l1, l2 = p.loss.conjugate_net
        low, high = np.empty(p.n), np.empty(p.n)
        loss_domain(p.b, p.loss, low, high)
        table = np.empty((p.n, 5))
        with np.errstate(divide="ignore", invalid="ignore"):
            table[:, 0], table[:, 1] = -p.b, l1
            table[:, 2] = l2 / p.c
            table[:, 3], table[:, 4] = -p.c * high, -p.c * low
        table[p.c == 0] = 0.0
        return table

    def start(self, x: np.ndarray, y: np.ndarray) -> None:
        del x
        self.restart(np.clip(-self.problem.c * y, self.full[:, 3], self.full[:, 4]))

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return adjoint(self.problem.A, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return margins(self.problem.A, slope)

    def pair(self) -> Pair:
        p = self.problem
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(p.c > 0, -self.z / p.c, 0.0)
        return pair_of(p, self.slope.copy(), self.gradient.copy(), y, self.m.copy())


class GramFace(DualFace):
    """The dual of few rows: with A E^-1 A' = L L' the rows of L do what the rows of A did."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.data = Dense(root_of(row_gram(problem), np.zeros(problem.n))[0])
        self.part = ConjugatePart(SharedNet(0.0, 1.0, -math.inf, math.inf), LEAST_BEND)
        self.across = False

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return adjoint(self.data, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return margins(self.data, slope)

    def pair(self) -> Pair:
        p = self.problem
        v = adjoint(p.A, self.z)
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(p.c > 0, -self.z / p.c, 0.0)
        x = v / p.reg.l2
        return pair_of(p, x, margins(p.A, x), y, v)


class ProximalFace(DualFace):
    """The dual where g is not strongly convex: a proximal term rho/2 |x - centre|^2 makes it so.

    The centre follows x after every epoch (the proximal point method, or the method of
    multipliers), and rho fades, so what is certified is the problem itself.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.quadratic = False
        size, L = typical_labels(problem)
        squares = problem.column_norms_squared
        mean = max(float(squares.mean()), 1e-300)
        scale = L * float(problem.row_norms_squared.mean()) / size + 1e-300
        self.rho = scale * np.maximum(squares / mean, 1e-12)  # in the units of each column
        self.faintest = FAINTEST * self.rho
        self.move_centre(problem.reg.minimiser(problem.d))

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term around a point."""
        reg = self.problem.reg
        net = ElasticNet(reg.l1, np.asarray(reg.l2) + self.rho, reg.lower, reg.upper)
        self.part = ShiftedConjugatePart(net.bind(self.problem.d), LEAST_BEND, self.rho * centre)

    def start(self, x: np.ndarray, y: np.ndarray) -> None:
        self.move_centre(x)
        super().start(x, y)

    def advance(self) -> None:
        """Let the centre follow x."""
        self.rho = np.maximum(FADE * self.rho, self.faintest)
        self.move_centre(self.slope.copy())
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)
        self.gradient = self.gradient_of(self.slope)


class Newton(Method):
    """Working sets, coordinate descent and Newton's steps."""

    name = "newton"
    step_names = ()
    scales_start = True

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        if not best_face(problem):
            raise IncompatibleError(
                "newton needs a smooth loss, or a piecewise linear one with l2 > 0 for every "
                "feature: use method 'rows'"
            )

    def prepare(self, sampling: str) -> None:
        p = self.problem
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to newton")
        face = best_face(p)
        primal = face == "primal"
        self.pair: Pair
        few = face == "dual" and suits(p)
        tall = primal and few_columns(p)
        kinds: dict[str, type[Face]] = {"primal": PrimalFace, "dual": DualFace}
        kind = GramFace if few else TallFace if tall else kinds.get(face, ProximalFace)
        self.face: Any = kind(p)
        self.everywhere = SmoothDirection(p) if primal and p.reg.plain and not tall else None
        self.wanted = SMALLEST_SET
        self.gap = math.inf
        self.eps = 0.0
        self.order = np.arange(p.n)
        self.position = np.full(len(self.face.full), -1)
        self.inner = INNER
        self.curvature = np.full(len(self.face.full), math.nan)
        self.lazy = 0
        self.patience = 2
        self.last_gap = math.inf
        self.chosen = np.zeros(0, dtype=int)
        self.set_size = 0

    def begin(self, x: np.ndarray, y: np.ndarray) -> None:
        self.face.start(x, y)
        self.pair = self.face.pair()
        self._set_goal()

    def _set_goal(self) -> None:
        """How far the next epoch solves its model."""
        gap = self.pair.gap
        grown = len(self.chosen) > 1.1 * self.set_size
        self.set_size = len(self.chosen)
        if gap > SLOW * self.last_gap and not grown:
            self.lazy += 1
            self.inner = max(0.3 * self.inner, LEAST_INNER)
        else:
            self.inner = min(2.0 * self.inner, INNER)
        self.last_gap = gap
        self.eps = self.inner * gap
        self.gap = min(gap, self.gap)

    def evaluated(self) -> Pair:
        """The pair that the last epoch has evaluated."""
        return self.pair

    def epoch(self) -> Iterator[None]:
        if self.everywhere is not None:
            self.step_everywhere(self.everywhere)
            yield
            return
        face = self.face
        chosen = self.chosen = self.choose()
        B, ids = self.lines(chosen)
        table = face.full[chosen]
        for _ in range(ROUNDS):
            gain = self.improve(chosen, B, ids, table)
            if face.quadratic or gain <= self.eps:
                break
        face.gradient = face.gradient_of(face.slope)
        self.pair = self.checked_pair()
        self._set_goal()
        self.entries_read += 2 * self.problem.A.stored
        if isinstance(face, ProximalFace):
            face.advance()
            self.entries_read += self.problem.A.stored
        yield

    def checked_pair(self) -> Pair:
        """The current pair; margins that were only kept up to date are computed anew at the end."""
        face = self.face
        pair: Pair = face.pair()
        if pair.gap <= self.tol * max(abs(pair.point.value), abs(pair.dual.value)):
            face.m = face.margins_of(face.z)
            self.entries_read += self.problem.A.stored
            pair = face.pair()
        return pair

    def step_everywhere(self, direction: SmoothDirection) -> None:
        """No kinks: one Newton step on all coordinates."""
        face = self.face
        everything = slice(None)
        gap = max(self.gap, 0.0) / max(abs(self.pair.point.value), 1e-300)
        accuracy = min(0.2, math.sqrt(gap))
        before = direction.passes
        step = direction.solve(face.bend, face.gradient + face.full[:, 2] * face.z, accuracy)
        self.search(everything, face.full, face.z, step, face.margins_of(step))
        face.gradient = face.gradient_of(face.slope)
        self.pair = self.checked_pair()
        self._set_goal()
        self.entries_read += (2 + direction.passes - before) * self.problem.A.stored

    def lines(self, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
        """Lines of the chosen coordinates; copies are kept for as long as they serve."""
        face = self.face
        if not face.across or len(chosen) == 0:
            return face.data, chosen
        if np.any(self.position[chosen] < 0):
            self.copied, ids = lines_of(face.data, chosen)
            self.position[:] = -1
            self.position[chosen] = ids
        return self.copied, self.position[chosen]

    def choose(self) -> np.ndarray:
        """Coordinates that are not zero, and the zeros that want to move most."""
        face = self.face
        z = face.z
        force = np.empty(len(z))
        nonzero = forces(z, face.gradient, face.full, NEAR, force)
        able = np.flatnonzero(force > -math.inf)
        self.wanted = max(self.wanted, 2 * nonzero)
        if isinstance(face, PrimalFace) and len(able) > self.wanted:
            able = able[np.argpartition(-force[able], self.wanted)[: self.wanted]]
        if isinstance(face, PrimalFace):
            able.sort()
            return able
        shuffle_blocks(self.order, self.key, self.t, 1 if isinstance(face.data, Dense) else BLOCK)
        self.t += len(self.order)
        keep = np.zeros(len(z), dtype=bool)
        keep[able] = True
        return self.order[keep[self.order]]

    def curvatures_of(self, chosen: np.ndarray, B: Any, ids: np.ndarray) -> np.ndarray:
        """Second derivatives of the model; those of a quadratic are computed once."""
        face = self.face
        if not face.quadratic:
            out = np.empty(len(ids))
            curvatures(B, ids, face.bend, out)
            return out
        unknown = np.isnan(self.curvature[chosen])
        if np.any(unknown):
            out = np.empty(int(unknown.sum()))
            curvatures(B, ids[unknown], face.bend, out)
            self.curvature[chosen[unknown]] = out
        return np.asarray(self.curvature[chosen])

    def sweeps_for(self, lines: int) -> int:
        """Sweeps over a small working set cost little beside the look at all coordinates."""
        return int(min(max(SWEEPS * len(self.face.z) / max(lines, 1), SWEEPS), MOST_SWEEPS))

    def improve(self, chosen: np.ndarray, B: Any, ids: np.ndarray, table: np.ndarray) -> float:
        """Minimise the model at the current point, then search the line to its minimiser."""
        face = self.face
        old = face.z[chosen]
        z, slope = old.copy(), face.slope.copy()
        curvature = self.curvatures_of(chosen, B, ids)
        goal = 0.3 * self.eps
        few = self.sweeps_for(len(ids))
        sweeps = few
        for _ in range(ROUNDS):
            gain, before = descend(
                B, ids, table, z, curvature, face.bend, face.flat, slope, sweeps, ENOUGH * goal
            )
            rate = min(gain / before, 0.999) if before > 0.0 else 0.0
            left = gain * rate / (1.0 - rate)
            if goal <= 0.0 or (left <= goal and self.lazy < self.patience):
                break
            sweeps = few
            free = np.flatnonzero(~pinned(z, table))
            crowded = len(free) > CROWDED * len(slope) and table[0, 2] == 0.0
            if crowded and self.lazy < 3 * self.patience:
                sweeps = 5 * few  # more free lines than they are long: H is singular
                if left <= goal:
                    break
                continue
            factor, gradients = face_costs(B, ids[free], len(slope))
            cost = min(factor, gradients) / (gradients + 1e-300) * CG_EXPECTED  # in sweeps
            if self.lazy < self.patience:
                more = 1 + math.log(goal / left) / math.log(rate)
                if more < cost:
                    sweeps = min(int(more) + 2, 5 * few)
                    continue
            self.lazy = 0
            newton = newton_on_face(B, ids, table, z, face.bend, slope)
            self.patience = 1 if newton > 0.3 * cost * gain else min(2 * self.patience, 16)
            if newton <= goal and gain <= goal:
                break
        if face.quadratic:  # the model is exact, and its slope tells the margins
            moved = face.bend > 0.0  # rows without weight have no slope
            face.m[moved] += (slope[moved] - face.slope[moved]) / face.bend[moved]
            face.z[chosen], face.slope = z, slope
            return 0.0
        move = np.zeros(len(face.m))
        move_margins(B, ids, z - old, move)
        return self.search(chosen, table, old, z - old, move)

    def trust(self, t: float) -> None:
        """A model whose minimiser was too far off has too little curvature in its flat places."""
        part = self.face.part
        least = 10.0 * part.least if t < 0.5 else 0.2 * part.least
        self.face.part = part._replace(least=min(max(least, FAINTEST_BEND), 1.0))

    def search(self, chosen: Any, table: Any, old: Any, step: Any, move: Any) -> float:
        face = self.face
        linear, l1, l2 = table[:, 0], table[:, 1], table[:, 2]

        def separable(z: np.ndarray) -> float:
            return float(linear @ z + l1 @ np.abs(z) + 0.5 * (l2 @ (z * z)))

        before = separable(old)
        total = face.value + before
        promised = float(face.slope @ move) + separable(old + step) - before
        t = 1.0
        while True:
            z, m = old + t * step, face.m + t * move
            value = fill_terms(face.part, m, face.slope, face.bend)
            now = value + separable(z)
            if now <= total + ARMIJO * t * promised + 1e-15 * abs(total) or t < 1e-10:
                break
            t *= 0.5
        self.trust(t)
        face.z[chosen], face.m, face.value = z, m, value
        return float(total - now)

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.pair.point.x, self.pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError("newton has no step sizes: use steps='auto'")
