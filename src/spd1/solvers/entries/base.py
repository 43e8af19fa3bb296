"""What SPD1 and SPD1-VR share: they draw entries, and theorems cover them."""

from __future__ import annotations

from ...data.grid import Grid
from ...errors import IncompatibleError
from ..base import TileMethod
from .sampling import Uniform, make_sampler

__all__ = ["EntryMethod"]


class EntryMethod(TileMethod):
    """A method whose steps look at entries."""

    step_names = ("eta", "tau")
    draws_a_step = 2

    def prepare(self, sampling: str) -> None:
        p = self.problem
        self.sampler = make_sampler(self.grid, sampling, self.draws_a_step)
        self.uniform = isinstance(self.sampler, Uniform)
        self.a_pass = p.n * p.d if self.uniform else p.stored  # steps that make up a pass

    @property
    def grid(self) -> Grid:
        return self.problem.grid

    def demand(self, assumptions: dict[str, bool]) -> None:
        """Refuse steps='theory' by name if an assumption of the theorems fails."""
        assumptions = assumptions | {
            "equal sample weights": self.problem.uniform_weights,
            "sampling='uniform'": self.uniform,
        }
        missing = [text for text, holds in assumptions.items() if not holds]
        if missing:
            raise IncompatibleError(f"steps='theory' of {self.name} needs " + " and ".join(missing))
