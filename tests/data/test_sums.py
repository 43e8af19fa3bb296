"""Sums by halves: the same bits whoever adds up what, and in whatever order it comes."""

from __future__ import annotations

import numpy as np
import pytest

from spd1.data.sums import Part, Sums


def by_halves(values):
    """The definition: neighbours are added up, round after round."""
    while len(values) > 1:
        pairs = [values[k : k + 2] for k in range(0, len(values), 2)]
        values = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 8, 13])
def test_in_any_order_and_by_anybody(count, rng):
    values = [rng.standard_normal(4) * 10.0 ** rng.integers(-8, 8) for _ in range(count)]
    expected = by_halves(values)
    for helpers in (1, 2, 3):
        own = [Sums(count) for _ in range(helpers)]
        for k in rng.permutation(count):
            own[rng.integers(helpers)].add(Part(7, 0, int(k)), values[k])
        together = Sums(count)
        for one in own:
            for part, some in one.parts.items():
                together.add(part, some)
        np.testing.assert_array_equal(together.of(7), expected)
        assert len(together.parts) == 1


def test_neighbours_leave_little_to_hand_on(rng):
    """Eight tiles that lie together are one part, and what was handed over is not written to."""
    sums, values = Sums(16), [rng.standard_normal(3) for _ in range(8)]
    before = [one.copy() for one in values]
    for k, one in enumerate(values):
        sums.add(Part(0, 0, k + 8), one)
    assert list(sums.parts) == [Part(0, 3, 1)]
    np.testing.assert_array_equal(values, before)
