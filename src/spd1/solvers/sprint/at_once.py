"""The short way to a result: one call of a kernel, and no more Python around it than needed.

Most fits of little data are over after one call. Then nobody has asked for the rows of the trace,
which are put together when somebody does; and where the call was not enough, a sprint goes on from
where it has ended.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...certificate.gap import Certificate, floor_of
from ...engines.ledger import Ledger
from ...problem import Problem
from ...result import Progress, Result, Trace
from .choice import BY_MATRIX, kind_of
from .looks import Sprint, at_the_start, settle
from .sprint import Call, Dash, called, entered, interrupted, row_of
from .tuning import LITTLE_DATA, TO_ROUNDING

__all__ = ["LateTrace", "solved_at_once"]


class Looks(NamedTuple):
    """What a trace can be made of: where it began, one call, and what was certified."""

    begun: Progress
    call: Call
    floor: float
    certificate: Certificate


class LateTrace(Trace):
    """A trace whose rows are put together when somebody looks at them."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks

    @cached_property
    def rows(self) -> list[Progress]:  # type: ignore[override]
        begun, call, floor, certificate = self.looks
        found = [begun, *entered(begun, call, floor)]
        settle(found, certificate)
        return found


@np.errstate(all="ignore")  # what overflows is infinite, and certified as such
def solved_at_once(
    problem: Problem, tol: float, key: np.uint64, ledger: Ledger
) -> Result | Dash | None:
    """The result of one call of a kernel, or where a sprint goes on if that was not enough.

    None, and nothing done, where no kernel takes the problem, or more than one may be needed.
    """
    if not problem.reg.scalar or problem.stored > LITTLE_DATA or tol < TO_ROUNDING:
        return None
    kind = kind_of(problem, tol)
    if not kind or kind in BY_MATRIX:
        return None
    state, floor = Dash(problem, kind, tol, key), floor_of(problem)
    begun = at_the_start(problem, ledger, floor)
    state.limit(tol, ledger.max_passes)
    try:
        call = called(state, problem, ledger, floor)
    except KeyboardInterrupt:
        state.rows.append(begun)
        c = interrupted(state, problem, ledger)
        return Sprint(state.runner.x, c, state.rows, "interrupted", kind).result(ledger)
    last = row_of(begun, call, floor, call.looks - 1)
    if state.settled(last):
        c = state.runner.certificate(last, floor, tol)
        if c.rel_gap <= tol:
            found = Sprint(state.runner.x, c, [], "converged", kind)
            return found.result(ledger, LateTrace(Looks(begun, call, floor, c)))
    state.rows = [begun, *entered(begun, call, floor)]
    return state
