"""What ``solve`` is given: a Problem, or data, labels and numbers that make one."""

from __future__ import annotations

from typing import Any, NoReturn

from .data.store import Store
from .errors import ParameterError, suggestion
from .problem import Problem
from .regularizers import ElasticNet

__all__ = ["problem_of", "refuse_unknown"]

#: What other packages call options of ``solve``, and what to write instead.
INSTEAD = {
    "C": "l2=1 / (C * n), n the number of rows",
    "alpha": "l1= or l2=",
    "alphas": "spd1.linear_model.path(X, y, alphas=...)",
    "lam": "l1= or l2=",
    "lambda_": "l1= or l2=",
    "lamda": "l1= or l2=",
    "reg_lambda": "l1= or l2=",
    "l1_ratio": "l1= and l2=",
    "penalty": "l1= or l2= with its strength",
    "solver": "method=",
    "max_iter": "max_passes=",
    "n_iter": "max_passes=",
    "timeout": "max_seconds=",
    "seed": "random_state=",
    "n_jobs": "engine='threads', n_threads=",
    "fit_intercept": "an estimator of spd1.linear_model, which fits one, or a column of ones",
    "class_weight": "sample_weight=, or an estimator of spd1.linear_model",
    "weights": "sample_weight=",
    "x_init": "x0=",
    "init": "x0=",
    "positive": "lower=0",
    "b": "y as the second argument",
    "A": "X as the first argument",
    "X": "X as the first argument",
}


def problem_of(
    given: Any, second: Any, method: str, loss: Any, reg: Any, numbers: dict[str, Any], weight: Any
) -> tuple[Problem, str]:
    """The problem to solve and the method to use; mixtures of both ways are refused."""
    if isinstance(second, str) and isinstance(given, (Problem, Store)):
        if method != "auto" and method != second:
            raise ParameterError(f"two methods are named, {second!r} and {method!r}: choose one")
        second, method = None, second
    pieces = {"loss": loss, "reg": reg, **numbers, "sample_weight": weight}
    named = [name for name, value in pieces.items() if value is not None]
    if isinstance(given, Problem):
        if second is not None:
            raise ParameterError(
                "a Problem has its labels: write solve(problem), or solve(X, y, ...) without one"
            )
        if named:
            raise ParameterError(
                f"a Problem has its own {', '.join(named)}: leave that out, or write "
                f"solve(X, y, {named[0]}=...) with the data instead of a Problem"
            )
        return given, method
    if isinstance(given, str) or not (hasattr(given, "__len__") or hasattr(given, "shape")):
        raise ParameterError(
            f"solve takes a spd1.Problem, or data X and labels y, not {type(given).__name__}"
        )
    if second is None and not isinstance(given, Store):
        raise ParameterError(
            "labels are missing: write solve(X, y, loss=..., l2=...), or solve(problem)"
        )
    if isinstance(second, str):
        raise ParameterError(
            f"the second argument is the text {second!r}: write solve(X, y, method={second!r}, ...)"
        )
    bounds = {name: value for name, value in numbers.items() if value is not None}
    if reg is not None and bounds:
        raise ParameterError(
            f"reg and {', '.join(bounds)} are both given: write either, such as l1=0.01, l2=0.1"
        )
    if reg is None and bounds:
        reg = ElasticNet(**bounds)
    return Problem(given, second, "logistic" if loss is None else loss, reg, weight), method


def refuse_unknown(unknown: dict[str, Any], known: list[str]) -> NoReturn:
    """Refuse an option that there is none of, with what may have been meant.

    Examples
    --------
    >>> refuse_unknown({"C": 1.0}, ["tol"])
    Traceback (most recent call last):
        ...
    TypeError: solve has no option 'C': write l2=1 / (C * n), n the number of rows
    >>> refuse_unknown({"tolerance": 1.0}, ["tol", "max_passes"])
    Traceback (most recent call last):
        ...
    TypeError: solve has no option 'tolerance': did you mean 'tol'? It has tol, max_passes
    """
    name = next(iter(unknown))
    if name in INSTEAD:
        raise TypeError(f"solve has no option {name!r}: write {INSTEAD[name]}")
    also = {"tolerance": "tol", "epsilon": "tol", "x_start": "x0", "threads": "n_threads"}
    near = suggestion(name, known, also)
    raise TypeError(f"solve has no option {name!r}: {near}It has {', '.join(known)}")
