"""The definitions in 60 digits, and the stated bound of rounding of a certificate.

Nothing here calls a method of a loss or of a regularizer. Numbers are ``decimal.Decimal`` with 60
digits, far faster than a library in Python; a double of up to 60 digits enters exactly, others to
within 1e-60 of themselves. Use everything inside ``with digits():``.

The bound. Let u = A x and v = -A'(c y), exactly; |A||x| and S = |A|'|c y| the sums of the sizes of
their terms. A certificate of x by y is right up to

    B(x, y) = C eps { sum_i c_i [ [phi(u_i)] + [phi*(y_i)] + max(|y_i|, |phi'(u_i)|) (|A||x|)_i ]
                    + sum_j [ g_j(x_j) + [g_j*(v_j)] + max(|x_j|, |s_j|) S_j ]
                    + min(max_j S_j / l1_j, 1e-10 / eps) (|P(x)| + sum_i c_i [phi*(y_i)]) }
              + (n + d + sum_j l2_j) 1e-310          (squares below 1e-308 lose digits)

where [.] is the sum of the sizes of a formula's terms (b y + y^2/2: |b y| + y^2/2), s_j = argmax
g_j*, the largest |phi'| and |s_j| of all u and v that are within C eps (|A||x|)_i and C eps S_j
count, and the maximum in the last line is over columns with l1 > 0 and no other penalty (y is
scaled until those are feasible, and S_j / l1_j says how far rounding misleads; where that shows
beyond 1e-10, certificates account for it). C is ``SLACK``: of the powers of two, 4 holds for
500 problems with up to 40 rows, and 8, which is stated, for all that were tried. u, v and the sums
over rows are added up from the first to the last, so with n rows C grows like sqrt(n), and like n
where terms are alike.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["SLACK", "Exact", "conjugate", "digits", "exact", "phi", "slope"]

CONTEXT = decimal.Context(
    prec=60,
    Emax=999_999_999,
    Emin=-999_999_999,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero],
)
SLACK = 8
EPS = Decimal(2) ** -52
SUBTLE = Decimal("1e-10")
LEAST = Decimal("1e-310")
INF = Decimal("Infinity")
ZERO, ONE, TWO, HALF, QUARTER = (Decimal(t) for t in ("0", "1", "2", "0.5", "0.25"))


def digits(count: int = 60) -> Any:
    """60 digits inside this block, or more."""
    return decimal.localcontext(CONTEXT, prec=count)


def exact(values: Any) -> Any:
    """Doubles as decimals: a number, or an array of them."""
    if np.ndim(values) == 0:
        return +Decimal(float(values))
    values = np.asarray(values, dtype=float)
    out = np.empty(values.shape, dtype=object)
    for place, value in np.ndenumerate(values):
        out[place] = +Decimal(float(value))
    return out


def log1p_exp(m: Decimal) -> Decimal:
    """log(1 + exp(m)) to full relative accuracy."""
    if m > 0:
        return m + log1p_exp(-m)
    e = m.exp()
    if e < Decimal("1e-22"):
        return e * (1 - e * (HALF - e / 3))
    return (1 + e).ln()


def x_log_x(t: Decimal) -> Decimal:
    return t * t.ln() if t > 0 else ZERO


def rest_log_rest(s: Decimal) -> Decimal:
    """(1 - s) log(1 - s), to full relative accuracy for a tiny s."""
    if s < Decimal("1e-22"):
        return -s * (1 - s * (HALF + s / 6))
    return x_log_x(1 - s)


# The table of losses: phi, its derivative, its conjugate, and the sizes of their terms.


def phi(loss: Any, u: Decimal, b: Decimal) -> Decimal:
    r, m = abs(u - b), max(ZERO, 1 - b * u)
    match type(loss).__name__:
        case "Logistic":
            return log1p_exp(-b * u)
        case "Hinge":
            return m
        case "SquaredHinge":
            return m * m
        case "SmoothedHinge":
            s = Decimal(loss.s)
            return m * m / (2 * s) if m < s else m - s / 2
        case "Squared":
            return r * r / 2
        case "Huber":
            delta = Decimal(loss.delta)
            return r * r / 2 if r < delta else delta * r - delta * delta / 2
        case "Absolute":
            return r
        case "Quantile":
            q = Decimal(loss.q)
            return q * max(b - u, ZERO) + (1 - q) * max(u - b, ZERO)
        case "EpsilonInsensitive":
            return max(r - Decimal(loss.eps), ZERO)
        case "SquaredEpsilonInsensitive":
            return max(r - Decimal(loss.eps), ZERO) ** 2
        case "Poisson":
            return u.exp() - b * u
    raise LookupError(f"write down phi of {loss} in tests/support/exact.py")


def slope(loss: Any, u: Decimal, b: Decimal) -> Decimal:
    """phi'(u), from the right where there are two."""
    r, m = u - b, max(ZERO, 1 - b * u)
    match type(loss).__name__:
        case "Logistic":
            e = (-abs(b * u)).exp()
            return -b * (e if b * u > 0 else ONE) / (1 + e)
        case "Hinge":
            return -b if m > 0 else ZERO
        case "SquaredHinge":
            return -2 * b * m
        case "SmoothedHinge":
            return -b * min(m / Decimal(loss.s), ONE)
        case "Squared":
            return r
        case "Huber":
            return min(max(r, -Decimal(loss.delta)), Decimal(loss.delta))
        case "Absolute":
            return ONE if r >= 0 else -ONE
        case "Quantile":
            return 1 - Decimal(loss.q) if r >= 0 else -Decimal(loss.q)
        case "EpsilonInsensitive":
            eps = Decimal(loss.eps)
            return ONE if r >= eps else (-ONE if r < -eps else ZERO)
        case "SquaredEpsilonInsensitive":
            return 2 * max(abs(r) - Decimal(loss.eps), ZERO) * (1 if r > 0 else -1)
        case "Poisson":
            return u.exp() - b
    raise LookupError(f"write down phi' of {loss} in tests/support/exact.py")


