"""Pictures of estimators: coefficients along a path, scores of a cross-validation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import IncompatibleError
from ..plotting import _axes, draw_path, draw_scores, label_scores
from ._path import path

__all__ = ["draw_cv_of", "draw_path_of"]


class Curves(NamedTuple):
    """Scores of a cross-validation."""

    label: str  # of the axis of penalties
    grids: list[np.ndarray]
    scores: list[np.ndarray]  # folds x penalties, a curve each
    names: list[str]
    score: str
    best: float


def draw_cv_of(model: Any, ax: Any = None) -> Any:
    """Mean score over folds with one standard error, a curve an l1_ratio, the winner marked."""
    curves = _curves(model)
    ax = _axes(ax)
    for k, (grid, scores) in enumerate(zip(curves.grids, curves.scores, strict=True)):
        draw_scores(ax, grid, scores, curves.names[k], k)
    label_scores(ax, curves.score, curves.best)
    ax.set_xlabel(curves.label)
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


def draw_path_of(
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
    names = getattr(model, "feature_names_in_", range(found.coefs.shape[1]))
    draw_path(ax, found.alphas, found.coefs, names)
    if strength > 0.0:
        ax.axvline(strength, color="0.4", linestyle=":")
        ax.annotate("the model", (strength, 1.0), xycoords=("data", "axes fraction"), fontsize=8)
    ax.set_xlabel(f"l1 + l2 of the mean loss, l1_ratio {ratio:g}; rel_gap <= "
                  f"{found.rel_gaps.max():.1g}")  # fmt: skip
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
