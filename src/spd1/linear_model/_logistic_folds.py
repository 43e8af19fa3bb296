"""Folds of cross-validated logistic regression: a path each, its scores, classes that it lacks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_method_params

from ..design.intercept import Design
from ..multinomial.tuning import NEVER
from ..paths.logistic import LogisticWalk
from ._base import Task
from ._classifiers import probabilities
from ._logistic import LogisticRegression, class_shares, logistic_net
from ._logistic_judge import Judge, quick_scores
from ._options import solver_of
from ._progress import Watch
from .tuning import DEFAULT_TOL, EXACT_FOLDS, POLISHED

LEAST_STEPPED = 1e-12  # relative gap below which ``solve`` is asked

__all__ = ["Fold", "FoldModel", "by_class", "fold_of"]


class Fold(NamedTuple):
    """What came of one fold and one l1_ratio: an entry a C."""

    scores: np.ndarray
    coefs: np.ndarray
    iterations: np.ndarray
    rel_gaps: np.ndarray


class FoldModel(LogisticRegression):
    """A model that a fold is fitted with, whatever classes the fold has."""

    @property
    def _exact(self) -> float:  # type: ignore[override]
        """Folds end at tol; who asks for less than its default gets a fit as exact as others."""
        return math.inf if self._tol() >= DEFAULT_TOL else POLISHED

    def _refuse_empty_side(self, b: np.ndarray, c: np.ndarray | None) -> None:
        """Nothing is refused: ``_solved`` knows what to do."""

    def _refuse_absent(self, mass: np.ndarray) -> None:
        """The same for several classes."""

    def walk(
        self, X: Any, codes: np.ndarray, weight: Any, Cs: np.ndarray, ratio: float | None
    ) -> Fold:
        """Fit all Cs on the training rows, from the strongest penalty on; scores are left open."""
        design = self._design(X, weight)
        order = np.argsort(Cs)
        tasks = self._tasks(codes, weight, X.shape[1])
        rows = len(self.classes_) if self._multinomial else len(tasks)
        found = np.empty((len(order), rows, X.shape[1] + int(self.fit_intercept)))
        iterations = np.zeros(len(order), dtype=np.int32)
        gaps = np.zeros(len(order))
        for t, task in enumerate(tasks):
            start: dict[str, Any] = {}
            steps = self._steps(design, task, ratio)
            total = float(len(codes)) if task.weight is None else float(task.weight.sum())
            for k in order:
                net = logistic_net(float(Cs[k]), ratio, total)
                outcome = None if steps is None else self._stepped(steps, net.l2)
                if outcome is None:
                    outcome = self._solved(design, task._replace(reg=net), start)
                x, looks, gap = outcome
                start = {"x0": x}
                found[k, slice(None) if self._multinomial else t] = x
                iterations[k] = max(iterations[k], looks)
                gaps[k] = max(gaps[k], gap)
        column = self._intercept_column()
        if column is not None:
            found[..., -1] *= column
        return Fold(np.full(len(order), np.nan), found, iterations, gaps)

    def _steps(self, design: Design, task: Task, ratio: float | None) -> LogisticWalk | None:
        """Newton's steps from penalty to penalty, where they are the fastest way."""
        X = design.X
        if self._multinomial or ratio != 0.0 or solver_of(self.solver, "lbfgs") != "auto":
            return None
        if not LogisticWalk.suits(X) or self._only_level(task) is not None:
            return None
        X = X.toarray() if sp.issparse(X) else X
        return LogisticWalk(X, task.b, task.weight, design.fit_intercept)

    def _stepped(self, steps: LogisticWalk, l2: float) -> tuple[np.ndarray, int, float] | None:
        """Coefficients, steps, relative gap; None if ``solve`` has to be asked."""
        if not l2 > 0.0:
            return None
        goal = EXACT_FOLDS if self._tol() <= DEFAULT_TOL else math.inf
        return steps.step(l2, max(self._tol(), LEAST_STEPPED), goal, self._iterations())

    def _solved(
        self, design: Design, task: Task, start: dict[str, Any]
    ) -> tuple[np.ndarray, int, float]:
        """Coefficients, looks, relative gap; a side that is all there is takes no solver.

        With a free intercept the objective then has no minimiser: it falls to that of no
        coefficients the higher the intercept. exp(-NEVER) above its infimum is close enough.
        """
        level = self._only_level(task)
        if level is not None and design.fit_intercept:
            x = np.zeros((len(level), design.d + 1))
            x[:, -1] = NEVER * level
            return x if self._multinomial else x[0], 1, math.exp(-NEVER) / math.log(2.0)
        watch = Watch(self._iterations(), self._tol())
        result = self._solve(design, task, watch, start)
        return result.x, watch.iterations, result.rel_gap

    def _only_level(self, task: Task) -> np.ndarray | None:
        """Signs of the intercepts where all weight is on one class or side, else None."""
        b = task.b if task.weight is None else task.b[task.weight > 0.0]
        if not np.all(b == b[0]):
            return None
        if not self._multinomial:
            return np.array([float(b[0])])
        return np.where(np.arange(len(self.classes_)) == b[0], 1.0, 0.0)

    def judged(self, fold: Fold, X: Any, y: Any, judge: Any, params: dict[str, Any]) -> Fold:
        """The fold with the scores of its coefficients on the test rows."""
        scores = []
        for x in fold.coefs:
            self.coef_ = x[:, : X.shape[1]]
            self.intercept_ = x[:, -1] if self.fit_intercept else np.zeros(len(x))
            scores.append(judge(self, X, y, **params))
        return fold._replace(scores=np.array(scores, dtype=float))

    def judged_quickly(self, fold: Fold, X: Any, codes: Any, kind: Any, weight: Any) -> Fold:
        """The same by one of the scores that need no scorer."""
        shares = class_shares if self._multinomial else probabilities
        return fold._replace(scores=quick_scores(kind, shares, fold.coefs, X, codes, weight))


