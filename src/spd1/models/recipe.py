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

__all__ = ["FILLS", "Column", "Recipe", "Table", "learn_recipe"]

FILLS = ("refuse", "mean", "median", "most_frequent")
NO_WORD = "(missing)"  # the category of text that is not there
FULL_ENOUGH = 0.3  # density from which on features are kept dense, as ColumnTransformer does
SHOWN_WORDS = 4  # words of a message


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


class Column(NamedTuple):
    """How one column becomes features.

    ``fill`` takes the place of a missing value; None: it is refused. ``categories`` are the words
    of a text column, a feature each; None: it holds numbers and is a feature itself.
    """

    name: str
    fill: float | str | None = None
    categories: list[str] | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features it becomes."""
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={word}" for word in self.categories]


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table become features, learnt on the training rows.

    Attributes
    ----------
    columns : list of Column, in the order of the features
    file_columns : names of all columns of the training file
    target : name of the column with the target
    weight : name of the column with the weights of the rows, or None
    balanced : whether classes count the same, however many rows they have
    missing : how missing values are filled in: one of ``FILLS``
    sparse : whether the features are kept sparse
    """

    columns: list[Column]
    file_columns: list[str]
    target: str
    weight: str | None = None
    balanced: bool = False
    missing: str = "refuse"
    sparse: bool = False

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
            more = f" (and {len(lacking) - 1} more: {_shown(lacking[1:])})" if lacking[1:] else ""
            raise DataError(
                f"{path} has no column {lacking[0]!r}, which the model was trained on{more}"
            )
        blocks: list[Any] = []
        numbers: list[tuple[Column, np.ndarray]] = []
        for column in self.columns:
            values = table.column(column.name)
            if column.categories is None:
                numbers.append((column, _as_numbers(column, values, path)))
                continue
            blocks += _number_block(numbers, self.missing)
            numbers = []
            blocks.append(_one_hot(column, _as_words(column, values, path), path, say))
        blocks += _number_block(numbers, self.missing)
        if len(blocks) == 1 and not self.sparse:
            return blocks[0].toarray() if sp.issparse(blocks[0]) else np.asarray(blocks[0])
        joined = sp.csr_array(sp.hstack(blocks, format="csr"))
        return joined if self.sparse else joined.toarray()

    def to_json(self) -> dict[str, Any]:
        """Plain values that ``from_json`` reads."""
        kept = ("file_columns", "target", "weight", "balanced", "missing", "sparse")
        about = {name: getattr(self, name) for name in kept}
        return about | {"columns": [list(column) for column in self.columns]}

    @classmethod
    def from_json(cls, about: dict[str, Any]) -> Recipe:
        """Undo ``to_json``; a ValueError says what is wrong."""
        columns = [Column(*fields) for fields in about["columns"]]
        recipe = cls(
            columns, about["file_columns"], about["target"], about["weight"], about["balanced"],
            about["missing"], about["sparse"],
        )  # fmt: skip
        for name, fill, words in columns:
            right = isinstance(name, str) and (words is None or _are_words(words))
            kinds = (float, int) if words is None else (str,)
            if not right or (fill is not None and not isinstance(fill, kinds)):
                raise ValueError(f"the recipe of column {str(name)[:40]!r} makes no sense")
        plain = _are_words(recipe.file_columns) and isinstance(recipe.target, str)
        if not plain or recipe.missing not in FILLS or not columns:
            raise ValueError("the recipe makes no sense")
        return recipe

    def sentences(self) -> list[str]:
        """What is done to the columns, in words."""
        said = []
        words = [c for c in self.columns if c.categories is not None]
        if words:
            shown = ", ".join(f"{c.name} ({len(c.categories or [])})" for c in words[:8])
            said.append(f"Text columns, a feature a word: {shown}{' ...' if words[8:] else ''}")
        if self.missing != "refuse":
            rest = "text by its most frequent word" if self.missing == "most_frequent" else (
                f"text by the word {NO_WORD}"
            )  # fmt: skip
            said.append(f"Missing numbers are filled in by the {self.missing} of training, {rest}")
        if self.weight is not None:
            said.append(f"Rows have the weights of column {self.weight!r}")
        if self.balanced:
            said.append("Rows of rare classes weigh more: all classes count the same")
        return said


