"""The one outer loop: clock, certificate, stopping, restarts, Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .certificate import (
    Certificate,
    DualPoint,
    Pair,
    PrimalPoint,
    best_multiple,
    better,
    certificate_of,
    dual_from_margins,
    feasible_dual,
    lag_of,
    pair_certificate,
    primal_point,
    refuse_without_bound,
    relative,
    zero_dual,
)
from .errors import DataError, IncompatibleError, ParameterError
from .jit import clock
from .problem import Problem, check_point
from .progress import ProgressLine
from .result import Progress, Result, Trace
from .solvers import method_class
from .steps import Seen, make_steps

if TYPE_CHECKING:
    from .solvers.base import Method
    from .steps import Control

__all__ = ["solve"]

SLOW_LOOKS = 8  # looks at rows without much progress before auto changes to Newton's method

Callback = Callable[[Progress], Any]
Iterates = list[tuple[np.ndarray, np.ndarray | None]]


def solve(
    problem: Problem,
    method: str = "auto",
    *,
    tol: float = 1e-6,
    max_passes: float = 1000,
    max_seconds: float | None = None,
    steps: str | dict[str, float] = "auto",
    sampling: str = "auto",
    tile: Any = None,
    random_state: Any = 0,
    x0: Any = None,
    y0: Any = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Result:
    """Minimise a problem until its certified relative duality gap is at most ``tol``.

    Parameters
    ----------
    problem : Problem
    method : {"spd1-vr", "spd1", "rows", "psgd", "svrg", "saga"}
        Algorithms 2 and 1 of the paper, row tiles (the fast one), and what the paper compares with.
    tol : float
        Relative duality gap to reach. Nothing else is called converged.
    max_passes : float
        Limit on entries read / entries stored.
    max_seconds : float, optional
        Limit on the time spent, evaluation included, compilation not.
    steps : "auto", "theory" or dict
        "auto" watches the gap and needs no tuning. "theory" takes the step sizes of Theorem 1, 2
        or 3, or refuses by name. A dict sets them: ``eta`` and ``tau`` for spd1 and spd1-vr,
        ``eta`` for the others; spd1 and psgd also take ``decay`` (divide by 1 + decay * epoch).
    sampling : {"auto", "uniform", "nonzeros"}
        For spd1 and spd1-vr: the paper's uniform entries, or stored entries only. "auto" takes
        uniform for dense and nonzeros for sparse data.
    tile : None, "auto" or (rows, columns)
        For spd1 and spd1-vr: None looks at one entry a step, as published; a pair looks at a tile
        of so many consecutive rows and columns. "auto" takes the fastest: a few whole rows.
    random_state : int, None or NumPy generator
        Same seed, same bits.
    x0, y0 : arrays, optional
        Starting points; default argmin g and argmin phi*.
    callback : callable, optional
        Called with a ``Progress`` row after each evaluation; a true return value stops the run.
    verbose : bool
        Show a live progress line on standard error.

    Returns
    -------
    Result
        The best certified point seen. Ctrl-C returns it too, with status "interrupted".

    Examples
    --------
    >>> import numpy as np, spd1
    >>> rng = np.random.default_rng(0)
    >>> A = rng.normal(size=(40, 10)); b = np.sign(A[:, 0])
    >>> result = spd1.solve(spd1.Problem(A, b, "logistic", spd1.L2(0.1)))
    >>> result.status, result.rel_gap <= 1e-6
    ('converged', True)
    """
    if not isinstance(problem, Problem):
        raise ParameterError(f"solve takes a spd1.Problem, not {type(problem).__name__}")
    _positive(tol, "tol")
    _positive(max_passes, "max_passes")
    if max_seconds is not None:
        _positive(max_seconds, "max_seconds")
    label = method
    if method == "auto":
        from .solvers.auto import pick

        method, reason = pick(problem)
        label = f"auto: {method} ({reason})"
    kind = method_class(method)
    kind.refuse(problem)
    build = kind.tiled(problem, tile)

    from .rng import key_of

    x, y = starting_point(problem, x0, y0, kind)
    worker = build(problem, sampling, key_of(random_state))
    worker.tol = tol
    control = make_steps(worker, steps)
    run = Run(problem, worker, control, tol, max_passes, max_seconds)
    run.label, run.may_switch = label, label != method
    if x0 is not None or y0 is not None:
        run.look(x, y)  # a run never hands back less than it was given
    return run.go(x, y, callback, verbose)


def _positive(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not value > 0:
        raise ParameterError(f"{name} must be a positive number, got {value!r}")


def margins_of(problem: Problem, x: np.ndarray) -> np.ndarray:
    """A x."""
    from .products import margins

    return margins(problem.A, x)


def starting_point(
    problem: Problem, x0: Any, y0: Any, kind: type[Method] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Default x0 = argmin g, y0_i = argmin phi_i* = phi_i'(0); given points must be feasible.

    Some methods take the multiple of y0 with the best bound: argmin phi* may be far from optimal.
    """
    from .evaluation import replace_infeasible

    minimiser = problem.reg.minimiser(problem.d)
    flat = dual_from_margins(problem, np.zeros(problem.n))
    x, y = minimiser, flat
    if x0 is not None:
        x = check_point(x0, problem.d, "x0").copy()
        if not np.all(np.isfinite(x)):
            raise DataError("x0 has infinite values")
        if np.any(x < problem.reg.lower) or np.any(x > problem.reg.upper):
            raise DataError("x0 is outside the feasible set")
        empty = problem.weighted_column_counts == 0
        x[empty] = minimiser[empty]  # columns without data are solved in closed form
    if y0 is not None:
        y = check_point(y0, problem.n, "y0").copy()
        if replace_infeasible(y.copy(), y, problem.b, problem.loss):
            raise DataError(f"y0 is outside the domain of the conjugate of {problem.loss}")
        empty = problem.row_counts == 0
        y[empty] = flat[empty]  # and so are empty rows
    elif kind is not None and kind.scales_start:
        y = dual_from_margins(problem, margins_of(problem, x)) if np.any(x) else flat
        y = best_multiple(problem, y)
        empty = (problem.row_norms_squared if kind.reads_norms else problem.row_counts) == 0
        y = np.where(empty, flat, y)
    return x, y


