"""Scores of the coefficients of a fold on its test rows.

Any scorer is asked coefficient by coefficient. The two that most people use are computed for all
penalties of a fold at once: scikit-learn's functions check their arguments, which takes longer than
the fit of a small fold.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import make_scorer

__all__ = ["Judge", "judging", "quick_scores"]


class Judge(NamedTuple):
    """Who scores a fold: a scorer, and where there is one a quick score that is the same."""

    scorer: Any
    quick: Callable[[np.ndarray, np.ndarray], np.ndarray] | None


def judging(scoring: Any, scorer: Any, classes: np.ndarray) -> Judge:
    """The judge that ``scoring`` asks for."""
    known = scoring is None or isinstance(scoring, str)
    return Judge(knowing(scorer, classes), QUICK_SCORES.get(scoring) if known else None)


def knowing(scorer: Any, classes: np.ndarray) -> Any:
    """The scorer, told of all classes where it asks for them: a fold's test rows may lack some."""
    function = getattr(scorer, "_score_func", None)
    asked = inspect.signature(function).parameters if function is not None else {}
    if "labels" not in asked:
        return scorer
    more = {"labels": classes}
    if len(classes) == 2 and "pos_label" in asked:
        more["pos_label"] = classes[-1]
    return make_scorer(
        function, greater_is_better=scorer._sign == 1, response_method=scorer._response_method,
        **{**more, **getattr(scorer, "_kwargs", {})},
    )  # fmt: skip


def accuracy(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """1 where the most likely class is the right one, of two equal ones the first."""
    return np.asarray(shares.argmax(axis=1) == codes, dtype=float)


def log_likelihood(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Logarithm of the probability of the right class, clipped as scikit-learn clips it."""
    eps = np.finfo(shares.dtype).eps
    return np.asarray(np.log(np.clip(shares[np.arange(len(codes)), codes], eps, 1.0 - eps)))


QUICK_SCORES: dict[Any, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    None: accuracy,
    "accuracy": accuracy,
    "neg_log_loss": log_likelihood,
}


def quick_scores(
    kind: Callable[[np.ndarray, np.ndarray], np.ndarray], shares_of: Callable[..., np.ndarray],
    coefs: np.ndarray, X: Any, codes: np.ndarray, weight: Any,
) -> np.ndarray:  # fmt: skip
    """Mean scores of all rows of coefficients, the products with the data made in one.

    Parameters
    ----------
    kind : callable
        What it is that is averaged: a value of ``QUICK_SCORES``.
    shares_of : callable
        Probabilities of the classes by decision values, of shape (n,) for two classes.
    coefs : array of shape (k, rows, d) or (k, rows, d + 1)
        The intercepts last.
    X : array or SciPy sparse, shape (n, d)
    codes : array of shape (n,)
        Numbers of the right classes.
    weight : array of shape (n,), optional
    """
    k, rows, _ = coefs.shape
    d = X.shape[1]
    flat = coefs.reshape(k * rows, -1)
    margins = np.asarray(X @ flat[:, :d].T)
    if flat.shape[1] > d:
        margins = margins + flat[:, -1]
    found = np.empty(k)
    for j, each in enumerate(margins.reshape(-1, k, rows).transpose(1, 0, 2)):
        shares = shares_of(each[:, 0] if rows == 1 else each)
        found[j] = np.average(kind(shares, codes), weights=weight)
    return found