def fold_of(
    model: FoldModel, X: Any, y: np.ndarray, codes: np.ndarray, weight: Any,
    split: tuple[np.ndarray, np.ndarray], Cs: np.ndarray, ratio: float | None, judge: Judge,
    params: dict[str, Any],
) -> Fold:  # fmt: skip
    """Fit on one part of a split, score on the other: by a quick score, or by a scorer."""
    train, test = split
    part = None if weight is None else weight[train]
    fold = model.walk(X[train], codes[train], part, Cs, ratio)
    chosen = _check_method_params(X, params, indices=test)
    if judge.quick is not None and set(chosen) <= {"sample_weight"}:
        weight = chosen.get("sample_weight")
        return model.judged_quickly(fold, X[test], codes[test], judge.quick, weight)
    return model.judged(fold, X[test], y[test], judge.scorer, chosen)


def by_class(
    scores: np.ndarray, paths: np.ndarray, looks: np.ndarray, classes: np.ndarray, flat: bool
) -> tuple[dict[Any, np.ndarray], dict[Any, np.ndarray], np.ndarray]:
    """Scores, paths and iterations as scikit-learn had them before 1.10.

    Axes (folds, ratios, Cs) become (folds, Cs, ratios), without ratios if ``flat``; scores and
    paths are dictionaries by class.
    """
    rows = paths.shape[3]
    scores, looks = scores.swapaxes(1, 2), looks.swapaxes(1, 2)
    paths = np.moveaxis(paths, 3, 0).swapaxes(2, 3)
    if flat:
        scores, looks, paths = scores[..., 0], looks[..., 0], paths[..., 0, :]
    names = classes[-rows:]
    said = {name: scores.copy() for name in names}
    return said, dict(zip(names, paths, strict=True)), looks[None]
