"""Draws: uniform, reproducible, unbiased."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from spd1 import L2, Problem
from spd1.errors import DataError, ParameterError
from spd1.kernel.jit import helper
from spd1.kernel.rng import bits, index, key_of, shuffled, widths
from spd1.solvers.entries.sampling import Nonzeros, Uniform, choose_sampling, make_sampler

KEY = key_of(7)
N, D = 6, 5


@pytest.fixture
def values(rng):
    """Crowded lines and empty ones."""
    A = rng.standard_normal((N, D))
    A[rng.random((N, D)) < 0.4] = 0.0
    A[0, :] = rng.standard_normal(D)
    A[[2, 5], :] = 0.0
    A[:, 1] = 0.0
    return A


def sampler_of(values, sampling, kind=sp.csr_array, weights=None):
    problem = Problem(kind(values), np.ones(len(values)), "squared", L2(1.0), weights)
    return make_sampler(problem.grid, sampling)


@helper
def draw_pairs(sampler, key, count, out):
    for t in range(count):
        out[t, 0], out[t, 1], out[t, 2] = sampler.pair(key, 2 * t)


@helper
def draw_in_lines(sampler, key, count, lines, by_column, out):
    for line in lines:
        for t in range(count):
            if by_column:
                position, a = sampler.in_column(key, t, line)
            else:
                position, a = sampler.in_row(key, t, line)
            out[line, t, 0] = position
            out[line, t, 1] = a


def pairs(sampler, count):
    out = np.empty((count, 3))
    draw_pairs(sampler, KEY, count, out)
    return out[:, 0].astype(int), out[:, 1].astype(int), out[:, 2]


def draws_in_lines(sampler, lines, by_column, count=4000):
    """The set of (position, value) met in each line, and how often."""
    out = np.empty((max(lines) + 1, count, 2))
    draw_in_lines(sampler, KEY, count, np.array(lines, dtype=np.uint64), by_column, out)
    return {line: np.unique(out[line], axis=0, return_counts=True) for line in lines}


def candidates(values, sampling):
    """Which entries may be drawn."""
    return values != 0 if sampling == "nonzeros" else np.ones(values.shape, dtype=bool)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("sampling", ["uniform", "nonzeros"])
def test_pairs_are_uniform_over_the_candidates(sampling, kind, values):
    i, j, a = pairs(sampler_of(values, sampling, kind), 30_000)
    np.testing.assert_array_equal(a, values[i, j])
    counts = np.zeros((N, D))
    np.add.at(counts, (i, j), 1)
    allowed = candidates(values, sampling)
    assert counts[~allowed].sum() == 0
    assert chisquare(counts[allowed]).pvalue > 1e-3


def test_every_stored_entry_is_drawn_once_a_pass(values):
    sampler = sampler_of(values, "nonzeros")
    stored = int(np.sum(values != 0))
    i, j, _ = pairs(sampler, 5 * stored)
    orders = (D * i + j).reshape(5, stored)
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.flatnonzero(values))
    assert len({tuple(order) for order in orders}) == 5  # an order of its own each pass
    wide = make_sampler(Problem(sp.csr_array(values), np.ones(N), "squared").grid, "nonzeros", 4)
    assert wide.draws == 4  # SPD1-VR: the same order, numbers of draws apart
    assert wide.pair(KEY, 4 * 3) == sampler.pair(KEY, 2 * 3)


@pytest.mark.parametrize("sampling", ["uniform", "nonzeros"])
@pytest.mark.parametrize("by_column", [False, True])
def test_draws_in_a_line_are_uniform_over_its_candidates(sampling, by_column, values):
    by_lines = values.T if by_column else values
    allowed = candidates(by_lines, sampling)
    lines = [line for line in range(len(by_lines)) if allowed[line].any()]
    found = draws_in_lines(sampler_of(values, sampling), lines, by_column)
    for line, (entries, counts) in found.items():
        positions = entries[:, 0].astype(int)
        np.testing.assert_array_equal(positions, np.flatnonzero(allowed[line]))
        np.testing.assert_array_equal(entries[:, 1], by_lines[line, positions])
        if len(counts) > 1:
            assert chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("sampling", ["uniform", "nonzeros"])
def test_estimators_are_unbiased(sampling, values, rng):
    """The exact mean over all equally likely draws, each estimator divided by its share.

    Given j, n c_i a_ij y_i / column_share(j) estimates sum_i c_i a_ij y_i. Given i,
    a_ij x_j / row_share(i) estimates a_i'x. A line without candidates has nothing to estimate.
    """
    weights = rng.random(N)
    sampler = sampler_of(values, sampling, weights=weights)
    c, x, y = weights / weights.sum(), rng.standard_normal(D), rng.standard_normal(N)
    allowed = candidates(values, sampling)
    for j, (entries, _) in draws_in_lines(
        sampler, np.flatnonzero(allowed.any(axis=0)).tolist(), by_column=True
    ).items():
        i, a = entries[:, 0].astype(int), entries[:, 1]
        mean = np.mean(N * c[i] * a * y[i]) / sampler.column_share(j)
        assert mean == pytest.approx(np.sum(c * values[:, j] * y), abs=1e-14)
    for i, (entries, _) in draws_in_lines(
        sampler, np.flatnonzero(allowed.any(axis=1)).tolist(), by_column=False
    ).items():
        j, a = entries[:, 0].astype(int), entries[:, 1]
        assert np.mean(a * x[j]) / sampler.row_share(i) == pytest.approx(values[i] @ x, abs=1e-14)


def test_shares_give_every_line_the_same_total_step(values):
    """A pass draws row i r_i times and column j k_j times: shares times draws are constant."""
    sampler = sampler_of(values, "nonzeros")
    r, k = (values != 0).sum(axis=1), (values != 0).sum(axis=0)
    for i in np.flatnonzero(r):
        assert r[i] * sampler.row_share(i) == pytest.approx(1.0)
    for j in np.flatnonzero(k):
        assert k[j] * sampler.column_share(j) == pytest.approx(N)


@pytest.mark.parametrize("fill", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("empty", ["none", "first", "last", "most"])
def test_guide_finds_the_row_of_every_stored_entry(fill, empty, rng):
    A = np.where(rng.random((300, 40)) < fill, 1.0, 0.0)
    A[{"none": [], "first": range(20), "last": range(280, 300), "most": range(3, 297)}[empty]] = 0.0
    A[150, 7] = 1.0  # at least one entry, alone among empty rows
    sampler = sampler_of(A, "nonzeros")
    rows = np.nonzero(A)[0]
    stored = np.arange(len(rows))
    starts = sampler.guide[stored >> sampler.shift].astype(int)
    assert np.all(starts <= rows)
    assert len(sampler.guide) <= 2 * 300 + 1  # about one number per row
    for p in stored[:: max(1, len(stored) // 500)]:
        i = starts[p]
        while sampler.by_rows.indptr[i + 1] <= p:
            i += 1
        assert i == rows[p]
    i, j, a = pairs(sampler, 2000)
    assert np.all(A[i, j] == 1.0)
    assert np.all(a == 1.0)


def test_which_sampler_is_chosen(values):
    dense = Problem(values, np.ones(N), "squared").grid
    sparse = Problem(sp.csc_array(values), np.ones(N), "squared").grid
    assert choose_sampling(dense, "auto") == "uniform"
    assert choose_sampling(sparse, "auto") == "nonzeros"
    assert choose_sampling(sparse, "uniform") == "uniform"
    assert isinstance(make_sampler(dense, "nonzeros"), Uniform)  # every entry is stored
    assert isinstance(make_sampler(sparse, "nonzeros"), Nonzeros)
    with pytest.raises(ParameterError, match=r"'rows'.*uniform, nonzeros"):
        make_sampler(dense, "rows")


def test_nothing_to_sample_is_refused():
    with pytest.raises(DataError, match="no stored entries"):
        sampler_of(np.zeros((3, 2)), "nonzeros")


@helper
def draw_many(key, start, size, out):
    for t in range(len(out)):
        out[t] = index(key, start + t, size)


@helper
def draw_shuffled(key, start, size, mask, half, out):
    for t in range(len(out)):
        out[t] = shuffled(key, start + t, size, mask, half)


@pytest.mark.parametrize("size", [1, 2, 5, 32, 33, 1000])
def test_an_order_has_every_number_once(size):
    out = np.empty(3 * size, dtype=np.int64)
    draw_shuffled(KEY, 0, *widths(size), out)
    for order in out.reshape(3, size):
        np.testing.assert_array_equal(np.sort(order), np.arange(size))
    part = np.empty(size, dtype=np.int64)
    draw_shuffled(KEY, size // 2, *widths(size), part)
    np.testing.assert_array_equal(part, out[size // 2 : size // 2 + size])


@pytest.mark.parametrize("size", [5, 40, 100])
def test_every_place_of_an_order_is_uniform(size):
    """Over many passes: which number stands at a place, and that neighbours are not alike."""
    out = np.empty(2000 * size, dtype=np.int64)
    draw_shuffled(KEY, 0, *widths(size), out)
    orders = out.reshape(2000, size)
    for place in (0, size // 2, size - 1):
        assert chisquare(np.bincount(orders[:, place], minlength=size)).pvalue > 1e-4
    alike = np.mean([np.corrcoef(order[1:], order[:-1])[0, 1] for order in orders])
    assert abs(alike + 1.0 / size) < 0.05  # without replacement: -1/n, about


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97])
def test_index_is_uniform(size):
    out = np.empty(50_000, dtype=np.int64)
    draw_many(KEY, 0, size, out)
    counts = np.bincount(out, minlength=size)
    assert len(counts) == size
    assert size == 1 or chisquare(counts).pvalue > 1e-3


def test_index_stays_below_a_size_that_is_no_power_of_two():
    out = np.empty(10_000, dtype=np.int64)
    for size in (2**31 + 11, 2**52 + 1):
        draw_many(KEY, 0, size, out)
        assert out.min() >= 0
        assert out.max() < size
        assert np.mean(out) == pytest.approx(size / 2, rel=0.05)


def test_neighbouring_draws_are_independent():
    out = np.empty(100_000, dtype=np.int64)
    draw_many(KEY, 0, 6, out)
    assert chisquare(np.bincount(6 * out[:-1:2] + out[1::2], minlength=36)).pvalue > 1e-3


def test_bits_are_those_of_splitmix64():
    """The reference sequence for the seed 1234567, as published with the generator."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [int(bits(np.uint64(1234567), number)) for number in (1, 2, 3)] == published


