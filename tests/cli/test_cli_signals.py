"""Ctrl-C and SIGTERM at any moment: an exit code, a sentence, and no model that is no answer."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import spd1
from spd1.io import Data, load_model, write_data

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
SOURCE = str(Path(spd1.__file__).parents[1])
FOREVER = ["--method", "spd1", "--tol", "1e-14", "--max-passes", "1e9"]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.fixture
def folder(tmp_path):
    """A folder with training data, and an empty cache: the first fit in it compiles."""
    A = np.random.default_rng(0).standard_normal((60, 8))
    write_data(tmp_path / "train.npz", Data(A, np.where(A[:, 0] > 0, 1.0, -1.0)))
    (tmp_path / "cache").mkdir()
    return tmp_path


def default_signals():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def start(command, folder, cold):
    env = {k: v for k, v in os.environ.items() if k not in ("SPD1_QUIET", "NUMBA_DISABLE_JIT")}
    env |= {"PYTHONPATH": SOURCE, "PYTHONUNBUFFERED": "1"}
    env |= {"NUMBA_CACHE_DIR": str(folder / "cache")} if cold else {}
    return subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=default_signals,
    )  # fmt: skip


def wait_for(process, text, most=120.0):
    """Read standard error until a text comes; return what was read."""
    seen, end = "", time.monotonic() + most
    while text not in seen and time.monotonic() < end:
        if select.select([process.stderr], [], [], 0.1)[0]:
            piece = os.read(process.stderr.fileno(), 65536).decode()
            if not piece:
                break
            seen += piece
    return seen


def check_end(process, folder, number, seen=""):
    """130 or 143, one sentence, and a model only if a step was taken."""
    out, err = process.communicate(timeout=120)
    err = seen + err
    assert process.returncode == CODES[number], (process.returncode, err)
    assert "Traceback" not in err
    assert "no compiled object" not in err
    left = sorted(os.listdir(folder))
    if "m" in left:
        model = load_model(folder / "m")
        assert model.training["status"] == "interrupted"
        assert np.any(model.x)
        assert json.loads(out)["status"] == "interrupted"
    else:
        assert err.count("interrupted before there was anything to save") == 1
        assert out == ""
    assert set(left) <= {"cache", "m", "train.npz"}
    return "m" in left


def fit_and_signal(folder, number, delay):
    """Send a signal some time after the first kernel is being compiled."""
    process = start(["-m", "spd1", "fit", "train.npz", *FOREVER, "-o", "m", "--json"], folder, True)
    seen = wait_for(process, "compiling kernels")
    assert "compiling kernels" in seen
    time.sleep(delay)
    process.send_signal(number)
    return check_end(process, folder, number, seen)


@pytest.mark.parametrize(
    ("number", "delay"),
    [
        (signal.SIGINT, 0.8),  # first fits compile for two seconds at least
        (signal.SIGTERM, 0.4),
        pytest.param(signal.SIGINT, 0.05, marks=pytest.mark.slow),
    ],
)
def test_a_signal_while_kernels_are_compiled(folder, number, delay):
    assert not fit_and_signal(folder, number, delay)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_signals_at_random_moments(folder, seed):
    rng = np.random.default_rng(seed)
    number = signal.SIGINT if seed % 3 else signal.SIGTERM
    fit_and_signal(folder, number, float(rng.uniform(0.0, 12.0)))


TICKING = """
import sys
from spd1.cli import show, main
before = show.GapBar.update
def update(self, row):
    print("tick", file=sys.stderr, flush=True)
    return before(self, row)
