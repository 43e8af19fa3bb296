"""spd1, every method by name."""

import numpy as np
from benchopt.stopping_criterion import SufficientProgressCriterion

import spd1
from benchopt import BaseSolver
from spd1.errors import IncompatibleError
from spd1.solvers import FAMILY_METHODS, METHODS, method_class

PASSES_A_TICK = 5.0  # of benchopt's counter


class Solver(BaseSolver):
    """A run up to so many passes over the data; automatic steps."""

    name = "spd1"
    sampling_strategy = "iteration"
    stopping_criterion = SufficientProgressCriterion(eps=1e-12, patience=5, strategy="iteration")
    parameters = {"method": ["auto", *METHODS, *FAMILY_METHODS]}

    def set_objective(self, X, y, loss, l2):
        """Build the problem; kernels are compiled by the warm-up."""
        self.problem = spd1.Problem(X, y, loss, spd1.L2(l2))

    def skip(self, X, y, loss, l2):
        """A method's own refusal, in its own words."""
        if self.method != "auto":
            try:
                method_class(self.method).refuse(spd1.Problem(X, y, loss, spd1.L2(l2)))
            except IncompatibleError as error:
                return True, str(error)
        return False, None

    def warm_up(self):
        """Compile."""
        self.run(1)

    def run(self, n_iter):
        """All from the start: benchopt asks for longer and longer runs."""
        if n_iter == 0:
            self.beta = np.zeros(self.problem.d)
            return
        limit = PASSES_A_TICK * n_iter
        self.beta = spd1.solve(self.problem, self.method, tol=1e-13, max_passes=limit).x

    def get_result(self):
        """The point."""
        return {"beta": self.beta}
