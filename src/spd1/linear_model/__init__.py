"""Estimators with scikit-learn's names, parameters and objectives, and a certificate.

>>> from spd1.linear_model import LogisticRegression
>>> from sklearn.datasets import load_iris
>>> X, y = load_iris(return_X_y=True)
>>> model = LogisticRegression(tol=1e-6).fit(X, y == 2)
>>> bool(model.rel_gap_ <= 1e-6)
True
"""

from __future__ import annotations

from ._classifiers import LinearSVC, LogisticRegression, RidgeClassifier
from ._erm import ERMClassifier, ERMRegressor
from ._regressors import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearSVR,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
)

__all__ = [
    "ERMClassifier",
    "ERMRegressor",
    "ElasticNet",
    "HuberRegressor",
    "Lasso",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "PoissonRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeClassifier",
]
