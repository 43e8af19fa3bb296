"""Settings and fixtures shared by all tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

# Compilation inside an example must not count as slowness, and a failure must repeat.
settings.register_profile("spd1", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("spd1")


@pytest.fixture
def rng():
    return np.random.default_rng(20181203)
