"""Folders of parts and zarr arrays that are not in order: refused by name, with the part."""

from __future__ import annotations

import numpy as np
import pytest

from spd1 import DataError, ParameterError
from spd1.io import read_parts

da = pytest.importorskip("dask.array")

TABLE = "a,b,label\n1,2,0\n3,4,1\n"
TEXT = "1 1:1 3:2\n-1 2:1\n"

WRONG = {
    "other kinds": ({"a.svm": TEXT, "b.csv": TABLE}, r"one kind: .*b\.csv is csv"),
    "other names": ({"a.csv": TABLE, "b.csv": TABLE.replace("b,", "c,")}, r"b\.csv has other col"),
    "more columns": (
        {"a.csv": TABLE, "b.csv": "a,b,c,label\n1,2,3,0\n4,5,6,1\n"}, r"b\.csv has other columns",
    ),
    "empty text": ({"a.svm": TEXT, "b.svm": ""}, r"b\.svm has no rows"),
    "empty table": ({"a.csv": TABLE, "b.csv": "a,b,label\n"}, r"b\.csv has .* no rows"),
    "labels": ({"a.csv": TABLE, "b.csv": "a,b,label\n1,2,yes\n3,4,no\n"}, r"b\.csv has text"),
    "words": ({"a.csv": TABLE, "b.csv": "a,b,label\n1,x,0\n"}, r"b\.csv.* the text 'x'"),
    "broken": ({"a.svm": TEXT, "b.svm": "1 2-3\n"}, r"b\.svm, line 1"),
    "nothing": ({}, "has no files"),
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_what_is_wrong_with_which_part(key, tmp_path):
    files, why = WRONG[key]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=why):
        read_parts(tmp_path)


def test_more_features_than_were_said(tmp_path):
    (tmp_path / "a.svm").write_text(TEXT)
    with pytest.raises(DataError, match="index 3, though there are 2 features"):
        read_parts(tmp_path, n_features=2)
    with pytest.raises(ParameterError, match="n_features must be"):
        read_parts(tmp_path, n_features=0)


def test_folders_inside_are_not_left_out_silently(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "_logs").mkdir()
    assert read_parts(tmp_path).X.shape == (2, 2)
    (tmp_path / "year=2026").mkdir()
    with pytest.raises(DataError, match=r"folders inside \(year=2026\)"):
        read_parts(tmp_path)


def test_parquet_parts_without_rows(tmp_path):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "label": [0, 1]})
    frame.iloc[:0].to_parquet(tmp_path / "part-0.parquet")
    with pytest.raises(DataError, match="all its parts are empty"):
        read_parts(tmp_path)
    frame.to_parquet(tmp_path / "part-1.parquet")
    parts = read_parts(tmp_path)
    np.testing.assert_array_equal(parts.X.compute(), frame[["a", "b"]])
    np.testing.assert_array_equal(parts.y.compute(), [0, 1])
    (tmp_path / "part-2.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"part-2\.parquet is not a Parquet file"):
        read_parts(tmp_path)


def test_what_is_no_zarr_array(tmp_path):
    zarr = pytest.importorskip("zarr")
    with pytest.raises(DataError, match="is not a zarr array"):
        read_parts(tmp_path / "nowhere.zarr")
    zarr.open_group(str(tmp_path / "group.zarr"), mode="w")
    with pytest.raises(DataError, match="is not a zarr array"):
        read_parts(tmp_path / "group.zarr")
    for name, values in {"cube": np.zeros((2, 2, 2)), "complex": np.zeros((2, 2), complex)}.items():
        da.to_zarr(da.from_array(values), str(tmp_path / f"{name}.zarr"))
        with pytest.raises(DataError, match="must be a table of numbers"):
            read_parts(tmp_path / f"{name}.zarr")
    da.to_zarr(da.from_array(np.ones((3, 2))), str(tmp_path / "a.zarr"))
    with pytest.raises(DataError, match="3 rows, and there are 2 labels"):
        read_parts(tmp_path / "a.zarr", [1.0, -1.0])
    with pytest.raises(ParameterError, match="numbers alone"):
        read_parts(tmp_path / "a.zarr", np.ones(3), target="label")
