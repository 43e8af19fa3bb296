"""The race is fair: every contender minimises the same P, and P* is proven."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
sys.path.insert(0, BENCHMARKS)
try:
    import race_peers
    import race_problems
    import race_reference
    import race_report
    import race_store
    import race_timing
finally:
    sys.path.remove(BENCHMARKS)

EPOCHS = 3000.0


def toy(family, sparse=False):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 5)) * (rng.random((20, 5)) < 0.7)
    b = np.where(A @ rng.standard_normal(5) + rng.standard_normal(20) > 0, 1.0, -1.0)
    loss = race_problems.FAMILY_LOSS[family]
    l1 = 0.0 if family.startswith("l2-") else 0.1 * race_problems.l1_max(A, b, loss)
    l2 = 0.0 if family in ("l1-logistic", "lasso") else 0.1
    data = sp.csr_matrix(A) if sparse else A
    return race_problems.Instance(f"{family}/toy", data, b, loss, l1, l2)


def sklearn_peers():
    sys.path.insert(0, BENCHMARKS)
    try:
        everyone = race_peers.all_peers()
    finally:
        sys.path.remove(BENCHMARKS)
    return {peer.name: peer for peer in everyone if peer.package == "sklearn"}


PEERS = sklearn_peers()
CASES = [(name, family) for name, peer in PEERS.items() for family in peer.families]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("name", "family"), CASES)
def test_peer_minimises_the_same_objective(name, family, sparse):
    one, peer = toy(family, sparse), PEERS[name]
    if not peer.solves(one):
        pytest.skip("not for sparse data")
    best = race_reference.find_reference(one, list(PEERS.values()), 60.0)
    by_epochs = peer.settings is race_peers.EPOCHS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = peer.prepare(one)(EPOCHS if by_epochs else 1e-10)
    error = race_timing.relative_error(one.objective(x), best.value, one.at_zero)
    assert best.gap <= 1e-12
    assert -1e-12 <= error <= (1e-3 if by_epochs else 1e-8)


@pytest.mark.parametrize("family", race_problems.FAMILY_LOSS)
def test_zero_is_optimal_exactly_from_l1_max(family):
    one = toy(family)
    if not one.l1:
        pytest.skip("no l1")
    top = race_problems.l1_max(one.A, one.b, one.loss)
    for factor, optimal in ((1.0001, True), (0.99, False)):
        shrunk = race_problems.Instance(one.name, one.A, one.b, one.loss, factor * top, one.l2)
        best = race_reference.find_reference(shrunk, list(PEERS.values()), 60.0)
        assert (best.value >= shrunk.at_zero - 1e-12) == optimal


def test_names_of_problems_are_unique():
    names = [spec.name for spec in race_problems.all_specs()]
    assert len(names) == len(set(names)) > 80


def test_a_peer_that_hangs_or_fails_is_left_behind():
    def hangs(one):
        import time

        return lambda setting: time.sleep(60)

    def fails(one):
        raise ValueError("no such thing")

    one = toy("lasso")
    for prepare, status in ((hangs, "timeout"), (fails, "failed")):
        peer = race_peers.Peer("broken", "sklearn", ("lasso",), prepare)
        entry = race_timing.sweep(peer, one, 0.1, race_timing.Limits(0.1), patience=0.5)
        assert entry["status"] == status
    assert "no such thing" in entry["message"]


def test_table_compares_the_fastest_setting_that_is_accurate_enough(tmp_path):
    def entry(*runs):
        keys = ("setting", "seconds", "objective", "method")
        rows = [dict(zip(keys, (*run, "rows"), strict=True)) for run in runs]
        return {"runs": rows, "repeats": {}, "status": "ok", "message": ""}

    one = toy("lasso")
    store = race_store.Store(tmp_path, tmp_path / "cache")
    store.keep_optimum(one, race_reference.Reference(0.25, 0.0, "by hand"))
    span = one.at_zero - 0.25
    peers, ours = store.peers(one.name), store.ours("rows", one.name)
    for record, name, seconds in ((peers, "slow", 4.0), (peers, "fast", 2.0), (ours, "spd1", 1.0)):
        record.describe(one)
        loose, tight = (0.1, 0.1 * seconds, 0.25 + 0.5 * span), (1e-8, seconds, 0.25 + 1e-7 * span)
        record.solvers[name] = entry(loose, tight)
        record.save()
    cells = race_report.collect(store, [one.name], "rows")[one.name]
    assert cells[1e-6].best_peer == ("fast", 2.0)
    assert cells[1e-6].ratio == 2.0
    assert cells[1e-9].ratio is None
    assert race_report.summary(cells.values())["share_1"] == 1.0


def test_a_problem_spd1_was_not_run_on_is_not_counted_against_it():
    peers = {"peer": (1.0, 0.1, "")}
    unmeasured = race_report.Cell(peers, None, trusted=True, measured=False)
    missed = race_report.Cell(peers, None, trusted=True, measured=True)
    found = race_report.summary([unmeasured, missed])
    assert (found["problems"], found["not_reached"]) == (1, 1)
