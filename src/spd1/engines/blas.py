"""BLAS and LAPACK on one thread while a run works.

The systems of a run are small. Several threads gain little on them, spin while they wait, and on
cores that others use took a hundred times as long; and the last bits would depend on their number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["one_thread"]


@cache
def _libraries() -> list[Any]:
    """What sets the threads of each BLAS in the process; looking for them takes milliseconds."""
    import scipy.linalg  # noqa: F401  (its library must be loaded to be found)
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this context linear algebra runs on one thread; the setting before comes back.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    changed = []
    try:
        for library in _libraries():
            before = library.get_num_threads()
            if before is not None and before != 1:
                changed.append((library, before))
                library.set_num_threads(1)
        yield
    finally:
        for library, before in changed:
            library.set_num_threads(before)
