"""The problem: data, labels, weights, loss and regularizer, validated once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .data.chunked import ChunkedGrid, is_chunked
from .data.convert import DOUBLE, as_real, plain_array, with_square_sum
from .data.crew import Crew
from .data.facts import Facts, Reads
from .data.grid import Grid
from .data.store import Store
from .errors import DataError
from .kernel.jit import kernel
from .late import late
from .losses import as_loss
from .regularizers import as_regularizer
from .terms import NO_REACH, dot, dual_guess, loss_terms, loss_terms_near, net_terms

__all__ = ["Problem"]

ROUNDED = 8.0 * float(np.finfo(float).eps)  # error of a sum of products / sum of their sizes
FEW_CLASSES = 100  # whole numbers: more different ones are hardly classes
SUBTLE = 1e-10  # a penalty beside which rounding shows above this share is looked at in detail


class Problem:
    """Regularized empirical risk  P(x) = sum_i c_i phi(a_i'x; b_i) + sum_j g_j(x_j).

    Parameters
    ----------
    A : NumPy array or SciPy sparse, shape (n, d), a dask array, or a Store
        Data. Float32 and float64, CSR and CSC are used where they lie, without a copy; those of
        ``open_store`` on disk, chunks of a dask array on the workers of a cluster.
    b : array of shape (n,), optional for a Store that has labels
        Labels -1 and +1 for the margin losses, targets for the regression losses. Labels 0 and 1,
        or False and True, are taken as -1 and +1: ``problem.b`` holds these, and a margin
        ``A @ x`` above zero speaks for 1.
    loss : str or loss, default "logistic"
        A name of ``spd1.LOSSES``, an instance such as ``Huber(1.0)``, or a class of yours.
    reg : ElasticNet, L1(...), L2(...), Box(...) or None
        Regularizer and feasible set.
    sample_weight : array of shape (n,), optional
        Not negative; normalised to ``sum c_i = 1``. Default: c_i = 1/n.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> A = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> problem = spd1.Problem(A, [1, -1, 1], loss="squared", reg=spd1.L2(0.1))
    >>> problem.n, problem.d, problem.primal([0.0, 0.0])
    (3, 2, 0.5)
    """

    def __init__(
        self,
        A: Any,
        b: Any = None,
        loss: Any = "logistic",
        reg: Any = None,
        sample_weight: Any = None,
    ) -> None:
        stored = isinstance(A, Store)  # its entries were looked at when it was written
        self.grid: Grid = A.grid if stored else grid_of(A)
        b = A.labels if stored and b is None else b
        if b is None:
            raise DataError(
                "there are no labels: pass b" + (f", or write {A.path} with y" if stored else "")
            )
        self.n: int = self.grid.n
        self.d: int = self.grid.d
        self.stored: int = self.grid.stored  # entries: a pass reads so many
        self.loss = as_loss(loss)
        self.b: np.ndarray = _labels(b, self.n, self.loss)
        self.c: np.ndarray = _weights(sample_weight, self.n)
        self.reg = as_regularizer(reg)
        self.net = self.reg.bind(self.d)
        self.uniform_weights: bool = sample_weight is None or bool(np.ptp(self.c) <= 1e-15)
        self.largest_weight = 1.0 / self.n if sample_weight is None else float(self.c.max())
        self.facts = Facts()  # what no regularizer changes
        self.notes: dict[str, Any] = {}  # what methods have found out about the problem

    @property
    def A(self) -> Any:
        """The data in memory, as kernels see it."""
        return self.grid.matrix

    def with_regularizer(self, reg: Any) -> Problem:
        """The same data and loss under another regularizer; norms, counts and copies are shared.

        Examples
        --------
        >>> import numpy as np, spd1
        >>> problem = spd1.Problem(np.eye(2), [1.0, -1.0], "squared", spd1.L2(1.0))
        >>> problem.with_regularizer(spd1.L2(0.5)).mu
        0.5
        """
        other = self._twin()
        other.reg = as_regularizer(reg)
        other.net = other.reg.bind(self.d)
        for name in ("dual_bounds", "free_columns", "start_value", "mu"):
            other.__dict__.pop(name, None)
        other.notes = {}
        return other

    def with_grid(self, grid: Grid) -> Problem:
        """The same problem on its data cut in another way.

        Examples
        --------
        >>> import numpy as np, spd1
        >>> problem = spd1.Problem(np.eye(4), [1.0, -1.0, 1.0, 2.0], "squared", spd1.L2(1.0))
        >>> problem.with_grid(problem.grid.cut(2, 2)).primal([1.0, 0.0, 0.0, 0.0])
        1.25
        """
        if (grid.n, grid.d, grid.stored) != (self.n, self.d, self.stored):
            raise DataError(
                f"the grid has {grid.n} x {grid.d} entries, {grid.stored} of them stored, and the "
                f"problem {self.n} x {self.d} and {self.stored}"
            )
        other = self._twin()
        other.grid, other.facts, other.notes = grid, Facts(), {}
        return other

    def moved(self, grid: Grid) -> Problem:
        """The same problem, whose data has been brought there and looked at for the first time."""
        other = self._twin()
        other.grid, other.stored, other.facts, other.notes = grid, grid.stored, Facts(), {}
        return other

    def watched(self, ledger: Reads, crew: Crew | None = None) -> Problem:
        """The same problem; what is read of its data is told to this ledger, by the crew's work."""
        other: Problem = object.__new__(type(self))
        grid, facts = self.grid.watched(ledger, crew), self.facts.view()
        other.__dict__.update(self.__dict__, grid=grid, facts=facts)
        return other

    def _twin(self) -> Problem:
        """A copy that shares everything: what ``copy.copy`` does in ten times as long."""
        other: Problem = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __repr__(self) -> str:
        kind, (rows, columns) = self.grid.kind, self.grid.shape
        cut = "" if (rows, columns) == (1, 1) else f" in {rows} x {columns} tiles"
        return f"Problem({self.n} x {self.d} {kind}{cut}, {self.loss}, {self.reg})"

    # Values

    def margins(self, x: np.ndarray) -> np.ndarray:
        """A x."""
        return self.grid.margins(x)

    def adjoint(self, w: np.ndarray) -> np.ndarray:
        """A' w."""
        return self.grid.adjoint(w)

    def primal(self, x: Any) -> float:
        """P(x), infinite outside the feasible set."""
        x = check_point(x, self.d, "x")
        u, nothing = self.margins(x), np.zeros(self.n)
        loss = self.row_sums(u, nothing)[0]
        value = float(loss + net_terms(x, np.zeros(self.d), NO_REACH, self.net)[0])
        return value if math.isfinite(value) else math.inf

    def dual(self, y: Any) -> float:
        """D(y), minus infinity where y is not feasible."""
        y = check_point(y, self.n, "y")
        v, nothing = -self.adjoint(self.c * y), np.zeros(self.n)
        loss = self.row_sums(nothing, y)[1]
        value = float(-loss - net_terms(np.zeros(self.d), v, NO_REACH, self.net)[1])
        return value if math.isfinite(value) else -math.inf

    def row_sums(self, u: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
        """Sums over rows of phi(u), phi*(y) and the brackets, weighted: see ``terms.loss_terms``.

        Where columns have no penalty, looks need ``loss_terms_near``: no other kernel for these.
        """
        rows = self.b, self.c, self.loss
        if len(self.free_columns):
            return loss_terms_near(u, y, np.zeros(len(u)), *rows)  # type: ignore[no-any-return]
        return loss_terms(u, y, *rows)  # type: ignore[no-any-return]

    @late
    def label_kind(self) -> str:
        """What the labels are: 'sign', 'real' or 'count'."""
        return str(self.loss.label_kind)

    # Constants of the paper, computed when first asked for.

    @property
    def row_norms_squared(self) -> np.ndarray:
        """|a_i|^2."""
        return self.grid.row_squares

    @property
    def column_norms_squared(self) -> np.ndarray:
        """|a'_j|^2."""
        return self.grid.column_squares

    @late
    def dual_bounds(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """low_j <= v_j <= high_j where g_j* is finite; None if no column is constrained.

        An l2 as faint as rounding counts as none.
        """
        reg, d = self.reg, self.d
        if reg.mu > self.most_faint_l2:
            return None, None
        if reg.scalar and (reg.mu == 0.0 or np.all(reg.mu <= self.faint_l2)):  # all columns alike
            high = math.inf if reg.upper < math.inf else reg.l1
            low = -math.inf if reg.lower > -math.inf else -reg.l1
            if not (math.isfinite(high) or math.isfinite(low)):
                return None, None
            return filled(d, low), filled(d, high)
        l2 = np.asarray(reg.l2)
        flat = l2 == 0.0
        if not np.all(flat | (l2 > self.most_faint_l2)):  # else no column's own length matters
            flat = l2 <= self.faint_l2
        up = flat & np.isinf(reg.upper)
        down = flat & np.isinf(reg.lower)
        if not (np.any(up) or np.any(down)):
            return None, None
        l1 = np.broadcast_to(np.asarray(reg.l1), (d,))
        high = np.where(np.broadcast_to(up, (d,)), l1, math.inf)
        low = np.where(np.broadcast_to(down, (d,)), -l1, -math.inf)
        return low, high

    @late
    def most_faint_l2(self) -> float:
        """An l2 up to this, of all columns, is so small that the rounding of v shows in v^2 / l2.

        The error of v is about eps |A| |c y|, and |c y|^2 <= max c sum c y^2, a sum about as large
        as the objective.
        """
        return ROUNDED**2 / SUBTLE * self.grid.square_sum * self.largest_weight

    @property
    def faint_l2(self) -> np.ndarray:
        """The same for each column, by its own length: d columns share what may show.

        Certificates take such an l2 for zero, which can only make the bound smaller.
        """
        alone = ROUNDED**2 / SUBTLE * self.d * self.column_norms_squared * self.largest_weight
        return np.minimum(alone, self.most_faint_l2)

    @late
    def free_columns(self) -> np.ndarray:
        """Columns without penalty on an unbounded side: they ask v_j = 0 of it."""
        low, high = self.dual_bounds
        alike = self.reg.scalar and self.reg.mu == 0.0  # then the first column speaks for all
        if low is None or high is None or (alike and low[0] != 0.0 and high[0] != 0.0):
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero((low == 0.0) | (high == 0.0))

    @property
    def pull_at_zero(self) -> np.ndarray:
        """A'(c phi'(0)): the gradient of the loss at x = 0."""
        return np.asarray(
            self.facts.get(self.grid.fact("pull at zero"), self.grid.ledger, self._pull_at_zero)
        )

    def _pull_at_zero(self) -> np.ndarray:
        slopes = np.empty(self.n)
        dual_guess(np.zeros(self.n), self.b, self.loss, slopes)
        return self.adjoint(self.c * slopes)

    @late
    def start_value(self) -> float:
        """The objective before anything is learnt: at the minimiser of the regularizer.

        For targets that are far from zero, at a constant prediction: else their mean alone, which
        an intercept takes away, would make any gap look small.
        """
        reg = self.reg
        if reg.scalar:
            at_zero = reg.lower <= 0.0 <= reg.upper
        else:
            at_zero = bool(np.all(reg.lower <= 0.0) and np.all(reg.upper >= 0.0))
        start = self.value_at_zero if at_zero else self.primal(reg.minimiser(self.d))
        if self.label_kind != "real" or (self.b[-1] == self.b[0] and np.all(self.b == self.b[0])):
            return start
        level = filled(self.n, dot(self.c, self.b))
        constant = float(self.row_sums(level, np.zeros(self.n))[0])
        return min(start, constant) if constant > 0.0 else start

    @late
    def value_at_zero(self) -> float:
        """The losses at x = 0; labels of two kinds make two of them."""
        if self.label_kind == "sign":
            value, other = self._of_labels("phi")
            if value != other:
                positive = dot(self.c, self.b > 0.0)
                value = positive * value + (1.0 - positive) * other
        else:
            nothing = np.zeros(self.n)
            value = float(self.row_sums(nothing, nothing)[0])
        return value if math.isfinite(value) else math.inf

    @late
    def conjugate_at_zero(self) -> float:
        """The sum of phi*(0): what y = 0 costs, and zero where a loss can be zero."""
        if self.label_kind == "sign":
            star, other = self._of_labels("conjugate")
            if star == other:
                return star
        nothing = np.zeros(self.n)
        return float(self.row_sums(nothing, nothing)[1])

    def _of_labels(self, name: str) -> tuple[float, float]:
        """A function of the loss at zero, for either label."""
        try:
            kind: Any = type(self.loss)
            return known_at_zero(kind, self.loss, name)
        except TypeError:  # a loss that holds an array has no hash
            return at_zero(self.loss, name)

    @property
    def R(self) -> float:
        """Largest row norm."""
        return math.sqrt(float(self.row_norms_squared.max()))

    @property
    def R_prime(self) -> float:
        """Largest column norm."""
        return math.sqrt(float(self.column_norms_squared.max()))

    @property
    def L(self) -> float:
        """Lipschitz constant of the loss."""
        return float(self.loss.L)

    @late
    def gamma(self) -> float:
        """Smoothness: phi is (1/gamma)-smooth."""
        return float(self.loss.gamma)

    @late
    def mu(self) -> float:
        """Strong convexity of the regularizer."""
        return self.reg.mu

    @property
    def D(self) -> float:
        """Radius of the feasible set."""
        return self.reg.radius(self.d)

    @property
    def kappa(self) -> float:
        """Condition number R^2 / (mu gamma)."""
        product = self.mu * self.gamma
        return self.R**2 / product if product > 0 else math.inf

    @property
    def kappa_prime(self) -> float:
        """The paper's second condition number d R'^2 / (n mu gamma)."""
        product = self.n * self.mu * self.gamma
        return self.d * self.R_prime**2 / product if product > 0 else math.inf


def at_zero(loss: Any, name: str) -> tuple[float, float]:
    """A function of a loss at zero, for either label."""
    ask = getattr(loss, name)
    return float(ask(0.0, 1.0)), float(ask(0.0, -1.0))


@lru_cache(maxsize=64)
def known_at_zero(kind: Any, loss: Any, name: str) -> tuple[float, float]:
    """The same, found once: that takes microseconds. Tuples of two kinds may be equal."""
    del kind
    return at_zero(loss, name)


def filled(size: int, value: float) -> np.ndarray:
    """The same number so many times; ``np.full`` takes three times as long."""
    values = np.empty(size)
    values.fill(value)
    return values


def grid_of(A: Any) -> Grid:
    """What was passed as data, as a grid: in memory, or a dask array that lies elsewhere."""
    if isinstance(A, Grid):  # placed before
        return A
    return ChunkedGrid(A) if is_chunked(A) else Grid.whole(*with_square_sum(A))


def check_point(value: Any, size: int, name: str) -> np.ndarray:
    """Return a finite-shaped float64 vector of the right length, or refuse it by name."""
    point = plain_array(value, name)
    if point.dtype.kind not in "fiub":
        raise DataError(f"{name} has dtype {point.dtype}: numbers only")
    if point.shape != (size,):
        raise DataError(f"{name} must have shape ({size},), not {point.shape}")
    point = np.ascontiguousarray(point, dtype=np.float64)
    if np.any(np.isnan(point)):
        raise DataError(f"{name} has NaN")
    return point


def _labels(b: Any, n: int, loss: Any) -> np.ndarray:
    if type(b) is np.ndarray and b.dtype is DOUBLE and b.shape == (n,):  # nearly always
        return _own_labels(b, n, loss)
    labels = plain_array(b, "b")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"b must be one-dimensional, not of shape {labels.shape}")
    if len(labels) != n:
        raise DataError(f"b has {len(labels)} labels, A has {n} rows")
    if labels.dtype.kind in "US" or (labels.dtype.kind == "O" and isinstance(labels[0], str)):
        first = str(labels[0])
        hint = "this loss takes numbers only"
        if loss.label_kind == "sign":
            hint = (
                f"pass np.where(b == {first!r}, 1, -1), or use an estimator of spd1.linear_model, "
                "which takes any labels"
            )
        raise DataError(f"b holds text, {first!r} for one: {hint}")
    return _own_labels(as_real(labels, "b"), n, loss)


def _own_labels(given: np.ndarray, n: int, loss: Any) -> np.ndarray:
    """A copy of labels or targets that the loss can be of."""
    labels = np.array(given, dtype=np.float64)
    labels.setflags(write=False)
    name, kind = type(loss).__name__, loss.label_kind
    if kind == "sign" and all_signs(labels):
        return labels
    if not np.isfinite(labels).all():
        raise DataError("b has NaN or infinite values")
    if kind == "sign":
        labels = _signs(labels, name)
        labels.flags.writeable = False
    if kind == "count" and np.any(labels < 0):
        raise DataError(f"{name} needs targets that are not negative, got {labels.min():g}")
    if loss.positive_only and np.any(labels == 0):
        raise DataError(f"{name} needs targets above 0, and some are 0: Tweedie takes these")
    return labels


@kernel
def all_signs(labels):
    """Whether every label is -1 or +1: one call where NumPy takes three."""
    others = 0
    for i in range(len(labels)):
        others += abs(labels[i]) != 1.0
    return others == 0


def _signs(labels: np.ndarray, name: str) -> np.ndarray:
    """0 and 1 as -1 and +1; other numbers are refused, with what may have been meant."""
    if np.all((labels == 0.0) | (labels == 1.0)):
        return 2.0 * labels - 1.0
    found = np.unique(labels)
    shown = ", ".join(f"{v:g}" for v in found[:4]) + (", ..." if len(found) > 4 else "")
    hint = ""
    if len(found) == 2:
        hint = f": pass np.where(b == {found[1]:g}, 1, -1)"
    elif np.all(found == np.round(found)) and len(found) <= FEW_CLASSES:
        hint = (
            f": {len(found)} classes are fitted by spd1.linear_model.LogisticRegression; numbers "
            "to predict need loss='squared'"
        )
    else:
        hint = ": these are numbers to predict, which need loss='squared' or another for numbers"
    raise DataError(f"{name} needs labels -1 and +1, or 0 and 1, got {shown}{hint}")


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        weights = filled(n, 1.0 / n)
    else:
        weights = plain_array(sample_weight, "sample_weight")
        if weights.shape != (n,):
            raise DataError(f"sample_weight must have shape ({n},), not {weights.shape}")
        weights = np.array(as_real(weights, "sample_weight"), dtype=np.float64)
        if not np.all(np.isfinite(weights)):
            raise DataError("sample_weight has NaN or infinite values")
        if np.any(weights < 0):
            raise DataError(f"sample_weight has a negative value ({weights.min():g})")
        total = weights.sum()
        if not 0 < total < math.inf:
            raise DataError(
                "sample_weight is zero everywhere" if total == 0 else "sample_weight is too large"
            )
        weights /= total
    weights.setflags(write=False)
    return weights
