"""Cross-validation for every loss: the search that classifiers and regressors share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from ..design.intercept import Design
from ..problem import Problem
from ..regularizers import ElasticNet
from ._base import CertifiedModel, Task
from ._cv import folds_of
from ._options import checked_alphas, number, refuse_unless, whole
from ._path import alpha_grid
from ._progress import Watch

__all__ = ["CrossValidated", "Samples", "chosen"]

LEAST_RATIO = 1e-3  # share of l1 that the default grid reckons with where there is less


def chosen(scores: np.ndarray, alphas: np.ndarray, rule: str) -> int:
    """Index of the alpha to take; scores of shape (folds, alphas), the larger the better.

    "one-se" is the strongest penalty whose mean score is within one standard error, that of the
    mean over folds, of the best.

    Examples
    --------
    >>> scores = np.array([[0.0, 0.9, 1.0], [0.0, 1.0, 1.1], [0.0, 1.1, 1.0]])
    >>> alphas = np.array([3.0, 2.0, 1.0])
    >>> chosen(scores, alphas, "best"), chosen(scores, alphas, "one-se")
    (2, 1)
    """
    mean = scores.mean(axis=0)
    best = int(np.argmax(mean))
    if rule == "best" or len(scores) < 2:
        return best
    error = scores[:, best].std(ddof=1) / math.sqrt(len(scores))
    near = np.flatnonzero(mean >= mean[best] - error)
    return int(near[np.argmax(alphas[near])])


class Samples(NamedTuple):
    """Some of the samples, to train on or to judge by."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    def some(self, which: np.ndarray) -> Samples:
        """Those with these numbers."""
        weight = None if self.weight is None else self.weight[which]
        return Samples(self.X[which], self.y[which], weight)


class CrossValidated(CertifiedModel):
    """What both share. ``l1`` and ``l2`` of the parent follow from the alpha that was found."""

    l1_ratio: Any
    alphas: Any
    eps: Any
    rule: Any
    cv: Any
    scoring: Any
    lower: Any
    upper: Any
    fit_intercept: Any
    n_jobs: Any
    l1 = property(lambda self: self.l1_ratio * getattr(self, "alpha_", 1.0))
    l2 = property(lambda self: (1.0 - self.l1_ratio) * getattr(self, "alpha_", 1.0))

    def _check_parameters(self) -> None:
        number(self.l1_ratio, "l1_ratio", 0.0, 1.0)
        super()._check_parameters()
        number(self.eps, "eps", 0.0, 1.0, open_low=True)
        if np.ndim(self.alphas) == 0:
            whole(self.alphas, "alphas")
        refuse_unless(
            self.rule, ("best", "one-se"), f"rule must be 'best' or 'one-se', got {self.rule!r}"
        )

    def _fold_tasks(self, y: np.ndarray, weight: Any, d: int) -> list[Task]:
        """The problems of some of the samples."""
        raise NotImplementedError

    def _search(self, X: Any, y: np.ndarray, weight: Any, classifier: bool) -> None:
        """Set ``alphas_``, ``scores_`` and ``alpha_``."""
        everything = Samples(X, y, weight)
        folds = folds_of(self.cv, X, y, classifier=classifier)
        parts = ((everything.some(train), everything.some(test)) for train, test in folds)
        self._try_alphas(everything, parts)

    def _try_alphas(self, everything: Samples, parts: Iterable[tuple[Samples, Samples]]) -> None:
        """The same for folds that may have been prepared apart: what to train on, what to judge by.

        The grid of alphas follows from all samples.
        """
        self.alphas_ = self._grid(*everything)
        self.scores_ = np.array(
            Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._fold)(train, test) for train, test in parts
            )
        )
        self.alpha_ = float(self.alphas_[chosen(self.scores_, self.alphas_, self.rule)])

    def _grid(self, X: Any, y: np.ndarray, weight: Any) -> np.ndarray:
        if np.ndim(self.alphas):
            return np.sort(checked_alphas(self.alphas, closed=True))[::-1]
        forces = []
        for task in self._fold_tasks(y, weight, X.shape[1]):
            design = Design(X, bool(self.fit_intercept), weight)
            held = ElasticNet(lower=0.0, upper=0.0)  # features at zero, the best intercept
            result = design.solve(task.b, task.loss, held, task.weight, tol=1e-6)
            p = design.problem(task.b, task.loss, ElasticNet(), task.weight)
            forces.append(np.abs(p.adjoint(p.c * result.y))[: design.d].max())
        return alpha_grid(max(forces) / max(self.l1_ratio, LEAST_RATIO), self.eps, self.alphas)

    def _fold(self, train: Samples, test: Samples) -> list[float]:
        """Scores of all alphas, from the strongest penalty on, each from the last solution."""
        design = Design(train.X, bool(self.fit_intercept), train.weight)
        tasks = self._fold_tasks(train.y, train.weight, design.d)
        judged = self._fold_tasks(test.y, None, design.d)
        points: list[Any] = [None] * len(tasks)
        scores = []
        for alpha in self.alphas_:
            net = ElasticNet(
                self.l1_ratio * alpha, (1.0 - self.l1_ratio) * alpha, self.lower, self.upper
            )
            for k, task in enumerate(tasks):
                watch = Watch(self._iterations(), self._tol())
                options = {**self._settings(), "callback": watch}
                found = design.solve(task.b, task.loss, net, task.weight, x0=points[k], **options)
                points[k] = found.x
            rows = np.array(points)
            level = rows[:, -1] if design.fit_intercept else np.zeros(len(rows))
            coef = rows[:, : design.d]
            if self.scoring is None:
                scores.append(-_mean_loss(test.X, coef, level, judged, test.weight))
            else:
                scores.append(self._score(*test[:2], coef, level, test.weight))
        return scores

    def _score(self, X: Any, y: Any, coef: np.ndarray, level: np.ndarray, weight: Any) -> float:
        judge = self._judge(coef, level)
        judge.n_features_in_ = X.shape[1]
        options = {} if weight is None else {"sample_weight": weight}
        return float(check_scoring(judge, scoring=self.scoring)(judge, X, y, **options))

    def _judge(self, coef: np.ndarray, level: np.ndarray) -> Any:
        raise NotImplementedError


def _mean_loss(
    X: Any, coef: np.ndarray, level: np.ndarray, tasks: list[Task], weight: Any
) -> float:
    """Mean loss of samples that were left out, over all tasks."""
    values = []
    for x, intercept, task in zip(coef, level, tasks, strict=True):
        margins = np.asarray(X @ x).ravel() + intercept
        alone = Problem(margins[:, None], task.b, task.loss, None, weight)
        values.append(alone.primal(np.ones(1)))
    return float(np.mean(values))
