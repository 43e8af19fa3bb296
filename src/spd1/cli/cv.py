"""spd1 cv."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ..errors import DataError, ParameterError, suggestion
from ..io import fit_model, save_model
from ..plotting import draw_scores, label_scores, mean_and_error
from ..regularizers import ElasticNet
from . import options as o
from .exits import NOT_REACHED, guarded, notes
from .fit import NoSave, Output, introduce, report
from .groups import TableFileOptions, TrainingOptions, with_groups
from .pictures import picture
from .places import check_places, model_place, refuse_same
from .show import print_json, say
from .strength import StrengthOptions, Task, task_of
from .table import prepared

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
@with_groups
def cv(
    train: o.DataFile,
    output: Output = None,
    loss: o.Loss = "logistic",
    *,
    strength: StrengthOptions,
    folds: Folds = 5,
    rule: Rule = "best",
    scoring: Scoring = None,
    about: TrainingOptions,
    file: TableFileOptions,
    seed: o.Seed = 0,
    jobs: FoldJobs = None,
    plot: CvPlot = None,
    json: o.Json = False,
    no_save: NoSave = False,
    force: o.Force = False,
) -> None:
    """Find the strength of the penalty by cross-validation, and train a model with it.

    spd1 cv train.csv --loss logistic --l1-ratio 1 --rule one-se --plot cv.png

    The penalty is alpha (ratio l1 + (1 - ratio) l2). What is learnt from the columns of a table, by
    --standardize or by --class-weight, is learnt in each fold anew, from the rows it trains on. The
    alphas to try follow from all rows.
    """
    chosen = o.make_loss(loss, about.loss_parameters)
    if rule not in ("best", "one-se"):
        raise ParameterError(f"--rule {rule}: best or one-se")
    if scoring is not None:
        _check_scoring(scoring)
    place = model_place(output, train, no_save)
    refuse_same({"--output": place, "--plot": plot})
    check_places(place, plot, force, train)
    rows = prepared(train, file.reading, file.table)
    task = task_of(train, rows, chosen, about)
    splits = splits_of(task, chosen, folds, seed)
    search = search_for(chosen, strength, about, scoring, jobs)
    if scoring is not None:
        try_scoring(search, scoring, task)
    if not json:
        introduce(train, rows)
    with notes().status(f"cross-validating, {folds} folds"):
        search = cross_validated(task, search, splits)
    scores = Scores(search.alphas_, search.scores_, scoring or "minus mean loss")
    alpha = float(scores.alphas[scores.pick(rule)])
    ratio = strength.l1_ratio
    reg = ElasticNet(l1=ratio * alpha, l2=(1.0 - ratio) * alpha)
    model, result = fit_model(
        rows.data, chosen, reg, **about.settings, sample_weight=rows.weight,
        balanced=about.balanced, recipe=rows.recipe, tol=about.tol,
    )  # fmt: skip
    if place is not None:
        save_model(place, model)
    if plot is not None:
        scores.draw(plot, train.name)
    if json:
        print_json({
            "alpha": alpha, "rule": rule, **scores.facts(), "status": result.status,
            **model.certificate, "model": None if place is None else str(place),
        })  # fmt: skip
    else:
        print_scores(scores)
        say_choice(scores, rule, reg, strength.least)
        report(model, result, place, plot, about.tol)
    raise typer.Exit(0 if result.converged else NOT_REACHED)


class Scores(NamedTuple):
    """Scores of all alphas on all folds, the larger the better."""

    alphas: np.ndarray
    values: np.ndarray  # folds x alphas
    name: str

    def pick(self, rule: str) -> int:
        """Number of the alpha that a rule takes."""
        from ..linear_model._erm_search import chosen

        return chosen(self.values, self.alphas, rule)

    def facts(self) -> dict[str, Any]:
        """What --json prints of them."""
        best, modest = self.pick("best"), self.pick("one-se")
        return {
            "alphas": self.alphas, "scores": self.values, "alpha_best": self.alphas[best],
            "alpha_one_se": self.alphas[modest],
        }  # fmt: skip

    def draw(self, place: Path, title: str) -> None:
        """Draw them into a file, with what both rules take."""
        best, modest = (float(self.alphas[self.pick(rule)]) for rule in ("best", "one-se"))
        with picture(place) as ax:
            draw_scores(ax, self.alphas, self.values)
            label_scores(ax, f"{self.name} of rows left out", best, modest)
            ax.set(xlabel="alpha: strength of the penalty", title=title)
            ax.invert_xaxis()


def splits_of(task: Task, loss: Any, folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Rows of each fold, to train on and to judge by; classes in the same shares in each."""
    from sklearn.model_selection import KFold, StratifiedKFold

    signs = loss.label_kind == "sign"
    y = task.signs
    least = int(np.unique(y, return_counts=True)[1].min()) if signs else len(y)
    if folds > least:
        what = "the smaller class has" if signs else "the file has"
        raise DataError(f"--folds {folds}: {what} {least} rows, so at most {least}")
    splitter = (StratifiedKFold if signs else KFold)(folds, shuffle=True, random_state=seed)
    return list(splitter.split(y, y))


