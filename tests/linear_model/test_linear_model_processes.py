"""Estimators and models in other processes: what comes back is what one process finds."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.io import Data, fit_model, load_model, read_data, save_model, write_data
from spd1.linear_model import LogisticRegression

GRID = """
import sys
import numpy as np
from joblib import parallel_backend
from sklearn.model_selection import GridSearchCV, cross_val_predict
from spd1.io import read_data
from spd1.linear_model import LogisticRegression, Ridge

data = read_data(sys.argv[1])
assert not data.A.flags.writeable
grid = {"C": [0.1, 1.0, 10.0]}

def search(jobs):
    with parallel_backend("loky", n_jobs=jobs):
        found = GridSearchCV(LogisticRegression(tol=1e-8), grid, cv=3, n_jobs=jobs)
        found.fit(data.A, data.b)
    return found

one, two = search(1), search(2)
np.testing.assert_array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)
for key in ("split0_test_score", "split1_test_score", "mean_test_score"):
    np.testing.assert_array_equal(one.cv_results_[key], two.cv_results_[key])
print(one.best_params_ == two.best_params_)
"""


def table(n=60, d=20):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    return A, np.where(A[:, 0] + rng.standard_normal(n) > 0, 1.0, -1.0)


@pytest.mark.slow
def test_a_search_in_two_processes_finds_what_one_finds(tmp_path):
    """The data is mapped, read-only, and large enough for joblib to map it again."""
    write_data(tmp_path / "data.npz", Data(*table(6000, 30)))
    env = os.environ | {"PYTHONPATH": str(Path(spd1.__file__).parents[1]), "SPD1_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-c", GRID, tmp_path / "data.npz"], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr[-2000:]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_models_on_mapped_data_are_pickled(tmp_path, kind):
    A, b = table(2000, 40)
    write_data(tmp_path / "data.npz", Data(kind(A), b))
    data = read_data(tmp_path / "data.npz")
    estimator = LogisticRegression().fit(data.A, data.b)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.predict(data.A), estimator.predict(data.A))
    model, _ = fit_model(data, "logistic", spd1.L2(0.1), standardize=True)
    save_model(tmp_path / "m", model)
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "m")):
        np.testing.assert_array_equal(other.predict(data.A), model.predict(data.A))
        assert other.certify(data.A, data.b).gap == model.certify(data.A, data.b).gap


def test_problems_on_mapped_data_are_pickled(tmp_path):
    write_data(tmp_path / "data.npz", Data(*table(2000, 40)))
    data = read_data(tmp_path / "data.npz")
    problem = spd1.Problem(data.A, data.b, "logistic", spd1.L2(0.1))
    again = pickle.loads(pickle.dumps(problem))
    np.testing.assert_array_equal(spd1.solve(again).x, spd1.solve(problem).x)
