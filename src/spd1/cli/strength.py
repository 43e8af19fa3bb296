"""What spd1 path and cv share: options, and the data as they solve it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from ..data.store import Store
from ..errors import DataError, IncompatibleError, ParameterError
from ..io import Model
from ..models.labels import balanced_weights
from ..models.model import blank_model
from ..models.scaling import standardized
from .table import Prepared

L1Ratio = Annotated[
    float,
    typer.Option(help="Share of l1 in the penalty alpha (ratio l1 + (1 - ratio) l2)", min=0, max=1),
]
AlphaCount = Annotated[int, typer.Option("--alphas", help="How many strengths to try", min=2)]
LeastShare = Annotated[float, typer.Option(help="Smallest alpha as a share of the largest")]


class Task(NamedTuple):
    """What both commands solve: features as in training, labels as the loss wants them."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    names: list[str]
    model: Model


def task_of(
    path: Path, rows: Prepared, loss: Any, intercept: bool, standardize: bool,
    positive: str | None, balanced: bool,
) -> Task:  # fmt: skip
    """Refuse what these commands don't take, then prepare the data."""
    data = rows.data
    if data.b is None:
        raise DataError("the data has no labels: nothing to learn from")
    if isinstance(data.A, Store):
        raise IncompatibleError(f"{path} is a store: this command takes data in memory")
    model = blank_model(data, loss, None, intercept, standardize, positive)
    if model.several:
        raise DataError(
            f"there are {len(model.classes or [])} classes: name one label with --positive to tell "
            "it from the others"
        )
    if balanced and model.classes is None:
        raise ParameterError(f"{type(loss).__name__} has no classes to balance")
    signs = model.signs(data.b)
    if balanced:
        weight: np.ndarray | None = balanced_weights(signs, rows.weight)
    else:
        weight = rows.weight
    X = standardized(model.fitting(data.A), model.mean, model.scale)
    names = data.names or [f"x{j + 1}" for j in range(model.features)]
    return Task(X, signs, weight, names, model)


def check_share(least: float) -> None:
    """Refuse a --least that is no share."""
    if not 0 < least < 1:
        raise ParameterError(f"--least must be between 0 and 1, got {least:g}")
