"""spd1 fit, as a user sees it: exit codes, messages, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.io import Data, load_model, read_data, write_data


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with training data in it, and the current one."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 8))
    b = np.where(A[:, 0] + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
    write_data(tmp_path / "train.svm", Data(A, b))
    write_data(tmp_path / "train.csv", Data(A, np.where(b > 0, "up", "down")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fit_writes_a_model_and_says_what_is_proven(folder):
    result = run("fit", "train.svm", "--l2", 0.1)
    assert result.exit_code == 0
    assert "60 rows, 8 features" in result.stdout
    assert "Certified: the objective is" in result.stdout
    assert "below the 1e-06 asked for" in result.stdout
    assert load_model(folder / "train.spd1").certificate["rel_gap"] <= 1e-6


def test_threads_fit_the_same_model(folder):
    for threads in (1, 2):
        run("fit", "train.svm", "--engine", "threads", "--threads", threads, "-o", f"m{threads}")
    np.testing.assert_array_equal(load_model("m1").x, load_model("m2").x)


def test_the_model_is_that_of_the_library(folder):
    run("fit", "train.svm", "--l2", 0.1, "--l1", 0.01, "--loss", "squared_hinge", "-o", "m")
    data = read_data("train.svm")
    problem = spd1.Problem(data.A, data.b, "squared_hinge", spd1.ElasticNet(0.01, 0.1))
    np.testing.assert_array_equal(load_model("m").x, spd1.solve(problem).x)


def test_json_is_one_object_and_nothing_else(folder):
    result = run("fit", "train.csv", "--json", "--intercept", "--standardize")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["status"] == "converged"
    assert report["rel_gap"] <= report["tol"] == 1e-6
    assert report["classes"] == ["down", "up"]
    assert report["model"] == "train.spd1"
    assert isinstance(report["intercept"], float)


def test_quiet_prints_nothing_and_no_save_writes_nothing(folder):
    before = sorted(os.listdir())
    result = run("fit", "train.svm", "--quiet", "--no-save")
    assert (result.exit_code, result.stdout) == (0, "")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_picture(folder, suffix):
    assert run("fit", "train.svm", "--plot", f"trace.{suffix}").exit_code == 0
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert (folder / f"trace.{suffix}").read_bytes().startswith(start)


def test_a_limit_gives_code_4_and_saves_the_model(folder):
    result = run("fit", "train.svm", "--method", "psgd", "--tol", 1e-12, "--max-passes", 2)
    assert result.exit_code == 4
    assert "NOT to the gap asked for" in result.stdout
    assert "--max-passes" in result.stdout
    assert load_model("train.spd1").training["status"] == "max_passes"


def test_default_l2_and_lasso(folder):
    run("fit", "train.svm", "-o", "a")
    run("fit", "train.svm", "-o", "b", "--l1", 0.05)
    assert (load_model("a").reg.l1, load_model("a").reg.l2) == (0.0, 1e-3)
    assert (load_model("b").reg.l1, load_model("b").reg.l2) == (0.05, 0.0)


def test_loss_parameters_bounds_tiles_and_seed(folder):
    run("fit", "train.svm", "--loss", "huber", "--loss-param", "delta=0.5", "--lower", 0, "-o", "m")
    model = load_model("m")
    assert model.loss == spd1.Huber(0.5)
    assert model.x.min() >= 0
    result = run(
        "fit",
        "train.svm",
        "--method",
        "spd1-vr",
        "--tile",
        "4x8",
        "--tol",
        0.01,
        "--seed",
        3,
        "-o",
        "t",
        "--json",
    )
    assert json.loads(result.stdout)["method"] == "spd1-vr"


def test_an_existing_model_is_not_overwritten_without_force(folder):
    (folder / "m").write_text("precious")
    refused = run("fit", "train.svm", "-o", "m")
    assert refused.exit_code == 3
    assert "exists" in refused.stderr
    assert (folder / "m").read_text() == "precious"
    assert run("fit", "train.svm", "-o", "m", "--force").exit_code == 0
    load_model("m")


WRONG = [
    (["fit"], 2, "Missing argument"),
    (["fit", "train.svm", "--loss", "cubic"], 2, "unknown loss 'cubic'"),
    (["fit", "train.svm", "--method", "magic"], 2, "unknown method 'magic'"),
    (["fit", "train.svm", "--engine", "magic"], 2, "unknown engine 'magic'"),
    (["fit", "train.svm", "--engine", "threads", "--threads", "0"], 2, "n_threads must be"),
    (["fit", "train.svm", "--threads", "2"], 2, "--threads is for --engine threads"),
    (
        ["fit", "train.svm", "--engine", "dask"],
        2,
        "train.svm is read into memory: --engine threads",
    ),
    (["fit", "train.svm", "--seed", "-1"], 2, "--seed"),
    (["compare", "train.svm", "--loss", "hinge", "--methods", "svrg"], 2, "--methods auto does"),
    (["fit", "train.svm", "--workers", "2"], 2, "--scheduler and --workers are for --engine dask"),
    (["fit", "train.svm", "--l2", "-1"], 2, "l2 must be finite and not negative"),
    (["fit", "train.svm", "--l1", "-1"], 2, "l1"),
    (["fit", "train.svm", "--l2", "many"], 2, "--l2"),
    (["fit", "train.svm", "--tol", "0"], 2, "--tol must be between 0 and 1"),
    (["fit", "train.svm", "--tol", "nan"], 2, "--tol must be between 0 and 1"),
    (["fit", "train.svm", "--max-passes", "0"], 2, "--max-passes must be a positive number"),
    (["fit", "train.svm", "--lower", "2", "--upper", "1"], 2, "lower must not exceed upper"),
    (["fit", "train.svm", "--loss-param", "delta=1"], 2, "Logistic takes no parameters"),
    (["fit", "train.svm", "--loss", "huber", "--loss-param", "delta=x"], 2, "write delta=NUMBER"),
    (["fit", "train.svm", "--loss", "huber", "--loss-param", "delta=-1"], 2, "needs 0 < delta"),
    (["fit", "train.svm", "--tile", "big"], 2, "--tile big"),
    (["fit", "train.svm", "--method", "svrg", "--tile", "auto"], 2, "has no tiles"),
    (["fit", "train.svm", "--method", "svrg", "--loss", "hinge"], 2, "needs a smooth loss"),
    (["fit", "train.svm", "--format", "xls"], 2, "unknown format 'xls'"),
    (["fit", "train.svm", "--plot", "trace.txt"], 2, "name a picture"),
    (["fit", "none.svm"], 3, "none.svm: no such file"),
    (["fit", "."], 3, "is a folder"),
    (["fit", "train.svm", "-o", "no/where"], 3, "the folder no does not exist"),
    (["fit", "train.svm", "-o", "."], 3, "is a folder"),
    (["fit", "train.svm", "--plot", "no/t.png"], 3, "the folder no does not exist"),
    (["fit", "broken.svm"], 3, "broken.svm, line 2: "),
    (["fit", "empty.svm"], 3, "empty.svm has no rows"),
    (["fit", "train.svm", "--features", "3"], 3, "though there are 3 features"),
    (["fit", "train.csv", "--target", "nope"], 3, "no column 'nope'"),
    (["fit", "train.csv", "--loss", "squared"], 3, "the target holds text"),
    (["fit", "train.svm", "--positive", "7"], 3, "no row has the label 7"),
    (["fit", "train.npz"], 3, "not an NPZ file"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "message"), WRONG, ids=[" ".join(w[0][1:]) for w in WRONG]
)
def test_wrong_input_is_named_and_leaves_nothing_behind(folder, arguments, code, message):
    (folder / "broken.svm").write_text("1 1:2\n1 1;2\n")
    (folder / "empty.svm").write_text("")
    (folder / "train.npz").write_text("no zip")
    before = sorted(os.listdir())
    result = run(*arguments)
    assert result.exit_code == code
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert message in shown
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir()) == before


def test_ctrl_c_before_there_is_a_model(folder, monkeypatch):
    from spd1.cli import options

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(options, "read_file", interrupt)
    result = run("fit", "train.svm")
    assert result.exit_code == 130
    assert "before there was anything to save" in result.stderr
    assert not (folder / "train.spd1").exists()


def test_the_progress_bar_shows_the_gap(folder, capsys):
    from spd1.cli.show import GapBar
    from spd1.result import Progress

    bar = GapBar(1e-6, shown=False)
    with bar as update:
        for gap in (1.0, 1e-3, 1e-6):
            assert update(Progress(1, 1, 0.1, 1.0, 1.0 - gap, gap, gap)) is False
            expected = {1.0: 0.0, 1e-3: 0.5, 1e-6: 1.0}[gap]
            assert bar.bar.tasks[0].completed == pytest.approx(expected)
            assert f"gap {gap:.1e}, goal 1e-06" in bar.bar.tasks[0].fields["state"]


def test_import_of_the_package_loads_no_command_line():
    heavy = ("typer", "rich", "pyarrow", "pooch")
    code = f"import sys, spd1; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
