"""BLAS and LAPACK on one thread while a run works.

The systems of a run are small. Several threads gain little on them, spin while they wait, and on
cores that others use took a hundred times as long; and the last bits would depend on their number.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

__all__ = ["one_thread"]


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  (its library must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Within this context linear algebra runs on one thread; the setting before comes back.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    context: AbstractContextManager[Any] = _controller().limit(limits=1)
    return context
