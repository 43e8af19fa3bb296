"""LIBSVM (svmlight) text: ``label index:value index:value ... # comment``, a line a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.indices import trusted
from ..errors import DataError, ParameterError
from ..files import Data, open_bytes, reading, replacing, share_read

__all__ = [
    "has_index_zero",
    "iter_libsvm",
    "largest_index",
    "read_libsvm",
    "survey",
    "write_libsvm",
]

CHUNK_BYTES = 16 * 2**20  # bytes of text at a time
TENS = 10.0 ** np.arange(23)  # exact in float64
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Some rows of a file; indices as they stand in the text."""

    labels: np.ndarray
    row_ends: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    lines: np.ndarray


def read_libsvm(
    path: str | Path, n_features: int | None = None, zero_based: bool | str = "auto"
) -> Data:
    r"""Read a LIBSVM file, plain, .gz, .bz2 or .xz, into a CSR array.

    Comments (``#``), blank lines and ``qid:`` are understood, indices may be in any order, and
    values of an index that comes twice are added up. A broken line is an error with its number.

    Parameters
    ----------
    path : str or Path
    n_features : int, optional
        Number of columns; default: the largest index in the file.
    zero_based : bool or "auto"
        Whether the first column is called 0. "auto" looks for an index 0.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 1:0.5 3:2  # a comment\n-1 2:1e-3\n")
    >>> data = read_libsvm(path)
    >>> data.A.toarray().tolist(), data.b.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0])
    """
    _check(n_features, zero_based)
    blocks = list(_blocks(path, CHUNK_BYTES))
    if not blocks:
        raise DataError(f"{path} has no rows")
    if zero_based == "auto":
        zero_based = any(len(block.indices) and block.indices.min() == 0 for block in blocks)
    shift = 0 if zero_based else 1
    parts = [_rows(path, block, shift, n_features) for block in blocks]
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize((part.shape[0], width))
    if width == 0:
        raise DataError(f"{path} has no features: every line is a label alone")
    A = sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    return Data(_narrow(A), np.concatenate([block.labels for block in blocks]))


def iter_libsvm(
    path: str | Path,
    n_features: int | None = None,
    zero_based: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
    told: Callable[[float], object] | None = None,
) -> Iterator[Data]:
    r"""Read a LIBSVM file that is larger than memory, some rows at a time.

    Where ``n_features`` is not given, blocks have as many columns as seen so far. Indices start
    at 1 unless ``zero_based``: the end of the file can't be asked. ``told`` is called with the
    share of the file that has been read.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 1:1\n2 2:1\n3 1:3\n")
    >>> [(block.A.shape, block.b.tolist()) for block in iter_libsvm(path, 2, chunk_bytes=12)]
    [((2, 2), [1.0, 2.0]), ((1, 2), [3.0])]
    """
    _check(n_features, zero_based)
    width = n_features or 0
    for block in _blocks(path, chunk_bytes, told):
        part = _rows(path, block, 0 if zero_based else 1, n_features)
        width = max(width, part.shape[1])
        part.resize((part.shape[0], width))
        yield Data(_narrow(part), block.labels)


def write_libsvm(path: str | Path, A: Any, b: Any, zero_based: bool = False) -> None:
    """Write rows and labels as LIBSVM text; every value reads back to the same bits.

    Examples
    --------
    >>> import os, tempfile, numpy as np
    >>> path = os.path.join(tempfile.mkdtemp(), "out.svm.gz")
    >>> write_libsvm(path, np.array([[0.1, 0.0], [0.0, -2.0]]), [1, -1])
    >>> read_libsvm(path).A.toarray().tolist()
    [[0.1, 0.0], [0.0, -2.0]]
    """
    rows, labels = sp.csr_array(trusted(A)), np.asarray(b, dtype=float)
    if labels.shape != (rows.shape[0],):
        raise DataError(f"b has shape {labels.shape}, A has {rows.shape[0]} rows")
    shift = 0 if zero_based else 1
    single = rows.dtype == np.float32
    with replacing(path) as stream:
        for i in range(rows.shape[0]):
            mine = slice(rows.indptr[i], rows.indptr[i + 1])
            values = rows.data[mine]
            shown = [str(v) for v in values] if single else map(repr, values.tolist())
            pairs = zip(rows.indices[mine].tolist(), shown, strict=True)
            text = " ".join([f"{labels[i]:.17g}", *(f"{j + shift}:{v}" for j, v in pairs)])
            stream.write(text.encode("ascii") + b"\n")


def has_index_zero(path: str | Path) -> bool:
    """Whether index 0 occurs in a file: a pass over the text, some rows in memory at a time."""
    return any(len(b.indices) and b.indices.min() == 0 for b in _blocks(path, CHUNK_BYTES))


class Survey(NamedTuple):
    """What a pass over a file tells: its rows, and the ends of its indices (-1: there is none)."""

    rows: int
    smallest: int
    largest: int


def survey(path: str | Path, told: Callable[[float], object] | None = None) -> Survey:
    """Count rows and look at the indices, some rows in memory at a time."""
    rows, smallest, largest = 0, -1, -1
    for block in _blocks(path, CHUNK_BYTES, told):
        rows += len(block.labels)
        if len(block.indices):
            least = int(block.indices.min())
            smallest = least if smallest < 0 else min(smallest, least)
            largest = max(largest, int(block.indices.max()))
    return Survey(rows, smallest, largest)


