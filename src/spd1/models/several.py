"""Models of three classes and more: a row of coefficients each, kept one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..certificate.gap import Certificate
from ..data.store import Store
from ..errors import DataError, IncompatibleError, ParameterError
from ..losses import Logistic
from ..multinomial.certify import certify_multinomial
from ..multinomial.objective import Objective
from ..multinomial.solve import solve_multinomial
from ..result import Result

__all__ = ["certify_several", "codes_of", "may_be_classes", "solve_several"]

MOST_CLASSES = 1000  # more are hardly classes
OTHER_WAYS = {
    "method": "auto", "tile": None, "checkpoint": None, "x0": None, "y0": None, "steps": "auto",
    "grid": None,
}  # fmt: skip


def may_be_classes(found: list[Any], loss: Any) -> bool:
    """Whether labels are classes of one multinomial model: text or whole numbers, not too many."""
    if not isinstance(loss, Logistic) or not 2 < len(found) <= MOST_CLASSES:
        return False
    return all(isinstance(v, str) or float(v).is_integer() for v in found)


def codes_of(b: np.ndarray, classes: list[Any]) -> np.ndarray:
    """Number of the class of each label, or a refusal."""
    known = np.array(classes)
    order = np.argsort(known)
    values = np.asarray(b)
    if (values.dtype.kind in "US") != (known.dtype.kind in "US"):
        raise DataError(f"the labels are other than those of the model: {classes[0]!r}, ...")
    place = np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)
    codes = order[place]
    strange = np.unique(values[known[codes] != values])[:4].tolist()
    if strange:
        raise DataError(f"labels the model does not know: {', '.join(map(str, strange))}")
    return np.asarray(codes, dtype=np.intp)


def solve_several(
    A: Any,
    codes: np.ndarray,
    classes: int,
    reg: Any,
    intercept: bool,
    options: dict[str, Any],
    weight: np.ndarray | None = None,
) -> Result:
    """Fit all classes at once; what only methods for two classes know is refused by name."""
    if isinstance(A, Store):
        raise IncompatibleError(
            f"{A.path} is a store: several classes at once need data in memory; name one label "
            "with --positive to tell it from the others"
        )
    for name, value in OTHER_WAYS.items():
        if options.get(name, value) != value:
            raise ParameterError(
                f"{name} means nothing for several classes at once: leave it out, or name one "
                "label with --positive"
            )
    kept = ("tol", "max_passes", "max_seconds", "callback", "verbose", "engine", "n_threads")
    chosen = {name: options[name] for name in kept if name in options}
    return solve_multinomial(A, codes, classes, reg, weight, fit_intercept=intercept, **chosen)


def certify_several(
    A: Any,
    codes: np.ndarray,
    classes: int,
    reg: Any,
    intercept: bool,
    x: np.ndarray,
    weight: np.ndarray | None = None,
) -> Certificate:
    """How far from optimal the rows of x are on data."""
    if isinstance(A, Store):
        raise IncompatibleError(f"{A.path} is a store: several classes need data in memory")
    return certify_multinomial(Objective(A, codes, classes, weight, reg, intercept), x)
