"""Pictures of estimators: coefficients along a path, scores of a cross-validation."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import IncompatibleError
from ..plotting import STYLES, _axes
from ._path import path

__all__ = ["draw_cv", "draw_path"]

NAMED = 8  # coefficients of a path that get their names


class Curves(NamedTuple):
    """Scores of a cross-validation."""

    label: str  # of the axis of penalties
    grids: list[np.ndarray]
    scores: list[np.ndarray]  # folds x penalties, a curve each
    names: list[str]
    score: str
    best: float


def draw_cv(model: Any, ax: Any = None) -> Any:
    """Mean score over folds with one standard error, a curve an l1_ratio, the winner marked."""
    curves = _curves(model)
    ax = _axes(ax)
    for k, (grid, scores) in enumerate(zip(curves.grids, curves.scores, strict=True)):
        colour, marker, line = STYLES[k % len(STYLES)]
        mean = scores.mean(axis=0)
        error = scores.std(axis=0, ddof=1) / math.sqrt(len(scores)) if len(scores) > 1 else None
        order = np.argsort(grid)
        ax.errorbar(
            grid[order], mean[order], None if error is None else error[order], color=colour,
            marker=marker, linestyle=line, capsize=2, markersize=3, label=curves.names[k],
        )  # fmt: skip
    ax.axvline(curves.best, color="0.4", linestyle=":", label=f"taken: {curves.best:.3g}")
    ax.set(xscale="log", xlabel=curves.label, ylabel=curves.score)
    ax.legend()
    return ax


def _curves(model: Any) -> Curves:
    check_is_fitted(model)
    if hasattr(model, "mse_path_"):
        errors = np.atleast_3d(model.mse_path_)
        errors = errors if np.ndim(model.mse_path_) == 3 else np.asarray(model.mse_path_)[None]
        grids = np.broadcast_to(model.alphas_, errors.shape[:2])
        ratios = np.ravel(np.asarray(model.l1_ratio, dtype=float))
        names = [f"l1_ratio {r:g}" for r in ratios]
        return Curves("alpha", list(grids), [e.T for e in errors], names, "mean squared error",
                      model.alpha_)  # fmt: skip
    scoring = getattr(model, "scoring", None)
    said = scoring if isinstance(scoring, str) else "score"
    if hasattr(model, "coefs_paths_"):
        scores = model.scores_
        if isinstance(scores, dict):  # legacy: folds, Cs, ratios
            first = np.asarray(next(iter(scores.values())))
            scores = (first if first.ndim == 3 else first[..., None]).swapaxes(1, 2)
        names = [f"l1_ratio {r:g}" for r in model.l1_ratios_]
        said = "accuracy" if scoring is None else said
        return Curves(
            "C", [model.Cs_] * len(names), list(scores.swapaxes(0, 1)), names, said, model.C
        )
    if hasattr(model, "alphas_") and hasattr(model, "scores_"):
        return Curves("alpha", [model.alphas_], [model.scores_], ["mean over folds"], said,
                      model.alpha_)  # fmt: skip
    raise IncompatibleError(
        f"{type(model).__name__} keeps no scores of folds: plot_cv is for LassoCV, ElasticNetCV, "
        "LogisticRegressionCV, ERMClassifierCV and ERMRegressorCV"
    )


def draw_path(
    model: Any, X: Any, y: Any, sample_weight: Any, n_alphas: int, eps: float, ax: Any
) -> Any:
    """Coefficients against the strength of the penalty, that of the model marked."""
    task, ratio, strength, weight = _penalised(model, X, y, sample_weight)
    grid = None
    if ratio == 0.0:  # no alpha leaves out every feature: three decades either side
        grid = strength * np.geomspace(1e3, 1e-3, n_alphas)
    found = path(
        X, task.b, loss=task.loss, l1_ratio=ratio, alphas=grid, n_alphas=n_alphas, eps=eps,
        fit_intercept=model.fit_intercept, positive=float(np.max(task.reg.lower)) == 0.0,
        sample_weight=weight,
    )  # fmt: skip
    ax = _axes(ax)
    names = list(getattr(model, "feature_names_in_", range(found.coefs.shape[1])))
    largest = set(np.argsort(-np.abs(found.coefs).max(axis=0))[:NAMED].tolist())
    for j, column in enumerate(found.coefs.T):
        if not np.any(column):
            continue
        label = str(names[j]) if j in largest else None
        ax.plot(found.alphas, column, linewidth=1.0, label=label)
    if strength > 0.0:
        ax.axvline(strength, color="0.4", linestyle=":", label="the model")
    ax.set(xscale="log", ylabel="coefficient")
    ax.set_xlabel(f"l1 + l2 of the mean loss, l1_ratio {ratio:g}; rel_gap <= "
                  f"{found.rel_gaps.max():.1g}")  # fmt: skip
    ax.invert_xaxis()
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax


def _penalised(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, float, float, Any]:
    """The one problem of a model, its l1_ratio and strength, its weights; or a refusal by name."""
    from .foreign import _data, _tasks, _twin

    check_is_fitted(model)
    X, y, weight = _data(model, X, y, sample_weight)
    name = type(model).__name__
    if getattr(model, "_multinomial", False) or hasattr(model, "scale_"):
        raise IncompatibleError(f"{name}: there is no path of this model, only of one loss a row")
    if model._intercept_column() is not None:
        raise IncompatibleError(f"{name}: paths have a free intercept, this one is penalised")
    tasks = _tasks(_twin(model), model, y, weight, X.shape[1])
    if len(tasks) > 1:
        raise IncompatibleError(f"{name} has {len(tasks)} problems: draw one target or class")
    net = tasks[0].reg
    positive = float(np.max(net.lower)) == float(np.min(net.lower)) == 0.0
    if not net.scalar or np.any(np.isfinite(net.upper)) or (
        np.any(np.isfinite(net.lower)) and not positive
    ):  # fmt: skip
        raise IncompatibleError(f"{name}: paths have one l1 and one l2, and no bounds but zero")
    l1, l2 = float(net.l1), float(net.l2)
    weight = weight if tasks[0].weight is None else tasks[0].weight
    return tasks[0], l1 / (l1 + l2) if l1 + l2 > 0.0 else 1.0, l1 + l2, weight
