"""Engines by name, and how many threads there are to be had."""

from __future__ import annotations

from typing import Any

from ..errors import ParameterError, suggestion
from .cores import available_cores
from .racing import Racing
from .serial import Engine, Serial
from .threads import Threads

__all__ = ["ENGINES", "available_cores", "make_engine"]

ENGINES = ("serial", "threads", "async")
FOREIGN_ENGINES = {
    "thread": "threads", "threading": "threads", "multithreading": "threads", "single": "serial",
    "distributed": "dask", "cluster": "dask", "hogwild": "async",
}  # fmt: skip


def make_engine(name: str, n_threads: Any = None) -> Engine:
    """The engine of a name, or a refusal.

    Parameters
    ----------
    name : {"serial", "threads", "async"}
    n_threads : int, optional
        For engines that have several threads. Default: as many as the process has cores.

    Examples
    --------
    >>> make_engine("threads", 2).n_threads
    2
    """
    if name not in ENGINES:
        near = suggestion(str(name), [*ENGINES, "dask"], FOREIGN_ENGINES)
        raise ParameterError(
            f"unknown engine {name!r}: {near}choose from {', '.join(ENGINES)}, dask"
        )
    if n_threads is not None:
        whole = hasattr(n_threads, "__index__") and not isinstance(n_threads, bool)
        if not whole or n_threads < 1:
            raise ParameterError(f"n_threads must be a whole number from 1 on, got {n_threads!r}")
        if name == "serial":
            raise ParameterError("engine 'serial' has one thread: use engine 'threads'")
    if name == "serial":
        return Serial()
    kind = Threads if name == "threads" else Racing
    return kind(available_cores() if n_threads is None else int(n_threads))
