"""spd1 path."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import ParameterError
from ..files import replacing
from ..plotting import draw_path
from . import options as o
from .exits import guarded, notes
from .fit import introduce
from .groups import TableFileOptions, TrainingOptions, with_groups
from .pictures import picture
from .places import check_places, refuse_same
from .show import print_json, say
from .strength import AlphaCount, L1Ratio, LeastShare, StrengthOptions, task_of
from .table import prepared

PathPlot = Annotated[Path | None, typer.Option(help="Picture of the coefficients (png, svg, pdf)")]
PathCsv = Annotated[
    Path | None, typer.Option("--csv", help="All coefficients, a line for each alpha")
]
SHOWN_STEPS = 16  # lines of the table of a path


@dataclass(frozen=True)
class PathStrengths(StrengthOptions):
    """More strengths, and features that come in one by one."""

    l1_ratio: L1Ratio = 1.0
    alphas: AlphaCount = 100
    least: LeastShare = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.l1_ratio > 0:
            raise ParameterError(
                "--l1-ratio 0 uses every feature at any strength: take 0.01 or more"
            )


@guarded
@with_groups
def path(
    train: o.DataFile,
    loss: o.Loss = "squared",
    *,
    strength: PathStrengths,
    about: TrainingOptions,
    file: TableFileOptions,
    plot: PathPlot = None,
    csv: PathCsv = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Solve for many strengths of the penalty, from none of the features on; each certified.

    spd1 path train.csv --loss squared --intercept --standardize --plot path.png
    """
    from ..linear_model import path as walk

    chosen = o.make_loss(loss, about.loss_parameters)
    refuse_same({"--csv": csv, "--plot": plot})
    check_places(csv, plot, force, train)
    rows = prepared(train, file.reading, file.table)
    task = task_of(train, rows, chosen, about)
    if not json:
        introduce(train, rows)
    samples = task.whole()
    with notes().status("solving"):
        found = walk(
            samples.X, samples.y, loss=chosen, l1_ratio=strength.l1_ratio,
            n_alphas=strength.alphas, eps=strength.least, fit_intercept=about.intercept,
            sample_weight=samples.weight, tol=about.tol,
        )  # fmt: skip
    if plot is not None:
        with picture(plot) as ax:
            draw_path(ax, found.alphas, found.coefs, task.names)
            ax.set(xlabel="alpha: strength of the penalty",
                   title=f"{train.name}: {type(chosen).__name__}")  # fmt: skip
    if csv is not None:
        write_path(csv, found, task.names)
    if json:
        counts = np.count_nonzero(found.coefs, axis=1)
        print_json({"alphas": found.alphas, "nonzero_coefficients": counts,
                    "rel_gaps": found.rel_gaps})  # fmt: skip
        return
    print_path(found, task.names, strength.l1_ratio)
    for what, place in (("Picture", plot), ("Coefficients", csv)):
        if place is not None:
            say(f"{what}: {place}")


def print_path(found: Any, names: list[str], l1_ratio: float) -> None:
    """Some of the steps, and what to do with them."""
    counts = np.count_nonzero(found.coefs, axis=1)
    lines = Table("alpha", "features", "proven gap", "newest feature", box=None)
    for k in np.unique(np.linspace(0, len(counts) - 1, SHOWN_STEPS).round().astype(int)):
        lines.add_row(
            f"{found.alphas[k]:.4g}", f"{counts[k]:,}", f"{found.rel_gaps[k]:.1e}",
            _newest(found.coefs, k, names),
        )  # fmt: skip
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(lines)
    say(f"All {len(counts)} are solved to a relative gap of {found.rel_gaps.max():.1e} or less.")
    meaning = "--l1 alpha" if l1_ratio == 1 else (
        f"--l1 {l1_ratio:g}*alpha --l2 {1 - l1_ratio:g}*alpha"
    )  # fmt: skip
    say(f"spd1 fit with {meaning} solves one of them, spd1 cv finds out which predicts best.")


def _newest(coefs: np.ndarray, k: int, names: list[str]) -> str:
    """The feature that came in last, of those in use at a step."""
    inside = np.flatnonzero(coefs[k])
    if not len(inside):
        return ""
    first = np.argmax(coefs[: k + 1, inside] != 0, axis=0)
    return names[int(inside[np.argmax(first)])]


def write_path(place: Path, found: Any, names: list[str]) -> None:
    """A line for each alpha: alpha, the constant, all coefficients."""
    with replacing(place) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["alpha", "(constant)", *names])
        for alpha, level, row in zip(found.alphas, found.intercepts, found.coefs, strict=True):
            writer.writerow(map(repr, [float(alpha), float(level), *row.tolist()]))
        text.flush()
        text.detach()
