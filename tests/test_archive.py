"""Arrays and JSON in one file; damage of all kinds is in tests/loop/test_checkpoint_faults.py."""

from __future__ import annotations

import os
import zipfile

import numpy as np
import pytest

from spd1 import DataError
from spd1.archive import read_archive, write_archive

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    np.arange(10)[::2],
    np.zeros((0, 3)),
    np.array(2.5),
    np.array([True]),
]


def test_what_is_written_is_read(tmp_path):
    about = {"text": "é", "numbers": [0.1, float("inf"), -0.0], "nothing": None}
    write_archive(tmp_path / "one", "thing", 3, about, ARRAYS)
    again, arrays = read_archive(tmp_path / "one", "thing", 3)
    assert again == about
    for one, same in zip(ARRAYS, arrays, strict=True):
        np.testing.assert_array_equal(one, same)
        assert one.dtype == same.dtype
        assert one.flags.f_contiguous <= same.flags.f_contiguous
        assert same.flags.writeable
    assert os.listdir(tmp_path) == ["one"]


def test_numpy_and_unzip_can_read_it(tmp_path):
    write_archive(tmp_path / "one.npz", "thing", 1, {}, ARRAYS)
    assert zipfile.ZipFile(tmp_path / "one.npz").testzip() is None
    np.testing.assert_array_equal(np.load(tmp_path / "one.npz")["0"], ARRAYS[0])


def test_every_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "one"
    write_archive(path, "thing", 1, {"a": 1}, [np.arange(3.0)])
    good = path.read_bytes()
    for place in (*range(60), *range(60, len(good), 5), *range(len(good) - 60, len(good))):
        bad = bytearray(good)
        bad[place] ^= 1 << (place % 8)
        path.write_bytes(bad)
        with pytest.raises(DataError, match=r"one is (damaged|not a spd1 thing)"):
            read_archive(path, "thing", 1)


def test_other_kinds_versions_and_objects_are_refused(tmp_path):
    path = tmp_path / "one"
    with pytest.raises(DataError, match="no such file"):
        read_archive(path, "thing", 1)
    write_archive(path, "thing", 2, {}, [])
    with pytest.raises(DataError, match="is not a spd1 result"):
        read_archive(path, "result", 2)
    with pytest.raises(DataError, match=r"of version 2, .* knows version 1: install a newer one"):
        read_archive(path, "thing", 1)
    with pytest.raises(DataError, match=r"of version 2, .* knows version 3: it must be made anew"):
        read_archive(path, "thing", 3)
    before = path.read_bytes()
    with pytest.raises(DataError, match="Python objects"):
        write_archive(path, "thing", 1, {}, [np.zeros(9), np.array([None])])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["one"]
