"""What a step costs is what the papers state: entries read, and coordinates of x that are touched.

Kernels run as plain Python in a process of their own, on matrices that count every use of an entry
and on a regularizer that counts how often the numbers of a coordinate are asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from spd1.solvers import FAMILY_METHODS

COUNTED = """
import json, sys
import numpy as np, scipy.sparse as sp
import spd1
from spd1.data.matrix import CSC, CSR, Dense
from spd1.kernel.rng import key_of
from spd1.regularizers import SharedNet
from spd1.solvers import FAMILY_METHODS, method_class

used = {"entries": 0, "coordinates": 0}
def counting(plain, what):
    def counted(*args):
        used[what] += 1
        return plain(*args)
    return counted
for kind in (Dense, CSR, CSC):
    kind.at, kind.entry = counting(kind.at, "entries"), counting(kind.entry, "entries")
SharedNet.numbers = counting(SharedNet.numbers, "coordinates")

rng = np.random.default_rng(0)
n, d, each = 60, 40, 4
columns = np.concatenate([rng.choice(d, each, replace=False) for _ in range(n)])
narrow = sp.csr_array((rng.standard_normal(n * each), columns, np.arange(0, n * each + 1, each)),
                      shape=(n, d))
narrow.sort_indices()
wide = sp.csr_array((narrow.data, narrow.indices, narrow.indptr), shape=(n, 10 * d))
b = np.where(rng.random(n) < 0.5, 1.0, -1.0)
found = {}
for name in FAMILY_METHODS:
    for kind, A in (("dense", rng.standard_normal((12, 8))), ("sparse", narrow), ("wide", wide)):
        problem = spd1.Problem(A, b[: A.shape[0]], "logistic", spd1.L2(0.1))
        worker = method_class(name)(problem, "auto", key_of(0))
        worker.steps = worker.default_steps()
        worker.begin(np.zeros(problem.d), -0.5 * problem.b)
        for _ in worker.epoch():
            pass
        used.update(entries=0, coordinates=0)
        read, first = worker.ledger.entries, worker.t
        for _ in worker.epoch():
            pass
        found[f"{name} {kind}"] = {
            **used, "read": worker.ledger.entries - read, "steps": int(worker.t - first),
            "stored": problem.stored, "n": problem.n, "d": problem.d,
        }
print(json.dumps(found))
"""

ENTRIES_OF_A_ROW = 4  # of the sparse data
#: Whole passes of an epoch beside its steps, of methods that read a row a step ...
A_ROW = {"spdc": 0, "spdhg": 0, "rpd": 0, "sdca": 1, "asdca": 2, "katyusha": 2, "s2cd": 2}
#: ... and entries a step of those that read entries, with two such passes.
SOME_ENTRIES = {"spd1-vr-acc": 1, "spd1-vr-catalyst": 3}
WHOLE = {"chambolle-pock": 2, "extragradient": 4}  # products an iteration; pdlp's steps are tried
KINDS = ("dense", "sparse", "wide")


@pytest.fixture(scope="module")
def counted():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", COUNTED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("method", FAMILY_METHODS)
def test_every_entry_that_is_used_is_counted(counted, method):
    """A visit may use an entry twice: for its product, and for its update."""
    for kind in KINDS:
        one = counted[f"{method} {kind}"]
        assert 0 < one["entries"] <= 2.0 * one["read"] + 1e-6


@pytest.mark.parametrize("method", A_ROW)
def test_a_step_reads_a_row(counted, method):
    for kind in KINDS:
        one = counted[f"{method} {kind}"]
        row = one["stored"] / one["n"]
        assert one["read"] == pytest.approx(one["steps"] * row + A_ROW[method] * one["stored"])


@pytest.mark.parametrize("method", SOME_ENTRIES)
def test_a_step_reads_entries(counted, method):
    for kind in KINDS:
        one = counted[f"{method} {kind}"]
        expected = one["steps"] * SOME_ENTRIES[method] + 2 * one["stored"]
        assert one["read"] == pytest.approx(expected)


@pytest.mark.parametrize("method", ["dspdc", "saga-saddle", "svrg-saddle", "svrg-saddle-acc"])
def test_a_step_reads_a_row_and_a_column(counted, method):
    """svrg-saddle has a snapshot an epoch, its accelerated form as many as the coins say."""
    for kind in ("dense", "sparse"):
        one = counted[f"{method} {kind}"]
        lines = one["stored"] / one["n"] + one["stored"] / one["d"]
        left = one["read"] - one["steps"] * lines
        if method == "svrg-saddle-acc":
            left %= 2 * one["stored"]
        elif method == "svrg-saddle":
            left -= 2 * one["stored"]
        # dspdc looks up two entries more, and long columns are drawn more often
        assert abs(left) <= one["steps"] * (3.0 if method == "dspdc" else 1.0) + 1e-9


@pytest.mark.parametrize("method", WHOLE)
def test_an_iteration_reads_everything(counted, method):
    for kind in KINDS:
        one = counted[f"{method} {kind}"]
        assert one["read"] == one["steps"] * WHOLE[method] * one["stored"]
        assert one["coordinates"] >= one["steps"] * one["d"]


@pytest.mark.parametrize("method", sorted(set(FAMILY_METHODS) - set(WHOLE) - {"pdlp"}))
def test_sparse_steps_touch_the_coordinates_of_their_row(counted, method):
    """All others once an epoch, and once a snapshot; a step that touched all would touch d."""
    one = counted[f"{method} wide"]
    snapshots = one["read"] / (2 * one["stored"]) if method == "svrg-saddle-acc" else 0
    few = 4 * ENTRIES_OF_A_ROW * one["steps"] + (2 + snapshots) * one["d"]
    assert one["coordinates"] <= few < one["steps"] * one["d"] / 2


@pytest.mark.parametrize("method", ["dspdc", "s2cd"])
def test_a_step_moves_one_coordinate(counted, method):
    for kind in KINDS:
        assert counted[f"{method} {kind}"]["coordinates"] == counted[f"{method} {kind}"]["steps"]
