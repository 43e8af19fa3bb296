"""The faces of a problem: what Newton's method minimises, and how its state is certified."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ....certificate.gap import ROUGHLY, DualPoint, Pair, PrimalPoint, dual_from_margins, pair_of
from ....data.matrix import Dense
from ....data.products import adjoint, margins
from ....losses import Logistic
from ....problem import Problem
from ....regularizers import ElasticNet, SharedNet
from ...base import typical_labels
from ..few_rows import column_gram, few_columns, root_of, row_gram, suits
from .parts import (
    LEAST_BEND,
    ConjugatePart,
    ShiftedConjugatePart,
    fill_terms,
    inside_domain,
    loss_part,
)

# Of the proximal term: its start, what is left of it after an epoch, and where that ends
FADING = (0.1, 0.5, 1e-6)
WITH_L2 = (1.0, 0.7, 1e-4)  # the same where some columns have l2 > 0
TALL = 5  # rows a column
MOST_FREE = 2  # columns without penalty that the dual can do with


def best_face(problem: Problem) -> str:
    """Which face Newton's method works on: 'primal', 'dual', 'proximal', or '' if none will do."""
    smooth_primal = problem.gamma > 0 or problem.label_kind == "count"
    net = getattr(problem.loss, "conjugate_net", None)
    smooth_dual = (problem.mu > 0 or few_free(problem)) and net is not None
    if not smooth_primal:
        if smooth_dual:
            return "dual"
        return "proximal" if net is not None else ""
    if smooth_dual and net is not None and problem.reg.plain and problem.n <= TALL * problem.d:
        low, high = problem.loss.domain(float(problem.b[0]))
        if net[0] > 0.0 or low > -math.inf or high < math.inf:  # the loss has corners
            return "dual"
    return "primal"


def few_free(problem: Problem) -> bool:
    """Whether every column has l2 > 0 but for one or two that have no penalty and no bounds.

    On tall data the proximal term had better be on all columns.
    """
    reg = problem.reg
    if np.ndim(reg.l2) == 0 or problem.n > TALL * problem.d:
        return False
    free = np.asarray(reg.l2) == 0.0
    if not 0 < np.count_nonzero(free) <= min(MOST_FREE, problem.d - 1):
        return False
    fields = (reg.l1, reg.lower, reg.upper)
    l1, lower, upper = (np.broadcast_to(np.asarray(v), free.shape)[free] for v in fields)
    return bool(np.all(l1 == 0.0) and np.all(lower == -math.inf) and np.all(upper == math.inf))


def domain_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the domain of phi*, row by row."""
    from ....terms import loss_domain

    low, high = np.empty(problem.n), np.empty(problem.n)
    loss_domain(problem.b, problem.loss, low, high)
    return low, high


class Face:
    """min_z F(m) + h(z): state of either face of the problem."""

    quadratic: bool
    across: bool
    bounded: bool  # whether any coordinate has a bound
    maintains = "margins"  # what the pair takes from sums that were only kept up to date
    tol = 0.0  # relative gap that needs no better dual point

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.data: Any = problem.A

    def restart(self, z: np.ndarray, m: np.ndarray | None = None) -> None:
        self.z = z
        self.m = self.margins_of(z) if m is None else m.copy()
        self.slope, self.bend = np.empty(len(self.m)), np.empty(len(self.m))
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)
        self.flat = self.quadratic and bool(np.all(self.bend == self.bend[0]))
        self.gradient = self.first_gradient()

    def first_gradient(self) -> np.ndarray:
        """The gradient of the point that a run starts from."""
        return self.gradient_of(self.slope)

    part: Any
    coordinates: int
    full: np.ndarray  # linear, l1, l2, lower, upper of each coordinate, or once where all agree

    def numbers(self, chosen: np.ndarray) -> np.ndarray:
        """The five numbers of some coordinates."""
        if len(self.full) == self.coordinates:
            return np.asarray(self.full[chosen])
        return np.repeat(self.full, len(chosen), axis=0)

    @cached_property
    def table(self) -> np.ndarray:
        """The five numbers of all coordinates."""
        return self.numbers(np.arange(self.coordinates))

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
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
        self.coordinates = problem.d
        self.full = np.empty((1 if reg.scalar else problem.d, 5))
        for column, value in enumerate(fields):
            self.full[:, column] = value
        self.bounded = bool(np.any(np.isfinite(reg.lower)) or np.any(np.isfinite(reg.upper)))

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del y, v
        self.restart(x.copy())

    def first_gradient(self) -> np.ndarray:
        return self.gradient_of(self.slope) if np.any(self.z) else self.problem.pull_at_zero

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return margins(self.problem.A, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return adjoint(self.problem.A, slope)

    def pair(self) -> Pair:
        y = self.dual_point()
        return shrunk_pair(self.problem, self.z.copy(), self.m.copy(), y, -self.gradient, self.tol)

    def dual_point(self) -> np.ndarray:
        """phi'(m); the slope tells it, where another look at the margins costs logarithms."""
        p = self.problem
        if type(p.loss) is not Logistic:
            return dual_from_margins(p, self.m)
        y = np.empty(p.n)
        inside_domain(-self.slope, p.c, *self.domain, y)
        return y

    @cached_property
    def domain(self) -> tuple[np.ndarray, np.ndarray]:
        """Where phi* is finite, row by row."""
        return domain_of(self.problem)


