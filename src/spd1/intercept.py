"""An intercept that is not penalised: the same problem in the form that is fastest to solve.

The problem is always A with a further column of ones whose l1 and l2 are zero, and what is
certified is that problem. Three ways lead to its solution:

- least squares on dense float64 data: centred columns and targets, where the intercept is gone;
- losses with corners and l2 > 0: a search along the intercept, see ``offsets``;
- everything else: the column of ones, stored.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .losses import as_loss
from .matrix import Dense as DenseMatrix
from .matrix import as_matrix, as_scipy
from .problem import Problem, check_point
from .regularizers import ElasticNet
from .result import Result
from .solve import solve

__all__ = ["Design", "with_free_intercept"]


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
            np.append(np.broadcast_to(np.asarray(value, dtype=float), (d,)), end)
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

    @cached_property
    def data(self) -> Any:
        """The matrix of the problem: X, and a column of ones if there is an intercept."""
        if not self.fit_intercept:
            return self.X
        if sp.issparse(self.X):
            A: Any = as_scipy(as_matrix(self.X))  # type: ignore[arg-type]  # sorted, checked; int64 indices stay int64
            ones = sp.csr_array(np.ones((self.n, 1), dtype=A.dtype))
            return sp.hstack([A, ones], format=A.format)
        A = as_matrix(self.X)
        assert isinstance(A, DenseMatrix)
        values = A.values
        shape = (self.n, self.d + 1)
        joined = np.empty(shape if A.row_major else shape[::-1], dtype=values.dtype)
        joined = joined if A.row_major else joined.T  # in the order of the data
        joined[:, :-1], joined[:, -1] = values, 1.0
        return joined

    def regularizer(self, reg: ElasticNet) -> ElasticNet:
        """The regularizer of the problem: free of charge for the intercept."""
        return with_free_intercept(reg, self.d) if self.fit_intercept else reg

    def problem(self, b: Any, loss: Any, reg: ElasticNet, sample_weight: Any = None) -> Problem:
        """The problem that is certified; its last column is the intercept."""
        weight = self.weight if sample_weight is None else sample_weight
        return Problem(self.data, b, loss, self.regularizer(reg), weight)

    def solve(
        self, b: Any, loss: Any, reg: ElasticNet, sample_weight: Any = None, **options: Any
    ) -> Result:
        """Solve the problem; options are those of ``spd1.solve``."""
        from .offsets import OffsetSearch

        weight = self.weight if sample_weight is None else sample_weight
        if not self.fit_intercept or options.get("method", "auto") != "auto":
            return solve(self.problem(b, loss, reg, weight), **options)
        options = {**options, **self.exact_start(b, loss, reg)}
        kind = loss if isinstance(loss, str) else type(loss).__name__
        if kind in ("squared", "Squared") and self.centrable:
            return self.solve_centred(b, reg, weight, options)
        if OffsetSearch.suits(self, loss, reg):
            return OffsetSearch(self, b, loss, reg, weight, options).run()
        return solve(self.problem(b, loss, reg, weight), **options)

    def exact_start(self, b: Any, loss: Any, reg: ElasticNet) -> dict[str, Any]:
        """Constant targets: the intercept alone may fit them without a rounding error."""
        b = np.asarray(b, dtype=float)
        if getattr(as_loss(loss), "label_kind", "real") != "real" or np.any(b != b[0]):
            return {}
        return {"x0": np.append(reg.minimiser(self.d), b[0]), "y0": None}

    @property
    def centrable(self) -> bool:
        """Sparse data would become dense, and float32 would lose digits that the gap counts."""
        return not sp.issparse(self.X) and np.asarray(self.X).dtype == np.float64

    def centred(self, weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """X minus its weighted means, and the means; kept for the next problem of the fit."""
        key = None if weight is None else id(weight)
        kept = getattr(self, "_centred", None)
        if kept is None or kept[0] != key:
            X = np.asarray(self.X)
            mean = np.average(X, axis=0, weights=weight)
            flat = X.max(axis=0) == X.min(axis=0)
            mean[flat] = X[0, flat]  # else rounding would leave something of a constant column
            self._centred = kept = (key, X - mean, mean)
        return kept[1], kept[2]

    def solve_centred(
        self, b: Any, reg: ElasticNet, weight: Any, options: dict[str, Any]
    ) -> Result:
        """Least squares: the best intercept for any x is mean(b) - mean(X)'x."""
        X, mean = self.centred(weight)
        b = np.asarray(b, dtype=float)
        level = float(b[0] if np.all(b == b[0]) else np.average(b, weights=weight))
        options = dict(options)
        if options.get("x0") is not None:
            options["x0"] = check_point(options["x0"], self.d + 1, "x0")[:-1]
        result = solve(Problem(X, b - level, "squared", reg, weight), **options)
        x = np.append(result.x, level - mean @ result.x)
        return Result(**{**_fields(result), "x": x})


def _fields(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in result.__dataclass_fields__}
