"""spd1 reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from ..errors import ParameterError
from .exits import INTERRUPTED, fail, guarded
from .places import need_matplotlib
from .show import say

Targets = Annotated[
    list[str],
    typer.Argument(
        help="all, or some of figure1 ... figure6, table1, table2",
        show_default=False,
        metavar="TARGETS",
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="A sketch of what the paper shows: 2 minutes")]
Long = Annotated[bool, typer.Option("--long", help="More passes and whole data sets: hours")]
Out = Annotated[Path, typer.Option(help="Folder for everything; finished runs are kept in it")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", help="Folder with data files; default: $SPD1_DATA")
]
Download = Annotated[bool, typer.Option("--download", help="Download missing LIBSVM files")]
Jobs = Annotated[
    int | None, typer.Option(help="Processes; default: two if there are two cores", min=1)
]


SILENCE = 5.0  # seconds between lines where there is no terminal


class Teller:
    """Says what a reproduction is at: one line that changes on a terminal, lines elsewhere.

    Without a terminal a line is written at least every five seconds, if something new has begun,
    and for every panel and picture.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self.status: Status | None = None
        self.said, self.part = -SILENCE, ""

    def __enter__(self) -> Teller:
        if self.console.is_terminal:
            self.status = self.console.status("")
            self.status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def __call__(self, progress: Any) -> None:
        """Tell about a ``Progress``, or not."""
        if self.status is not None:
            self.status.update(escape(str(progress)))
            return
        part = progress.label.rpartition(":")[0]
        if part != self.part or progress.seconds - self.said >= SILENCE:
            self.said, self.part = progress.seconds, part
            self.console.print(escape(str(progress)), soft_wrap=True, highlight=False)


@guarded
def reproduce(
    targets: Targets,
    quick: Quick = False,
    long: Long = False,
    out: Out = Path("reproduction"),
    data: DataFolder = None,
    download: Download = False,
    jobs: Jobs = None,
) -> None:
    """Reproduce the paper's figures and tables and judge its claims; goes on where it stopped.

    spd1 reproduce all --quick --out reproduction
    """
    from ..reproduce import reproduce as run

    if quick and long:
        raise ParameterError("--quick and --long: choose one")
    if "all" in targets and len(targets) > 1:
        raise ParameterError("all means every target: leave the others out, or leave out all")
    need_matplotlib()
    wanted = None if "all" in targets else targets
    teller = Teller(Console(stderr=True))
    try:
        with teller:
            outcome = run(
                wanted, quick=quick, long=long, out=out, folder=data, download=download, jobs=jobs,
                report=teller,
            )  # fmt: skip
    except KeyboardInterrupt:
        fail(f"interrupted: finished runs are kept in {out}, the same command goes on",
             INTERRUPTED)  # fmt: skip
    for line in [outcome.settings.note, *outcome.missing]:
        if line:
            say(line)
    if outcome.verdicts:
        table = Table("claim", "rivals", "the paper says", "ran on", "verdict", box=None)
        for verdict in outcome.verdicts:
            table.add_row(*verdict[:5])
        Console(highlight=False, width=140).print(table)
    for rate in outcome.rates:
        say(f"{rate.key}: {rate.summary}; {'holds' if rate.holds else 'VIOLATED'}")
    say(
        f"{out / 'report.html'}: {outcome.processor / 60:.1f} minutes of processor time, "
        f"{outcome.seconds / 60:.1f} on the clock"
    )
