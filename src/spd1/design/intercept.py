"""An intercept that is not penalised: the same problem in the form that is fastest to solve.

The problem is always A with a further column of ones whose l1 and l2 are zero, and what is
certified is that problem. Three ways lead to its solution:

- least squares on dense float64 data: centred columns and targets, where the intercept is gone;
- smooth losses with l2 > 0: first with a faint penalty on the intercept, then certified, and if
  need be solved, without;
- everything else: the column of ones, stored. For losses with corners and l2 > 0 the engine takes a
  column without penalty like the others on tall data (``solvers/multipliers.py``), and has a face
  of its own for it elsewhere (``solvers/newton/faces/free.py``).
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate.gap import certificate_of
from ..certificate.points import pair_of
from ..data.blocks import with_constant
from ..data.chunked import is_chunked, widened
from ..data.convert import as_matrix, as_scipy, with_square_sum
from ..data.grid import Grid
from ..data.store import Store
from ..losses import as_loss
from ..problem import Problem, check_point
from ..regularizers import ElasticNet
from ..result import Result, continued
from ..solve import solve
from ..solvers.auto import pick
from ..solvers.newton.tuning import FEW_ROWS, WIDE
from ..solvers.sprint.choice import steps_do_better
from ..solvers.sprint.sprint import kind_of
from ..solvers.tuning import SQUARE
from . import tall
from .tuning import (
    CENTRED_SHARE,
    EVEN,
    FAINT,
    FAR,
    FAR_SHARE,
    HANDFUL,
    LEAN,
    LEANING,
    SAMPLED_ROWS,
    SHARE,
)

__all__ = ["Design", "with_free_intercept"]

GAPS = ("primal", "dual", "gap", "rel_gap")


def with_intercept(reg: ElasticNet, d: int) -> ElasticNet:
    """The regularizer of d features and, last, an intercept that pays as much l2 as they do."""
    if reg.scalar and reg.plain:
        return reg
    free = with_free_intercept(reg, d)
    l2 = np.array(free.l2)
    l2[-1] = l2[:-1].mean()
    return ElasticNet(free.l1, l2, free.lower, free.upper)


def with_free_intercept(reg: ElasticNet, d: int) -> ElasticNet:
    """The regularizer of d features and, last, an intercept with no penalty and no bounds.

    Examples
    --------
    >>> with_free_intercept(ElasticNet(l2=0.5), 2).l2
    array([0.5, 0.5, 0. ])
    """
    ends = (0.0, 0.0, -math.inf, math.inf)
    fields = (reg.l1, reg.l2, reg.lower, reg.upper)
    return ElasticNet(
        *(
            end  # what all of them have is one number
            if type(value) is float and value == end
            else np.append(np.broadcast_to(np.asarray(value, dtype=float), (d,)), end)
            for value, end in zip(fields, ends, strict=True)
        )
    )


class Design:
    """Data of a fit, with or without an intercept, shared by all its problems.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    fit_intercept : bool
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> design = Design(np.array([[0.0], [1.0], [2.0]]), fit_intercept=True)
    >>> result = design.solve(np.array([1.0, 3.0, 5.0]), "squared", ElasticNet())
    >>> np.round(result.x, 6)  # slope and intercept
    array([2., 1.])
    """

    def __init__(self, X: Any, fit_intercept: bool, sample_weight: Any = None) -> None:
        self.X, self.fit_intercept, self.weight = X, fit_intercept, sample_weight
        self.n, self.d = (int(size) for size in X.shape)
        self._sums: tall.Sums | None = None  # of the data, see ``tall``
        self._no_sums = False  # whether rounding would show in them
        self._joined: tuple[float, Any] | None = None  # a constant, and the data with it

    @cached_property
    def data(self) -> Any:
        """The matrix of the problem: X, and a column of ones if there is an intercept."""
        if not self.fit_intercept:
            return self.X
        whole = self.joined(1.0)
        return plain(whole.matrix) if isinstance(whole, Grid) else whole

    def joined(self, unit: float) -> Any:
        """X with a further column of a constant; kept for the next class of the same fit.

        Of data in memory a grid, so that entries are looked at once.
        """
        if self._joined is None or self._joined[0] != unit:
            if isinstance(self.X, Store) or is_chunked(self.X):
                self._joined = unit, joined(self.X, unit)
            else:
                A, square_sum = with_square_sum(self.X)
                square_sum += self.n * unit * unit
                self._joined = unit, Grid.whole(with_constant(A, unit), square_sum)
        return self._joined[1]

    def regularizer(self, reg: ElasticNet) -> ElasticNet:
        """The regularizer of the problem: free of charge for the intercept."""
        return with_free_intercept(reg, self.d) if self.fit_intercept else reg

    def problem(self, b: Any, loss: Any, reg: ElasticNet, sample_weight: Any = None) -> Problem:
        """The problem that is certified; its last column is the intercept."""
        weight = self.weight if sample_weight is None else sample_weight
        placed = "data" in self.__dict__ and isinstance(self.data, Grid)  # on a cluster
        data = self.joined(1.0) if self.fit_intercept and not placed else self.data
        return Problem(data, b, loss, self.regularizer(reg), weight)

    def solve(
        self, b: Any, loss: Any, reg: ElasticNet, sample_weight: Any = None, **options: Any
    ) -> Result:
        """Solve the problem; options are those of ``spd1.solve``."""
        weight = self.weight if sample_weight is None else sample_weight
        direct = options.get("method", "auto") != "auto" or is_chunked(self.X)
        if not self.fit_intercept or direct:
            return solve(self.problem(b, loss, reg, weight), **options)
        options = {**options, **self.exact_start(b, loss, reg)}
        if as_loss(loss).quadratic and self.centrable:
            return self.solve_centred(b, reg, weight, options)
        if self.may_lean(loss, reg, options):
            return self.solve_leaning(b, loss, reg, weight, options)
        return solve(self.problem(b, loss, reg, weight), **options)

    def may_lean(self, loss: Any, reg: ElasticNet, options: dict[str, Any]) -> bool:
        """Whether a faint penalty on the intercept may help, and would not show in the gap.

        Ascent over sparse rows takes it away again, see ``solvers/sprint/free.py``.
        """
        loss = as_loss(loss)
        if reg.mu == 0.0 or loss.label_kind not in ("sign", "real"):
            return False
        faint = loss.gamma > 0 and options.get("tol", 1e-6) >= FAINT
        return faint or (sp.issparse(self.X) and options.get("x0") is None)

    def solve_leaning(
        self, b: Any, loss: Any, reg: ElasticNet, weight: Any, options: dict[str, Any]
    ) -> Result:
        """Smooth losses: first with a penalty on the intercept too faint to matter.

        The engines for l2 > 0 want it on every column. A column of the constant ``unit`` has a
        share of the length of a row, so that with their l2 the intercept pays l2 / unit^2: the
        optimum hardly moves, and in most cases its certificate without the penalty is good enough.
        What it costs grows with the square of the intercept: see ``guess``.
        """
        few = (
            self.n <= FEW_ROWS and WIDE * self.n <= self.d
        )  # left to Newton's method, not to sweeps
        b = np.asarray(b, dtype=float)
        level, share = self.guess(b, loss, weight)
        share = CENTRED_SHARE if sp.issparse(self.X) else share
        unit = typical_length(self.X, 1.0 if few else share)
        options, tol = dict(options), options.get("tol", 1e-6)
        if options.get("x0") is not None:
            x0 = check_point(options["x0"], self.d + 1, "x0").copy()
            x0[-1] = (x0[-1] - level) / unit
            options["x0"] = x0
        near = Problem(self.joined(unit), b - level, loss, with_intercept(reg, self.d), weight)
        whole = near.with_regularizer(with_free_intercept(reg, self.d))
        steps = as_loss(loss).probabilities and self.d <= HANDFUL and self.n > SQUARE * self.d
        leans = as_loss(loss).gamma > 0 and tol >= FAINT and not steps
        at_once = kind_of(whole, tol)
        here = ("ascent", "descent")
        leans = leans and at_once not in here and not (at_once and steps_do_better(whole))
        if leans and (kind_of(near) == "ascent" or pick(near)[0] in LEANING):
            result = solve(near, **{**options, "tol": LEAN * tol})
            result = finished(result, whole, options)
        else:
            result = solve(whole, **options)
        x = np.append(result.x[:-1], result.x[-1] * unit + level)
        return Result(**{**_fields(result), "x": x})

    def guess(self, b: np.ndarray, loss: Any, weight: Any) -> tuple[float, float]:
        """Where the intercept may be, if that is far, and the share of its column in a row."""
        mean = float(np.average(b, weights=weight))
        if as_loss(loss).label_kind == "sign":
            return 0.0, SHARE if abs(mean) <= EVEN else FAR_SHARE
        far = abs(mean) > FAR * float(np.std(b))  # else features may well explain the mean
        return (mean, FAR_SHARE) if far else (0.0, SHARE)

    def exact_start(self, b: Any, loss: Any, reg: ElasticNet) -> dict[str, Any]:
        """Constant targets: the intercept alone may fit them without a rounding error."""
        b = np.asarray(b, dtype=float)
        if as_loss(loss).label_kind != "real" or np.any(b != b[0]):
            return {}
        return {"x0": np.append(reg.minimiser(self.d), b[0]), "y0": None}

    @property
    def centrable(self) -> bool:
        """Sparse data would become dense, and float32 would lose digits that the gap counts.

        Stores are left as they are.
        """
        if sp.issparse(self.X) or isinstance(self.X, Store):
            return False
        return bool(np.asarray(self.X).dtype == np.float64)

    def centred(self, weight: Any, by_columns: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """X minus its weighted means, and the means; kept for the next problem of the fit.

        It is a copy in any case, so columns lie in one piece where they will be visited. The
        weights are kept with it, a copy: another array may hold other weights, and so may the same
        one later.
        """
        kept = getattr(self, "_centred", None)
        if kept is None or not _same(kept[0], weight):
            X = np.asarray(self.X)
            mean = np.average(X, axis=0, weights=weight)
            flat = constant_columns(X)
            mean[flat] = X[0, flat]  # else rounding would leave something of a constant column
            held = None if weight is None else np.array(weight, dtype=float)
            order: Any = "F" if by_columns else "K"
            self._centred = kept = (held, np.subtract(X, mean, order=order), mean)
        return kept[1], kept[2]

    def solve_centred(
        self, b: Any, reg: ElasticNet, weight: Any, options: dict[str, Any]
    ) -> Result:
        """Least squares: the best intercept for any x is mean(b) - mean(X)'x."""
        b = np.asarray(b, dtype=float)
        level = float(b[0] if np.all(b == b[0]) else np.average(b, weights=weight))
        if weight is None and tall.suits(self.X, reg, options):
            found = self.solve_from_sums(b, level, reg, options)
            if found is not None:
                return found
        X, mean = self.centred(weight, by_columns=not reg.plain)
        options = dict(options)
        if options.get("x0") is not None:
            options["x0"] = check_point(options["x0"], self.d + 1, "x0")[:-1]
        result = solve(Problem(X, b - level, "squared", reg, weight), **options)
        x = np.append(result.x, level - mean @ result.x)
        return Result(**{**_fields(result), "x": x})

    def solve_from_sums(
        self, b: np.ndarray, level: float, reg: ElasticNet, options: dict[str, Any]
    ) -> Result | None:
        """The same without a copy, where sums of products will do; they are kept, too."""
        if self._no_sums:
            return None
        result, self._sums = tall.solved(self.X, b - level, reg, self._sums, options)
        self._no_sums = self._sums is None
        if result is None or self._sums is None:
            return None
        x = np.append(result.x, level - self._sums.mean @ result.x)
        return Result(**{**_fields(result), "x": x})


