"""Data files as commands read them: tables of real life, weights, rows held out."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.store import Store
from ..errors import DataError, IncompatibleError, ParameterError, suggestion
from ..files import Data, format_of
from ..io import Model, read_data
from ..io.csv_head import is_number
from ..io.mixed_tables import read_table
from ..io.split_target import refuse_missing_target, target_position
from ..models.columns import shown
from ..models.recipe import Recipe, Table, learn_recipe
from . import options as o
from .asked import TABLES, refuse_reading
from .doubts import doubts_of_data, doubts_of_table
from .exits import notes

__all__ = ["Prepared", "TableOptions", "is_balanced", "note", "prepared", "read_for", "words_of"]


class TableOptions(NamedTuple):
    """Options that only tables have."""

    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    missing: str = "refuse"
    weight: str | None = None
    most_words: int = 100
    header: bool = True

    @property
    def asked(self) -> list[str]:
        """Those that were given."""
        given = {
            "--drop": bool(self.drop), "--text": bool(self.text), "--weight": bool(self.weight),
            "--missing": self.missing != "refuse", "--no-header": not self.header,
        }  # fmt: skip
        return [name for name, used in given.items() if used]


class Prepared(NamedTuple):
    """Rows to train on, how they were made, and rows that were held out.

    ``table`` and ``learn``: the rows as the file has them, and how to learn a recipe from some.
    """

    data: Data
    weight: np.ndarray | None = None
    recipe: Recipe | None = None
    held: Data | None = None
    table: Table | None = None
    learn: Callable[[Table], Recipe] | None = None

    def features(self, train: np.ndarray, test: np.ndarray, path: Path) -> tuple[Any, Any]:
        """Features of some rows and of others, by what the first alone tell of the columns."""
        if self.table is None or self.learn is None:
            return self.data.A[train], self.data.A[test]
        mine, others = self.table.rows(train), self.table.rows(test)
        recipe = self.learn(mine)
        return recipe.features(mine, path), recipe.features(others, path)


def words_of(values: Sequence[str] | None) -> list[str]:
    """Names with commas between, in one option or several; quotes around names that hold commas.

    Examples
    --------
    >>> words_of(["name, ticket", "cabin", '"income, yearly"'])
    ['name', 'ticket', 'cabin', 'income, yearly']
    """
    rows = csv.reader(values or (), skipinitialspace=True)
    return [word.strip() for row in rows for word in row if word.strip()]


def is_balanced(class_weight: str | None) -> bool:
    """The option --class-weight."""
    if class_weight not in (None, "balanced"):
        near = suggestion(class_weight, ["balanced"])
        raise ParameterError(f"--class-weight {class_weight}: {near}'balanced' is all there is")
    return class_weight == "balanced"


def note(text: str) -> None:
    """A remark on standard error."""
    console = notes()
    console.print(text, markup=False, emoji=False, soft_wrap=not console.is_terminal)


def _say(remarks: Sequence[str]) -> None:
    for remark in remarks:
        note(remark)


def prepared(
    path: Path,
    reading: tuple[str | None, str | None, int | None, bool | None, bool],
    table: TableOptions,
    fraction: float | None = None,
    seed: int = 0,
    classes: bool = True,
) -> Prepared:
    """Read a file to train on.

    ``reading`` are the options --format, --target, --features, --zero-based and --no-check. With
    a ``fraction`` some rows are held out; what is learnt from columns is learnt from the others.
    """
    if fraction is not None and not 0 < fraction < 1:
        raise ParameterError(f"--train-fraction must be between 0 and 1, got {fraction:g}")
    kind = format_of(path, reading[0])
    refuse_reading(path, reading[0])
    if not table.asked:
        try:
            data = o.read_file(path, *reading)
        except DataError:
            if kind not in TABLES:
                raise
            found = _from_table(path, kind, reading[1], table, fraction, seed, classes)
            if found is None:
                raise
            return found
        _say(doubts_of_data(path, data) if kind in TABLES else [])
        return _split(path, data, fraction, seed, classes)
    found = _from_table(path, kind, reading[1], table, fraction, seed, classes)
    assert found is not None
    return found


def _from_table(
    path: Path,
    kind: str,
    target: str | None,
    options: TableOptions,
    fraction: float | None,
    seed: int,
    classes: bool,
) -> Prepared | None:
    """Features by a recipe; None where a table has nothing that asks for one."""
    table = read_table(path, kind, options.text, options.header)
    header = table.names if table.header else None
    place = target_position(path, header, len(table.names), target)
    name = table.names[place]
    unusual = any(
        column.dtype.kind == "U" or bool(np.any(np.isnan(column)))
        for k, column in enumerate(table.columns)
        if k != place
    )
    if not (unusual or options.asked):
        return None
    _check_aside(path, table.names, name, options, named=target is not None)
    b = table.column(name)
    refuse_missing_target(path, name, b)
    _say(doubts_of_table(path, table, [name, options.weight, *options.drop]))
    train, test = _rows(path, b, fraction, seed, classes)
    weight = None if options.weight is None else _weights(path, options.weight, table)
    kept = table.rows(train)
    learn = partial(
        learn_recipe, path=path, target=name, weight=options.weight, drop=options.drop,
        text=options.text, missing=options.missing, most_words=options.most_words,
    )  # fmt: skip
    recipe = learn(kept)
    data = Data(recipe.features(kept, path), b[train], recipe.names, name)
    held = None
    if test is not None:
        held = Data(recipe.features(table.rows(test), path, note), b[test], recipe.names, name)
    weight = None if weight is None else weight[train]
    return Prepared(data, weight, recipe, held, kept, learn)


def _check_aside(
    path: Path, names: Sequence[str], target: str, options: TableOptions, named: bool
) -> None:
    """Columns that are no features are there, and none of them is the target."""
    weights = [] if options.weight is None else [options.weight]
    for option, columns in (("--weight", weights), ("--drop", options.drop)):
        for column in columns:
            if column == target:
                why = "" if named else ", as the last column is if --target names no other"
                raise DataError(f"{option} {column}: {column!r} is the target{why}")
            if column not in names:
                near = suggestion(column, [other for other in names if other != target])
                raise DataError(
                    f"{option} {column}: {near}{path} has no such column, "
                    f"it has {shown(list(names), 8)}"
                )


def _weights(path: Path, name: str, table: Table) -> np.ndarray:
    values = table.column(name)
    if values.dtype.kind == "U":
        wrong = np.flatnonzero([not is_number(value) for value in values.tolist()])
    else:
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        there = str(values[wrong[0]]) if values.dtype.kind == "U" else f"{values[wrong[0]]:g}"
        what = f"has {there!s}" if there not in ("", "nan") else "has no value"
        raise DataError(
            f"{path}: the weights in column {name!r} must be numbers from 0 on, none missing; row "
            f"{wrong[0] + 1} {what}"
        )
    if not np.any(values):
        raise DataError(f"{path}: the weights in column {name!r} are all zero: no row counts")
    return values


def _split(path: Path, data: Data, fraction: float | None, seed: int, classes: bool) -> Prepared:
    """The same for data that is a matrix already."""
    if fraction is None:
        return Prepared(data)
    if isinstance(data.A, Store):
        raise IncompatibleError(f"{path} is a store: --train-fraction takes data in memory")
    if data.b is None:
        raise DataError("the data has no labels: nothing to learn from")
    train, test = _rows(path, data.b, fraction, seed, classes)
    assert test is not None
    part, held = (data._replace(A=data.A[rows], b=data.b[rows]) for rows in (train, test))
    return Prepared(part, held=held)


def _rows(
    path: Path, b: np.ndarray, fraction: float | None, seed: int, classes: bool
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rows to train on, and rows to judge by; each class in the same shares."""
    everything = np.arange(len(b))
    if fraction is None:
        return everything, None
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(
            everything, train_size=fraction, random_state=seed, stratify=b if classes else None
        )
    except ValueError:
        need = "a row of every class, so every class needs two" if classes else "a row"
        raise DataError(
            f"{path} can't be split by --train-fraction {fraction:g}: each part needs {need}, "
            f"and there are {len(b):,} rows in all; take another share, or none"
        ) from None
    return np.sort(train), np.sort(test)


