"""The benchmark of cross-validated estimators measures how far scikit-learn's folds are."""

import sys
import warnings
from pathlib import Path

import pytest
from sklearn.base import clone

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
sys.path.insert(0, BENCHMARKS)
try:
    import estimators_cv
finally:
    sys.path.remove(BENCHMARKS)


@pytest.mark.parametrize("name", ["LassoCV diabetes", "LogisticRegressionCV cancer, lbfgs"])
def test_a_smaller_tol_of_scikit_learn_has_a_smaller_gap(name):
    race = estimators_cv.RACES[name]()
    gaps = []
    for tol in (1e-1, 1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gaps.append(race.gap(tol, clone(race.theirs).set_params(tol=tol).fit(race.X, race.y)))
    assert gaps[0] > gaps[1]
    assert -1e-9 <= gaps[1] <= 1e-6
