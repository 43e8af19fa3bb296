"""Writing whole or not at all: links, pipes, devices, permissions, full disks, kills."""

from __future__ import annotations

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.errors import DataError
from spd1.files import PART, check_writable, remove_stale, replacing
from spd1.io import Data, Model, load_model, save_model, write_data

SOURCE = str(Path(spd1.__file__).parents[1])


def write(path, content=b"new", **options):
    with replacing(path, **options) as stream:
        stream.write(content)


def only(folder, *names):
    return sorted(os.listdir(folder)) == sorted(names)


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(Path("far") / "target")
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert only(tmp_path, "far", "link")
    assert only(tmp_path / "far", "target")


def test_a_dangling_link_gets_its_target(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("three")
    write(tmp_path / "one", overwrite=False)
    assert (tmp_path / "three").read_bytes() == b"new"
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "two").is_symlink()


def test_a_link_into_a_folder_that_is_not_there(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none" / "target")
    with pytest.raises(DataError, match=r"the folder .*none does not exist"):
        write(tmp_path / "link")


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(DataError, match=r"a can't be written: .*links"):
        write(tmp_path / "a")


def pipe(path):
    os.mkfifo(path)


def device(path):
    try:  # the numbers of /dev/null, in a folder of our own
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def listener(path):
    with socket.socket(socket.AF_UNIX) as unix:
        try:
            unix.bind(os.path.relpath(path))
        except OSError:
            pytest.skip("the path is too long for a socket")


@pytest.mark.parametrize(
    ("make", "kind"), [(pipe, "a pipe"), (device, "a device"), (listener, "a socket")]
)
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_regular_file_is_refused_by_name(tmp_path, make, kind, linked):
    node = tmp_path / "node"
    make(node)
    before = node.stat()
    place = tmp_path / "link" if linked else node
    if linked:
        place.symlink_to(node)
    for overwrite in (True, False):
        with pytest.raises(DataError, match=f"{place.name} is no regular file but {kind}"):
            write(place, overwrite=overwrite)
    assert (node.stat().st_mode, node.stat().st_ino) == (before.st_mode, before.st_ino)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_stream_is_refused(name, tmp_path):
    (tmp_path / "link").symlink_to(name)
    for place in (name, tmp_path / "link"):
        with pytest.raises(DataError, match="an open stream: name a file"):
            check_writable(place)


def test_a_file_for_a_folder_and_a_long_name_are_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file" / "x", tmp_path / ("x" * 300)):
        with pytest.raises(DataError, match="can't be written"):
            check_writable(place)


def test_the_mode_of_a_file_is_kept(tmp_path):
    place = tmp_path / "file"
    for mode in (0o600, 0o640, 0o755, 0o666):
        place.write_bytes(b"old")
        place.chmod(mode)
        write(place)
        assert stat.S_IMODE(place.stat().st_mode) == mode
    place.unlink()
    old = os.umask(0o027)
    try:
        write(place)
    finally:
        os.umask(old)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_a_write_protected_file_is_refused(tmp_path):
    place = tmp_path / "file"
    place.write_bytes(b"old")
    place.chmod(0o444)
    with pytest.raises(DataError, match="can't be overwritten: it is write-protected"):
        write(place)
    assert place.read_bytes() == b"old"


def test_the_command_line_refuses_before_it_reads_the_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    Path("locked").write_bytes(b"old")
    Path("locked").chmod(0o444)
    for place, message in (("pipe", "a pipe"), ("locked", "exists"), ("/dev/stdout", "stream")):
        done = CliRunner().invoke(app, ["fit", "none.svm", "-o", place])
        assert done.exit_code == 3
        assert message in done.stderr
    done = CliRunner().invoke(app, ["fit", "none.svm", "-o", "locked", "--force"])
    assert "write-protected" in done.stderr
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)


# Full disks and kills


def small_model(size=3):
    return Model(np.ones(size), np.zeros(3), spd1.Huber(1.0), spd1.L2(0.1), size)


def test_a_full_disk_leaves_the_old_model(tmp_path):
    """The system's limit on the size of files stands in for it."""
    path = tmp_path / "m"
    save_model(path, small_model())
    code = (
        "import resource, signal, sys, numpy as np, spd1\n"
        "from spd1.io import Model, save_model\n"
        "model = Model(np.ones(10**5), np.zeros(3), spd1.Huber(1.0), spd1.L2(0.1), 10**5)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "try:\n"
        "    save_model(sys.argv[1], model)\n"
        "except spd1.DataError as error:\n"
        "    print(error)\n"
    )
    env = os.environ | {"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, env=env
    )
    assert "m can't be written: File too large; what was there before is as it was" in done.stdout
    assert done.stderr == ""
    assert len(load_model(path).x) == 3
    assert only(tmp_path, "m")


def test_a_full_disk_ends_a_command_in_one_sentence(tmp_path):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 40))
    write_data(tmp_path / "data.npz", Data(A, np.sign(A[:, 0])))
    (tmp_path / "out.csv").write_bytes(b"old")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = subprocess.run(
        [sys.executable, "-m", "spd1", "convert", "data.npz", "out.csv", "--force"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "out.csv can't be written: File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "out.csv").read_bytes() == b"old"
    assert only(tmp_path, "data.npz", "out.csv")


SAVE_FOR_EVER = """
import sys, numpy as np, spd1
from spd1.io import Model, save_model
model = Model(np.ones(10**5), np.zeros(3), spd1.Huber(1.0), spd1.L2(0.1), 10**5)
print("go", flush=True)
while True:
    save_model(sys.argv[1], model)
"""


@pytest.mark.parametrize("rounds", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_a_kill_leaves_an_intact_model_and_nothing_for_ever(tmp_path, rounds):
    path = tmp_path / "m"
    rng = np.random.default_rng(rounds)
    save_model(path, small_model())
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, path], stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": SOURCE},
        )  # fmt: skip
        with process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.1))
            process.send_signal(signal.SIGKILL)
        load_model(path)
    for left in tmp_path.glob(".m.*"):
        os.utime(left, (0, time.time() - 61.0))
    save_model(path, small_model())
    assert only(tmp_path, "m")


def test_only_what_dead_processes_left_of_this_file_is_removed(tmp_path):
    place = tmp_path / "m"
    with replacing(place) as stream:
        stream.write(b"x")
        [mine] = [name for name in os.listdir(tmp_path) if name.endswith(PART)]
        _, _, machine, pid, _ = mine.removesuffix(PART).split(".")
        assert pid == str(os.getpid())
        with subprocess.Popen([sys.executable, "-c", ""]) as process:
            gone = process.pid
        minute, day = time.time() - 61, time.time() - 86401
        left = {
            f".m.{machine}.{gone}.a{PART}": (minute, False),
            f".m.{machine}.{gone}.b{PART}": (time.time(), True),  # may live in another container
            f".m.{machine}.{pid}.c{PART}": (minute, True),
            f".m.00000000.{gone}.d{PART}": (minute, True),  # of another machine
            f".m.00000000.{gone}.e{PART}": (day, False),
            f".other.{machine}.{gone}.f{PART}": (day, True),
            f".m.notes{PART}": (minute, True),
        }
        for name, (when, _) in left.items():
            (tmp_path / name).write_bytes(b"")
            os.utime(tmp_path / name, (when, when))
        remove_stale(place)
        assert {name: (tmp_path / name).exists() for name in left} == {
            name: stays for name, (_, stays) in left.items()
        }
    assert place.read_bytes() == b"x"
