"""The certificate: a feasible dual point and the duality gap it proves.

    gap = sum_i c_i [phi(u_i) + phi*(y_i) - u_i y_i] + sum_j [g_j(x_j) + g_j*(v_j) - x_j v_j]

with u = A x and v = -A'(c y). Every bracket is >= 0, so the sum loses nothing to cancellation,
and ``gap >= P(x) - P*`` because y is made feasible first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import IncompatibleError, ParameterError
from ..problem import check_point
from .feasible import balanced, mend

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["Certificate", "certify"]

TINY = float(np.finfo(float).tiny)
ROUGHLY = 4  # sections that find the best point to within a tenth
SECTIONS = 10  # golden sections: the best point of a segment to within one per cent


class Certificate(NamedTuple):
    """How far from optimal a point is at most.

    Attributes
    ----------
    primal, dual : float
        P(x) and D(y): the optimum lies between ``dual`` and ``primal``.
    gap : float
        ``primal - dual``, summed without cancellation: an upper bound of P(x) - P*.
    rel_gap : float
        ``gap / max(|primal|, |dual|)``.
    y : ndarray
        The feasible dual point that proves it.
    """

    primal: float
    dual: float
    gap: float
    rel_gap: float
    y: np.ndarray

    def __str__(self) -> str:
        if not math.isfinite(self.gap):
            return "Not certified: the objective or its lower bound is infinite at this point."
        return (
            f"Certified: the objective is {self.primal:.10g} and no point can be below "
            f"{self.dual + 0.0:.10g}; at most {self.gap:.3g} ({self.rel_gap:.2g} of it) is left to "
            "gain."
        )


class PrimalPoint(NamedTuple):
    """x with its margins u = A x and its objective."""

    x: np.ndarray
    u: np.ndarray
    value: float


class DualPoint(NamedTuple):
    """A feasible y with v = -A'(c y) and its objective."""

    y: np.ndarray
    v: np.ndarray
    value: float


class Pair(NamedTuple):
    """x and a feasible y with everything known about them: the gap is ``rows + columns``."""

    point: PrimalPoint
    dual: DualPoint
    rows: float
    columns: float

    @property
    def gap(self) -> float:
        return self.rows + self.columns

    @property
    def lag(self) -> float:
        """Row terms over column terms: above 1 y lags behind x, below 1 x behind y."""
        if not math.isfinite(self.gap):
            return 1.0
        return (self.rows + TINY) / (self.columns + TINY)


def certify(x: Any, problem: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Bound how far a point, or a fitted model of scikit-learn, is from optimal.

    Parameters
    ----------
    x : array of shape (d,), or a fitted estimator
        Any point, from any solver; or ``certify(model, X, y)`` with a linear model of scikit-learn
        or of ``spd1.linear_model``, measured by its own objective.
    problem : Problem, or the data X of a model
    y : array of shape (n,), optional
        A dual point to prove it with, clipped to the domain of phi* where it is outside. Without
        it phi'(a_i'x) is used; the best bound between the two, and zero, counts. For a model: its
        labels or targets.
    sample_weight : array of shape (n,), optional
        The weights that a model was fitted with; a Problem has its own.

    Returns
    -------
    Certificate
        For a model of several classes or targets, a list of one each.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(np.eye(2), [1.0, -1.0], "squared", spd1.L2(0.5))
    >>> certificate = spd1.certify([0.5, -0.5], problem)
    >>> certificate.gap < 1e-15
    True
    """
    if hasattr(x, "get_params"):
        from ..linear_model.foreign import certify_model

        return certify_model(x, problem, y, sample_weight)
    if sample_weight is not None:
        raise ParameterError("sample_weight goes to a model; a Problem has its own weights")
    return certify_point(x, problem, y)


def certify_point(x: Any, problem: Problem, y: Any = None) -> Certificate:
    """The certificate of a point, see ``certify``."""
    point = primal_point(problem, check_point(x, problem.d, "x"))
    guess = dual_from_margins(problem, point.u)
    dual = better(problem, zero_dual(problem), feasible_dual(problem, guess))
    if y is not None:
        from ..terms import replace_infeasible

        given = check_point(y, problem.n, "y").copy()
        replace_infeasible(given, guess, problem.b, problem.loss)
        dual = better(problem, dual, feasible_dual(problem, given))
    refuse_without_bound(problem, dual.value)
    return pair_certificate(problem, point, dual)


def primal_point(problem: Problem, x: np.ndarray) -> PrimalPoint:
    """Evaluate P at x; a sum that overflowed counts as infinite."""
    from ..data.products import margins

    with np.errstate(all="ignore"):
        return primal_of(problem, x, margins(problem.A, x))


def primal_of(problem: Problem, x: np.ndarray, u: np.ndarray) -> PrimalPoint:
    """Evaluate P at x, its margins u = A x known."""
    from ..terms import loss_terms, net_terms

    with np.errstate(all="ignore"):
        loss = loss_terms(u, np.zeros(problem.n), problem.b, problem.c, problem.loss)[0]
        value = float(loss + net_terms(x, np.zeros(problem.d), problem.net)[0])
    return PrimalPoint(x, u, value if math.isfinite(value) else math.inf)


def dual_from_margins(problem: Problem, u: np.ndarray) -> np.ndarray:
    """The dual point that any x offers: phi'(u)."""
    from ..terms import dual_guess

    y = np.empty(problem.n)
    dual_guess(u, problem.b, problem.loss, y)
    return y


