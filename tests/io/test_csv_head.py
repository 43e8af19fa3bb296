"""How CSV files begin: line ends, delimiters, names; the same whole and in chunks."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from spd1.errors import DataError
from spd1.io import read_data
from spd1.io.csv_head import csv_head, is_number
from spd1.io.mixed_tables import read_table
from spd1.io.table_chunks import iter_csv

BEGINNINGS = {
    "line feeds": "a,b,y\n1,2,0\n3,4,1\n",
    "returns and line feeds": "a,b,y\r\n1,2,0\r\n3,4,1\r\n",
    "returns alone": "a,b,y\r1,2,0\r3,4,1\r",
    "mark of UTF-8": "\ufeffa,b,y\n1,2,0\n3,4,1\n",
    "empty lines before": "\n\na,b,y\n1,2,0\n3,4,1\n",
    "a line for Excel": "sep=;\na;b;y\n1;2;0\n3;4;1\n",
    "a mark and a line for Excel": "\ufeffsep=;\r\na;b;y\r\n1;2;0\r\n3;4;1\r\n",
    "no line end at the end": "a,b,y\n1,2,0\n3,4,1",
}


@pytest.fixture
def write(tmp_path):
    def writer(text):
        path = tmp_path / "data.csv"
        path.write_bytes(text.encode())
        return path

    return writer


@pytest.mark.parametrize("text", BEGINNINGS.values(), ids=BEGINNINGS)
def test_beginnings_are_the_same_table(write, text):
    path = write(text)
    for blocks in ([read_data(path)], list(iter_csv(path))):
        assert all((data.names, data.target) == (["a", "b"], "y") for data in blocks)
        assert np.concatenate([data.A for data in blocks]).tolist() == [[1, 2], [3, 4]]
        assert np.concatenate([data.b for data in blocks]).tolist() == [0, 1]
    table = read_table(path, "csv")
    assert table.names == ["a", "b", "y"]
    assert [column.tolist() for column in table.columns] == [[1, 3], [2, 4], [0, 1]]


@pytest.mark.parametrize("names", [
    ["two\nlines", "b", "y"], ["a;b;c", "d", "y"], ["a,b,c", "d", "y"],
    ['6"', "b", "y"], ["1", "b", "y"],
])  # fmt: skip
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_names_that_writers_put_in_quotes_come_back(write, names, delimiter):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerows([names, [1, 2, 0], [3, 4, 1]])
    path = write(stream.getvalue())
    for data in (read_data(path), *iter_csv(path)):
        assert [*data.names, data.target] == names
        assert data.A.tolist() == [[1, 2], [3, 4]]
    assert read_table(path, "csv").names == names


def test_a_quotation_mark_inside_a_name_opens_nothing(write):
    data = read_data(write('6" pipes,b,y\n1,2,0\n3,4,1\n'))
    assert data.names == ['6" pipes', "b"]


def test_columns_without_a_name_get_one(write):
    path = write(",a,,y\n0,1,5,0\n1,3,6,1\n")
    assert read_data(path).names == ["Unnamed: 0", "a", "Unnamed: 2"]
    assert next(iter_csv(path)).names == ["Unnamed: 0", "a", "Unnamed: 2"]
    assert read_table(path, "csv").names == ["Unnamed: 0", "a", "Unnamed: 2", "y"]


def test_underscores_make_words(write):
    """Python reads 1_000 as a number; in a table it is a code."""
    assert not is_number("1_000")
    table = read_table(write("code,y\n1_000,0\n2_000,1\n"), "csv")
    assert table.columns[0].tolist() == ["1_000", "2_000"]
    with pytest.raises(DataError, match="the text '1_000' in row 1"):
        read_data(write("code,y\n1_000,0\n2_000,1\n"))


@pytest.mark.parametrize(("text", "message"), [
    ('"a,b,y\n1,2,3\n', "line 1: the file ends inside quotation marks"),
    ("a\rb,c\n1,2\n", "line 1: a return without a line feed"),
    ("a,b\n1,2\r3,4\n", "line 2: a return without a line feed"),
    ("a" * 200_000 + ",b\n1,2\n", "line 1: field larger"),
    ("# made in May\na,b,y\n1,2,3\n", "line 2: 3 fields, the first line has 1: does a line"),
    ("\n\na,b,y\n1,2,3\n1,2\n", "line 5: 2 fields"),
    ('"a\nb",c,y\n1,2,3\n1,2\n', "line 4: 2 fields"),
])  # fmt: skip
def test_broken_beginnings_are_refused_with_the_line(write, text, message):
    path = write(text)
    for read in (read_data, lambda p: list(iter_csv(p)), lambda p: read_table(p, "csv")):
        with pytest.raises(DataError, match=message):
            read(path)


def test_rows_without_names_begin_at_the_first_line(write):
    head = csv_head("x.csv", "\n1,2\n3,4\n")
    assert (head.names, head.rows) == (None, (1, 2))
    table = read_table(write("a,b\n1,2\n"), "csv", header=False)
    assert np.array_equal(table.columns[0], ["a", "1"])
