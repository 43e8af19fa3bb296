"""Parameters of estimators: checked before any work starts, refused in a sentence."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import InvalidParameterError

from ..errors import ParameterError
from ..kernel.seeds import check_seed

log = logging.getLogger("spd1")

__all__ = [
    "RIDGE_WORDS",
    "THEIR_SOLVERS",
    "WrongParameterError",
    "check_common",
    "checked_alphas",
    "flag",
    "number",
    "refuse_unless",
    "solver_of",
    "solver_used",
    "warn_of",
    "whole",
    "words_for",
]


class WrongParameterError(ParameterError, InvalidParameterError):
    """A parameter of an estimator means nothing here: found under scikit-learn's name, too.

    Examples
    --------
    >>> issubclass(WrongParameterError, ValueError) and issubclass(WrongParameterError, TypeError)
    True
    """


def number(
    value: Any, name: str, low: float = 0.0, high: float = math.inf, *, open_low: bool = False
) -> float:
    """A real number in [low, high], or in (low, high] if ``open_low``.

    Examples
    --------
    >>> number(2, "alpha")
    2.0
    """
    real = isinstance(value, (Real, np.floating)) and not isinstance(value, (bool, np.bool_))
    if not real or not low <= value <= high or (open_low and value == low):
        start = "(" if open_low else "["
        raise WrongParameterError(
            f"{name} must be a number in {start}{low:g}, {high:g}], got {value!r}"
        )
    return float(value)


def whole(value: Any, name: str, low: int = 1) -> int:
    """A whole number of at least ``low``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise WrongParameterError(f"{name} must be a whole number of at least {low}, got {value!r}")
    return int(value)


def checked_alphas(values: Any, closed: bool) -> np.ndarray:
    """Penalties that were given one by one: from 0, or above 0 if not ``closed``.

    Examples
    --------
    >>> checked_alphas([1, 0.5], closed=True)
    array([1. , 0.5])
    """
    given = [values] if np.ndim(values) == 0 else list(values)
    if not given:
        raise WrongParameterError("alphas is empty")
    ends = "left" if closed else "neither"
    for k, alpha in enumerate(given):
        name = "alphas" if len(given) == 1 else f"alphas[{k}]"
        try:
            check_scalar(alpha, name, target_type=Real, min_val=0.0, include_boundaries=ends)
        except ValueError as error:
            raise WrongParameterError(str(error)) from None
    return np.asarray(given, dtype=float)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise WrongParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def refuse_unless(value: Any, accepted: tuple[Any, ...], sentence: str) -> None:
    """Refuse a parameter of scikit-learn that means nothing here, in a sentence."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in accepted):
        raise WrongParameterError(sentence)


INSIDE = (str(Path(__file__).parent), str(Path(sklearn.__file__).parent))


def warn_of(sentence: str, future: bool = False) -> None:
    """Warn about a parameter, at the line of the user's that called ``fit``."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, FutureWarning if future else UserWarning, stacklevel=level)


#: Solvers that scikit-learn's estimators know. Each solves the same problem, and so does spd1.
THEIR_SOLVERS = (
    "lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga",
    "svd", "cholesky", "lsqr", "sparse_cg", "highs", "highs-ds", "highs-ipm",
)  # fmt: skip
GONE = ("interior-point", "revised simplex")
PREFIX = "spd1:"


