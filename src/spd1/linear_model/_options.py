"""Parameters of estimators: checked before any work starts, refused in a sentence."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..errors import ParameterError

__all__ = ["check_common", "flag", "number", "refuse_unless", "solver_of", "whole"]


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
        raise ParameterError(f"{name} must be a number in {start}{low:g}, {high:g}], got {value!r}")
    return float(value)


def whole(value: Any, name: str, low: int = 1) -> int:
    """A whole number of at least ``low``."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise ParameterError(f"{name} must be a whole number of at least {low}, got {value!r}")
    return int(value)


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def refuse_unless(value: Any, accepted: tuple[Any, ...], sentence: str) -> None:
    """Refuse a parameter of scikit-learn that means nothing here, in a sentence."""
    if not any(value is one or (type(value) is type(one) and value == one) for one in accepted):
        raise ParameterError(sentence)


def solver_of(value: Any, default: str) -> str:
    """Method of ``spd1.solve`` that the parameter ``solver`` names.

    "auto" and scikit-learn's own default mean that spd1 picks.
    """
    from ..solvers import METHODS

    if value in ("auto", default):
        return "auto"
    if isinstance(value, str) and value in METHODS:
        return value
    raise ParameterError(
        f"solver={value!r} is no method of spd1, which picks its own: leave it at 'auto', or name "
        f"one of {', '.join(METHODS)}"
    )


def check_common(estimator: Any) -> None:
    """Check the parameters that mean the same everywhere."""
    params = estimator.get_params(deep=False)
    if "tol" in params:
        number(params["tol"], "tol", open_low=True)
    if params.get("max_iter") is not None:
        whole(params["max_iter"], "max_iter")
    if params.get("max_seconds") is not None:
        number(params["max_seconds"], "max_seconds", open_low=True)
    for name in ("fit_intercept", "warm_start", "positive"):
        if name in params:
            flag(params[name], name)
    if params.get("n_jobs") is not None:
        jobs = params["n_jobs"]
        if not isinstance(jobs, Integral) or isinstance(jobs, bool) or jobs == 0:
            raise ParameterError(f"n_jobs must be None or a whole number but 0, got {jobs!r}")
    verbose = params.get("verbose", 0)
    if not isinstance(verbose, (bool, Integral)) or verbose < 0:
        raise ParameterError(f"verbose must be False, True or a number from 0, got {verbose!r}")
    if "selection" in params:
        refuse_unless(
            params["selection"],
            ("cyclic",),
            f"selection={params['selection']!r} orders scikit-learn's coordinate descent; "
            "spd1 orders its own work: leave it at 'cyclic'",
        )
    if "precompute" in params:
        refuse_unless(
            params["precompute"],
            (False, "auto"),
            "precompute hands scikit-learn a Gram matrix; spd1 makes its own where it pays: "
            "leave it at its default",
        )
    if "copy_X" in params:
        flag(params["copy_X"], "copy_X")  # X is never written to, so both values are kept
    if "intercept_scaling" in params:
        refuse_unless(
            params["intercept_scaling"],
            (1, 1.0),
            "intercept_scaling weakens a penalty on the intercept; spd1 does not penalise the "
            "intercept at all: leave it at 1",
        )
