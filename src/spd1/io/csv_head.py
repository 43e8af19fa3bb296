"""How a CSV file begins: its delimiter, the names of its columns, and where its rows are."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import DataError

__all__ = ["CsvHead", "csv_error", "csv_head", "is_number", "numbers_alone", "unified"]

DELIMITERS = ",;\t"
BEGINNING = 2**16  # characters in which the first line is looked for
QUOTED = re.compile(r'(?:^|(?<=[,;\t\n]))"(?:[^"]|"")*"', re.MULTILINE)
SPREADSHEET = re.compile(r'"?sep=(.)"?\r?\n')  # a line for Excel alone: which delimiter it is


class CsvHead(NamedTuple):
    """What the first line of a CSV file tells: names, if it has some, width and delimiter.

    It stands at ``begin`` in the text, and what follows it at ``after``; ``line`` and
    ``line_after`` are the numbers of these lines.
    """

    names: list[str] | None
    width: int
    delimiter: str
    begin: int = 0
    after: int = 0
    line: int = 1
    line_after: int = 2

    @property
    def rows(self) -> tuple[int, int]:
        """Where the rows begin, and the number of that line."""
        return (self.after, self.line_after) if self.names else (self.begin, self.line)


def unified(text: str) -> str:
    r"""Text whose lines end with a line feed, where they end with returns alone, as on old Macs.

    Examples
    --------
    >>> unified("a,b\r1,2\r")
    'a,b\n1,2\n'
    """
    return text if "\n" in text else text.replace("\r", "\n")


def csv_head(path: str | Path, text: str, delimiter: str | None = None) -> CsvHead:
    r"""Look at the first line, which may go over several: a name in quotes may hold line ends.

    Lines that are empty, or a line ``sep=;`` as Excel wants it, may come before. A name that is
    not there becomes ``Unnamed: 0``, with the number of the column, as in pandas.

    Examples
    --------
    >>> csv_head("x.csv", "sep=;\nage;\"a,b\";\n1;2;3\n")[:3]
    (['age', 'a,b', 'Unnamed: 2'], 3, ';')
    """
    begin = len(text) - len(text.lstrip("\r\n"))
    told = SPREADSHEET.match(text, begin)
    if told and delimiter is None:
        delimiter, begin = told[1], told.end()
    if delimiter is None:
        delimiter = _delimiter(text[begin : begin + BEGINNING])
    ends = [begin]
    try:
        reader = csv.reader(_lines(text, ends), delimiter=delimiter, strict=True)
        fields = [field.strip() for field in next(reader, [])]
    except csv.Error as error:
        raise DataError(f"{path}, line 1: {csv_error(error)}") from None
    names = None
    if not all(is_number(field) for field in fields):
        names = [name or f"Unnamed: {k}" for k, name in enumerate(fields)]
    line = 1 + text.count("\n", 0, begin)
    after = line + text.count("\n", begin, ends[-1])
    return CsvHead(names, len(fields), delimiter, begin, ends[-1], line, after)


def _delimiter(text: str) -> str:
    """One that two lines have equally often if there is such a one; of these the most frequent."""
    first, second, *_ = [*QUOTED.sub("", text).split("\n", 2), ""]

    def likely(one: str) -> tuple[bool, int]:
        return 0 < first.count(one) == second.count(one), first.count(one)

    return max(DELIMITERS, key=likely)


def csv_error(error: csv.Error) -> str:
    """What is wrong with a line, and what to do."""
    what = str(error)
    if what == "unexpected end of data":
        return "the file ends inside quotation marks: one is opened and never closed"
    if what.startswith("new-line character"):
        return "a return without a line feed: save the file with one kind of line ends"
    return what


def _lines(text: str, ends: list[int]) -> Iterator[str]:
    """Lines of a text from the last of ``ends`` on; where each of them ends is added there."""
    while ends[-1] < len(text):
        begin = ends[-1]
        ends.append(text.find("\n", begin) + 1 or len(text))
        yield text[begin : ends[-1]]


def is_number(field: str) -> bool:
    """Whether a field of a file is one, NaN and infinity included; 1_000 is a word.

    Examples
    --------
    >>> is_number("1e3"), is_number("1_000")
    (True, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field


def numbers_alone(fields: tuple[str, ...] | list[str]) -> bool:
    """Whether no field has an underscore, which Python reads as part of a number: codes do."""
    return not any("_" in field for field in fields)
