"""Options that mean nothing to a file, a model or another option are refused by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from spd1.cli.app import app
from spd1.io import Data, fit_model, save_model, write_data
from spd1.models.recipe import FILLS
from spd1.problem import Problem
from spd1.regularizers import ElasticNet

READING = {
    "--target": ["1"], "--features": ["3"], "--zero-based": [], "--one-based": [], "--no-check": [],
    "--drop": ["q"], "--text": ["q"], "--weight": ["r"], "--missing": [FILLS[-1]],
    "--max-categories": ["100"], "--no-header": [],
}  # fmt: skip
TABLE_OPTIONS = ["--drop", "--text", "--weight", "--missing", "--max-categories", "--no-header"]
#: Every kind of file, and the options of reading that mean something to it.
TAKEN = {
    "a.svm": ["--features", "--zero-based", "--one-based"],
    "a.npz": ["--no-check"],
    "a.npy": ["--target"],
    "a.csv": ["--target", *TABLE_OPTIONS],
    "a.store": [],
}
REFUSED = [(file, name) for file, taken in TAKEN.items() for name in READING if name not in taken]


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def refused(*arguments):
    """What a command says that refuses; it must leave with the code of wrong options."""
    found = run(*arguments)
    assert found.exit_code == 2, found.output
    return " ".join(found.stderr.split())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    rng = np.random.default_rng(0)
    A = rng.standard_normal((40, 3))
    A[:, 2] = np.abs(A[:, 2])  # weights, for those who take them for such
    data = Data(A, np.where(A[:, 0] > 0, 1.0, -1.0), list("pqr"), "t")
    for name in TAKEN:
        write_data(folder / name, data)
    np.save(folder / "blank.npy", A)
    write_data(folder / "blank.npz", Data(A, None))
    save_model(folder / "m.spd1", fit_model(data, "logistic", ElasticNet(l2=0.1))[0])
    return folder


@pytest.fixture(autouse=True)
def inside(place, monkeypatch):
    monkeypatch.chdir(place)


@pytest.mark.parametrize(("file", "name"), REFUSED)
def test_how_to_read_what_is_read_otherwise(file, name):
    said = refused("info", file, name, *READING[name])
    assert f"{name}: such options are for" in said
    assert f"and {file} is" in said


@pytest.mark.parametrize("file", TAKEN)
def test_options_that_mean_something_are_taken(file):
    for name in TAKEN[file]:
        if name == "--no-header":
            continue  # this table has one
        said = run("info", file, name, *READING[name])
        assert said.exit_code == 0, (name, said.output)


@pytest.mark.parametrize("command", ["predict", "evaluate", "certify"])
@pytest.mark.parametrize(("file", "name"), [("a.csv", "--one-based"), ("a.svm", "--no-check")])
def test_reading_for_a_model(command, file, name):
    assert f"{name}: such options" in refused(command, "m.spd1", file, name)


@pytest.mark.parametrize("place_of_copy", ["copy.npz", "copy.store", "copy.csv"])
@pytest.mark.parametrize(
    ("file", "name"), [("a.csv", "--features"), ("a.svm", "--target"), ("a.svm", "--no-check")]
)
def test_reading_to_convert(file, name, place_of_copy, place):
    assert f"{name}: such options" in refused("convert", file, place_of_copy, name, *READING[name])
    assert not (place / place_of_copy).exists()


@pytest.mark.parametrize(
    "options",
    [["--l2", 3], ["--l1", 0], ["--loss", "hinge"], ["--intercept"], ["--target", "t"],
     ["--verify"], ["--format", "csv"], ["--one-based"], ["--max-categories", 100]],
)  # fmt: skip
def test_a_model_has_no_options_but_json(options):
    said = refused("info", "m.spd1", *options)
    assert f"{options[0]}: m.spd1 is a model" in said
    assert json.loads(run("info", "m.spd1", "--json").stdout)["penalty"]["l2"] == 0.1


def test_a_problem_needs_labels():
    assert run("info", "blank.npz").exit_code == 0
    assert "--l2: blank.npz has no labels" in refused("info", "blank.npz", "--l2", 1)


def test_info_is_about_the_weighted_problem(place):
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 2))
    weight, t = rng.integers(1, 9, 30), A[:, 0] + rng.standard_normal(30)
    rows = [f"{p},{q},{w},{label}" for (p, q), w, label in zip(A, weight, t, strict=True)]
    (place / "w.csv").write_text("\n".join(["p,q,w,t", *rows]) + "\n")
    command = "info", "w.csv", "--weight", "w", "--loss", "squared", "--l2", 0.1, "--json"
    found = json.loads(run(*command).stdout)
    weighted, plain = (Problem(A, t, "squared", ElasticNet(l2=0.1), w) for w in (weight, None))
    assert found["objective_at_start"] == pytest.approx(weighted.primal(np.zeros(2)))
    assert found["objective_at_start"] != pytest.approx(plain.primal(np.zeros(2)))


@pytest.mark.parametrize("command", ["fit", "cv"])
def test_a_name_for_a_model_that_is_not_saved(command, place):
    assert "--output:" in refused(command, "a.csv", "--no-save", "-o", "new.spd1")
    assert not (place / "new.spd1").exists()


def test_options_that_others_make_meaningless():
    assert "--every:" in refused("fit", "a.csv", "--every", 60, "--no-save")
    assert "--top:" in refused("show", "m.spd1", "--json", "--top", 20)
    assert "--quick and --long" in refused("reproduce", "figure5", "--quick", "--long")
    assert "all means every target" in refused("reproduce", "all", "figure9", "--quick")


@pytest.mark.parametrize("seed", [-1, 2**32])
@pytest.mark.parametrize("command", ["fit", "cv", "compare"])
def test_seeds_out_of_range(command, seed):
    assert "--seed" in refused(command, "a.csv", "--seed", seed)
