"""scikit-learn's own battery for every estimator."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from spd1 import linear_model

# A cross-validation over a few alphas, as in scikit-learn's own battery: the checks are the same
SMALL = {
    "LassoCV": {"alphas": 5, "cv": 3},
    "ElasticNetCV": {"alphas": 5, "cv": 3},
    "LogisticRegressionCV": {"Cs": [0.1, 1.0], "cv": 3},
    "ERMClassifierCV": {"alphas": [0.1, 0.01], "cv": 3},
    "ERMRegressorCV": {"alphas": [0.1, 0.01], "cv": 3},
}
ESTIMATORS = [
    kind(**SMALL.get(kind.__name__, {}))
    for _, kind in inspect.getmembers(linear_model, inspect.isclass)
    if issubclass(kind, BaseEstimator)
]


@pytest.mark.filterwarnings("ignore")  # the battery fits on purpose what can't converge
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check(estimator, check):
    check(estimator)
