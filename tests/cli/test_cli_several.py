"""Several classes on the command line."""

from __future__ import annotations

import json

import numpy as np
from typer.testing import CliRunner

from spd1.cli.app import app


def test_fit_predict_evaluate_certify(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    names = np.array(["red", "green", "blue"])
    rows = [",".join([*map(repr, row.tolist()), names[row.argmax()]]) for row in X]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,c,color", *rows]) + "\n")
    run = CliRunner().invoke
    told = run(app, ["fit", "train.csv", "--l2", "0.01", "--intercept", "--json"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert found["status"] == "converged"
    assert found["classes"] == ["blue", "green", "red"]
    assert len(found["intercept"]) == 3
    told = run(app, ["predict", "train.spd1", "train.csv"])
    guesses = told.stdout.split()
    told = run(app, ["evaluate", "train.spd1", "train.csv", "--json"])
    quality = json.loads(told.stdout)
    assert quality["accuracy"] == np.mean(np.array(guesses) == names[X.argmax(axis=1)])
    assert quality["accuracy"] > 0.9
    told = run(app, ["predict", "train.spd1", "train.csv", "--probability"])
    chances = np.array([line.split() for line in told.stdout.splitlines()], dtype=float)
    assert chances.shape == (60, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.array_equal(np.array(found["classes"])[chances.argmax(axis=1)], guesses)
    told = run(app, ["certify", "train.spd1", "train.csv", "--tol", "1e-5"])
    assert told.exit_code == 0, told.output
    told = run(app, ["compare", "train.csv", "--l2", "0.01"])
    assert told.exit_code != 0
    assert "--positive" in told.output
