"""Graphs of objects as values and back: nothing forgotten, nothing doubled, nothing run."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from spd1 import DataError, IncompatibleError, Progress, Trace
from spd1.control.prospect import Prospect
from spd1.data.blocks import Scratch
from spd1.loop.snapshot import Frozen, Given, freeze, thaw

NOTHING = Given({}, {})


def sent(value, given=NOTHING, there=None):
    """A value on its way through JSON, to a process that has other things of the same names."""
    nodes, arrays = freeze(value, given)
    copies = [array.copy(order="K") for array in arrays]
    return thaw(Frozen(json.loads(json.dumps(nodes)), copies), given if there is None else there)


@pytest.mark.parametrize(
    "value",
    [
        [None, True, 3, -(2**70), 0.1, float("inf"), "text"],
        (1, (2.0, [])),
        {"a": {1: "one", (2, 3): None}},
        {1, "two"},
        Progress(*map(float, range(7))),
        [Progress(*(0.1 * k for k in range(7)))] * 20,
    ],
)
def test_plain_values_come_back(value):
    again = sent([value])[0]
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "value", [np.float64(0.1), np.uint64(2**64 - 1), np.int32(-1), np.bool_(1)]
)
def test_scalars_of_numpy_keep_their_type(value):
    again = sent([value])[0]
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.zeros((0, 4)),
        np.float32([1.5]),
        np.array(3),
        np.array([True, False]),
        np.broadcast_to(np.float64(2.0), (5,)),
        np.arange(10)[::-3],
        np.arange(12).reshape(3, 4)[:, ::2],
    ],
)
def test_arrays_keep_their_layout(values):
    again = sent([values])[0]
    np.testing.assert_array_equal(again, values)
    assert (again.dtype, again.strides) == (values.dtype, values.strides)
    assert again.flags.writeable == values.flags.writeable


def test_what_is_shared_stays_shared_also_the_second_time():
    base = np.arange(12.0).reshape(3, 4)
    value = [base, base[1:], {"last": base[:, -1]}, base]
    for _ in range(2):
        value = sent(value)
        one, part, named, same = value
        assert one is same
        one[2, 3] = 99.0
        assert part[1, 3] == named["last"][2] == 99.0
        one[2, 3] = 11.0


def test_objects_may_refer_to_each_other():
    prospect, trace = Prospect(1e-3), Trace()
    prospect.friend, trace.friend = trace, (prospect, trace)
    again = sent(prospect)
    assert type(again) is Prospect
    assert again.friend.friend == (again, again.friend)
    assert again.tol == 1e-3


def test_what_is_given_is_kept_by_name():
    """Arrays of the problem are views of those that the other process has."""
    for here in (np.arange(20.0), np.arange(40.0)[::-2], np.arange(40.0).reshape(4, 10)[:, ::2]):
        there = here + 100.0
        there = np.lib.stride_tricks.as_strided(np.zeros(400), here.shape, here.strides)
        if here.strides[0] < 0:
            there = np.zeros(40)[::-2]
        there[...] = here + 100.0
        owner = Prospect(1e-3)
        value = [here, here[1:3], here.T, owner]
        other = Prospect(1e-6)
        nodes, arrays = freeze(value, Given({"it": owner}, {"data": here}))
        assert arrays == []
        again = thaw(Frozen(nodes, arrays), Given({"it": other}, {"data": there}))
        for one, part in zip(again[:3], (there, there[1:3], there.T), strict=True):
            np.testing.assert_array_equal(one, part)
            assert np.shares_memory(one, there)
        assert again[3] is other


def test_what_is_rebuilt_is_left_out():
    scratch = Scratch()
    scratch.array((10, 10))
    nodes, arrays = freeze(scratch, NOTHING)
    assert arrays == []
    assert thaw(Frozen(nodes, arrays), NOTHING).memory.size == 0


@pytest.mark.parametrize(
    "value", [threading.Lock(), lambda: 0, range(3), np.array([None]), object(), Exception()]
)
def test_what_cannot_be_kept_is_refused_with_its_place(value):
    owner = Prospect(1e-3)
    owner.secret = {"part": value}
    with pytest.raises(IncompatibleError, match=r"can't be kept .*: the run\.secret"):
        freeze(owner, NOTHING)


@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [{"node": 0}],
        [{"object": {}, "class": "os:system", "rebuild": False}],
        [{"object": {}, "class": "spd1.solve:solve", "rebuild": False}],
        [{"object": {}, "class": "spd1.loop.run:np", "rebuild": False}],
        [{"object": {}, "class": "spd1.nothing:Here", "rebuild": False}],
        [{"list": [{"node": 7}]}],
        [{"array": 3, "writeable": True}],
        [{"given": "problem"}],
        [{"of": {"node": 1}, "offset": 0, "shape": [9], "strides": [8], "dtype": "<f8",
          "writeable": True}, {"array": 0, "writeable": True}],
    ],
)  # fmt: skip
def test_nodes_that_make_no_sense_are_refused(nodes):
    with pytest.raises(DataError, match=r"fit together|names a class"):
        thaw(Frozen(nodes, [np.zeros(2)]), NOTHING)
