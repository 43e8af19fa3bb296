"""From a table to features: text columns one-hot, missing values filled in; kept as JSON.

scikit-learn's ``SimpleImputer`` and ``OneHotEncoder`` do the work. What they have learnt is a
number or a list of words a column: that is what a model file keeps, and no code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import DataError, ParameterError, suggestion
from .columns import (
    NO_WORD,
    Column,
    are_words,
    as_numbers,
    as_words,
    learn_number,
    learn_words,
    number_block,
    one_hot,
    shown,
)

__all__ = ["FILLS", "Column", "Recipe", "Table", "learn_recipe"]

FILLS = ("refuse", "mean", "median", "most_frequent")
FULL_ENOUGH = 0.3  # density from which on features are kept dense, as ColumnTransformer does


class Table(NamedTuple):
    """Columns of a file as they stand: floats with NaN, or text with '', where a value is missing.

    ``header`` says whether the file has names; otherwise they are numbers, '0', '1', ...
    """

    names: list[str]
    columns: list[np.ndarray]
    header: bool = True

    def column(self, name: str) -> np.ndarray:
        """The values of a column."""
        return self.columns[self.names.index(name)]

    def rows(self, which: np.ndarray) -> Table:
        """Some of the rows."""
        return self._replace(columns=[column[which] for column in self.columns])


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table become features, learnt on the training rows.

    Attributes
    ----------
    columns : list of Column, in the order of the features
    file_columns : names of all columns of the training file
    target : name of the column with the target
    weight : name of the column with the weights of the rows, or None
    missing : how missing values are filled in: one of ``FILLS``
    sparse : whether the features are kept sparse
    header : whether the training file had names; else columns are '0', '1', ...
    """

    columns: list[Column]
    file_columns: list[str]
    target: str
    weight: str | None = None
    missing: str = "refuse"
    sparse: bool = False
    header: bool = True

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.columns for name in column.features]

    def named(self, table: Table, path: Any) -> Table:
        """A table without names gets those of the training file, with or without the target."""
        if table.header:
            return table
        width, without = len(table.names), [n for n in self.file_columns if n != self.target]
        for names in (self.file_columns, without):
            if width == len(names):
                return table._replace(names=list(names))
        raise DataError(
            f"{path} has {width} columns without names, the model was trained on "
            f"{len(self.file_columns)} with the target"
        )

    def features(
        self, table: Table, path: Any, say: Callable[[str], Any] | None = None
    ) -> np.ndarray | sp.csr_array:
        """The features of a table; ``say`` is told which words are new."""
        lacking = [c.name for c in self.columns if c.name not in table.names]
        if lacking:
            more = f" (and {len(lacking) - 1} more: {shown(lacking[1:])})" if lacking[1:] else ""
            near = suggestion(lacking[0], [n for n in table.names if n not in self.file_columns])
            raise DataError(
                f"{path} has no column {lacking[0]!r}, which the model was trained on{more}"
                + (f"; {near.strip()}" if near else "")
            )
        blocks: list[Any] = []
        numbers: list[tuple[Column, np.ndarray]] = []
        for column in self.columns:
            values = table.column(column.name)
            if column.categories is None:
                numbers.append((column, as_numbers(column, values, path)))
                continue
            blocks += number_block(numbers, self.missing)
            numbers = []
            blocks.append(one_hot(column, as_words(column, values, path), path, say))
        blocks += number_block(numbers, self.missing)
        if len(blocks) == 1 and not self.sparse:
            return blocks[0].toarray() if sp.issparse(blocks[0]) else np.asarray(blocks[0])
        joined = sp.csr_array(sp.hstack(blocks, format="csr"))
        return joined if self.sparse else joined.toarray()

    def to_json(self) -> dict[str, Any]:
        """Plain values that ``from_json`` reads."""
        kept = ("file_columns", "target", "weight", "missing", "sparse", "header")
        about = {name: getattr(self, name) for name in kept}
        return about | {"columns": [list(column) for column in self.columns]}

    @classmethod
    def from_json(cls, about: dict[str, Any]) -> Recipe:
        """Undo ``to_json``; a ValueError says what is wrong."""
        columns = [Column(*fields) for fields in about["columns"]]
        recipe = cls(
            columns, about["file_columns"], about["target"], about["weight"], about["missing"],
            about["sparse"], about["header"],
        )  # fmt: skip
        for name, fill, words in columns:
            right = isinstance(name, str) and (words is None or are_words(words))
            kinds = (float, int) if words is None else (str,)
            if not right or (fill is not None and not isinstance(fill, kinds)):
                raise ValueError(f"the recipe of column {str(name)[:40]!r} makes no sense")
        plain = are_words(recipe.file_columns) and isinstance(recipe.target, str)
        plain = plain and isinstance(recipe.weight, str | None) and isinstance(recipe.sparse, bool)
        plain = plain and isinstance(recipe.header, bool)
        if not plain or recipe.missing not in FILLS or not columns:
            raise ValueError("the recipe makes no sense")
        return recipe

    def sentences(self) -> list[str]:
        """What is done to the columns, in words."""
        said = []
        words = [c for c in self.columns if c.categories is not None]
        if words:
            counts = [f"{c.name} ({len(c.categories or [])})" for c in words]
            said.append(f"Text columns, one feature per word: {shown(counts, 8)}")
        if self.missing != "refuse":
            rest = "text by its most frequent word" if self.missing == "most_frequent" else (
                f"text by the word {NO_WORD}"
            )  # fmt: skip
            said.append(f"Missing numbers are filled in by the {self.missing} of training, {rest}")
        if self.weight is not None:
            said.append(f"Rows have the weights of column {self.weight!r}")
        return said


