"""From columns to a matrix and a target: features are numbers, all of them there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, suggestion
from ..files import Data
from ..models.columns import shown, truths
from .csv_head import is_number
from .tables import NO_VALUE

__all__ = ["refuse_missing_target", "split_target", "target_position"]


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
        raise DataError(f"{path} has two columns called {twice!r}: rename one")
    if features and names:
        return _by_name(path, names, columns, features, target)
    if count is not None and len(columns) == count:
        return Data(_matrix(path, names, columns, range(len(columns))), None, names)
    where = target_position(path, names, len(columns), target)
    rest = [k for k in range(len(columns)) if k != where]
    if not rest:
        raise DataError(
            f"{path} has one column: there is nothing beside the target; fields of a CSV file are "
            "told apart by commas, semicolons or tabs"
        )
    A = _matrix(path, names, columns, rest, first)
    kept = [names[k] for k in rest] if names else None
    b = np.asarray(columns[where])
    if count is None:  # to learn from
        refuse_missing_target(path, names[where] if names else where, b, first)
    return Data(A, b, kept, names[where] if names else None)


def refuse_missing_target(
    path: str | Path, name: str | int, values: np.ndarray, first: int = 0
) -> None:
    """Refuse a target with missing values: an empty field would be a class of its own.

    ``first`` is the row of the file that the values begin with.
    """
    if values.dtype.kind == "U":
        gone = np.flatnonzero([value.lower() in NO_VALUE for value in values.tolist()])
    else:
        gone = np.flatnonzero(np.isnan(values)) if values.dtype.kind == "f" else np.empty(0, int)
    if len(gone):
        raise DataError(
            f"{path}: the target {name!r} has no value in row {first + gone[0] + 1}"
            + (f" and {len(gone) - 1:,} more" if len(gone) > 1 else "")
            + ": take these rows out, or name another column with --target"
        )


def _by_name(
    path: str | Path,
    names: list[str],
    columns: Sequence[Any],
    features: list[str],
    target: str | int | None,
) -> Data:
    missing = [name for name in features if name not in names]
    if missing:
        near = suggestion(missing[0], [name for name in names if name not in features])
        raise DataError(f"{path} has no column {missing[0]!r}, which the model was trained on"
                        + (f" (and {len(missing) - 1} more)" if missing[1:] else "")
                        + (f"; {near.strip()}" if near else ""))  # fmt: skip
    found = [truths(c) if c.dtype.kind == "U" else c for c in columns]
    A = _matrix(path, names, found, [names.index(name) for name in features])
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
        there = "its columns have no names, so name one by number, from 0"
        if names:
            there = f"{suggestion(str(target), names)}it has {shown(names, 8)}"
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
            row = next((i for i, value in enumerate(column) if not is_number(value)), 0)
            what = f"the text {column[row][:30]!r}" if column[row] else "an empty field"
            raise DataError(f"{path}: column {shown} has {what} in row {first + row + 1}: features "
                            "are numbers only")  # fmt: skip
        bad = np.flatnonzero(~np.isfinite(column.astype(float)))
        if len(bad):
            row = int(bad[0])
            raise DataError(
                f"{path}: column {shown} has {column[row]} in row {first + row + 1}: correct it, "
                "or leave out the row or the column"
            )
        A[:, place] = column
    return A
