"""Which options stand on the command line: those that mean nothing there are refused."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..files import format_of

__all__ = ["TABLES", "note_options", "options_given", "refuse_options", "refuse_reading"]

TABLES = ("csv", "parquet")

#: Options by how files are read: the kinds of files to which they mean something.
READING_OPTIONS = {
    "--target": (*TABLES, "npy"),
    "--features": ("libsvm",),
    "--zero-based": ("libsvm",),
    "--one-based": ("libsvm",),
    "--no-check": ("npz",),
    **dict.fromkeys(
        ("--drop", "--text", "--weight", "--missing", "--max-categories", "--no-header"), TABLES
    ),
}
READ_AS = {
    ("libsvm",): "LIBSVM text", ("npz",): "NPZ files", TABLES: "CSV and Parquet files",
    (*TABLES, "npy"): "CSV, Parquet and NPY files",
}  # fmt: skip

_given: ContextVar[tuple[str, ...]] = ContextVar("options given", default=())


def note_options(context: Any) -> None:
    """Note which options a command was called with; called before the command itself."""
    names = []
    for option in context.command.params:
        source = context.get_parameter_source(option.name)
        if option.param_type_name != "option" or source is None or source.name != "COMMANDLINE":
            continue
        negated = option.secondary_opts and context.params.get(option.name) is False
        names.append(max(option.secondary_opts if negated else option.opts, key=len))
    _given.set(tuple(names))


def options_given() -> tuple[str, ...]:
    """Options of the present command that were written down, defaults left out."""
    return _given.get()


def refuse_options(names: Iterable[str], why: str) -> None:
    """Refuse those of the options that were given, by name."""
    given = [name for name in options_given() if name in names]
    if given:
        raise ParameterError(f"{', '.join(given)}: {why}")


def refuse_reading(path: Path, format: str | None) -> None:
    """Refuse options of reading that mean nothing to this kind of file."""
    kind = format_of(path, format)
    for kinds in dict.fromkeys(READING_OPTIONS.values()):
        if kind not in kinds:
            names = [name for name, those in READING_OPTIONS.items() if those == kinds]
            refuse_options(names, f"such options are for {READ_AS[kinds]}, and {path} is {kind}")