def learn_recipe(
    table: Table,
    path: Any,
    target: str,
    *,
    weight: str | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    missing: str = "refuse",
    most_words: int = 100,
) -> Recipe:
    """Learn how the columns of a table become features.

    Parameters
    ----------
    table : Table
        The rows to learn from.
    path : where it comes from, for messages
    target : name of the target column
    weight : name of the column with weights, optional
    drop : names of columns to leave out
    text : names of columns whose numbers are words, such as codes
    missing : one of ``FILLS``
    most_words : a text column with more different words is refused

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(["age", "city", "ill"], [np.array([30.0, np.nan, 50.0]),
    ...     np.array(["Bern", "Rome", ""]), np.array(["no", "yes", "no"])])
    >>> recipe = learn_recipe(table, "x.csv", "ill", missing="mean")
    >>> recipe.names
    ['age', 'city=(missing)', 'city=Bern', 'city=Rome']
    >>> recipe.features(table, "x.csv")[1]
    array([40.,  0.,  0.,  1.])
    """
    if missing not in FILLS:
        near = suggestion(missing, FILLS, {"mode": "most_frequent", "none": "refuse"})
        raise ParameterError(f"--missing {missing}: {near}choose from {', '.join(FILLS)}")
    for option, names in (("--drop", drop), ("--text", text)):
        for name in names:
            _find(table, path, name, option)
    aside = {target, weight, *drop}
    used = [name for name in table.names if name not in aside]
    if not used:
        raise DataError(f"{path} has no features left beside the target")
    columns, wrong = [], []
    for name in used:
        values = table.column(name)
        try:
            if name in text or values.dtype.kind in "US":
                columns.append(learn_words(Column(name), values, path, missing, most_words))
            else:
                columns.append(learn_number(Column(name), values, path, missing))
        except DataError as error:
            wrong.append(str(error))
    if wrong:  # all of it at once: who mends one would meet the next
        raise DataError("\n".join(wrong))
    width = sum(len(column.features) for column in columns)
    sparse = len(columns) < FULL_ENOUGH * width  # a text column has one entry a row
    return Recipe(columns, list(table.names), target, weight, missing, sparse, table.header)


def _find(table: Table, path: Any, name: str, option: str) -> None:
    if name not in table.names:
        near = suggestion(name, table.names)
        raise DataError(
            f"{option} {name}: {near}{path} has no such column, it has {shown(table.names, 8)}"
        )
