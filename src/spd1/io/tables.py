"""CSV and Parquet files as columns, numbers or text; and written.

``split_target`` makes a matrix of numbers of them, ``mixed_tables`` reads what has missing values.
"""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, install
from ..files import Data, open_bytes, reading, replacing
from .csv_head import CsvHead, csv_error, csv_head, numbers_alone, unified

__all__ = [
    "NO_VALUE", "arrow_columns", "csv_columns", "csv_rows", "csv_text", "need_pyarrow",
    "open_parquet", "read_csv", "read_parquet", "write_csv", "write_parquet",
]  # fmt: skip

#: Fields that stand for a missing value, in any case of letters.
NO_VALUE = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


def read_csv(path: str | Path, delimiter: str | None = None) -> tuple[list[str] | None, list[Any]]:
    r"""Read the columns of a CSV file, numbers where all of a column are, text elsewhere.

    Returns the names in the first line, or None if the first line holds numbers only. The
    delimiter is the one of comma, semicolon and tab that the first line has most of.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "data.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("age,pulse,sick\n33,70.5,no\n41,64,yes\n")
    >>> names, columns = read_csv(path)
    >>> names, columns[1].tolist(), columns[2].tolist()
    (['age', 'pulse', 'sick'], [70.5, 64.0], ['no', 'yes'])
    """
    text = csv_text(path)
    head = csv_head(path, text, delimiter)
    start, line = head.rows
    body = text[start:]
    if not body.strip():
        raise DataError(f"{path} has a first line with names and no rows")
    return head.names, csv_columns(path, body, head, line)


def csv_text(path: str | Path) -> str:
    """All of a CSV file."""
    with reading(path), open_bytes(path) as stream:
        text = unified(stream.read().decode("utf-8-sig"))
    if not text.strip():
        raise DataError(f"{path} is empty")
    return text


def csv_columns(
    path: str | Path, body: str, head: CsvHead, line: int, text: int | None = None
) -> list[Any]:
    """Columns of some lines, the first of them number ``line``; ``text`` is one kept as it is."""
    refuse_zero_bytes(path, body)
    try:
        if text is not None:
            raise ValueError
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(
                io.StringIO(body), delimiter=head.delimiter, ndmin=2, comments=None, quotechar='"'
            )
        if table.shape[1] != head.width:
            raise ValueError
        return list(table.T)
    except ValueError:
        return _mixed(path, body, head, line, text)


def refuse_zero_bytes(path: str | Path, text: str) -> None:
    """Refuse what no CSV file holds: a binary file with its name."""
    if "\0" in text:
        raise DataError(f"{path} is not a CSV file: it holds zero bytes")


def csv_rows(path: str | Path, body: str, head: CsvHead, line: int = 1) -> list[list[str]]:
    """Fields of each record; a broken one is named by its line, the first being ``line``."""
    refuse_zero_bytes(path, body)
    rows = []
    reader = csv.reader(io.StringIO(body), delimiter=head.delimiter, strict=True)
    try:
        for row in reader:
            if not row:
                continue
            if len(row) != head.width:
                where = line + reader.line_num - 1
                hint = ": does a line come before the names?" if head.width == 1 else ""
                raise DataError(f"{path}, line {where}: {len(row)} fields, the first line has "
                                f"{head.width}{hint}")  # fmt: skip
            rows.append(row)
    except csv.Error as error:
        where = line + reader.line_num - 1
        raise DataError(f"{path}, line {where}: {csv_error(error)}") from None
    return rows


def _mixed(path: str | Path, body: str, head: CsvHead, line: int, text: int | None) -> list[Any]:
    """Columns one by one, where some hold text."""
    rows = csv_rows(path, body, head, line)
    columns: list[Any] = []
    for k, fields in enumerate(zip(*rows, strict=True)):
        try:
            if k == text or not numbers_alone(fields):
                raise ValueError
            columns.append(np.array(fields, dtype=float))
        except ValueError:
            columns.append(np.array([field.strip() for field in fields], dtype=str))
    return columns


def read_parquet(path: str | Path) -> tuple[list[str], list[Any]]:
    """Read the columns of a Parquet file; needs pyarrow (``pip install 'spd1[parquet]'``)."""
    table = open_parquet(path)
    return list(table.column_names), arrow_columns(path, table)


def open_parquet(path: str | Path) -> Any:
    """A Parquet file as a pyarrow table."""
    pyarrow, parquet = need_pyarrow()
    with reading(path):
        if not Path(path).exists():
            raise FileNotFoundError(path)
        try:
            return parquet.read_table(path)
        except pyarrow.lib.ArrowException as error:
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(f"{path} is not a Parquet file ({first})") from None


def arrow_columns(path: str | Path, table: Any) -> list[Any]:
    """Columns of a pyarrow table as arrays, numbers or text."""
    types = need_pyarrow()[0].types
    columns: list[Any] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count:
            raise DataError(f"{path}: column {name!r} has {column.null_count} missing values")
        kind = column.type
        if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
            columns.append(column.to_numpy())
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind):
            columns.append(np.array(column.to_pylist(), dtype=str))
        else:
            raise DataError(f"{path}: column {name!r} has type {kind}: numbers only")
    return columns


def write_csv(path: str | Path, data: Data) -> None:
    """Write features and, last, the target, with a line of names."""
    names, columns = _table(data)
    with replacing(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        text.flush()
        text.detach()


def write_parquet(path: str | Path, data: Data) -> None:
    """Write features and, last, the target; needs pyarrow (``pip install 'spd1[parquet]'``)."""
    pyarrow, parquet = need_pyarrow()
    names, columns = _table(data)
    with replacing(path) as stream:
        parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), stream)


def _table(data: Data) -> tuple[list[str], list[np.ndarray]]:
    A = np.asarray(data.A)
    names = list(data.names or [f"x{j + 1}" for j in range(A.shape[1])])
    columns = list(A.T)
    if data.b is not None:
        target = data.target or "target"
        while target in names:
            target += "_"
        names.append(target)
        columns.append(np.asarray(data.b))
    return names, columns


def need_pyarrow() -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, or the extra that has them."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(install("Parquet files need pyarrow", "parquet")) from None
    return pyarrow, parquet
