"""spd1 predict, evaluate, certify, info, compare and convert."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.cli.compare import best_so_far
from spd1.cli.exits import CODES
from spd1.cli.metrics import area_under_curve, metrics
from spd1.io import Data, fit_model, load_model, read_data, save_model, write_data


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def one_line(text):
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 4))
    signs = np.where(A[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1.0, -1.0)
    classes = Data(A, np.where(signs > 0, "up", "down"), ["p", "q", "r", "s"], "way")
    write_data(tmp_path / "classes.csv", classes)
    write_data(tmp_path / "classes.svm", Data(A, signs))
    write_data(tmp_path / "numbers.npz", Data(A, A @ [1.0, 2.0, 0.0, -1.0] + 3.0))
    monkeypatch.chdir(tmp_path)
    options = {"reg": spd1.L2(0.01), "intercept": True}
    save_model("classes.spd1", fit_model(read_data("classes.csv"), "logistic", **options)[0])
    save_model("svm.spd1", fit_model(read_data("classes.svm"), "hinge", **options)[0])
    save_model("numbers.spd1", fit_model(read_data("numbers.npz"), "squared", **options)[0])
    return tmp_path


def test_predictions_one_a_line(folder):
    result = run("predict", "classes.spd1", "classes.csv")
    assert result.exit_code == 0
    data = read_data("classes.csv")
    assert result.stdout.split() == load_model("classes.spd1").predict(data.A).tolist()
    assert set(result.stdout.split()) == {"up", "down"}
    signs = run("predict", "svm.spd1", "classes.svm").stdout.split()
    assert set(signs) == {"1", "-1"}


def test_probabilities_and_margins(folder):
    model, data = load_model("classes.spd1"), read_data("classes.csv")
    shares = np.array(
        run("predict", "classes.spd1", "classes.csv", "--probability").stdout.split(), float
    )
    np.testing.assert_array_equal(shares, model.probability(data.A))
    assert run("predict", "classes.spd1", "classes.csv", "--margin", "-o", "m.npy").exit_code == 0
    np.testing.assert_allclose(shares, 1 / (1 + np.exp(-np.load("m.npy"))))


def test_predictions_go_to_a_file_that_is_not_overwritten(folder):
    assert run("predict", "numbers.spd1", "numbers.npz", "-o", "out.txt").exit_code == 0
    guess = np.loadtxt("out.txt")
    np.testing.assert_array_equal(
        guess, load_model("numbers.spd1").predict(read_data("numbers.npz").A)
    )
    again = run("predict", "numbers.spd1", "numbers.npz", "-o", "out.txt")
    assert (again.exit_code, "exists" in again.stderr) == (3, True)


def test_data_without_labels_and_with_columns_in_another_order(folder):
    data = read_data("classes.csv")
    expected = run("predict", "classes.spd1", "classes.csv").stdout
    mixed = Data(data.A[:, [2, 0, 3, 1]], None, ["r", "p", "s", "q"])
    write_data("mixed.csv", mixed)
    assert run("predict", "classes.spd1", "mixed.csv").stdout == expected
    write_data("bare.npy", Data(data.A, None))
    assert run("predict", "classes.spd1", "bare.npy").stdout == expected


def test_sparse_text_with_fewer_features_than_the_model(folder):
    (folder / "short.svm").write_text("1 1:2\n-1 1:-2 2:1\n")
    assert run("predict", "svm.spd1", "short.svm").stdout.split() == ["1", "-1"]


def test_metrics_agree_with_scikit_learn(folder):
    from sklearn import metrics as peer

    model, data = load_model("classes.spd1"), read_data("classes.csv")
    found = json.loads(run("evaluate", "classes.spd1", "classes.csv", "--json").stdout)
    truth, share = data.b == "up", model.probability(data.A)
    assert found["accuracy"] == pytest.approx(peer.accuracy_score(truth, share > 0.5))
    assert found["auc"] == pytest.approx(peer.roc_auc_score(truth, share))
    assert found["log_loss"] == pytest.approx(peer.log_loss(truth, share))
    numbers, table = load_model("numbers.spd1"), read_data("numbers.npz")
    found = metrics(numbers, table.A, table.b)
    assert found["r2"] == pytest.approx(peer.r2_score(table.b, numbers.predict(table.A)))
    assert found["r2"] > 0.9
    counts = Data(table.A, np.arange(60) % 4.0)
    poisson, _ = fit_model(counts, "poisson", spd1.L2(0.1), tol=1e-4)
    deviance = peer.mean_poisson_deviance(counts.b, poisson.predict(counts.A))
    assert metrics(poisson, counts.A, counts.b)["mean_poisson_deviance"] == pytest.approx(deviance)


def test_ties_count_half():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(1)
    scores, truth = rng.integers(0, 4, 100).astype(float), rng.random(100) < 0.4
    assert area_under_curve(scores, truth) == pytest.approx(roc_auc_score(truth, scores))
    assert np.isnan(area_under_curve(scores, np.ones(100, dtype=bool)))


def test_evaluate_prints_words(folder):
    shown = run("evaluate", "classes.spd1", "classes.csv").stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["accuracy", "auc", "log"]


def test_certify_proves_the_training_gap_again(folder):
    good = run("certify", "classes.spd1", "classes.csv", "--tol", 1e-6)
    assert good.exit_code == 0
    assert "Certified: the objective is" in good.stdout
    strict = run("certify", "classes.spd1", "classes.csv", "--tol", 1e-18, "--json")
    assert strict.exit_code == 4
    found = json.loads(strict.stdout)
    assert found["dual"] <= found["primal"]


def test_certify_on_other_data_tells_how_far_it_is_from_optimal_there(folder):
    data = read_data("classes.csv")
    half = Data(data.A[:30], data.b[:30], data.names, data.target)
    write_data("half.csv", half)
    found = json.loads(run("certify", "classes.spd1", "half.csv", "--json").stdout)
    best = fit_model(half, "logistic", spd1.L2(0.01), intercept=True, tol=1e-10)[1].primal
    assert found["gap"] >= found["primal"] - best - 1e-9
    assert found["primal"] > best


WRONG = [
    (["predict", "none.spd1", "classes.svm"], 3, "none.spd1: no such file"),
    (["predict", "classes.csv", "classes.svm"], 3, "classes.csv is not a spd1 model"),
    (["predict", "svm.spd1", "wide.svm"], 3, "though there are 4 features"),
    (["predict", "classes.spd1", "lacks.csv"], 3, "no column 'q', which the model was trained on"),
    (["predict", "classes.spd1", "classes.csv", "--margin", "--probability"], 2, "choose one"),
    (["predict", "svm.spd1", "classes.svm", "--probability"], 2, "Hinge gives no probabilities"),
    (["predict", "classes.spd1", "classes.csv", "-o", "x.npy"], 2, "labels are text"),
    (["predict", "numbers.spd1", "narrow.npz"], 3, "3 features, the model 4"),
    (["evaluate", "classes.spd1", "bare.csv"], 3, "has no labels"),
    (["evaluate", "classes.spd1", "other.csv"], 3, "does not know: sideways"),
    (["certify", "classes.spd1", "bare.csv"], 3, "has no labels"),
    (["info", "none.csv"], 3, "no such file"),
    (["info", "classes.csv", "--loss", "cubic"], 2, "unknown loss"),
    (["compare", "classes.svm", "--methods", "auto,magic"], 2, "unknown method 'magic'"),
    (["compare", "classes.svm", "--methods", " , "], 2, "names no method"),
    (["compare", "classes.svm", "--methods", "svrg:tile"], 2, "only spd1:tile"),
    (["compare", "classes.svm", "--plot", "x.txt"], 2, "name a picture"),
    (["compare", "classes.svm", "--page", "x.txt"], 2, "suffix .html"),
    (["convert", "classes.csv", "out.svm"], 3, "labels are text"),
    (["convert", "classes.svm", "classes.csv"], 3, "exists"),
    (["convert", "classes.svm", "classes.svm", "--force"], 3, "onto itself"),
    (["convert", "classes.svm", "wide.csv"], 2, "csv files are dense"),
    (["convert", "none.svm", "out.npz"], 3, "no such file"),
    (["nonsense"], 2, "No such command"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "message"), WRONG, ids=[" ".join(w[0]) for w in WRONG]
)
def test_wrong_input_is_named(folder, arguments, code, message):
    (folder / "wide.svm").write_text("1 9:1\n")
    (folder / "lacks.csv").write_text("p,r,s\n1,2,3\n")
    (folder / "bare.csv").write_text("p,q,r,s\n1,2,3,4\n")
    (folder / "other.csv").write_text("p,q,r,s,way\n1,2,3,4,sideways\n")
    write_data("narrow.npz", Data(np.ones((2, 3)), None))
    before = sorted(os.listdir())
    result = run(*arguments)
    assert result.exit_code == code
    assert message in one_line(result.stderr)
    assert "Traceback" not in result.stderr
    assert sorted(os.listdir()) == before


def test_info_knows_the_papers_constants(folder):
    data = read_data("classes.svm")
    write_data("dense.npz", Data(data.A.toarray(), data.b))
    found = json.loads(run("info", "dense.npz", "--l2", 0.01, "--json").stdout)
    A = data.A.toarray()
    R2, R2_prime = (A**2).sum(axis=1).max(), (A**2).sum(axis=0).max()
    assert found["kappa"] == pytest.approx(R2 / (0.01 * 4))
    assert found["kappa'"] == pytest.approx(4 * R2_prime / (60 * 0.01 * 4))
    assert (found["rows"], found["features"], found["density"]) == (60, 4, 1.0)
    problem = spd1.Problem(A, data.b, "logistic", spd1.L2(0.01))
    assert spd1.solve(problem).method == f"auto: {found['auto_takes']}"


def test_info_in_words_and_without_labels(folder):
    shown = run("info", "numbers.npz").stdout
    assert "Squared()" in shown
    assert "auto takes" in shown
    write_data("bare.npz", Data(np.eye(3), None))
    shown = run("info", "bare.npz").stdout
    assert "no labels" in shown
    assert "kappa" not in shown


def test_compare_prints_a_table_and_draws(folder):
    result = run(
        "compare",
        "classes.svm",
        "--methods",
        "auto,svrg,spd1-vr:tile,few-rows",
        "--l2",
        0.1,
        "--tol",
        1e-3,
        "--plot",
        "c.png",
        "--page",
        "c.html",
    )
    assert result.exit_code == 0
    html = (folder / "c.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in html
    assert "<script" not in html
    assert all(f"<td>{name}</td>" in html for name in ("auto", "svrg", "spd1-vr:tile"))
    assert "few-rows: " in html  # refused, and it says why
    assert "a gap of 0.001 within 100 passes and 60 seconds. All 3 methods got there." in html
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")
    assert [w for w in result.stdout.split() if w in ("auto", "svrg", "spd1-vr:tile")]
    found = json.loads(
        run(
            "compare",
            "classes.svm",
            "--methods",
            "auto,svrg",
            "--loss",
            "hinge",
            "--json",
            "--tol",
            1e-2,
        ).stdout
    )
    assert found["auto"]["status"] == "converged"
    assert found["auto"]["entries"] == found["auto"]["passes"] * read_data("classes.svm").A.nnz
    assert "needs a smooth loss" in found["refused"]["svrg"]


def test_the_page_of_compare_says_who_did_not_get_there(folder):
    told = ("compare", "classes.svm", "--methods", "auto,psgd", "--l2", 0.1, "--max-passes", 40)
    assert run(*told, "--page", "late.html").exit_code == 0
    html = (folder / "late.html").read_text(encoding="utf-8")
    assert "1 of 2 methods got there, not: psgd (" in html


def test_pictures_of_compare_show_the_best_gap_so_far():
    A = np.random.default_rng(0).standard_normal((30, 20))
    result = spd1.solve(
        spd1.Problem(A, np.sign(A[:, 0]), "logistic", spd1.L2(0.01)), "psgd", max_passes=60
    )
    gaps, shown = result.trace.rel_gap, best_so_far(result).trace
    assert np.any(np.diff(gaps) > 0)  # the iterate's own gap rises and falls
    np.testing.assert_array_equal(shown.rel_gap, [gaps[: k + 1].min() for k in range(len(gaps))])
    np.testing.assert_array_equal(shown.passes, result.trace.passes)
    np.testing.assert_array_equal(result.trace.rel_gap, gaps)


@pytest.mark.parametrize("name", ["a.npz", "a.csv.gz", "a.parquet", "a.npy", "a.svm.xz"])
def test_convert_there_and_back(folder, name):
    assert run("convert", "classes.svm", name, "--dense").exit_code == 0
    assert run("convert", name, "back.svm").exit_code == 0
    first, last = read_data("classes.svm"), read_data("back.svm")
    np.testing.assert_array_equal(first.A.toarray(), last.A.toarray())
    np.testing.assert_array_equal(first.b, last.b)


def test_help_names_every_exit_code_and_every_command(folder):
    shown = one_line(run("--help").stdout)
    for code, meaning in CODES.items():
        assert f"{code} {meaning.split(';')[0]}" in shown
    for command in ("fit", "predict", "evaluate", "certify", "info", "compare", "convert"):
        assert command in shown
        assert run(command, "--help").exit_code == 0


def test_the_docs_name_every_exit_code():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    for code, meaning in CODES.items():
        assert f"| {code} | {meaning} |" in page


def test_version(folder):
    assert run("--version").stdout == f"spd1 {spd1.__version__}\n"


def test_errors_of_the_system(folder, monkeypatch):
    """A full disk is a matter of files; a reader that stops reading is no error of ours."""
    from spd1.cli import use

    def full(*_, **__):
        raise OSError(28, "No space left on device", "out.txt")

    monkeypatch.setattr(use, "replacing", full)
    result = run("predict", "numbers.spd1", "numbers.npz", "-o", "out.txt")
    assert (result.exit_code, "out.txt: No space left on device" in result.stderr) == (3, True)

    def closed(*_):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(use, "load_model", closed)
    assert "spd1:" not in run("predict", "numbers.spd1", "numbers.npz").stderr


def test_without_an_optional_package_code_5(folder, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (folder / "t.parquet").write_bytes(b"PAR1")
    result = run("info", "t.parquet")
    assert (result.exit_code, "spd1[parquet]" in result.stderr) == (5, True)
