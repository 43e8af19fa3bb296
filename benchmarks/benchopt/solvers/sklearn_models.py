"""scikit-learn: LogisticRegression and Ridge, in the scale of P."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from benchopt import BaseSolver


class Solver(BaseSolver):
    """Its C is 1 / (n l2), its alpha is n l2."""

    name = "scikit-learn"
    sampling_strategy = "iteration"
    parameters = {"solver": ["lbfgs", "saga", "newton-cg"]}

    def skip(self, X, y, loss, l2):
        """Ridge has one solver here."""
        if loss == "squared" and self.solver != "saga":
            return True, "Ridge is run with saga"
        return False, None

    def set_objective(self, X, y, loss, l2):
        """The estimator; nothing is fitted yet."""
        n, self.X, self.y = len(y), X, y
        if loss == "squared":
            self.model = Ridge(alpha=n * l2, fit_intercept=False, solver="saga", tol=1e-14)
        else:
            self.model = LogisticRegression(
                C=1.0 / (n * l2), fit_intercept=False, solver=self.solver, tol=1e-14
            )

    def run(self, n_iter):
        """All from the start."""
        if n_iter == 0:
            self.beta = np.zeros(self.X.shape[1])
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.set_params(max_iter=n_iter).fit(self.X, self.y)
        self.beta = np.ravel(self.model.coef_)

    def get_result(self):
        """The coefficients."""
        return {"beta": self.beta}
