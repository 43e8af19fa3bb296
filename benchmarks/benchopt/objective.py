"""Regularized empirical risk, P(x) = mean phi(a_i'x; b_i) + l2/2 |x|^2, with a proven gap."""

from benchopt import BaseObjective
from spd1 import L2, Problem, certify


class Objective(BaseObjective):
    """P(beta), and the relative duality gap that is proved for it."""

    name = "Regularized empirical risk"
    min_benchopt_version = "1.7"
    parameters = {"loss": ["logistic", "squared"], "l2": [1e-2, 1e-4]}

    def set_data(self, X, y):
        """Build the problem once: it is what certificates are about."""
        self.X, self.y = X, y
        self.problem = Problem(X, y, self.loss, L2(self.l2))

    def skip(self, X, y):
        """The logistic loss takes signs."""
        if self.loss == "logistic" and not set(map(float, set(y))) <= {-1.0, 1.0}:
            return True, "the logistic loss needs labels -1 and +1"
        return False, None

    def evaluate_result(self, beta):
        """The value and what is left to gain at most."""
        found = certify(beta, self.problem)
        return {"value": found.primal, "rel_gap": found.rel_gap}

    def get_one_result(self):
        """A point that is always there."""
        return {"beta": self.problem.reg.minimiser(self.problem.d)}

    def get_objective(self):
        """What solvers see."""
        return {"X": self.X, "y": self.y, "loss": self.loss, "l2": self.l2}