def shrunk_pair(
    problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray, tol: float = 0.0
) -> Pair:
    """The pair of x and about the best multiple of y where l1 and l2 meet.

    Far from the optimum v exceeds l1 almost everywhere, and a small l2 makes that expensive. A
    relative gap of ``tol`` is good enough as it is.
    """
    p, pair = problem, pair_of(problem, x, u, y, v)
    if p.mu == 0.0 or p.reg.plain or pair.gap <= tol * abs(pair.dual.value):
        return pair
    from ....terms import best_between, room_inside

    l1 = np.broadcast_to(np.asarray(p.reg.l1, dtype=float), (p.d,))
    theta = room_inside(v, -l1, l1)
    if theta == 1.0:
        return pair
    ends = (theta * y, theta * v), (y, v)
    share, _ = best_between(*ends, p.b, p.c, p.loss, p.net, ROUGHLY)
    theta += share * (1.0 - theta)
    shrunk = pair_of(p, x, u, theta * y, theta * v)
    return shrunk if shrunk.dual.value > pair.dual.value else pair


class TallFace(PrimalFace):
    """Least squares with few columns: G = A'CA says all there is to know of the curvature.

    The gradient is computed from the data after every epoch, which mends what rounding in G spoils.
    """

    maintains = ""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.G = column_gram(problem)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del y, v
        self.z, self.m = x.copy(), np.zeros(0)  # margins are computed when they are looked at

    def pair(self) -> Pair:
        p = self.problem
        u = margins(p.A, self.z)
        y = dual_from_margins(p, u)
        self.gradient = adjoint(p.A, p.c * y)
        return shrunk_pair(p, self.z.copy(), u, y, -self.gradient, self.tol)


class DualFace(Face):
    """z = -c y, lines are rows of A, the smooth part is the conjugate of the regularizer."""

    maintains = "gradient"

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.part = ConjugatePart(problem.net, LEAST_BEND)
        self.quadratic = problem.reg.plain
        self.across = not problem.A.row_major
        self.coordinates = problem.n
        self.full = self._table()

    def _table(self) -> np.ndarray:
        p = self.problem
        l1, l2 = p.loss.conjugate_net
        low, high = self.domain = domain_of(p)
        self.bounded = bool(np.any(np.isfinite(low)) or np.any(np.isfinite(high)))
        table = np.empty((p.n, 5))
        with np.errstate(divide="ignore", invalid="ignore"):
            table[:, 0], table[:, 1] = -p.b, l1
            table[:, 2] = l2 / p.c
            table[:, 3], table[:, 4] = -p.c * high, -p.c * low
        table[p.c == 0] = 0.0
        return table

    def dual_point(self) -> np.ndarray:
        """The y of this face, inside the domain of phi* in spite of rounding."""
        y = np.empty(len(self.z))
        inside_domain(self.z, self.problem.c, *self.domain, y)
        return y

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        del x
        self.restart(np.clip(-self.problem.c * y, self.full[:, 3], self.full[:, 4]), v)

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return adjoint(self.problem.A, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return margins(self.problem.A, slope)

    def pair(self) -> Pair:
        p = self.problem
        y = self.dual_point()
        return pair_of(p, self.slope.copy(), self.gradient.copy(), y, self.m.copy())


class GramFace(DualFace):
    """The dual of few rows: with A E^-1 A' = L L' the rows of L do what the rows of A did."""

    maintains = ""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.data = Dense(root_of(row_gram(problem)))
        self.part = ConjugatePart(SharedNet(0.0, 1.0, -math.inf, math.inf), LEAST_BEND)
        self.across = False

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        super().start(x, y, None)  # its margins are those of the root

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        return adjoint(self.data, z)

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        return margins(self.data, slope)

    def pair(self) -> Pair:
        p = self.problem
        v = adjoint(p.A, self.z)
        y = self.dual_point()
        x = v / p.reg.l2
        return pair_of(p, x, margins(p.A, x), y, v)

    def pair_inside(self) -> Pair:
        """Values and gap as the small matrix tells them, without x and v.

        x is the minimiser for v, so the column terms are zero and g(x) = g*(v) = |m|^2 / 2.
        """
        from ....terms import loss_terms

        p, y = self.problem, self.dual_point()
        loss, conjugate, rows = loss_terms(self.gradient, y, p.b, p.c, p.loss)
        half = 0.5 * float(self.m @ self.m)
        nothing = np.zeros(0)
        point = PrimalPoint(nothing, self.gradient, loss + half)
        return Pair(point, DualPoint(y, nothing, -conjugate - half), float(rows), 0.0)


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
        usual = scale * np.maximum(squares / mean, 1e-12)  # in the units of each column
        start, self.fade, end = WITH_L2 if np.any(np.asarray(problem.reg.l2) > 0.0) else FADING
        self.rho, self.faintest = start * usual, end * usual
        self.move_centre(problem.reg.minimiser(problem.d))

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term around a point."""
        reg = self.problem.reg
        net = ElasticNet(reg.l1, np.asarray(reg.l2) + self.rho, reg.lower, reg.upper)
        self.part = ShiftedConjugatePart(net.bind(self.problem.d), LEAST_BEND, self.rho * centre)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        self.move_centre(x)
        super().start(x, y, v)

    def advance(self) -> None:
        """Let the centre follow x."""
        self.rho = np.maximum(self.fade * self.rho, self.faintest)
        self.move_centre(self.slope.copy())
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)
        self.gradient = self.gradient_of(self.slope)


def face_of(problem: Problem) -> Face:
    """The face that suits a problem, on a small Gram matrix where there is one."""
    kind = problem.newton_face
    if kind == "primal":
        return TallFace(problem) if few_columns(problem) else PrimalFace(problem)
    if kind == "proximal":
        return ProximalFace(problem)
    if problem.mu == 0.0:
        from .free import FreeFace, FreeGramFace

        few = suits(problem.with_regularizer(ElasticNet(l2=1.0))) and problem.reg.plain
        return FreeGramFace(problem) if few else FreeFace(problem)
    return GramFace(problem) if suits(problem) else DualFace(problem)
