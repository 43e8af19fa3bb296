"""Which coordinates an epoch of Newton's method works on, and where their lines are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...data.matrix import CSR, Dense
from ..rows.kernels import shuffle_blocks
from ..rows.rows import BLOCK
from .faces.base import DualFace, Face, PrimalFace
from .linalg.gram import LARGEST
from .linalg.working_set import CopiedLines, forces

SMALLEST_SET = 100  # coordinates of the first working set, or a quarter of the rows, ...
LARGEST_START = 400  # ... up to so many
FULL = 0.6  # share of a working set that has moved: the next one is larger
NEAR = 0.1  # zero coordinates whose gradient is this close to l1 join the working set
SLACK = 0.2  # times rows over columns, up to 1: rows join whose margins were that many of the last
# epoch's moves away from a kink; one step moves all margins where columns are few
MOST = 0.9  # of all coordinates: take the rest, too
ALIKE = 0.5  # a new working set as large as this share of the last one is joined to it
COPIED = 0.28  # of the entries of sparse data, that working sets may copy for what is still zero


class Choice:
    """The working set of a face: it grows with what has moved, and keeps what is at hand."""

    def __init__(self, face: Face, key: np.uint64) -> None:
        p = self.problem = face.problem
        count = face.coordinates
        self.key, self.t = key, 0
        self.chosen = np.zeros(0, dtype=int)
        self.member = np.zeros(count, dtype=bool)
        self.wanted = min(max(SMALLEST_SET, p.n // 4), LARGEST_START)
        self.order = np.arange(0 if isinstance(face, PrimalFace) else p.n)
        self.position = np.full(count, -1, dtype=np.int32)
        self.copies: Any = None
        self.move(face)

    def move(self, face: Face) -> None:
        """Begin anew at another point, or on another face of the same size."""
        self.face: Any = face
        self.moved = 0.0

    def watch(self, before: np.ndarray) -> None:
        """Take note of how far the margins of a dual have moved since the gradient ``before``."""
        p = self.problem
        if isinstance(self.face, DualFace) and p.n > p.d:
            share = min(SLACK * p.n / p.d, 1.0)
            self.moved = share * float(np.mean(np.abs(self.face.gradient - before)))

    def next(self) -> np.ndarray:
        """Choose the working set of the next epoch."""
        self.chosen = self.strongest()
        return self.chosen

    def strongest(self) -> np.ndarray:
        """Coordinates that are not zero, and the zeros that want to move most."""
        face = self.face
        z = face.z
        force = np.empty(len(z))
        nonzero = forces(z, face.gradient, face.full, NEAR, self.moved, force)
        able = np.flatnonzero(force > -math.inf)
        full = nonzero > FULL * len(self.chosen)  # most of what was chosen has moved
        self.wanted = max(self.wanted, (4 if full else 2) * nonzero)
        if isinstance(face, PrimalFace) and min(len(able), self.wanted) > MOST * len(z):
            able = np.arange(len(z))  # those that are left would only join one by one
        elif isinstance(face, PrimalFace) and len(able) > self.wanted:
            able = able[np.argpartition(-force[able], self.wanted)[: self.wanted]]
        able = self.within_budget(able, force)
        if isinstance(face, PrimalFace):
            return self.joined(able)
        shuffle_blocks(self.order, self.key, self.t, 1 if isinstance(face.data, Dense) else BLOCK)
        self.t += len(self.order)
        keep = np.zeros(len(z), dtype=bool)
        keep[able] = True
        return self.order[keep[self.order]]

    def too_many(self, lines: np.ndarray) -> bool:
        """Whether copies of these lines would take more memory than they may."""
        p = self.problem
        if not (self.face.across and isinstance(p.A, CSR)):
            return False
        return float(np.sum(p.stored_counts[1][lines])) > COPIED * p.A.stored

    def within_budget(self, able: np.ndarray, force: np.ndarray) -> np.ndarray:
        """What is free, and the strongest of the rest, as far as copies may take memory."""
        if not self.too_many(able):
            return able
        stored = self.problem.stored_counts[1]
        able = able[np.argsort(-force[able], kind="stable")]
        fits = int(np.count_nonzero(np.cumsum(stored[able]) <= COPIED * self.problem.A.stored))
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
        joins = len(able) > ALIKE * len(self.chosen) and (size <= LARGEST or len(able) > LARGEST)
        chosen = np.concatenate([self.chosen, np.sort(fresh)]) if joins else able
        if not joins or self.too_many(chosen):
            chosen = np.sort(able)
            self.member[self.chosen] = False
        self.member[chosen] = True
        return chosen

    def lines(self, chosen: np.ndarray) -> tuple[Any, np.ndarray]:
        """Lines of the chosen coordinates; copies are kept for as long as they serve."""
        face = self.face
        if not face.across or len(chosen) == 0:
            return face.data, chosen
        fresh = chosen[self.position[chosen] < 0]
        if len(fresh) and isinstance(face.data, Dense) and len(fresh) < len(chosen):
            self.position[fresh] = self.copies.add(face.data, fresh)
        elif len(fresh):
            self.copies = None  # never two copies at a time
            self.copies = CopiedLines(face.data, chosen)
            self.position[:] = -1
            self.position[chosen] = np.arange(len(chosen))
        return self.copies.lines, self.position[chosen]