def solver_of(value: Any, default: str = "auto") -> str:
    """Method of ``spd1.solve`` that the parameter ``solver`` names.

    scikit-learn's names ask for the solution of the problem, not for a way there: spd1 picks its
    own. Methods of spd1 are spelled "spd1:saga"; a name that only spd1 has does without.

    Examples
    --------
    >>> solver_of("lbfgs"), solver_of("saga"), solver_of("spd1:saga"), solver_of("newton")
    ('auto', 'auto', 'saga', 'newton')
    """
    from ..solvers.registry import DIRECT_METHODS, METHODS, SPECIAL_METHODS

    ours = [*METHODS, *SPECIAL_METHODS, *DIRECT_METHODS]
    if isinstance(value, str):
        if value in ("auto", default):
            return "auto"
        if value in THEIR_SOLVERS:
            log.debug("solver=%r is scikit-learn's: spd1 solves the problem by 'auto'", value)
            return "auto"
        if value in GONE:
            raise WrongParameterError(
                f"Solver {value} is not anymore available in SciPy >= 1.11.0. nor in scikit-learn, "
                "and never was in spd1: leave it at 'auto'"
            )
        name = value.removeprefix(PREFIX)
        if name in ours:
            return name
    raise WrongParameterError(
        f"solver={value!r} is no solver of scikit-learn and no method of spd1: leave it at 'auto', "
        f"or name one of {', '.join(PREFIX + name for name in ours)}"
    )


def solver_used(asked: str, method: str | list[str]) -> str:
    """What ``solver_`` says: scikit-learn's solver that was asked for, else what ran first.

    Examples
    --------
    >>> solver_used("svd", "newton"), solver_used("auto", ["newton", "rows"])
    ('svd', 'newton')
    """
    if asked in THEIR_SOLVERS:
        return asked
    return method if isinstance(method, str) else method[0]


#: What scikit-learn says when max_iter was not enough, by solver: code filters warnings by it.
THEIR_WORDS = {
    "lbfgs": "lbfgs failed to converge. Increase the number of iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {iterations} iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
    "sparse_cg": "sparse_cg did not converge after {iterations} iterations.",
    "descent": "Objective did not converge. You might want to increase the number of iterations.",
}

RIDGE_WORDS = {"lbfgs": "The lbfgs solver did not converge. Try increasing max_iter or tol."}


def words_for(estimator: Any) -> str:
    """How scikit-learn's warning for this estimator begins; '' where spd1's own method was named.

    Examples
    --------
    >>> from spd1.linear_model import LinearSVC
    >>> words_for(LinearSVC())
    'Liblinear failed to converge, increase the number of iterations.'
    """
    asked = getattr(estimator, "solver", "auto")
    name = estimator._default_solver if asked == "auto" else asked
    return getattr(estimator, "_their_words", {}).get(name) or THEIR_WORDS.get(name, "")


def check_common(estimator: Any) -> None:
    """Check the parameters that mean the same everywhere."""
    params = vars(estimator)  # get_params() reads the signature at every fit
    if "tol" in params:
        number(params["tol"], "tol")  # 0: as far as rounding allows, with a warning
    if params.get("max_iter") is not None:
        whole(params["max_iter"], "max_iter", getattr(estimator, "_least_iterations", 1))
    try:
        check_seed(params.get("random_state"))
    except ParameterError as error:
        raise WrongParameterError(str(error)) from None
    if params.get("max_seconds") is not None:
        number(params["max_seconds"], "max_seconds", open_low=True)
    for name in ("fit_intercept", "warm_start", "positive"):
        if name in params:
            flag(params[name], name)
    if params.get("n_jobs") is not None:
        jobs = params["n_jobs"]
        if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs == 0:
            raise WrongParameterError(f"n_jobs must be None or a whole number but 0, got {jobs!r}")
    verbose = params.get("verbose", 0)
    if not isinstance(verbose, (bool, Integral)) or verbose < 0:
        raise WrongParameterError(
            f"verbose must be False, True or a number from 0, got {verbose!r}"
        )
    if "selection" in params:
        refuse_unless(
            params["selection"],
            ("cyclic", "random"),
            f"selection must be 'cyclic' or 'random', got {params['selection']!r}",
        )
    if "copy_X" in params:
        flag(params["copy_X"], "copy_X")  # X is never written to, so both values are kept
    if "intercept_scaling" in params:
        number(params["intercept_scaling"], "intercept_scaling", open_low=True)
