"""spd1 reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .exits import INTERRUPTED, fail, guarded
from .fit import need_matplotlib
from .show import say

Targets = Annotated[
    list[str],
    typer.Argument(help="all, or some of figure1 ... figure5, table1, table2", show_default=False),
]
Quick = Annotated[bool, typer.Option("--quick", help="Minutes instead of an hour")]
Out = Annotated[Path, typer.Option(help="Folder for everything; finished runs are kept in it")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", help="Folder with data files; default: $SPD1_DATA")
]
Download = Annotated[bool, typer.Option("--download", help="Download missing LIBSVM files")]
Jobs = Annotated[
    int | None, typer.Option(help="Processes; default: two if there are two cores", min=1)
]


@guarded
def reproduce(
    targets: Targets,
    quick: Quick = False,
    out: Out = Path("reproduction"),
    data: DataFolder = None,
    download: Download = False,
    jobs: Jobs = None,
) -> None:
    """Reproduce the paper's figures and tables and judge its claims; goes on where it stopped.

    spd1 reproduce all --quick --out reproduction
    """
    from ..reproduce import TARGETS
    from ..reproduce import reproduce as run

    need_matplotlib()
    wanted = list(TARGETS) if "all" in targets else targets
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=Console(stderr=True), transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("reading data", total=None)

        def report(label: str, done: int, total: int) -> None:
            bar.update(task, description=label, completed=done, total=total)

        try:
            outcome = run(
                wanted, quick=quick, out=out, folder=data, download=download, jobs=jobs,
                report=report,
            )  # fmt: skip
        except KeyboardInterrupt:
            bar.stop()
            fail(f"interrupted: finished runs are kept in {out}, the same command goes on",
                 INTERRUPTED)  # fmt: skip
    for line in outcome.missing:
        say(line)
    if outcome.verdicts:
        table = Table("claim", "the paper says", "ran on", "verdict", box=None)
        for verdict in outcome.verdicts:
            table.add_row(verdict.key, verdict.text, verdict.data, verdict.verdict)
        Console(highlight=False, width=140).print(table)
    for rate in outcome.rates:
        say(f"{rate.key}: {rate.summary}; {'holds' if rate.holds else 'VIOLATED'}")
    say(
        f"{out / 'report.html'}: {outcome.processor / 60:.1f} minutes of processor time, "
        f"{outcome.seconds / 60:.1f} on the clock"
    )
