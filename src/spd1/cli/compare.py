"""spd1 compare: several methods on one problem, a table and a picture."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import IncompatibleError, ParameterError
from ..files import check_writable
from ..problem import Problem
from ..result import Result, Trace
from ..solve import solve
from ..solvers import FAMILY_METHODS, METHODS, method_class
from . import options as o
from .compare_page import write_page
from .exits import INTERRUPTED, USAGE, fail, guarded
from .fit import problem_of
from .groups import FileOptions, ModelOptions, with_groups
from .places import check_picture, need_matplotlib, refuse_same
from .show import GapBar, describe_data, print_json, say

Methods = Annotated[
    str,
    typer.Option(
        help=f"Names with commas between: auto, {', '.join(METHODS)}, newton, few-rows, interior, "
        f"{', '.join(FAMILY_METHODS)}; family: all of these last, all: nearly all there are; "
        "spd1:tile and spd1-vr:tile take a few whole rows a step"
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Picture by pass and by second (png, svg, pdf)")]
PageFile = Annotated[Path | None, typer.Option(help="Page with the table and the picture (html)")]
MostPasses = Annotated[
    float | None,
    typer.Option(
        help="Stop each method after so many passes over the data", rich_help_panel=o.RUNNING
    ),
]
BESIDE = 8  # more methods than this have their legend beside the picture
GROUPS = {
    "family": list(FAMILY_METHODS),
    "all": ["auto", *METHODS, *FAMILY_METHODS],
}


@guarded
@with_groups
def compare(
    data: o.DataFile,
    methods: Methods = "auto,spd1-vr,spd1,svrg,saga,psgd",
    loss: o.Loss = "logistic",
    l1: o.L1 = 0.0,
    l2: o.L2 = None,
    max_passes: MostPasses = 100.0,
    max_seconds: o.MaxSeconds = 60.0,
    *,
    about: ModelOptions,
    file: FileOptions,
    seed: o.Seed = 0,
    plot: Plot = None,
    page: PageFile = None,
    json: o.Json = False,
    force: o.Force = False,
) -> None:
    """Run several methods on the same problem, automatic steps, same seed.

    spd1 compare train.svm --methods auto,spd1-vr,svrg --plot compare.png
    """
    names = read_methods(methods)
    chosen = o.make_loss(loss, about.loss_parameters)
    reg = o.make_regularizer(l1, l2, -o.NO_BOUND, o.NO_BOUND)
    o.refuse_limits(max_passes, max_seconds)
    refuse_same({"--plot": plot, "--page": page})
    if plot is not None:
        check_picture(plot, force, data)
    if page is not None:
        if page.suffix.lower() not in (".html", ".htm"):
            raise ParameterError(f"{page}: name a page with the suffix .html")
        check_writable(page, force, [data])
        need_matplotlib()
    table = o.read_file(data, *file.reading)
    problem = problem_of(table, chosen, reg, about)
    results, refused, interrupted = run_all(
        problem, names, about.tol, not json, random_state=seed, max_passes=max_passes,
        max_seconds=max_seconds,
    )  # fmt: skip
    title = f"{problem.n} x {problem.d}, {problem.loss}, {problem.reg}"
    if plot is not None and results:
        draw(results, plot, title, problem.stored, about.tol)
    if page is not None and results:
        rows = [row_of(name, result, problem.stored) for name, result in in_order(results)]
        write_page(
            page,
            f"{data.name}: {title}",
            limits_in_words(results, about.tol, max_passes, max_seconds),
            rows,
            refused,
            partial(draw, results, stored=problem.stored, tol=about.tol),
        )
    if json:
        facts: dict[str, Any] = {
            name: _facts(result, problem.stored) for name, result in results.items()
        }
        print_json(facts | {"refused": refused})
    else:
        say(f"{data}: {describe_data(table)}")
        print_table(results, refused, problem.stored)
        if plot is not None and results:
            say(f"Picture: {plot}")
        if page is not None and results:
            say(f"Page: {page}")
    if not results and not interrupted:
        fail("none of the methods takes this problem: --methods auto does", USAGE)
    if interrupted:
        fail("interrupted; methods that had not begun are left out", INTERRUPTED)


def run_all(
    problem: Problem, names: list[str], tol: float, shown: bool, **options: Any
) -> tuple[dict[str, Result], dict[str, str], bool]:
    """Results by method, refusals by method, and whether Ctrl-C came."""
    results: dict[str, Result] = {}
    refused: dict[str, str] = {}
    for name in names:
        with GapBar(tol, shown=shown) as update:
            try:
                results[name] = run(problem, name, callback=update, tol=tol, **options)
            except IncompatibleError as error:
                refused[name] = str(error)
                continue
            except KeyboardInterrupt:  # before the first step of this method
                if not results:
                    raise
                return results, refused, True
        if results[name].status == "interrupted":
            return results, refused, True
    return results, refused, False


def read_methods(text: str) -> list[str]:
    """Split and check the names before any work."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    names = [name for word in words for name in GROUPS.get(word, [word])]
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


