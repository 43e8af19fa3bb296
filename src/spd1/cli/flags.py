"""Help that shows flags as flags, and exit codes as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from .exits import CODES

__all__ = ["FlagCommand", "FlagGroup", "MainGroup"]


class WithFlags:
    """Shows options that take no value as flags, and not as --option <bool>."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options, those that typer adds too."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class FlagCommand(WithFlags, TyperCommand):
    """A command."""


class FlagGroup(WithFlags, TyperGroup):
    """Several commands."""


class MainGroup(FlagGroup):
    """All commands, and what they end with."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Help as usual, then the exit codes."""
        super().format_help(ctx, formatter)
        table = Table("exit code", "meaning", box=None, header_style="bold")
        for code, meaning in CODES.items():
            table.add_row(str(code), meaning)
        Console(highlight=False, markup=False).print(table)
