"""Classes and codes by counting, against np.unique; constant columns, against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.design.intercept import constant_columns
from spd1.errors import DataError
from spd1.linear_model._classifiers import labels_of


@pytest.mark.parametrize(
    "y",
    [
        [3, 5, 3, 3],
        [-1, 1, 1, -1, 1, 1],
        [0, 7] * 30,
        [0] * 5,
        list(range(9)) * 3,
        [-(2**63), 2**63 - 1, 0],  # their difference is no int64
        [2**63 - 1, 2**63 - 2, 2**63 - 1, 2**63 - 2, 2**63 - 1],
        [True, False, True],
        ["b", "a", "b"],
        [1.0, 2.0, 1.0],
    ],
)
def test_labels_are_those_of_numpy(y):
    y = np.array(y)
    for found, wanted in zip(labels_of(y), np.unique(y, return_inverse=True), strict=True):
        assert np.array_equal(found, wanted)
        assert found.dtype == wanted.dtype


def test_what_is_no_label_is_refused():
    with pytest.raises(DataError, match="continuous"):
        labels_of(np.array([0.1, 0.2, 0.7]))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1000])
def test_constant_columns_are_those_whose_ends_are_the_same(n):
    rng = np.random.default_rng(n)
    X = rng.integers(0, 2, size=(n, 6)).astype(float)
    X[:, 1], X[:, 3] = 4.0, 0.1
    X[n // 2, 3] += n % 2  # one row alone may differ
    X[:, 4] = 2.0
    X[-1, 4] = 3.0
    wanted = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    assert np.array_equal(constant_columns(X), wanted)
