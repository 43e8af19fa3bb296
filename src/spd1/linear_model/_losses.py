"""Regressors for other losses than the square: support vectors, quantiles."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate.gap import certify_point
from ..design.intercept import Design
from ..losses import EpsilonInsensitive, Quantile, SquaredEpsilonInsensitive
from ..regularizers import ElasticNet as Net
from ..result import Result
from ._base import Task
from ._chunked import is_chunked
from ._options import flag, number, refuse_unless
from ._progress import Watch
from ._regressors import CertifiedRegressor
from .tuning import MOST_AT_A_VERTEX, NEARLY_ZERO, VERTEX_ROUNDING

RESULT_FIELDS = {field.name for field in fields(Result)}

__all__ = ["LinearSVR", "QuantileRegressor"]


class LinearSVR(CertifiedRegressor):
    """Linear support vector regression with a certificate.

    Minimises ``|x|^2 / 2 + C sum_i w_i max(0, |x'a_i + intercept - b_i| - epsilon)^p``, p = 1 or,
    for ``squared_epsilon_insensitive``, 2. The intercept is penalised as in ``LinearSVC``.

    Parameters
    ----------
    epsilon : float, default 0
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    C : float, default 1
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}
    fit_intercept : bool, default True
    intercept_scaling : float, default 1
        Entries of the column that stands for the intercept: the larger, the fainter its penalty.
    dual : "auto" or bool
        Accepted: spd1 always solves both and certifies one with the other.
    verbose : int, default 0
    random_state : int, RandomState or None
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    penalize_intercept : bool, default True
        False: the intercept costs nothing, and ``intercept_scaling`` is not looked at.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LinearSVR
    >>> model = LinearSVR(C=100.0).fit(np.array([[0.0], [1.0], [2.0]]), [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(2)
    array([7.])
    """

    _default_solver = "liblinear"

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-6,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        penalize_intercept=True,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept

    def _penalises_intercept(self) -> bool:
        return bool(self.penalize_intercept)

    def _shape_like(self, y: np.ndarray) -> None:
        """As liblinear has it: an intercept is an array of one."""
        super()._shape_like(y)
        if self.fit_intercept:
            self.intercept_ = np.atleast_1d(self.intercept_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.C, "C", high=1e300, open_low=True)
        flag(self.penalize_intercept, "penalize_intercept")
        number(self.epsilon, "epsilon")
        names = ("epsilon_insensitive", "squared_epsilon_insensitive")
        refuse_unless(self.loss, names, f"loss must be one of {names}, got {self.loss!r}")
        refuse_unless(self.dual, ("auto", True, False), "dual must be 'auto', True or False")

    def _loss(self) -> Any:
        squared = self.loss.startswith("squared")
        kind = SquaredEpsilonInsensitive if squared else EpsilonInsensitive
        return kind(float(self.epsilon))

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return Net(l2=1.0 / (self.C * total))


class QuantileRegressor(CertifiedRegressor):
    """Linear quantiles with l1, and a certificate.

    Minimises ``sum_i w_i pinball(b_i - x'a_i - intercept) / sum_i w_i + alpha |x|_1``.

    Parameters
    ----------
    quantile : float in (0, 1), default 0.5
    alpha : float, default 1
    fit_intercept : bool, default True
    solver : str, default "auto"
        A method of ``spd1.solve``.
    solver_options : None
        Nothing else means anything here.
    tol : float, default 1e-6
        Relative duality gap to reach, see ``LinearSVR``; scikit-learn's has no such parameter.
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import QuantileRegressor
    >>> X, y = np.zeros((5, 1)), [1.0, 2.0, 3.0, 4.0, 50.0]
    >>> QuantileRegressor(quantile=0.5).fit(X, y).predict([[0.0]]).round(2)
    array([3.])
    """

    _default_solver = "highs"

    def __init__(
        self,
        *,
        quantile=0.5,
        alpha=1.0,
        fit_intercept=True,
        solver="auto",
        solver_options=None,
        tol=1e-6,
        max_iter=1000,
    ):
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.alpha, "alpha")
        if number(self.quantile, "quantile", 0.0, 1.0, open_low=True) == 1.0:
            number(self.quantile, "quantile", 0.0, math.nextafter(1.0, 0.0), open_low=True)
        refuse_unless(
            self.solver_options, (None,), "solver_options go to SciPy's linear programming in "
            "scikit-learn; there is none here: leave them at None",
        )  # fmt: skip

    def _loss(self) -> Any:
        return Quantile(float(self.quantile))

    def _regularizer(self, total: float, d: int, target: int) -> Net:
        return Net(l1=float(self.alpha))

    def _solve(self, design: Design, task: Task, watch: Watch, start: dict[str, Any]) -> Result:
        result = super()._solve(design, task, watch, start)
        if is_chunked(design.X):  # rows at the vertex would have to travel
            return result
        return at_a_vertex(design, task, result, self._tol())


def at_a_vertex(design: Design, task: Task, result: Result, tol: float) -> Result:
    """The vertex next to a solution of a linear program, if it is no worse; else the solution.

    Absolute values have their minimum at a point where as many of them are zero as there are
    coefficients that are not: it is exact there, and coefficients without use are exactly zero.
    """
    x = result.x
    some = np.abs(x) > NEARLY_ZERO * np.abs(x).max(initial=0.0)
    if design.fit_intercept:
        some[-1] = True
    columns = np.flatnonzero(some)
    if not 0 < len(columns) <= min(design.n, MOST_AT_A_VERTEX):
        return result
    problem = design.problem(task.b, task.loss, task.reg, task.weight)
    rows = np.argsort(np.abs(problem.margins(x) - task.b), kind="stable")[: len(columns)]
    data = design.data[rows][:, columns]
    system = np.asarray(data.toarray() if sp.issparse(data) else data, dtype=float)
    vertex = np.zeros_like(x)
    try:
        vertex[columns] = np.linalg.solve(system, task.b[rows])
    except np.linalg.LinAlgError:  # these samples meet in more than a point
        return result
    proof = certify_point(vertex, problem, result.y)
    worse = proof.primal > result.primal + VERTEX_ROUNDING * abs(result.primal)
    if worse or not proof.rel_gap <= max(result.rel_gap, tol):
        return result
    values = {name: getattr(proof, name) for name in proof._fields if name in RESULT_FIELDS}
    return replace(result, x=vertex, **values)
