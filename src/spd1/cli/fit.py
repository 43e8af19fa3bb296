"""spd1 fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..archive import check_place
from ..data.store import Store
from ..errors import DataError, IncompatibleError, ParameterError
from ..io import Data, Model, fit_model, save_model
from ..kernel.patience import uninterrupted
from ..models.model import blank_model
from ..problem import Problem
from ..result import Result
from ..solve import engine_of
from ..solvers import method_class
from . import options as o
from .asked import refuse_options
from .doubts import doubts_of_classes
from .exits import INTERRUPTED, NOT_REACHED, fail, guarded
from .groups import Preparation, TableFileOptions, TrainingOptions, with_groups
from .metrics import metrics
from .pictures import picture
from .places import check_places, model_place, refuse_same
from .show import GapBar, describe_data, print_json, say
from .table import Prepared, note, prepared

EXITS = {"converged": 0, "interrupted": INTERRUPTED}

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Model file; default: the data's name with .spd1"),
]
NoSave = Annotated[bool, typer.Option("--no-save", help="Write no model file")]
Plot = Annotated[Path | None, typer.Option(help="Picture of the gap (png, svg, pdf)")]
Method = Annotated[str, typer.Option(help="auto, or a method by name: see spd1 compare")]
Tile = Annotated[
    str | None,
    typer.Option(
        help="For spd1 and spd1-vr: auto, or ROWSxCOLUMNS entries a step", rich_help_panel=o.RUNNING
    ),
]
Engine = Annotated[
    str, typer.Option(help="Who does the work: serial, threads or dask", rich_help_panel=o.RUNNING)
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="For --engine dask: address of a scheduler, such as tcp://10.0.0.1:8786",
        rich_help_panel=o.RUNNING,
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="For --engine dask without --scheduler: processes here",
        rich_help_panel=o.RUNNING,
    ),
]
ThreadCount = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="For --engine threads: how many; default: all cores",
        rich_help_panel=o.RUNNING,
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """Who does the work, and when to stop."""

    tile: Tile = None
    engine: Engine = "serial"
    threads: ThreadCount = None
    scheduler: Scheduler = None
    workers: WorkerCount = None
    max_passes: o.MaxPasses = None
    max_seconds: o.MaxSeconds = None
    seed: o.Seed = 0
    checkpoint: o.Checkpoint = None
    every: o.Every = 60.0

    def __post_init__(self) -> None:
        if self.engine != "dask" and (self.scheduler is not None or self.workers is not None):
            raise ParameterError("--scheduler and --workers are for --engine dask")
        if self.engine == "serial" and self.threads is not None:
            raise ParameterError("--threads is for --engine threads")
        o.refuse_limits(self.max_passes, self.max_seconds)
        if not self.every >= 0:
            raise ParameterError(f"--every must be a number of seconds, got {self.every:g}")
        engine_of(self.engine, self.threads, self.scheduler, self.workers)  # starts nothing
        if self.checkpoint is None:
            refuse_options(["--every"], "there is no --checkpoint FILE to write")
        else:
            check_place(self.checkpoint, "--checkpoint")

    @property
    def solving(self) -> dict[str, Any]:
        """Options of ``solve``."""
        return {
            "tile": read_tile(self.tile), "engine": self.engine, "n_threads": self.threads,
            "client": self.scheduler, "n_workers": self.workers, "max_passes": self.max_passes,
            "max_seconds": self.max_seconds, "random_state": self.seed,
            "checkpoint": self.checkpoint, "every": self.every,
        }  # fmt: skip


@guarded
@with_groups
def fit(
    train: o.DataFile,
    output: Output = None,
    loss: o.Loss = "logistic",
    l1: o.L1 = 0.0,
    l2: o.L2 = None,
    method: Method = "auto",
    *,
    about: TrainingOptions,
    lower: o.Lower = -o.NO_BOUND,
    upper: o.Upper = o.NO_BOUND,
    train_fraction: o.TrainFraction = None,
    file: TableFileOptions,
    running: RunOptions,
    plot: Plot = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    no_save: NoSave = False,
    force: o.Force = False,
) -> None:
    """Train a model and prove how good it is.

    spd1 fit train.svm --loss logistic --l2 1e-3 -o model.spd1

    spd1 fit patients.csv --target ill --missing median --drop name --train-fraction 0.8

    Text columns of a table become one feature per word. The model keeps how, and predict does the
    same.

    Ctrl-C stops early and saves the best model found so far; before the first step it saves none.
    With --checkpoint FILE the same command goes on later, even after the process was killed.
    """
    chosen = o.make_loss(loss, about.loss_parameters)
    reg = o.make_regularizer(l1, l2, lower, upper)
    if method != "auto":
        method_class(method)
    place = model_place(output, train, no_save)
    refuse_same({"--output": place, "--plot": plot, "--checkpoint": running.checkpoint})
    check_places(place, plot, force, train)
    signs = chosen.label_kind == "sign"
    rows = prepared(train, file.reading, file.table, train_fraction, running.seed, signs)
    if running.engine == "dask" and not isinstance(rows.data.A, Store):
        hint = "--engine threads is for that; spd1 convert makes a store for --engine dask"
        raise IncompatibleError(f"{train} is read into memory: {hint}")
    for remark in doubts_of_classes(rows.data.b, chosen, about.positive):
        note(remark)
    loud = not (quiet or json)
    if loud:
        introduce(train, rows)
    with GapBar(about.tol, shown=loud) as update:
        model, result = fit_model(
            rows.data, chosen, reg, **about.settings, sample_weight=rows.weight,
            balanced=about.balanced, recipe=rows.recipe, method=method, tol=about.tol,
            callback=update, **running.solving,
        )  # fmt: skip
    keep(model, result, place, plot)
    held = held_out(model, rows)
    if json:
        print_json(summary(model, result, place, about.tol) | held)
    elif not quiet:
        report(model, result, place, plot, about.tol)
        say_scores(held)
    raise typer.Exit(EXITS.get(result.status, NOT_REACHED))


def keep(model: Model, result: Result, place: Path | None, plot: Path | None) -> None:
    """Write the model and the picture; a second Ctrl-C must not cost what the first has left."""
    try:
        with uninterrupted():
            if place is not None:
                save_model(place, model)
            if plot is not None:
                with picture(plot) as ax:
                    result.plot(ax)
    except KeyboardInterrupt:
        fail(f"interrupted; the model is saved: {place}" if place else "interrupted", INTERRUPTED)


def introduce(path: Path, rows: Prepared) -> None:
    """Say what was read, and what became of its columns."""
    say(f"{path}: {describe_data(rows.data)}")
    for sentence in rows.recipe.sentences() if rows.recipe is not None else ():
        say(f"{sentence}.")
    if rows.held is not None:
        say(f"{rows.held.A.shape[0]:,} rows are held out to judge by.")


def held_out(model: Model, rows: Prepared) -> dict[str, Any]:
    """Scores on rows that were held out."""
    if rows.held is None or rows.held.b is None:
        return {}
    return {"held_out": {"rows": len(rows.held.b), **metrics(model, rows.held.A, rows.held.b)}}


def say_scores(held: dict[str, Any]) -> None:
    """Scores on rows that were held out, in a sentence."""
    if not held:
        return
    scores = dict(held["held_out"])
    count = scores.pop("rows")
    shown = ", ".join(f"{k.replace('_', ' ')} {v:.4g}" for k, v in scores.items())
    say(f"On the {count:,} rows held out: {shown}.")


def read_tile(text: str | None) -> Any:
    """None, "auto" or (rows, columns)."""
    if text is None or text == "auto":
        return text
    rows, _, columns = text.lower().partition("x")
    if not (rows.isdigit() and columns.isdigit()):
        raise ParameterError(f"--tile {text}: write auto, or ROWSxCOLUMNS such as 4x1000")
    return int(rows), int(columns)


def summary(model: Model, result: Result, place: Path | None, tol: float) -> dict[str, Any]:
    """What --json prints."""
    return {
        "status": result.status,
        "method": result.method,
        **model.certificate,
        "tol": tol,
        "passes": result.passes,
        "seconds": result.seconds,
        "rows": model.training["rows"],
        "features": model.features,
        "nonzero_coefficients": int(np.count_nonzero(model.coef)),
        "intercept": model.offset if model.intercept else None,
        "classes": model.classes,
        "model": None if place is None else str(place),
        "versions": model.training["versions"],
    }


def report(model: Model, result: Result, place: Path | None, plot: Path | None, tol: float) -> None:
    """The certificate in plain words."""
    say(f"Method: {result.method}; {result.passes:.0f} passes, {result.seconds:.2f} s")
    say(str(result.certificate))
    if result.converged:
        say(f"Done: the relative gap {result.rel_gap:.1e} is below the {tol:g} asked for.")
    else:
        why = {
            "max_passes": "the limit on passes is reached (--max-passes)",
            "stalled": "no method comes any closer: rounding, or columns that are nearly alike",
            "max_seconds": "the time is up (--max-seconds)",
            "interrupted": "interrupted; this is the best model found so far",
            "diverged": "the method diverged; this is the best point it saw",
        }.get(result.status, result.status)
        say(f"NOT to the gap asked for: {result.rel_gap:.1e} instead of {tol:g}: {why}.")
    say(f"{np.count_nonzero(model.coef):,} of {model.coef.size:,} coefficients are not zero.")
    for name, where in (("Model", place), ("Picture", plot)):
        if where is not None:
            say(f"{name}: {where}")


def problem_of(
    data: Data, loss: Any, reg: Any, about: Preparation, weight: np.ndarray | None = None
) -> Problem:
    """The problem that fit would solve."""
    model = blank_model(data, loss, reg, **about.settings)
    if data.b is None:
        raise DataError("the data has no labels")
    return model.problem(data.A, data.b, weight)
