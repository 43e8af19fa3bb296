"""What ``n_jobs`` of an estimator means: threads of one fit, within the cores there are."""

from __future__ import annotations

import os
import threading
from typing import Any

from ..engines.choose import available_cores

__all__ = ["engine_for", "threads_for"]


def engine_for(n_jobs: int | None) -> dict[str, Any]:
    """Options of ``solve`` for a fit of one problem: None and 1 are one thread, as before.

    The engine follows from ``n_jobs`` alone, so that a fit has the same bits inside a search and
    outside; only how many threads it gets does not.

    Examples
    --------
    >>> engine_for(None)
    {}
    >>> engine_for(1)
    {}
    """
    if n_jobs in (None, 1):
        return {}
    assert n_jobs is not None
    return {"engine": "threads", "n_threads": threads_for(n_jobs)}


def threads_for(n_jobs: int) -> int:
    """Threads that ``n_jobs`` asks for: -1 all cores, -2 all but one, and so on.

    Inside a task of joblib, such as a fit of GridSearchCV, the cores are shared out already: a
    process has the threads that joblib left it, and a thread is alone.
    """
    cores = available_cores()
    asked = n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    if not backend.nesting_level:
        return asked
    if threading.current_thread() is not threading.main_thread():
        return 1
    left = os.environ.get("OMP_NUM_THREADS", "")  # joblib sets it for its processes
    return min(asked, int(left) if left.isdigit() and int(left) > 0 else 1)
