"""Cross-validated estimators against scikit-learn's: milliseconds of one fit, folds equally exact.

    python benchmarks/estimators_cv.py [--only REGEX] [--gaps 1e-3,1e-6] [--seconds 5]

One thread, 5 folds. spd1 has tol = the gap. scikit-learn's tol is swept from loose to tight, and
the loosest counts whose fits on folds, all of them, have at most that relative gap: their objective
by its definition, against the bound that spd1 proves for the same fold and penalty at a gap of
1e-9. Multinomial fits alone are in ``benchmarks/multinomial.py``.
"""

from __future__ import annotations

import argparse
import re
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import sklearn.linear_model as peers
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import KFold, StratifiedKFold

import spd1.linear_model as ours
from estimators_races import cancer, diabetes, digits, synthetic
from race import one_thread

CS, ALPHAS, FOLDS = np.logspace(-2, 2, 5), 30, 5
TIGHT = 1e-9
ENDLESS = 100_000
ROUNDS = 5


class Race(NamedTuple):
    """Data, both models, and the worst relative gap of fits on folds at a tol of scikit-learn's."""

    name: str
    X: np.ndarray
    y: np.ndarray
    mine: Any
    theirs: Any
    gap: Callable[[float, Any], float]


def logistic(name: str, data: Callable[[], Any], solver: str) -> Race:
    """LogisticRegressionCV: ``coefs_paths_`` of both sides say how exact their folds are."""
    X, y = data()
    folds = list(StratifiedKFold(FOLDS).split(X, y))
    shared = {"Cs": CS, "cv": folds, "scoring": "neg_log_loss"}
    mine = ours.LogisticRegressionCV(**shared)
    theirs = peers.LogisticRegressionCV(
        **shared, l1_ratios=(0.0,), solver=solver, max_iter=ENDLESS, use_legacy_attributes=False
    )
    classes, codes = np.unique(y, return_inverse=True)

    def values(paths: np.ndarray) -> np.ndarray:
        found = np.empty((FOLDS, len(CS)))
        for f, (train, _) in enumerate(folds):
            for k, C in enumerate(CS):
                x = paths[f, 0, k]
                z = X[train] @ x[:, :-1].T + x[:, -1]
                if len(classes) == 2:
                    loss = np.logaddexp(0.0, -np.where(codes[train] == 1, 1.0, -1.0) * z[:, 0])
                else:
                    top = z.max(axis=1, keepdims=True)
                    loss = np.log(np.exp(z - top).sum(axis=1)) + top[:, 0]
                    loss -= z[np.arange(len(z)), codes[train]]
                found[f, k] = loss.mean() + np.sum(x[:, :-1] ** 2) / (2 * C * len(train))
        return found

    tight = clone(mine).set_params(tol=TIGHT).fit(X, y)
    bound = values(tight.coefs_paths_) * (1.0 - tight.rel_gaps_[:, 0])

    def gap(tol: float, fitted: Any) -> float:
        found = values(fitted.coefs_paths_)
        return float(np.max((found - bound) / found))

    return Race(f"LogisticRegressionCV {name}", X, y, mine, theirs, gap)


def squares(name: str, data: Callable[[], Any]) -> Race:
    """LassoCV: its paths on folds, walked again outside the clock."""
    X, y = data()
    folds = list(KFold(FOLDS).split(X))
    alphas = ours.LassoCV(alphas=ALPHAS, cv=2).fit(X, y).alphas_
    mine = ours.LassoCV(alphas=alphas, cv=folds)
    theirs = peers.LassoCV(alphas=alphas, cv=folds, max_iter=ENDLESS)
    parts = [(X[t] - X[t].mean(axis=0), y[t] - y[t].mean()) for t, _ in folds]
    bounds = []
    for A, b in parts:
        best = ours.path(A, b, alphas=alphas, tol=TIGHT, fit_intercept=False)
        value = [_value(A, b, x, alpha) for x, alpha in zip(best.coefs, best.alphas, strict=True)]
        bounds.append(np.array(value) - best.dual_gaps)

    def gap(tol: float, fitted: Any) -> float:
        worst = 0.0
        for (A, b), bound in zip(parts, bounds, strict=True):
            given = {"alphas": np.sort(alphas)[::-1], "tol": tol, "max_iter": ENDLESS}
            used, coefs, _ = peers.lasso_path(A, b, **given)
            value = np.array(
                [_value(A, b, x, alpha) for x, alpha in zip(coefs.T, used, strict=True)]
            )
            worst = max(worst, float(np.max((value - bound) / value)))
        return worst

    return Race(f"LassoCV {name}", X, y, mine, theirs, gap)


def _value(A: np.ndarray, b: np.ndarray, x: np.ndarray, alpha: float) -> float:
    return float(0.5 * np.mean((A @ x - b) ** 2) + alpha * np.abs(x).sum())


RACES: dict[str, Callable[[], Race]] = {
    "LogisticRegressionCV cancer": lambda: logistic("cancer", cancer, "newton-cholesky"),
    "LogisticRegressionCV cancer, lbfgs": lambda: logistic("cancer, lbfgs", cancer, "lbfgs"),
    "LogisticRegressionCV iris": lambda: logistic(
        "iris", lambda: load_iris(return_X_y=True), "newton-cholesky"
    ),
    "LogisticRegressionCV digits": lambda: logistic("digits", digits, "newton-cholesky"),
    "LassoCV diabetes": lambda: squares("diabetes", diabetes),
    "LassoCV 2000 x 200": lambda: squares("2000 x 200", lambda: synthetic(2000, 200)),
    "LassoCV 200 x 2000": lambda: squares("200 x 2000", lambda: synthetic(200, 2000)),
}


def milliseconds(model: Any, race: Race) -> float:
    """Processor time of a fit."""
    start = time.process_time()
    model.fit(race.X, race.y)
    return 1e3 * (time.process_time() - start)


def run(race: Race, gaps: list[float], seconds: float) -> Iterator[str]:
    """A row a gap."""
    for gap in gaps:
        mine = clone(race.mine).set_params(tol=gap)
        milliseconds(mine, race)  # warm
        found = None
        for k in range(1, 13):
            theirs = clone(race.theirs).set_params(tol=10.0**-k)
            took = milliseconds(theirs, race)
            if race.gap(10.0**-k, theirs) <= gap:
                found = theirs
                break
            if took > 1e3 * seconds:
                break
        times = [
            [milliseconds(m, race) for m in (mine, found) if m is not None] for _ in range(ROUNDS)
        ]
        medians = [statistics.median(column) for column in zip(*times, strict=True)]
        row = f"{race.name:36s} {gap:6.0e} {medians[0]:9.1f}"
        if found is None:
            yield f"{row}   not reached, or not within {seconds:g} s"
        else:
            yield f"{row} {medians[1]:9.1f}  tol {10.0**-k:.0e} {medians[1] / medians[0]:7.2f}"


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=".", help="a regular expression on the names")
    parser.add_argument("--gaps", default="1e-3,1e-6")
    parser.add_argument("--seconds", type=float, default=5.0, help="scikit-learn's longest fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'estimator':36s} {'gap':6s} {'spd1 ms':>9s} {'sklearn':>9s}  {'':9s} {'ratio':>7s}")
    for name, make in RACES.items():
        if re.search(options.only, name):
            for row in run(make(), [float(g) for g in options.gaps.split(",")], options.seconds):
                print(row, flush=True)


if __name__ == "__main__":
    main()
