"""spd1 warm-up: compile what a user is likely to need, before it is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..certificate.segments import best_multiple
from ..errors import DataError, IncompatibleError
from ..kernel.announce import TALLY, watching
from ..kernel.shipped import builder_environment, write_manifest
from ..losses import LOSSES
from ..multinomial.ascent import Ascent
from ..multinomial.objective import Objective
from ..multinomial.proximal import Proximal, WorkingSet
from ..problem import Problem
from ..regularizers import ElasticNet
from .exits import INTERRUPTED, guarded
from .show import say

Everything = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Also quantile, huber, absolute, epsilon-insensitive, poisson, gamma, tweedie losses",
    ),
]
Into = Annotated[
    Path | None,
    typer.Option(help="Compile for a common processor level into this folder, to ship in a wheel"),
]

# Estimators by loss: what spd1.linear_model fits by default, and what else they are taken for.
USUAL: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "logistic": [("LogisticRegression", {}), ("LogisticRegression", {"l1_ratio": 1.0})],
    "multinomial": [("LogisticRegression", {}), ("LogisticRegression", {"l1_ratio": 1.0})],
    "squared": [
        ("Ridge", {}),
        ("Lasso", {"alpha": 0.1}),
        ("ElasticNet", {"alpha": 0.1}),
        ("LinearRegression", {}),
    ],
    "hinge": [("LinearSVC", {"loss": "hinge"})],
    "squared hinge": [("LinearSVC", {})],
}
MORE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "quantile": [("QuantileRegressor", {"alpha": 0.1})],
    "huber": [("HuberRegressor", {})],
    "absolute": [("ERMRegressor", {"loss": "absolute"})],
    "epsilon-insensitive": [("LinearSVR", {}), ("LinearSVR", {"epsilon": 0.1})],
    "poisson": [("PoissonRegressor", {})],
    "gamma": [("GammaRegressor", {})],
    "tweedie": [("TweedieRegressor", {"power": 1.5})],
}
CROSS_VALIDATED = {"logistic": ["LogisticRegressionCV"], "squared": ["LassoCV", "ElasticNetCV"]}

# What method auto takes depends on the shape: tall, about square, wide, few rows.
SHAPES = (200, 20), (120, 80), (60, 60), (80, 160), (12, 200)
SEARCHED = 80, 160  # that alphas are searched on, too
LARGE = 1200, 60  # more entries than auto takes for small

LAYOUTS_OF_DATA: dict[str, Callable[[Any], Any]] = {
    "dense": np.ascontiguousarray, "csr": sp.csr_array, "csc": sp.csc_array
}  # fmt: skip

Task = tuple[str, Callable[[], Any]]


def tasks(losses: dict[str, list[tuple[str, dict[str, Any]]]]) -> Iterator[Task]:
    """Small fits that together call every kernel that the estimators of these losses need."""
    from .. import linear_model

    rng = np.random.default_rng(0)
    for loss, estimators in losses.items():
        for layout, convert in LAYOUTS_OF_DATA.items():
            for n, d in (*SHAPES, LARGE):
                A = rng.standard_normal((n, d))
                margin = A @ rng.standard_normal(d) / np.sqrt(d) + 0.5 * rng.standard_normal(n)
                b = targets(loss, margin)
                data = convert(A if layout == "dense" else A * (rng.random((n, d)) < 0.2))
                for name, parameters in estimators:
                    for intercept in (True, False):
                        model = getattr(linear_model, name)(fit_intercept=intercept, **parameters)
                        yield f"{loss}, {layout}", bound(model.fit, data, b)
                    if (n, d) == SHAPES[0]:  # numbers of rows and columns instead of one for all
                        model = getattr(linear_model, name)(**parameters)
                        yield f"{loss}, {layout}", bound(model.fit, data, b, np.linspace(1, 2, n))
                if (n, d) in (SHAPES[0], SEARCHED):
                    for name in CROSS_VALIDATED.get(loss, ()):
                        yield f"{loss}, {layout}", bound(getattr(linear_model, name)().fit, data, b)
                known = loss.replace(" ", "_").replace("-", "_")
                if (n, d) == SHAPES[0] and known in LOSSES:
                    yield f"{loss}, {layout}", bound(proof_of_a_multiple, data, b, known)
                if loss == "multinomial" and (n, d) == SHAPES[0]:
                    yield f"{loss}, {layout}", partial(steps_of_large_data, data, b.astype(int))


def proof_of_a_multiple(data: Any, b: np.ndarray, loss: str) -> None:
    """The proof that methods on rows begin with, where l2 is all there is."""
    problem = Problem(data, b, loss, ElasticNet(l2=1e-3))
    best_multiple(problem, np.zeros(problem.n))


def steps_of_large_data(data: Any, labels: np.ndarray) -> None:
    """Sweeps over columns, and over rows of sparse data: small multinomial fits take no such."""
    for net in (ElasticNet(l1=1e-3), ElasticNet(l2=1e-3)):
        one = Objective(data, labels, 3, None, net, True)
        point = one.at(one.start())
        if net.l1 > 0.0:
            work = WorkingSet(one, np.ones_like(point.x, dtype=bool))
            z = point.x[work.column, work.cls]
            Proximal(one).by_columns(point, work, z, np.zeros_like(z), 1.0)
        elif one.sparse:
            Ascent(one, point.x, np.zeros((one.K, one.n))).one_pass()


def targets(loss: str, margin: np.ndarray) -> np.ndarray:
    """Labels, counts or numbers, as the loss asks."""
    if loss in ("logistic", "hinge", "squared hinge"):
        return np.where(margin > 0, 1.0, -1.0)
    if loss == "multinomial":
        return np.asarray(np.digitize(margin, np.quantile(margin, [0.33, 0.67])), dtype=float)
    if loss in ("gamma", "tweedie"):
        return np.exp(0.5 * margin)
    return np.floor(np.exp(0.5 * margin)) if loss == "poisson" else margin


def bound(fit: Callable[..., Any], *arguments: Any) -> Callable[[], Any]:
    """The fit, to be done later; a combination that is refused needs no kernels."""

    def do() -> None:
        with warnings.catch_warnings(), suppress(IncompatibleError, ValueError):
            warnings.simplefilter("ignore")
            fit(*arguments)

    return do


@guarded
def warm_up(everything: Everything = False, into: Into = None) -> None:
    """Compile the kernels behind spd1.linear_model, so that no fit has to wait for them.

    Takes some minutes the first time. Ctrl-C stops it; what is compiled by then stays.

    spd1 warm-up
    """
    if into is not None:
        build(into, everything)
        return
    began = time.perf_counter()
    work = list(tasks(USUAL | MORE if everything else USUAL))
    with KernelBar(len(work)) as bar, signals_noted() as signals, suppress(KeyboardInterrupt):
        for label, fit in work:
            bar.next(label)
            fit()
            if signals:
                break
    took = time.perf_counter() - began
    say(
        f"{TALLY.found + TALLY.compiled} kernels: {TALLY.found} were on disk, "
        f"{TALLY.compiled} compiled in {TALLY.seconds:.1f} s; {took:.1f} s in all"
    )
    if signals:
        say("interrupted; what was compiled stays")
        raise typer.Exit(INTERRUPTED)


@contextmanager
def signals_noted() -> Iterator[list[int]]:
    """Note signals that others act on: a run that has taken a step ends early, and says nothing."""
    noted: list[int] = []
    handlers: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }

    def note(number: int, frame: Any) -> None:
        noted.append(number)
        handlers[number](number, frame)

    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def build(folder: Path, everything: bool) -> None:
    """Do it in a process that compiles for a level of processors, and say so in the folder."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file: name a folder")
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "spd1", "warm-up", *(["--all"] if everything else [])]
    code = subprocess.run(command, env=os.environ | builder_environment(folder)).returncode
    if code:
        raise typer.Exit(code)
    if not list(folder.glob("*.nbi")):
        raise DataError(f"no kernel was written to {folder}: is Numba switched off?")
    write_manifest(folder)
    say(f"kernels for {builder_environment(folder)['NUMBA_CPU_NAME']} are in {folder}")


class KernelBar:
    """A live bar on standard error over the fits that call the kernels; it counts the kernels."""

    def __init__(self, total: int) -> None:
        self.bar = Progress(
            TextColumn("{task.fields[label]}"),
            BarColumn(),
            TextColumn("{task.fields[kernels]} kernels  {task.fields[state]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task("", total=total, label="starting", kernels=0, state="")
        self.compilations = ExitStack()

    def __enter__(self) -> KernelBar:
        if self.bar.console.is_terminal:  # a pipe or a file gets lines, as from any fit
            self.compilations.enter_context(watching(self.compile))
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
        self.compilations.close()

    def next(self, label: str) -> None:
        """A fit begins."""
        self.bar.update(self.task, advance=1, label=label, kernels=TALLY.found + TALLY.compiled)

    def compile(self, name: str, begins: bool) -> None:
        """A kernel is being compiled, or no longer."""
        count = TALLY.found + TALLY.compiled
        self.bar.update(self.task, kernels=count, state=f"compiling {name}" if begins else "")