show.GapBar.update = update
sys.argv = ["spd1", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("number", CODES)
def test_a_signal_after_a_step_saves_the_best_model(folder, number):
    command = ["-c", TICKING, "fit", "train.npz", *FOREVER, "-o", "m", "--json"]
    process = start(command, folder, False)
    wait_for(process, "tick\n" * 4)
    process.send_signal(number)
    assert check_end(process, folder, number)


def test_a_signal_ends_compare_with_what_there_is(folder):
    command = ["-c", TICKING, "compare", "train.npz", "--methods", "spd1,psgd,svrg", "--tol",
               "1e-14", "--max-passes", "1e9", "--json"]  # fmt: skip
    process = start(command, folder, False)
    wait_for(process, "tick\n" * 4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert list(json.loads(out)) == ["spd1", "refused"]
    assert "interrupted; methods that had not begun are left out" in err


LOADING = """
import signal, sys
import spd1.cli
class Now:
    def find_spec(self, name, path=None, target=None):
        if name == "spd1.cli.app":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Now())
sys.argv = ["spd1", "info", "train.npz"]
spd1.cli.main()
"""


def test_a_signal_while_modules_are_loaded(folder):
    process = start(["-c", LOADING], folder, False)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "spd1: interrupted before there was anything to save\n"


GOES_ON = """
import os, signal, threading, time
import numpy as np, spd1
A = np.random.default_rng(0).standard_normal((60, 8))
problem = spd1.Problem(A, np.sign(A[:, 0]), "logistic", spd1.L2(0.1))
caught = 0
for delay in DELAYS:
    clock = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    clock.start()
    try:
        spd1.certify(np.ones(8), problem)
        clock.join()
        time.sleep(5)
    except KeyboardInterrupt:
        caught += 1
print(caught, spd1.certify(np.ones(8), problem).gap > 0)
"""


@pytest.mark.parametrize(
    "delays",
    [(0.3, 0.7), pytest.param((0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3), marks=pytest.mark.slow)],
)
def test_a_process_goes_on_after_an_interrupted_compilation(folder, delays):
    process = start(["-c", GOES_ON.replace("DELAYS", repr(delays))], folder, True)
    out, err = process.communicate(timeout=120)
    assert out.split() == [str(len(delays)), "True"], err
    assert "Exception ignored" not in err
    assert "Traceback" not in err


# In the process itself


class Interrupting:
    """A callback that presses Ctrl-C at a look."""

    def __init__(self, look):
        self.left = look

    def __call__(self, row):
        self.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGINT)


def test_a_whole_solve_has_an_answer_at_its_first_look(problem):
    found = spd1.solve(problem, tol=1e-15, callback=Interrupting(1))
    assert found.status in ("interrupted", "converged")
    assert np.any(found.x)


@pytest.mark.parametrize("method", ["newton", "spd1"])
def test_before_a_step_there_is_no_answer_and_after_one_there_is(problem, method):
    with pytest.raises(KeyboardInterrupt):
        spd1.solve(problem, method, tol=1e-12, callback=Interrupting(1))
    found = spd1.solve(problem, method, tol=1e-15, callback=Interrupting(2))
    assert found.status in ("interrupted", "converged")
    assert np.any(found.x)
    assert spd1.certify(found.x, problem, found.y).gap <= found.gap * (1 + 1e-9) + 1e-15


def test_a_fit_with_an_intercept_keeps_what_it_found_before_its_second_run(problem, monkeypatch):
    """It goes on where a first run, with a faint penalty on the intercept, has ended."""
    from spd1.design import intercept

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(intercept, "solve", interrupt)
    lean = spd1.solve(problem, "newton", tol=1e-2)
    found = intercept.finished(lean, problem, {"tol": 1e-14})
    assert (lean.status, found.status) == ("converged", "interrupted")
    np.testing.assert_array_equal(found.x, lean.x)


def test_a_second_signal_waits_until_the_model_is_saved(folder, monkeypatch):
    from typer.testing import CliRunner

    from spd1.cli import fit
    from spd1.cli.app import app

    def slowly(path, model):
        signal.raise_signal(signal.SIGINT)
        save(path, model)

    save = fit.save_model
    monkeypatch.setattr(fit, "save_model", slowly)
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, ["fit", "train.npz", "-o", "m"])
    assert done.exit_code == 130
    assert "interrupted; the model is saved: m" in done.stderr
    load_model("m")
