"""The certificate of any multinomial model."""

from __future__ import annotations

import numpy as np

from ..certificate.gap import Certificate
from ..engines.blas import one_thread
from .bound import certificate_of, nothing_known, prove
from .objective import Objective
from .solve import Run

__all__ = ["certify_multinomial"]


def certify_multinomial(objective: Objective, x: np.ndarray, proven: float = 1e-6) -> Certificate:
    """How far from optimal coefficients are at most.

    Where their own chances prove little, the problem is solved for a good lower bound: then this
    takes as long as a fit.

    Parameters
    ----------
    objective : Objective
    x : array of shape (classes, d) or (classes, d + 1)
        The intercepts last, where there are any.
    proven : float
        A relative gap that needs no further work.

    Examples
    --------
    >>> from spd1.regularizers import ElasticNet
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> one = Objective(X, np.array([0, 1, 2]), 3, None, ElasticNet(l2=1.0), True)
    >>> proof = certify_multinomial(one, np.zeros((3, 2)))
    >>> bool(0.0 < proof.gap < proof.primal)
    True
    """
    with one_thread(), np.errstate(all="ignore"):
        point = objective.at(np.array(x, dtype=float).T)
        bounds = [nothing_known(objective, point), prove(objective, point, point.chances)]
        proof = certificate_of(objective, point, max(bounds, key=lambda bound: bound.dual))
        if proof.rel_gap <= proven or np.any(objective.share == 0.0):
            return proof
        result = Run(objective, 0.1 * proven).go(point.x, None, False)
        p = result.y.T.copy()
        p[objective.labels, objective.own] += 1.0
        bounds.append(prove(objective, point, np.clip(p, 0.0, 1.0)))
        return certificate_of(objective, point, max(bounds, key=lambda bound: bound.dual))
