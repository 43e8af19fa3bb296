"""Fits on stores in a process that may not have as much memory as the data takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import spd1

FIT = """
import resource, sys, numpy as np, scipy.linalg, spd1
small, large, loss, l1, l2, extra = sys.argv[1:]
reg = spd1.ElasticNet(l1=float(l1), l2=float(l2))
first = spd1.Problem(spd1.open_store(small), loss=loss, reg=reg)
first.grid.copies = 20_000.0  # so that the same kernels are used: nothing is compiled under the cap
spd1.solve(first, tol=1e-4, max_passes=300)
G = np.eye(300)
scipy.linalg.cho_solve(scipy.linalg.cho_factor(G @ G.T + G @ (2 * G)), G)  # BLAS takes its memory
with open("/proc/self/status") as status:
    now = 1024 * int(next(line for line in status if line.startswith("VmSize:")).split()[1])
cap = now + int(float(extra) * 2**20)
resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
store = spd1.open_store(large)
try:
    np.ones(store.nbytes, dtype=np.uint8)
    print("the cap is none")
except MemoryError:
    pass
problem = spd1.Problem(store, loss=loss, reg=reg)
problem.grid.copies = 2.0**20 * float(extra) / 8
result = spd1.solve(problem, tol=1e-4)
print(result.status, result.rel_gap <= 1e-4)
"""


def blocks(rows, columns, sparse):
    for first in range(0, rows, 5000):
        rng = np.random.default_rng(first)
        count = min(5000, rows - first)
        A = rng.standard_normal((count, columns))
        b = np.sign(A[:, 0] - A[:, 1] + rng.standard_normal(count))
        if sparse:
            A[:, 2:][rng.random((count, columns - 2)) < 0.5] = 0.0
        yield (sp.csr_array(A) if sparse else A), b


def run(tmp_path, megabytes, loss, l1, l2, sparse):
    columns = 100
    for name, size in (("small", 0.5), ("large", megabytes)):
        rows = int(size * 2**20 / (columns * (7 if sparse else 8)))
        spd1.write_store(tmp_path / name, blocks(rows, columns, sparse), tile_mb=size / 24)
    extra = 0.6 * megabytes
    done = subprocess.run(
        [sys.executable, "-c", FIT, tmp_path / "small", tmp_path / "large", loss, str(l1), str(l2),
         str(extra)],
        env=os.environ
        | {"PYTHONPATH": str(Path(spd1.__file__).parents[1]), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["converged", "True"], done.stdout + done.stderr


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="RLIMIT_AS")


def test_a_fit_in_less_memory_than_the_data_takes(tmp_path):
    run(tmp_path, 48, "logistic", 0.0, 1e-3, sparse=False)


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("loss", "l1", "l2"),
    [("logistic", 0.0, 1e-3), ("logistic", 1e-3, 0.0), ("squared_hinge", 0.0, 1e-3),
     ("squared_hinge", 1e-2, 0.0), ("hinge", 0.0, 1e-2), ("hinge", 1e-2, 0.0),
     ("squared", 0.0, 1e-3), ("squared", 1e-2, 0.0)],
)  # fmt: skip
def test_larger_ones(loss, l1, l2, sparse, tmp_path):
    run(tmp_path, 150, loss, l1, l2, sparse)
