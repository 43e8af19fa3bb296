"""What a face is: the problem as Newton's method minimises it.

    min_z  F(m) + sum_l h_l(z_l),     m = sum_l z_l b_l

F is smooth, h_l is linear, l1, l2 and a box, and b_l is the *line* of coordinate l. There are two
faces, and Newton's method and coordinate descent are written once for both:

    ==========  ==================================  ======================================
    word        on the primal                       on the dual
    ==========  ==================================  ======================================
    z           x                                   w = -c y
    line b_l    column of A                         row of A
    m           margins A x                         v = A'w = -A'(c y)
    F(m)        sum_i c_i phi(m_i)                  sum_j g_j*(m_j)
    h(z)        sum_j g_j(x_j)                      sum_i c_i phi*(-w_i / c_i)
    slope       F'(m) = c phi'(A x): c y of this x  argmax_t {m t - g(t)}: the x of this v
    bend        F''(m) = c phi''                    g*'': 1/l2, or 0 between kinks
    gradient    A' slope = -v                       A slope: the margins of x
    ==========  ==================================  ======================================
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ....certificate.points import DualPoint, Pair
from ....data.lines import LineStore
from ....problem import Problem
from ....terms import domain_ends
from ..tuning import INNER
from .parts import fill_terms

__all__ = ["Face", "FaceState"]


class FaceState(NamedTuple):
    """Where a face stands: the words of the table above, and what some faces move between looks.

    ``centre`` and ``rho`` are those of a proximal term, empty where there is none; ``least`` is the
    curvature that stands in for none, see ``parts``.
    """

    z: np.ndarray
    m: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    gradient: np.ndarray
    centre: np.ndarray
    rho: np.ndarray
    least: float


class Face:
    """State of either face. Subclasses say what is particular about theirs.

    Attributes
    ----------
    quadratic : bool
        Whether F is quadratic: its models are exact.
    bounded : bool
        Whether any coordinate has a bound.
    lines : LineStore
    full : ndarray
        linear, l1, l2, lower, upper of each coordinate, or once where all agree.
    """

    maintains: ClassVar[str] = "margins"  # what the pair takes from sums only kept up to date
    ranked: ClassVar[bool] = True  # whether a working set takes the strongest; else all, shuffled
    has_gram: ClassVar[bool] = True  # whether a Gram matrix of lines can serve several models
    on_gram: ClassVar[bool] = False  # whether one small matrix says all there is to know of F
    epochs_a_look: ClassVar[int] = 1  # more where an epoch need not look at the data
    tol = 0.0  # relative gap that needs no better dual point
    quadratic: bool
    bounded: bool
    lines: LineStore
    part: Any
    coordinates: int
    full: np.ndarray
    z: np.ndarray
    m: np.ndarray
    slope: np.ndarray
    bend: np.ndarray
    gradient: np.ndarray
    flat: bool  # whether bend is the same everywhere
    value: float
    centre: np.ndarray = np.zeros(0)
    rho: np.ndarray = np.zeros(0)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        """Put the face at a point; ``v`` is -A'(c y) if that is known."""
        raise NotImplementedError

    def restart(self, z: np.ndarray, m: np.ndarray | None = None) -> None:
        """The same in its own terms."""
        self.z = z
        self.m = self.margins_of(z) if m is None else m.copy()
        self.slope, self.bend = np.empty(len(self.m)), np.empty(len(self.m))
        self.fill()
        self.settle()
        self.gradient = self.first_gradient()

    def settle(self) -> None:
        """Take note of what the curvature is like."""
        self.flat = self.quadratic and bool(np.all(self.bend == self.bend[:1]))

    @property
    def state(self) -> FaceState:
        """Where the face stands; the arrays are its own."""
        return FaceState(
            self.z, self.m, self.slope, self.bend, self.gradient, self.centre, self.rho,
            self.part.least,
        )  # fmt: skip

    def resume(self, state: FaceState) -> None:
        """Stand there; the arrays are the face's from now on."""
        self.z, self.m, self.slope, self.bend, self.gradient, centre, self.rho, least = state
        if len(centre):
            self.move_centre(centre)
        self.part = self.part._replace(least=least)
        nothing = np.empty((2, len(self.m)))
        self.value = fill_terms(self.part, self.m, nothing[0], nothing[1])
        self.settle()

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term, where there is one, around a point."""
        raise NotImplementedError

    def fill(self) -> None:
        """Value, slope and bend of F at the margins."""
        self.value = fill_terms(self.part, self.m, self.slope, self.bend)

    def first_gradient(self) -> np.ndarray:
        """The gradient of the point that a run starts from."""
        return self.gradient_of(self.slope)

    def numbers(self, chosen: np.ndarray) -> np.ndarray:
        """The five numbers of some coordinates."""
        if len(self.full) == self.coordinates:
            return np.asarray(self.full[chosen])
        return np.repeat(self.full, len(chosen), axis=0)

    @cached_property
    def table(self) -> np.ndarray:
        """The five numbers of all coordinates."""
        return self.numbers(np.arange(self.coordinates))

    @cached_property
    def domain(self) -> tuple[np.ndarray, np.ndarray]:
        """Ends of the domain of phi*, row by row."""
        return domain_ends(self.problem.b, self.problem.loss)

    def margins_of(self, z: np.ndarray) -> np.ndarray:
        """M."""
        raise NotImplementedError

    def gradient_of(self, slope: np.ndarray) -> np.ndarray:
        """The product of every line with the slope."""
        raise NotImplementedError

    def pair(self) -> Pair:
        """x, a feasible y, and their gap."""
        raise NotImplementedError

    # What is particular about some faces

    @property
    def inner(self) -> float:
        """How far an epoch solves its model, relative to the gap."""
        return INNER

    @property
    def smooth(self) -> bool:
        """Whether nothing has a kink: Newton's steps move all coordinates at once."""
        return False

    def look(self) -> tuple[Pair, bool]:
        """The pair after an epoch, and whether it was found without a look at the data."""
        return self.pair(), False

    def advance(self) -> None:
        """Move on to the next problem of a sequence, where there is one."""

    def successor(self) -> Face | None:
        """The face to go on with after a restart, if this one was not accurate enough."""
        return None

    def constant_curvatures(self, chosen: np.ndarray) -> np.ndarray | None:
        """Curvatures of some coordinates where these never change and are known."""
        del chosen
        return None

    def slack_of(self, before: np.ndarray) -> float:
        """By how much a bound may hold a coordinate that joins the working set all the same.

        ``before`` is the gradient before the last epoch.
        """
        del before
        return 0.0

    def drift(self, dual: DualPoint, updates: float, largest: float) -> float:
        """Bound of what rounding in the margins can have moved the gap by."""
        raise NotImplementedError
