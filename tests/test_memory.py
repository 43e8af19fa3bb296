"""A fit makes no second copy of much sparse data, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spd1
from spd1.solvers.sprint import choice


@pytest.mark.parametrize(
    ("loss", "l1", "l2"),
    [("logistic", 0.0, 1e-3), ("hinge", 0.0, 1e-3), ("squared", 0.3, 0.0), ("logistic", 0.3, 1e-3)],
)
def test_peak_of_a_fit(loss, l1, l2, monkeypatch):
    monkeypatch.setattr(choice, "COLUMNS_COPY", 300_000)  # so that these 360,000 entries are much
    rng = np.random.default_rng(0)
    A = sp.random_array((3000, 6000), density=0.02, rng=rng, format="csr")
    b = np.sign(A @ rng.normal(size=6000))
    largest = np.abs(A.T @ b).max() / 3000
    reg = spd1.ElasticNet(l1=l1 * largest, l2=l2)
    spd1.solve(spd1.Problem(A, b, loss, reg), tol=1e-3)  # compiles: not counted
    tracemalloc.start()
    try:
        found = spd1.solve(spd1.Problem(A, b, loss, reg), tol=1e-3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.status == "converged"
    size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes
    assert peak <= 0.6 * size


FITS = """
import gc, numpy as np, scipy.sparse as sp, spd1
from spd1.linear_model import Lasso, LogisticRegression

def resident():
    gc.collect()
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024

def fit(k):
    rng = np.random.default_rng(k)
    A = rng.standard_normal((200, 30 + k % 7))
    A = sp.csr_array(A * (A > 0.5)) if k % 3 == 0 else A
    b = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    if k % 4 == 0:
        LogisticRegression().fit(A, b)
    elif k % 4 == 1:
        Lasso(alpha=0.05).fit(A, b)
    else:
        loss = ("hinge", "squared")[k % 2]
        spd1.solve(spd1.Problem(A, b, loss, spd1.L2(0.01)), tol=1e-4)

for k in range(WARM):
    fit(k)
before = resident()
for k in range(COUNT):
    fit(k)
print(resident() - before)
"""


def growth(warm, count):
    """Megabytes that so many fits in one process leave behind."""
    code = FITS.replace("WARM", str(warm)).replace("COUNT", str(count))
    source = str(Path(spd1.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": source},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="Linux tells the size")
def test_two_thousand_fits_leave_nothing_behind():
    assert growth(warm=200, count=2000) < 5.0
