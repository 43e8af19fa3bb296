"""Step sizes are tuned by one rule for every method: the rule, by its definition."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
import pytest

import spd1
from spd1.reproduce.grids import (
    COARSE,
    COORDINATES,
    DECAYS,
    at_edge,
    best_point,
    fine,
    steps_at,
    units,
)
from spd1.reproduce.panels import tune
from spd1.reproduce.problems import Panel
from spd1.reproduce.settings import FULL, NAMES, QUICK

TRIES = 12


@pytest.fixture(scope="module")
def problem():
    A, b = spd1.datasets.make_synthetic(40, 30, seed=1)
    return spd1.Problem(A, b, "logistic", spd1.L2(0.1))


def searched(method, value, tries=TRIES):
    """Points tried, in order, and what they led to."""
    found = {point: value(point) for point in COARSE[method]}
    search = fine(method, found)
    point = next(search)
    while len(found) < tries:
        assert point not in found
        found[point] = value(point)
        point = search.send(found[point])
    return found


def bowl(optimum):
    """A convex function of a point with its minimum there."""
    return lambda point: sum((a - b) ** 2 for a, b in zip(point, optimum, strict=True))


class FakePool:
    """Takes a task's objective from a function of its steps; remembers the tasks."""

    def __init__(self, value):
        self.value, self.tasks, self.labels, self.planned = value, [], [], 0.0

    def plan(self, work):
        self.planned += work

    def run(self, jobs):
        tasks = [job.task for job in jobs]
        self.tasks += tasks
        self.labels += [job.label for job in jobs]
        horizon = tasks[0]["horizon"]
        return [
            {"paper_passes": [0, horizon], "passes": [0, 1], "seconds": [0, 1],
             "primal": [1.0, self.value(task)]}
            for task in tasks
        ]  # fmt: skip


PANEL = Panel("d100", "data", "title", "logistic", 0.1, "uniform", 8, True)


@pytest.mark.parametrize("settings", [QUICK, FULL])
def test_every_method_has_the_same_number_of_different_tries(settings):
    pool = FakePool(lambda task: abs(math.log(task["steps"]["eta"])))
    unit = {"row": 0.3, "eta": 0.1, "tau": 0.2}
    tried = tune(pool, PANEL, settings, unit)
    [count] = {len(tried[method]) for method in NAMES}
    assert settings.tries <= count <= settings.most_tries
    assert len(pool.tasks) == count * len(NAMES)
    for method in NAMES:
        steps = {str(task["steps"]) for task in pool.tasks if task["method"] == method}
        assert len(steps) == count
        assert list(tried[method])[:6] == list(COARSE[method])
    assert {task["seed"] for task in pool.tasks} == {settings.tuning_seed}
    assert {task["horizon"] for task in pool.tasks} == {PANEL.horizon}  # as long as is shown
    assert len(set(pool.labels)) == len(pool.labels)  # method and try
    assert f"title, logistic: SPD1-VR, try {settings.tries} of {settings.tries}" in pool.labels
    again = tune(FakePool(pool.value), PANEL, settings, unit)
    assert again == tried


def far_away(exponent):
    """SAGA does best with a step of 2^exponent units; the others do not care."""

    def value(task):
        saga = task["method"] == "saga"
        return abs(math.log2(task["steps"]["eta"]) - exponent) if saga else 1.0

    return value


def test_all_methods_get_more_tries_while_one_has_its_best_at_the_edge():
    unit = {"row": 1.0, "eta": 1.0, "tau": 1.0}
    counts = []
    for exponent in (0.0, 50.0):
        pool = FakePool(far_away(exponent))
        tried = tune(pool, PANEL, FULL, unit)
        [count] = {len(tried[method]) for method in NAMES}
        counts.append(count)
        edges = [m for m in NAMES if at_edge(m, best_point(tried[m]), tried[m])]
        assert edges == []
        assert (pool.planned > 0.0) == (count > FULL.tries)
    assert counts[0] == FULL.tries < counts[1] < FULL.most_tries
    assert f"title, logistic: PSGD, try {counts[1]} of at most {FULL.most_tries}" in pool.labels


def test_the_search_for_an_inner_best_ends_and_is_marked():
    endless = FakePool(lambda task: -task["steps"]["eta"])  # larger is better, always
    tried = tune(endless, PANEL, FULL, {"row": 1.0, "eta": 1.0, "tau": 1.0})
    assert {len(mine) for mine in tried.values()} == {FULL.most_tries}
    assert at_edge("saga", best_point(tried["saga"]), tried["saga"])


def test_quick_has_the_coarse_tries_and_full_twice_as_many():
    assert {len(set(points)) for points in COARSE.values()} == {QUICK.tries}
    assert FULL.tries == 2 * QUICK.tries
    assert set(COARSE) == set(NAMES)


@pytest.mark.parametrize("optimum", np.linspace(-8.9, 8.9, 13))
def test_neighbours_bracket_the_winner(optimum):
    """Within a factor of 2 on both sides, even beyond the coarse points."""
    found = searched("svrg", bowl((optimum,)))
    [best] = best_point(found)
    below = max(size for (size,) in found if size < best)
    above = min(size for (size,) in found if size > best)
    assert below < optimum < above
    assert above - best <= 1.0
    assert best - below <= 1.0
    assert not at_edge("svrg", (best,), found)
    if -6.0 < optimum < 4.0:  # tries were left to halve the distance
        assert above - below <= 1.0


