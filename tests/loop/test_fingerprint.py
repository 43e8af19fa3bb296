"""Two runs with the same words are the same run; see test_checkpoint for what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spd1 import L2, Problem
from spd1.loop import fingerprint as module
from spd1.loop.fingerprint import differences, digest_of, fingerprint

LAYOUTS = [
    np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array,
    lambda A: np.repeat(A, 2, axis=1)[:, ::2], lambda A: A[::-1],
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_entry_counts(layout, rng):
    A, b = rng.standard_normal((20, 7)), rng.standard_normal(20)
    words = fingerprint(Problem(layout(A), b, "squared", L2(0.1)), {})
    assert words == fingerprint(Problem(layout(A.copy()), b, "squared", L2(0.1)), {})
    for i, j in ((0, 0), (19, 6), (7, 3)):
        other = A.copy()
        other[i, j] = np.nextafter(other[i, j], 9.0)
        new = fingerprint(Problem(layout(other), b, "squared", L2(0.1)), {})
        assert differences(words, new) == ["data"]


def test_much_data_is_looked_at_in_blocks_from_end_to_end(monkeypatch):
    monkeypatch.setattr(module, "HASHED_BYTES", 64)
    monkeypatch.setattr(module, "MOST_HASHED", 10)
    values = np.zeros(1000)
    seen = []
    for place in range(1000):
        other = values.copy()
        other[place] = 1.0
        if digest_of(other) != digest_of(values):
            seen.append(place)
    assert seen[0] == 0
    assert seen[-1] == 999
    assert 80 <= len(seen) <= 90
    assert max(np.diff(seen)) <= 100


def test_differences_are_said_in_words_where_these_are_few():
    old = {"method": "rows", "data": "sha256:1", "steps": "auto", "engine": "serial"}
    new = {"method": "saga", "data": "sha256:2", "steps": "auto"}
    assert differences(old, new) == [
        "method (rows there, saga here)", "data", "engine (serial there, nothing here)",
    ]  # fmt: skip