def constant_columns(X: np.ndarray) -> np.ndarray:
    """Indices of columns whose entries are all the same; a few rows tell most that are not.

    Examples
    --------
    >>> constant_columns(np.array([[1.0, 2.0], [3.0, 2.0], [1.0, 2.0]]))
    array([1])
    """
    few = X[:: max(1, len(X) // SAMPLED_ROWS)]
    alike = np.flatnonzero(np.all(few == X[0], axis=0))
    return alike[np.all(X[:, alike] == X[0, alike], axis=0)] if len(alike) else alike


def _same(kept: Any, weight: Any) -> bool:
    if kept is None or weight is None:
        return kept is None and weight is None
    return np.array_equal(kept, weight)


def finished(lean: Result, whole: Problem, options: dict[str, Any]) -> Result:
    """The result of the penalised problem as one of the whole: certified, or solved on."""
    tol = options.get("tol", 1e-6)
    proof = certificate_of(whole, pair_of(whole, lean.x, whole.margins(lean.x), lean.y, None))
    last = lean.trace.rows[-1]
    # The certificate of the whole has read the data twice more.
    row = last._replace(passes=lean.passes + 2.0, **{k: getattr(proof, k) for k in GAPS})
    lean.trace.rows.append(row)
    if proof.rel_gap > tol and lean.converged:
        options = {**options, "x0": lean.x, "y0": proof.y if np.any(proof.y) else lean.y}
        if options.get("checkpoint") is not None:
            options["checkpoint"] = f"{options['checkpoint']}.whole"  # the other one has ended
        for name, used in (("max_passes", row.passes), ("max_seconds", lean.seconds)):
            if options.get(name) is not None:
                options[name] = max(options[name] - used, 1e-3)
        try:
            return continued(lean.trace, row, solve(whole, **options))
        except KeyboardInterrupt:  # before its first step: what has been found so far stands
            lean = replace(lean, status="interrupted")
    status = "converged" if proof.rel_gap <= tol else lean.status
    values = {k: getattr(proof, k) for k in (*GAPS, "y", "floor", "reach")}
    return Result(**{**_fields(lean), **values, "status": status, "passes": row.passes})


def typical_length(X: Any, share: float) -> float:
    """Share of the length of a typical row, as a power of two: multiplying by it is exact."""
    if isinstance(X, Store):
        square = X.grid.square_sum / X.n
    elif sp.issparse(X):
        square = float(np.vdot(X.data, X.data)) / X.shape[0]
    else:
        rows = np.asarray(X[:: max(1, X.shape[0] // SAMPLED_ROWS)], dtype=float)
        square = float(np.vdot(rows, rows)) / len(rows)
    size = share * math.sqrt(square)
    return 2.0 ** round(math.log2(size)) if 1e-30 < size < 1e30 else 1.0


def joined(X: Any, unit: float) -> Any:
    """X with a further column of a constant, in its own type, order and format."""
    if isinstance(X, Store):
        return X.with_constant(unit)
    if is_chunked(X):
        return widened(X, unit)
    return plain(with_constant(as_matrix(X), unit))


def plain(A: Any) -> Any:
    """A matrix as others know it: an array, or SciPy's sparse array."""
    return A.values if A.is_dense() else as_scipy(A)


def _fields(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__}
