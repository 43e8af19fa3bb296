"""A call of ``ascend_together`` by all threads of a crew, with the arrays that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.crew import Crew, line_ends
from ...kernel.team import new_board
from ...problem import Problem
from ..merging import BOARD, TASK_SUMS, call_all
from ..tuning import (
    MERGE_PIECES,
    SPARSE_TEAM,
    TEAM_BLOCKS,
    TEAM_STRETCHES,
    WORTH_A_MERGE,
    WORTH_A_TEAM,
)
from .ascent_blocks import PHASE_SETTINGS, ascend_together
from .tuning import LOOK_PIECES

__all__ = ["Team", "team_for"]


class Team:
    """Who ascends together, and how rows and columns are cut.

    Parameters
    ----------
    problem : Problem
    A : matrix
        Its rows, at hand.
    crew : Crew
    """

    def __init__(self, problem: Problem, A: Any, crew: Crew) -> None:
        self.problem, self.A, self.crew = problem, A, crew
        lines = line_ends(A, LOOK_PIECES)
        self.ends = np.array([0, *(part.stop for part in lines)], np.int64)
        self.blocks, self.stretches = TEAM_BLOCKS, TEAM_STRETCHES

    def run(
        self, settings: tuple[Any, ...], y: np.ndarray, G: np.ndarray, u: np.ndarray,
        momentum: tuple[Any, ...], record: np.ndarray,
    ) -> tuple[int, float, float]:  # fmt: skip
        """Call the kernel once: looks, passes and the largest |G|^2, as ``ascend`` does."""
        p, outcome = self.problem, np.zeros(4)
        worth = WORTH_A_MERGE * p.d
        plan = (MERGE_PIECES, self.stretches, p.stored / max(p.n, 1), worth)
        board, phase = new_board(BOARD), np.zeros(PHASE_SETTINGS)
        sums = np.zeros((len(self.ends) + MERGE_PIECES, TASK_SUMS))
        best = (np.empty(p.n), np.empty(p.d), np.empty(p.n))
        of_rows = (np.empty(p.n) for _ in range(3))
        orders = (np.empty(p.n, np.int64) for _ in range(3))
        arguments: list[Any] = [
            self.A, *settings, plan, self.ends, board, phase, sums, y, G, u, *momentum,
            None if momentum[-1] is None else np.empty(p.n),
            np.empty((self.blocks, p.d)), *best, *of_rows, *orders, record, outcome,
        ]  # fmt: skip
        call_all(self.crew, lambda leads: ascend_together(leads, *arguments))
        self.failed = outcome[3] > 0.0
        return int(outcome[0]), float(outcome[1]), float(outcome[2])


def team_for(problem: Problem, A: Any) -> Team | None:
    """A team for data that is worth one, if there is a crew."""
    crew = problem.grid.crew
    least = WORTH_A_TEAM if problem.grid.dense else SPARSE_TEAM * WORTH_A_TEAM
    if crew is None or problem.stored < least:
        return None
    return Team(problem, A, crew)
