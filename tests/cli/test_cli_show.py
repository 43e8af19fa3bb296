"""spd1 show, info of models, cv and path; help."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.io import Data, fit_model, load_model, read_data, save_model, write_data
from spd1.linear_model import ERMClassifierCV, path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 6))
    b = np.where(A[:, 0] - A[:, 1] + 0.5 * rng.standard_normal(60) > 0, "up", "down")
    write_data(tmp_path / "train.csv", Data(A, b, list("pqrstu"), "way"))
    monkeypatch.chdir(tmp_path)
    model = fit_model(read_data("train.csv"), "logistic", spd1.L1(0.05), intercept=True)[0]
    save_model("m.spd1", model)
    return tmp_path


def test_show_names_coefficients_the_largest_first(folder):
    model = load_model("m.spd1")
    shown = run("show", "m.spd1", "--top", 1)
    assert shown.exit_code == 0
    assert "logistic loss, ElasticNet(l1=0.05)" in shown.stdout
    assert "Certified: the objective is" in shown.stdout
    largest = model.names[int(np.argmax(np.abs(model.coef)))]
    lines = shown.stdout.splitlines()
    table = lines[next(k for k, line in enumerate(lines) if line.strip().startswith("feature")) :]
    assert table[1].split()[0] == largest
    assert table[2].split()[0] == "(constant)"
    assert f"{np.count_nonzero(model.coef == 0)} that are zero" in shown.stdout


def test_coefficients_as_csv_and_json_have_every_digit(folder):
    model = load_model("m.spd1")
    assert run("show", "m.spd1", "--csv", "c.csv").exit_code == 0
    with open("c.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["feature", "coefficient"]
    assert [float(value) for _, value in rows[1:]] == [*model.coef.tolist(), model.offset]
    found = json.loads(run("show", "m.spd1", "--json").stdout)
    assert found["coefficients"] == dict(zip(model.names, model.coef.tolist(), strict=True))
    assert run("show", "m.spd1", "--csv", "c.csv").exit_code == 3  # it exists


def test_info_knows_models(folder):
    assert "Trained on 60 rows, 6 features, with a constant." in run("info", "m.spd1").stdout
    found = json.loads(run("info", "m.spd1", "--json").stdout)
    assert (found["loss"], found["penalty"]["l1"]) == ("logistic", 0.05)
    wrong = run("show", "train.csv")
    assert (wrong.exit_code, "not a spd1 model" in wrong.stderr) == (3, True)


def test_path_is_that_of_the_library(folder):
    result = run("path", "train.csv", "--loss", "logistic", "--alphas", 6, "--intercept",
                 "--csv", "path.csv", "--plot", "path.png")  # fmt: skip
    assert result.exit_code == 0, result.stderr
    data = read_data("train.csv")
    found = path(data.A, np.where(data.b == "up", 1, -1), loss="logistic", n_alphas=6)
    with open("path.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["alpha", "(constant)", *"pqrstu"]
    np.testing.assert_array_equal(np.array(rows[1:], float)[:, 2:], found.coefs)
    assert (folder / "path.png").read_bytes().startswith(b"\x89PNG")


def test_cv_takes_what_the_estimator_takes(folder):
    """Best and one standard error, on the same folds; the model has that penalty."""
    from sklearn.model_selection import StratifiedKFold

    data = read_data("train.csv")
    signs = np.where(data.b == "up", 1, -1)
    for rule in ("best", "one-se"):
        result = run("cv", "train.csv", "--l1-ratio", 1, "--alphas", 6, "--folds", 3, "--intercept",
                     "--rule", rule, "--json", "-o", rule, "--plot", f"{rule}.png")  # fmt: skip
        assert result.exit_code == 0, result.stderr
        peer = ERMClassifierCV("logistic", l1_ratio=1.0, alphas=6, rule=rule,
                               cv=StratifiedKFold(3, shuffle=True, random_state=0))  # fmt: skip
        peer.fit(data.A, signs)
        assert json.loads(result.stdout)["alpha"] == peer.alpha_
        assert load_model(rule).reg.l1 == peer.alpha_
        assert (folder / f"{rule}.png").read_bytes().startswith(b"\x89PNG")


WRONG = [
    (["cv", "train.csv", "--rule", "two-se"], 2, "best or one-se"),
    (["cv", "train.csv", "--scoring", "auc", "-o", "x"], 2, "did you mean 'roc_auc'?"),
    (
        ["cv", "train.csv", "--loss", "hinge", "--scoring", "neg_log_loss", "-o", "x"],
        2,
        "--scoring neg_log_loss does not suit Hinge",
    ),
    (["fit", "train.csv", "--alpha", "1"], 2, "--l2"),
    (["fit", "train.csv", "--max-iter", "1"], 2, "--max-passes"),
    (["cv", "train.csv", "--cv", "3"], 2, "--folds"),
    (["cv", "train.csv", "--folds", "59", "-o", "x"], 3, "--folds 59: the smaller class has"),
    (["cv", "train.csv", "--least", "2"], 2, "--least must be between 0 and 1"),
    (["cv", "train.csv", "-o", "m.spd1"], 3, "m.spd1 exists"),
    (["path", "train.csv", "--loss", "logistic", "--l1-ratio", "0"], 2, "--l1-ratio 0 uses every"),
    (["path", "train.csv", "--loss", "squared"], 3, "the target holds text"),
    (["path", "train.csv", "--loss", "logit"], 2, "did you mean 'logistic'?"),
    (["fti", "train.csv"], 2, "Did you mean 'fit'?"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_wrong_input_is_named(folder, arguments, code, message):
    result = run(*arguments)
    assert result.exit_code == code
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["fit", "cv", "path", "show", "predict", "datasets"])
def test_help_shows_flags_as_flags(command):
    shown = run(command, "--help").stdout
    assert "--help" in shown
    assert "bool" not in shown.lower()


def test_a_terminal_breaks_lines_between_words_and_a_file_has_them_whole(folder, monkeypatch):
    piped = run("info", "m.spd1").stdout
    refused = run("fit", "nowhere.csv", "--no-save").stderr
    assert max(len(line) for line in piped.splitlines()) > 60
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = run("info", "m.spd1").stdout
    assert max(len(line) for line in shown.splitlines()) <= 60
    assert shown.split() == piped.split()
    assert "nowhere.csv: no such file" in refused
