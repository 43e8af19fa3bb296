"""Threads, grids, stores and checkpoints with each other: what one adds, the others keep."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import L1, L2, Problem, open_store, solve, write_store
from spd1.errors import IncompatibleError


def data(rng):
    A = rng.standard_normal((400, 30))
    return A, np.sign(A[:, 0] + rng.standard_normal(400))


def stopped_and_resumed(make, path, **settings):
    """A run that is stopped at its second look and goes on with another number of threads."""
    looks = []

    def stop(row):
        looks.append(row)
        return len(looks) == 2

    threads = "n_threads" in settings
    first = solve(make(), checkpoint=path, every=0, callback=stop, **settings)
    assert first.status == "interrupted"
    return solve(make(), checkpoint=path, **settings | ({"n_threads": 1} if threads else {}))


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "newton", "engine": "threads", "n_threads": 2},
        {"method": "rows", "engine": "threads", "n_threads": 2, "grid": (2, 2)},
        {"method": "rows", "grid": (3, 1)},
    ],
)
def test_a_run_by_threads_or_on_a_grid_goes_on_with_the_same_bits(settings, rng, tmp_path):
    reg = L1(0.01) if settings["method"] == "newton" else L2(1e-3)
    A, b = data(rng)

    def make():
        return Problem(A, b, "logistic", reg)

    whole = solve(make(), **settings)
    resumed = stopped_and_resumed(make, tmp_path / "run.npz", **settings)
    np.testing.assert_array_equal(whole.x, resumed.x)
    assert whole.gap == resumed.gap


def test_a_run_on_a_store_goes_on_and_other_data_is_refused(rng, tmp_path):
    A, b = data(rng)
    stores = [tmp_path / "one.store", tmp_path / "two.store"]
    for place, values in zip(stores, (A, A + (A > 2.5) * 1e-9), strict=True):
        write_store(place, values, b, tile_mb=0.03)

    def make(place=stores[0]):
        store = open_store(place)
        assert store.tiles[0] > 1
        return Problem(store, None, "logistic", L1(0.01))

    whole = solve(make())
    resumed = stopped_and_resumed(make, tmp_path / "run.npz")
    np.testing.assert_array_equal(whole.x, resumed.x)
    assert whole.gap == resumed.gap
    with pytest.raises(IncompatibleError, match="data"):
        solve(make(stores[1]), checkpoint=tmp_path / "run.npz")


def test_threads_on_a_store_have_the_same_bits_for_any_number(rng, tmp_path):
    A, b = data(rng)
    write_store(tmp_path / "a.store", A, b, tile_mb=0.03)
    one, two = (
        solve(
            Problem(open_store(tmp_path / "a.store"), None, "logistic", L2(1e-3)),
            engine="threads", n_threads=count,
        )
        for count in (1, 2)
    )  # fmt: skip
    np.testing.assert_array_equal(one.x, two.x)
    assert one.gap == two.gap


def test_what_cannot_be_resumed_is_refused_before_it_starts(rng, tmp_path):
    A, b = data(rng)
    with pytest.raises(IncompatibleError, match="checkpoint"):
        solve(
            Problem(A, b, "logistic", L2(1e-3)), "rows", engine="async", n_threads=2,
            checkpoint=tmp_path / "run.npz",
        )  # fmt: skip
    assert not (tmp_path / "run.npz").exists()
