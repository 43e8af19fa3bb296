"""How much memory there is, asked before much of it is taken."""

from __future__ import annotations

import math
import os
from pathlib import Path

from ..errors import DataError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["address_space_is_capped", "available_memory", "refuse_too_long"]

VECTORS_KEPT = 8  # vectors of numbers for every row and column that the leanest method keeps
NEVER_ASKED = 2**28  # bytes that nobody is asked for
CONTAINER = Path("/sys/fs/cgroup")


def available_memory() -> float:
    """Bytes that can be taken without harm; infinite where the system does not say.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    return min(_of_machine(), _of_group())


def address_space_is_capped() -> bool:
    """Whether this process may map only so many bytes (``ulimit -v``).

    Examples
    --------
    >>> address_space_is_capped() in (True, False)
    True
    """
    if resource is None or not hasattr(resource, "RLIMIT_AS"):
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def refuse_too_long(rows: int, columns: int) -> None:
    """Refuse data whose vectors alone would not fit into memory, before they are asked for.

    Examples
    --------
    >>> refuse_too_long(1000, 1000)
    >>> try:
    ...     refuse_too_long(10, 10**15)
    ... except DataError as error:
    ...     print(str(error)[:55])
    A has 10 rows and 1,000,000,000,000,000 columns: vector
    """
    needed = 8 * VECTORS_KEPT * (rows + columns)
    if needed <= NEVER_ASKED:
        return
    free = available_memory()
    if needed > free:
        raise DataError(
            f"A has {rows:,} rows and {columns:,} columns: vectors of these lengths take "
            f"{needed / 2**30:,.1f} GB, and {free / 2**30:,.1f} GB are free; leave out columns "
            "without entries (number them anew), or hash them into fewer"
        )


def _of_machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:  # elsewhere: all there is, free or not
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def _of_group() -> float:
    """What a container may still take."""
    try:
        most = (CONTAINER / "memory.max").read_text(encoding="ascii").strip()
        taken = (CONTAINER / "memory.current").read_text(encoding="ascii").strip()
        return math.inf if most == "max" else max(float(most) - float(taken), 0.0)
    except (OSError, ValueError):
        return math.inf
