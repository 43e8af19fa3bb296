"""Help that shows flags as flags, and exit codes as a table."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from .asked import note_options
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


#: What others call our options.
FOREIGN_OPTIONS = {
    "--lambda": "--l2", "--lamda": "--l2", "--alpha": "--l2", "--reg": "--l2", "--C": "--l2",
    "--penalty": "--l2",
    "--label": "--target", "--y": "--target", "--sample-weight": "--weight", "--out": "--output",
    "--epochs": "--max-passes", "--max-iter": "--max-passes", "--solver": "--method",
    "--fit-intercept": "--intercept", "--bias": "--intercept", "--scale": "--standardize",
    "--n-jobs": "--threads", "--cv": "--folds", "--lr": "--method",
}  # fmt: skip


class FlagCommand(WithFlags, TyperCommand):
    """A command; an option that it does not have is answered with one that it has."""

    def invoke(self, ctx: Any) -> Any:
        """Run it as usual, with a note of the options that were written down."""
        note_options(ctx)
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse as usual; other packages' names for an option get ours as a suggestion."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            ours = FOREIGN_OPTIONS.get(getattr(error, "option_name", ""), "")
            has = {name for option in self.get_params(ctx) for name in option.opts}
            if ours in has and hasattr(error, "possibilities"):
                error.possibilities = [ours]
            raise


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
