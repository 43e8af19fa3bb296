"""CSV and Parquet files of any size, some rows in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from ..errors import DataError
from ..files import Data, open_bytes, reading, share_read
from .csv_head import CsvHead, csv_head, unified
from .split_target import split_target, target_position
from .tables import arrow_columns, csv_columns, need_pyarrow

__all__ = ["TextTargetError", "iter_csv", "iter_parquet"]

TABLE_BYTES = 2**23  # of text, or of a table


class TextTargetError(Exception):
    """A target of numbers went on with text: to be read again as text from its first line."""


def iter_csv(
    path: str | Path,
    target: str | int | None = None,
    count: int | None = None,
    as_text: bool = False,
    chunk_bytes: int = TABLE_BYTES,
    told: Callable[[float], object] | None = None,
) -> Iterator[Data]:
    r"""Read a CSV file some rows at a time.

    Parameters
    ----------
    path : str or Path
    target : str or int, optional
        The column with the target; default: the last.
    count : int, optional
        Number of features; with as many columns in the file there is no target.
    as_text : bool
        Whether the target is text, also where it looks like a number. If it turns out to be and
        this was not said, ``TextTargetError`` is raised.
    chunk_bytes : int
    told : callable, optional
        Called with the share of the file that has been read.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "data.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("age,pulse\n33,70.5\n41,64\n29,80\n")
    >>> [block.b.tolist() for block in iter_csv(path, chunk_bytes=18)]
    [[70.5], [64.0, 80.0]]
    """
    head: CsvHead | None = None
    line, rows, kind = 1, 0, ""
    with reading(path), open_bytes(path) as stream:
        for chunk in _complete_records(stream, chunk_bytes):
            text = chunk.decode("utf-8") if head else unified(chunk.decode("utf-8-sig"))
            if told is not None:
                told(share_read(stream, path))
            first, line = line, line + text.count("\n")
            if head is None:
                if not text.strip():
                    continue
                head = csv_head(path, text)
                start, beyond = head.rows
                text, first = text[start:], first + beyond - 1
            if not text.strip():
                continue
            where = target_position(path, head.names, head.width, target) if as_text else None
            columns = csv_columns(path, text, head, first, where)
            data = split_target(path, head.names, columns, target, count=count, first=rows)
            now = "" if data.b is None else data.b.dtype.kind
            if kind and now != kind and "U" in (kind, now):
                raise TextTargetError(path)
            kind, rows = now, rows + len(data.A)
            yield data
    if not rows:
        raise DataError(f"{path} has no rows")


def _complete_records(stream: IO[bytes], chunk_bytes: int) -> Iterator[bytes]:
    """Pieces that end with a line, and not inside of quotes."""
    rest = b""
    while piece := stream.read(chunk_bytes):
        rest += piece
        cut = rest.rfind(b"\n") + 1
        while cut and rest.count(b'"', 0, cut) % 2:
            cut = rest.rfind(b"\n", 0, cut - 1) + 1
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def iter_parquet(
    path: str | Path,
    target: str | int | None = None,
    count: int | None = None,
    chunk_bytes: int = TABLE_BYTES,
    told: Callable[[float], object] | None = None,
) -> Iterator[Data]:
    """Read a Parquet file some rows at a time; a row group of it is the least that is read."""
    pyarrow, parquet = need_pyarrow()
    with reading(path):
        if not Path(path).exists():
            raise FileNotFoundError(path)
        rows = 0
        try:
            with parquet.ParquetFile(path) as file:
                total = max(file.metadata.num_rows, 1)
                size = max(1, chunk_bytes // (8 * max(file.metadata.num_columns, 1)))
                for batch in file.iter_batches(batch_size=size):
                    table = pyarrow.Table.from_batches([batch])
                    names = list(table.column_names)
                    columns = arrow_columns(path, table)
                    yield split_target(path, names, columns, target, count=count, first=rows)
                    rows += len(batch)
                    if told is not None:
                        told(rows / total)
        except pyarrow.lib.ArrowException as error:
            first = (str(error) or type(error).__name__).splitlines()[0]
            raise DataError(f"{path} is not a Parquet file ({first})") from None
    if not rows:
        raise DataError(f"{path} has no rows")