@np.errstate(all="ignore")
def feasible_dual(problem: Problem, y: np.ndarray) -> DualPoint:
    """Make y feasible for the regularizer, by mending and scaling, and evaluate D there.

    y must be inside the domain of phi*. Columns with l2 > 0 or a bounded box ask nothing. Columns
    with l1 > 0 alone need |v_j| <= l1_j: y is scaled down. Columns with no penalty at all need
    v_j = 0 (on their unbounded sides): y is moved where it has room to move.
    """
    from ..data.products import adjoint

    return dual_of(problem, y, -adjoint(problem.A, problem.c * y))


@np.errstate(all="ignore")
def dual_of(problem: Problem, y: np.ndarray, v: np.ndarray) -> DualPoint:
    """The same, v = -A'(c y) known."""
    from ..terms import loss_terms, net_terms

    y, v = made_feasible(problem, y, v)
    zero_u, zero_x = np.zeros(problem.n), np.zeros(problem.d)
    value = -float(
        loss_terms(zero_u, y, problem.b, problem.c, problem.loss)[1]
        + net_terms(zero_x, v, problem.net)[1]
    )
    if not math.isfinite(value):
        value = -math.inf
    return DualPoint(y, v, value)


@np.errstate(all="ignore")
def made_feasible(problem: Problem, y: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mend and scale y, with v = -A'(c y), until v is inside its bounds."""
    from ..data.products import adjoint
    from ..terms import room_inside, scaled_inside

    low, high = problem.dual_bounds
    if low is None or high is None:
        return y, v
    free = problem.free_columns
    if len(free) and not balanced(problem, y, v, low, high, free).all():
        y = mend(problem, y, low, high, free)
        v = -adjoint(problem.A, problem.c * y)
    theta = room_inside(v, low, high)
    inside = np.empty(problem.d)
    scaled_inside(theta, v, low, high, inside)
    return y * theta if theta < 1.0 else y, inside


def pair_of(problem: Problem, x: np.ndarray, u: np.ndarray, y: np.ndarray, v: np.ndarray) -> Pair:
    """Evaluate x and y where u = A x and v = -A'(c y) are known; y is made feasible first."""
    from ..terms import loss_terms, net_terms

    if problem.dual_bounds[0] is not None:
        y, v = made_feasible(problem, y, v)
    loss, conjugate, rows = loss_terms(u, y, problem.b, problem.c, problem.loss)
    g, g_star, columns = net_terms(x, v, problem.net)
    primal, dual = loss + g, -(conjugate + g_star)
    point = PrimalPoint(x, u, primal if math.isfinite(primal) else math.inf)
    finite = math.isfinite(dual)
    return Pair(point, DualPoint(y, v, dual if finite else -math.inf), float(rows), float(columns))


def better(
    problem: Problem, one: DualPoint, other: DualPoint, sections: int = SECTIONS
) -> DualPoint:
    """The best lower bound on the segment between two feasible points, by golden section.

    D is concave and both points are feasible, so is everything between them, and v = -A'(c y)
    is known there without a product. A noisy or far-off dual point still helps this way.
    """
    from ..terms import best_between

    if not math.isfinite(other.value):
        return one
    if not math.isfinite(one.value):
        return other
    ends = (one.y, one.v), (other.y, other.v)
    theta, found = best_between(*ends, problem.b, problem.c, problem.loss, problem.net, sections)
    if not found > max(one.value, other.value):
        return other if other.value > one.value else one
    y = one.y + theta * (other.y - one.y)
    return DualPoint(y, one.v + theta * (other.v - one.v), float(found))


def best_multiple(problem: Problem, y: np.ndarray) -> DualPoint:
    """About the best multiple theta y, 0 <= theta <= 1; y alone may be far off."""
    if problem.reg.scalar and problem.reg.plain and problem.mu > 0.0:
        return _best_multiple_of_plain(problem, y)
    zero, whole = zero_dual(problem), feasible_dual(problem, y)
    if not math.isfinite(zero.value):
        return whole
    return better(problem, zero, whole, ROUGHLY)


def _best_multiple_of_plain(problem: Problem, y: np.ndarray) -> DualPoint:
    """The same where |v| is all that the regularizer, l2/2 |x|^2, asks of v."""
    from ..data.products import adjoint
    from ..terms import best_between, dual_between

    p = problem
    v = adjoint(p.A, p.c * y)
    ends = (np.zeros(p.n), np.zeros(1)), (y, np.array([math.sqrt(v @ v)]))
    rest = p.b, p.c, p.loss, p.net
    choices = [(dual_between(theta, *ends, *rest), theta) for theta in (0.0, 1.0)]
    if all(math.isfinite(value) for value, _ in choices):
        theta, value = best_between(*ends, *rest, ROUGHLY)
        choices.append((value, theta))
    value, theta = max(choices)
    v *= -theta
    return DualPoint(theta * y, v, float(value) if math.isfinite(value) else -math.inf)


def zero_dual(problem: Problem) -> DualPoint:
    """Y = 0: feasible for most losses, the bound that is always there."""
    from ..terms import dual_between

    y, v = np.zeros(problem.n), np.zeros(problem.d)
    value = float(
        dual_between(0.0, (y, v), (y, v), problem.b, problem.c, problem.loss, problem.net)
    )
    return DualPoint(y, v, value if math.isfinite(value) else -math.inf)


def pair_certificate(problem: Problem, point: PrimalPoint, dual: DualPoint) -> Certificate:
    """The gap between any x and any feasible y: they need not come from the same iteration."""
    from ..terms import loss_terms, net_terms

    if not (math.isfinite(point.value) and math.isfinite(dual.value)):
        return Certificate(point.value, dual.value, math.inf, math.inf, dual.y)
    rows = loss_terms(point.u, dual.y, problem.b, problem.c, problem.loss)[2]
    columns = net_terms(point.x, dual.v, problem.net)[2]
    gap = float(rows + columns)
    if not math.isfinite(gap):
        gap = math.inf
    return Certificate(point.value, dual.value, gap, relative(gap, point.value, dual.value), dual.y)


def certificate_of(pair: Pair) -> Certificate:
    """The certificate of a pair."""
    primal, dual = pair.point.value, pair.dual.value
    gap = pair.gap if math.isfinite(pair.gap) else math.inf
    return Certificate(primal, dual, gap, relative(gap, primal, dual), pair.dual.y)


def lag_of(problem: Problem, point: PrimalPoint, dual: DualPoint) -> float:
    """Row terms of the gap over its column terms: above 1 y lags behind x, below 1 x behind y."""
    from ..terms import loss_terms, net_terms

    rows = float(loss_terms(point.u, dual.y, problem.b, problem.c, problem.loss)[2])
    columns = float(net_terms(point.x, dual.v, problem.net)[2])
    if not (math.isfinite(rows) and math.isfinite(columns)):
        return 1.0
    return (rows + TINY) / (columns + TINY)


def relative(gap: float, primal: float, dual: float) -> float:
    """Gap / max(|primal|, |dual|)."""
    return gap / max(abs(primal), abs(dual), TINY) if math.isfinite(gap) else math.inf


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
