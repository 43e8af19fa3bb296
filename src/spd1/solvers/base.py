"""The contract between a method and the one outer loop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import IncompatibleError, ParameterError
from .entries.sampling import Uniform, make_sampler

if TYPE_CHECKING:
    from ..certificate.gap import DualPoint, Pair
    from ..problem import Problem

#: Steps of a kernel between two looks at the clock and at Ctrl-C: a fraction of a second.
CHUNK = 500_000
SIGN_MARGIN = (
    10.0  # margins that the x of a fitted classifier could reach along the first direction
)
EPS = float(np.finfo(float).eps)
TURN = 2.0  # radians a pass, see saddle_steps


class Method(ABC):
    """One algorithm: its state, its steps and its kernel.

    The outer loop in ``solve.py`` owns the clock, the certificate, stopping and restarts; a
    method only knows how to run one epoch from where it stands.

    Attributes
    ----------
    steps : dict
        Step sizes in force; the keys are ``step_names``.
    entries_read : float
        Entries of A read so far; divided by the stored entries this is the honest pass count.
    paper_passes : float
        The paper's own count: an inner step is 1/(nd) or 1/n of a pass, a snapshot one pass.
    """

    name: ClassVar[str]
    step_names: ClassVar[tuple[str, ...]]
    needs_smooth_loss: ClassVar[bool] = False
    maintains: str = ""  # "margins" or "gradient" if its pairs lean on sums kept up to date
    reads_norms: ClassVar[bool] = False  # whether it computes the norms of all rows anyway
    control: ClassVar[str] = ""  # which automatic steps, if not those of the method's name

    def __init__(self, problem: Problem, sampling: str, key: np.uint64) -> None:
        self.refuse(problem)
        self.problem = problem
        self.key = key
        self.weights = problem.c * problem.n  # n c_i: 1 without sample weights
        self.steps: dict[str, float] = {}
        self.t = 0  # inner steps so far: the counter of the random draws
        self.tol = 0.0  # relative gap the run is after: for methods that can stop by themselves
        self.entries_read = 0.0
        self.paper_passes = 0.0
        self.updates, self.largest = 0, 0.0  # of sums kept up to date, restarts included
        self.prepare(sampling)

    @classmethod
    def refuse(cls, problem: Problem) -> None:
        """Refuse a problem by name before any work starts."""
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
    def tiled(cls, problem: Problem, tile: Any) -> Callable[..., Method]:
        """Return what builds the method for the ``tile`` argument of ``solve``: without, itself."""
        del problem
        if tile is None:
            return cls
        raise ParameterError(f"method {cls.name!r} has no tiles: use 'spd1-vr' or 'spd1'")

    def prepare(self, sampling: str) -> None:
        """Allocate what does not depend on the starting point."""
        del sampling

    @abstractmethod
    def begin(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None = None) -> None:
        """Put the method at a point, at the start or after a restart; copies its arguments.

        ``v`` is -A'(c y) if that is known.
        """

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

    def restart_average(self) -> None:
        """Forget the averages kept so far, if any."""

    def chunks(self, count: int, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Split ``count`` inner steps into (first, how many); ``self.t`` follows the caller."""
        end = self.t + count
        for first in range(self.t, end, chunk):
            yield first, min(chunk, end - first)


class EntryMethod(Method):
    """What SPD1 and SPD1-VR share: they draw entries, and theorems cover them."""

    step_names = ("eta", "tau")

    @classmethod
    def tiled(cls, problem: Problem, tile: Any) -> Callable[..., Method]:
        from .entries.tile_shapes import on_tiles

        return cls if tile is None else on_tiles(cls.name, problem, tile)

    def prepare(self, sampling: str) -> None:
        p = self.problem
        self.sampler = make_sampler(p, sampling)
        self.uniform = isinstance(self.sampler, Uniform)
        self.a_pass = p.n * p.d if self.uniform else p.A.stored  # steps that make up a pass

    def demand(self, assumptions: dict[str, bool]) -> None:
        """Refuse steps='theory' by name if an assumption of the theorems fails."""
        assumptions = assumptions | {
            "equal sample weights": self.problem.uniform_weights,
            "sampling='uniform'": self.uniform,
        }
        missing = [text for text, holds in assumptions.items() if not holds]
        if missing:
            raise IncompatibleError(f"steps='theory' of {self.name} needs " + " and ".join(missing))


def size_of(vector: np.ndarray) -> float:
    """|vector|."""
    return math.sqrt(vector @ vector)


def gradient_drift(problem: Problem, v: np.ndarray, updates: float, largest: float) -> float:
    """Bound of what rounding can have moved D by, where v = -A'(c y) was updated so many times.

    Every update rounds v by eps |v| at most, and D moves by |x| times the sum of that, where
    x = argmax_t {v t - g(t)} is no longer than |v| / mu if zero is feasible. ``largest`` is
    |v| where the method started or started again: between two looks nobody measures it.
    """
    reg, mu = problem.reg, problem.mu
    if not (mu > 0.0 and np.all(reg.lower <= 0.0) and np.all(reg.upper >= 0.0)):
        return math.inf
    size = size_of(v)
    lost = EPS * (updates + problem.n) * max(size, largest)
    return (size * lost + lost * lost) / mu


def typical_labels(problem: Problem) -> tuple[float, float]:
    """Estimate the size of margins, from the labels, and of y, from y0."""
    from ..certificate.gap import dual_from_margins

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


def spectral_norm(problem: Problem, rounds: int = 6) -> float:
    """Estimate |A| by power iteration: a few passes, a few per cent too small."""
    from ..data.products import adjoint, margins

    x = np.sqrt(problem.column_norms_squared)  # for positive data nearly the answer
    x = x * np.where(np.arange(problem.d) % 7 == 3, -1.0, 1.0)  # and not orthogonal to it otherwise
    norm = 0.0
    for _ in range(rounds):
        x /= max(float(np.linalg.norm(x)), 1e-300)
        u = margins(problem.A, x)
        norm = float(np.linalg.norm(u))
        x = adjoint(problem.A, u)
    return max(norm, 1e-150)
