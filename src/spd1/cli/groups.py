"""Options in groups, written once: what fit, cv, path, compare and info have in common.

A group is a dataclass. Its fields are options, and a command that takes the group has them all.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from ..errors import ParameterError
from . import options as o
from .table import TableOptions, is_balanced, words_of

__all__ = [
    "FileOptions", "ModelOptions", "Preparation", "TableFileOptions", "TrainingOptions",
    "with_groups",
]  # fmt: skip


def with_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take groups: on the command line their fields are options of its own.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> @with_groups
    ... def area(unit: str, size: Size) -> str:
    ...     return f"{size.width * size.height} {unit}"
    >>> inspect.signature(area)
    <Signature (*, unit: str, width: int = 1, height: int = 2) -> str>
    >>> area(unit="m2", height=5)
    '5 m2'
    """
    inner = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hints[name] for name in inner.parameters if is_dataclass(hints[name])}
    outer: list[inspect.Parameter] = []
    for name, parameter in inner.parameters.items():
        if name not in groups:
            outer.append(parameter.replace(annotation=hints[name]))
            continue
        types = get_type_hints(groups[name], include_extras=True)
        outer += [
            parameter.replace(name=field.name, default=field.default, annotation=types[field.name])
            for field in fields(groups[name])
        ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> Any:
        for name, group in groups.items():
            own = [field.name for field in fields(group)]
            given[name] = group(**{key: given.pop(key) for key in own if key in given})
        return command(**given)

    outer = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in outer]
    signature = inner.replace(parameters=outer, return_annotation=hints["return"])
    wrapper.__signature__ = signature  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in outer} | {"return": hints["return"]}
    return wrapper


@dataclass(frozen=True)
class Preparation:
    """What is done to features and labels."""

    intercept: o.Intercept = False
    standardize: o.Standardize = False
    positive: o.Positive = None

    @property
    def settings(self) -> dict[str, Any]:
        """As ``fit_model`` and ``blank_model`` want it."""
        return {name: getattr(self, name) for name in ("intercept", "standardize", "positive")}


@dataclass(frozen=True)
class ModelOptions(Preparation):
    """What is fitted, beside the loss and its penalty, and how closely."""

    loss_parameters: o.LossParameters = None
    tol: o.Tol = 1e-6

    def __post_init__(self) -> None:
        if not 0 < self.tol < 1:
            raise ParameterError(f"--tol must be between 0 and 1, got {self.tol:g}")


@dataclass(frozen=True)
class TrainingOptions(ModelOptions):
    """The same for commands that train a model."""

    class_weight: o.ClassWeight = None

    def __post_init__(self) -> None:
        super().__post_init__()
        is_balanced(self.class_weight)

    @property
    def balanced(self) -> bool:
        """Whether all classes shall count the same."""
        return is_balanced(self.class_weight)


@dataclass(frozen=True)
class FileOptions:
    """How a data file is read."""

    target: o.Target = None
    format: o.Format = None
    features: o.Features = None
    zero_based: o.ZeroBased = None
    no_check: o.NoCheck = False

    @property
    def reading(self) -> tuple[str | None, str | None, int | None, bool | None, bool]:
        """As ``read_file`` wants them."""
        return self.format, self.target, self.features, self.zero_based, self.no_check


@dataclass(frozen=True)
class TableFileOptions(FileOptions):
    """The same, with what tables of real life need, and the weights of rows."""

    weight: o.Weight = None
    drop: o.Drop = None
    text: o.TextColumns = None
    missing: o.Missing = "refuse"
    max_categories: o.MaxCategories = 100
    no_header: o.NoHeader = False

    @property
    def table(self) -> TableOptions:
        """As ``prepared`` wants them."""
        return TableOptions(
            words_of(self.drop), words_of(self.text), self.missing, self.weight,
            self.max_categories, not self.no_header,
        )  # fmt: skip