@pytest.mark.parametrize("method", NAMES)
def test_all_neighbours_of_a_coarse_winner_are_tried(method):
    """Half as far as coarse neighbours, in each coordinate; then it is not at the edge."""
    middle = COARSE[method][len(COARSE[method]) // 2]
    found = searched(method, bowl(middle))
    assert best_point(found) == middle
    for place, name in enumerate(COORDINATES[method]):
        for change in (1.0, -1.0):
            point = tuple(v + change * (k == place) for k, v in enumerate(middle))
            assert point in found or (name == "rung" and point[place] < 0.0)
    assert not at_edge(method, middle, found)


@pytest.mark.parametrize("method", NAMES)
def test_coarse_points_reach_far_with_neighbours_at_twice_the_distance(method):
    columns = list(zip(*COARSE[method], strict=True))
    for name, column in zip(COORDINATES[method], columns, strict=True):
        values = sorted(set(column))
        assert set(np.diff(values)) == {2.0}
        assert len(values) >= (3 if name == "size" else 2)
    decays = {"psgd", "spd1"}
    assert {m for m in NAMES if "rung" in COORDINATES[m]} == decays
    assert {m for m in NAMES if "tilt" in COORDINATES[m]} == {"spd1", "spd1-vr"}


def test_the_search_follows_success_beyond_the_coarse_points():
    found = searched("spd1-vr", lambda point: -point[0])
    assert [size for size, _ in list(found)[6:]] == [4.0, 6.0, 10.0, 18.0, 26.0, 34.0]
    assert at_edge("spd1-vr", best_point(found), found)
    found = searched("psgd", lambda point: -point[1])  # the ladder ends
    assert max(rung for _, rung in found) == len(DECAYS) - 1


def test_runs_that_diverge_are_never_best_but_bound_the_search():
    """Steps above 2^0.5 units diverge, below them larger is better."""
    found = searched("saga", lambda point: math.inf if point[0] > 0.5 else -point[0])
    assert best_point(found) == (0.5,)
    assert not at_edge("saga", (0.5,), found)
    nowhere = searched("saga", lambda point: math.inf)
    assert len(nowhere) == TRIES


def test_the_order_of_neighbours():
    search = fine("spd1", {point: bowl((-2.0, 2.0, 0.0))(point) for point in COARSE["spd1"]})
    shown = [next(search)]
    shown += [search.send(99.0) for _ in range(4)]
    assert shown == [
        (-1.0, 2.0, 0.0), (-3.0, 2.0, 0.0), (-2.0, 3.0, 0.0), (-2.0, 1.0, 0.0), (-2.0, 2.0, 1.0),
    ]  # fmt: skip
    assert search.send(99.0) == (-1.5, 2.0, 0.0)  # all known: half the distance
    search = fine("spd1", {point: bowl((-2.0, 2.0, 0.0))(point) for point in COARSE["spd1"]})
    shown = [next(search), search.send(99.0), search.send(-1.0), search.send(99.0)]
    assert shown[1:3] == [(-3.0, 2.0, 0.0), (-5.0, 2.0, 0.0)]  # a success: twice as far
    assert shown[3] == (-3.0, 3.0, 0.0)  # then the coordinate that comes next


def test_steps_scale_with_the_data(problem):
    doubled = spd1.Problem(2.0 * problem.A.values, problem.b, "logistic", spd1.L2(0.1))
    for method in NAMES:
        one, other = (
            [steps_at(method, point, units(p))["eta"] for point in COARSE[method]]
            for p in (problem, doubled)
        )
        np.testing.assert_allclose(np.divide(one, other), 4.0)


def test_one_strong_direction_makes_no_pair_smaller():
    """Units follow row and column norms, which are the same here; |A| is three times as large."""
    n, d = 60, 50
    signs = np.where(np.random.default_rng(0).random((n, d)) < 0.5, -1.0, 1.0)
    b = np.where(np.arange(n) % 2, 1.0, -1.0)
    spread, aligned = (
        units(spd1.Problem(A, b, "logistic", spd1.L2(0.1))) for A in (signs, np.ones((n, d)))
    )
    assert spread["row"] == pytest.approx(aligned["row"])
    assert spread["eta"] * spread["tau"] == pytest.approx(aligned["eta"] * aligned["tau"])


def test_pairs_are_balanced_by_size_and_tilt(problem):
    unit = units(problem)
    for size, tilt in islice(COARSE["spd1-vr"], 6):
        steps = steps_at("spd1-vr", (size, tilt), unit)
        assert steps["eta"] * steps["tau"] == pytest.approx(unit["eta"] * unit["tau"] * 4.0**size)
        assert steps["tau"] / steps["eta"] == pytest.approx(unit["tau"] / unit["eta"] * 4.0**tilt)


def test_edges():
    tried = [(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (2.0, 1.0)]
    assert [at_edge("psgd", point, tried) for point in tried] == [True, False, True, True]
    assert at_edge("spd1-vr", (2.0, 0.0), tried)  # a tilt has no natural end
    last = float(len(DECAYS) - 1)
    ladder = [(1.0, last), (2.0, last), (3.0, last), (2.0, last - 1.0)]
    assert not at_edge("psgd", (2.0, last), ladder)  # nor is there anything beyond the ladder


def test_what_lies_beyond_counts_only_near_the_point():
    """Within a factor 2 in the other coordinates; farther away it says nothing."""
    cross = [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0)]
    assert at_edge("spd1-vr", (0.0, 0.0), cross)
    assert at_edge("spd1-vr", (0.0, 0.0), [*cross, (3.0, -1.0)])
    assert not at_edge("spd1-vr", (0.0, 0.0), [*cross, (1.0, -1.0)])
