"""Regularization paths: warm starts, and only the columns that can matter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_X_y

from ..certificate.gap import Certificate, certificate_of
from ..certificate.points import dual_from_margins, dual_of, paired, primal_of
from ..data.indices import trusted
from ..design.intercept import Design
from ..engines.blas import one_thread
from ..errors import DataError, ParameterError
from ..html import grid
from ..losses import as_loss
from ..paths.walk import PathWalk
from ..problem import Problem
from ..regularizers import ElasticNet as Net
from ..solve import solve
from ._options import number, whole
from ._progress import Watch
from .tuning import PATH_LOOKS, PATH_ROUNDS

__all__ = ["Path", "alpha_grid", "net_of", "path"]


SHOWN_ALPHAS = 8  # rows of the table in a notebook


@dataclass(frozen=True, eq=False)
class Path:
    """A regularization path, each point certified.

    Attributes
    ----------
    alphas : ndarray of shape (k,), decreasing
    coefs : ndarray of shape (k, d)
    intercepts : ndarray of shape (k,)
    dual_gaps, rel_gaps : ndarray of shape (k,)
        Certified for the whole problem, with all its columns.
    n_iters : ndarray of shape (k,)
    screened : ndarray of shape (k,)
        Columns that never had to be looked at.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dual_gaps: np.ndarray
    rel_gaps: np.ndarray
    n_iters: np.ndarray
    screened: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Path({len(self.alphas)} alphas from {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}, "
            f"rel_gap <= {self.rel_gaps.max():.2g})"
        )

    def _repr_html_(self) -> str:
        """A row for some of the alphas, the first and the last among them."""
        k = len(self.alphas)
        rows = [
            [f"{self.alphas[i]:.4g}", np.count_nonzero(self.coefs[i]), f"{self.rel_gaps[i]:.1e}"]
            for i in np.unique(np.linspace(0, k - 1, min(k, SHOWN_ALPHAS)).round().astype(int))
        ]
        header = ["alpha", f"coefficients of {self.coefs.shape[1]:,}", "relative gap"]
        said = f"{k} alphas, each certified to a relative gap of {self.rel_gaps.max():.2g} or less"
        return f"<div><p>{said}.</p>{grid(header, rows)}</div>"


def path(
    X: Any,
    y: Any,
    *,
    loss: Any = "squared",
    l1_ratio: float = 1.0,
    alphas: Any = None,
    n_alphas: int = 100,
    eps: float = 1e-3,
    fit_intercept: bool = True,
    positive: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-6,
    screen: bool = True,
) -> Path:
    """Solve ``mean loss + alpha (l1_ratio |x|_1 + (1 - l1_ratio)/2 |x|^2)`` for many alphas.

    Each problem starts from the solution of the last. With ``l1_ratio > 0`` it is first solved on
    the columns that the sequential strong rule keeps; the certificate of the whole problem then
    finds out what was left out wrongly, so that nothing is taken on trust.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    y : array of shape (n,)
        Targets, or labels -1 and +1.
    loss : str or loss, default "squared"
    l1_ratio : float in [0, 1], default 1
    alphas : array, optional
        Default: ``n_alphas`` numbers from the smallest alpha with no feature down to ``eps`` of
        it.
    fit_intercept, positive : bool
    sample_weight : array of shape (n,), optional
    tol : float, default 1e-6
        Relative duality gap of each problem.
    screen : bool, default True
        Whether to leave out columns.

    Returns
    -------
    Path

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 200)); y = X[:, 0] + 0.1 * rng.normal(size=50)
    >>> found = path(X, y, n_alphas=10)
    >>> bool(found.rel_gaps.max() <= 1e-6), np.flatnonzero(found.coefs[2])
    (True, array([0]))
    """
    number(tol, "tol", open_low=True)
    ratio = number(l1_ratio, "l1_ratio", 0.0, 1.0)
    X, y, weight = _data(X, y, sample_weight)
    walk = Walk(X, y, as_loss(loss), ratio, bool(positive), bool(fit_intercept), weight, tol)
    if alphas is None:
        alphas = alpha_grid(walk.largest(), eps, n_alphas)
    else:
        alphas = np.sort([number(a, "alphas") for a in np.ravel(np.asarray(alphas))])[::-1]
        if not len(alphas):
            raise ParameterError("alphas is empty")
    rows = walk.rows(np.asarray(alphas, dtype=float), screen)
    x = np.array([row[0] for row in rows])
    shift, coefs = walk.lift(x)
    proofs = [row[1] for row in rows]
    return Path(
        np.asarray(alphas, dtype=float),
        coefs,
        shift,
        np.array([proof.gap for proof in proofs]),
        np.array([proof.rel_gap for proof in proofs]),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
    )


