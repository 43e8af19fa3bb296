"""Dask arrays in estimators: a fit on the cluster, predictions that are computed when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..data.chunked import is_chunked
from ..design.intercept import Design
from ..errors import DataError, IncompatibleError

__all__ = ["checked_chunks", "is_chunked", "lazy_margins", "on_cluster", "rowwise"]


def checked_chunks(
    model: Any, X: Any, y: Any, sample_weight: Any, allowed: bool
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """X as it is, y and weights as arrays here; entries are looked at by the workers."""
    if not allowed:
        raise IncompatibleError(
            f"{type(model).__name__} takes no dask array: use X.compute() if it fits into memory, "
            "or an estimator of one problem such as LogisticRegression, LinearSVC, Ridge or Lasso"
        )
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, not {X.ndim}")
    if y is None:
        raise DataError(f"{type(model).__name__} needs y")
    try:
        labels = np.asarray(y)
        labels = column_or_1d(labels) if labels.ndim == 2 and labels.shape[1] == 1 else labels
        weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    except ValueError as error:
        raise DataError(str(error)) from None
    for name, values in (("y", labels), ("sample_weight", weight)):
        if values is not None and len(values) != X.shape[0]:
            raise DataError(f"{name} has {len(values)} values, X has {X.shape[0]} rows")
    if weight is not None and (not np.all(weight >= 0) or not np.any(weight > 0)):
        raise DataError("sample_weight must not be negative, nor zero everywhere")
    model.n_features_in_ = int(X.shape[1])
    model.__dict__.pop("feature_names_in_", None)
    return X, labels, weight


@contextmanager
def on_cluster(design: Design) -> Iterator[dict[str, Any]]:
    """Put the data of a fit on the workers once, for all its problems; options of ``solve``."""
    from ..cluster import placed
    from ..problem import Problem

    whole = Problem(design.data, np.zeros(design.n), "squared")
    with placed(whole) as problem:
        grid: Any = problem.grid
        design.data = grid
        yield {"engine": "dask", "client": grid.team.client}


def lazy_margins(model: Any, X: Any) -> Any:
    """``X @ coef_.T + intercept_`` as a dask array; every chunk is read where it lies."""
    check_is_fitted(model)
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has shape {X.shape}, and {type(model).__name__} was fitted on "
            f"{model.n_features_in_} features"
        )
    coef = np.atleast_2d(model.coef_)
    starts = [0, *accumulate(int(size) for size in X.chunks[1])]
    targets, parts = len(coef), len(starts) - 1
    sums = X.map_blocks(
        _product, coef, starts, chunks=(X.chunks[0], (targets,) * parts), dtype=float,
        meta=np.empty((0, 0)),
    )  # fmt: skip
    total = sums[:, :targets]
    for k in range(1, parts):
        total = total + sums[:, k * targets : (k + 1) * targets]
    margins = total + np.atleast_1d(model.intercept_)
    return margins if np.ndim(model.coef_) == 2 else margins[:, 0]


def _product(block: Any, coef: np.ndarray, starts: list[int], block_info: Any = None) -> np.ndarray:
    k = block_info[0]["chunk-location"][1]
    part = coef[:, starts[k] : starts[k + 1]].T
    return np.asarray(sp.csr_array(block) @ part if sp.issparse(block) else block @ part)


def rowwise(function: Callable[[Any], np.ndarray], values: Any) -> Any:
    """What a function makes of rows, at once, or chunk by chunk when it is asked for."""
    if not is_chunked(values):
        return function(values)
    sample = function(np.zeros((1, *values.shape[1:])))
    chunks = (values.chunks[0], *((size,) for size in sample.shape[1:]))
    axes = range(1, max(values.ndim, sample.ndim))
    return values.map_blocks(
        function, chunks=chunks, dtype=sample.dtype, meta=sample[:0],
        drop_axis=[k for k in axes if k >= sample.ndim],
        new_axis=[k for k in axes if k >= values.ndim] or None,
    )  # fmt: skip
