"""SciPy's L-BFGS on P, written out."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from benchopt import BaseSolver


class Solver(BaseSolver):
    """Value and gradient, two products each."""

    name = "scipy-lbfgs"
    sampling_strategy = "iteration"

    def set_objective(self, X, y, loss, l2):
        """Keep what the objective is made of."""
        self.X, self.y, self.loss, self.l2 = X, y, loss, l2

    def value(self, beta):
        """P and its gradient."""
        u, n = self.X @ beta, len(self.y)
        if self.loss == "logistic":
            terms, slope = np.logaddexp(0.0, -self.y * u), -self.y * expit(-self.y * u)
        else:
            terms, slope = 0.5 * (u - self.y) ** 2, u - self.y
        total = terms.sum() / n + 0.5 * self.l2 * (beta @ beta)
        return total, self.X.T @ slope / n + self.l2 * beta

    def run(self, n_iter):
        """All from the start."""
        start = np.zeros(self.X.shape[1])
        options = {"maxiter": n_iter, "ftol": 1e-16, "gtol": 1e-14}
        self.beta = (
            minimize(self.value, start, jac=True, method="L-BFGS-B", options=options).x
            if n_iter
            else start
        )

    def get_result(self):
        """The point."""
        return {"beta": self.beta}