def learn_recipe(
    table: Table,
    path: Any,
    target: str,
    *,
    weight: str | None = None,
    balanced: bool = False,
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
    balanced : whether classes are to count the same
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
    columns = []
    for name in used:
        values = table.column(name)
        if name in text or values.dtype.kind in "US":
            columns.append(_learn_words(Column(name), values, path, missing, most_words))
        else:
            columns.append(_learn_number(Column(name), values, path, missing))
    width = sum(len(column.features) for column in columns)
    sparse = len(columns) < FULL_ENOUGH * width  # a text column has one entry a row
    return Recipe(columns, list(table.names), target, weight, balanced, missing, sparse)


def _find(table: Table, path: Any, name: str, option: str) -> None:
    if name not in table.names:
        near = suggestion(name, table.names)
        raise DataError(f"{option} {name}: {near}{path} has {_shown(table.names, 8)}")


def _learn_number(column: Column, values: np.ndarray, path: Any, missing: str) -> Column:
    from sklearn.impute import SimpleImputer

    values = _as_numbers(column._replace(fill=0.0), values, path)
    gone = np.isnan(values)
    if np.all(gone):
        raise DataError(f"{path}: column {column.name!r} is empty: --drop {column.name}")
    if missing == "refuse":
        _as_numbers(column, values, path)
        return column
    learnt = SimpleImputer(strategy=missing).fit(values[:, None]).statistics_[0]
    return column._replace(fill=float(learnt))


def _learn_words(column: Column, values: np.ndarray, path: Any, missing: str, most: int) -> Column:
    from sklearn.impute import SimpleImputer

    filling = column._replace(fill=None if missing == "refuse" else NO_WORD)
    words = _as_words(filling, values, path)
    if missing == "most_frequent":
        there = _as_words(column._replace(fill=""), values, path)[:, None].astype(object)
        if np.all(there == ""):
            raise DataError(f"{path}: column {column.name!r} is empty: --drop {column.name}")
        learnt = SimpleImputer(missing_values="", strategy=missing).fit(there).statistics_[0]
        filling = filling._replace(fill=str(learnt))
        words = _as_words(filling, values, path)
    found: list[str] = np.unique(words).tolist()
    if len(found) > most:
        raise DataError(
            f"{path}: column {column.name!r} holds {len(found):,} different texts in "
            f"{len(words):,} rows ({_shown(found)}, ...): leave it out with --drop {column.name}, "
            f"or allow it with --max-categories {len(found)}"
        )
    return filling._replace(categories=found)


def _as_numbers(column: Column, values: np.ndarray, path: Any) -> np.ndarray:
    """Numbers, NaN where they are missing; refused where that, or text, can't be."""
    name = column.name
    if values.dtype.kind in "US":
        row = next(i for i, v in enumerate(values.tolist()) if not _is_number(v))
        raise DataError(
            f"{path}: column {name!r} has the text {values[row][:30]!r} in row {row + 1}, and the "
            "model was trained on numbers there"
        )
    values = values.astype(float)
    bad = np.flatnonzero(np.isinf(values))
    if len(bad):
        raise DataError(f"{path}: column {name!r} has {values[bad[0]]} in row {bad[0] + 1}")
    gone = np.flatnonzero(np.isnan(values))
    if len(gone) and column.fill is None:
        raise DataError(_refusal(path, name, gone))
    return values


def _refusal(path: Any, name: str, gone: np.ndarray) -> str:
    many = f" and {len(gone) - 1:,} more" if len(gone) > 1 else ""
    return (
        f"{path}: column {name!r} has no value in row {gone[0] + 1}{many}: train with --missing "
        f"median (or mean, most_frequent) to fill them in, or with --drop {name}"
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def _as_words(column: Column, values: np.ndarray, path: Any) -> np.ndarray:
    if values.dtype.kind not in "US":
        values = np.array(["" if np.isnan(v) else f"{v:.12g}" for v in values.astype(float)])
    gone = np.flatnonzero(values == "")
    if not len(gone):
        return values
    if column.fill is None:
        raise DataError(_refusal(path, column.name, gone))
    return np.where(values == "", str(column.fill), values)


def _number_block(numbers: list[tuple[Column, np.ndarray]], missing: str) -> list[np.ndarray]:
    """Columns of numbers, missing ones filled in."""
    if not numbers:
        return []
    block = np.column_stack([values for _, values in numbers])
    if missing == "refuse" or not np.any(np.isnan(block)):
        return [block]
    from sklearn.impute import SimpleImputer

    learnt = np.array([[column.fill for column, _ in numbers]], dtype=float)
    return [np.asarray(SimpleImputer(strategy=missing).fit(learnt).transform(block))]


def _one_hot(column: Column, words: np.ndarray, path: Any, say: Callable[[str], Any] | None) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    known = np.array(column.categories, dtype=object)
    new = np.setdiff1d(words, np.array(column.categories))
    if len(new) and say is not None:
        count = int(np.isin(words, new).sum())
        say(
            f"{path}: column {column.name!r} has words the model has not seen, in {count:,} rows: "
            f"{_shown(new.tolist())}; they count as none of its {len(known)} words"
        )
    encoder = OneHotEncoder(categories=[known], handle_unknown="ignore", dtype=np.float64)
    return encoder.fit(known[:1, None]).transform(words.astype(object)[:, None])


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _shown(words: Sequence[str], most: int = SHOWN_WORDS) -> str:
    return ", ".join(word[:30] for word in words[:most]) + (", ..." if len(words) > most else "")
