"""spd1 fit --checkpoint: stopped by a signal, the same command goes on to the same model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.certificate.gap import certificate_of
from spd1.cli.app import app
from spd1.design.intercept import Design
from spd1.io import Data, load_model, write_data
from support.checkpoints import after, assert_same

SOURCE = str(Path(spd1.__file__).parents[1])
FIT = [
    "fit",
    "train.npz",
    "--method",
    "spd1-vr",
    "--tol",
    "1e-4",
    "--l2",
    "0.1",
    "--json",
    "--force",
]
TICKING = """
import sys, time
from spd1.cli import show, main
before = show.GapBar.update
def update(self, row):
    print("tick", file=sys.stderr, flush=True)
    time.sleep(0.05)
    return before(self, row)
show.GapBar.update = update
sys.argv = ["spd1", *sys.argv[1:]]
main()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 8))
    write_data(tmp_path / "train.npz", Data(A, np.where(A[:, 0] + rng.normal(size=60) > 0, 1, -1)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spd1_fit(*more):
    return CliRunner().invoke(app, [*FIT, *more])


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.slow  # quickly, without a process: tests/loop/test_checkpoint_faults.py
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_it_and_the_same_command_goes_on(folder, number):
    def default_signals():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    process = subprocess.Popen(
        [sys.executable, "-c", TICKING, *FIT, "-o", "m", "--checkpoint", "run"],
        env=os.environ | {"PYTHONPATH": SOURCE}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=default_signals,
    )  # fmt: skip
    seen = 0
    while seen < 3:
        seen += process.stderr.readline() == "tick\n"
        assert process.poll() is None
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number, err
    assert json.loads(out)["status"] == "interrupted"
    assert load_model(folder / "m").training["status"] == "interrupted"
    assert spd1_fit("-o", "m", "--checkpoint", "run").exit_code == 0
    assert spd1_fit("-o", "whole").exit_code == 0
    np.testing.assert_array_equal(load_model("m").x, load_model("whole").x)
    np.testing.assert_array_equal(load_model("m").y, load_model("whole").y)
    assert sorted(os.listdir(folder)) == ["m", "run", "train.npz", "whole"]


def test_the_same_command_goes_on(folder):
    assert spd1_fit("-o", "m", "--checkpoint", "run", "--max-passes", "20").exit_code == 4
    assert spd1_fit("-o", "m", "--checkpoint", "run", "--every", "0").exit_code == 0
    assert spd1_fit("-o", "whole").exit_code == 0
    np.testing.assert_array_equal(load_model("m").x, load_model("whole").x)


def test_wrong_files_and_options_have_their_exit_codes(folder):
    assert spd1_fit("--no-save", "--checkpoint", "run", "--max-passes", "20").exit_code == 4
    other = spd1_fit("--no-save", "--checkpoint", "run", "--l1", "0.5")
    assert other.exit_code == 2
    assert "a checkpoint of another run" in other.output
    assert spd1_fit("--no-save", "--checkpoint", "run", "--every", "-1").exit_code == 2
    (folder / "run").write_bytes((folder / "run").read_bytes()[:-100])
    assert spd1_fit("--no-save", "--checkpoint", "run").exit_code == 3
    assert spd1_fit("--no-save", "--checkpoint", "no/run").exit_code == 3
    assert sorted(os.listdir(folder)) == ["run", "train.npz"]


def test_both_halves_of_a_fit_with_an_intercept_are_kept(tmp_path, monkeypatch, rng):
    """First with a faint penalty on the intercept, then without: a file each."""

    def not_enough(problem, pair):
        return certificate_of(problem, pair)._replace(rel_gap=1.0)

    monkeypatch.setattr("spd1.design.intercept.certificate_of", not_enough)
    X = rng.normal(size=(50, 60)) + 0.5
    b = np.where(X[:, 0] + rng.normal(size=50) > 0.5, 1.0, -1.0)

    def fit(**more):
        return Design(X, True).solve(b, "logistic", spd1.L2(0.01), tol=1e-4, **more)

    whole, found = fit(), fit(checkpoint=tmp_path / "run", callback=after(1))
    while found.status == "interrupted":
        found = fit(checkpoint=tmp_path / "run", callback=after(1))
    assert_same(whole, found)
    assert sorted(os.listdir(tmp_path)) == ["run", "run.whole"]
