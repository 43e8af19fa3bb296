"""Disks that are full or write-protected, for real: a small one is mounted, where one may."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from spd1 import L2, DataError, Problem, open_store, solve, write_store
from support import checkpoints
from support.checkpoints import assert_same

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="tmpfs")


def mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture
def disk(tmp_path):
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        done = mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", folder)
    except OSError as error:
        pytest.skip(f"no mount: {error}")
    if done.returncode:
        pytest.skip(f"only root may mount: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk):
    """Leave no byte free."""
    room = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(room.f_bavail * room.f_frsize))
    assert os.statvfs(disk).f_bavail == 0


def table(rows):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((rows, 10))
    return A, np.where(A[:, 0] + rng.standard_normal(rows) > 0, 1.0, -1.0)


FULL = "can't be written: No space left on device; what was there before is as it was"


def test_a_checkpoint_on_a_full_disk(disk):
    """The last good one is kept, and a run goes on from it when there is room again."""
    problem, options = checkpoints.TASKS["rows"]
    path = disk / "run"
    solve(problem(), checkpoint=path, callback=checkpoints.after(2), **options)
    before = path.read_bytes()
    fill(disk)
    with pytest.raises(DataError, match=f"run {FULL}"):
        solve(problem(), checkpoint=path, every=0.0, **options)
    assert path.read_bytes() == before
    assert sorted(os.listdir(disk)) == ["filler", "run"]
    os.remove(disk / "filler")
    assert_same(solve(problem(), **options), solve(problem(), checkpoint=path, **options))


def test_a_store_on_a_full_disk(disk):
    """The store that was there is as it was, and nothing else is left."""
    A, b = table(1000)
    write_store(disk / "s", A, b, tile_mb=0.02)
    for _ in range(2):  # what the first one began takes no room from the second
        with pytest.raises(DataError, match=f"s {FULL}"):
            write_store(disk / "s", *table(20_000), tile_mb=0.1, overwrite=True)
        assert os.listdir(disk) == ["s"]
    store = open_store(disk / "s", verify=True)
    rows = [store.tile(p, 0).values for p in range(store.tiles[0])]
    np.testing.assert_array_equal(np.vstack(rows), A)


def test_a_write_protected_disk(disk):
    """Refused before work begins; a store on it can be fitted all the same."""
    A, b = table(1000)
    write_store(disk / "s", A, b, tiles=(4, 1))
    assert mount("-o", "remount,ro", disk).returncode == 0

    def never(row):
        raise AssertionError("work has begun")

    store = open_store(disk / "s", verify=True)
    problem = Problem(store, loss="logistic", reg=L2(1e-2))
    with pytest.raises(DataError, match="run can't be written"):
        solve(problem, checkpoint=disk / "run", callback=never)

    def rows():
        raise AssertionError("work has begun")
        yield A, b

    for name in ("s", "other"):
        with pytest.raises(DataError, match=f"{name} can't be written"):
            write_store(disk / name, rows(), overwrite=True)
    assert solve(problem, tol=1e-6).converged
