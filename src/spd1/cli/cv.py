"""spd1 cv."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import DataError, ParameterError, suggestion
from ..io import fit_model, save_model
from ..regularizers import ElasticNet
from . import options as o
from .exits import NOT_REACHED, guarded, notes
from .fit import NoSave, Output, check_before_work, introduce, report, stem
from .pictures import draw_cv
from .show import print_json, say
from .strength import AlphaCount, L1Ratio, LeastShare, Task, check_share, task_of
from .table import TableOptions, is_balanced, prepared, words_of

CvPlot = Annotated[Path | None, typer.Option(help="Picture of the scores (png, svg, pdf)")]
Folds = Annotated[int, typer.Option(help="Folds of the cross-validation", min=2)]
Rule = Annotated[
    str,
    typer.Option(
        help="best, or one-se: the strongest penalty within one standard error of the best"
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        help="A score of scikit-learn by name, such as accuracy, roc_auc or r2; default: minus the "
        "mean loss of rows left out"
    ),
]
FoldJobs = Annotated[
    int | None, typer.Option(help="Folds at the same time, one thread each", min=1)
]
FOREIGN_SCORES = {
    "auc": "roc_auc", "mse": "neg_mean_squared_error", "logloss": "neg_log_loss",
    "mae": "neg_mean_absolute_error", "rmse": "neg_root_mean_squared_error",
}  # fmt: skip


@guarded
def cv(
    train: o.DataFile,
    output: Output = None,
    loss: o.Loss = "logistic",
    l1_ratio: L1Ratio = 0.0,
    alphas: AlphaCount = 30,
    least: LeastShare = 1e-4,
    folds: Folds = 5,
    rule: Rule = "best",
    scoring: Scoring = None,
    tol: o.Tol = 1e-6,
    intercept: o.Intercept = False,
    standardize: o.Standardize = False,
    loss_parameters: o.LossParameters = None,
    positive: o.Positive = None,
    class_weight: o.ClassWeight = None,
    target: o.Target = None,
    weight: o.Weight = None,
    drop: o.Drop = None,
    text: o.TextColumns = None,
    missing: o.Missing = "refuse",
    max_categories: o.MaxCategories = 100,
    no_header: o.NoHeader = False,
    format: o.Format = None,
    features: o.Features = None,
    zero_based: o.ZeroBased = None,
    no_check: o.NoCheck = False,
    seed: o.Seed = 0,
    jobs: FoldJobs = None,
    plot: CvPlot = None,
    json: o.Json = False,
    no_save: NoSave = False,
    force: o.Force = False,
) -> None:
    """Find the strength of the penalty by cross-validation, and train a model with it.

    spd1 cv train.csv --loss logistic --l1-ratio 1 --rule one-se --plot cv.png

    The penalty is alpha (ratio l1 + (1 - ratio) l2). What is learnt from the columns of a table,
    and --standardize, is learnt from all rows before folds are made.
    """
    chosen = o.make_loss(loss, loss_parameters)
    table = TableOptions(
        words_of(drop), words_of(text), missing, weight, max_categories, not no_header
    )
    balanced = is_balanced(class_weight)
    if rule not in ("best", "one-se"):
        raise ParameterError(f"--rule {rule}: best or one-se")
    check_share(least)
    place = None if no_save else output or Path(stem(train) + ".spd1")
    check_before_work("auto", tol, place, plot, force)
    rows = prepared(train, (format, target, features, zero_based, no_check), table)
    task = task_of(train, rows, chosen, intercept, standardize, positive, balanced)
    if not json:
        introduce(train, rows)
    with notes().status(f"cross-validating, {folds} folds"):
        search = searched(task, chosen, l1_ratio, alphas, least, folds, scoring, intercept, tol,
                          seed, jobs)  # fmt: skip
    best, modest = (pick(search, one) for one in ("best", "one-se"))
    taken = best if rule == "best" else modest
    alpha = float(search.alphas_[taken])
    reg = ElasticNet(l1=l1_ratio * alpha, l2=(1.0 - l1_ratio) * alpha)
    model, result = fit_model(
        rows.data, chosen, reg, intercept=intercept, standardize=standardize, positive=positive,
        sample_weight=rows.weight, balanced=balanced, recipe=rows.recipe, tol=tol,
    )  # fmt: skip
    if place is not None:
        save_model(place, model)
    name = scoring or "minus mean loss"
    if plot is not None:
        draw_cv(search.alphas_, search.scores_, best, modest, name, plot, train.name)
    if json:
        print_json({
            "alpha": alpha, "rule": rule, "alphas": search.alphas_, "scores": search.scores_,
            "alpha_best": search.alphas_[best], "alpha_one_se": search.alphas_[modest],
            "status": result.status, **model.certificate,
            "model": None if place is None else str(place),
        })  # fmt: skip
    else:
        print_scores(search.alphas_, search.scores_, best, modest, name)
        say(f"Taken by the rule {rule}: alpha = {alpha:.6g}, that is --l1 {l1_ratio * alpha:.6g} "
            f"--l2 {(1 - l1_ratio) * alpha:.6g}.")  # fmt: skip
        if best == len(search.alphas_) - 1:
            say(f"The best is the weakest penalty tried: try a smaller --least than {least:g}.")
        elif best == 0:
            say("The best is the strongest penalty tried: features hardly help.")
        report(model, result, place, plot, tol)
    raise typer.Exit(0 if result.converged else NOT_REACHED)


def searched(
    task: Task, loss: Any, l1_ratio: float, alphas: int, least: float, folds: int,
    scoring: str | None, intercept: bool, tol: float, seed: int, jobs: int | None,
) -> Any:  # fmt: skip
    """The estimator of scikit-learn's kind that has tried all alphas on all folds."""
    from sklearn.model_selection import KFold, StratifiedKFold

    from ..linear_model import ERMClassifierCV, ERMRegressorCV

    signs = loss.label_kind == "sign"
    kind = ERMClassifierCV if signs else ERMRegressorCV
    least_class = int(np.unique(task.y, return_counts=True)[1].min()) if signs else len(task.y)
    if folds > least_class:
        what = "the smaller class has" if signs else "the file has"
        raise DataError(f"--folds {folds}: {what} {least_class} rows, so at most {least_class}")
    if scoring is not None:
        _check_scoring(scoring)
    splitter = StratifiedKFold if signs else KFold
    search = kind(
        loss, l1_ratio=l1_ratio, alphas=alphas, eps=least, scoring=scoring,
        cv=splitter(folds, shuffle=True, random_state=seed), fit_intercept=intercept, tol=tol,
        n_jobs=jobs,
    )  # fmt: skip
    return search.fit(task.X, task.y, sample_weight=task.weight)


def _check_scoring(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name not in known:
        near = suggestion(name, known, FOREIGN_SCORES)
        raise ParameterError(
            f"--scoring {name}: {near}sklearn.metrics.get_scorer_names() has the names"
        )


def pick(search: Any, rule: str) -> int:
    """Index of the alpha that a rule takes."""
    from ..linear_model._erm_search import chosen

    return chosen(search.scores_, search.alphas_, rule)


def print_scores(alphas: np.ndarray, scores: np.ndarray, best: int, modest: int, name: str) -> None:
    """A line for each alpha."""
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
    table = Table("alpha", name, "standard error", "", box=None)
    for column in table.columns[:3]:
        column.justify = "right"
    for k, alpha in enumerate(alphas):
        marks = [word for word, at in (("best", best), ("one-se", modest)) if at == k]
        table.add_row(f"{alpha:.4g}", f"{mean[k]:.6g}", f"{error[k]:.2g}", ", ".join(marks))
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)
