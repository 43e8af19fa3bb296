"""spd1 datasets list and fetch."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import options as o
from .exits import guarded
from .flags import FlagCommand, FlagGroup
from .show import print_json, say

datasets_app = typer.Typer(
    no_args_is_help=True,
    help="Data sets of the LIBSVM collection: list them, fetch them.",
    cls=FlagGroup,
)

Names = Annotated[
    list[str], typer.Argument(help="Names that spd1 datasets list shows", metavar="NAMES")
]


@datasets_app.command("list", cls=FlagCommand)
@guarded
def list_datasets(json: o.Json = False) -> None:
    """Show the data sets known by name and which are on this machine."""
    from ..datasets import COLLECTION, find

    rows = [
        {
            "name": data.name, "rows": data.rows, "features": data.features,
            "here": str(find(data.name) or ""), "download": bool(data.remote), "note": data.note,
        }
        for data in COLLECTION.values()
    ]  # fmt: skip
    if json:
        print_json({"datasets": rows})
        return
    table = Table("name", "rows", "features", "where", "note", box=None)
    for row in rows:
        where = "here" if row["here"] else "to download" if row["download"] else "by hand"
        table.add_row(
            str(row["name"]), f"{row['rows']:,}", f"{row['features']:,}", where, str(row["note"])
        )
    Console(highlight=False, width=110).print(table)


@datasets_app.command("fetch", cls=FlagCommand)
@guarded
def fetch_datasets(names: Names) -> None:
    """Download data sets into the cache folder and print where they are."""
    from ..datasets import fetch, find

    for name in names:
        say(str(find(name) or fetch(name)))