def _facts(result: Result, stored: int) -> dict[str, Any]:
    return {
        "status": result.status, "method": result.method, "primal": result.primal,
        "dual": result.dual, "gap": result.gap, "rel_gap": result.rel_gap,
        "passes": result.passes, "entries": result.passes * stored, "seconds": result.seconds,
    }  # fmt: skip


def in_order(results: dict[str, Result]) -> list[tuple[str, Result]]:
    """Those that converged first, by passes; then the others by their proven gap."""

    def place(pair: tuple[str, Result]) -> tuple[bool, float]:
        done = pair[1].status == "converged"
        return not done, pair[1].passes if done else pair[1].rel_gap

    return sorted(results.items(), key=place)


def row_of(name: str, result: Result, stored: int) -> dict[str, str]:
    """What the table says of a run."""
    return {
        "method": name, "status": result.status, "objective": f"{result.primal:.10g}",
        "proven gap": f"{result.rel_gap:.1e}", "passes": f"{result.passes:,.0f}",
        "entries read": f"{result.passes * stored:.2e}", "seconds": f"{result.seconds:.3f}",
    }  # fmt: skip


def print_table(results: dict[str, Result], refused: dict[str, str], stored: int) -> None:
    """One row a method."""
    rows = [row_of(name, result, stored) for name, result in in_order(results)]
    table = Table(*(rows[0] if rows else ()), box=None)
    for row in rows:
        table.add_row(*row.values())
    Console(highlight=False, width=100).print(table)
    for name, reason in refused.items():
        say(f"{name}: {reason}")


def best_so_far(result: Result) -> Result:
    """The same, its trace with the best gap proven until then in place of the iterate's."""
    trace = Trace()
    gaps = result.trace.rel_gap
    best = np.fmin.accumulate(gaps) if len(gaps) else gaps
    trace.rows = [
        row._replace(rel_gap=float(gap)) for row, gap in zip(result.trace.rows, best, strict=True)
    ]
    return replace(result, trace=trace)


def limits_in_words(
    results: dict[str, Result], tol: float, max_passes: float | None, max_seconds: float | None
) -> str:
    """What was asked of the methods, and who did not get there."""
    passes = "any number of" if max_passes is None else f"{max_passes:,g}"
    seconds = "any number of" if max_seconds is None else f"{max_seconds:g}"
    asked = f"Asked for: a gap of {tol:g} within {passes} passes and {seconds} seconds."
    late = [
        f"{name} ({result.rel_gap:.1e}, {result.status})"
        for name, result in in_order(results)
        if result.status != "converged"
    ]
    if not late:
        return f"{asked} All {len(results)} methods got there."
    there = len(results) - len(late)
    return f"{asked} {there} of {len(results)} methods got there, not: {', '.join(late)}."


def draw(results: dict[str, Result], path: Path, title: str, stored: int, tol: float) -> None:
    """The best gap so far by pass, by entry read (the upper axis) and by second.

    Some methods need a thousand times the passes of others: where they are many, both axes are
    logarithmic, but for the first passes, and the legend has the order of the table.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import LogFormatterMathtext

    from ..files import replacing
    from ..plotting import compare as picture

    many = len(results) > BESIDE
    shape, size = ((2, 1), (10.0, 9.5)) if many else ((1, 2), (11.0, 4.4))
    figure, axes = pyplot.subplots(*shape, figsize=size, layout="constrained", sharey=True)
    shown = {
        name if result.status == "converged" else f"{name} (not there)": best_so_far(result)
        for name, result in in_order(results)
    }
    picture(shown, x="passes", ax=axes[0])
    picture(shown, x="seconds", ax=axes[1])
    axes[1].set_xlabel("seconds in the method")
    axes[1].set_xscale("symlog", linthresh=1e-3)
    if not many:
        axes[1].set_ylabel("")
    for ax in axes:
        ax.axhline(tol, color="black", linewidth=0.8, alpha=0.6)
    axes[0].get_legend().remove()
    if many:
        axes[0].set_xscale("symlog", linthresh=10.0)
    axes[0].set_xlim(left=0.0)
    entries = axes[0].secondary_xaxis("top", functions=(lambda v: v * stored, lambda v: v / stored))
    if many:
        # after the functions, which set a scale of their own; ticks of the linear part would touch
        entries.set_xscale("symlog", linthresh=10.0 * stored)
        last = max(result.passes for result in results.values()) * stored
        entries.set_xticks([0.0, *powers_of_ten(10.0 * stored, last)])
        entries.xaxis.set_major_formatter(LogFormatterMathtext())
        axes[1].get_legend().remove()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside right center")
    entries.set_xlabel("entries read")
    figure.suptitle(title)
    with replacing(path) as stream:
        figure.savefig(stream, format=path.suffix[1:].lower(), dpi=150)
    pyplot.close(figure)


def powers_of_ten(first: float, last: float) -> list[float]:
    """Those from ``first`` to ``last``.

    Examples
    --------
    >>> powers_of_ten(300.0, 20_000.0)
    [1000.0, 10000.0]
    """
    exponents = range(math.ceil(math.log10(first)), math.floor(math.log10(max(last, first))) + 1)
    return [10.0**exponent for exponent in exponents]
