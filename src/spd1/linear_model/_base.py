"""What all estimators share: data in, problems solved, fitted attributes out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..certificate.gap import Certificate
from ..data.indices import trusted
from ..design.intercept import Design, joined
from ..engines.blas import one_thread
from ..errors import DataError
from ..regularizers import ElasticNet
from ..result import Result
from ._callbacks import CallbackSupportMixin, with_callbacks
from ._chunked import checked_chunks, is_chunked, lazy_margins, on_cluster
from ._jobs import engine_for
from ._kept import Kept
from ._options import check_common, solver_of, words_for
from ._progress import AT_ONCE, FOREVER, STEPS, Watch, between, passes_of, warn_unless_converged
from ._rounded import certified_at, kept_type, moved, rounded
from .tuning import AS_EXACT, DEFAULT_TOL, POLISHED, SMALL_FIT

__all__ = ["CertifiedModel", "Task", "with_callbacks"]


class Task(NamedTuple):
    """One problem of a fit: a class against the rest, or one target."""

    b: np.ndarray
    loss: Any
    reg: ElasticNet
    weight: np.ndarray | None
    name: str = ""


class CertifiedModel(CallbackSupportMixin, Kept):
    """A linear model whose fit ends with a certificate.

    Subclasses translate their parameters into tasks; everything else happens here.
    """

    _default_solver = "auto"
    _exact = POLISHED
    _least_iterations = 1  # that max_iter may be
    _early_end = True  # whether a small max_iter limits passes, too
    _chunks = True  # whether fit takes a dask array
    coef_: Any
    intercept_: Any
    dual_coef_: Any
    dual_gap_: Any
    n_iter_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # Data

    def _checked_data(
        self, X: Any, y: Any, sample_weight: Any, chunks: bool = False, **options: Any
    ) -> tuple:
        """X, y and weights as arrays; refused by name if they can't be used.

        ``chunks``: whether X may be a dask array, which stays what it is.
        """
        if is_chunked(X):
            return checked_chunks(self, X, y, sample_weight, chunks and self._chunks)
        try:
            X, y = validate_data(
                self,
                trusted(X),
                y,
                accept_sparse=("csr", "csc"),
                accept_large_sparse=True,
                dtype=(np.float64, np.float32),
                **options,
            )
            if sample_weight is not None:
                sample_weight = _check_sample_weight(
                    sample_weight, X, dtype=np.float64, ensure_non_negative=True
                )
        except DataError:
            raise
        except ValueError as error:
            raise DataError(str(error)) from None
        if sample_weight is not None and not np.any(sample_weight > 0):
            raise DataError("sample_weight is zero everywhere: no sample carries weight")
        return X, y, sample_weight

    # The fit

    def _run(self, X: Any, tasks: list[Task], weight: np.ndarray | None) -> list[Result]:
        """Solve the tasks of a fit, and warn where the gap asked for was not reached."""
        design = self._design(X, weight)
        root = self._root_task(X, len(tasks))
        starts = self._starting_points(tasks, design)
        jobs = getattr(self, "n_jobs", None)
        if is_chunked(X):
            with on_cluster(design) as engine:
                starts = [{**start, **engine} for start in starts]
                outcomes = self._one_after_another(design, tasks, starts, root)
        elif jobs in (None, 1) or len(tasks) == 1:
            if len(tasks) == 1:
                starts = [{**starts[0], **engine_for(jobs)}]
            outcomes = self._one_after_another(design, tasks, starts, root)
        else:
            _ = design.data if design.fit_intercept else None  # made once, before threads
            contexts = [self._subtask(root, tasks, k) for k in range(len(tasks))]
            outcomes = Parallel(n_jobs=jobs, prefer="threads")(
                delayed(self._solve_task)(design, task, start, context, self._iterations())
                for task, start, context in zip(tasks, starts, contexts, strict=True)
            )
        results = [result for result, _ in outcomes]
        for task, (result, watch) in zip(tasks, outcomes, strict=True):
            warn_unless_converged(result, self._tol(), watch, task.name, words_for(self), level=5)
        self._keep(results, [watch for _, watch in outcomes], self._kept_type(X, tasks[0]))
        if root is not None:
            self._finish = lambda: root.call_on_fit_task_end(
                estimator=self, X=X, reconstruction_attributes={}
            )
        return results

    def _design(self, X: Any, weight: np.ndarray | None) -> Design:
        """The data of the fit; a penalised intercept is a column of it like the others."""
        column = self._intercept_column()
        if column is not None:
            return Design(joined(X, column), False, weight)
        return Design(X, bool(getattr(self, "fit_intercept", True)), weight)

    def _intercept_column(self) -> float | None:
        """Constant of the column that stands for a penalised intercept; None: not penalised.

        liblinear appends such a column. That is another problem than one whose intercept is free,
        so ``solver="liblinear"`` of a model that has other solvers, too, asks for it.
        """
        if not getattr(self, "fit_intercept", True) or not self._penalises_intercept():
            return None
        return float(self.intercept_scaling)

    def _penalises_intercept(self) -> bool:
        return getattr(self, "solver", None) == "liblinear"

    def _one_after_another(
        self, design: Design, tasks: list[Task], starts: list[dict], root: Any
    ) -> list[tuple[Result, Watch]]:
        outcomes: list[tuple[Result, Watch]] = []
        iterations = self._iterations()
        for k, (task, start) in enumerate(zip(tasks, starts, strict=True)):
            context = self._subtask(root, tasks, k)
            outcome = self._solve_task(design, task, start, context, iterations)
            outcomes.append(outcome)
            result, watch = outcome
            stopped = result.status == "interrupted" and result.rel_gap > self._tol()
            if stopped and watch.reason in ("", "Ctrl-C"):
                iterations = AT_ONCE  # a first certified point for what is left, and out
        return outcomes

    def _root_task(self, X: Any, count: int) -> Any:
        """The fit as scikit-learn's callbacks see it; None where there are none."""
        if not hasattr(self, "_skl_callbacks"):
            return None
        root = self._init_callback_context(max_subtasks=STEPS if count == 1 else count)
        root.call_on_fit_task_begin(estimator=self, X=X)
        return root

    def _subtask(self, root: Any, tasks: list[Task], k: int) -> Any:
        if root is None:
            return None
        if len(tasks) == 1:
            return root
        context = root.subcontext(task_name=tasks[k].name or f"target {k}", max_subtasks=STEPS)
        context.call_on_fit_task_begin(estimator=self)
        return context

    def _solve_task(
        self, design: Design, task: Task, start: dict[str, Any], context: Any, iterations: int
    ) -> tuple[Result, Watch]:
        polishing = self._target(design) < self._tol()
        watch = Watch(iterations, self._tol(), context, self, polishing, "x0" in start)
        result = self._solve(design, task, watch, start)
        watch.finish(result.status)
        if self._kept_type(design.X, task) is np.float32:
            result = self._rounded(design, task, result)
        if context is not None and context.task_name != "fit":
            context.call_on_fit_task_end(estimator=self)
        return result, watch

    def _solve(self, design: Design, task: Task, watch: Watch, start: dict[str, Any]) -> Result:
        """Solve one task; overridden where a model is more than one problem."""
        return design.solve(
            task.b, task.loss, task.reg, task.weight, callback=watch,
            **self._settings(design), **start,
        )  # fmt: skip

    def _kept_type(self, X: Any, task: Task) -> Any:
        """Type of ``coef_``; the tasks of a fit agree about it."""
        return kept_type(X.dtype, task.reg)

    def _rounded(self, design: Design, task: Task, result: Result) -> Result:
        """The result as it is handed out of float32 data, with the certificate of that."""
        unit = (self._intercept_column() or 1.0) if getattr(self, "fit_intercept", True) else None
        x = rounded(result.x, task.reg, unit)
        if np.array_equal(x, result.x):
            return result
        with one_thread():
            proof = self._certified(design, task, result, x)
        return moved(result, x, proof, self._tol())

    def _certified(self, design: Design, task: Task, result: Result, x: np.ndarray) -> Certificate:
        """The certificate of x by the dual point of a result; overridden like ``_solve``."""
        problem = design.problem(task.b, task.loss, task.reg, task.weight)
        return certified_at(problem, x, result.y)

    def _settings(self, design: Design | None = None) -> dict[str, Any]:
        """Options of ``solve`` that the parameters ask for."""
        seed = getattr(self, "random_state", None)
        method = solver_of(getattr(self, "solver", "auto"), self._default_solver)
        early = self._early_end and method == "auto"  # who names a method knows what a look is
        return {
            "tol": max(self._tol() if design is None else self._target(design), AS_EXACT),
            "method": method,
            "max_passes": passes_of(self._iterations()) if early else FOREVER,
            "max_seconds": getattr(self, "max_seconds", None),
            "random_state": _seed_of(seed),
            "verbose": bool(getattr(self, "verbose", 0)),
        }

    def _tol(self) -> float:
        return float(getattr(self, "tol", 1e-6))

    def _target(self, design: Design) -> float:
        """Relative gap to ask ``solve`` for: where it is cheap, that of an exact solver.

        Where ``tol`` is above its default, on tiny data only: who sets that wants an early end.
        """
        tol = self._tol()
        stored = design.X.nnz if sp.issparse(design.X) else design.n * design.d
        exact = min(tol, self._exact)
        if tol <= DEFAULT_TOL:
            return exact if stored <= SMALL_FIT else tol
        return between(exact, tol, stored)

    def _iterations(self) -> int:
        limit = getattr(self, "max_iter", None)
        return 1000 if limit is None else int(limit)

    def _check_parameters(self) -> None:
        check_common(self)
        solver_of(getattr(self, "solver", "auto"), self._default_solver)

    # Warm starts

    def _starting_points(self, tasks: list[Task], design: Design) -> list[dict[str, Any]]:
        """x0 of each task: the coefficients of the last fit, if they fit this one."""
        nothing: list[dict[str, Any]] = [{} for _ in tasks]
        if not getattr(self, "warm_start", False) or not hasattr(self, "coef_"):
            return nothing
        column = self._intercept_column()
        coef = np.atleast_2d(self.coef_)
        if coef.shape != (len(tasks), design.d - (column is not None)):
            return nothing
        level = np.atleast_1d(getattr(self, "intercept_", 0.0))  # coef_ may have been set alone
        level = np.broadcast_to(level, (len(tasks),)) / (column or 1.0)
        starts = []
        for task, x, intercept in zip(tasks, coef, level, strict=True):
            x = np.clip(np.asarray(x, dtype=float), task.reg.lower, task.reg.upper)
            last = design.fit_intercept or column is not None
            starts.append({"x0": np.append(x, intercept) if last else x})
        return starts

    # Fitted attributes

    def _keep(self, results: list[Result], watches: list[Watch], dtype: Any = np.float64) -> None:
        rows = np.array([r.x for r in results])
        rows[:, -1] *= self._intercept_column() or 1.0
        if getattr(self, "fit_intercept", True):
            self.coef_, self.intercept_ = rows[:, :-1].astype(dtype), rows[:, -1].astype(dtype)
        else:
            self.coef_, self.intercept_ = rows.astype(dtype), np.zeros(len(rows), dtype=dtype)
        iterations = [watch.iterations for watch in watches]
        self.dual_coef_ = np.array([r.y for r in results])
        several = len(results) > 1
        self.dual_gap_ = (
            np.array([r.gap for r in results]) if several else np.float64(results[0].gap)
        )
        self.rel_gap_ = np.array([r.rel_gap for r in results]) if several else results[0].rel_gap
        proofs, traces = [r.certificate for r in results], [r.trace for r in results]
        self.certificate_ = proofs if several else proofs[0]
        self.trace_ = traces if several else traces[0]
        self.method_ = [r.method for r in results] if several else results[0].method
        self._iterations_done = iterations
        self.n_iter_ = max(iterations)

    def _end(self) -> Any:
        """Tell callbacks that the estimator is ready, once all its attributes are there."""
        finish = self.__dict__.pop("_finish", None)
        if finish is not None:
            finish()
        return self

    def _margins(self, X: Any) -> Any:
        if is_chunked(X):
            return lazy_margins(self, X)
        check_is_fitted(self)
        X = validate_data(self, trusted(X), accept_sparse=("csr", "csc"), reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_)


def _seed_of(seed: Any) -> Any:
    if seed is None:
        return 0
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**31 - 1))
    return seed