def bend(loss: Any, u: Decimal, b: Decimal) -> Decimal:
    """phi''(u), from one side where there are two."""
    r, m = abs(u - b), 1 - b * u
    match type(loss).__name__:
        case "Logistic":
            e = (-abs(u)).exp()
            return e / ((1 + e) * (1 + e))
        case "SquaredHinge":
            return TWO if m > 0 else ZERO
        case "SmoothedHinge":
            return 1 / Decimal(loss.s) if 0 < m < Decimal(loss.s) else ZERO
        case "Squared":
            return ONE
        case "Huber":
            return ONE if r <= Decimal(loss.delta) else ZERO
        case "SquaredEpsilonInsensitive":
            return TWO if r >= Decimal(loss.eps) else ZERO
        case "Poisson":
            return u.exp()
    return ZERO


def kinks(loss: Any, b: Decimal) -> tuple[Decimal, ...]:
    """Where phi' jumps."""
    match type(loss).__name__:
        case "Hinge":
            return (b,)
        case "Absolute" | "Quantile":
            return (b,)
        case "EpsilonInsensitive":
            return b - Decimal(loss.eps), b + Decimal(loss.eps)
    return ()


def conjugate(loss: Any, y: Decimal, b: Decimal) -> Decimal:
    return _conjugate(loss, y, b)[0]


def _conjugate(loss: Any, y: Decimal, b: Decimal) -> tuple[Decimal, Decimal]:
    """phi*(y), and the sum of the sizes of its terms."""
    by = b * y
    match type(loss).__name__:
        case "Logistic":
            s = -by
            terms, inside = (x_log_x(s), rest_log_rest(s)), 0 <= s <= 1
        case "Hinge":
            terms, inside = (by,), -1 <= by <= 0
        case "SquaredHinge":
            terms, inside = (by, y * y / 4), by <= 0
        case "SmoothedHinge":
            terms, inside = (by, Decimal(loss.s) * y * y / 2), -1 <= by <= 0
        case "Squared":
            terms, inside = (by, y * y / 2), True
        case "Huber":
            terms, inside = (by, y * y / 2), abs(y) <= Decimal(loss.delta)
        case "Absolute":
            terms, inside = (by,), abs(y) <= 1
        case "Quantile":
            # 1 - q is rounded in float64: a dual point at that end is taken as inside
            q = Decimal(loss.q)
            terms, inside = (by,), -q <= y <= max(1 - q, Decimal(1.0 - float(loss.q)))
        case "EpsilonInsensitive":
            terms, inside = (by, Decimal(loss.eps) * abs(y)), abs(y) <= 1
        case "SquaredEpsilonInsensitive":
            terms, inside = (by, Decimal(loss.eps) * abs(y), y * y / 4), True
        case "Poisson":
            m = y + b
            terms, inside = (x_log_x(m), -m), m >= 0
        case _:
            raise LookupError(f"write down phi* of {loss} in tests/support/exact.py")
    if not inside:
        return INF, INF
    return sum(terms, ZERO), sum((abs(t) for t in terms), ZERO)


def phi_size(loss: Any, u: Decimal, b: Decimal, steepest: Decimal) -> Decimal:
    """The sum of the sizes of the terms of phi(u); u - b, say, is rounded relative to itself."""
    value = abs(phi(loss, u, b))
    if type(loss).__name__ == "Poisson":
        return u.exp() + abs(b * u)
    if loss.label_kind == "sign":
        return value + steepest * abs(1 - b * u)
    return value + steepest * abs(u - b)


# The elastic net in a box.


def g(net: Any, t: Decimal) -> Decimal:
    l1, l2, lower, upper = net
    return l1 * abs(t) + l2 * t * t / 2 if lower <= t <= upper else INF


