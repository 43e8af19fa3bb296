"""What looks wrong in a table and may be meant: said on standard error, nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.store import Store
from ..files import Data
from ..io.csv_head import is_number
from ..models.columns import dropping
from ..models.labels import label_text
from ..models.recipe import Table

__all__ = ["doubts_of_classes", "doubts_of_data", "doubts_of_table"]

LEAST_COUNT = 10  # fewer are in order by chance, or typed by hand
MANY_CLASSES = 20  # of numbers: as a rule they are quantities


def doubts_of_table(path: Path, table: Table, aside: Sequence[str | None]) -> list[str]:
    """Of a table as the file has it; ``aside`` are columns that are no features."""
    pairs = list(zip(table.names, table.columns, strict=True))
    counters = [n for n, v in pairs if n not in aside and v.dtype.kind != "U" and counts_rows(v)]
    return [*_of_first_line(path, pairs), *(_counter(path, name) for name in counters)]


def doubts_of_data(path: Path, data: Data) -> list[str]:
    """Of a table that is numbers but for its target."""
    if data.names is None or isinstance(data.A, Store) or sp.issparse(data.A):
        return []
    pairs = list(zip(data.names, data.A.T, strict=True))
    target = [] if data.b is None else [(str(data.target), data.b)]
    counters = [name for name, values in pairs if counts_rows(values)]
    return [*_of_first_line(path, pairs + target), *(_counter(path, name) for name in counters)]


def doubts_of_classes(b: Any, loss: Any, positive: str | None) -> list[str]:
    """Of labels that a classification takes for classes."""
    if loss.label_kind != "sign" or positive is not None or b is None or b.dtype.kind == "U":
        return []
    found = np.unique(b)
    if len(found) <= MANY_CLASSES:
        return []
    shown = ", ".join(label_text(value) for value in found[:4].tolist())
    return [
        f"{len(found):,} different numbers ({shown}, ...) are taken for classes: --loss squared "
        "predicts numbers, --target names another column"
    ]


def counts_rows(values: np.ndarray) -> bool:
    """Whether a column is 0, 1, 2, ... or 1, 2, 3, ...: as a rule the number of the row.

    Examples
    --------
    >>> counts_rows(np.arange(1.0, 30.0)), counts_rows(np.arange(30.0)[::-1])
    (True, False)
    """
    if len(values) < LEAST_COUNT or values[0] not in (0, 1) or values[1] - values[0] != 1:
        return False
    return bool(np.array_equal(values - values[0], np.arange(len(values))))


def _counter(path: Path, name: str) -> str:
    return f"{path}: column {name!r} counts the rows: {dropping(name)} leaves it out"


def _of_first_line(path: Path, pairs: Sequence[tuple[str, np.ndarray]]) -> list[str]:
    """Whether names would fit into their columns: numbers over numbers, words among the words.

    One column of words may hold its own name, such as y with the answers y and n.
    """
    words = [(name, values) for name, values in pairs if values.dtype.kind == "U"]
    own = [name for name, values in words if np.any(values == name)]
    over = [is_number(name) for name, values in pairs if values.dtype.kind != "U"]
    if not own or 2 * len(own) < len(words) or not all(over) or len(own) + len(over) < 2:
        return []
    return [
        f"{path}: the first line is taken for names, and {own[0]!r} stands in column {own[0]!r}, "
        "too: --no-header takes it for a row"
    ]
