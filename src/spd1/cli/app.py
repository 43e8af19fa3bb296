"""The commands by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..version import __version__
from .compare import compare
from .cv import cv
from .datasets import datasets_app
from .describe import show
from .fit import fit
from .flags import FlagCommand, MainGroup
from .info import convert, info
from .path import path
from .reproduce import reproduce
from .use import certify, evaluate, predict
from .warm_up import warm_up

HELP = (
    "Regularized linear models, every answer with a certificate: a proven bound on how far it is "
    "from the optimum.\n\n"
    "Start with [bold]spd1 fit train.csv[/]. Data is CSV, Parquet, LIBSVM text, NPZ or NPY."
)

app = typer.Typer(
    name="spd1", help=HELP, no_args_is_help=True, rich_markup_mode="rich",
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
    cls=MainGroup,
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"spd1 {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    """Options before the command."""


def paragraphs(command: Callable[..., Any]) -> str:
    """What a command says of itself; its lines are as wide as the terminal, not as the source."""
    text = inspect.getdoc(command) or ""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


options.__doc__ = HELP
for command in (
    fit, cv, path, predict, evaluate, certify, show, info, compare, convert, reproduce,
):  # fmt: skip
    app.command(cls=FlagCommand, help=paragraphs(command))(command)
app.command("warm-up", cls=FlagCommand, help=paragraphs(warm_up))(warm_up)
app.add_typer(datasets_app, name="datasets")
