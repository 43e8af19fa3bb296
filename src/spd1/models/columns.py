"""One column of a table: what is learnt of it, and the features it becomes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError

__all__ = [
    "NO_WORD",
    "Column",
    "are_words",
    "dropping",
    "learn_number",
    "learn_words",
    "shown",
    "truths",
]

NO_WORD = "(missing)"  # the category of text that is not there
SHOWN_WORDS = 4  # of a message


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


def dropping(name: str) -> str:
    """The option that leaves a column out, as a shell wants it.

    Examples
    --------
    >>> print(dropping("income, yearly"))
    --drop '"income, yearly"'
    """
    if "," in name or '"' in name:
        name = '"' + name.replace('"', '""') + '"'
    return f"--drop {shlex.quote(name)}"


def learn_number(column: Column, values: np.ndarray, path: Any, missing: str) -> Column:
    """A column of numbers: what takes the place of a missing one."""
    from sklearn.impute import SimpleImputer

    values = as_numbers(column._replace(fill=0.0), values, path)
    gone = np.isnan(values)
    if np.all(gone):
        raise DataError(f"{path}: column {column.name!r} is empty: {dropping(column.name)}")
    if missing == "refuse":
        as_numbers(column, values, path)
        return column
    learnt = SimpleImputer(strategy=missing).fit(values[:, None]).statistics_[0]
    return column._replace(fill=float(learnt))


def learn_words(column: Column, values: np.ndarray, path: Any, missing: str, most: int) -> Column:
    """A column of text: its words, and what takes the place of a missing one."""
    from sklearn.impute import SimpleImputer

    filling = column._replace(fill=None if missing == "refuse" else NO_WORD)
    words = as_words(filling, values, path)
    if missing == "most_frequent":
        there = as_words(column._replace(fill=""), values, path)[:, None].astype(object)
        if np.all(there == ""):
            raise DataError(f"{path}: column {column.name!r} is empty: {dropping(column.name)}")
        learnt = SimpleImputer(missing_values="", strategy=missing).fit(there).statistics_[0]
        filling = filling._replace(fill=str(learnt))
        words = as_words(filling, values, path)
    found: list[str] = np.unique(words).tolist()
    if len(found) > most:
        raise DataError(
            f"{path}: column {column.name!r} holds {len(found):,} different texts in "
            f"{len(words):,} rows ({shown(found)}): leave it out with "
            f"{dropping(column.name)}, "
            f"or allow it with --max-categories {len(found)}"
        )
    return filling._replace(categories=found)


def as_numbers(column: Column, values: np.ndarray, path: Any) -> np.ndarray:
    """Numbers, NaN where they are missing; refused where that, or text, can't be."""
    name = column.name
    if values.dtype.kind in "US":
        values = truths(values)
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
        f"median (or mean, most_frequent) to fill them in, or with {dropping(name)}"
    )


def truths(words: np.ndarray) -> np.ndarray:
    """True and False as the 1 and 0 that they are in Parquet; other words as they are.

    Examples
    --------
    >>> truths(np.array(["True", "", "false"])), truths(np.array(["True", "maybe"]))
    (array([ 1., nan,  0.]), array(['True', 'maybe'], dtype='<U5'))
    """
    known = {"true": 1.0, "false": 0.0, "": np.nan}
    found = [known.get(word.lower()) for word in words.tolist()]
    return words if None in found else np.array(found, dtype=float)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == ""
    return "_" not in text  # Python would read 1_000 as a number, and codes look like that


def as_words(column: Column, values: np.ndarray, path: Any) -> np.ndarray:
    if values.dtype.kind not in "US":
        values = np.array(["" if np.isnan(v) else f"{v:.12g}" for v in values.astype(float)])
    gone = np.flatnonzero(values == "")
    if not len(gone):
        return values
    if column.fill is None:
        raise DataError(_refusal(path, column.name, gone))
    return np.where(values == "", str(column.fill), values)


def number_block(numbers: list[tuple[Column, np.ndarray]], missing: str) -> list[np.ndarray]:
    """Columns of numbers, missing ones filled in."""
    if not numbers:
        return []
    block = np.column_stack([values for _, values in numbers])
    if missing == "refuse" or not np.any(np.isnan(block)):
        return [block]
    from sklearn.impute import SimpleImputer

    learnt = np.array([[column.fill for column, _ in numbers]], dtype=float)
    return [np.asarray(SimpleImputer(strategy=missing).fit(learnt).transform(block))]


def one_hot(column: Column, words: np.ndarray, path: Any, say: Callable[[str], Any] | None) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    known = np.array(column.categories, dtype=object)
    new = np.setdiff1d(words, np.array(column.categories))
    if len(new) and say is not None:
        count = int(np.isin(words, new).sum())
        say(
            f"{path}: column {column.name!r} has words the model has not seen, in {count:,} "
            f"{'row' if count == 1 else 'rows'}: "
            f"{shown(new.tolist())}; they count as none of its {len(known)} words"
        )
    encoder = OneHotEncoder(categories=[known], handle_unknown="ignore", dtype=np.float64)
    return encoder.fit(known[:1, None]).transform(words.astype(object)[:, None])


def are_words(value: Any) -> bool:
    """Whether a value of JSON is a list of text that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def shown(words: Sequence[str], most: int = SHOWN_WORDS) -> str:
    """Some words with commas between."""
    return ", ".join(word[:30] for word in words[:most]) + (", ..." if len(words) > most else "")
