"""CSV and Parquet tables, conversions between formats, and files that are written whole."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp

from spd1.errors import DataError, ParameterError
from spd1.files import format_of, replacing
from spd1.io import Data, read_data, write_data


@pytest.fixture
def write(tmp_path):
    def writer(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return writer


@pytest.mark.parametrize("text", [
    "a,b,y\n1,2,0\n3,4.5,1\n", "a;b;y\n1;2;0\n3;4.5;1\n", "a\tb\ty\r\n1\t2\t0\r\n3\t4.5\t1\r\n",
    '"a","b","y"\n1,2,0\n\n3,"4.5",1', "\ufeffa,b,y\n1,2,0\n3,4.5,1\n",
])  # fmt: skip
def test_delimiters_quotes_and_marks(write, text):
    data = read_data(write(text))
    assert data.names == ["a", "b"]
    assert data.target == "y"
    assert data.A.tolist() == [[1, 2], [3, 4.5]]
    assert data.b.tolist() == [0, 1]


def test_without_names_and_with_another_target(write):
    data = read_data(write("1,2,3\n4,5,6\n"), target=0)
    assert data.names is None
    assert data.b.tolist() == [1, 4]
    named = read_data(write("a,b,y\n1,2,3\n"), target="a")
    assert (named.b.tolist(), named.names) == ([1], ["b", "y"])


def test_classes_may_be_text(write):
    data = read_data(write("a,kind\n1,good\n2,bad\n"))
    assert data.b.tolist() == ["good", "bad"]


def test_a_models_columns_are_found_by_name(write):
    path = write("y,b,extra,a\n1,2,9,3\n4,5,9,6\n")
    data = read_data(path, features=["a", "b"], target="y", n_features=2)
    assert data.A.tolist() == [[3, 2], [6, 5]]
    assert data.b.tolist() == [1, 4]
    without = read_data(write("b,a\n2,3\n"), features=["a", "b"], target="y", n_features=2)
    assert without.b is None
    with pytest.raises(DataError, match="no column 'c', which the model was trained on"):
        read_data(path, features=["a", "c"], target="y")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("  \n", {}, "is empty"),
        ("a,b,y\n", {}, "no rows"),
        ("a,b,y\n1,2\n", {}, "line 2: 2 fields, the first line has 3"),
        ("a,b,y\n1,2,3\n\n1,2,3,4\n", {}, "line 4: 4 fields"),
        ("1,2,3\n1,2\n", {}, "line 2: 2 fields"),
        ("a,b,y\n1,x,3\n", {}, "column 'b' has the text 'x' in row 1"),
        ("a,b,y\n1,2,3\n1,,3\n", {}, "column 'b' has an empty field in row 2"),
        ("a,b,y\n1,nan,3\n", {}, "column 'b' has nan in row 1"),
        ("a,b,y\n1,inf,3\n", {}, "column 'b' has inf in row 1"),
        ("a,a,y\n1,2,3\n", {}, "two columns called 'a'"),
        ("y\n1\n", {}, "one column"),
        ("a,y\n1,2\n", {"target": "z"}, "no column 'z': it has a, y"),
        ("1,2\n", {"target": "z"}, "no names, so name one by number"),
        ("a,y\n1,2\n", {"target": 2}, "no column number 2"),
        ('a,y\n"1,2\n', {}, "line"),
        ("a,y\n1,\x00\n", {}, "zero bytes"),
        (b"a,y\n1,\xff\n", {}, "not UTF-8"),
    ],
)  # fmt: skip
def test_broken_tables_are_named(write, text, options, message):
    path = write(text)
    with pytest.raises(DataError, match=message) as caught:
        read_data(path, **options)
    assert str(path) in str(caught.value)


def test_parquet_round_trip_and_refusals(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    data = Data(np.arange(6, dtype=np.float32).reshape(3, 2), np.array(["u", "v", "u"]), ["p", "q"])
    write_data(path, data)
    again = read_data(path)
    assert again.A.dtype == np.float32
    assert again.names == ["p", "q"]
    assert again.b.tolist() == ["u", "v", "u"]
    np.testing.assert_array_equal(again.A, data.A)

    def refuse(columns, message):
        parquet.write_table(pyarrow.table(columns), path)
        with pytest.raises(DataError, match=message):
            read_data(path)

    refuse({"a": ["x", "y"], "t": [1, 2]}, "column 'a' has the text 'x'")
    refuse({"a": [1.0, None], "t": [1, 2]}, "column 'a' has 1 missing values")
    refuse({"a": [[1], [2]], "t": [1, 2]}, "column 'a' has type list")
    refuse({"a": [1.0, float("nan")], "t": [1, 2]}, "column 'a' has nan in row 2")
    (tmp_path / "no.parquet").write_text("hello")
    with pytest.raises(DataError, match="not a Parquet file"):
        read_data(tmp_path / "no.parquet")
    with pytest.raises(DataError, match="no such file"):
        read_data(tmp_path / "none.parquet")


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"spd1\[parquet\]"):
        read_data(tmp_path / "t.parquet")


@pytest.mark.parametrize("source", ["libsvm", "npz", "csv", "parquet", "npy"])
@pytest.mark.parametrize("target", ["libsvm", "npz", "csv", "parquet", "npy"])
def test_every_format_converts_to_every_other(tmp_path, source, target):
    if "parquet" in (source, target):
        pytest.importorskip("pyarrow")
    rng = np.random.default_rng(6)
    A, b = rng.standard_normal((7, 3)), rng.integers(0, 2, 7).astype(float)
    write_data(tmp_path / "a", Data(A, b), format=source)
    first = read_data(tmp_path / "a", format=source)
    write_data(tmp_path / "b", first, format=target, dense=True)
    again = read_data(tmp_path / "b", format=target)
    dense = again.A.toarray() if sp.issparse(again.A) else again.A
    np.testing.assert_array_equal(dense, A)
    np.testing.assert_array_equal(again.b, b)


def test_sparse_data_is_not_blown_up_silently(tmp_path):
    data = Data(sp.csr_array((1000, 1000)), np.zeros(1000))
    with pytest.raises(ParameterError, match="csv files are dense, 1000 x 1000"):
        write_data(tmp_path / "big.csv", data)
    assert not list(tmp_path.iterdir())


def test_text_labels_do_not_fit_into_numbers(tmp_path):
    with pytest.raises(DataError, match="labels are text"):
        write_data(tmp_path / "a.svm", Data(np.eye(2), np.array(["u", "v"])))


def test_formats_by_suffix():
    assert [format_of(n) for n in ("a.svm", "a.csv.gz", "a.PQ", "rcv1_train.binary", "x.npy")] == [
        "libsvm", "csv", "parquet", "libsvm", "npy"
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="unknown format 'xls'"):
        format_of("a.svm", "xls")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def fail():
        with replacing(path) as stream:
            stream.write(b"half of the new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["kept.txt"]


def test_places_that_cannot_be_written_are_named(tmp_path):
    data = Data(np.eye(2), np.ones(2))
    with pytest.raises(DataError, match="does not exist"):
        write_data(tmp_path / "none" / "a.npz", data)
    with pytest.raises(DataError, match="is a folder"):
        write_data(tmp_path, data, format="npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_places_without_permission_are_named(tmp_path):
    (tmp_path / "secret.csv").write_text("a,y\n1,2\n")
    (tmp_path / "secret.csv").chmod(0)
    with pytest.raises(DataError, match="permission denied"):
        read_data(tmp_path / "secret.csv")
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="permission denied"):
        write_data(tmp_path / "a.npz", Data(np.eye(2), np.ones(2)))
    tmp_path.chmod(0o700)
