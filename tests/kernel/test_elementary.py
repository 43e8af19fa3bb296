"""The vectorised elementary functions against the library's, in Python and compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spd1.kernel import elementary
from spd1.kernel.jit import bits_of, from_bits, kernel


@kernel
def exps(x, out):
    for i in range(len(x)):
        out[i] = elementary.exp(x[i])


@kernel
def logs(x, out):
    for i in range(len(x)):
        out[i] = elementary.log(x[i])


@kernel
def logs_plus_one(x, out):
    for i in range(len(x)):
        out[i] = elementary.log1p(x[i])


def everywhere(kind, rng):
    if kind == "exp":
        return np.concatenate([rng.uniform(-708, 709, 4000), rng.uniform(-1, 1, 4000), [0.0, -0.0]])
    if kind == "log":
        near = 1.0 + rng.uniform(-0.5, 1.0, 4000)
        return np.concatenate([10.0 ** rng.uniform(-300, 300, 4000), near, [1.0, 2.0, 0.5]])
    tiny = 10.0 ** rng.uniform(-320, 0, 4000)
    return np.concatenate([tiny, -np.minimum(tiny, 0.999), rng.uniform(-0.9, 50, 4000), [0.0]])


TRUTH = {"exp": (np.exp, exps), "log": (np.log, logs), "log1p": (np.log1p, logs_plus_one)}


@pytest.mark.parametrize("kind", TRUTH)
def test_compiled_functions_are_right_to_the_last_digits(kind, rng):
    truth, compiled = TRUTH[kind]
    x = everywhere(kind, rng)
    found = np.empty_like(x)
    compiled(x, found)
    np.testing.assert_allclose(found, truth(x), rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize("kind", TRUTH)
def test_python_has_the_same_functions(kind, rng):
    truth, _ = TRUTH[kind]
    function = getattr(elementary, kind)
    for x in rng.choice(everywhere(kind, rng), 200).tolist():
        assert function(x) == pytest.approx(float(truth(x)), rel=1e-15, abs=5e-324)


def test_ends_of_exp():
    x = np.array([-math.inf, -1e300, -709.0, 709.5, 1e300, math.inf, math.nan])
    found = np.empty_like(x)
    exps(x, found)
    np.testing.assert_array_equal(found[:3], 0.0)
    np.testing.assert_array_equal(found[3:6], math.inf)
    assert math.isnan(found[6])


def test_bits_go_there_and_back(rng):
    for x in rng.standard_normal(50).tolist():
        assert from_bits(bits_of(x)) == x
