"""spd1 path."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import ParameterError
from ..files import check_writable, replacing
from . import options as o
from .exits import guarded, notes
from .fit import check_before_work, introduce
from .pictures import draw_path
from .show import print_json, say
from .strength import AlphaCount, L1Ratio, LeastShare, check_share, task_of
from .table import TableOptions, is_balanced, prepared, words_of

PathPlot = Annotated[Path | None, typer.Option(help="Picture of the coefficients (png, svg, pdf)")]
PathCsv = Annotated[
    Path | None, typer.Option("--csv", help="All coefficients, a line for each alpha")
]
SHOWN_STEPS = 16  # lines of the table of a path


@guarded
def path(
    train: o.DataFile,
    loss: o.Loss = "squared",
    l1_ratio: L1Ratio = 1.0,
    alphas: AlphaCount = 100,
    least: LeastShare = 1e-3,
    tol: o.Tol = 1e-6,
    intercept: o.Intercept = False,
    standardize: o.Standardize = False,
    loss_parameters: o.LossParameters = None,
    positive: o.Positive = None,
    class_weight: o.ClassWeight = None,
    target: o.Target = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    text: o.TextColumns = None,
    missing: o.Missing = "refuse",
    max_categories: o.MaxCategories = 100,
    no_header: o.NoHeader = False,
    format: o.Format = None,
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    plot: PathPlot = None,
    csv: PathCsv = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Solve for many strengths of the penalty, from none of the features on; each certified.

    spd1 path train.csv --loss squared --intercept --standardize --plot path.png
    """
    from ..linear_model import path as walk

    chosen = o.make_loss(loss, loss_parameters)
    table = TableOptions(
        words_of(drop), words_of(text), missing, weight, max_categories, not no_header
    )
    balanced = is_balanced(class_weight)
    if not l1_ratio > 0:
        raise ParameterError("--l1-ratio 0 uses every feature at any strength: take 0.01 or more")
    check_share(least)
    check_before_work("auto", tol, None, plot, force)
    if csv is not None:
        check_writable(csv, force)
    rows = prepared(train, (format, target, features, zero_based, no_check), table)
    task = task_of(train, rows, chosen, intercept, standardize, positive, balanced)
    if not json:
        introduce(train, rows)
    with notes().status("solving"):
        found = walk(
            task.X, task.y, loss=chosen, l1_ratio=l1_ratio, n_alphas=alphas, eps=least,
            fit_intercept=intercept, sample_weight=task.weight, tol=tol,
        )  # fmt: skip
    if plot is not None:
        draw_path(found, task.names, plot, f"{train.name}: {type(chosen).__name__}")
    if csv is not None:
        write_path(csv, found, task.names)
    counts = np.count_nonzero(found.coefs, axis=1)
    if json:
        print_json({"alphas": found.alphas, "nonzero_coefficients": counts,
                    "rel_gaps": found.rel_gaps})  # fmt: skip
        return
    lines = Table("alpha", "features", "proven gap", "newest feature", box=None)
    for k in np.unique(np.linspace(0, len(counts) - 1, SHOWN_STEPS).round().astype(int)):
        lines.add_row(
            f"{found.alphas[k]:.4g}", f"{counts[k]:,}", f"{found.rel_gaps[k]:.1e}",
            _newest(found.coefs, k, task.names),
        )  # fmt: skip
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(lines)
    say(f"All {len(counts)} are solved to a relative gap of {found.rel_gaps.max():.1e} or less.")
    meaning = "--l1 alpha" if l1_ratio == 1 else (
        f"--l1 {l1_ratio:g}*alpha --l2 {1 - l1_ratio:g}*alpha"
    )  # fmt: skip
    say(f"spd1 fit with {meaning} solves one of them, spd1 cv finds out which predicts best.")
    for what, place in (("Picture", plot), ("Coefficients", csv)):
        if place is not None:
            say(f"{what}: {place}")


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
