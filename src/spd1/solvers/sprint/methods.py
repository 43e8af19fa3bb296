"""The kernels as methods like any other: by name, from any start, a slice of passes an epoch.

``auto`` calls them without the loop around, see ``sprint``: small problems take less than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...certificate.gap import floor_of
from ...certificate.points import DualPoint, Pair
from ...errors import IncompatibleError, ParameterError
from ...problem import Problem
from ..base import PairMethod, Saved, tied_drift
from ..newton.newton import Newton
from .ascent import LOOKS
from .tuning import PASSES_AN_EPOCH
from .workers import AscentWorker, DescentWorker, NewtonCGWorker, NewtonGramWorker

__all__ = ["Ascent", "Descent", "NewtonCG", "NewtonGram"]


class AscentState(NamedTuple):
    """y, A'(c y) and the margins at the last look."""

    y: np.ndarray
    G: np.ndarray
    u: np.ndarray


class DescentState(NamedTuple):
    """x, its margins, the best y and A'(c y) there."""

    x: np.ndarray
    u: np.ndarray
    y: np.ndarray
    G: np.ndarray


class NewtonCGState(NamedTuple):
    """x, its margins, the best y; the matrix of the columns, and whether it is in use."""

    x: np.ndarray
    u: np.ndarray
    y: np.ndarray
    H: np.ndarray
    told: np.ndarray


class KernelMethod(PairMethod):
    """A method whose epochs are calls of one kernel."""

    fallback = Newton
    worker_class: ClassVar[Any]
    worker: Any
    pair: Pair

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        missing = cls.worker_class.objection(problem)
        if missing:
            raise IncompatibleError(f"{cls.name} needs {missing}: use method 'auto'")

    def prepare(self, sampling: str) -> None:
        if sampling != "auto":
            raise ParameterError(f"sampling={sampling!r} means nothing to {self.name}")

    def epoch(self) -> Iterator[None]:
        p, record = self.problem, np.empty((LOOKS, 4))
        limits = (0.5 * self.tol, floor_of(p), PASSES_AN_EPOCH, math.inf)
        _, passes = self.worker.run(limits, record)
        self.ledger.entries += passes * p.stored
        self.ledger.paper_passes += passes
        self.pair = self.worker.pair()
        yield

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.take_up()

    def take_up(self) -> None:
        """Put a worker where the state says."""
        raise NotImplementedError


class Ascent(KernelMethod):
    """Dual ascent row by row, x tied to y."""

    name = "ascent"
    maintains = "gradient"
    worker_class = AscentWorker
    takes_cuts = True  # by rows: ``cut.CutAscent``

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        super().refuse(problem)
        rows, columns = problem.grid.shape
        if columns > 1:
            raise IncompatibleError(
                f"ascent visits whole rows, and those of this data are cut into {columns} tiles: "
                f"use method 'newton' or 'rows', or cut it by rows alone, grid=({rows}, 1)"
            )

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        del x  # it follows from y
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        self.state = AscentState(y.copy(), G, np.zeros(p.n))
        self.take_up()
        self.state.u[:] = p.margins(self.worker.x)
        self.pair = self.worker.pair()

    def take_up(self) -> None:
        self.worker = AscentWorker(self.problem, self.key)
        self.worker.y, self.worker.G, self.worker.u = self.state
        self.pair = self.worker.pair()

    def epoch(self) -> Iterator[None]:
        yield from super().epoch()
        self.updates += int(self.worker.updates)
        self.largest = max(self.largest, self.worker.largest)
        self.worker.updates = 0.0

    def drift(self, dual: DualPoint) -> float:
        square = max(self.largest, float(dual.v @ dual.v))
        return tied_drift(self.problem, square, self.updates)


class Descent(KernelMethod):
    """Sweeps over the columns that can move."""

    name = "descent"
    worker_class = DescentWorker

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        p = self.problem
        G = p.adjoint(p.c * y) if v is None else -v
        self.state = DescentState(x.copy(), p.margins(x), y.copy(), G)
        self.take_up()

    def take_up(self) -> None:
        w = self.worker = DescentWorker(self.problem, self.key)
        w.x, w.u, w.best_y, w.best_G = self.state
        self.pair = w.pair()


class NewtonCG(KernelMethod):
    """Newton's steps by conjugate gradients."""

    name = "newton-cg"
    worker_class = NewtonCGWorker

    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        del v
        p = self.problem
        new = self.worker_class(p, self.key)
        self.state = NewtonCGState(x.copy(), p.margins(x), y.copy(), new.H, new.told)
        self.take_up()

    def take_up(self) -> None:
        w = self.worker = self.worker_class(self.problem, self.key)
        w.x, w.u, w.y, w.H, w.told = self.state
        self.pair = w.pair()
        w.bound = self.pair.dual.value

    def epoch(self) -> Iterator[None]:
        yield from super().epoch()
        self.worker.bound = self.pair.dual.value  # as if it had been taken up here


class NewtonGram(NewtonCG):
    """Newton's steps, preconditioned by the matrix of few columns."""

    name = "newton-gram"
    worker_class = NewtonGramWorker
