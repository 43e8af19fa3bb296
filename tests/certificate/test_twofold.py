"""Sums in twice the precision, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spd1.certificate.twofold import twofold_products

SIZES = [(1, 1), (2, 3), (7, 2), (100, 5), (301, 4)]


def exactly(M, c, y):
    rows = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(c, y, strict=True)]
    return [
        sum((Fraction(float(m)) * r for m, r in zip(column, rows, strict=True)), Fraction(0))
        for column in M.T
    ]


def numbers(rng, n, d, spread):
    M = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-spread, spread, (n, d))
    c = rng.uniform(0.1, 1.0, n) * 10.0 ** rng.uniform(-spread, 0.0, n)
    return M, c, rng.standard_normal(n)


@pytest.mark.parametrize("spread", [0, 3, 12])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_the_error_is_within_its_bound(n, d, spread):
    M, c, y = numbers(np.random.default_rng(n + d + spread), n, d, spread)
    sums, bound = twofold_products(M, c, y)
    for found, at_most, truth in zip(sums, bound, exactly(M, c, y), strict=True):
        assert abs(Fraction(float(found)) - truth) <= Fraction(float(at_most))


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_what_cancels_to_sixteen_digits_is_known_to_ten(n, d):
    """Columns orthogonal to c y but for rounding: plain sums see noise alone."""
    M, c, y = numbers(np.random.default_rng(n * d), n, d, 0)
    w = c * y
    M = np.vstack([M, -(w @ M)[None, :]])
    c, y = np.append(c, 1.0), np.append(y, 1.0)
    sums, _ = twofold_products(M, c, y)
    for found, truth in zip(sums, exactly(M, c, y), strict=True):
        assert abs(Fraction(float(found)) - truth) <= abs(truth) * Fraction(1, 10**10)


def test_blocks_of_columns_do_not_matter(monkeypatch):
    M, c, y = numbers(np.random.default_rng(5), 40, 9, 2)
    whole = twofold_products(M, c, y)
    monkeypatch.setattr("spd1.certificate.twofold.TWOFOLD_BLOCK", 80)
    for one, two in zip(whole, twofold_products(M, c, y), strict=True):
        assert np.array_equal(one, two)


def test_what_overflows_has_no_finite_bound():
    with np.errstate(all="ignore"):
        _, bound = twofold_products(np.array([[1e200]]), np.array([1e200]), np.ones(1))
    assert not np.isfinite(bound[0])
