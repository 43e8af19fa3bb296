"""What spd1 path and cv share: options, and the data as they solve it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer

from ..data.store import Store
from ..errors import DataError, IncompatibleError, ParameterError
from ..io import Model
from ..models.labels import balanced_weights
from ..models.model import blank_model
from ..models.scaling import moments, standardized
from .groups import TrainingOptions
from .table import Prepared

if TYPE_CHECKING:
    from ..linear_model._erm_search import Samples

L1Ratio = Annotated[
    float,
    typer.Option(help="Share of l1 in the penalty alpha (ratio l1 + (1 - ratio) l2)", min=0, max=1),
]
AlphaCount = Annotated[int, typer.Option("--alphas", help="How many strengths to try", min=2)]
LeastShare = Annotated[float, typer.Option(help="Smallest alpha as a share of the largest")]


@dataclass(frozen=True)
class StrengthOptions:
    """The strengths of the penalty to try."""

    l1_ratio: L1Ratio = 0.0
    alphas: AlphaCount = 30
    least: LeastShare = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.least < 1:
            raise ParameterError(f"--least must be between 0 and 1, got {self.least:g}")


class Task(NamedTuple):
    """What both commands solve: rows of a file, labels as the loss wants them."""

    rows: Prepared
    path: Path
    signs: np.ndarray
    names: list[str]
    model: Model
    balanced: bool

    @property
    def weight(self) -> np.ndarray | None:
        """Weights of all rows."""
        return balanced_weights(self.signs, self.rows.weight) if self.balanced else self.rows.weight

    def whole(self) -> Samples:
        """All rows as one model sees them."""
        from ..linear_model._erm_search import Samples

        model = self.model
        X = standardized(model.fitting(self.rows.data.A), model.mean, model.scale)
        return Samples(X, self.signs, self.weight)

    def fold(self, train: np.ndarray, test: np.ndarray) -> tuple[Samples, Samples]:
        """Rows to train on and rows to judge by.

        Whatever is learnt, how to fill in, words, scales, weights of classes, is learnt from the
        first alone.
        """
        from ..linear_model._erm_search import Samples

        parts = self.rows.features(train, test, self.path)
        if self.model.scale is not None:
            mean, scale = moments(parts[0])
            parts = tuple(standardized(part, mean, scale) for part in parts)
        weights = self._fold_weights(train, test)
        return (
            Samples(parts[0], self.signs[train], weights[0]),
            Samples(parts[1], self.signs[test], weights[1]),
        )

    def _fold_weights(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        given = self.rows.weight
        if not self.balanced:
            return (None, None) if given is None else (given[train], given[test])
        from sklearn.utils.class_weight import compute_class_weight

        classes = np.unique(self.signs)
        of_class = compute_class_weight("balanced", classes=classes, y=self.signs[train])
        weight = of_class[np.searchsorted(classes, self.signs)]
        weight = weight if given is None else weight * given
        return weight[train], weight[test]


def task_of(path: Path, rows: Prepared, loss: Any, about: TrainingOptions) -> Task:
    """Refuse what these commands don't take, then prepare the data."""
    data = rows.data
    if data.b is None:
        raise DataError("the data has no labels: nothing to learn from")
    if isinstance(data.A, Store):
        raise IncompatibleError(f"{path} is a store: this command takes data in memory")
    model = blank_model(data, loss, None, **about.settings)
    if model.several:
        raise DataError(
            f"there are {len(model.classes or [])} classes: name one label with --positive to tell "
            "it from the others"
        )
    if about.balanced and model.classes is None:
        raise ParameterError(f"{type(loss).__name__} has no classes to balance")
    names = data.names or [f"x{j + 1}" for j in range(model.features)]
    return Task(rows, path, model.signs(data.b), names, model, about.balanced)