def alpha_grid(largest: float, eps: float, n_alphas: Any) -> np.ndarray:
    """Logarithmic grid from the largest alpha down to eps of it.

    Examples
    --------
    >>> alpha_grid(1.0, 0.01, 3)
    array([1.  , 0.1 , 0.01])
    """
    count = whole(n_alphas, "n_alphas")
    number(eps, "eps", 0.0, 1.0, open_low=True)
    least = float(np.finfo(float).resolution)
    if largest <= least:  # no feature is ever needed: one alpha is as good as another
        return np.full(count, least)
    return np.asarray(np.geomspace(largest, largest * eps, count))


def _data(X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
    try:
        X, y = check_X_y(
            trusted(X), y, accept_sparse="csc", dtype=(np.float64, np.float32), y_numeric=True
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
    except ValueError as error:
        raise DataError(str(error)) from None
    if not sp.issparse(X):
        X = np.asfortranarray(X)  # columns are what a path picks
    return X, np.asarray(y, dtype=float), sample_weight


def net_of(alpha: float, l1_ratio: float, positive: bool = False) -> Net:
    """The elastic net in scikit-learn's parameters."""
    lower = 0.0 if positive else -math.inf
    return Net(l1=alpha * l1_ratio, l2=alpha * (1.0 - l1_ratio), lower=lower)


Row = tuple[np.ndarray, Certificate, int, int]  # x, certificate, iterations, columns left out


class Walk:
    """The state of a path: the last solution, and what it says about every column."""

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        loss: Any,
        ratio: float,
        positive: bool,
        fit_intercept: bool,
        weight: Any,
        tol: float,
    ) -> None:
        self.ratio, self.positive, self.loss, self.tol = ratio, positive, loss, tol
        design = Design(X, fit_intercept, weight)
        self.centre: tuple[np.ndarray, float] | None = None
        if fit_intercept and loss.quadratic and design.centrable:
            X, mean = design.centred(weight)
            level = float(np.average(y, weights=weight))
            y, self.centre = y - level, (mean, level)
            design = Design(X, False, weight)
        self.design = design
        self.problem: Problem = design.problem(y, loss, Net())
        self.y = np.zeros(design.n)
        self.x = np.zeros(self.problem.d)
        self.last: float | None = None
        self.v: np.ndarray | None = None

    def largest(self) -> float:
        """Smallest alpha at which no feature is needed."""
        if self.ratio == 0.0:
            raise ParameterError("l1_ratio=0 never leaves out a feature: give alphas yourself")
        self.start()
        assert self.v is not None
        v = self.v[: self.design.d]
        force = float(v.max() if self.positive else np.abs(v).max())
        return max(force, 0.0) / self.ratio

    def start(self) -> None:
        """X = 0 and the best intercept."""
        if self.v is not None:
            return
        p = self.problem
        if self.design.fit_intercept:
            alone = Problem(np.ones((p.n, 1)), p.b, p.loss, None, p.c)
            result = solve(alone, tol=1e-9, max_passes=1e6)
            self.x[-1], self.y = result.x[0], result.y
        else:
            self.y = dual_from_margins(p, np.zeros(p.n))
        self.v = -p.adjoint(p.c * self.y)

    def whole(self, alpha: float) -> Problem:
        """The problem at alpha; everything that does not depend on it is shared."""
        return self.problem.with_regularizer(self.design.regularizer(self.net(alpha)))

    def net(self, alpha: float) -> Net:
        return net_of(alpha, self.ratio, self.positive)

    def kept(self, alpha: float, screen: bool) -> np.ndarray:
        """Sequential strong rule: columns whose force could reach l1 at the next alpha."""
        assert self.v is not None
        d = self.design.d
        if not screen or self.ratio == 0.0:
            return np.ones(d, dtype=bool)
        v = self.v[:d] if self.positive else np.abs(self.v[:d])
        before = v.max() if self.last is None else self.last * self.ratio
        return np.asarray((v >= 2.0 * alpha * self.ratio - before) | (self.x[:d] != 0.0))

    def rows(self, alphas: np.ndarray, screen: bool) -> list[Row]:
        """Solve at every alpha, on one walk where that is the whole story."""
        plain = screen and not self.design.fit_intercept
        if not (plain and PathWalk.suits(self.problem, self.ratio)):
            return [self.step(float(alpha), screen) for alpha in alphas]
        found: list[Row] = []
        with one_thread():
            walk = PathWalk(self.problem, self.ratio, self.positive, self.tol)
            for alpha, after in zip(alphas, [*alphas[1:], alphas[-1]], strict=True):
                point = walk.step(float(alpha), float(after))
                if point is None:  # rounding shows
                    self.x, self.last = walk.x.copy(), None
                    point = self.step(float(alpha), screen=False)
                found.append(point)
        return found

    def step(self, alpha: float, screen: bool) -> Row:
        """Solve at alpha: x, its certificate, iterations, columns left out."""
        self.start()
        whole = self.whole(alpha)
        keep, tol, looks = self.kept(alpha, screen), 0.5 * self.tol, 0
        for _ in range(PATH_ROUNDS):
            watch = Watch(PATH_LOOKS, tol)
            proof, wrong = self.attempt(whole, alpha, keep, tol, watch)
            looks += watch.iterations
            if proof.rel_gap <= self.tol:
                break
            if np.any(wrong):
                keep |= wrong
            else:
                tol *= 0.1
        else:
            watch = Watch(PATH_LOOKS, self.tol)
            result = solve(whole, tol=self.tol, x0=self.x, callback=watch, max_passes=1e12)
            self.x, self.y, proof = result.x, result.y, result.certificate
            self.v = -whole.adjoint(whole.c * self.y)
        self.last = alpha
        return self.x.copy(), proof, looks, int(np.sum(~keep))

    def attempt(
        self, whole: Problem, alpha: float, keep: np.ndarray, tol: float, watch: Watch
    ) -> tuple[Certificate, np.ndarray]:
        """Solve on the kept columns and certify with all; then name the columns missing."""
        d = self.design.d
        full = bool(np.all(keep))
        columns = np.flatnonzero(keep)
        data = self.design.X if full else self.design.X[:, columns]
        if len(columns):
            part = self.design if full else Design(data, self.design.fit_intercept, whole.c)
            x0 = self.x if full else np.append(self.x[:d][columns], self.x[d:])
            result = part.solve(
                whole.b, self.loss, self.net(alpha), whole.c, tol=tol, x0=x0, callback=watch,
                max_passes=1e12,
            )  # fmt: skip
            self.x = np.zeros(whole.d)
            self.x[columns] = result.x[: len(columns)]
            self.x[d:] = result.x[len(columns) :]
            self.y = result.y
        margins = np.asarray(data @ self.x[:d][columns]).ravel() + float(self.x[d:].sum())
        self.v = -whole.adjoint(whole.c * self.y)
        dual = dual_of(whole, self.y, self.v)
        proof = certificate_of(whole, paired(whole, primal_of(whole, self.x, margins), dual))
        force = self.v[:d] if self.positive else np.abs(self.v[:d])
        return proof, ~keep & (force > alpha * self.ratio)

    def lift(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Intercepts and coefficients of the rows of x."""
        if self.centre is not None:
            mean, level = self.centre
            return level - x @ mean, x
        if self.design.fit_intercept:
            return x[:, -1].copy(), x[:, :-1].copy()
        return np.zeros(len(x)), x
