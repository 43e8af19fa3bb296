"""The one outer loop: clock, certificate, stopping, restarts, Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..certificate.feasible import replace_infeasible
from ..certificate.gap import (
    Certificate,
    certificate_of,
    floor_of,
    refuse_without_bound,
    relative,
)
from ..certificate.points import (
    DualPoint,
    Pair,
    PrimalPoint,
    dual_from_margins,
    feasible_dual,
    leaves_open,
    pair_of,
    paired,
    primal_point,
    zero_dual,
)
from ..certificate.segments import better
from ..control.prospect import Prospect
from ..control.steps import Proposal, Seen, StepRule, make_rule
from ..engines.ledger import Ledger
from ..errors import IncompatibleError
from ..kernel.announce import watching
from ..kernel.jit import clock
from ..problem import Problem
from ..result import Progress, Result, Trace
from ..solvers.base import Method
from .checkpoint import Keeper
from .progress import ProgressLine
from .tuning import FREE_SECONDS, HARMLESS, LOOK_SECONDS

__all__ = ["Run"]

Callback = Callable[[Progress], Any]
Iterates = list[tuple[np.ndarray, np.ndarray | None]]


class Run:
    """One call of ``solve``: the method works, rules propose, and here it is decided.

    Parameters
    ----------
    problem : Problem
        What it reads is told to the ledger.
    method : Method
    rule : StepRule
    tol : float
    ledger : Ledger
        What has been read, how long it took, and the limits.
    label : str
        What the result calls the method.
    may_switch : bool
        Whether the method's fall-back may take over.
    """

    def __init__(
        self,
        problem: Problem,
        method: Method,
        rule: StepRule,
        tol: float,
        ledger: Ledger,
        label: str = "",
        may_switch: bool = False,
    ) -> None:
        self.problem, self.method, self.rule = problem, method, rule
        self.tol, self.ledger = tol, ledger
        self.trace = Trace()
        self.label = label or method.name
        self.may_switch = may_switch
        self.unverified = ""  # what the best pair takes from sums that were kept up to date
        self.best: tuple[PrimalPoint, DualPoint] | None = None
        self._certificate: Certificate | None = None
        self.watched = may_switch  # whether it is auto that chose
        self.prospect, self.since = Prospect(tol), 0.0  # seconds, as the ledger counts them
        self.price = self.price_of_next(type(method)) if may_switch else math.inf
        self.retired: Method | None = None  # the method that gave way
        self.looks_before = 0  # of methods that came before

    def go(
        self,
        x: np.ndarray,
        y: np.ndarray,
        v: np.ndarray | None,
        callback: Callback | None,
        verbose: bool,
        keeper: Keeper | None = None,
    ) -> Result:
        """Run from a point until there is a reason to stop."""
        line = ProgressLine(self.method.name, self.tol) if verbose else None
        with watching(line.compiling) if line else nullcontext():
            self.start(x, y, v)
            begun = self.looks_before > 0  # what a sprint has found is an answer, too
            return self.run(callback, line, keeper, stepped=begun)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        """Put the method at a point and look at it."""
        self.ledger.allow(self.method.most_passes)
        self.method.adopt(self.rule.first())
        with np.errstate(all="ignore"):
            self.method.begin(x, y, v)
            self.rule.start(self.evaluate([(x, y)]))
        refuse_without_bound(self.problem, self.certificate().dual)

    def go_on(self, tol: float, callback: Callback | None, verbose: bool, keeper: Keeper) -> Result:
        """Run on from where a keeper found it, with limits that may be others."""
        line = ProgressLine(self.method.name, tol) if verbose else None
        self.ledger.allow(self.method.most_passes)
        self.tol = self.prospect.tol = tol
        for method in (self.method, self.retired):
            if method is not None and method.tol != tol:
                method.aim(tol)
        if keeper.status == "diverged":
            return self.result(keeper.status)
        looked = not (keeper.status or keeper.changed)  # at limits, before it was kept
        with watching(line.compiling) if line else nullcontext():
            return self.run(callback, line, keeper, stepped=True, looked=looked)

    def run(
        self,
        callback: Callback | None,
        line: ProgressLine | None,
        keeper: Keeper | None,
        stepped: bool = False,
        looked: bool = False,
    ) -> Result:
        """Epoch by epoch, until there is a reason to stop; ``looked``: there is none yet."""
        status = ""
        try:
            while not status:
                if line:
                    line.show(self.trace.rows[-1], self.certificate().rel_gap)
                status, looked = "" if looked else self.limits(callback), False
                if keeper is not None:
                    keeper.pause(self, status)
                if not status:
                    status, stepped = self.advance(), True
            if keeper is not None and status == "diverged":
                keeper.pause(self, status)
        except KeyboardInterrupt:
            if not stepped:  # all there is, is where it began: no answer
                raise
            status = "interrupted"
        finally:
            if line:
                line.show(self.trace.rows[-1], self.certificate().rel_gap, last=True)
        return self.result(status)

    def limits(self, callback: Callback | None) -> str:
        """Why to stop now, or ''."""
        if self.certificate().rel_gap <= self.tol and self.verify():
            return "converged"
        if callback is not None and callback(self.trace.rows[-1]):
            return "interrupted"
        if self.method.exhausted or (self.watched and self.prospect.exhausted):
            return "" if self.resume() else "stalled"
        looks = len(self.trace.rows) - self.looks_before
        many = self.ledger.own_limit and looks > self.method.most_looks
        if many and self.go_back():  # it was on its way, and others have not got there either
            return ""
        if many or self.ledger.out_of_passes:
            return "max_passes"
        if self.ledger.out_of_time:
            return "max_seconds"
        return ""

    def verify(self) -> bool:
        """Compute anew what the method only kept up to date: rounding may have crept in.

        If the gap does not stand, the method starts again from the point with its true values.
        """
        assert self.best is not None
        if self.unverified and self.harmless(self.method.drift(self.best[1])):
            return True
        self.confirm()
        if self.certificate().rel_gap <= self.tol:
            return True
        self.method.begin(self.best[0].x.copy(), self.best[1].y.copy())
        return False

    def harmless(self, drift: float) -> bool:
        """Whether the gap stands with all that rounding can have moved it by; then it is added."""
        c = self.certificate()
        gap, dual = c.gap + drift, c.dual - drift
        rel_gap = relative(gap, c.primal, dual, c.floor)
        if not (drift <= HARMLESS * c.gap and rel_gap <= self.tol):
            return False
        self.unverified = ""
        self._certificate = c._replace(dual=dual, gap=gap, rel_gap=rel_gap)
        return True

    def confirm(self) -> None:
        """Evaluate the best pair with products of its own: the method only kept some up to date.

        Both are made: sums kept up to date side by side, such as margins and slopes, drift apart.
        """
        kept, self.unverified = self.unverified, ""
        if not kept or self.best is None:
            return
        p, x, y = self.problem, self.best[0].x, self.best[1].y
        u, G = p.grid.both(x, p.c * y)
        pair = pair_of(p, x, u, y, -G)
        self.keep(pair.point, pair.dual)
        self._certificate = certificate_of(self.problem, pair)

    @np.errstate(all="ignore")  # what overflows is infinite, and certified as such
    def advance(self) -> str:
        """One epoch, one evaluation, new steps; 'diverged' if fixed steps blew up."""
        start = clock()
        try:
            for _ in self.method.epoch():
                if self.ledger.spent:
                    break  # an epoch may be long: Theorem 3 asks for millions of inner steps
        finally:
            self.ledger.seconds += clock() - start
        proposal = self.rule.after_epoch(self.evaluate())
        self.dispose(proposal)
        return "diverged" if proposal.diverged else ""

    def dispose(self, proposal: Proposal) -> None:
        """Do what the rule proposes, or go on with the method's fall-back."""
        if proposal.back_to is not None:
            self.method.begin(proposal.back_to.x, proposal.back_to.y)
        if proposal.restart_average:
            self.method.restart_average()
        self.method.adopt(proposal)
        if self.method.final:
            return
        if self.may_switch and (proposal.slow or self.without_prospect()):
            self.switch()

    def without_prospect(self) -> bool:
        """Whether the method would need longer than its fall-back in all."""
        free, p = len(self.problem.free_columns), self.problem
        looks = LOOK_SECONDS + FREE_SECONDS * p.n * free**2  # what proofs take is not counted
        seconds = self.ledger.seconds_of(p.grid.dense) + looks * len(self.trace.rows) - self.since
        return self.prospect.bleak(seconds, self.certificate().rel_gap, self.price)

    def fallback_of(self, kind: type[Method]) -> type[Method] | None:
        """The first fall-back of a method that takes the problem."""
        after = kind.fallback
        while after is not None:
            try:
                after.refuse(self.problem)
                return after
            except IncompatibleError:
                after = after.fallback
        return None

    def resume(self) -> bool:
        """Go on with the fall-back, or with the method that gave way to one that is at its end."""
        if self.method.final:
            return False
        if self.watched and self.may_switch:
            self.switch()
            return not self.method.exhausted
        return self.go_back()

    def go_back(self) -> bool:
        """Go on with the method that gave way, if there is one."""
        if self.retired is None:
            return False
        self.hand_over(self.retired)
        self.retired = None
        return True

    def switch(self) -> None:
        """Go on with the method's fall-back from the best point, if there is one."""
        before, kind = self.method, self.fallback_of(type(self.method))
        self.may_switch = False
        if kind is None:
            return
        if not before.exhausted:
            self.retired = before
        self.may_switch = kind.fallback is not None
        self.price = self.price_of_next(kind)
        after = kind(self.problem, "auto", before.key, self.ledger)
        after.engine = before.engine
        self.hand_over(after)
        self.label = f"auto: {before.name}, then {kind.name} ({before.name} slowed down)"

    def hand_over(self, method: Method) -> None:
        """Let a method go on from the best point; what came before does not count against it."""
        self.confirm()  # it keeps other sums, and would not look at these again
        assert self.best is not None
        self.prospect, self.since = Prospect(self.tol), self.since + self.prospect.seconds
        self.looks_before = len(self.trace.rows)
        self.ledger.allow(method.most_passes)
        self.method, method.tol = method, self.tol
        method.begin(self.best[0].x.copy(), self.best[1].y.copy())
        self.rule = make_rule(method, "auto")
        method.adopt(self.rule.first())

    def price_of_next(self, kind: type[Method]) -> float:
        """Seconds that the fall-back of a method would take, about."""
        after = self.fallback_of(kind)
        return math.inf if after is None else after.price(self.problem)

    def evaluate(self, iterates: Iterates | None = None) -> Seen:
        """Certify the iterates, keep the best primal and dual points, add a row to the trace.

        Any feasible y proves its bound for every x, so the best of each is kept on its own.
        """
        ready = self.method.evaluated()
        if ready is not None:
            return self.take(ready)
        iterates = self.method.iterates() if iterates is None else iterates
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
            point, dual = self.closest(point, dual, pair.point, pair.dual)
        self.keep(point, dual)
        self.unverified = self.method.maintains
        if point is pair.point and dual is pair.dual:
            self._certificate = certificate_of(self.problem, pair)
        rel_gap = self.certificate().rel_gap
        seen = Seen(pair.gap, pair.point.x, pair.dual.y, pair.lag, rel_gap)
        return self.record(pair.point, seen)

    def keep(self, point: PrimalPoint, dual: DualPoint) -> None:
        self.best = (point, dual)
        self._certificate = None

    def look(self, x: np.ndarray, y: np.ndarray | None) -> tuple[PrimalPoint, Seen]:
        """Evaluate one iterate and offer what it proves."""
        problem = self.problem
        point = primal_point(problem, x)
        guess = dual_from_margins(problem, point.u)
        self.offer(point, feasible_dual(problem, guess))
        if y is None:
            assert self.best is not None
            gap = paired(problem, point, self.best[1]).gap
            return point, Seen(gap, x, np.zeros(problem.n), 1.0)
        inside = y.copy()  # an average may stick out of the domain by a rounding error
        replace_infeasible(inside, guess, problem.b, problem.loss)
        dual = feasible_dual(problem, inside)
        self.offer(point, dual)
        return point, Seen(point.value - dual.value, x, y, paired(problem, point, dual).lag)

    def record(self, point: PrimalPoint | None, seen: Seen) -> Seen:
        """Add a row: the iterate against the best bound so far."""
        primal, gap, dual = math.inf, math.inf, -math.inf
        if self.best is not None:
            dual = self.best[1].value
            if point is self.best[0]:
                primal, gap = point.value, self.certificate().gap
            elif point is not None:
                primal, gap = point.value, paired(self.problem, point, self.best[1]).gap
        rel_gap = relative(gap, primal, dual, floor_of(self.problem))
        counts = self.ledger.passes, self.ledger.paper_passes, self.ledger.seconds
        self.trace.rows.append(Progress(*counts, primal, dual, gap, rel_gap))
        return seen

    def offer(self, point: PrimalPoint, dual: DualPoint) -> None:
        """Keep the point and the bound if they are the best so far."""
        if self.best is None:
            self.keep(point, better(self.problem, zero_dual(self.problem), dual))
        else:
            x_best = point if point.value < self.best[0].value else self.best[0]
            self.keep(*self.closest(x_best, better(self.problem, self.best[1], dual), point, dual))

    def closest(
        self, x_best: PrimalPoint, y_best: DualPoint, point: PrimalPoint, dual: DualPoint
    ) -> tuple[PrimalPoint, DualPoint]:
        """The best of each, unless what a bound leaves open counts for more at that x."""
        assert self.best is not None
        if not (leaves_open(y_best) or leaves_open(self.best[1])):
            return x_best, y_best
        pairs = [(x_best, y_best), self.best, (point, dual)]
        return min(pairs, key=lambda two: paired(self.problem, *two).gap)

    def certificate(self) -> Certificate:
        assert self.best is not None  # evaluate() has run
        if self._certificate is None:
            self._certificate = certificate_of(self.problem, paired(self.problem, *self.best))
        return self._certificate

    def result(self, status: str) -> Result:
        self.confirm()
        c = self.certificate()
        if c.rel_gap <= self.tol:
            status = "converged"
        assert self.best is not None
        return Result(
            self.best[0].x, c.y, c.primal, c.dual, c.gap, c.rel_gap, status, self.ledger.passes,
            self.ledger.seconds, self.trace, self.label, dict(self.method.steps), c.floor, c.reach,
            self.method.engine.staleness,
        )  # fmt: skip
