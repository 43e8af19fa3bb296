"""The user's ``certify``: of a point, or of anyone's model."""

from __future__ import annotations

from typing import Any

from .certificate.gap import certify_point
from .data.chunked import ChunkedGrid
from .errors import ParameterError

__all__ = ["certify"]


def certify(x: Any, problem: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """Bound how far a point, or a fitted model of scikit-learn, is from optimal.

    Parameters
    ----------
    x : array of shape (d,), or a fitted estimator
        Any point, from any solver; or ``certify(model, X, y)`` with a linear model of scikit-learn
        or of ``spd1.linear_model``, measured by its own objective.
    problem : Problem, or the data X of a model
    y : array of shape (n,), optional
        A dual point to prove it with, clipped to the domain of phi* where it is outside. Without
        it phi'(a_i'x) is used; the best bound between the two, and zero, counts. For a model: its
        labels or targets.
    sample_weight : array of shape (n,), optional
        The weights that a model was fitted with; a Problem has its own.

    Returns
    -------
    Certificate
        For a model of several classes or targets, a list of one each.

    Examples
    --------
    >>> import numpy as np, spd1
    >>> problem = spd1.Problem(np.eye(2), [1.0, -1.0], "squared", spd1.L2(0.5))
    >>> certificate = spd1.certify([0.5, -0.5], problem)
    >>> certificate.gap < 1e-15
    True
    """
    if hasattr(x, "get_params"):
        from .linear_model.foreign import certify_model  # brings scikit-learn

        return certify_model(x, problem, y, sample_weight)
    if sample_weight is not None:
        raise ParameterError("sample_weight goes to a model; a Problem has its own weights")
    from .engines.blas import one_thread

    if isinstance(getattr(problem, "grid", None), ChunkedGrid):
        from .cluster import placed  # looks for a cluster, or starts one

        with placed(problem) as here:
            return certify(x, here, y)
    with one_thread():
        return certify_point(x, problem, y)
