"""What fitted estimators show of themselves."""

from __future__ import annotations

import html
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["Shown", "tools"]

tools: dict[str, Any] = {}  # who draws and prints: they know all estimators, so the room fills it


class Shown(BaseEstimator):
    """Methods that show a fitted estimator: ``summary``, ``plot_path``, ``plot_cv``, HTML."""

    def summary(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, rows: int = 30
    ) -> Any:
        """Coefficients by feature name, how many are not zero, and what is proven of them.

        With the data of the fit there are standard errors, too, where they mean something: smooth
        likelihoods (logistic, least squares, Poisson, gamma, Tweedie), no penalty or l2, up to 2000
        coefficients. They are square roots of the diagonal of ``s (A' diag(w phi'') A + W l2)^-1``,
        the inverse observed information, see docs/reference/linear_model.md.

        Parameters
        ----------
        X, y : the data of the fit, optional
        sample_weight : array of shape (n,), optional
            Weights count samples.
        rows : int, default 30
            Features to print; of more, the largest coefficients.

        Returns
        -------
        Summary
            Prints itself, also in notebooks; has ``coef``, ``errors`` and ``to_frame()``.

        Examples
        --------
        >>> import numpy as np
        >>> from spd1.linear_model import LinearRegression
        >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.1, 1.0, 2.1, 3.0])
        >>> found = LinearRegression().fit(X, y).summary(X, y)
        >>> found.names, found.coef.round(2).tolist(), found.errors.round(3).tolist()
        (['x0', '(intercept)'], [[0.98, 0.08]], [[0.028, 0.053]])
        """
        return tools["summary_of"](self, X, y, sample_weight, rows)

    def plot_path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_alphas: int = 50,
        eps: float = 1e-3,
        ax: Any = None,
    ) -> Any:
        """Draw coefficients against the strength of the penalty, with this model marked.

        The path is solved for it, each point certified; see ``spd1.linear_model.path``.

        Parameters
        ----------
        X, y : the data of the fit
        sample_weight : array of shape (n,), optional
        n_alphas : int, default 50
        eps : float, default 1e-3
            Smallest strength as a share of the largest.
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        return tools["draw_path"](self, X, y, sample_weight, n_alphas, eps, ax)

    def plot_cv(self, ax: Any = None) -> Any:
        """Draw the scores of a cross-validation: means over folds, one standard error, the winner.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        return tools["draw_cv"](self, ax)

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it what is proven."""
        diagram = str(super()._html_repr())
        if not hasattr(self, "coef_"):
            return diagram
        return f'{diagram}<p class="spd1-proof">{html.escape(tools["proof_of"](self))}</p>'
