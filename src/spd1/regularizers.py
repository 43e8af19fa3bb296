"""The separable regularizer family: elastic net in a box, each number a scalar or per feature.

    g_j(t) = l1_j |t| + l2_j / 2 t^2   for lower_j <= t <= upper_j, infinite elsewhere

L1, L2, elastic net, non-negativity, boxes, weights per feature and "none" are all members.
``ElasticNet`` is what users write; kernels see one of two compiled forms, with four scalars or
with four numbers side by side per feature.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .errors import DataError, ParameterError
from .kernel.jit import compiled
from .late import late

__all__ = ["L1", "L2", "Box", "ElasticNet", "as_regularizer"]

FIELDS = ("l1", "l2", "lower", "upper")
LEAST_L2 = 1e-307
ELASTIC = "reg=spd1.ElasticNet(l1=0.01, l2=0.1), or l1=0.01, l2=0.1 in spd1.solve(X, y, ...)"
RIDGE = "reg=spd1.L2(0.1), or l2=0.1 in spd1.solve(X, y, ...)"
LASSO = "reg=spd1.L1(0.01), or l1=0.01 in spd1.solve(X, y, ...)"
CALLS = {"l1": LASSO, "lasso": LASSO, "l2": RIDGE, "ridge": RIDGE, "elasticnet": ELASTIC,
         "enet": ELASTIC, "none": "reg=None"}  # fmt: skip


class Regularizer:
    """What kernels may ask of a regularizer, feature by feature.

    Each method reads its four numbers and then does the same arithmetic; the defaults here are
    that arithmetic, and the two forms below differ in where the numbers lie.
    """

    _inline = "never"

    def numbers(self, j):
        """Return (l1_j, l2_j, lower_j, upper_j)."""
        raise NotImplementedError

    def is_shared(self):
        """Whether every feature has the same numbers; the class alone says so."""
        return False

    def is_plain(self):
        """Whether every feature has the same l2 > 0 and nothing else."""
        return False

    def is_free(self):
        """Whether every feature has the same l1 and l2, and no bounds."""
        return False

    def prox(self, z, eta, j):
        """argmin_t { eta g_j(t) + (t - z)^2 / 2 } = clip(soft(z, eta l1) / (1 + eta l2))."""
        l1, l2, lower, upper = self.numbers(j)
        cut = eta * l1
        soft = max(z - cut, 0.0) + min(z + cut, 0.0)  # no branch: the sign of z is unpredictable
        return min(max(soft / (1.0 + eta * l2), lower), upper)

    def g(self, t, j):
        """Value of g_j(t)."""
        l1, l2, lower, upper = self.numbers(j)
        if t < lower or t > upper:
            return math.inf
        return l1 * abs(t) + 0.5 * l2 * t * t

    def g_argmax(self, v, j):
        """The t that attains g_j*(v) = sup_t { v t - g_j(t) }; infinite where none does."""
        l1, l2, lower, upper = self.numbers(j)
        z = max(v - l1, 0.0) + min(v + l1, 0.0)
        if l2 > 0.0:
            z /= l2
        elif z != 0.0:
            z = math.inf if z > 0.0 else -math.inf
        return min(max(z, lower), upper)

    def g_conjugate(self, v, j):
        """g_j*(v) = sup_t { v t - g_j(t) }."""
        l1, l2, _, _ = self.numbers(j)
        t = self.g_argmax(v, j)
        if math.isinf(t):
            return math.inf
        return v * t - l1 * abs(t) - 0.5 * l2 * t * t

    def g_conjugate_bend(self, v, j):
        """Second derivative of g_j*, all l2 > 0: 1/l2, or zero where g_argmax does not move."""
        l1, l2, lower, upper = self.numbers(j)
        t = (max(v - l1, 0.0) + min(v + l1, 0.0)) / l2
        moves = (l1 == 0.0 or abs(v) > l1) and lower < t < upper
        return 1.0 / l2 if moves else 0.0

    def g_bracket(self, t, v, j):
        """Fenchel-Young term g_j(t) + g_j*(v) - t v >= 0, without cancellation.

        With s = g_argmax(v) and r = v - l2 s, a subgradient of l1|.| + box at s, it equals
        l2/2 (t - s)^2 + l1 (|t| - |s|) - r (t - s).
        """
        l1, l2, lower, upper = self.numbers(j)
        s = self.g_argmax(v, j)
        if math.isinf(s) or t < lower or t > upper:
            return math.inf
        gap = t - s
        rest = l1 * (abs(t) - abs(s)) - (v - l2 * s) * gap
        return 0.5 * l2 * gap * gap + max(rest, 0.0)


@compiled(Regularizer)
class SharedNet(NamedTuple):
    """The same four numbers for every feature."""

    l1: float
    l2: float
    lower: float
    upper: float

    def numbers(self, j):
        return self.l1, self.l2, self.lower, self.upper

    def is_shared(self):
        return True

    def is_plain(self):
        return self.l1 == 0.0 and self.l2 > 0.0 and self.is_free()

    def is_free(self):
        return self.lower == -math.inf and self.upper == math.inf


@compiled(Regularizer)
class FeatureNet(NamedTuple):
    """Four numbers per feature, side by side so that one cache line holds them."""

    table: np.ndarray

    def numbers(self, j):
        return self.table[j, 0], self.table[j, 1], self.table[j, 2], self.table[j, 3]


@dataclass(frozen=True, eq=False, init=False)
class ElasticNet:
    """Separable regularizer ``l1 |t| + l2/2 t^2`` on the box ``[lower, upper]``.

    Parameters
    ----------
    l1, l2 : float or array of shape (d,), default 0
        Weights of the absolute value and of half the square; not negative.
    lower, upper : float or array of shape (d,), default -inf and inf
        Bounds of the feasible set; ``lower <= upper``.

    Examples
    --------
    >>> ElasticNet(l1=0.1, lower=0.0)
    ElasticNet(l1=0.1, lower=0.0)
    """

    l1: Any = 0.0
    l2: Any = 0.0
    lower: Any = -math.inf
    upper: Any = math.inf

    def __init__(
        self, l1: Any = 0.0, l2: Any = 0.0, lower: Any = -math.inf, upper: Any = math.inf
    ) -> None:
        # a frozen dataclass would set them one by one, by a call each
        self.__dict__.update(l1=l1, l2=l2, lower=lower, upper=upper)
        if self.scalar and self._in_order():
            return  # the usual case, without a dozen small arrays; NaN is in no order
        for name in FIELDS:
            value = getattr(self, name)
            number = _numbers(value, name)
            if number is not value:
                object.__setattr__(self, name, number)
        self.__dict__.pop("scalar")  # of what was given
        if self.scalar and self._in_order():
            return
        for name in ("l1", "l2"):
            value = np.asarray(getattr(self, name))
            if np.any(value < 0) or np.any(np.isinf(value)):
                raise ParameterError(f"{name} must be finite and not negative")
        l2 = np.asarray(self.l2)
        if np.any((l2 > 0.0) & (l2 < LEAST_L2)):
            raise ParameterError(f"l2 below {LEAST_L2:g} has no inverse in float64: use 0")
        if np.any(np.asarray(self.lower) == math.inf) or np.any(
            np.asarray(self.upper) == -math.inf
        ):
            raise ParameterError("lower must not be inf and upper must not be -inf")
        shapes = {np.shape(v) for v in self._values() if np.ndim(v)}
        if len(shapes) > 1:
            raise ParameterError(f"regularizer vectors differ in length: {sorted(shapes)}")
        if np.any(np.asarray(self.lower) > np.asarray(self.upper)):
            raise ParameterError("lower must not exceed upper")

    def _in_order(self) -> bool:
        box = self.lower <= self.upper and self.lower < math.inf and self.upper > -math.inf
        l2 = self.l2 == 0.0 or LEAST_L2 <= self.l2 < math.inf
        return bool(box and 0 <= self.l1 < math.inf and l2)

    def _values(self) -> tuple[Any, ...]:
        return self.l1, self.l2, self.lower, self.upper

    def __repr__(self) -> str:
        defaults = (0.0, 0.0, -math.inf, math.inf)
        parts = []
        for name, value, default in zip(FIELDS, self._values(), defaults, strict=True):
            if np.ndim(value):
                parts.append(f"{name}=<{len(value)} values>")
            elif value != default:
                parts.append(f"{name}={value!r}")
        return f"ElasticNet({', '.join(parts)})"

    def bind(self, d: int) -> SharedNet | FeatureNet:
        """Return the compiled form for d features."""
        if self.scalar:
            return SharedNet(*self._values())
        lengths = {len(v) for v in self._values() if np.ndim(v)}
        if lengths != {d}:
            raise DataError(
                f"the regularizer has {lengths.pop()} values per field, A has {d} columns"
            )
        table = np.empty((d, 4))
        for column, value in enumerate(self._values()):
            table[:, column] = value
        return FeatureNet(table)

    @late
    def scalar(self) -> bool:
        """Whether every feature has the same numbers."""
        one, two, low, high = type(self.l1), type(self.l2), type(self.lower), type(self.upper)
        return one is float and two is float and low is float and high is float

    @late
    def mu(self) -> float:
        """Strong convexity: the smallest l2."""
        return float(self.l2 if self.scalar else np.min(self.l2))

    @late
    def plain(self) -> bool:
        """Whether nothing has a kink: no l1 and no bounds."""
        if self.scalar:
            return bool(self.l1 == 0.0 and math.isinf(self.lower) and math.isinf(self.upper))
        bounded = np.any(np.isfinite(self.lower)) or np.any(np.isfinite(self.upper))
        return not (bounded or np.any(np.asarray(self.l1) > 0))

    def radius(self, d: int) -> float:
        """D = sup of |x| over the box; infinite if it is unbounded."""
        reach = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return float(math.sqrt(d) * reach if np.ndim(reach) == 0 else np.linalg.norm(reach))

    def minimiser(self, d: int) -> np.ndarray:
        """Argmin g: zero, or the bound nearest to it."""
        if self.scalar:
            return np.full(d, min(max(0.0, self.lower), self.upper))
        return np.array(np.broadcast_to(np.clip(0.0, self.lower, self.upper), (d,)), dtype=float)


def _numbers(value: Any, name: str) -> Any:
    if type(value) is float and value == value:
        return value
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"{name} must be a number or a vector of numbers")
    array = array.astype(float)
    if array.ndim > 1:
        raise ParameterError(f"{name} must be a number or a vector, not of shape {array.shape}")
    if np.any(np.isnan(array)):
        raise ParameterError(f"{name} must not be NaN")
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


def L1(l1: Any) -> ElasticNet:
    """``l1 |t|``: the lasso's regularizer.

    Examples
    --------
    >>> L1(0.5)
    ElasticNet(l1=0.5)
    """
    return ElasticNet(l1=l1)


def L2(l2: Any) -> ElasticNet:
    """``l2/2 t^2``: ridge, weight decay.

    Examples
    --------
    >>> L2(1e-3)
    ElasticNet(l2=0.001)
    """
    return ElasticNet(l2=l2)


def Box(lower: Any = -math.inf, upper: Any = math.inf) -> ElasticNet:
    """No penalty, bounds only.

    Examples
    --------
    >>> Box(0.0, 1.0)
    ElasticNet(lower=0.0, upper=1.0)
    """
    return ElasticNet(lower=lower, upper=upper)


def as_regularizer(reg: Any) -> ElasticNet:
    """Return the regularizer, or say what is accepted."""
    if isinstance(reg, ElasticNet):
        return reg
    if reg is None:
        return ElasticNet()
    if isinstance(reg, str):
        word = reg.lower().replace("-", "").replace("_", "")
        call = CALLS.get(word, RIDGE)
        raise ParameterError(f"reg={reg!r} has no strength: write {call}")
    if isinstance(reg, (int, float)) and not isinstance(reg, bool):
        raise ParameterError(f"reg={reg:g} could be l1 or l2: write reg=spd1.L2({reg:g})")
    raise ParameterError(
        f"reg must be ElasticNet(...), L1(...), L2(...), Box(...) or None, not {type(reg).__name__}"
    )