def g_argmax(net: Any, v: Decimal) -> Decimal:
    """argmax_t v t - g(t), infinite where there is none."""
    l1, l2, lower, upper = net
    beyond = max(v - l1, ZERO) + min(v + l1, ZERO)
    if l2 > 0:
        beyond /= l2
    elif beyond != 0:
        beyond = INF if beyond > 0 else -INF
    return min(max(beyond, lower), upper)


def g_conjugate(net: Any, v: Decimal) -> tuple[Decimal, Decimal]:
    """g*(v), and the sum of the sizes of its terms."""
    t = g_argmax(net, v)
    if t.is_infinite():
        return INF, INF
    return v * t - g(net, t), abs(v * t) + g(net, t)


class Exact:
    """A problem in 60 digits."""

    def __init__(self, A: Any, problem: Any) -> None:
        dense = A.toarray() if sp.issparse(A) else np.asarray(A)
        self.rows = np.flatnonzero(problem.c > 0)
        self.values = dense.astype(float)
        self.A = exact(self.values[self.rows])
        self.size = np.abs(self.A)
        self.b, self.c = exact(problem.b[self.rows]), exact(problem.c[self.rows])
        self.loss, (self.n, self.d) = problem.loss, self.A.shape
        reg = problem.reg
        fields = (np.broadcast_to(t, (self.d,)) for t in (reg.l1, reg.l2, reg.lower, reg.upper))
        self.nets = list(zip(*(exact(t) for t in fields), strict=True))
        self.faint = exact(problem.faint_l2)

    @cached_property
    def flat(self) -> list[int]:
        """Columns whose l2 counts as none and that are unbounded on some side."""
        return [
            j
            for j, (_, l2, lower, upper) in enumerate(self.nets)
            if l2 <= self.faint[j] and (lower == -INF or upper == INF)
        ]

    @cached_property
    def free(self) -> list[int]:
        """Those without l1 as well."""
        return [j for j in self.flat if self.nets[j][0] == 0]

    @cached_property
    def largest(self) -> np.ndarray:
        """max_i |a_ij|, of all rows."""
        return exact(np.abs(self.values).max(axis=0))

    def margins(self, x: Any) -> Any:
        return self.A @ x

    def primal(self, x: Any, u: Any = None) -> Decimal:
        """P(x)."""
        penalty = sum((g(net, t) for net, t in zip(self.nets, x, strict=True)), ZERO)
        if penalty.is_infinite():
            return INF
        u = self.margins(x) if u is None else u
        rows = zip(self.c, u, self.b, strict=True)
        return penalty + sum((c * phi(self.loss, t, b) for c, t, b in rows), ZERO)

    def pull(self, y: Any) -> Any:
        """v = -A'(c y)."""
        return -(self.A.T @ (self.c * y))

    def dual(self, y: Any) -> Decimal:
        """D(y), of a y for all rows of the problem."""
        y = exact(y)[self.rows]
        rows = zip(self.c, y, self.b, strict=True)
        total = sum((c * conjugate(self.loss, t, b) for c, t, b in rows), ZERO)
        columns = zip(self.nets, self.pull(y), strict=True)
        return -total - sum((g_conjugate(net, v)[0] for net, v in columns), ZERO)

    def within(self, x: Any, reach: float) -> bool:
        """Whether each column without penalty adds at most this to any prediction."""
        limit = exact(reach)
        return all(abs(x[j]) * self.largest[j] <= limit for j in self.free)

    def bound(self, x: Any, y: Any) -> Decimal:
        """B(x, y) of the module's docstring; x in decimals, y in doubles for all rows."""
        y = exact(y)[self.rows]
        share = SLACK * EPS
        total = stars = ZERO
        u, sizes = self.margins(x), self.size @ np.abs(x)
        for c, b, ui, yi, size in zip(self.c, self.b, u, y, sizes, strict=True):
            off = share * size
            steepest = max(abs(slope(self.loss, t, b)) for t in (ui - off, ui, ui + off))
            star = _conjugate(self.loss, yi, b)[1]
            star = ZERO if star.is_infinite() else star
            stars += c * star
            total += c * phi_size(self.loss, ui, b, steepest)
            total += c * max(abs(yi), steepest) * size
        total += stars
        v, sums, worst = self.pull(y), self.size.T @ (self.c * np.abs(y)), ZERO
        for j, (net, t) in enumerate(zip(self.nets, x, strict=True)):
            off, furthest, star = share * sums[j], abs(t), ZERO
            for w in (v[j] - off, v[j], v[j] + off):
                s = g_argmax(net, w)
                if s.is_finite():
                    furthest, star = max(furthest, abs(s)), max(star, g_conjugate(net, w)[1])
            inside = g(net, t)
            total += furthest * sums[j] + star + (inside if inside.is_finite() else ZERO)
            if j in self.flat and net[0] > 0:
                worst = max(worst, sums[j] / net[0])
        value = self.primal(x, u)
        if worst and value.is_finite():
            total += min(worst, SUBTLE / EPS) * (abs(value) + stars)
        factors = sum((net[1] for net in self.nets), ZERO)
        return share * total + (len(self.values) + self.d + factors) * LEAST
