"""scikit-learn's own battery for every estimator."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from spd1 import linear_model

ESTIMATORS = [getattr(linear_model, name)() for name in linear_model.__all__ if name[0].isupper()]

# What scikit-learn itself expects to fail for its own linear models. We need none of it.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


@pytest.mark.filterwarnings("ignore")  # the battery fits on purpose what can't converge
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_estimator_check(estimator, check):
    check(estimator)
