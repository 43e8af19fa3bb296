"""CSV and Parquet files as people have them: columns of text, missing values.

Recipes (``models/recipe.py``) make features of such a table. Where all fields are numbers,
``read_data`` needs none: ``tables``, then ``split_target``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from ..models.recipe import Table
from .csv_head import csv_head, numbers_alone
from .tables import NO_VALUE, csv_rows, csv_text, need_pyarrow, open_parquet

__all__ = ["read_table"]

DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?")  # of text: then one at least has a comma


def read_table(
    path: str | Path, kind: str, text: Collection[str] = (), header: bool = True
) -> Table:
    r"""Read all columns: numbers where every value that is there is one, text elsewhere.

    Empty fields, NA, N/A, NaN, null, None and ? are missing values.

    Parameters
    ----------
    path : str or Path
    kind : {"csv", "parquet"}
    text : names of columns that are read as text, also where they look like numbers
    header : whether a first line of a CSV file with anything but numbers holds names

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "data.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("age,city\n33,Bern\n,Rome\n")
    >>> table = read_table(path, "csv")
    >>> table.columns[0].tolist(), table.columns[1].tolist()
    ([33.0, nan], ['Bern', 'Rome'])
    """
    table = _read_csv(path, text, header) if kind == "csv" else _read_parquet(path, text)
    twice = [name for k, name in enumerate(table.names) if name in table.names[:k]]
    if twice:
        raise DataError(f"{path} has two columns called {twice[0]!r}: rename one")
    return table


def _read_csv(path: str | Path, text: Collection[str], header: bool) -> Table:
    content = csv_text(path)
    head = csv_head(path, content)
    head = head if header else head._replace(names=None)
    start, line = head.rows
    rows = csv_rows(path, content[start:], head, line)
    names = head.names or [str(k) for k in range(head.width)]
    if not rows:
        raise DataError(f"{path} has a first line with names and no rows")
    columns = [
        _values(fields, name in text)
        for name, fields in zip(names, zip(*rows, strict=True), strict=True)
    ]
    for name, values in zip(names, columns, strict=True):
        if name not in text:
            _refuse_decimal_commas(path, name, values)
    return Table(names, columns, head.names is not None)


def _refuse_decimal_commas(path: str | Path, name: str, values: np.ndarray) -> None:
    """Numbers with a comma would be words, each of them a feature: nobody means that."""
    there = values[values != ""] if values.dtype.kind == "U" else values[:0]
    if len(there) and all(DECIMAL_COMMA.fullmatch(value) for value in there.tolist()):
        raise DataError(
            f"{path}: column {name!r} has decimal commas, such as {there[0]}, or commas between "
            "thousands: write decimal points, and nothing between thousands"
        )


def _values(fields: tuple[str, ...], text: bool) -> np.ndarray:
    """Numbers if all that are there are, or text."""
    stripped = [field.strip() for field in fields]
    there = ["" if field.lower() in NO_VALUE else field for field in stripped]
    if not text and numbers_alone(there):
        try:
            return np.array([field or "nan" for field in there], dtype=float)
        except ValueError:
            pass
    return np.array(there, dtype=str)


def _read_parquet(path: str | Path, text: Collection[str]) -> Table:
    table = open_parquet(path)
    if not table.num_rows:
        raise DataError(f"{path} has no rows")
    columns = [
        _arrow_values(name, column, name in text)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return Table(list(table.column_names), columns)


def _arrow_values(name: str, column: Any, text: bool) -> np.ndarray:
    """Numbers with NaN for null, or text; what is neither, such as a date, as its text."""
    types = need_pyarrow()[0].types
    kind = column.type
    numeric = types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
    if numeric and not column.null_count and not text:
        return np.asarray(column.to_numpy(), dtype=float)
    if (numeric or types.is_decimal(kind)) and not text:
        return np.array([np.nan if v is None else float(v) for v in column.to_pylist()])
    words = ["" if v is None else str(v).strip() for v in column.to_pylist()]
    if not text and not any(words):
        return np.full(len(words), np.nan)
    return np.array(words, dtype=str)
