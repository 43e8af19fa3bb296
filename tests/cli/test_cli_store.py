"""Stores on the command line: convert, info, fit, predict, evaluate, certify."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.io import Data, load_model, read_data, write_data


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def said(result):
    return " ".join(result.stderr.split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 4))
    way = np.where(A[:, 0] + 0.5 * rng.standard_normal(120) > 0, "up", "down")
    write_data(tmp_path / "a.csv", Data(A, way, ["p", "q", "r", "s"], "way"))
    write_data(tmp_path / "a.svm", Data(A, np.where(way == "up", 1.0, -1.0)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["a.store", "b/", "plain"])
def test_a_name_that_ends_like_a_folder_is_a_store(folder, name):
    more = ["--to", "store"] if name == "plain" else []
    done = run("convert", "a.svm", name, *more)
    assert done.exit_code == 0, done.stderr
    assert "120 rows, 4 features" in done.stdout
    assert spd1.open_store(name.rstrip("/")).shape == (120, 4)


def test_float32_and_the_size_of_tiles(folder):
    assert run("convert", "a.svm", "s/", "--float32", "--tile-mb", "0.001").exit_code == 0
    store = spd1.open_store("s")
    assert store.dtype == np.float32
    assert store.tiles[0] > 3
    wrong = run("convert", "a.svm", "a.npz", "--float32")
    assert (wrong.exit_code, "are for stores" in said(wrong)) == (2, True)


def test_a_store_is_not_overwritten_without_force(folder):
    assert run("convert", "a.svm", "s/").exit_code == 0
    again = run("convert", "a.csv", "s/")
    assert (again.exit_code, "s exists" in said(again)) == (3, True)
    assert run("convert", "a.csv", "s/", "--force").exit_code == 0
    assert spd1.open_store("s").names == ["p", "q", "r", "s"]
    assert sorted(os.listdir()) == ["a.csv", "a.svm", "s"]
    other = run("convert", "s", "s.npz")
    assert (other.exit_code, "only be written as another store" in said(other)) == (2, True)


@pytest.mark.parametrize("intercept", [[], ["--intercept"]], ids=["plain", "intercept"])
def test_a_model_of_a_store_is_optimal_for_the_file(folder, intercept):
    run("convert", "a.csv", "s/", "--tile-mb", "0.001")
    done = run("fit", "s", "-o", "store.spd1", "--l2", "0.01", "--tol", "1e-6", "-q", *intercept)
    assert done.exit_code == 0, done.stderr
    model = load_model("store.spd1")
    assert (model.classes, model.names, model.target) == (["down", "up"], list("pqrs"), "way")
    assert model.training["stored"] == 120 * (5 if intercept else 4)
    assert (model.offset != 0.0) == bool(intercept)
    assert run("predict", "store.spd1", "s").stdout == run("predict", "store.spd1", "a.csv").stdout
    for name in ("s", "a.csv"):
        assert run("certify", "store.spd1", name, "--tol", "1.1e-6").exit_code == 0
    of_store, of_file = (
        json.loads(run("evaluate", "store.spd1", name, "--json").stdout) for name in ("s", "a.csv")
    )
    assert of_store == pytest.approx(of_file)


def test_info_says_how_it_is_cut_and_verifies(folder):
    run("convert", "a.svm", "s/", "--tile-mb", "0.001")
    found = json.loads(run("info", "s", "--json").stdout)
    store = spd1.open_store("s")
    assert (found["rows"], found["features"], found["stored"]) == (120, 4, store.stored)
    assert found["tiles"] == f"{store.tiles[0]} x 1"
    assert "newton" in found["auto_takes"]
    whole = json.loads(run("info", "a.svm", "--json").stdout)
    assert found["kappa"] == pytest.approx(whole["kappa"])
    assert found["empty_rows"] == whole["empty_rows"]
    assert run("info", "s", "--verify").exit_code == 0
    path = folder / "s" / "tile-00001-000.data.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert run("info", "s").exit_code == 0
    damaged = run("info", "s", "--verify")
    assert (damaged.exit_code, "tile-00001-000.data.npy is damaged" in said(damaged)) == (3, True)
    path.unlink()
    missing = run("fit", "s")
    assert (missing.exit_code, "is missing: put it back" in said(missing)) == (3, True)
    assert run("info", "a.svm", "--verify").exit_code == 2


def test_what_stores_cannot_do_is_said_before_work(folder):
    run("convert", "a.csv", "s/", "--tile-mb", "0.001")
    scaled = run("fit", "s", "--standardize")
    assert (scaled.exit_code, "can't be standardized" in said(scaled)) == (3, True)
    rows = run("fit", "s", "--method", "saga")
    assert (rows.exit_code, "use method 'auto'" in said(rows)) == (2, True)
    (folder / "empty").mkdir()
    none = run("fit", "empty")
    assert (none.exit_code, "is a folder and no store" in said(none)) == (3, True)
    run("fit", "s", "-o", "m.spd1", "-q")
    table = read_data("a.csv")
    spd1.write_store("other", table.A, table.b, names=list("abcd"))
    wrong = run("predict", "m.spd1", "other")
    assert (wrong.exit_code, "other columns than the model" in said(wrong)) == (3, True)
