"""The losses of the package, and the registry that gives each a short name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError, suggestion
from .absolute import Absolute
from .base import Loss
from .epsilon_insensitive import EpsilonInsensitive
from .gamma import Gamma
from .hinge import Hinge
from .huber import Huber
from .logistic import Logistic
from .poisson import Poisson
from .quantile import Quantile
from .smoothed_hinge import SmoothedHinge
from .squared import Squared
from .squared_epsilon_insensitive import SquaredEpsilonInsensitive
from .squared_hinge import SquaredHinge
from .tweedie import Tweedie

__all__ = [
    "BY_NAME",
    "LOSSES",
    "MORE_LOSSES",
    "Absolute",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "as_loss",
]

#: Short name -> class. A new loss is one file and one line here; the tests pick it up.
LOSSES: dict[str, Any] = {
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "squared": Squared,
    "huber": Huber,
    "absolute": Absolute,
    "quantile": Quantile,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "poisson": Poisson,
}

#: Relatives of Poisson's. The sweeps over all losses and methods leave them out: what differs from
#: Poisson's is in their own tests, and each loss is minutes of compilation there.
MORE_LOSSES: dict[str, Any] = {"gamma": Gamma, "tweedie": Tweedie}

#: What other packages call them: not accepted, but understood.
FOREIGN_LOSSES = {
    "log": "logistic", "log_loss": "logistic", "logreg": "logistic", "cross_entropy": "logistic",
    "deviance": "logistic", "binomial": "logistic", "multinomial": "logistic",
    "softmax": "logistic", "svm": "hinge", "l1_hinge": "hinge", "l2_svm": "squared_hinge",
    "l2_hinge": "squared_hinge", "mse": "squared", "l2": "squared", "ols": "squared",
    "squared_error": "squared", "least_squares": "squared", "gaussian": "squared",
    "ridge": "squared", "linear": "squared", "lasso": "squared", "mae": "absolute",
    "l1": "absolute", "absolute_error": "absolute", "lad": "absolute", "pinball": "quantile",
    "svr": "epsilon_insensitive", "count": "poisson",
}  # fmt: skip

REQUIRED = ("phi", "derivative", "conjugate", "prox_conjugate")
SAYS_OF_ITSELF = (
    "_fields", "L", "gamma", "conjugate_net", "label_kind", "quadratic", "probabilities",
)  # fmt: skip

# Parameter -> what it must satisfy, for the losses of the package.
RANGES: dict[str, tuple[float, float, bool]] = {  # low, high, whether the low end is allowed
    "s": (0.0, float("inf"), False),
    "delta": (0.0, float("inf"), False),
    "q": (0.0, 1.0, False),
    "eps": (0.0, float("inf"), True),
    "power": (1.0, 2.0, False),
}


BY_NAME = LOSSES | MORE_LOSSES
KINDS = {str, *BY_NAME.values()}
_known: dict[tuple[type, Any], Any] = {}  # checked before


def as_loss(loss: Any) -> Any:
    """Return a loss instance with float parameters from a name, a class or an instance.

    Examples
    --------
    >>> as_loss("huber")
    Huber(delta=1.35)
    >>> as_loss(Quantile(1))
    Traceback (most recent call last):
        ...
    spd1.errors.ParameterError: Quantile needs 0 < q < 1, got q=1
    """
    known = (type(loss), loss)  # the class, too: tuples of other classes are equal
    if type(loss) in KINDS and known in _known:
        return _known[known]
    found = _checked(loss)
    if type(loss) in KINDS:
        _known[known] = found
    return found


def _checked(loss: Any) -> Any:
    if isinstance(loss, str):
        if loss not in BY_NAME:
            near = suggestion(loss, BY_NAME, FOREIGN_LOSSES)
            raise ParameterError(f"unknown loss {loss!r}: {near}choose from {', '.join(BY_NAME)}")
        loss = BY_NAME[loss]
    if isinstance(loss, type):
        loss = loss()
    if not _is_loss(loss):
        raise ParameterError(
            f"{type(loss).__name__} is not a loss: write a NamedTuple class with phi, derivative "
            "and conjugate, decorated with @spd1.compiled(spd1.Loss)"
        )
    _check_parameters(loss)
    return _floats(loss)


def _is_loss(loss: Any) -> bool:
    for name in REQUIRED:
        if not callable(getattr(loss, name, None)):
            return False
    return not [name for name in SAYS_OF_ITSELF if not hasattr(loss, name)]


def _check_parameters(loss: Any) -> None:
    if type(loss) not in BY_NAME.values():
        return
    for field, value in loss._asdict().items():
        if field not in RANGES:
            continue
        low, high, closed = RANGES[field]
        if not isinstance(value, (int, float, np.integer, np.floating)) or not (
            low < value < high or (closed and value == low)
        ):
            sign = "<=" if closed else "<"
            above = "" if high == float("inf") else f" < {high:g}"
            raise ParameterError(
                f"{type(loss).__name__} needs {low:g} {sign} {field}{above}, got {field}={value!r}"
            )


def _floats(loss: Any) -> Any:
    """``Huber(1)`` and ``Huber(1.0)`` must not compile twice."""
    hints = type(loss).__annotations__.items()
    real = [k for k, t in hints if getattr(t, "__forward_arg__", t) in (float, "float")]
    cast = {k: float(getattr(loss, k)) for k in real}
    return loss._replace(**cast) if cast else loss
