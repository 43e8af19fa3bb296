"""Tables of real life: text, missing values, weights, rows held out; the recipe in the model."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.class_weight import compute_class_weight
from typer.testing import CliRunner

import spd1
from spd1.cli.app import app
from spd1.errors import DataError
from spd1.io import load_model
from spd1.linear_model import ERMClassifier


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def one_line(text):
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def frame(tmp_path, monkeypatch):
    """A table with names, text, missing values, weights and a target; written as CSV."""
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame({
        "name": [f"person {k}" for k in range(n)],
        "age": rng.integers(20, 80, n).astype(float),
        "city": rng.choice(["Bern", "Rome", "Oslo"], n),
        "zip": rng.choice([3000, 4000], n),
        "w": rng.integers(1, 4, n),
    })  # fmt: skip
    table["ill"] = np.where(table.age + 15 * (table.city == "Oslo") + rng.normal(0, 9, n) > 55,
                            "yes", "no")  # fmt: skip
    table.loc[[3, 7, 11], "age"] = np.nan
    table.loc[[5, 20], "city"] = None
    table.to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return table


TABLE = ("--drop", "name", "--missing", "median", "--text", "zip")
NO_WEIGHT = (*TABLE, "--drop", "w")


def by_scikit_learn(table):
    """The same features by a ColumnTransformer."""
    words = {"city": table.city.fillna("(missing)"), "zip": table.zip.astype(str)}
    table = table.assign(**words)
    transform = ColumnTransformer(
        [("age", SimpleImputer(strategy="median"), ["age"]),
         ("words", OneHotEncoder(sparse_output=False), ["city", "zip"])]
    )  # fmt: skip
    return transform.fit_transform(table)


def test_a_fit_is_that_of_the_same_features_made_by_scikit_learn(frame):
    result = run("fit", "train.csv", *TABLE, "--weight", "w", "--l2", 0.01, "-o", "m")
    assert result.exit_code == 0, result.stderr
    assert "Text columns, one feature per word: city (4), zip (2)." in result.stdout
    X, signs = by_scikit_learn(frame), np.where(frame.ill == "yes", 1.0, -1.0)
    best = spd1.solve(X, signs, l2=0.01, sample_weight=frame.w, tol=1e-9)
    model = load_model("m")
    assert model.names[:3] == ["age", "city=(missing)", "city=Bern"]
    assert model.certificate["primal"] == pytest.approx(best.primal, rel=2e-6)
    assert model.certificate["dual"] <= best.primal
    margins = run("predict", "m", "train.csv", "--margin").stdout.split()
    np.testing.assert_allclose(np.array(margins, float), X @ model.coef, atol=1e-12)


def test_balanced_classes_weigh_as_scikit_learn_weighs_them(frame):
    from sklearn.utils.class_weight import compute_sample_weight

    run("fit", "train.csv", *NO_WEIGHT, "--class-weight", "balanced", "-o", "m", "--l2", 0.01)
    weight = compute_sample_weight("balanced", frame.ill)
    signs = np.where(frame.ill == "yes", 1.0, -1.0)
    best = spd1.solve(by_scikit_learn(frame), signs, l2=0.01, sample_weight=weight, tol=1e-9)
    assert load_model("m").certificate["primal"] == pytest.approx(best.primal, rel=2e-6)
    proven = run("certify", "m", "train.csv", "--tol", 1e-6)
    assert proven.exit_code == 0, proven.stderr


def test_certify_needs_the_weights_of_training(frame):
    run("fit", "train.csv", *TABLE, "--weight", "w", "-o", "m")
    assert run("certify", "m", "train.csv", "--tol", 1e-6).exit_code == 0
    frame.drop(columns="w").to_csv("bare.csv", index=False)
    refused = run("certify", "m", "bare.csv")
    assert (refused.exit_code, "no column 'w' with the weights" in refused.stderr) == (3, True)
    assert run("predict", "m", "bare.csv").exit_code == 0


def test_predict_does_what_training_did_and_says_what_is_new(frame):
    run("fit", "train.csv", *NO_WEIGHT, "-o", "m")
    model = load_model("m")
    new = "zip,city,age\n3000,Paris,40\n4000,,\n9999,Bern,60\n"
    with open("new.csv", "w") as file:
        file.write(new)
    result = run("predict", "m", "new.csv", "--margin")
    assert "'city' has words the model has not seen, in 1 row: Paris" in result.stderr
    assert "'zip' has words the model has not seen, in 1 row: 9999" in result.stderr
    coef = dict(zip(model.names, model.coef, strict=True))
    median = frame.age.median()
    expected = [
        40 * coef["age"] + coef["zip=3000"],
        median * coef["age"] + coef["city=(missing)"] + coef["zip=4000"],
        60 * coef["age"] + coef["city=Bern"],
    ]
    np.testing.assert_allclose(np.array(result.stdout.split(), float), expected)


def test_rows_held_out_teach_nothing(frame):
    """Median and words come from the rows to train on; the scores from the others."""
    result = run("fit", "train.csv", *NO_WEIGHT, "--train-fraction", 0.5, "--json", "-o", "m")
    found = json.loads(result.stdout)
    assert (found["rows"], found["held_out"]["rows"]) == (40, 40)
    assert 0.0 <= found["held_out"]["accuracy"] <= 1.0
    from sklearn.model_selection import train_test_split

    train, _ = train_test_split(np.arange(80), train_size=0.5, random_state=0, stratify=frame.ill)
    [age] = [column for column in load_model("m").recipe.columns if column.name == "age"]
    assert age.fill == frame.age[np.sort(train)].median()


def test_parquet_is_read_as_csv_is(frame):
    frame.to_parquet("train.parquet")
    for name in ("train.csv", "train.parquet"):
        assert run("fit", name, *NO_WEIGHT, "-o", name + ".spd1").exit_code == 0
    same = load_model("train.csv.spd1"), load_model("train.parquet.spd1")
    np.testing.assert_array_equal(same[0].x, same[1].x)


def test_a_table_without_names_is_read_by_number(frame):
    frame.to_csv("bare.csv", index=False, header=False)
    frame.drop(columns="ill").to_csv("new.csv", index=False, header=False)
    options = ("--no-header", "--drop", "0,4", "--missing", "median", "--text", "3")
    assert run("fit", "bare.csv", *options, "-o", "m").exit_code == 0
    run("fit", "train.csv", *NO_WEIGHT, "-o", "named")
    np.testing.assert_array_equal(load_model("m").x, load_model("named").x)
    expected = run("predict", "named", "train.csv").stdout
    assert run("predict", "m", "bare.csv").stdout == run("predict", "m", "new.csv").stdout
    assert run("predict", "m", "new.csv").stdout == expected


def test_a_plain_table_needs_no_recipe(frame):
    frame[["age", "w", "ill"]].dropna().to_csv("plain.csv", index=False)
    assert run("fit", "plain.csv", "-o", "m").exit_code == 0
    assert load_model("m").recipe is None
    with zipfile.ZipFile("m") as archive:
        assert json.loads(archive.read("model.json"))["version"] == 1


def test_a_damaged_recipe_is_refused(frame):
    from spd1.io import save_model

    run("fit", "train.csv", *NO_WEIGHT, "-o", "m")
    model = load_model("m")
    for broken in (
        {"columns": [["age", "forty", None]]},
        {"columns": [["age", 1.0, None]]},  # fewer features than coefficients
        {"missing": "guess"},
        {"columns": [["city", None, ["a", 1]]]},
    ):
        recipe = model.recipe.to_json() | broken
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(model.recipe), "to_json", lambda self, now=recipe: now)
            save_model("broken", model)
        with pytest.raises(DataError, match="broken is damaged"):
            load_model("broken")


def test_folds_of_cv_learn_from_their_own_rows_alone(frame):
    """Medians, words, scales and weights of classes: as in a Pipeline that is fitted a fold."""
    rng = np.random.default_rng(1)
    frame = frame.drop(columns=["name", "zip", "w"])
    frame["dose"] = np.where(rng.random(len(frame)) < 0.4, np.nan, rng.exponential(9.0, len(frame)))
    frame.loc[[2, 40], "city"] = ["Bonn", "Lyon"]  # words that only some folds train on
    frame[["age", "city", "dose", "ill"]].to_csv("leak.csv", index=False)
    options = ("--missing", "median", "--standardize", "--class-weight", "balanced")
    done = run("cv", "leak.csv", *options, "--alphas", 3, "--folds", 4, "--no-save", "--json",
               "--intercept", "--tol", "1e-10")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)

    def features():
        fill = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        words = make_pipeline(
            SimpleImputer(strategy="constant", fill_value="(missing)", missing_values=None),
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            StandardScaler(),
        )
        return ColumnTransformer([("n", fill, ["age", "dose"]), ("w", words, ["city"])])

    frame = frame.assign(city=frame.city.astype(object).where(frame.city.notna(), None))
    y = np.where(frame.ill == "yes", 1.0, -1.0)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for scores, (train, test) in zip(found["scores"], folds.split(frame, y), strict=True):
        weights = compute_class_weight("balanced", classes=np.array([-1.0, 1.0]), y=y[train])
        weight = np.where(y > 0, weights[1], weights[0])
        for score, alpha in zip(scores, found["alphas"], strict=True):
            model = make_pipeline(features(), ERMClassifier("logistic", l2=alpha, tol=1e-10))
            model.fit(frame.iloc[train], y[train], ermclassifier__sample_weight=weight[train])
            margins = y[test] * model.decision_function(frame.iloc[test])
            mean = np.average(np.logaddexp(0.0, -margins), weights=weight[test])
            assert score == pytest.approx(-mean, rel=1e-4)


WRONG = [
    (["--max-categories", "50"], 3, "'name' holds 80 different texts in 80 rows"),
    (
        ["--max-categories", "200"],
        3,
        "'age' has no value in row 4 and 2 more: train with --missing",
    ),
    (["--drop", "nam"], 3, "--drop nam: did you mean 'name'?"),
    ([*TABLE[:2], "--missing", "medain"], 2, "did you mean 'median'?"),
    ([*TABLE, "--weight", "city"], 3, "the weights in column 'city' must be numbers"),
    ([*TABLE, "--weight", "v"], 3, "--weight v: train.csv has no such column, it has name, age"),
    ([*TABLE, "--weight", "ill"], 3, "--weight ill: 'ill' is the target, as the last column is"),
    ([*TABLE, "--drop", "ill"], 3, "--drop ill: 'ill' is the target, as the last column is"),
    ([*TABLE, "--target", "w", "--drop", "w"], 3, "--drop w: 'w' is the target"),
    ([*TABLE, "--text", "v"], 3, "--text v: train.csv has no such column"),
    ([*TABLE, "--train-fraction", "0.001"], 3, "each part needs a row of every class"),
    ([*TABLE, "--class-weight", "heavy"], 2, "'balanced' is all there is"),
    ([*TABLE, "--train-fraction", "1.5"], 2, "must be between 0 and 1"),
    ([*TABLE, "--target", "age"], 3, "the target 'age' has no value in row 4"),
    ([*TABLE, "--target", "w", "--loss", "squared", "--class-weight", "balanced"], 2, "no classes"),
    ([*TABLE, "--loss", "squared"], 3, "the target holds text"),
]


@pytest.mark.parametrize(("options", "code", "message"), WRONG)
def test_wrong_tables_are_named(frame, options, code, message):
    result = run("fit", "train.csv", *options, "-o", "m")
    assert result.exit_code == code
    assert message in one_line(result.stderr)


@pytest.mark.parametrize("gone", ["", "NA", "NaN", "?"])
@pytest.mark.parametrize("answers", [("0", "1"), ("no", "yes")])
def test_a_missing_target_is_no_class(tmp_path, gone, answers):
    """An empty field among numbers makes their column text: it was a class of its own."""
    path = tmp_path / "train.csv"
    rows = [f"{k},{k * k % 7},{answers[k % 2]}" for k in range(6)]
    path.write_text("\n".join(["a,b,c", *rows, f"6,1,{gone}", f"7,1,{gone}"]) + "\n")
    for command in (["fit", path, "--no-save"], ["convert", path, tmp_path / "out.npz"]):
        result = run(*command)
        assert result.exit_code == 3
        assert "the target 'c' has no value in row 7 and 1 more: take" in one_line(result.stderr)


def test_rows_to_predict_need_no_target(tmp_path):
    path, new = tmp_path / "train.csv", tmp_path / "new.csv"
    path.write_text("a,b,c\n" + "".join(f"{k},{k % 3},{k % 2}\n" for k in range(12)))
    run("fit", path, "-o", tmp_path / "m")
    new.write_text("a,b,c\n1,2,\n3,4,\n")
    result = run("predict", tmp_path / "m", new)
    assert (result.exit_code, len(result.stdout.split())) == (0, 2)


def test_quotation_marks_that_stay_open_are_named(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text('a,b,c\n1,x,0\n2,"y,1\n')
    result = run("fit", path, "--no-save")
    assert (result.exit_code, "line 3: the file ends inside quotation" in result.stderr) == (
        3,
        True,
    )


def test_what_a_command_reads_is_never_overwritten(frame):
    """Not with --force either: the training data would be gone."""
    before = Path("train.csv").read_bytes()
    run("fit", "train.csv", *NO_WEIGHT, "-o", "m")
    model = Path("m").read_bytes()
    for command in (
        ["fit", "train.csv", *NO_WEIGHT, "-o", "train.csv"],
        ["cv", "train.csv", *NO_WEIGHT, "-o", "train.csv"],
        ["path", "train.csv", *NO_WEIGHT, "--loss", "logistic", "--csv", "train.csv"],
        ["predict", "m", "train.csv", "-o", "train.csv"],
        ["predict", "m", "train.csv", "-o", "m"],
        ["show", "m", "--csv", "m"],
    ):
        result = run(*command, "--force")
        assert result.exit_code == 3, command
        assert "is what this command reads: name another file" in one_line(result.stderr)
    assert (Path("train.csv").read_bytes(), Path("m").read_bytes()) == (before, model)


def test_models_are_no_data_and_data_without_names_has_no_words(frame):
    run("fit", "train.csv", *NO_WEIGHT, "-o", "m.spd1")
    for command in (["fit", "m.spd1", "--no-save"], ["predict", "m.spd1", "m.spd1"]):
        result = run(*command)
        assert (result.exit_code, "m.spd1 is a model, and data is" in result.stderr) == (3, True)
    Path("new.svm").write_text("1 1:2\n")
    result = run("predict", "m.spd1", "new.svm")
    assert result.exit_code == 3
    assert "columns of text, such as 'city', and needs CSV or Parquet" in one_line(result.stderr)
    Path("junk.spd1").write_text("hello")
    assert "junk.spd1 is not a spd1 model" in run("info", "junk.spd1").stderr


def test_numbers_to_predict_are_told_from_classes(tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("a,b\n1,2.5\n2,3.5\n3,1.5\n")
    result = run("fit", path, "-o", tmp_path / "m")
    assert (result.exit_code, "--loss squared to predict numbers" in result.stderr) == (3, True)


def test_decimal_commas_are_no_words(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("a;b;c\n1,5;x;0\n2;y;1\n")
    result = run("fit", path, "-o", tmp_path / "m")
    assert (result.exit_code, "'a' has decimal commas, such as 1,5" in result.stderr) == (3, True)
    path.write_text("a;b;c\n1,5;x;0\n2;y;1\n3,5;x;1\n")
    assert run("fit", path, "--text", "a", "-o", tmp_path / "m").exit_code == 0


def test_options_of_tables_are_for_tables(tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("1 1:2\n-1 1:3\n")
    result = run("fit", path, "--drop", "a", "-o", tmp_path / "m")
    assert (result.exit_code, "for CSV and Parquet files" in result.stderr) == (2, True)


def test_a_column_that_is_missing_or_wrong_is_named(frame):
    run("fit", "train.csv", *NO_WEIGHT, "-o", "m")
    frame[["age", "name"]].to_csv("lacks.csv", index=False)
    result = run("predict", "m", "lacks.csv")
    assert "lacks.csv has no column 'city', which the model was trained on" in result.stderr
    frame.rename(columns={"city": "City"}).to_csv("other.csv", index=False)
    result = run("predict", "m", "other.csv")
    assert "'city', which the model was trained on; did you mean 'City'?" in one_line(result.stderr)
    frame.assign(age="old").to_csv("text.csv", index=False)
    result = run("predict", "m", "text.csv")
    assert (
        "'age' has the text 'old' in row 1, and the model was trained on numbers" in result.stderr
    )


@pytest.mark.parametrize("option", [["--features", "3"], ["--zero-based"], ["--one-based"]])
def test_options_of_libsvm_text_are_for_libsvm_text(frame, option):
    frame[["age", "w"]].dropna().to_csv("numbers.csv", index=False)
    result = run("fit", "numbers.csv", *option, "--loss", "squared", "--no-save")
    assert result.exit_code == 2
    assert "are for LIBSVM text, and numbers.csv is csv" in one_line(result.stderr)
