"""The dual where g is not strongly convex: a proximal term rho/2 |x - centre|^2 makes it so."""

from __future__ import annotations

import numpy as np

from ....problem import Problem
from ....regularizers import ElasticNet
from ...base import typical_labels
from ..tuning import FADING, FADING_WITH_L2, INNER, LEAST_BEND
from .dual import DualFace
from .parts import ShiftedConjugatePart

__all__ = ["ProximalFace"]


class ProximalFace(DualFace):
    """The centre follows x after every epoch, and rho fades: the proximal point method.

    What is certified is the problem itself.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.quadratic = False
        size, L = typical_labels(problem)
        squares = problem.column_norms_squared
        mean = max(float(squares.mean()), 1e-300)
        scale = L * float(problem.row_norms_squared.mean()) / size + 1e-300
        usual = scale * np.maximum(squares / mean, 1e-12)  # in the units of each column
        some_l2 = np.any(np.asarray(problem.reg.l2) > 0.0)
        start, self.fade, end = FADING_WITH_L2 if some_l2 else FADING
        usual = np.clip(usual, 1e-290, 1e290)
        self.rho, self.faintest = start * usual, end * usual
        self.move_centre(problem.reg.minimiser(problem.d))

    @property
    def inner(self) -> float:
        return INNER  # its problem changes every epoch

    def constant_curvatures(self, chosen: np.ndarray) -> np.ndarray | None:
        del chosen
        return None

    def move_centre(self, centre: np.ndarray) -> None:
        """Put the proximal term around a point."""
        self.centre = centre.copy()
        reg = self.problem.reg
        net = ElasticNet(reg.l1, np.asarray(reg.l2) + self.rho, reg.lower, reg.upper)
        self.part = ShiftedConjugatePart(net.bind(self.problem.d), LEAST_BEND, self.rho * centre)

    def start(self, x: np.ndarray, y: np.ndarray, v: np.ndarray | None) -> None:
        self.move_centre(x)
        super().start(x, y, v)

    def advance(self) -> None:
        """Let the centre follow x."""
        self.rho = np.maximum(self.fade * self.rho, self.faintest)
        self.move_centre(self.slope)
        self.fill()
        self.gradient = self.gradient_of(self.slope)
