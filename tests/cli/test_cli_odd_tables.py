"""Tables as people have them: what looks wrong is said, what is wrong is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from spd1.cli.app import app
from spd1.cli.doubts import MANY_CLASSES
from spd1.io import load_model


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def runner(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return runner


@pytest.fixture
def write(tmp_path, rng):
    """A table of 40 rows: numbers a and b, a class y; further columns may be given."""

    def writer(name="data.csv", **more):
        a, b = rng.normal(size=(2, 40)).round(3)
        columns = {"a": a, "b": b, **more, "y": np.where(a + b > 0, "yes", "no")}
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        lines = [",".join(map(str, row)) for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    return writer


def refused(outcome, code, *words):
    """A refusal in one line, with a named reason."""
    assert outcome.exit_code == code, outcome.output
    assert outcome.stderr.count("spd1: ") == 1
    for word in words:
        assert word in outcome.stderr


def test_a_misspelt_target_gets_a_suggestion(run, write):
    path = write()
    refused(run("fit", path, "--target", "Y"), 3, "did you mean 'y'?", "it has a, b, y")


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_rows_is_noticed(run, write, first):
    path = write(id=np.arange(first, first + 40))
    said = "column 'id' counts the rows: --drop id leaves it out"
    assert said in run("fit", path, "--no-save").stderr
    assert said in run("fit", path, "--no-save", "--missing", "mean").stderr
    outcome = run("fit", path, "--no-save", "--drop", "id")
    assert (outcome.exit_code, "counts the rows" in outcome.stderr) == (0, False)


def test_the_index_that_pandas_writes_can_be_left_out(run, write, tmp_path):
    path = write(q=np.arange(40))
    path.write_text(path.read_text().replace("a,b,q,y", "a,b,,y"))
    assert "--drop 'Unnamed: 2' leaves it out" in run("fit", path, "--no-save").stderr
    assert run("fit", path, "--drop", "Unnamed: 2", "-o", "m.spd1").exit_code == 0
    assert load_model(tmp_path / "m.spd1").names == ["a", "b"]


def test_a_first_line_that_is_a_row_is_noticed(run, write, tmp_path):
    path = write(kind=np.tile(["x", "z"], 20))
    lines = path.read_text().splitlines()[1:]
    path.write_text("\n".join(lines) + "\n")
    said = "the first line is taken for names"
    outcome = run("fit", path, "--no-save")
    assert (outcome.exit_code, outcome.stderr.count(said)) == (0, 1)
    outcome = run("fit", path, "--no-header", "-o", "m.spd1")
    assert (outcome.exit_code, said in outcome.stderr) == (0, False)
    assert load_model(tmp_path / "m.spd1").training["rows"] == 40


def test_a_column_may_hold_its_own_name(run, write):
    """A target y with the answers y and n, and Parquet files, whose names are no line."""
    path = write(w=np.tile(["w", "v"], 20))
    path.write_text(path.read_text().replace("yes", "y"))
    assert "taken for names" not in run("fit", path, "--no-save").stderr


def test_truths_are_numbers_where_a_model_wants_numbers(run, write, tmp_path):
    """Parquet has them as 0 and 1, CSV files as words."""
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    truths = np.tile([True, False], 20)
    path = write(ok=truths)
    pandas.read_csv(path).to_parquet(tmp_path / "data.parquet")
    assert run("fit", "data.parquet", "-o", "m.spd1").exit_code == 0
    for name in ("data.csv", "data.parquet"):
        assert run("predict", "m.spd1", name, "--margin", "-o", f"{name}.txt").exit_code == 0
    text = [(tmp_path / f"data.{kind}.txt").read_text() for kind in ("csv", "parquet")]
    assert text[0] == text[1]


def test_many_numbers_as_classes_are_noticed(run, write):
    path = write(age=np.arange(40) % (MANY_CLASSES + 1))
    said = f"{MANY_CLASSES + 1} different numbers (0, 1, 2, 3, ...) are taken for classes"
    assert said in run("fit", path, "--target", "age", "--drop", "y", "--no-save").stderr
    outcome = run("fit", path, "--target", "age", "--drop", "y", "--loss", "squared", "--no-save")
    assert "taken for classes" not in outcome.stderr


def test_names_with_commas_can_be_left_out(run, write):
    path = write(q=[f"name {k}" for k in range(40)])
    path.write_text(path.read_text().replace("a,b,q,y", 'a,b,"last, first",y'))
    told = run("fit", path, "--no-save", "--max-categories", "5")
    refused(told, 3, """--drop '"last, first"'""")
    assert run("fit", path, "--no-save", "--drop", '"last, first"').exit_code == 0


@pytest.mark.parametrize(("value", "said"), [
    (-1, "row 5 has -1"), ("x", "row 5 has x"), ("", "row 5 has no value"),
    ("inf", "row 5 has inf"),
])  # fmt: skip
def test_wrong_weights_are_refused_with_their_row(run, write, value, said):
    weights = [1] * 40
    weights[4] = value
    refused(run("fit", write(w=weights), "--weight", "w", "--no-save"), 3, "column 'w'", said)


def test_weights_of_zero_are_refused_by_column(run, write):
    told = run("fit", write(w=[0] * 40), "--weight", "w", "--no-save")
    refused(told, 3, "column 'w' are all zero")


@pytest.mark.parametrize("name", ["data.xlsx", "data.json", "data.zip", "data.pkl"])
def test_files_of_other_programs_are_refused_by_what_they_are(run, write, tmp_path, name):
    path = write()
    other = tmp_path / name
    refused(run("fit", other, "--no-save"), 3, "by its name", "take CSV or Parquet")
    refused(run("convert", path, other), 3, "by its name")
    assert not other.exists()
    other.write_bytes(path.read_bytes())
    assert run("fit", other, "--format", "csv", "--no-save").exit_code == 0


def test_two_outputs_need_two_files(run, write, tmp_path):
    path = write()
    for words in (
        ("fit", path, "-o", "x.png", "--plot", "x.png"),
        ("fit", path, "-o", "x.png", "--checkpoint", tmp_path / "x.png"),
        ("fit", path, "--plot", "x.png", "--checkpoint", "./x.png"),
        ("cv", path, "-o", "x.png", "--plot", "x.png"),
        ("path", path, "--loss", "logistic", "--csv", "x.png", "--plot", "x.png"),
        ("compare", path, "--plot", "x.html", "--page", "x.html"),
    ):
        refused(run(*words), 2, "name two files")
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize(("command", "option", "value"), [
    ("fit", "--max-seconds", "0"), ("fit", "--max-passes", "-1"), ("fit", "--max-seconds", "nan"),
    ("compare", "--max-seconds", "0"), ("compare", "--max-passes", "-1"),
])  # fmt: skip
def test_limits_are_looked_at_before_the_file(run, command, option, value):
    refused(run(command, "nothere.csv", option, value), 2, f"{option} must be a positive number")


def test_a_file_that_is_not_there_is_said_before_its_format(run, write):
    path = write(kind=np.tile(["x", "z"], 20))
    assert run("fit", path, "-o", "m.spd1").exit_code == 0
    refused(run("predict", "m.spd1", "nothere.svm"), 3, "nothere.svm: no such file")