class Run:
    """State of one call of ``solve``."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        control: Control,
        tol: float,
        max_passes: float,
        max_seconds: float | None,
    ) -> None:
        self.problem, self.method, self.control = problem, method, control
        self.tol, self.max_passes = tol, max_passes
        self.max_seconds = math.inf if max_seconds is None else max_seconds
        self.trace = Trace()
        self.label = method.name
        self.may_switch = False
        self.seconds = 0.0
        self.best: tuple[PrimalPoint, DualPoint] | None = None
        self._certificate: Certificate | None = None

    def go(self, x: np.ndarray, y: np.ndarray, callback: Callback | None, verbose: bool) -> Result:
        self.started = clock()
        self.method.begin(x, y)
        self.evaluate([(x, y)])
        refuse_without_bound(self.problem, self.certificate().dual)
        line = ProgressLine(self.method.name, self.tol) if verbose else None
        status = ""
        try:
            while not status:
                if line:
                    line.show(self.trace.rows[-1], self.certificate().rel_gap)
                status = self.limits(callback) or self.advance()
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            if line:
                line.show(self.trace.rows[-1], self.certificate().rel_gap, last=True)
        return self.result(status)

    def limits(self, callback: Callback | None) -> str:
        """Why to stop now, or ''."""
        if self.certificate().rel_gap <= self.tol:
            return "converged"
        if callback is not None and callback(self.trace.rows[-1]):
            return "interrupted"
        if self.passes() >= self.max_passes:
            return "max_passes"
        if clock() - self.started >= self.max_seconds:
            return "max_seconds"
        return ""

    def advance(self) -> str:
        """One epoch, one evaluation, new steps; 'diverged' if fixed steps blew up."""
        deadline = self.started + self.max_seconds
        start = clock()
        for _ in self.method.epoch():
            if clock() >= deadline or self.passes() >= self.max_passes:
                break  # an epoch may be long: Theorem 3 asks for millions of inner steps
        self.seconds += clock() - start
        seen = self.evaluate(self.method.iterates())
        alive = self.control.after_epoch(seen)
        if self.may_switch and getattr(self.control, "slow", 0) >= SLOW_LOOKS:
            self.switch()
        return "" if alive else "diverged"

    def switch(self) -> None:
        """Go on with Newton's method from the best point, if it takes the problem."""
        self.may_switch = False
        kind = method_class("newton")
        try:
            kind.refuse(self.problem)
        except IncompatibleError:
            return
        assert self.best is not None
        before, self.method = self.method, kind(self.problem, "auto", self.method.key)
        self.method.tol, self.method.entries_read = self.tol, before.entries_read
        self.method.paper_passes = before.paper_passes
        self.method.begin(self.best[0].x.copy(), self.best[1].y.copy())
        self.control = make_steps(self.method, "auto")
        self.label = f"auto: {before.name}, then newton ({before.name} slowed down)"

    def passes(self) -> float:
        return self.method.entries_read / max(self.problem.A.stored, 1)

    def evaluate(self, iterates: Iterates) -> Seen:
        """Certify the iterates, keep the best primal and dual points, add a row to the trace.

        Any feasible y proves its bound for every x, so the best of each is kept on its own.
        """
        ready = self.method.evaluated()
        if ready is not None:
            return self.take(ready)
        found: list[tuple[PrimalPoint, Seen]] = []
        for x, y in iterates:
            if np.all(np.isfinite(x)) and (y is None or np.all(np.isfinite(y))):
                found.append(self.look(x, y))
        if not found:
            return self.record(None, Seen(math.inf, iterates[0][0], np.zeros(self.problem.n), 1.0))
        return self.record(*min(found, key=lambda one: one[0].value))

    def take(self, pair: Pair) -> Seen:
        """Keep what a method has evaluated itself: nothing is left to compute."""
        point, dual = pair.point, pair.dual
        if self.best is not None:
            point = point if point.value < self.best[0].value else self.best[0]
            dual = dual if dual.value > self.best[1].value else self.best[1]
        self.keep(point, dual)
        if point is pair.point and dual is pair.dual:
            self._certificate = certificate_of(pair)
        rel_gap = self.certificate().rel_gap
        seen = Seen(pair.gap, pair.point.x, pair.dual.y, pair.lag, rel_gap)
        return self.record(pair.point, seen)

    def keep(self, point: PrimalPoint, dual: DualPoint) -> None:
        self.best = (point, dual)
        self._certificate = None

    def look(self, x: np.ndarray, y: np.ndarray | None) -> tuple[PrimalPoint, Seen]:
        """Evaluate one iterate and offer what it proves."""
        from .evaluation import replace_infeasible

        problem = self.problem
        point = primal_point(problem, x)
        guess = dual_from_margins(problem, point.u)
        self.offer(point, feasible_dual(problem, guess))
        if y is None:
            assert self.best is not None
            gap = pair_certificate(problem, point, self.best[1]).gap
            return point, Seen(gap, x, np.zeros(problem.n), 1.0)
        inside = y.copy()  # an average may stick out of the domain by a rounding error
        replace_infeasible(inside, guess, problem.b, problem.loss)
        dual = feasible_dual(problem, inside)
        self.offer(point, dual)
        return point, Seen(point.value - dual.value, x, y, lag_of(problem, point, dual))

    def record(self, point: PrimalPoint | None, seen: Seen) -> Seen:
        """Add a row: the iterate against the best bound so far."""
        primal, gap, dual = math.inf, math.inf, -math.inf
        if self.best is not None:
            dual = self.best[1].value
            if point is self.best[0]:
                primal, gap = point.value, self.certificate().gap
            elif point is not None:
                primal, gap = point.value, pair_certificate(self.problem, point, self.best[1]).gap
        counts = self.passes(), self.method.paper_passes, self.seconds
        self.trace.rows.append(Progress(*counts, primal, dual, gap, relative(gap, primal, dual)))
        return seen

    def offer(self, point: PrimalPoint, dual: DualPoint) -> None:
        """Keep the point and the bound if they are the best so far."""
        if self.best is None:
            self.keep(point, better(self.problem, zero_dual(self.problem), dual))
        else:
            x_best = point if point.value < self.best[0].value else self.best[0]
            self.keep(x_best, better(self.problem, self.best[1], dual))

    def certificate(self) -> Certificate:
        assert self.best is not None  # evaluate() has run
        if self._certificate is None:
            self._certificate = pair_certificate(self.problem, *self.best)
        return self._certificate

    def result(self, status: str) -> Result:
        c = self.certificate()
        if c.rel_gap <= self.tol:
            status = "converged"
        assert self.best is not None
        return Result(
            self.best[0].x, c.y, c.primal, c.dual, c.gap, c.rel_gap, status, self.passes(),
            self.seconds, self.trace, self.label, dict(self.method.steps),
        )  # fmt: skip
