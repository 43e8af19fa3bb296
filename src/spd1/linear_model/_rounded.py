"""Coefficients of float32 data are float32, and the certificate is that of the rounded numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..certificate.gap import Certificate, certificate_of
from ..certificate.points import pair_of
from ..problem import Problem
from ..regularizers import ElasticNet
from ..result import Result

__all__ = ["certified_at", "kept_type", "moved", "rounded"]


def kept_type(dtype: Any, reg: ElasticNet) -> Any:
    """The type of coefficients: float32 for float32 data, as in scikit-learn, else float64.

    Float64 too where no float32 lies between the bounds of a coefficient.

    Examples
    --------
    >>> single = np.dtype(np.float32)
    >>> kept_type(single, ElasticNet(l1=0.1)) is np.float32
    True
    >>> kept_type(single, ElasticNet(lower=0.1, upper=0.1)) is np.float64
    True
    """
    if dtype.char != "f":
        return np.float64
    lower, upper = inner_ends(reg)
    return np.float32 if np.all(lower <= upper) else np.float64


def inner_ends(reg: ElasticNet) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest float32 within the bounds."""
    most, wide = np.float32(math.inf), np.asarray(reg.lower, dtype=float)
    lower = wide.astype(np.float32)
    lower = np.where(lower < wide, np.nextafter(lower, most), lower)
    wide = np.asarray(reg.upper, dtype=float)
    upper = wide.astype(np.float32)
    return lower, np.where(upper > wide, np.nextafter(upper, -most), upper)


def rounded(x: np.ndarray, reg: ElasticNet, unit: float | None) -> np.ndarray:
    """A point whose numbers are float32, its coefficients within their bounds; in float64.

    Parameters
    ----------
    x : array of shape (d,), (d + 1,) or (classes, d + 1)
    reg : ElasticNet
        Of the coefficients.
    unit : float, optional
        The last entry, times this, is the intercept; None: there is none.

    Examples
    --------
    >>> x = rounded(np.array([0.1, 0.1]), ElasticNet(upper=0.1), None)
    >>> bool(np.all(x == x.astype(np.float32)) and np.all(x <= 0.1))
    True
    """
    x = np.array(x, dtype=float)
    slopes = x
    if unit is not None:
        slopes, level = x[..., :-1], x[..., -1]
        level[...] = (level * unit).astype(np.float32) / unit
    slopes[...] = np.clip(slopes.astype(np.float32), *inner_ends(reg))
    return x


def certified_at(problem: Problem, x: np.ndarray, y: np.ndarray) -> Certificate:
    """The certificate of x by a dual point that was found with another x."""
    with np.errstate(all="ignore"):
        return certificate_of(problem, pair_of(problem, x, problem.margins(x), y, None))


def moved(result: Result, x: np.ndarray, proof: Certificate, tol: float) -> Result:
    """The result at another x; one that had reached ``tol`` has not failed by it."""
    if math.isnan(proof.gap):  # too large for float32
        proof = proof._replace(primal=math.inf, gap=math.inf, rel_gap=math.inf)
    status = "converged" if result.rel_gap <= tol else result.status
    return replace(result, x=x, status=status, **proof._asdict())
