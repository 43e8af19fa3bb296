"""CSV and Parquet: one column is the target, all others are features, all of them numbers."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError, install
from ..files import Data, open_bytes, reading, replacing

__all__ = ["read_csv", "read_parquet", "split_target", "write_csv", "write_parquet"]

DELIMITERS = ",;\t"


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
    with reading(path), open_bytes(path) as stream:
        text = stream.read().decode("utf-8-sig")
    if not text.strip():
        raise DataError(f"{path} is empty")
    start = text.find("\n") + 1 or len(text)
    head = csv_head(text[:start], delimiter)
    body = text[start:] if head.names else text
    if not body.strip():
        raise DataError(f"{path} has a first line with names and no rows")
    return head.names, csv_columns(path, body, head, 2 if head.names else 1)


class CsvHead(NamedTuple):
    """What the first line of a CSV file tells: names, if it has some, width and delimiter."""

    names: list[str] | None
    width: int
    delimiter: str


def csv_head(first: str, delimiter: str | None = None) -> CsvHead:
    """Look at the first line."""
    delimiter = delimiter or max(DELIMITERS, key=first.count)
    head = next(csv.reader([first.rstrip("\r\n")], delimiter=delimiter))
    names = None if all(_is_number(field) for field in head) else [f.strip() for f in head]
    return CsvHead(names, len(head), delimiter)


def csv_columns(
    path: str | Path, body: str, head: CsvHead, line: int, text: int | None = None
) -> list[Any]:
    """Columns of some lines, the first of them number ``line``; ``text`` is one kept as it is."""
    if "\0" in body:
        raise DataError(f"{path} is not a CSV file: it holds zero bytes")
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
        return _mixed(path, body, head.delimiter, head.width, line, text)


def _mixed(
    path: str | Path, body: str, delimiter: str, width: int, line: int, text: int | None
) -> list[Any]:
    """Line by line, for columns of text and for a broken line's number."""
    rows = []
    reader = csv.reader(io.StringIO(body), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if not row:
                continue
            if len(row) != width:
                where = line + reader.line_num - 1
                raise DataError(f"{path}, line {where}: {len(row)} fields, the first line has "
                                f"{width}")  # fmt: skip
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"{path}, line {line + reader.line_num - 1}: {error}") from None
    columns: list[Any] = []
    for k, fields in enumerate(zip(*rows, strict=True)):
        try:
            if k == text:
                raise ValueError
            columns.append(np.array(fields, dtype=float))
        except ValueError:
            columns.append(np.array([field.strip() for field in fields], dtype=str))
    return columns


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def read_parquet(path: str | Path) -> tuple[list[str], list[Any]]:
    """Read the columns of a Parquet file; needs pyarrow (``pip install 'spd1[parquet]'``)."""
    pyarrow, parquet = need_pyarrow()
    with reading(path):
        if not Path(path).exists():
            raise FileNotFoundError(path)
        try:
            table = parquet.read_table(path)
        except pyarrow.lib.ArrowException as error:
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(f"{path} is not a Parquet file ({first})") from None
    return list(table.column_names), arrow_columns(path, table)


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


def split_target(
    path: str | Path,
    names: list[str] | None,
    columns: Sequence[Any],
    target: str | int | None = None,
    features: list[str] | None = None,
    count: int | None = None,
    first: int = 0,
) -> Data:
    """Split columns into features and the target.

    Parameters
    ----------
    path : where they come from, for messages
    names : names of the columns, or None
    columns : arrays
    target : name or number (from 0; -1 is the last) of the target column; default: the last
    features : names that a model was trained on: these columns, in this order, and a target if
        it is there
    count : number of features that a model was trained on, where there are no names: with as
        many columns in the file there is no target
    first : row of the file that the columns begin with, for messages
    """
    if names and len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{path} has two columns called {twice!r}")
    if features and names:
        return _by_name(path, names, columns, features, target)
    if count is not None and len(columns) == count:
        return Data(_matrix(path, names, columns, range(len(columns))), None, names)
    where = target_position(path, names, len(columns), target)
    rest = [k for k in range(len(columns)) if k != where]
    if not rest:
        raise DataError(f"{path} has one column: there is nothing beside the target")
    A = _matrix(path, names, columns, rest, first)
    kept = [names[k] for k in rest] if names else None
    return Data(A, np.asarray(columns[where]), kept, names[where] if names else None)


def _by_name(
    path: str | Path,
    names: list[str],
    columns: Sequence[Any],
    features: list[str],
    target: str | int | None,
) -> Data:
    missing = [name for name in features if name not in names]
    if missing:
        raise DataError(f"{path} has no column {missing[0]!r}, which the model was trained on"
                        + (f" (and {len(missing) - 1} more)" if missing[1:] else ""))  # fmt: skip
    A = _matrix(path, names, columns, [names.index(name) for name in features])
    b = np.asarray(columns[names.index(target)]) if target in names else None
    return Data(A, b, list(features), str(target) if b is not None else None)


def target_position(
    path: str | Path, names: list[str] | None, width: int, target: str | int | None
) -> int:
    """Number of the target column; the last where nothing is said."""
    target = -1 if target is None else target
    if names and target in names:
        return names.index(target)
    try:
        number = int(target)
    except ValueError:
        there = f"it has {', '.join(names[:8])}" if names else "its first line has no names"
        raise DataError(f"{path} has no column {target!r}: {there}") from None
    if not -width <= number < width:
        raise DataError(f"{path} has no column number {number}: it has {width}, counted from 0")
    return number % width


def _matrix(
    path: str | Path,
    names: list[str] | None,
    columns: Sequence[Any],
    which: Sequence[int] | range,
    first: int = 0,
) -> np.ndarray:
    single = all(columns[k].dtype == np.float32 for k in which)
    A = np.empty((len(columns[0]), len(which)), dtype=np.float32 if single else np.float64)
    for place, k in enumerate(which):
        column = columns[k]
        shown = repr(names[k]) if names else f"number {k}"
        if column.dtype.kind == "U":
            row = next((i for i, value in enumerate(column) if not _is_number(value)), 0)
            what = f"the text {column[row][:30]!r}" if column[row] else "an empty field"
            raise DataError(f"{path}: column {shown} has {what} in row {first + row + 1}: features "
                            "are numbers only")  # fmt: skip
        bad = np.flatnonzero(~np.isfinite(column.astype(float)))
        if len(bad):
            row = int(bad[0])
            raise DataError(f"{path}: column {shown} has {column[row]} in row {first + row + 1}")
        A[:, place] = column
    return A


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