def read_for(
    model: Model, path: Path, format: str | None, zero: bool | None, no_check: bool = False
) -> tuple[Data, np.ndarray | None]:
    """Read a file for a model, prepared as its training file was; and weights, if it has some."""
    o.refuse_model(path)
    refuse_reading(path, format)
    kind = format_of(path, format)
    if not path.exists():
        raise DataError(f"{path}: no such file")
    recipe = model.recipe
    if recipe is not None and kind not in TABLES:
        words = [column.name for column in recipe.columns if column.categories is not None]
        if words:
            raise DataError(
                f"{path} is {kind} and has no names: the model was trained on a table with columns "
                f"of text, such as {words[0]!r}, and needs CSV or Parquet"
            )
    if recipe is None or kind not in TABLES:
        based: bool | str = "auto" if zero is None else zero
        data = read_data(
            path, format=format, target=model.target, n_features=model.features, zero_based=based,
            features=model.names, check=not no_check,
        )  # fmt: skip
        return data, None
    words = [column.name for column in recipe.columns if column.categories is not None]
    table = recipe.named(read_table(path, kind, words, recipe.header), path)
    A: Any = recipe.features(table, path, note)
    b = table.column(recipe.target) if recipe.target in table.names else None
    if b is not None and np.all(b == "" if b.dtype.kind == "U" else np.isnan(b)):
        b = None  # a column that is there and empty
    weight = None
    if recipe.weight is not None and recipe.weight in table.names:
        weight = _weights(path, recipe.weight, table)
    return Data(A, b, recipe.names, recipe.target), weight
