"""Support vector classifiers."""

from __future__ import annotations

import math
from typing import Any

from ..errors import ParameterError
from ..regularizers import ElasticNet
from ._classifiers import CertifiedClassifier
from ._options import flag, number, refuse_unless
from .tuning import EXACT_WEIGHTS, POLISHED

__all__ = ["LinearSVC"]


class LinearSVC(CertifiedClassifier):
    """Linear support vector classification with a certificate.

    Minimises ``|x|^2 / 2 + C sum_i w_i max(0, 1 - b_i (x'a_i + intercept))^p``, p = 2 for
    ``squared_hinge`` and 1 for ``hinge``; ``|x|_1`` instead of ``|x|^2 / 2`` with
    ``penalty="l1"``. The intercept is penalised as in liblinear, as the coefficient of a further
    column whose entries are all ``intercept_scaling``; ``penalize_intercept=False`` leaves it free.

    Parameters
    ----------
    penalty : {"l2", "l1"}
    loss : {"squared_hinge", "hinge"}
    dual : "auto" or bool
        Accepted: spd1 always solves both and certifies one with the other.
    tol : float, default 1e-6
        Relative duality gap to reach. Small data is solved further, nearly to rounding: up to
        200,000 stored entries at this default or below, up to 1,000 above it.
    C : float, default 1
    multi_class : "ovr"
        One class against the rest; Crammer and Singer's problem is another one and refused.
    fit_intercept : bool, default True
    intercept_scaling : float, default 1
        Entries of the column that stands for the intercept: the larger, the fainter its penalty.
    class_weight : dict, "balanced" or None
        With several classes it weighs the class in question, as in liblinear, not the rest.
    verbose : int, default 0
    random_state : int, RandomState or None
    max_iter : int, default 1000
        Looks at the certificate; 1 to 4 allow two passes over the data each, too.
    penalize_intercept : bool, default True
        False: the intercept costs nothing, and ``intercept_scaling`` is not looked at.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, dual_coef_, dual_gap_, rel_gap_, certificate_, trace_
        See ``LogisticRegression``.

    Examples
    --------
    >>> import numpy as np
    >>> from spd1.linear_model import LinearSVC
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", tol=1e-6).fit(X, y)
    >>> model.predict([[2.9]]), bool(model.rel_gap_ <= 1e-6)
    (array([1]), True)
    """

    _own_class_only = True
    _default_solver = "liblinear"

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-6,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        penalize_intercept=True,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.penalize_intercept = penalize_intercept

    @property
    def _exact(self) -> float:  # type: ignore[override]
        """Smooth, the last digits cost a step; corners, or l1, many."""
        smooth = self.loss == "squared_hinge" and self.penalty == "l2"
        return EXACT_WEIGHTS if smooth else POLISHED

    def _penalises_intercept(self) -> bool:
        return bool(self.penalize_intercept)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        number(self.C, "C", open_low=True)
        flag(self.penalize_intercept, "penalize_intercept")
        if math.isinf(self.C):
            raise ParameterError("C must be finite: a support vector machine needs its penalty")
        refuse_unless(
            self.penalty, ("l1", "l2"), f"penalty must be 'l1' or 'l2', got {self.penalty!r}"
        )
        refuse_unless(
            self.loss,
            ("hinge", "squared_hinge"),
            f"loss must be 'hinge' or 'squared_hinge', got {self.loss!r}; ERMClassifier has more",
        )
        refuse_unless(self.dual, ("auto", True, False), "dual must be 'auto', True or False")
        refuse_unless(
            self.multi_class,
            ("ovr",),
            f"multi_class={self.multi_class!r} is another problem, which spd1 does not solve: "
            "leave it at 'ovr'",
        )

    def _loss(self) -> Any:
        return self.loss

    def _regularizer(self, total: float, d: int) -> ElasticNet:
        strength = 1.0 / (self.C * total)
        return ElasticNet(l1=strength) if self.penalty == "l1" else ElasticNet(l2=strength)
