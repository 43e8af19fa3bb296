"""Labels of a file: which are classes, and how people write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from .several import may_be_classes

__all__ = ["balanced_weights", "classes_of", "label_text", "numbers"]


def numbers(b: np.ndarray) -> np.ndarray:
    """Targets as numbers, or a refusal."""
    values = np.asarray(b)
    if values.dtype.kind not in "fiub":
        raise DataError(
            f"the target holds text, {str(values[0])!r} for one: this loss needs numbers; logistic "
            "is for classes"
        )
    return values.astype(float)


def classes_of(b: np.ndarray, loss: Any, positive: str | None) -> list[Any] | None:
    """The two labels, or more, that a loss tells apart; None where it predicts numbers."""
    if loss.label_kind != "sign":
        if positive is not None:
            raise ParameterError(f"--positive means nothing to {type(loss).__name__}: no classes")
        numbers(b)
        return None
    found: list[Any] = np.unique(b).tolist()
    if positive is not None:
        wanted = label_text(_number_or_text(positive))
        mine = next((v for v in found if label_text(v) == wanted), None)
        if mine is None:
            shown = ", ".join(map(label_text, found[:5]))
            raise DataError(f"no row has the label {positive}; there are {shown}")
        others = [v for v in found if v != mine]
        if not others:
            raise DataError(f"every row has the label {positive}: nothing to tell apart")
        if len(others) == 1:
            return [others[0], mine]
        return [f"not {label_text(mine)}", label_text(mine)]
    if len(found) != 2 and not may_be_classes(found, loss):
        shown = ", ".join(map(label_text, found[:5])) + (", ..." if len(found) > 5 else "")
        hint = ": name one with --positive to tell it from the others"
        if len(found) < 2:
            hint = " alone: is another column the target (--target)?"
        if len(found) > 2 and not isinstance(found[0], str):
            hint += ", or take --loss squared to predict numbers"
        raise DataError(f"{type(loss).__name__} needs two classes, the labels are {shown}{hint}")
    return found


def balanced_weights(codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Weights of rows with which all classes count the same, as scikit-learn balances them.

    Examples
    --------
    >>> balanced_weights(np.array([1.0, -1.0, -1.0, -1.0]), None)
    array([2.        , 0.66666667, 0.66666667, 0.66666667])
    """
    from sklearn.utils.class_weight import compute_sample_weight

    found: np.ndarray = compute_sample_weight("balanced", codes)
    return found if weight is None else found * weight


def label_text(value: Any) -> str:
    """A label as people write it: 3 and not 3.0."""
    return f"{value:.12g}" if isinstance(value, (int, float)) else str(value)


def _number_or_text(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
