"""Convergence against staleness: delays as emulated, curves that end where they should."""

from __future__ import annotations

import csv

import numpy as np

from spd1 import L2, Problem
from spd1.datasets import make_synthetic
from spd1.reproduce import figure6


def test_emulated_delays_are_reproducible_and_cost_passes(tmp_path):
    A, b = make_synthetic(64, 16, seed=1)
    problem = Problem(A, b, "logistic", L2(0.1))
    runs = [figure6._emulated(problem, delay) for delay in (0, 8, 8)]
    np.testing.assert_array_equal(runs[1].rel_gaps, runs[2].rel_gaps)
    assert not np.array_equal(runs[0].rel_gaps[:4], runs[1].rel_gaps[:4])
    for race in runs:
        assert race.rel_gaps[-1] < 1e-3 * race.rel_gaps[0]
    raced = figure6._raced(problem, "rows", 2)
    assert raced.rel_gaps[-1] <= 1e-7
    assert 0.0 <= raced.mean <= raced.most
    races = [*runs, raced]
    figure6.write_csv(tmp_path / "figure6.csv", races)
    with (tmp_path / "figure6.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == sum(len(race.passes) for race in races)
    pictures = figure6.draw(tmp_path, races)
    assert all(path.stat().st_size > 0 for path in pictures)