def search_for(
    loss: Any, strength: StrengthOptions, about: TrainingOptions, scoring: str | None,
    jobs: int | None,
) -> Any:  # fmt: skip
    """The estimator of scikit-learn's kind that will try all alphas."""
    from ..linear_model import ERMClassifierCV, ERMRegressorCV

    kind = ERMClassifierCV if loss.label_kind == "sign" else ERMRegressorCV
    return kind(
        loss, l1_ratio=strength.l1_ratio, alphas=strength.alphas, eps=strength.least,
        scoring=scoring, fit_intercept=about.intercept, tol=about.tol, n_jobs=jobs,
    )  # fmt: skip


def cross_validated(task: Task, search: Any, splits: list[tuple[Any, Any]]) -> Any:
    """The search when it has tried all alphas on all folds."""
    from ..linear_model._erm_cv import cross_validated

    return cross_validated(search, task.whole(), (task.fold(*split) for split in splits))


def try_scoring(search: Any, scoring: str, task: Task) -> None:
    """Refuse a score that does not suit the model, before any work: a model of zeros tells."""
    from ..linear_model._erm_cv import score_of_zeros

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a model that tells nothing apart
            score_of_zeros(search, task.whole())
    except (ValueError, TypeError, AttributeError) as error:
        why, loss = str(error).rstrip("."), type(search.loss).__name__
        raise ParameterError(
            f"--scoring {scoring} does not suit {loss}: {why}. Without --scoring, the loss "
            "itself is the score"
        ) from None


def _check_scoring(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name not in known:
        near = suggestion(name, known, FOREIGN_SCORES)
        raise ParameterError(
            f"--scoring {name}: {near}sklearn.metrics.get_scorer_names() has the names"
        )


def say_choice(scores: Scores, rule: str, reg: ElasticNet, least: float) -> None:
    """What a rule takes, and whether the best is at an end of what was tried."""
    alpha = float(scores.alphas[scores.pick(rule)])
    say(f"Taken by the rule {rule}: alpha = {alpha:.6g}, that is --l1 {reg.l1:.6g} "
        f"--l2 {reg.l2:.6g}.")  # fmt: skip
    best = scores.pick("best")
    if best == len(scores.alphas) - 1:
        say(f"The best is the weakest penalty tried: try a smaller --least than {least:g}.")
    elif best == 0:
        say("The best is the strongest penalty tried: features hardly help.")


def print_scores(scores: Scores) -> None:
    """A line for each alpha."""
    mean, error = mean_and_error(scores.values)
    table = Table("alpha", scores.name, "standard error", "", box=None)
    for column in table.columns[:3]:
        column.justify = "right"
    rules = {rule: scores.pick(rule) for rule in ("best", "one-se")}
    for k, alpha in enumerate(scores.alphas):
        marks = [rule for rule, at in rules.items() if at == k]
        table.add_row(f"{alpha:.4g}", f"{mean[k]:.6g}", f"{error[k]:.2g}", ", ".join(marks))
    Console(highlight=False, markup=False, emoji=False, soft_wrap=True).print(table)
