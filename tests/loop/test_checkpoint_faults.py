"""What can go wrong with a checkpoint: damage, full disks, folders, signals, kill -9."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import spd1
from spd1 import DataError, ParameterError, solve
from spd1.archive import read_archive, write_archive
from support import checkpoints
from support.checkpoints import assert_same, small

SOURCE = str(Path(spd1.__file__).parents[1])
NOT_ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may do anything")


@pytest.fixture
def kept(tmp_path):
    """A run stopped after three looks, and its file."""
    path = tmp_path / "run.npz"
    stopped = solve(small(), "rows", tol=1e-9, checkpoint=path, callback=checkpoints.after(2))
    assert stopped.status == "interrupted"
    return path


def test_a_damaged_file_is_refused_and_stays(kept):
    """A flipped bit anywhere."""
    good, rng = kept.read_bytes(), np.random.default_rng(0)
    places = [*rng.integers(0, len(good), 40), *range(0, 40, 3), *range(len(good) - 40, len(good))]
    for place in places:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        kept.write_bytes(bad)
        with pytest.raises(DataError, match=r"run\.npz is (damaged|not a spd1 checkpoint)"):
            solve(small(), "rows", tol=1e-9, checkpoint=kept)
        assert kept.read_bytes() == bad


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_off_file_is_refused(kept, share):
    kept.write_bytes(kept.read_bytes()[: int(share * kept.stat().st_size)])
    with pytest.raises(DataError, match=r"run\.npz"):
        solve(small(), "rows", tol=1e-9, checkpoint=kept)


def test_parts_that_do_not_fit_are_refused(kept):
    about, arrays = read_archive(kept, "checkpoint", 1)
    for nodes in ([], [{"object": {}, "class": "os:system", "rebuild": True}], [{"list": [3]}], 5):
        write_archive(kept, "checkpoint", 1, about | {"nodes": nodes}, arrays)
        with pytest.raises(DataError, match=r"run.npz is damaged"):
            solve(small(), "rows", tol=1e-9, checkpoint=kept)


@pytest.mark.parametrize("content", [b"", b"my thesis", b"PK\x05\x06" + bytes(18)])
def test_a_foreign_file_is_never_replaced(tmp_path, content):
    path = tmp_path / "run"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a spd1 checkpoint"):
        solve(small(), "rows", checkpoint=path)
    assert path.read_bytes() == content


def test_places_that_cannot_be_written_are_refused_before_work(tmp_path):
    def never(row):
        raise AssertionError("work has begun")

    for path, error, words in (
        (tmp_path / "no" / "run", DataError, "does not exist"),
        (tmp_path, DataError, "is a folder"),
        (tmp_path / "run.gz", ParameterError, "name it without .gz"),
        ("", ParameterError, "the name of a file"),
        (7, ParameterError, "the name of a file"),
    ):
        with pytest.raises(error, match=words):
            solve(small(), "rows", checkpoint=path, callback=never)


@NOT_ROOT
def test_a_read_only_folder_is_refused_before_work(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataError, match="run can't be written: permission denied"):
            solve(small(), "rows", checkpoint=tmp_path / "run")
    finally:
        tmp_path.chmod(0o700)


def limited_to(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def child(code, *arguments, **options):
    env = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parents[1]}"}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=env, **options,
    )  # fmt: skip


GO_ON = """
import sys, spd1
from support import checkpoints
try:
    checkpoints.task(sys.argv[1], sys.argv[2], every=0.0)
except spd1.DataError as error:
    print(error)
"""


def test_a_full_disk_keeps_the_last_good_file(tmp_path):
    """The system's limit on the size of files stands in for it."""
    path = tmp_path / "run"
    problem, options = checkpoints.TASKS["rows"]
    solve(problem(), checkpoint=path, callback=checkpoints.after(2), **options)
    before = path.read_bytes()
    out, err = child(GO_ON, "rows", path, preexec_fn=limited_to(2000)).communicate(timeout=120)
    assert "run can't be written: File too large; what was there before is as it was" in out, err
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["run"]
    assert_same(solve(problem(), **options), solve(problem(), checkpoint=path, **options))


# Signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_acts_after_a_checkpoint_is_written(number, tmp_path):
    path, heard = tmp_path / "run", []

    def handler(got, frame):
        heard.append((got, path.exists()))
        raise KeyboardInterrupt

    def callback(row):
        if len(heard) == 0 and row.passes > 5.0:
            signal.raise_signal(number)
            assert not heard  # it waits

    before = signal.signal(number, handler)
    try:
        stopped = solve(small(), "rows", tol=1e-9, checkpoint=path, callback=callback)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)
    assert heard == [(number, True)]
    assert stopped.status == "interrupted"
    assert_same(solve(small(), "rows", tol=1e-9), solve(small(), "rows", tol=1e-9, checkpoint=path))


