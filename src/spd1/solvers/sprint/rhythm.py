"""How many passes a tile makes on its own before all tiles put their moves together.

More passes a round mean fewer rounds, and moves that others know less of. What a round gains is
seen in the gap that tiles report; what it costs is priced beforehand. No clock is read: the same
run makes the same passes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ...problem import Problem
from ..newton.charges import entry_of
from .tuning import PASS_LEVELS, ROUND_SECONDS, TESTED, WIRE_SECONDS

__all__ = ["Rhythm", "price_of_round"]


def price_of_round(problem: Problem) -> float:
    """What a round costs beside its passes, in passes: a wait, and vectors on their way."""
    p, tiles = problem, problem.grid.shape[0]
    a_pass = 2.0 * entry_of(p.grid.dense) * p.stored / tiles  # tiles work at the same time
    wire = WIRE_SECONDS * (p.n + 2.0 * tiles * p.d)
    return (ROUND_SECONDS + wire) / max(a_pass, 1e-300)


class Rhythm(NamedTuple):
    """How many passes, and what that has brought.

    ``rates`` has what rounds of 1, 2, 4, ... passes gained of the gap's logarithm for the price of
    a pass: nan where nobody has tried.

    Examples
    --------
    >>> rhythm = Rhythm(price=1.0)
    >>> rhythm.passes
    2
    >>> for gap in (1.0, 0.5, 0.25, 0.12):
    ...     rhythm = rhythm.after(gap, rhythm.passes)
    >>> rhythm.passes  # two rounds of two passes are known: one is tried
    1
    """

    price: float
    rates: tuple[float, ...] = (math.nan,) * PASS_LEVELS
    level: int = 1
    used: int = 1  # the level of the round that is described next
    gap: float = math.inf  # where it began, ...
    read: float = 0.0  # ... passes that it made
    known: int = 0  # rounds of this level whose gain is known

    @property
    def passes(self) -> int:
        """Of the next round."""
        return int(2**self.level)

    def left(self) -> float:
        """Share of the gap that the last round leaves, as far as is known."""
        rate = self.rates[self.used]
        return math.exp(-max(rate, 0.0) * (self.read + self.price)) if rate == rate else 1.0

    def after(self, gap: float, read: float) -> Rhythm:
        """Take note of a round: the gap where it began, and how many passes it made."""
        rates, known = list(self.rates), self.known
        if 0.0 < gap < math.inf and self.gap < math.inf and self.read > 0.0:
            rate, old = math.log(self.gap / gap) / (self.read + self.price), rates[self.used]
            rates[self.used] = 0.5 * (rate + old) if old == old else rate
            known += self.used == self.level
        here = self._replace(rates=tuple(rates), gap=gap, read=read, used=self.level, known=known)
        return here.moved() if known >= TESTED else here

    def moved(self) -> Rhythm:
        """Go where more was gained; who gains more than with fewer passes tries more."""
        level, known = self.level, self.rates
        if level > 0 and not known[level - 1] <= known[level]:  # or nobody has tried
            return self._replace(level=level - 1, known=0)
        more = level + 1 < len(known) and not known[level + 1] <= known[level]
        return self._replace(level=level + 1, known=0) if more else self
