"""Estimators with scikit-learn's names, parameters and objectives, and a certificate.

>>> from spd1.linear_model import LogisticRegression
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = LogisticRegression(tol=1e-6).fit(X, y == 2)
>>> bool(model.rel_gap_ <= 1e-6)
True
"""

from __future__ import annotations

from ._cv import ElasticNetCV, LassoCV
from ._erm import ERMClassifier, ERMRegressor
from ._erm_cv import ERMClassifierCV, ERMRegressorCV
from ._glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from ._huber import HuberRegressor
from ._logistic import LogisticRegression
from ._logistic_cv import LogisticRegressionCV
from ._losses import LinearSVR, QuantileRegressor
from ._margin import LinearSVC
from ._path import Path, path
from ._pictures import draw_cv_of, draw_path_of
from ._regressors import ElasticNet, Lasso
from ._ridge import LinearRegression, Ridge
from ._ridge_classifier import RidgeClassifier
from ._ridge_cv import RidgeClassifierCV, RidgeCV
from ._shown import tools
from ._sparse_path import enet_path, lasso_path
from ._summary import proof_of, summary_of

tools.update(draw_cv=draw_cv_of, draw_path=draw_path_of, proof_of=proof_of, summary_of=summary_of)

__all__ = [
    "ERMClassifier",
    "ERMClassifierCV",
    "ERMRegressor",
    "ERMRegressorCV",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "HuberRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Path",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
    "path",
]
