"""spd1: regularized linear models by stochastic primal-dual methods, every answer certified.

>>> import numpy as np, spd1
>>> rng = np.random.default_rng(0)
>>> A = rng.normal(size=(50, 200)); b = np.sign(A @ rng.normal(size=200))
>>> result = spd1.solve(A, b, loss="logistic", l2=0.1, tol=1e-4)
>>> result.status
'converged'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .certificate.gap import Certificate
from .certify import certify
from .data.store import Store, open_store
from .errors import ClusterError, DataError, IncompatibleError, ParameterError
from .kernel.jit import compiled
from .lambda_max import lambda_max
from .losses import BY_NAME as LOSSES
from .losses import (
    Absolute,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    Tweedie,
)
from .problem import Problem
from .regularizers import L1, L2, Box, ElasticNet
from .result import Progress, Result, Trace
from .solve import solve
from .solvers import METHODS
from .version import __version__

if TYPE_CHECKING:
    from .about import show_versions
    from .io.store import write_store


def __getattr__(name: str) -> Any:
    """Imported when first asked for: linear_model brings scikit-learn, write_store files."""
    import importlib

    if name in ("linear_model", "cluster"):
        return importlib.import_module(f".{name}", __name__)
    if name == "write_store":
        return importlib.import_module(".io.store", __name__).write_store
    if name == "show_versions":
        return importlib.import_module(".about", __name__).show_versions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "L1",
    "L2",
    "LOSSES",
    "METHODS",
    "Absolute",
    "Box",
    "Certificate",
    "ClusterError",
    "DataError",
    "ElasticNet",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "IncompatibleError",
    "Logistic",
    "Loss",
    "ParameterError",
    "Poisson",
    "Problem",
    "Progress",
    "Quantile",
    "Result",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Store",
    "Trace",
    "Tweedie",
    "__version__",
    "certify",
    "compiled",
    "lambda_max",
    "open_store",
    "show_versions",
    "solve",
    "write_store",
]
