"""Cross-validated paths: one path a fold, the winner fitted on everything."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.parallel import Parallel, delayed

from ..errors import DataError, ParameterError
from ..paths.folds import FoldProducts
from ._options import checked_alphas, number, whole
from ._path import alpha_grid, path
from ._regressors import ElasticNet
from ._walk import Walk, net_of
from .tuning import DEFAULT_TOL, EXACT_FOLDS, SMALL_FIT

__all__ = ["ElasticNetCV", "LassoCV", "folds_of"]


LEAST_TOL = 1e-10  # of the paths on folds, which only choose an alpha


def folds_of(
    cv: Any, X: Any, y: Any, classifier: bool, **params: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to train on and rows to test on, a pair a fold; ``params`` go to the splitter."""
    try:
        return list(check_cv(cv, y, classifier=classifier).split(X, y, **params))
    except ValueError as error:
        raise DataError(str(error)) from None


class ElasticNetCV(ElasticNet):
    """Elastic net with alpha, and l1_ratio, found by cross-validation; certified.

    Parameters
    ----------
    l1_ratio : float in [0, 1] or list of them, default 0.5
        0 needs ``alphas`` that are given.
    eps : float, default 1e-3
        Smallest alpha as a share of the largest.
    alphas : int or array, default 100
        How many, or which.
    fit_intercept, precompute, max_iter, tol, copy_X, positive, random_state, selection
        See ``ElasticNet``.
    cv : int, splitter or None
        Default: 5 folds.
    verbose : int, default 0
    n_jobs : int, optional
        Folds at the same time.

    Attributes
    ----------
    alpha_, l1_ratio_ : float
    mse_path_ : ndarray of shape (n_l1_ratio, n_alphas, n_folds)
        Without the first axis for a single l1_ratio.
    alphas_ : ndarray of shape (n_alphas,), or (n_l1_ratio, n_alphas) where each l1_ratio has a grid
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import ElasticNetCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)); y = X[:, 0] + 0.1 * rng.normal(size=60)
    >>> model = ElasticNetCV(alphas=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _several_targets = False

    def __init__(
        self,
        *,
        l1_ratio=0.5,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        cv=None,
        copy_X=True,
        verbose=0,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _check_parameters(self) -> None:
        super(ElasticNet, self)._check_parameters()
        for ratio in self._ratios():
            number(ratio, "l1_ratio", 0.0, 1.0)
            if ratio == 0.0 and np.ndim(self.alphas) == 0:
                raise ParameterError(
                    "Automatic alpha grid generation is not supported for l1_ratio=0. Please "
                    "supply a grid by providing your estimator with the appropriate `alphas=` "
                    "argument."
                )
        number(self.eps, "eps", 0.0, 1.0, open_low=True)
        if np.ndim(self.alphas) == 0:
            whole(self.alphas, "alphas")
        self._check_precompute(False, True, "auto")

    def _ratios(self) -> list[Any]:
        return list(np.ravel(np.asarray(self.l1_ratio, dtype=object)))

    def fit(  # type: ignore[override]  # as in scikit-learn
        self, X: Any, y: Any, sample_weight: Any = None, **params: Any
    ) -> Any:
        """Find alpha by cross-validation, then fit on everything.

        Parameters
        ----------
        X : array, SciPy sparse or data frame, shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        **params
            For the splitter, such as groups; with scikit-learn's metadata routing only.
        """
        _raise_for_params(params, self, "fit")
        routed: Any = {}
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            routed = routed.splitter.split
        self._split_params = routed
        try:
            return self._fit(X, y, sample_weight)
        finally:
            del self._split_params

    def get_metadata_routing(self) -> Any:
        """What the splitter asks for."""
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        self._check_parameters()
        targets = np.asarray(y)
        if targets.ndim == 2 and targets.shape[1] > 1:
            raise DataError(
                f"For multi-task outputs, use MultiTask{type(self).__name__} of scikit-learn: a "
                "penalty that joins targets is another problem, which spd1 does not solve"
            )
        given = X, y, sample_weight  # with feature names
        X, y, weight = self._checked_data(X, y, sample_weight, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        folds = folds_of(self.cv, X, y, classifier=False, **self._split_params)
        grids = [self._grid(X, y, weight, float(ratio)) for ratio in self._ratios()]
        products = self._products(X, y, weight, min(len(train) for train, _ in folds))
        errors = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fold)(X, y, weight, train, test, float(ratio), grid, products)
                for ratio, grid in zip(self._ratios(), grids, strict=True)
                for train, test in folds
            )
        )
        errors = errors.reshape(len(grids), len(folds), -1).transpose(0, 2, 1)
        mean = errors.mean(axis=2)  # folds count alike, whatever the weights of their samples
        k, a = np.unravel_index(int(np.argmin(mean)), mean.shape)
        self.alpha_, self.l1_ratio_ = np.float64(grids[k][a]), np.float64(self._ratios()[k])
        single = len(grids) == 1
        self.mse_path_ = errors[0] if single else errors
        self.alphas_ = grids[0] if single or np.ndim(self.alphas) else np.array(grids)
        return super()._fit(*given)

    def _grid(self, X: Any, y: np.ndarray, weight: Any, ratio: float) -> np.ndarray:
        if np.ndim(self.alphas):
            return np.sort(checked_alphas(self.alphas, closed=True))[::-1]
        from ..losses import Squared

        walk = Walk(
            X, y, Squared(), ratio, bool(self.positive), bool(self.fit_intercept), weight, 1e-4
        )
        return alpha_grid(walk.largest(), self.eps, self.alphas)

    def _products(self, X: Any, y: np.ndarray, weight: Any, train: int) -> FoldProducts | None:
        """What all folds share, where paths on products are the faster ones."""
        if sp.issparse(X) and X.shape[0] * X.shape[1] <= SMALL_FIT:
            X = X.toarray()
        if not FoldProducts.suits(X, train):
            return None
        return FoldProducts(X, y, weight, bool(self.fit_intercept))

    def _fold(
        self, X: Any, y: Any, weight: Any, train: Any, test: Any, ratio: float, grid: np.ndarray,
        products: FoldProducts | None,
    ) -> np.ndarray:  # fmt: skip
        """Mean squared errors on the test rows, an alpha each."""
        tol = max(self.tol, LEAST_TOL)
        found: Any = None
        if products is not None:
            small = self.tol <= DEFAULT_TOL and X.shape[0] * X.shape[1] <= SMALL_FIT
            goal = EXACT_FOLDS if small else math.inf
            found = products.path(train, grid, ratio, bool(self.positive), tol, goal)
        if found is None:
            found = path(
                X[train], y[train], l1_ratio=ratio, alphas=grid, fit_intercept=self.fit_intercept,
                positive=self.positive, sample_weight=None if weight is None else weight[train],
                tol=tol,
            )  # fmt: skip
        residual = np.asarray(X[test] @ found.coefs.T) + found.intercepts - y[test][:, None]
        return np.average(residual**2, axis=0, weights=None if weight is None else weight[test])

    def _regularizer(self, total: float, d: int, target: int) -> Any:
        return net_of(self.alpha_, self.l1_ratio_, self.positive)


class LassoCV(ElasticNetCV):
    """Lasso with alpha found by cross-validation; certified.

    Parameters
    ----------
    eps, alphas, fit_intercept, precompute, max_iter, tol, copy_X, cv, verbose, n_jobs, positive, \
random_state, selection
        See ``ElasticNetCV``.

    Attributes
    ----------
    alpha_, mse_path_, alphas_
        See ``ElasticNetCV``.
    coef_, intercept_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        Of the final fit, see ``Ridge``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LassoCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 20)); y = X[:, 0] + 0.1 * rng.normal(size=60)
    >>> LassoCV(alphas=20).fit(X, y).coef_[0].round(1)
    np.float64(1.0)
    """

    l1_ratio = 1.0

    def __init__(
        self,
        *,
        eps=1e-3,
        alphas=100,
        fit_intercept=True,
        precompute="auto",
        max_iter=1000,
        tol=1e-6,
        copy_X=True,
        cv=None,
        verbose=False,
        n_jobs=None,
        positive=False,
        random_state=None,
        selection="cyclic",
    ):
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
