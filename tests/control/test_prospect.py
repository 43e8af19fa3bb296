"""Whether a method had better give way."""

from __future__ import annotations

import math

import pytest

from spd1.control.prospect import Prospect
from spd1.control.tuning import DEARER, HEARD, MOST_IDLE


@pytest.mark.parametrize("rate", [0.05, 0.2, 1.0, 5.0])
def test_a_steady_pace_is_judged_by_what_is_left(rate):
    """Gap exp(-rate t): it gives way if the rest takes longer than DEARER times the price."""
    prospect, price, tol = Prospect(1e-6), 2.0, 1e-6
    for look in range(1, 400):
        seconds = 0.05 * look
        bleak = prospect.bleak(seconds, math.exp(-rate * seconds), price)
        left = math.log(math.exp(-rate * seconds) / tol) / rate
        if seconds < HEARD * price:
            assert not bleak
        elif abs(left / (DEARER * price) - 1.0) > 0.05:
            assert bleak == (left > DEARER * price)


def test_a_gap_that_rises_is_no_gain():
    prospect = Prospect(1e-6)
    assert not prospect.bleak(0.1, 1e-3, 0.1)
    assert prospect.bleak(1.0, 5.0, 0.1)


def test_nothing_is_dearer_than_what_is_not_for_sale():
    prospect = Prospect(1e-6)
    assert not any(prospect.bleak(float(t), 1.0, math.inf) for t in range(1, 100))


def test_the_end_of_patience():
    prospect = Prospect(1e-6)
    for look in range(MOST_IDLE + 1):
        assert not prospect.exhausted
        prospect.bleak(float(look), 0.5, math.inf)
    assert prospect.exhausted
