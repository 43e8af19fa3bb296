"""The contract between a method and the one outer loop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..certificate.points import DualPoint, Pair, dual_from_margins
from ..control.steps import AutoSteps, NoSteps, Proposal, StepRule
from ..data.grid import Grid
from ..engines.ledger import Ledger
from ..engines.serial import Engine, Serial, Task
from ..errors import IncompatibleError
from ..problem import Problem
from .tuning import CHUNK, SIGN_MARGIN, TURN

EPS = float(np.finfo(float).eps)
ROUNDINGS = 4  # of one update of a sum, at worst 3.5 (tests/solvers/test_drift.py)


class Saved(NamedTuple):
    """Where a method stands: its arrays, and by name what else the next epoch depends on."""

    state: Any
    beside: dict[str, Any]


class Method(ABC):
    """One algorithm: its state, its steps and its kernel.

    The outer loop in ``loop/run.py`` owns the clock, the certificate, stopping and restarts; a
    method only knows how to run one epoch from where it stands. Where it stands is a value: see
    ``save``.

    Parameters
    ----------
    problem : Problem
    sampling : str
        The ``sampling`` argument of ``solve``.
    key : numpy.uint64
        Stream of random draws.
    ledger : Ledger, optional
        Where entries read are counted; a method on its own gets one of its own.

    Attributes
    ----------
    state : NamedTuple of arrays
        All that the next epoch depends on, beside what ``remembers`` names.
    steps : dict
        Step sizes in force; the keys are ``step_names``.
    """

    name: ClassVar[str]
    step_names: ClassVar[tuple[str, ...]]
    rule: ClassVar[type[StepRule]] = AutoSteps  # its automatic steps
    fallback: ClassVar[type[Method] | None] = None  # what auto goes on with if it slows down
    fades: ClassVar[bool] = False  # whether steps by hand may fade: no variance reduction
    most_passes: ClassVar[float] = 2000  # if the user sets no limit, and ...
    most_looks: ClassVar[float] = math.inf  # ... looks at the certificate
    needs_smooth_loss: ClassVar[bool] = False
    takes_cuts: ClassVar[bool] = False  # whether the data may be cut into several tiles
    takes_races: ClassVar[bool] = False  # whether threads may share all they write: engine 'async'
    remembers: ClassVar[tuple[str, ...]] = (
        "t", "steps", "tied", "passes_ahead", "updates", "largest",
    )  # fmt: skip
    exhausted: bool = False  # whether no further epoch would change anything
    final: bool = False  # whether what is left is rounding: others would only find another point
    maintains: str = ""  # "margins" or "gradient" if its pairs lean on sums kept up to date
    reads_norms: ClassVar[bool] = False  # whether it computes the norms of all rows anyway
    passes_ahead: int = 1  # before the next look at the certificate
    on_tiles: bool = False  # whether the data is cut and tiles are visited one by one
    stale: bool = False  # whether steps use sums that other tiles left behind
    side_by_side: bool = False  # whether parts of the work go on with copies of their own
    tied: bool = False  # whether the second variable follows the first
    state: Any = None
    engine: Engine = Serial()  # who runs its tasks

    def __init__(
        self, problem: Problem, sampling: str, key: np.uint64, ledger: Ledger | None = None
    ) -> None:
        self.refuse(problem)
        self.ledger = Ledger(problem.stored) if ledger is None else ledger
        watched = problem.grid.ledger is self.ledger
        self.problem = problem if watched else problem.watched(self.ledger)
        self.key = key
        self.weights = problem.c * problem.n  # n c_i: 1 without sample weights
        self.steps: dict[str, float] = {}
        self.t = 0  # inner steps so far: the counter of the random draws
        self.tol = 0.0  # relative gap the run is after: for methods that can stop by themselves
        self.updates, self.largest = 0, 0.0  # of sums kept up to date, restarts included
        self.prepare(sampling)

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        """Refuse a problem by name before any work starts."""
        if problem.grid.shape != (1, 1) and not cls.takes_cuts:
            rows, columns = problem.grid.shape
            raise IncompatibleError(
                f"{cls.name} takes data in one piece, and this is cut into {rows} x {columns} "
                "tiles: use method 'newton'"
            )
        if cls.needs_smooth_loss and not problem.gamma > 0:
            raise IncompatibleError(
                f"{cls.name} needs a smooth loss and {type(problem.loss).__name__} is not: use "
                "method 'spd1-vr', 'spd1' or 'psgd', or a smoothed loss such as SmoothedHinge"
            )

    @classmethod
    def scales_start(cls, problem: Problem) -> bool:
        """Whether y0 had better be scaled to the best bound first."""
        del problem
        return False

    @classmethod
    def price(cls, problem: Problem) -> float:
        """Seconds that it will take, about, if that is known: else nobody waits for it."""
        del problem
        return math.inf

    @property
    def entries_read(self) -> float:
        """Entries of A read so far; divided by the stored entries this is the pass count."""
        return self.ledger.entries

    @property
    def paper_passes(self) -> float:
        """The paper's own count: nd one-entry steps, n row steps or a snapshot are a pass each."""
        return self.ledger.paper_passes

    def work_with(self, engine: Engine) -> None:
        """Take an engine: who runs the tasks from now on."""
        self.engine = engine

    def prepare(self, sampling: str) -> None:
        """Allocate what does not depend on the starting point."""
        del sampling

    @abstractmethod
    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        """Put the method at a point, at the start or after a restart; copies its arguments.

        ``v`` is -A'(c y) if that is known.
        """

    def adopt(self, proposal: Proposal) -> None:
        """Take over what the loop has accepted of a proposal."""
        self.steps = proposal.steps
        if proposal.tied is not None:
            self.tied = proposal.tied
        if proposal.passes_ahead is not None:
            self.passes_ahead = proposal.passes_ahead

    def aim(self, tol: float) -> None:
        """Go for another relative gap from here on."""
        self.tol = tol

    @abstractmethod
    def epoch(self) -> Iterator[None]:
        """Run about one pass over the data, yielding now and then."""

    @abstractmethod
    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Points worth certifying, the method's output first; y is None if it has no dual."""

    def evaluated(self) -> Pair | None:
        """A pair whose products with A the method has at hand; None: the outer loop computes."""
        return None

    def drift(self, dual: DualPoint) -> float:
        """Bound of what rounding in sums kept up to date can have moved the gap by."""
        del dual
        return math.inf

    @abstractmethod
    def default_steps(self) -> dict[str, float]:
        """Where automatic steps start."""

    @abstractmethod
    def theory_steps(self) -> dict[str, Any]:
        """Step sizes of the theorem that covers the problem, or a refusal by name."""

    def published_steps(self) -> dict[str, Any]:
        """The same as they were printed, where that was mended."""
        return self.theory_steps()

    def restart_average(self) -> None:
        """Forget the averages kept so far, if any."""

    def save(self) -> Saved:
        """A copy of where the method stands: arrays and numbers, to be kept or sent."""
        return Saved(
            copied(self.state), {name: copied(getattr(self, name)) for name in self.remembers}
        )

    def restore(self, saved: Saved) -> None:
        """Stand where a copy was made, by this method or by another of its kind and problem.

        The next epoch is the one that followed then.
        """
        for name, value in saved.beside.items():
            setattr(self, name, copied(value))
        self.state = copied(saved.state)

    def chunks(self, count: int, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Split ``count`` inner steps into (first, how many); ``self.t`` follows the caller."""
        end = self.t + count
        for first in range(self.t, end, chunk):
            yield first, min(chunk, end - first)


class TileMethod(Method):
    """A method whose work is tasks on tiles: an engine runs them, round by round."""

    @property
    @abstractmethod
    def grid(self) -> Grid:
        """The tiles that it works on."""

    @abstractmethod
    def rounds(self, grid: Grid) -> Iterator[list[Task]]:
        """The tasks of an epoch; those of one round share neither rows nor columns."""

    def epoch(self) -> Iterator[None]:
        """Run the rounds, looking up after each."""
        grid = self.grid
        for tasks in self.rounds(grid):
            self.ledger.entries += self.engine.run(grid, tasks)
            self.settle()
            yield

    def settle(self) -> None:
        """Put together what the tasks of a round kept to themselves."""


class PairMethod(Method):
    """A method without step sizes whose epochs end with a pair that is evaluated."""

    step_names = ()
    rule = NoSteps
    pair: Pair

    def evaluated(self) -> Pair:
        return self.pair

    def iterates(self) -> list[tuple[np.ndarray, np.ndarray | None]]:
        return [(self.pair.point.x, self.pair.dual.y)]

    def default_steps(self) -> dict[str, float]:
        return {}

    def theory_steps(self) -> dict[str, Any]:
        raise IncompatibleError(f"{self.name} has no step sizes: use steps='auto'")


def copied(value: Any) -> Any:
    """The same with arrays of its own: an array, a tuple or a dict of them, a number."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K")
    if isinstance(value, tuple):
        parts = [copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return dict(value) if isinstance(value, dict) else value


def size_of(vector: np.ndarray) -> float:
    """|vector|."""
    return math.sqrt(vector @ vector)


def gradient_drift(problem: Problem, v: np.ndarray, updates: float, largest: float) -> float:
    """Bound of what rounding can have moved D by, where v = -A'(c y) was updated so many times.

    An update rounds the change of y, its weight, its products and the sum: ROUNDINGS eps |v| at
    most. D moves by |x| times the sum of that, where x = argmax_t {v t - g(t)} is no longer than
    |v| / mu if zero is feasible. ``largest`` is the largest |v| that was seen.
    """
    reg, mu = problem.reg, problem.mu
    if not (mu > 0.0 and np.all(reg.lower <= 0.0) and np.all(reg.upper >= 0.0)):
        return math.inf
    return tied_drift(problem, max(size_of(v), largest) ** 2, updates)


def tied_drift(problem: Problem, square: float, updates: float) -> float:
    """The same where zero is feasible, |v|^2 being the largest that was seen."""
    lost = ROUNDINGS * EPS * (updates + problem.n)
    return square * (lost + lost * lost) / problem.mu


def typical_labels(problem: Problem) -> tuple[float, float]:
    """Estimate the size of margins, from the labels, and of y, from y0."""
    y0 = dual_from_margins(problem, np.zeros(problem.n))
    L = max(float(np.sqrt(np.mean(y0**2))), 1e-3)
    if problem.label_kind == "sign":
        return SIGN_MARGIN, L
    if problem.label_kind == "count":  # margins are logarithms of counts
        return 1.0 + math.log1p(float(np.mean(problem.b))), L
    return 3.0 * max(float(np.std(problem.b)), 1e-3), L


def typical_sizes(problem: Problem) -> tuple[float, float]:
    """Estimate how far x and y travel: D from margins of the labels' size, L from y0."""
    size, L = typical_labels(problem)
    return size * math.sqrt(problem.n) / spectral_norm(problem), L


def saddle_steps(problem: Problem) -> dict[str, float]:
    """Where automatic primal and dual steps start.

    In one pass the pair (x, y) turns about the saddle point by sqrt(eta tau) |A| radians: TURN
    was best over dense and sparse, well and badly scaled data. The ratio eta / tau is that of the
    squared distances x and y have to travel, which minimises the bound of primal-dual methods.
    """
    D, L = typical_sizes(problem)
    turn = TURN / spectral_norm(problem)
    ratio = D / (L * math.sqrt(problem.n))
    return {"eta": turn * ratio, "tau": turn / ratio}


def spectral_norm(problem: Problem) -> float:
    """Estimate |A| by power iteration: a few passes, once a problem; a few per cent too small."""
    find = partial(power_iteration, problem, problem.column_norms_squared)
    return float(problem.facts.get(problem.grid.fact("norm"), problem.grid.ledger, find))


def power_iteration(problem: Problem, squares: np.ndarray, rounds: int = 6) -> float:
    """The same, now."""
    x = np.sqrt(squares)  # for positive data nearly the answer
    x = x * np.where(np.arange(problem.d) % 7 == 3, -1.0, 1.0)  # and not orthogonal to it otherwise
    norm = 0.0
    for _ in range(rounds):
        x /= max(float(np.linalg.norm(x)), 1e-300)
        u = problem.margins(x)
        norm = float(np.linalg.norm(u))
        x = problem.adjoint(u)
    return max(norm, 1e-150)