def test_a_draw_depends_on_key_and_number_alone():
    whole, part = np.empty(1000, dtype=np.int64), np.empty(300, dtype=np.int64)
    draw_many(KEY, 0, 1000, whole)
    draw_many(KEY, 450, 1000, part)
    np.testing.assert_array_equal(part, whole[450:750])
    draw_many(key_of(8), 450, 1000, part)
    assert np.mean(part == whole[450:750]) < 0.05
    assert bits(KEY, 3) == bits(KEY, np.uint64(3)) != bits(KEY, 4)


def test_keys_repeat_for_the_same_seed_only():
    makers = [
        lambda seed: seed,
        np.int64,
        np.random.default_rng,
        np.random.RandomState,
    ]
    for make in makers:
        assert key_of(make(3)) == key_of(make(3)) != key_of(make(4))
        assert isinstance(key_of(make(3)), np.uint64)
    assert key_of(None) != key_of(None)
    assert key_of(2**70) != key_of(0)
    generator = np.random.default_rng(0)
    assert key_of(generator) != key_of(generator)  # it advances


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), ("0", TypeError), (1.0, TypeError), (True, TypeError)]
)
def test_what_is_no_seed_is_refused(seed, error):
    with pytest.raises(error, match="random_state"):
        key_of(seed)
