"""The names under which wrong input is refused, always before any work starts.

And the one under which a run ends because machines have failed it.
"""

from __future__ import annotations

__all__ = ["ClusterError", "DataError", "IncompatibleError", "ParameterError"]


class DataError(ValueError):
    """The data (matrix, labels, weights, starting point) can't be used as given."""


class ParameterError(ValueError):
    """A parameter has a value that means nothing here."""


class IncompatibleError(ValueError):
    """Each piece is fine, but not together: a method with a loss, or steps with a problem."""


class ClusterError(RuntimeError):
    """The machines of a cluster are gone, or did not answer in time."""
