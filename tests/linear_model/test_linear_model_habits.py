"""What existing code of scikit-learn's users does without a thought: types, tols, offsets."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as peer

from spd1 import linear_model as ours

N, D = 40, 6


@pytest.fixture
def pair(rng):
    X = rng.normal(size=(N, D)) + 0.5
    return X, X @ rng.normal(size=D) + 0.3 * rng.normal(size=N) + 2.0


def test_an_offset_of_least_squares_is_taken_off_the_targets(pair):
    """The identity is the link there, so the mean is the prediction plus the offset."""
    X, t = pair
    offset = np.linspace(-1.0, 2.0, N)
    model = ours.TweedieRegressor(power=0.0, alpha=0.1).fit(X, t, offset=offset)
    plain = ours.TweedieRegressor(power=0.0, alpha=0.1).fit(X, t - offset)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_numbers_that_were_chosen_are_numpy_scalars(pair):
    """As in scikit-learn: existing code asks them for their shape, or rounds them."""
    X, t = pair
    net = ours.ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=4, cv=3).fit(X, t)
    chosen = (net.alpha_, net.l1_ratio_, net.dual_gap_, ours.HuberRegressor().fit(X, t).scale_)
    assert all(isinstance(one, np.float64) for one in chosen)


def test_a_tol_meant_for_gradients_does_no_harm_on_tiny_data(pair):
    """A gap of 1e-2 leaves some per cent of a coefficient, and solving on takes no time."""
    X, t = pair
    mine = ours.LogisticRegression(tol=1e-2).fit(X, t > 2.0)
    theirs = peer.LogisticRegression(tol=1e-10).fit(X, t > 2.0)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, rtol=1e-4)


def test_the_solver_of_several_targets_is_one_word(pair):
    X, t = pair
    targets, three = np.column_stack([t, X[:, 0]]), np.digitize(t, [1.0, 3.0])
    for model, y in ((ours.Ridge(), targets), (ours.RidgeClassifier(), three)):
        assert isinstance(model.fit(X, y).solver_, str)
        assert len(model.method_) == len(model.coef_)
    assert ours.Ridge(solver="svd").fit(X, targets).solver_ == "svd"
