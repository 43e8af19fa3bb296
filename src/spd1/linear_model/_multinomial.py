"""Three classes and more as one multinomial model: one task, one certificate, a row a class."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificate.gap import Certificate
from ..design.intercept import Design
from ..errors import DataError, IncompatibleError, ParameterError
from ..multinomial.bound import Bound, certificate_of
from ..multinomial.objective import Objective
from ..multinomial.solve import solve_multinomial
from ..result import Result
from ._base import CertifiedModel, Task
from ._chunked import is_chunked
from ._options import solver_of
from ._progress import Watch
from .tuning import DEFAULT_TOL

__all__ = ["SeveralClasses"]


class SeveralClasses(CertifiedModel):
    """What stands before ``CertifiedClassifier`` in a model that may be multinomial."""

    classes_: Any
    multi_class: Any
    solver: Any
    _class_weights: Any
    _regularizer: Any

    @property
    def _multinomial(self) -> bool:
        return len(self.classes_) > 2 and self.multi_class != "ovr"

    def _tasks(self, codes: np.ndarray, weight: Any, d: int) -> list[Task]:
        if not self._multinomial:
            return list(super()._tasks(codes, weight, d))
        if self.solver == "liblinear":
            raise ParameterError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= "
                "3): leave it at 'auto', or fit one class against the rest with multi_class='ovr' "
                "or sklearn's OneVsRestClassifier"
            )
        if solver_of(self.solver, self._default_solver) != "auto":
            raise ParameterError(
                f"solver={self.solver!r} knows two classes: leave it at 'auto', or fit one class "
                "against the rest with multi_class='ovr' or sklearn's OneVsRestClassifier"
            )
        share = self._class_weights(codes, weight)
        c = weight
        if share is not None:
            c = share[codes] if weight is None else share[codes] * weight
        if c is not None:
            self._refuse_absent(np.bincount(codes, c, minlength=len(self.classes_)))
        total = float(len(codes)) if c is None else float(c.sum())
        return [Task(codes, "multinomial", self._regularizer(total, d), c)]

    def _refuse_one_class(self, classes: np.ndarray, codes: np.ndarray, weight: Any) -> None:
        """One model of several classes takes classes without weight, if two are left."""
        several = len(classes) > 2 and self.multi_class != "ovr"
        super()._refuse_one_class(classes, codes, None if several else weight)
        if several and weight is not None:
            self._refuse_absent(np.bincount(codes, weight))

    def _refuse_absent(self, mass: np.ndarray) -> None:
        if np.sum(mass > 0.0) < 2:
            raise DataError("class_weight and sample_weight leave only one class with weight")

    def _run(self, X: Any, tasks: list[Task], weight: np.ndarray | None) -> list[Result]:
        if self._multinomial and is_chunked(X):
            raise IncompatibleError(
                "three classes and more as one model take no dask array: use multi_class='ovr', "
                "or X.compute() if it fits into memory"
            )
        return super()._run(X, tasks, weight)

    def _target(self, design: Design) -> float:
        """At the default of ``tol``, the Newton step that reaches it mostly ends far below.

        Ascent over sparse rows has no such last step.
        """
        if self._multinomial and self._tol() == DEFAULT_TOL and not sp.issparse(design.X):
            return DEFAULT_TOL
        return super()._target(design)

    def _starting_points(self, tasks: list[Task], design: Design) -> list[dict[str, Any]]:
        if not self._multinomial:
            return super()._starting_points(tasks, design)
        shape = (len(self.classes_), design.d)
        known = getattr(self, "coef_", ()) if getattr(self, "warm_start", False) else ()
        if np.shape(known) != shape:
            return [{}]
        level = np.broadcast_to(getattr(self, "intercept_", 0.0), shape[:1])
        last = [level] if design.fit_intercept else []
        return [{"x0": np.column_stack([np.asarray(self.coef_, dtype=float), *last])}]

    def _solve(self, design: Design, task: Task, watch: Watch, start: dict[str, Any]) -> Result:
        if not self._multinomial:
            return super()._solve(design, task, watch, start)
        weight = design.weight if task.weight is None else task.weight
        wanted: dict[str, Any] = {**self._settings(design), **start}
        options: dict[str, Any] = {
            name: wanted[name]
            for name in ("tol", "max_seconds", "verbose", "x0", "engine", "n_threads")
            if name in wanted
        }
        return solve_multinomial(
            design.X, task.b, len(self.classes_), task.reg, weight, max_passes=wanted["max_passes"],
            fit_intercept=design.fit_intercept, callback=watch, **options,
        )  # fmt: skip

    def _certified(self, design: Design, task: Task, result: Result, x: np.ndarray) -> Certificate:
        if not self._multinomial:
            return super()._certified(design, task, result, x)
        weight = design.weight if task.weight is None else task.weight
        objective = Objective(
            design.X, task.b, len(self.classes_), weight, task.reg, design.fit_intercept
        )
        known = Bound(result.dual, math.inf, result.y.T, result.reach)
        with np.errstate(all="ignore"):
            return certificate_of(objective, objective.at(x.T), known)

    def _keep(self, results: list[Result], watches: list[Watch], *rest: Any) -> None:
        whole = results[0]
        if whole.x.ndim == 2:
            pairs = zip(whole.x, whole.y.T, strict=True)
            results = [replace(whole, x=x, y=y) for x, y in pairs]
        super()._keep(results, watches, *rest)
        if whole.x.ndim == 2:  # a row a class, but one certificate
            self.dual_gap_, self.rel_gap_ = whole.gap, whole.rel_gap
            self.certificate_, self.trace_, self.method_ = (
                whole.certificate, whole.trace, whole.method,
            )  # fmt: skip
