"""The entry: arguments, the outer loop, the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..certificate.gap import Certificate
from ..certificate.tuning import UNIT
from ..engines.blas import one_thread
from ..engines.choose import make_engine
from ..engines.ledger import Ledger
from ..errors import DataError, ParameterError
from ..kernel.jit import clock
from ..loop.progress import ProgressLine
from ..regularizers import as_regularizer
from ..result import Progress, Result, Trace
from ..solve import keep_pages
from .absent import Present
from .ascent import Ascent, pays
from .bound import Bound, certificate_of, nothing_known, prove, simplex
from .objective import Objective, Point
from .precondition import choose
from .proximal import Proximal
from .smooth import Step, guess, newton_step
from .tuning import BELOW_ZERO, ENOUGH_DECREASE, MOST_LOOKS, SHORTENINGS, STALLS, TOO_FAR

__all__ = ["solve_multinomial"]


def solve_multinomial(
    X: Any,
    labels: Any,
    classes: int,
    reg: Any = None,
    sample_weight: Any = None,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_passes: float | None = None,
    max_seconds: float | None = None,
    x0: Any = None,
    callback: Callable[[Progress], Any] | None = None,
    verbose: bool = False,
    engine: str = "serial",
    n_threads: int | None = None,
) -> Result:
    """Fit a multinomial logistic model until its certified relative gap is at most ``tol``.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    labels : array of shape (n,)
        Class of each row, 0 .. classes - 1. One without weight gets an intercept so low that it
        never happens.
    classes : int
    reg : ElasticNet, optional
        l1 and l2 of every coefficient, in units of the mean loss.
    sample_weight : array of shape (n,), optional
    fit_intercept : bool
        One intercept a class, without penalty.
    tol : float
    max_passes, max_seconds : float, optional
        A product with the data for all classes is one pass. Default: 500 looks.
    x0 : array of shape (classes, d) or (classes, d + 1), optional
        Coefficients to start from, the intercepts last.
    callback : callable, optional
        Called with a ``Progress`` row after each look; a true return value stops the run.
    verbose : bool
        Show a live progress line on standard error.
    engine : {"serial", "threads"}
        "threads": products with the data on ``n_threads`` threads. The answer has the same bits for
        any number of them, and other last bits than "serial".
    n_threads : int, optional
        Default: as many as the process has cores.

    Returns
    -------
    Result
        ``x`` has a row a class, the intercept last; ``y`` is p - e, a column a class.

    Examples
    --------
    >>> from spd1.regularizers import ElasticNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 2)); labels = X.argmax(axis=1) + (X.max(axis=1) < 0)
    >>> result = solve_multinomial(X, labels, 3, ElasticNet(l2=0.01))
    >>> result.status, result.x.shape
    ('converged', (3, 3))
    """
    for name, value in (("tol", tol), ("max_passes", max_passes), ("max_seconds", max_seconds)):
        if value is not None and not (np.isreal(value) and value > 0):
            raise ParameterError(f"{name} must be a positive number, got {value!r}")
    objective = Objective(X, labels, classes, sample_weight, as_regularizer(reg), fit_intercept)
    if fit_intercept and np.any(objective.share == 0.0):
        part = Present(objective)
        return part.put_back(
            solve_multinomial(
                part.X, part.labels, len(part.classes), reg, part.weight, tol=tol,
                max_passes=max_passes, max_seconds=max_seconds, x0=part.start(x0),
                callback=callback, verbose=verbose, engine=engine, n_threads=n_threads,
            )
        )  # fmt: skip
    objective.ledger = Ledger(objective.stored, max_passes, max_seconds)
    x = None if x0 is None else _starting_point(objective, x0)
    keep_pages()
    with _crew(engine, n_threads) as crew, one_thread(), np.errstate(all="ignore"):
        objective.crew = crew if engine == "threads" else None
        return Run(objective, tol).go(x, callback, verbose)


def _crew(engine: str, n_threads: int | None) -> Any:
    if engine not in ("serial", "threads"):
        raise ParameterError(
            f"engine={engine!r}: several classes at once know 'serial' and 'threads'"
        )
    return make_engine(engine, n_threads)


def _starting_point(objective: Objective, x0: Any) -> np.ndarray:
    x = np.array(x0, dtype=float).T
    if x.shape == (objective.d, objective.K) and objective.fit_intercept:
        x = np.vstack([x, objective.start()[-1]])
    if x.shape != (objective.size, objective.K) or not np.all(np.isfinite(x)):
        raise DataError(
            f"x0 must be finite, of shape {(objective.K, objective.size)}, got {np.shape(x0)}"
        )
    return x


class Run:
    """One call: step, search, look."""

    def __init__(self, objective: Objective, tol: float) -> None:
        self.objective, self.tol, self.ledger = objective, tol, objective.ledger
        self.trace = Trace()
        self.stalls = 0
        self._certificate: tuple[Point, Bound, Certificate] | None = None
        kind = choose(objective)
        self.proximal = Proximal(objective) if objective.l1 > 0.0 else None
        self.make = kind
        how = "working sets" if self.proximal else f"conjugate gradients, {kind.__name__.lower()}"
        self.newton = f"newton ({how})"
        self.label = f"multinomial {self.newton}"
        self.ascent: Ascent | None = None

    def go(self, x: np.ndarray | None, callback: Any, verbose: bool) -> Result:
        """Run from a point until there is a reason to stop."""
        line = ProgressLine("newton", self.tol) if verbose else None
        self.point = self._better_start(x)
        self.bound = nothing_known(self.objective, self.point)
        self._begin(x is not None)
        status, stepped = "", False
        try:
            self.record()
            while not status:
                if line:
                    line.show(self.trace.rows[-1], self.certificate().rel_gap)
                status = self.limits(callback)
                if not status:
                    self.advance()
                    stepped = True
        except KeyboardInterrupt:
            if not stepped:
                raise
            status = "interrupted"
        finally:
            if line and self.trace.rows:
                line.show(self.trace.rows[-1], self.certificate().rel_gap, last=True)
        return self.result(status)

    def _begin(self, warm: bool) -> None:
        """Ascent where it pays, from the chances of a given point if they prove anything."""
        if not pays(self.objective):
            return
        if warm:
            known = prove(self.objective, self.point, self.point.chances)
            self.bound = max(self.bound, known, key=lambda bound: bound.dual)
        self.ascent = Ascent(self.objective, self.point.x, self.bound.y)
        self.label = "multinomial ascent (rows)"

    def _better_start(self, x: np.ndarray | None) -> Point:
        """The point given, or nothing but intercepts where that is better."""
        plain = self.objective.at(self.objective.start())
        if x is None:
            return plain
        point = self.objective.at(x)
        if not math.isfinite(point.value):
            raise DataError("x0 is too far away: the objective is not finite there")
        return point if point.value < plain.value else plain

    def limits(self, callback: Any) -> str:
        """Why to stop now, or ''."""
        if self.certificate().rel_gap <= self.tol:
            return "converged"
        if callback is not None and callback(self.trace.rows[-1]):
            return "interrupted"
        if self.stalls >= STALLS:
            return "stalled"
        if self.ledger.own_limit and len(self.trace) > MOST_LOOKS:
            return "max_passes"
        return self.ledger.reached

    def advance(self) -> None:
        """One step, one look."""
        start = clock()
        c = self.certificate()
        goal = self.tol * max(abs(c.primal), abs(c.dual), c.floor)
        if self.ascent is not None:
            self._ascend(self.ascent, goal, start)
            return
        if self.proximal is not None:
            step = self.proximal.step(self.point, goal)
        else:
            step = newton_step(self.objective, self.point, self.make, goal)
        before = self.point.value
        point = self.search(step)
        self.ledger.seconds += clock() - start
        self.look(point, step)
        done = c.gap - self.certificate().gap
        moved = before - point.value > 4.0 * UNIT * abs(before) or done > 1e-3 * c.gap
        self.stalls = 0 if moved else self.stalls + 1
        self.record()

    def _ascend(self, ascent: Ascent, goal: float, start: float) -> None:
        """Passes of ascent, one look; the last ones if they are slow."""
        point, bound = ascent.run(goal)
        self.ledger.seconds += clock() - start
        if point.value < self.point.value:
            self.point = point
        if bound.dual > self.bound.dual:
            self.bound = bound
        if ascent.slow:
            self.ascent = None
            self.label = f"multinomial ascent (rows), then {self.newton}"
        self.record()

    def search(self, step: Step) -> Point:
        """The first of 1, 1/2, 1/4, ... of a step that lowers the objective as it should."""
        old, length = self.point, 1.0
        rounding = 4.0 * UNIT * abs(old.value)
        for _ in range(SHORTENINGS):
            x = old.x + length * step.x
            new = self.objective.point(x, old.scores + length * step.scores)
            if new.value <= old.value - ENOUGH_DECREASE * length * step.decrease + rounding:
                return new
            length *= 0.5
        return old

    def look(self, point: Point, step: Step) -> None:
        """Certify the new point with the chances that the step's model ends at."""
        old, self.point = self.point, point
        if step.decrease > TOO_FAR * max(1.0, 1e3 * self.tol) * old.value:
            return
        p = guess(old, step)
        below = float(self.objective.c @ np.maximum(-p, 0.0).sum(axis=0))
        if not below <= BELOW_ZERO:
            return
        bound = prove(self.objective, point, simplex(p))
        if bound.dual > self.bound.dual:
            self.bound = bound

    def certificate(self) -> Certificate:
        kept = self._certificate
        if kept is None or kept[0] is not self.point or kept[1] is not self.bound:
            proof = certificate_of(self.objective, self.point, self.bound)
            kept = self._certificate = (self.point, self.bound, proof)
        return kept[2]

    def record(self) -> None:
        """Add a row to the trace."""
        c, ledger = self.certificate(), self.ledger
        self.trace.rows.append(
            Progress(ledger.passes, ledger.passes, ledger.seconds, *c[:4])
        )  # fmt: skip

    def result(self, status: str) -> Result:
        c = self.certificate()
        status = "converged" if c.rel_gap <= self.tol else status
        x = self.point.x.T.copy()
        if self.objective.l1 == 0.0 and self.objective.l2 == 0.0:  # of many solutions the centred
            x -= x.mean(axis=0)
        elif self.objective.fit_intercept:
            x[:, -1] -= x[:, -1].mean()
        return Result(
            x, c.y, c.primal, c.dual, c.gap, c.rel_gap, status, self.ledger.passes,
            self.ledger.seconds, self.trace, self.label, {}, c.floor, c.reach,
        )  # fmt: skip