def largest_index(path: str | Path) -> tuple[int, int]:
    """The largest index of a file, and the line it stands in; a pass over the text."""
    largest, line = -1, 0
    for block in _blocks(path, CHUNK_BYTES):
        if len(block.indices) and block.indices.max() > largest:
            entry = int(np.argmax(block.indices))
            largest, line = int(block.indices[entry]), _line_of(block, entry)
    return largest, line


def _check(n_features: Any, zero_based: Any) -> None:
    if n_features is not None and not (isinstance(n_features, int) and n_features > 0):
        raise ParameterError(f"n_features must be a positive whole number, got {n_features!r}")
    if zero_based not in (True, False, "auto"):
        raise ParameterError(f"zero_based must be True, False or 'auto', got {zero_based!r}")


def _blocks(
    path: str | Path, chunk_bytes: int, told: Callable[[float], object] | None = None
) -> Iterator[Block]:
    """Parse the file some complete lines at a time."""
    line = 1
    with reading(path), open_bytes(path) as stream:
        for text in _complete_lines(stream, chunk_bytes):
            if told is not None:
                told(share_read(stream, path))
            block, lines = _parse(path, text, line)
            if len(block.labels):
                yield block
            line += lines


def _complete_lines(stream: IO[bytes], chunk_bytes: int) -> Iterator[bytes]:
    rest: list[bytes] = []
    start = True
    while True:
        text = stream.read(chunk_bytes)
        if start and text.startswith(BYTE_ORDER_MARK):
            text = text[len(BYTE_ORDER_MARK) :]
        start = False
        if not text:
            break
        cut = text.rfind(b"\n") + 1
        if cut:
            yield b"".join([*rest, text[:cut]])
            rest = [text[cut:]]
        else:
            rest.append(text)  # one line, longer than a chunk
    if any(rest):
        yield b"".join(rest)


def _parse(path: str | Path, text: bytes, first_line: int) -> tuple[Block, int]:
    from .libsvm_text import ERRORS, parse

    raw = np.frombuffer(text, dtype=np.uint8)
    most_rows = int(np.count_nonzero(raw == 10)) + 1
    most_entries = int(np.count_nonzero(raw == 58))
    labels = np.empty((most_rows, 5), dtype=np.int64)
    queries, row_lines, row_ends = np.empty((3, most_rows), dtype=np.int64)
    indices = np.empty(most_entries, dtype=np.int64)
    numbers = np.empty((most_entries, 5), dtype=np.int64)
    rows, entries, lines, error, where = parse(
        raw, labels, queries, row_lines, row_ends, indices, numbers
    )
    if error:
        token = text[where:].split(maxsplit=1)[0][:40].decode("utf-8", "replace")
        problem = ERRORS[error].format(token=token)
        raise DataError(f"{path}, line {first_line + lines - 1}: {problem}")
    block = Block(
        _values(labels[:rows], text), row_ends[:rows], indices[:entries],
        _values(numbers[:entries], text), row_lines[:rows] + first_line - 1,
    )  # fmt: skip
    for values, tokens in ((block.labels, labels[:rows]), (block.values, numbers[:entries])):
        bad = tokens[~np.isfinite(values)]
        if len(bad):  # 1e999 reads as infinity
            start, end = bad[0, 3:]
            line = first_line + text.count(b"\n", 0, start)
            token = text[start:end].decode()
            raise DataError(f"{path}, line {line}: {token!r} is not a finite number")
    return block, lines


def _values(numbers: np.ndarray, text: bytes) -> np.ndarray:
    """Integers and powers of ten to the nearest doubles."""
    values: np.ndarray = numbers[:, 1].astype(np.float64)
    powers = np.clip(numbers[:, 2], -22, 22)
    values = np.where(powers < 0, values / TENS[np.abs(powers)], values * TENS[np.abs(powers)])
    for k in np.flatnonzero(numbers[:, 0] == 2):
        values[k] = float(text[numbers[k, 3] : numbers[k, 4]])
    return values


def _rows(path: str | Path, block: Block, shift: int, n_features: int | None) -> Any:
    indices = block.indices - shift
    if len(indices) and indices.min() < 0:
        entry = int(np.argmin(indices))
        raise DataError(
            f"{path}, line {_line_of(block, entry)}: index 0, though indices start at 1: "
            "pass zero_based=True (--zero-based)"
        )
    width = int(indices.max()) + 1 if len(indices) else 0
    if n_features is not None:
        if width > n_features:
            entry = int(np.argmax(indices))
            raise DataError(
                f"{path}, line {_line_of(block, entry)}: index {block.indices[entry]}, though "
                f"there are {n_features} features"
            )
        width = n_features
    indptr = np.concatenate([[0], block.row_ends])
    A = sp.csr_array((block.values, indices, indptr), shape=(len(block.labels), width))
    A.sum_duplicates()
    return A


def _line_of(block: Block, entry: int) -> int:
    return int(block.lines[np.searchsorted(block.row_ends, entry, side="right")])


def _narrow(A: Any) -> Any:
    """32-bit indices where they are enough: half the memory."""
    if max(*A.shape, A.nnz) < 2**31:
        parts = (A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32))
        return sp.csr_array(parts, shape=A.shape)
    return A
