"""The certificate: a feasible dual point and the duality gap it proves.

    gap = sum_i c_i [phi(u_i) + phi*(y_i) - u_i y_i] + sum_j [g_j(x_j) + g_j*(v_j) - x_j v_j]

with u = A x and v = -A'(c y). Every bracket is >= 0, so the sum loses nothing to cancellation,
and ``gap >= P(x) - P*`` because y is made feasible first. ``docs/explanation/promises.md`` says
up to which rounding.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..errors import IncompatibleError
from ..problem import Problem, check_point
from .feasible import replace_infeasible
from .points import TINY, Pair, dual_from_margins, feasible_dual, paired, primal_point, zero_dual
from .segments import better
from .tuning import FLOOR_SHARE, HELD, UNIT

__all__ = [
    "Certificate",
    "certificate_of",
    "certify_point",
    "floor_of",
    "refuse_without_bound",
    "relative",
]


class Certificate(NamedTuple):
    """How far from optimal a point is at most.

    Attributes
    ----------
    primal, dual : float
        P(x) and D(y): the optimum lies between ``dual`` and ``primal``.
    gap : float
        ``primal - dual``, summed without cancellation: an upper bound of P(x) - P*.
    rel_gap : float
        ``gap / max(|primal|, |dual|, floor)``.
    y : ndarray
        The feasible dual point that proves it.
    floor : float
        1e-7 of the objective at the start: at zero, or the point of the box nearest to it, or of a
        constant prediction if that is less. An optimum of 0 is measured against it: no gap is small
        relative to nothing.
    reach : float
        Infinite: proven against every point. Otherwise some columns without penalty are
        combinations of others to within rounding, and it is proven against all points for which
        each column without penalty adds at most this to any prediction.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> A = np.random.default_rng(0).normal(size=(60, 5))
    >>> problem = spd1.Problem(A, A[:, 0], loss="squared", reg=spd1.L1(0.1))
    >>> proof = spd1.certify(np.zeros(5), problem)  # how far from optimal is doing nothing?
    >>> proof.dual <= proof.primal, 0.0 < proof.rel_gap <= 1.0
    (True, True)
    """

    primal: float
    dual: float
    gap: float
    rel_gap: float
    y: np.ndarray
    floor: float = 0.0
    reach: float = math.inf

    def __repr__(self) -> str:
        """Without the vector."""
        shown = ("primal", "dual", "gap", "rel_gap", "floor", "reach")
        return f"Certificate({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _repr_html_(self) -> str:
        """The sentence."""
        return f"<p>{escape(str(self))}</p>"

    def __str__(self) -> str:
        if not math.isfinite(self.gap):
            return "Not certified: the objective or its lower bound is infinite at this point."
        share = f"{self.rel_gap:.2g} of it"
        if self.floor > max(abs(self.primal), abs(self.dual)):
            share = f"{self.rel_gap:.2g} of {self.floor:.2g}, 1e-7 of the objective at the start"
        among = ""
        if math.isfinite(self.reach):
            among = (
                " Some columns without penalty are combinations of others to within rounding: "
                f"points for which one of them adds more than {self.reach:.2g} to a prediction are "
                "not ruled out."
            )
        return (
            f"Certified: the objective is {self.primal:.10g} and no point can be below "
            f"{self.dual + 0.0:.10g}; at most {self.gap:.3g} ({share}) is left to gain.{among}"
        )


def certify_point(x: Any, problem: Problem, y: Any = None) -> Certificate:
    """The certificate of a point, see ``certify``."""
    point = primal_point(problem, check_point(x, problem.d, "x"))
    guess = dual_from_margins(problem, point.u)
    dual = better(problem, zero_dual(problem), feasible_dual(problem, guess))
    if y is not None:
        given = check_point(y, problem.n, "y").copy()
        replace_infeasible(given, guess, problem.b, problem.loss)
        dual = better(problem, dual, feasible_dual(problem, given))
    refuse_without_bound(problem, dual.value)
    return certificate_of(problem, paired(problem, point, dual))


def certificate_of(problem: Problem, pair: Pair) -> Certificate:
    """The certificate of a pair.

    Whatever its terms say, the gap is not below the difference of the values by more than rounding.
    A y that overflowed, as exponentials do, proves nothing: y = 0 proves no less.
    """
    if pair.dual.value == -math.inf and not np.isfinite(pair.dual.y).all():
        pair = paired(problem, pair.point, zero_dual(problem))
    primal, dual = pair.point.value, pair.dual.value - pair.open
    gap = pair.gap if math.isfinite(pair.gap) else math.inf
    if pair.dual.near is not None:  # its value is that of the worst y, the gap that of the pair
        dual = max(dual, primal - gap - 16.0 * UNIT * (abs(primal) + gap))
    elif math.isfinite(primal - dual):
        gap = max(gap, primal - dual - HELD * (abs(primal) + abs(dual)))
    floor = floor_of(problem)
    rel_gap = relative(gap, primal, dual, floor)
    return Certificate(primal, dual, gap, rel_gap, pair.dual.y, floor, pair.reach)


def floor_of(problem: Problem) -> float:
    """What a gap is relative to if the objective is less: a share of the objective at the start."""
    start = abs(problem.start_value)
    return FLOOR_SHARE * start if math.isfinite(start) else 0.0


def relative(gap: float, primal: float, dual: float, floor: float = 0.0) -> float:
    """Gap / max(|primal|, |dual|, floor)."""
    return gap / max(abs(primal), abs(dual), floor, TINY) if math.isfinite(gap) else math.inf


def refuse_without_bound(problem: Problem, dual: float) -> None:
    """Refuse a problem for which no feasible dual point was found, if it is the loss's fault.

    Scaling and the last resort lean on 0 being in the domain of phi*.
    """
    if math.isfinite(dual) or problem.dual_bounds[0] is None:
        return
    conjugate = problem.loss.conjugate
    if any(not math.isfinite(conjugate(0.0, float(b))) for b in np.unique(problem.b)[:1000]):
        raise IncompatibleError(
            f"{type(problem.loss).__name__} has no finite conjugate at 0, so features without l2 "
            "and without bounds have no feasible dual point: add l2 > 0 or bounds"
        )
