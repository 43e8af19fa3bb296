"""Products with the data, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.data.convert import as_matrix
from spd1.data.products import curved_lines
from support import oracle


@pytest.mark.parametrize("n", [1, 4, 6, 11])
@pytest.mark.parametrize("layout", ["dense_c", "csr", "dense_float32"])
def test_curved_lines_are_the_product(layout, n, rng):
    A = rng.standard_normal((n, 5)).astype(np.float32).astype(float)
    A[rng.random(A.shape) < 0.3] = 0.0
    bend, p, out = rng.random(n) * (rng.random(n) < 0.8), rng.standard_normal(5), np.ones(5)
    curved_lines(as_matrix(oracle.LAYOUTS[layout](A)), bend, p, out)
    np.testing.assert_allclose(out, 1.0 + A.T @ (bend * (A @ p)), rtol=1e-12, atol=1e-12)