def test_the_second_signal_acts_at_once(tmp_path):
    path = tmp_path / "run"

    def callback(row):
        if row.passes > 5.0:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("it should have acted")

    found = solve(small(), "rows", tol=1e-9, checkpoint=path, callback=callback)
    assert found.status == "interrupted"
    assert not path.exists()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_goes_on_lets_the_run_go_on(tmp_path):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    sent = []

    def callback(row):
        if not sent and row.passes > 5.0:
            sent.append(signal.raise_signal(signal.SIGTERM))

    try:
        path = tmp_path / "run"
        found = solve(small(), "rows", tol=1e-9, checkpoint=path, callback=callback)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]
    assert_same(solve(small(), "rows", tol=1e-9), found)


def test_another_thread_leaves_signals_alone(tmp_path):
    before, found = signal.getsignal(signal.SIGTERM), []

    def callback(row):
        assert signal.getsignal(signal.SIGTERM) is before

    def work():
        path = tmp_path / "run"
        found.append(solve(small(), "rows", tol=1e-9, checkpoint=path, callback=callback))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert_same(solve(small(), "rows", tol=1e-9), found[0])


SLOWLY = """
import sys, time
from support import checkpoints
pause, every = float(sys.argv[3]), float(sys.argv[4])
def callback(row):
    print("look", flush=True)
    time.sleep(pause)
checkpoints.task(sys.argv[1], sys.argv[2], every=every, callback=callback)
print("done", flush=True)
"""


def default_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_sigterm_writes_a_checkpoint_and_ends_the_process(tmp_path):
    path = tmp_path / "run"
    process = child(SLOWLY, "rows", path, 0.1, 3600.0, preexec_fn=default_sigterm)
    assert process.stdout.readline() == "look\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGTERM, err
    assert "done" not in out
    problem, options = checkpoints.TASKS["rows"]
    assert_same(solve(problem(), **options), solve(problem(), checkpoint=path, **options))


# The whole of it: kill -9


KILLED = [
    *((name, every) for name in checkpoints.TASKS for every in (0.0, 0.3)),
    *((name, 0.0) for name in checkpoints.MORE_TASKS),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every"), KILLED)
def test_killed_twenty_times_at_random_moments(name, every, tmp_path, monkeypatch):
    """Twenty processes are killed, the next goes on each time; the last ends with the same bits."""
    monkeypatch.chdir(tmp_path)
    problem, options = (checkpoints.TASKS | checkpoints.MORE_TASKS)[name]
    whole = solve(problem(), **options)
    assert whole.converged
    rng, path = np.random.default_rng([len(name), int(10 * every)]), tmp_path / "run"
    seconds = 20.0  # that all looks take together, so that there is something to kill
    looks = len(whole.trace)
    # A run of few looks pauses for long at each. Some kills must come later than that, or all of
    # them would come at the same look.
    usual = max(1.2, seconds / looks / (1.0 - min(0.02 * looks, 0.5)))
    kills, in_writing, longest = 0, 0, usual
    while kills < 20:
        process = child(SLOWLY, name, path, seconds / looks, every)
        if process.stdout.readline() != "look\n":
            process.communicate(timeout=60)
            break
        time.sleep(float(rng.uniform(0.0, longest)))
        process.kill()
        out, err = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL or "done" in out, err
        kills += 1
        parts = [one for one in os.listdir(tmp_path) if one.endswith(".part")]
        in_writing += bool(parts)
        for one in parts:
            os.remove(tmp_path / one)
        # A busy machine may leave none of them the time to write anything: nothing would be tried.
        longest = usual if path.exists() else 2.0 * longest
    assert kills == 20
    assert path.exists()
    left = []
    last = solve(problem(), checkpoint=path, callback=left.append, **options)
    print(
        f"{name}, every {every} s: {kills} kills, {in_writing} of them while a file was written, "
        f"after {looks - len(left)} of {looks} looks it goes on"
    )
    assert len(left) < looks  # the killed ones have got somewhere
    assert_same(whole, last)
    shutil.copy(path, tmp_path / "copy")
    assert_same(whole, solve(problem(), checkpoint=tmp_path / "copy", **options))
