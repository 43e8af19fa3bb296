"""Which coordinates an epoch of Newton's method works on, and where their lines are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernel.rng import shuffle_blocks
from ..order import rows_a_block
from .faces.base import Face
from .linalg.tile_lines import TileLines
from .linalg.working_set import Lines, forces
from .tuning import (
    ALIKE,
    COPIED,
    LARGEST_GRAM,
    LARGEST_START,
    MOSTLY_MOVED,
    NEAR,
    NEARLY_ALL,
    SMALLEST_SET,
)


class Choice:
    """The working set of a face: it grows with what has moved, and keeps what is at hand."""

    def __init__(self, face: Face, key: np.uint64) -> None:
        p = self.problem = face.problem
        count = face.coordinates
        self.key, self.t, self.turn = key, 0, 0
        self.chosen = np.zeros(0, dtype=int)
        self.member = np.zeros(count, dtype=bool)
        self.wanted = min(max(SMALLEST_SET, p.n // 4), LARGEST_START)
        self.order = np.arange(0 if face.ranked else p.n)
        self.block = 1 if face.ranked else rows_a_block(p)
        self.move(face)

    def move(self, face: Face) -> None:
        """Begin anew at another point, or on another face of the same size."""
        self.face: Any = face
        self.slack = 0.0

    def watch(self, before: np.ndarray) -> None:
        """Take note of what has moved since the gradient ``before``."""
        self.slack = self.face.slack_of(before)

    def next(self) -> np.ndarray:
        """Choose the working set of the next epoch."""
        self.chosen = self.strongest()
        return self.chosen

    def strongest(self) -> np.ndarray:
        """Coordinates that are not zero, and the zeros that want to move most."""
        face = self.face
        z = face.z
        force = np.empty(len(z))
        nonzero = forces(z, face.gradient, face.full, NEAR, self.slack, force)
        able = np.flatnonzero(force > -math.inf)
        full = nonzero > MOSTLY_MOVED * len(self.chosen)  # most of what was chosen has moved
        self.wanted = max(self.wanted, (4 if full else 2) * nonzero)
        if face.ranked:
            return self.joined(self.within_budget(self.ranked(able, force), force))
        able = self.within_budget(able, force)
        shuffle_blocks(self.order, self.key, self.t, self.block)
        self.t += len(self.order)
        keep = np.zeros(len(z), dtype=bool)
        keep[able] = True
        return self.order[keep[self.order]]

    def ranked(self, able: np.ndarray, force: np.ndarray) -> np.ndarray:
        """The strongest of those that can move, as many as are wanted."""
        if min(len(able), self.wanted) > NEARLY_ALL * len(force):
            return np.arange(len(force))  # those that are left would only join one by one
        if len(able) > self.wanted:
            return able[np.argpartition(-force[able], self.wanted)[: self.wanted]]
        return able

    @property
    def copies_count(self) -> bool:
        """Whether copies of lines take memory that must be watched: columns of sparse rows."""
        lines = self.face.lines
        return bool(lines.across and lines.by_columns and not lines.dense)

    def too_many(self, lines: np.ndarray) -> bool:
        """Whether copies of these lines would take more memory than they may."""
        if self.beyond(lines):
            return True
        if not self.copies_count:
            return False
        grid = self.problem.grid
        return float(np.sum(grid.column_counts[lines])) > COPIED * grid.stored

    def beyond(self, lines: np.ndarray) -> bool:
        """Whether these lines can neither be copied nor be asked for where they lie.

        Columns have a Gram matrix up to some size, and rows of one tile can be swept, see
        ``TileLines``; rows that are cut can't.
        """
        at_hand = self.face.lines
        if at_hand.fits(lines):
            return False
        return len(lines) > LARGEST_GRAM if at_hand.by_columns else at_hand.grid.shape[1] > 1

    def taking_turns(self, able: np.ndarray, force: np.ndarray) -> np.ndarray:
        """As many lines as can be copied, or have a Gram matrix: free ones take turns."""
        loose = force[able] == math.inf
        free, bound = able[loose], able[~loose]
        bound = bound[np.argsort(-force[bound], kind="stable")]
        free = np.roll(free, -self.turn)
        at_hand = self.face.lines
        size = np.cumsum(at_hand.bytes_of(np.concatenate([free, bound])))
        least = LARGEST_GRAM if at_hand.by_columns else 1
        most = max(least, int(np.count_nonzero(size <= self.problem.grid.copies)))
        share = max(most - len(bound), most // 4 * 3)
        if len(free) > share:
            self.turn = (self.turn + share) % len(free)
            free = free[:share]
        taken = np.concatenate([free, bound])[:most]
        if at_hand.by_columns:
            return taken
        size = np.cumsum(at_hand.bytes_of(taken))  # rows of sparse data are not all alike
        return taken[: max(int(np.count_nonzero(size <= self.problem.grid.copies)), 1)]

    def within_budget(self, able: np.ndarray, force: np.ndarray) -> np.ndarray:
        """What is free, and the strongest of the rest, as far as copies may take memory."""
        if not self.too_many(able):
            return able
        if self.beyond(able):
            return self.taking_turns(able, force)
        stored = self.problem.grid.column_counts
        able = able[np.argsort(-force[able], kind="stable")]
        fits = int(np.count_nonzero(np.cumsum(stored[able]) <= COPIED * self.problem.stored))
        free = int(np.count_nonzero(np.isinf(force[able])))
        return able[: max(fits, free + max(SMALLEST_SET, free // 10))]

    def joined(self, able: np.ndarray) -> np.ndarray:
        """Add to the last working set, whose copies and products are at hand, or start a new one.

        What has been chosen stays in its place.
        """
        fresh = able[~self.member[able]]
        if len(fresh) == 0 and len(able) > ALIKE * len(self.chosen):
            return self.chosen
        size = len(self.chosen) + len(fresh)
        joins = len(able) > ALIKE * len(self.chosen) and (
            size <= LARGEST_GRAM or len(able) > LARGEST_GRAM
        )
        chosen = np.concatenate([self.chosen, np.sort(fresh)]) if joins else able
        if not joins or self.too_many(chosen):
            chosen = np.sort(able)
            self.member[self.chosen] = False
        self.member[chosen] = True
        return chosen

    def lines(self, chosen: np.ndarray) -> Lines:
        """Lines of the chosen coordinates, copied where they fit."""
        lines = self.face.lines
        if not lines.fits(chosen):
            return TileLines(lines.grid, lines.by_columns, chosen)
        B, ids = lines.of(chosen)
        grid = lines.grid
        return Lines(B, ids, len(self.face.m), grid.ledger, grid.crew, grid.copies)
