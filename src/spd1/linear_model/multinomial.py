"""The certificate of a multinomial logistic regression.

    P(W, o) = sum_i c_i [log sum_k exp(z_ik) - z_i,b(i)] + sum_kj g(W_kj),   z_i = W a_i + o

For any p_i in the simplex, with e_i the unit vector of the class of sample i and v = -Q'A where
Q_ik = c_i (p_ik - e_ik),

    D(p) = -sum_i c_i sum_k p_ik log p_ik - sum_kj g*(v_kj) <= P*,

if the sums of Q over the samples are zero where there is an intercept. p = softmax(z) is the
natural choice. Shifting z by one number a class makes the sums zero, and e + theta (p - e) shrinks
v until it is inside the bounds of l1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, logsumexp, softmax

from ..certificate.gap import Certificate, relative
from ..errors import IncompatibleError
from ..problem import ROUNDED
from ..regularizers import ElasticNet
from .tuning import BALANCE_STEPS, MULTINOMIAL_LOOKS, PROVABLE, PROVEN

__all__ = ["Multinomial"]


class Multinomial:
    """The objective of a multinomial model on its data.

    Parameters
    ----------
    X : array or SciPy sparse, shape (n, d)
    labels : array of shape (n,)
        Class of each sample, 0 .. classes - 1.
    classes : int
    weight : array of shape (n,)
        Not negative; normalised to a sum of one.
    reg : ElasticNet
        The same for every coefficient; l1 or l2 must be positive.
    fit_intercept : bool

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> one = Multinomial(X, np.array([0, 1, 2]), 3, np.ones(3), ElasticNet(l2=1.0), True)
    >>> bool(one.certify(np.zeros((3, 1)), np.zeros(3)).gap >= 0.0)
    True
    """

    def __init__(
        self, X: Any, labels: np.ndarray, classes: int, weight: np.ndarray, reg: ElasticNet,
        fit_intercept: bool,
    ) -> None:  # fmt: skip
        if not (reg.l1 > 0.0 or reg.l2 > 0.0):
            raise IncompatibleError(
                "a multinomial model without any penalty has no certificate here: fit it with C "
                "below infinity"
            )
        self.X, self.reg, self.fit_intercept = X, reg, fit_intercept
        self.c = weight / weight.sum()
        self.unit = np.zeros((len(labels), classes))
        self.unit[np.arange(len(labels)), labels] = 1.0
        self.share = self.c @ self.unit  # weight of each class

    def scores(self, W: np.ndarray, level: np.ndarray) -> np.ndarray:
        """One number a sample and class."""
        return np.asarray(self.X @ W.T + level, dtype=float)

    def value(self, W: np.ndarray, scores: np.ndarray) -> float:
        """The objective."""
        loss = logsumexp(scores, axis=1) - np.sum(scores * self.unit, axis=1)
        penalty = self.reg.l1 * np.abs(W).sum() + 0.5 * self.reg.l2 * np.sum(W * W)
        return float(self.c @ loss + penalty)

    def chances(self, scores: np.ndarray) -> np.ndarray | None:
        """Softmax, after the shift that makes expected counts those of the classes.

        None if there is no such shift within reach of rounding.
        """
        seen = self.share > 0.0
        if not self.fit_intercept:
            return np.asarray(softmax(scores, axis=1))
        p = np.zeros_like(scores)
        shift = np.zeros(int(seen.sum()))
        best, least = None, PROVABLE
        for _ in range(BALANCE_STEPS):
            p[:, seen] = softmax(scores[:, seen] + shift, axis=1)
            excess = self.c @ p[:, seen] - self.share[seen]
            if np.abs(excess).max() < least:
                best, least = p.copy(), float(np.abs(excess).max())
            if least <= ROUNDED:
                break
            H = np.diag(self.c @ p[:, seen]) - p[:, seen].T @ (self.c[:, None] * p[:, seen])
            step = -np.linalg.lstsq(H, excess, rcond=1e-13)[0]
            shift += step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        return best

    def unbalanced(self, scores: np.ndarray, q: np.ndarray) -> float:
        """What the bound loses when p is moved until expected counts are exactly those of classes.

        A move changes the bound by its scores, and all moves together add up to what is off.
        """
        if not self.fit_intercept:
            return 0.0
        off = np.abs(self.c @ q) + ROUNDED
        return float(len(off) * off.sum() * (1.0 + np.ptp(scores)))

    def bound(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """D at what the scores suggest, and its p - e."""
        p = self.chances(scores)
        if p is None:
            return -np.inf, np.zeros_like(scores)
        q = p - self.unit
        v = -np.asarray(self.X.T @ (self.c[:, None] * q), dtype=float)
        l1, l2 = float(self.reg.l1), float(self.reg.l2)
        if l2 > 0.0:
            over = np.maximum(np.abs(v) - l1, 0.0)
            conjugate = 0.5 * float(np.sum(over * over)) / l2
        else:
            theta = min(1.0, l1 / max(float(np.abs(v).max()), 1e-300))
            q, conjugate = theta * q, 0.0
        entropy = float(self.c @ entr(np.clip(self.unit + q, 0.0, 1.0)).sum(axis=1))
        return entropy - conjugate - self.unbalanced(scores, q), q

    def certify(self, W: np.ndarray, level: np.ndarray) -> Certificate:
        """The certificate of a point; without l1, the problem is solved if it proves little."""
        scores = self.scores(W, level)
        value = self.value(W, scores)
        bound, q = max(self.bound(scores), self.bound(np.zeros_like(scores)), key=lambda b: b[0])
        if self.reg.l1 == 0.0 and relative(max(value - bound, 0.0), value, bound) > PROVEN:
            solved = self.bound(self.scores(*self.solved(W, level)))
            bound, q = max((bound, q), solved, key=lambda b: b[0])
        gap = max(value - bound, 0.0)
        return Certificate(value, bound, gap, relative(gap, value, bound), q)

    def solved(self, W: np.ndarray, level: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A point near the optimum, by L-BFGS."""
        from scipy.optimize import minimize

        count = W.size

        def parts(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return flat[:count].reshape(W.shape), flat[count:]

        def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
            W, level = parts(flat)
            scores = self.scores(W, level)
            Q = self.c[:, None] * (softmax(scores, axis=1) - self.unit)
            slope = np.asarray(self.X.T @ Q).T + self.reg.l2 * W
            ends = Q.sum(axis=0) * self.fit_intercept
            return self.value(W, scores), np.append(slope.ravel(), ends)

        options = {
            "maxiter": MULTINOMIAL_LOOKS,
            "maxfun": MULTINOMIAL_LOOKS,
            "ftol": 0.0,
            "gtol": 1e-9,
        }
        start = np.append(W.ravel(), level)
        return parts(minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x)
