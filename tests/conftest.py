"""Settings and fixtures shared by all tests."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import settings

from spd1 import solve
from support import oracle

# Which method a test runs must not depend on the machine; processes that tests start inherit it.
os.environ["SPD1_PRICES"] = "reference"

# Compilation inside an example must not count as slowness, and a failure must repeat.
settings.register_profile("spd1", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("spd1")


@pytest.fixture
def rng():
    return np.random.default_rng(20181203)


@pytest.fixture
def problem():
    """A small logistic regression with l2, whose optimum the oracle knows."""
    return oracle.make_case("logistic", "l2", False).problem()


@pytest.fixture
def finished(problem):
    """A run on it that took a while."""
    return solve(problem, "spd1-vr", max_passes=100, tol=1e-9)
