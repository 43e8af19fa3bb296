"""How good predictions are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..io import Model

__all__ = ["area_under_curve", "metrics"]


def metrics(model: Model, A: Any, b: np.ndarray) -> dict[str, float]:
    """Accuracy, AUC and log loss of classes; R2 and errors of numbers; deviance of counts."""
    margins, truth = model.decision(A), model.signs(b)
    if model.several:
        from scipy.special import logsumexp

        own = margins[np.arange(len(truth)), truth]
        return {
            "accuracy": float(np.mean(margins.argmax(axis=1) == truth)),
            "log_loss": float(np.mean(logsumexp(margins, axis=1) - own)),
        }
    if model.classes is not None:
        found = {
            "accuracy": float(np.mean((margins > 0) == (truth > 0))),
            "auc": area_under_curve(margins, truth > 0),
        }
        if model.loss.probabilities:
            found["log_loss"] = float(np.mean(np.logaddexp(0.0, -truth * margins)))
        return found
    guess = model.predict(A)
    error, spread = guess - truth, float(np.mean((truth - truth.mean()) ** 2))
    squared = float(np.mean(error**2))
    found = {
        "r2": 1.0 - squared / spread if spread > 0 else float("nan"),
        "mean_squared_error": squared,
        "mean_absolute_error": float(np.mean(np.abs(error))),
    }
    if model.loss.label_kind == "count":
        from scipy.special import xlogy

        terms = xlogy(truth, truth) - xlogy(truth, guess) - truth + guess
        found["mean_poisson_deviance"] = float(2.0 * np.mean(terms))
    return found


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float:
    """Share of pairs, one of each class, that the scores put in the right order; ties count half.

    Examples
    --------
    >>> area_under_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    from scipy.stats import rankdata

    ones = int(np.count_nonzero(positive))
    zeros = len(positive) - ones
    if ones == 0 or zeros == 0:
        return float("nan")
    ranks = rankdata(scores)[positive].sum()
    return float((ranks - ones * (ones + 1) / 2) / (ones * zeros))
