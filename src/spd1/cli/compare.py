"""spd1 compare: several methods on one problem, a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from ..errors import IncompatibleError, ParameterError
from ..result import Result
from ..solve import solve
from ..solvers import METHODS, method_class
from . import options as o
from .exits import INTERRUPTED, fail, guarded
from .fit import check_picture, problem_of
from .show import GapBar, describe_data, print_json, say

Methods = Annotated[
    str,
    typer.Option(
        help=f"Names with commas between: auto, {', '.join(METHODS)}, newton, few-rows, interior; "
        "spd1:tile and spd1-vr:tile take a few whole rows a step"
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Picture by pass and by second (png, svg, pdf)")]


@guarded
def compare(
    data: o.DataFile,
    methods: Methods = "auto,spd1-vr,spd1,svrg,saga,psgd",
    loss: o.Loss = "logistic",
    l1: o.L1 = 0.0,
    l2: o.L2 = None,
    tol: o.Tol = 1e-6,
    max_passes: o.MaxPasses = 100.0,
    max_seconds: o.MaxSeconds = 60.0,
    intercept: o.Intercept = False,
    standardize: o.Standardize = False,
    loss_parameters: o.LossParameters = None,
    positive: o.Positive = None,
    target: o.Target = None,
    format: o.Format = None,
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    seed: o.Seed = 0,
    plot: Plot = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Run several methods on the same problem, automatic steps, same seed.

    spd1 compare train.svm --methods auto,spd1-vr,svrg --plot compare.png
    """
    names = read_methods(methods)
    chosen = o.make_loss(loss, loss_parameters)
    reg = o.make_regularizer(l1, l2, -o.NO_BOUND, o.NO_BOUND)
    if plot is not None:
        check_picture(plot, force)
    table = o.read_file(data, format, target, features, zero_based, no_check)
    problem = problem_of(table, chosen, reg, intercept, standardize, positive)
    limits = {"tol": tol, "max_passes": max_passes, "max_seconds": max_seconds}
    results: dict[str, Result] = {}
    refused: dict[str, str] = {}
    interrupted = False
    for name in names:
        with GapBar(tol, shown=not json) as update:
            try:
                results[name] = run(problem, name, random_state=seed, callback=update, **limits)
                interrupted = results[name].status == "interrupted"
            except IncompatibleError as error:
                refused[name] = str(error)
            except KeyboardInterrupt:  # before the first step of this method
                if not results:
                    raise
                interrupted = True
        if interrupted:
            break
    if plot is not None and results:
        draw(results, plot, f"{problem.n} x {problem.d}, {problem.loss}, {problem.reg}")
    if json:
        facts: dict[str, Any] = {name: _facts(result) for name, result in results.items()}
        print_json(facts | {"refused": refused})
    else:
        say(f"{data}: {describe_data(table)}")
        print_table(results, refused)
        if plot is not None and results:
            say(f"Picture: {plot}")
    if interrupted:
        fail("interrupted; methods that had not begun are left out", INTERRUPTED)


def read_methods(text: str) -> list[str]:
    """Split and check the names before any work."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        base, _, rest = name.partition(":")
        if base != "auto":
            method_class(base)
        if rest and (rest != "tile" or base not in ("spd1", "spd1-vr")):
            raise ParameterError(f"{name}: only spd1:tile and spd1-vr:tile have a second part")
    if not names:
        raise ParameterError("--methods names no method")
    return list(dict.fromkeys(names))


def run(problem: Any, name: str, **limits: Any) -> Result:
    """Solve by a method, on tiles if its name says so."""
    base, _, tile = name.partition(":")
    return solve(problem, base, tile="auto" if tile else None, **limits)


def _facts(result: Result) -> dict[str, Any]:
    return {
        "status": result.status, "method": result.method, "primal": result.primal,
        "dual": result.dual, "gap": result.gap, "rel_gap": result.rel_gap,
        "passes": result.passes, "seconds": result.seconds,
    }  # fmt: skip


def print_table(results: dict[str, Result], refused: dict[str, str]) -> None:
    """One row a method, best proven gap first."""
    table = Table("method", "status", "objective", "proven gap", "passes", "seconds", box=None)
    for name, result in sorted(results.items(), key=lambda pair: pair[1].rel_gap):
        table.add_row(
            name, result.status, f"{result.primal:.10g}", f"{result.rel_gap:.1e}",
            f"{result.passes:.0f}", f"{result.seconds:.3f}",
        )  # fmt: skip
    Console(highlight=False, width=100).print(table)
    for name, reason in refused.items():
        say(f"{name}: {reason}")


def draw(results: dict[str, Result], path: Path, title: str) -> None:
    """The gap by pass and by second."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from ..files import replacing
    from ..plotting import compare as picture

    figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.4), layout="constrained", sharey=True)
    picture(results, x="passes", ax=axes[0])
    picture(results, x="seconds", ax=axes[1])
    axes[1].set_xscale("symlog", linthresh=1e-3)
    axes[1].set_ylabel("")
    axes[0].get_legend().remove()
    figure.suptitle(title)
    with replacing(path) as stream:
        figure.savefig(stream, format=path.suffix[1:].lower(), dpi=150)
    pyplot.close(figure)
